/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The wiring of lwIP on the zynq board, and its loop: poll, timers, send, idle.
 *
 * The time that lwIP asks for is read once a turn, in units of 1.024 ms, as a shift
 * is cheaper than a division and a timer that is 2 % late no harm.
 */
#include "zynq.h"

#include "lwip/init.h"
#include "lwip/sys.h"
#include "lwip/timeouts.h"
#include "netif/ethernet.h"

#include "gem_netif.h"

static struct netif interface;
static uint32_t now;

uint32_t sys_now(void) {
    return now;
}

_Noreturn void peer_panic(const char *text) {
    board_print("panic: lwip: %s\n", text);
    board_exit(1);
}

/*
 * Sleeps until a frame or the next timer. A function of its own, which a tool that
 * counts leaves out by name; no wake-up is lost, as what the device had latched is
 * cleared before the ring is looked at.
 */
__attribute__((noipa, used)) void board_idle(uint32_t sleep);
__attribute__((noipa, used)) void board_idle(uint32_t sleep) {
    gem_netif_acknowledge();
    interrupt_clear(ZYNQ_GEM0_INTERRUPT);
    if (gem_netif_pending())
        return;
    clock_alarm((uint64_t)sleep << 10);
    __asm__ volatile("dsb\n\twfi" ::: "memory");
    clock_alarm_stop();
}

static void add_interface(void) {
    ip4_addr_t address, netmask, gateway;

    IP4_ADDR(&address, 10, 0, 2, 15);
    IP4_ADDR(&netmask, 255, 255, 255, 0);
    IP4_ADDR(&gateway, 10, 0, 2, 2);
    if (!netif_add(&interface, &address, &netmask, &gateway, NULL, gem_netif_init, ethernet_input))
        peer_panic("no interface");
    netif_set_default(&interface);
    netif_set_up(&interface);
    netif_set_link_up(&interface);
}

static void turn(void) {
    now = (uint32_t)(board_now_us() >> 10);
    gem_netif_poll(&interface);
    sys_check_timeouts();
    gem_netif_flush();
}

int main(void) {
    console_start();
    exceptions_check_alignment();
    clock_start();
    interrupt_start();
    board_print("plumb: board=zynq app=lwip build=%s\n", PEER_BUILD);
    lwip_init();
    add_interface();
    application_start();
    board_print("plumb: ready address=10.0.2.15\n");
    for (;;) {
        turn();
        uint32_t sleep = sys_timeouts_sleeptime();
        if (sleep)
            board_idle(sleep);
    }
}
