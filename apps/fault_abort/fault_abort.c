/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * An application that, once its address is known, loads a word from an odd
 * address: a board that traps such loads reports it and ends.
 */
#include "board.h"

static bool ready;

/* Volatile: a compiler that saw how it is made would load bytes. */
static uint32_t words[2];
static volatile uintptr_t odd = (uintptr_t)words + 1;

void app_start(struct plumb *stack, struct plumb_netif *netif) {
    (void)stack;
    (void)netif;
}

void app_ready(struct plumb *stack, struct plumb_netif *netif) {
    (void)stack;
    (void)netif;
    ready = true;
}

bool app_poll(struct plumb *stack) {
    (void)stack;
    if (ready)
        board_print("fault_abort: %u\n", *(const volatile uint32_t *)odd);
    return false;
}
