/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Owns the running of one application over one stack and one interface: the
 * order of start, address and turns. There is one application per firmware, so
 * its state is file-local here; nothing below boards/ has such state.
 */
#include "run.h"

#include <stddef.h>

#if !defined(BOARD_NAME) || !defined(BOARD_APP) || !defined(BOARD_BUILD)
#error "made by board_executable() of boards/common/common.cmake, which says what is built"
#endif

/* Together, as each turn asks for all three. */
static struct {
    struct plumb *stack;
    struct plumb_netif *netif;
    plumb_ipv4 announced;
} running;

const struct board_address board_default_address = {
    .address = PLUMB_IPV4(10, 0, 2, 15),
    .netmask = PLUMB_IPV4(255, 255, 255, 0),
    .gateway = PLUMB_IPV4(10, 0, 2, 2),
};

static void set_fixed(const struct board_address *a) {
    int error = plumb_netif_set_ipv4(running.netif, a->address, a->netmask, a->gateway);
    if (error) {
        board_print("panic: address %I: %s\n", a->address.be, plumb_error_text(error));
        board_exit(1);
    }
}

#ifdef CONFIG_PLUMB_DHCP
static void start_dhcp(const struct board_address *a) {
    static struct plumb_dhcp dhcp;
    const struct plumb_dhcp_options options = {
        .fallback = a->address, .fallback_netmask = a->netmask, .fallback_gateway = a->gateway};
    int error = plumb_dhcp_start(&dhcp, running.stack, running.netif, &options);
    if (error) {
        board_print("plumb: no DHCP: %s\n", plumb_error_text(error));
        set_fixed(a);
    }
}
#else
static void start_dhcp(const struct board_address *a) {
    set_fixed(a);
}
#endif

/* Watched rather than told, so that it makes no difference who sets the address. */
static __attribute__((cold, noinline)) void announce_address(void) {
    running.announced = running.netif->ipv4;
    if (plumb_ipv4_equal(running.announced, PLUMB_IPV4_ANY)) {
        board_print("plumb: address lost\n");
        return;
    }
    app_ready(running.stack, running.netif);
    board_print("plumb: ready address=%I\n", running.announced.be);
}

void board_begin(struct plumb *stack, struct plumb_netif *netif,
                 const struct board_address *address) {
    running.stack = stack;
    running.netif = netif;
    board_print("plumb: board=%s app=%s build=%s\n", BOARD_NAME, BOARD_APP, BOARD_BUILD);
    board_print("plumb: interface=%s ethernet=%M\n", netif->name, &netif->address);
    plumb_poll(stack, board_now_us()); /* or timers started below would count from zero */
    app_start(stack, netif);
    if (address->fixed)
        set_fixed(address);
    else
        start_dhcp(address);
}

uint64_t board_turn(uint64_t now_us) {
    uint64_t deadline = plumb_poll(running.stack, now_us);
    if (!plumb_ipv4_equal(running.announced, running.netif->ipv4))
        announce_address();
    return app_poll(running.stack) ? 0 : deadline;
}

_Noreturn void board_run(struct plumb *stack, struct plumb_netif *netif,
                         const struct board_address *address, void (*idle)(uint64_t deadline_us)) {
    board_begin(stack, netif, address);
    for (;;) {
        uint64_t now_us = board_now_us(), deadline = board_turn(now_us);
        if (deadline > now_us)
            idle(deadline);
    }
}
