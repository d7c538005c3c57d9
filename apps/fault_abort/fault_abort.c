/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * An application that, once its address is known, loads a word from an odd
 * address: a board that traps such loads reports it and ends. Where the board
 * emulates what traps, the load is one that it does not: an exclusive one.
 */
#include "board.h"

#include <plumb_config.h>

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

#ifdef CONFIG_PLUMB_ZYNQ_EMULATE_MISALIGNED

static uint32_t load_odd(void) {
    uint32_t value;
    __asm__ volatile("ldrex %0, [%1]" : "=r"(value) : "r"(odd) : "memory");
    return value;
}

#else

static uint32_t load_odd(void) {
    return *(const volatile uint32_t *)odd;
}

#endif

bool app_poll(struct plumb *stack) {
    (void)stack;
    if (ready)
        board_print("fault_abort: %u\n", (unsigned)load_odd());
    return false;
}
