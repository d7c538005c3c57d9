/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Creation of an instance, its interfaces, and the poll.
 */
#include "stack/stack.h"

#include "bytes/bytes.h"
#include "packet/alignment.h"
#include "packet/packet.h"

/* The millisecond that is present before the first poll: none, and long over at any time. */
#define NO_TICK ((uint64_t)-1000)

static size_t round_up(size_t size) {
    return (size + 7) & ~(size_t)7;
}

static bool options_fit(const struct plumb_options *options) {
    return options->segments && options->headers &&
           options->segments->capacity >= PLUMB_SEGMENT_LEAST &&
           options->headers->capacity >= PLUMB_HEADER_LEAST &&
           !(options->references && options->references->capacity);
}

int plumb_create(struct plumb **out, void *memory, size_t size,
                 const struct plumb_options *options) {
    struct plumb *stack = memory;
    size_t used = round_up(sizeof *stack);

    if (!memory || (uintptr_t)memory % 8 || !options_fit(options))
        return PLUMB_ERROR_INVALID;
    if (size < used)
        return PLUMB_ERROR_NO_MEMORY;
    pl_bytes_choose();
    for (uint8_t *byte = memory; byte < (uint8_t *)memory + size; byte++)
        *byte = 0;
    stack->options = *options;
    stack->tick_us = NO_TICK;
    stack->random[0] = pl_keyed_hash(stack, 0, 1) | 1;
    stack->random[1] = pl_keyed_hash(stack, 0, 2);
    for (unsigned i = 0; i < pl_layer_count; i++) {
        const struct pl_layer *layer = pl_layers[i];
        stack->states[i] = (uint8_t *)memory + used;
        used += round_up(layer->state_size);
        if (size < used)
            return PLUMB_ERROR_NO_MEMORY;
        if (layer->wants_stack)
            *(struct plumb **)stack->states[i] = stack;
    }
    *out = stack;
    return PLUMB_OK;
}

void plumb_destroy(struct plumb *stack) {
    stack->ending = true;
    while (stack->netifs)
        plumb_netif_detach(stack->netifs);
    pl_settle(stack);
    if (stack->options.references)
        pl_references_release(stack->options.references);
}

void *pl_layer_state(const struct plumb *stack, const struct pl_layer *layer) {
    unsigned i = 0;

    while (pl_layers[i] != layer)
        i++;
    return stack->states[i];
}

static inline void flush(struct plumb_netif *netif) {
    if (netif->driver->flush)
        netif->driver->flush(netif);
}

void pl_settle(struct plumb *stack) {
    if (stack->settling)
        return;
    stack->settling = true;
    pl_settle_layers(stack);
    for (struct plumb_netif *netif = stack->netifs; netif; netif = netif->next)
        flush(netif);
    stack->settling = false;
}

static void run_timers(struct plumb *stack) {
    struct plumb_timer *due;

    pl_wheel_turn(&stack->wheel, stack->now_ms, &due);
    pl_note_due(stack);
    while (due) {
        struct plumb_timer *timer = due;
        plumb_timer_stop(timer);
        timer->handler(stack, timer);
    }
}

/* Whole milliseconds since the present one began; more than fit are left to the
 * next round. Divides 32 bits, which a compiler does by multiplying. */
static uint32_t milliseconds_behind(const struct plumb *stack) {
    uint64_t behind = stack->now_us - stack->tick_us;

    return (behind > UINT32_MAX ? UINT32_MAX : (uint32_t)behind) / 1000;
}

/* Moves the millisecond clock to now_us, from one time at which the wheel must
 * turn to the next. */
static __attribute__((noinline)) void advance(struct plumb *stack) {
    uint32_t behind;

    if (stack->tick_us == NO_TICK) {
        stack->tick_us = stack->now_us; /* this is where time begins */
        pl_note_due(stack);
    }
    while ((behind = milliseconds_behind(stack)) > 0) {
        uint32_t step = pl_wheel_distance(&stack->wheel, stack->now_ms);
        bool turn = step <= behind;
        if (!turn)
            step = behind;
        stack->now_ms += step;
        stack->tick_us += (uint64_t)step * 1000;
        if (turn)
            run_timers(stack);
    }
}

