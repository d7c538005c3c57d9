/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A firmware that never says a word: a constructor, which runs before the board
 * has a console, does not return.
 */
#include "board.h"

static __attribute__((constructor, used)) void never_start(void) {
    for (;;)
        __asm__ volatile("");
}

void app_start(struct plumb *stack, struct plumb_netif *netif) {
    (void)stack;
    (void)netif;
}

void app_ready(struct plumb *stack, struct plumb_netif *netif) {
    (void)stack;
    (void)netif;
}

bool app_poll(struct plumb *stack) {
    (void)stack;
    return false;
}
