/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A hierarchical timer wheel: five levels of 32 slots, a slot of level n worth
 * 32^n milliseconds. A timer lies in the lowest level that reaches its time and
 * falls to lower ones as that comes near; one beyond the last level, 9 hours,
 * is put in again on the way. Time is 32 bits wide and may wrap.
 */
#ifndef PL_WHEEL_H
#define PL_WHEEL_H

#include <stdbool.h>
#include <stdint.h>

#include <plumb/timer.h>
#include <plumb_config.h>

#define PL_WHEEL_LEVELS 5
#define PL_WHEEL_BITS   5
#define PL_WHEEL_SLOTS  (1U << PL_WHEEL_BITS)

struct pl_wheel {
#ifdef CONFIG_PLUMB_TIMER_NEXT
    uint32_t next; /* the time at which it must be turned, unless it is empty */
    bool filled;   /* is any bit below set? */
#endif
    uint32_t occupied[PL_WHEEL_LEVELS]; /* a bit per slot; may be set on an empty one */
    struct plumb_timer *slots[PL_WHEEL_LEVELS][PL_WHEEL_SLOTS];
};

/* Puts a timer in by its expires_ms, which is `now` or later. */
void pl_wheel_add(struct pl_wheel *wheel, uint32_t now, struct plumb_timer *timer);

/* Milliseconds from `now` to the next time at which the wheel must be turned;
 * UINT32_MAX when it is empty. */
#ifdef CONFIG_PLUMB_TIMER_NEXT
static inline uint32_t pl_wheel_distance(const struct pl_wheel *wheel, uint32_t now) {
    return wheel->filled ? wheel->next - now : UINT32_MAX;
}
#else
uint32_t pl_wheel_distance(const struct pl_wheel *wheel, uint32_t now);
#endif

/* Turns the wheel to `now`, which is no later than the distance allowed, and
 * returns the timers that expire at it, linked by `next` behind *list. */
void pl_wheel_turn(struct pl_wheel *wheel, uint32_t now, struct plumb_timer **list);

#endif