/* Whether there may be more frames than were taken. */
static inline bool poll_interfaces(struct plumb *stack, uint64_t now_us) {
    bool more = false;

    for (struct plumb_netif *netif = stack->netifs; netif; netif = netif->next)
        if (netif->driver->poll(netif, now_us, CONFIG_PLUMB_POLL_BUDGET) >=
            CONFIG_PLUMB_POLL_BUDGET)
            more = true;
    return more;
}

/* Flushes the interfaces; returns when something is next to be done. */
static inline uint64_t finish_interfaces(struct plumb *stack) {
    uint64_t next = pl_due(stack);

    for (struct plumb_netif *netif = stack->netifs; netif; netif = netif->next) {
        flush(netif);
        if (!netif->driver->deadline)
            continue;
        uint64_t deadline = netif->driver->deadline(netif);
        if (deadline < next)
            next = deadline;
    }
    return next;
}

/* Is lent memory given back whose user is still to be told? */
static inline bool released(const struct plumb_pool *references) {
    return references && references->released;
}

uint64_t plumb_poll(struct plumb *stack, uint64_t now_us) {
    struct plumb_pool *references = stack->options.references;

    stack->in_poll = stack->settling = true;
    stack->now_us = now_us;
    if (now_us - stack->tick_us >= 1000)
        advance(stack);
    bool more = poll_interfaces(stack, now_us);
    if (released(references))
        pl_references_release(references);
    pl_settle_layers(stack);
    uint64_t next = finish_interfaces(stack);
    stack->in_poll = stack->settling = false;
    return more || released(references) ? now_us : next;
}

uint64_t plumb_now_us(const struct plumb *stack) {
    return stack->now_us;
}

uint32_t plumb_now_ms(const struct plumb *stack) {
    return stack->now_ms;
}

void pl_drop(struct plumb *stack, enum plumb_counter counter, struct plumb_packet *packet) {
    pl_count(stack, counter);
    plumb_packet_put(packet);
}

static inline void forget_expected(struct plumb_netif *netif) {
    netif->expected = NULL;
#ifdef CONFIG_PLUMB_UDP_EXPECT
    netif->expected_flow = NULL;
#endif
}

int plumb_netif_attach(struct plumb *stack, struct plumb_netif *netif) {
    if (netif->stack || netif->mtu < 68 || netif->mtu > 9000)
        return PLUMB_ERROR_INVALID;
    if (!pl_landing_fits(netif->landing))
        return PLUMB_ERROR_ALIGNMENT;
    netif->stack = stack;
    forget_expected(netif);
    netif->input = pl_interface_input;
    int result = netif->driver->start(netif);
    if (result != PLUMB_OK) {
        netif->stack = NULL;
        return result;
    }
    netif->next = stack->netifs;
    stack->netifs = netif;
    return PLUMB_OK;
}

void plumb_netif_detach(struct plumb_netif *netif) {
    struct plumb *stack = netif->stack;
    struct plumb_netif **link = &stack->netifs;
    const plumb_ipv4 before = netif->ipv4;

    netif->ipv4 = netif->netmask = netif->gateway = PLUMB_IPV4_ANY;
    pl_readdress(stack, netif, before);
    while (*link != netif)
        link = &(*link)->next;
    *link = netif->next;
    netif->driver->stop(netif);
    netif->stack = NULL;
}

void pl_readdress(struct plumb *stack, struct plumb_netif *netif, plumb_ipv4 before) {
    for (unsigned i = 0; i < pl_layer_count; i++)
        if (pl_layers[i]->readdressed)
            pl_layers[i]->readdressed(stack, stack->states[i], netif, before);
}

void plumb_netif_observe(struct plumb_netif *netif, plumb_netif_observer *observer, void *context) {
    forget_expected(netif); /* the first look shows nothing to an observer */
    netif->observer = observer;
    netif->observer_context = context;
}
