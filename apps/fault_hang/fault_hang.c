/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An application that, once its address is known, never comes back. */
#include "board.h"

static bool ready;

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
    while (ready)
        __asm__ volatile("");
    return false;
}
