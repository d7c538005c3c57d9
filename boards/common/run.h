/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The superloop that every board runs, and how an interface gets its address.
 *
 * The board makes the stack and attaches the interface; from there on:
 *
 *     board_begin(stack, netif, &address);      once
 *     for (;;) {
 *         uint64_t now_us = board_now_us(), deadline = board_turn(now_us);
 *         if (deadline > now_us)
 *             board_idle(deadline);
 *     }
 *
 * board_run() is that loop. A board that can be told to stop writes its own.
 */
#ifndef PLUMB_BOARD_RUN_H
#define PLUMB_BOARD_RUN_H

#include "board.h"

/* An address for the interface: the one it has, or the one to fall back on
 * when no DHCP server answers. */
struct board_address {
    plumb_ipv4 address;
    plumb_ipv4 netmask;
    plumb_ipv4 gateway;
    bool fixed; /* set it at once; no DHCP */
};

/* 10.0.2.15/24, gateway 10.0.2.2, after DHCP: what the emulator's network has. */
extern const struct board_address board_default_address;

/* Settles which byte routines run, those of this name or, of an empty one, the best for
 * the processor, and says so on the console. A name that it cannot run ends the run.
 * Called before the stack is made, if at all. */
void board_use_routines(const char *wanted);

/* Says on the console what this is, starts the application, then DHCP or the
 * fixed address. Called once. */
void board_begin(struct plumb *stack, struct plumb_netif *netif,
                 const struct board_address *address);

/* One turn: plumb_poll, then app_poll. Returns the time before which there is
 * nothing to do unless a frame arrives; not after `now_us` when the next turn is due at once. */
uint64_t board_turn(uint64_t now_us);

/* board_begin(), then turns for ever. `idle` sleeps until the deadline (in terms
 * of board_now_us(), PLUMB_NEVER: none) or an interrupt of the device; it is
 * called only when there is nothing to do, and may return early, which it does where the turn
 * has taken until the deadline. */
_Noreturn void board_run(struct plumb *stack, struct plumb_netif *netif,
                         const struct board_address *address, void (*idle)(uint64_t deadline_us));

#endif
