/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Names and texts of the counters. In a file of its own so that a firmware that
 * does not print them does not carry them.
 */
#include <plumb/counters.h>

#include "stack/stack.h"

#define DROP(name, text)  {#name, text, true},
#define EVENT(name, text) {#name, text, false},

static const struct plumb_counter_info stack_infos[] = {PLUMB_STACK_COUNTERS(DROP, EVENT)};
static const struct plumb_counter_info netif_infos[] = {PLUMB_NETIF_COUNTERS(DROP, EVENT)};

const struct plumb_counter_info *plumb_counter_info(unsigned index) {
    return index < PLUMB_COUNTER_COUNT ? &stack_infos[index] : NULL;
}

const struct plumb_counter_info *plumb_netif_counter_info(unsigned index) {
    return index < PLUMB_NETIF_COUNTER_COUNT ? &netif_infos[index] : NULL;
}

uint32_t plumb_counter(const struct plumb *stack, enum plumb_counter counter) {
    return stack->counters[counter];
}
