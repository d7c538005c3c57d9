/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What a board offers to an application, and what it calls in one.
 *
 * A board starts the processor, makes the pools, the stack and the interface,
 * calls app_start() once the stack exists, and then runs the superloop: poll,
 * app_poll(), idle.
 */
#ifndef PLUMB_BOARD_H
#define PLUMB_BOARD_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include <plumb/plumb.h>

/* ---- offered by the board ---- */

/* Microseconds since start; never goes back. */
uint64_t board_now_us(void);

/* Writes to the console; waits until the bytes are out. */
void board_write(const char *bytes, unsigned length);

/* printf to the console with %s %c %d %u %x %lu %llu %% , widths and zero padding;
 * %I takes a plumb_ipv4's .be, %M a const struct plumb_ethernet_address *. Without
 * CONFIG_PLUMB_CONSOLE nothing is printed, and no argument evaluated. */
void board_print(const char *format, ...);
#ifndef CONFIG_PLUMB_CONSOLE
#define board_print(...)                                                                           \
    do {                                                                                           \
        if (0)                                                                                     \
            board_print(__VA_ARGS__);                                                              \
    } while (0)
#endif

/* What the user has for the application to know, words parted by blanks; empty: nothing. */
const char *board_arguments(void);

/* Ends the run with an exit status for whoever started the emulator or process. */
_Noreturn void board_exit(int status);

/* Marks around what is to be measured. They do nothing; the lab finds them by
 * name and notes the counts as they are called. */
void board_measure_start(void);
void board_measure_stop(void);

/* ---- offered by the application ---- */

/* Called once, the interface up, its address not yet known. */
void app_start(struct plumb *stack, struct plumb_netif *netif);

/* Called when the interface has got or changed its address. */
void app_ready(struct plumb *stack, struct plumb_netif *netif);

/* Called after each plumb_poll(), for what needs a turn without an event; returns
 * true when it wants another turn at once. */
bool app_poll(struct plumb *stack);

#endif
