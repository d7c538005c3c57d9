/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * One-shot timers with a resolution of one millisecond, on the stack's wheel.
 * Starting and stopping cost the same however many run.
 */
#ifndef PLUMB_TIMER_H
#define PLUMB_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct plumb;
struct plumb_timer;

typedef void plumb_timer_handler(struct plumb *stack, struct plumb_timer *timer);

/* Owned by the user, zeroed before first use, left alone while it runs. */
struct plumb_timer {
    struct plumb_timer *next;
    struct plumb_timer **link; /* what points here; null: not running */
    plumb_timer_handler *handler;
    uint32_t expires_ms;
};

/* Calls `handler` once, from plumb_poll(), at least `delay_ms` (0 to 2^31 - 1)
 * from the time last polled. A running timer is moved. */
void plumb_timer_start(struct plumb *stack, struct plumb_timer *timer, uint32_t delay_ms,
                       plumb_timer_handler *handler);

/* Stops a timer; nothing happens when it does not run. */
void plumb_timer_stop(struct plumb_timer *timer);

static inline bool plumb_timer_running(const struct plumb_timer *timer) {
    return timer->link != 0;
}

#ifdef __cplusplus
}
#endif

#endif
