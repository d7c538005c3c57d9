/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The instance: time, timers, counters, random numbers, interfaces, and the
 * states of the layers above, whose contents nothing here knows.
 *
 * A layer is a const record. Which layers there are, in which order, is said
 * by the table pl_layers, which src/plumb.c defines above all of them.
 */
#ifndef PL_STACK_H
#define PL_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include <plumb/counters.h>
#include <plumb/error.h>
#include <plumb/netif.h>
#include <plumb/stack.h>

#include "stack/wheel.h"

#define PL_LAYERS_MOST 5

struct pl_layer {
    uint32_t state_size; /* bytes of its state, zeroed at creation */
    bool wants_stack;    /* its state begins with a struct plumb * to be filled in */
    /* An interface that had the address `before` has lost it, or has got another, or other
     * neighbours. Or null. */
    void (*readdressed)(struct plumb *stack, void *state, struct plumb_netif *netif,
                        plumb_ipv4 before);
};

extern const struct pl_layer *const pl_layers[];
extern const uint8_t pl_layer_count;

/* After the frames of a poll, or after a call by the user: what the layers have for it, events,
 * acknowledgements and sends. Defined beside the table. */
void pl_settle_layers(struct plumb *stack);

/* What an interface calls with each frame: who looks at it first is said by the same
 * file. */
typedef void pl_interface_taker(struct plumb_netif *netif, struct plumb_packet *packet);
extern pl_interface_taker *const pl_interface_input;

struct plumb {
    uint64_t now_us;
    uint64_t tick_us; /* when the present millisecond began */
#ifdef CONFIG_PLUMB_TIMER_NEXT
    uint64_t due_us; /* when the wheel must be turned, or PLUMB_NEVER */
#endif
    uint32_t now_ms;
    bool in_poll;  /* inside plumb_poll(): the users' handlers may be called */
    bool settling; /* sends are settled before this call returns */
    bool ending;   /* being destroyed: whatever an interface's end leaves is put */
    struct pl_wheel wheel;
    struct plumb_netif *netifs;
    struct plumb_options options;
    uint64_t random[2];
    void *states[PL_LAYERS_MOST];
    uint32_t counters[PLUMB_COUNTER_COUNT];
};

/* When the wheel must be turned, by the user's clock, or PLUMB_NEVER. As time goes by it
 * stays the same, until the wheel is turned or gets a nearer timer. */
static inline uint64_t pl_find_due(const struct plumb *stack) {
    const uint32_t distance = pl_wheel_distance(&stack->wheel, stack->now_ms);

    return distance == UINT32_MAX ? PLUMB_NEVER : stack->tick_us + (uint64_t)distance * 1000;
}

#ifdef CONFIG_PLUMB_TIMER_NEXT

static inline void pl_note_due(struct plumb *stack) {
    stack->due_us = pl_find_due(stack);
}

static inline uint64_t pl_due(const struct plumb *stack) {
    return stack->due_us;
}

#else

static inline void pl_note_due(struct plumb *stack) {
    (void)stack;
}

#define pl_due pl_find_due

#endif

static inline void pl_count(struct plumb *stack, enum plumb_counter counter) {
    stack->counters[counter]++;
}

/* Counts a drop and puts the packet. */
void pl_drop(struct plumb *stack, enum plumb_counter counter, struct plumb_packet *packet);

/* The state of a layer; for calls from outside, not for the data path. */
void *pl_layer_state(const struct plumb *stack, const struct pl_layer *layer);

/* Settles the layers and flushes the interfaces, unless a poll is under
 * way that will do so by itself. */
void pl_settle(struct plumb *stack);

/* What was found out about a flow of datagrams may hold no longer. */
static inline void pl_forget_flows(struct plumb *stack) {
#ifdef CONFIG_PLUMB_UDP_EXPECT
    for (struct plumb_netif *netif = stack->netifs; netif; netif = netif->next)
        netif->expected_flow = NULL;
#else
    (void)stack;
#endif
}

/* Tells every layer of a changed address. */
void pl_readdress(struct plumb *stack, struct plumb_netif *netif, plumb_ipv4 before);

/* SipHash-2-4 of two words under the instance's seed (RFC 6528 section 3). */
uint64_t pl_keyed_hash(const struct plumb *stack, uint64_t first, uint64_t second);

#endif
