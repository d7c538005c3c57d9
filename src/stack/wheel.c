/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "stack/wheel.h"

#include "stack/stack.h"

static void link_into(struct plumb_timer **head, struct plumb_timer *timer) {
    timer->next = *head;
    timer->link = head;
    if (timer->next)
        timer->next->link = &timer->next;
    *head = timer;
}

/* A slot has a timer whose time comes then. */
static inline void note(struct pl_wheel *wheel, uint32_t now, uint32_t at) {
#ifdef CONFIG_PLUMB_TIMER_NEXT
    if (at - now < pl_wheel_distance(wheel, now))
        wheel->next = at;
    wheel->filled = true;
#else
    (void)wheel;
    (void)now;
    (void)at;
#endif
}

void pl_wheel_add(struct pl_wheel *wheel, uint32_t now, struct plumb_timer *timer) {
    const uint32_t reach = (1U << (PL_WHEEL_BITS * PL_WHEEL_LEVELS)) - 1;
    uint32_t delay = timer->expires_ms - now;
    uint32_t at = delay > reach ? now + reach : timer->expires_ms;
    unsigned level = 0;

    for (delay = at - now; delay >= PL_WHEEL_SLOTS; delay >>= PL_WHEEL_BITS)
        level++;
    uint32_t slot = at >> (level * PL_WHEEL_BITS) & (PL_WHEEL_SLOTS - 1);
    wheel->occupied[level] |= 1U << slot;
    link_into(&wheel->slots[level][slot], timer);
    note(wheel, now, at >> (level * PL_WHEEL_BITS) << (level * PL_WHEEL_BITS));
}

/* Milliseconds until time comes to the first slot with a bit set. */
#ifdef CONFIG_PLUMB_TIMER_NEXT
#define SEARCH static uint32_t search
#else
#define SEARCH uint32_t pl_wheel_distance
#endif

SEARCH(const struct pl_wheel *wheel, uint32_t now) {
    uint32_t nearest = UINT32_MAX;

    for (unsigned level = 0; level < PL_WHEEL_LEVELS; level++) {
        uint32_t bits = wheel->occupied[level];
        if (!bits)
            continue;
        /* Slots in the order in which time comes to them, the next one first. */
        unsigned shift = level * PL_WHEEL_BITS;
        unsigned next = ((now >> shift) + 1) & (PL_WHEEL_SLOTS - 1);
        uint32_t turned = next ? bits >> next | bits << (PL_WHEEL_SLOTS - next) : bits;
        uint32_t steps = 1 + (uint32_t)__builtin_ctz(turned);
        uint32_t distance = (((now >> shift) + steps) << shift) - now;
        if (distance < nearest)
            nearest = distance;
    }
    return nearest;
}

/* Empties a slot; a bit left set by stopped timers is cleared with it. */
static struct plumb_timer *empty_slot(struct pl_wheel *wheel, unsigned level, uint32_t slot) {
    struct plumb_timer *timers = wheel->slots[level][slot];

    wheel->slots[level][slot] = NULL;
    wheel->occupied[level] &= ~(1U << slot);
    return timers;
}

void pl_wheel_turn(struct pl_wheel *wheel, uint32_t now, struct plumb_timer **list) {
    /* From the top, so that what falls two levels is not met again. */
    for (unsigned level = PL_WHEEL_LEVELS; --level > 0;) {
        unsigned shift = level * PL_WHEEL_BITS;
        if (now & ((1U << shift) - 1))
            continue;
        struct plumb_timer *timer = empty_slot(wheel, level, now >> shift & (PL_WHEEL_SLOTS - 1));
        while (timer) {
            struct plumb_timer *next = timer->next;
            pl_wheel_add(wheel, now, timer);
            timer = next;
        }
    }
    *list = empty_slot(wheel, 0, now & (PL_WHEEL_SLOTS - 1));
    if (*list)
        (*list)->link = list;
#ifdef CONFIG_PLUMB_TIMER_NEXT
    uint32_t distance = search(wheel, now);
    wheel->filled = distance != UINT32_MAX;
    wheel->next = now + distance;
#endif
}

void plumb_timer_start(struct plumb *stack, struct plumb_timer *timer, uint32_t delay_ms,
                       plumb_timer_handler *handler) {
    plumb_timer_stop(timer);
    timer->handler = handler;
    /* A millisecond that has begun does not count. */
    timer->expires_ms = stack->now_ms + delay_ms + (stack->now_us != stack->tick_us);
    if (timer->expires_ms == stack->now_ms)
        timer->expires_ms++;
    pl_wheel_add(&stack->wheel, stack->now_ms, timer);
    pl_note_due(stack);
}

void plumb_timer_stop(struct plumb_timer *timer) {
    if (!timer->link)
        return;
    *timer->link = timer->next;
    if (timer->next)
        timer->next->link = timer->link;
    timer->link = NULL;
}
