/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Reassembly (RFC 791 section 3.2, RFC 1122 section 3.3.2). Owns the fragments of
 * datagrams that are not complete.
 *
 * What holds:
 *  - Fragments stay in the buffers they came in; a datagram is their chain.
 *  - A datagram's fragments are kept in the order of their offsets (`sequence`), and no
 *    two overlap. One that overlaps others, or disagrees about the end, ends the whole
 *    datagram, as no honest sender makes such (RFC 5722 section 3 for IPv6; RFC 1858,
 *    RFC 3128): only an exact duplicate is merely dropped.
 *  - Datagrams and packets held are bounded, in all and for one source: the oldest gives
 *    way, of that source when its own share is used up. So what a duplicate began after
 *    its datagram was complete does not keep the next ones out.
 *  - Each frame that ends here moves one counter by one.
 */
#include "inet/fragment.h"

#include <plumb/timer.h>

#include "packet/packet.h"

#ifdef CONFIG_PLUMB_IPV4_FRAGMENTS

#define OFFSET_MASK 0x1fff
#define TICK_MS     1000

enum { DATAGRAMS = CONFIG_PLUMB_IPV4_REASSEMBLIES, PACKETS = CONFIG_PLUMB_IPV4_REASSEMBLY_PACKETS };
/* Of one source: three quarters, so that another can always complete something. */
enum { SOURCE_DATAGRAMS = (DATAGRAMS * 3 + 3) / 4, SOURCE_PACKETS = PACKETS * 3 / 4 };

struct datagram {
    struct plumb_packet *first; /* by offset, linked by `next`; null: a free place */
    struct plumb_netif *netif;
    plumb_ipv4 source, destination;
    uint32_t began_ms;
    plumb_be16 identification;
    uint8_t protocol;
    uint16_t end;     /* payload of the whole, bytes; 0: not known yet */
    uint16_t bytes;   /* payload held */
    uint16_t packets; /* descriptors held */
};

struct fragment_state {
    struct plumb_timer timer;
    struct pl_identifications identifications;
    struct datagram datagrams[DATAGRAMS];
};

/* A fragment on its way in. */
struct arrival {
    struct plumb_packet *packet;
    const struct pl_ipv4_header *header;
    uint32_t offset;
    uint32_t end;
    uint16_t packets;
    bool last;
};

struct pl_identifications *pl_identifications_of(struct plumb *stack) {
    struct fragment_state *state = pl_layer_state(stack, &pl_fragment_layer);

    return &state->identifications;
}

/* Puts what is held of a datagram; each of its frames counts. */
static void give_up(struct plumb *stack, struct datagram *datagram, enum plumb_counter counter) {
    struct plumb_packet *packet = datagram->first;

    datagram->first = NULL;
    while (packet) {
        struct plumb_packet *next = packet->next;
        pl_drop(stack, counter, packet);
        packet = next;
    }
}

/* Too late. The sender is told when the first fragment came (RFC 1122 section 3.3.2). */
static void expire(struct plumb *stack, struct datagram *datagram) {
    const struct plumb_packet *first = datagram->first;

    if (first->sequence == 0)
        pl_icmp_time_exceeded(stack, datagram->netif, (const void *)(first->data - first->mark),
                              first);
    give_up(stack, datagram, PLUMB_COUNTER_ipv4_fragment_timeout);
}

static void tick(struct plumb *stack, struct plumb_timer *timer) {
    struct fragment_state *state = pl_layer_state(stack, &pl_fragment_layer);
    bool any = false;

    for (struct datagram *d = state->datagrams; d < state->datagrams + DATAGRAMS; d++) {
        if (d->first && stack->now_ms - d->began_ms >= CONFIG_PLUMB_IPV4_REASSEMBLY_MS)
            expire(stack, d);
        any |= d->first != NULL;
    }
    if (any)
        plumb_timer_start(stack, timer, TICK_MS, tick);
}

static bool is_of(const struct datagram *datagram, const struct plumb_netif *netif,
                  const struct pl_ipv4_header *header) {
    return datagram->first && datagram->source.be == header->source.be &&
           datagram->identification.be == header->identification.be &&
           datagram->destination.be == header->destination.be &&
           datagram->protocol == header->protocol && datagram->netif == netif;
}

/* Ends the oldest datagram, of one source or of all; null when there is none. */
static struct datagram *give_up_oldest(struct plumb *stack, struct fragment_state *state,
                                       const plumb_ipv4 *source) {
    struct datagram *oldest = NULL;

    for (struct datagram *d = state->datagrams; d < state->datagrams + DATAGRAMS; d++)
        if (d->first && (!source || d->source.be == source->be) &&
            (!oldest || stack->now_ms - d->began_ms > stack->now_ms - oldest->began_ms))
            oldest = d;
    if (oldest)
        give_up(stack, oldest, PLUMB_COUNTER_ipv4_fragment_quota);
    return oldest;
}

/* The datagram of a fragment, or a place for it, made if need be. */
static struct datagram *place_for(struct plumb *stack, struct fragment_state *state,
                                  struct plumb_netif *netif, const struct pl_ipv4_header *header) {
    const plumb_ipv4 source = pl_net32_get(header->source);
    struct datagram *place = NULL;
    unsigned of_source = 0;

    for (struct datagram *d = state->datagrams; d < state->datagrams + DATAGRAMS; d++) {
        if (is_of(d, netif, header))
            return d;
        if (!d->first)
            place = d;
        else
            of_source += d->source.be == source.be;
    }
    if (of_source >= SOURCE_DATAGRAMS)
        place = give_up_oldest(stack, state, &source);
    else if (!place)
        place = give_up_oldest(stack, state, NULL);
    if (!place) /* one was there to be given up; an analyser cannot count them */
        __builtin_unreachable();
    *place = (struct datagram){.netif = netif,
                               .source = source,
                               .destination = pl_net32_get(header->destination),
                               .began_ms = stack->now_ms,
                               .protocol = header->protocol};
    place->identification.be = header->identification.be;
    return place;
}

/* Packets held of one source, or of all. */
static unsigned packets_held(const struct fragment_state *state, const plumb_ipv4 *source) {
    unsigned held = 0;

    for (const struct datagram *d = state->datagrams; d < state->datagrams + DATAGRAMS; d++)
        if (d->first && (!source || d->source.be == source->be))
            held += d->packets;
    return held;
}

/* Whether there is room for an arrival, made if need be at the expense of the oldest. The
 * pool's last quarter is left to those who read what they receive. */
static bool make_room(struct plumb *stack, struct fragment_state *state, struct datagram *own,
                      const struct arrival *arrival) {
    const struct plumb_pool *pool = arrival->packet->pool;
    const plumb_ipv4 source = own->source;
    const struct datagram *ended;

    while (packets_held(state, &source) + arrival->packets > SOURCE_PACKETS) {
        ended = give_up_oldest(stack, state, &source);
        if (!ended || ended == own)
            return false;
    }
    while (packets_held(state, NULL) + arrival->packets > PACKETS ||
           pool->free_count < pool->count / 4U) {
        ended = give_up_oldest(stack, state, NULL);
        if (!ended || ended == own)
            return false;
    }
    return true;
}

enum verdict { TAKEN, DUPLICATE, CONTRADICTION };

/* Links an arrival into its datagram. */
static enum verdict insert(struct datagram *datagram, const struct arrival *arrival) {
    struct plumb_packet **link = &datagram->first;
    const struct plumb_packet *before = NULL;

    while (*link && (*link)->sequence < arrival->offset) {
        before = *link;
        link = &(*link)->next;
    }
    const struct plumb_packet *after = *link;
    if (after && after->sequence == arrival->offset &&
        after->total == arrival->end - arrival->offset)
        return DUPLICATE;
    if ((before && before->sequence + before->total > arrival->offset) ||
        (after && after->sequence < arrival->end))
        return CONTRADICTION;
    if (datagram->end ? arrival->end > datagram->end || arrival->last : arrival->last && after)
        return CONTRADICTION;
    if (arrival->last)
        datagram->end = (uint16_t)arrival->end;
    arrival->packet->sequence = arrival->offset;
    arrival->packet->mark = (uint16_t)(arrival->packet->data - (const uint8_t *)arrival->header);
    arrival->packet->next = *link;
    *link = arrival->packet;
    datagram->bytes = (uint16_t)(datagram->bytes + arrival->packet->total);
    datagram->packets = (uint16_t)(datagram->packets + arrival->packets);
    return TAKEN;
}

/* All there: one packet of all fragments. What a device said of the parts' checksums says
 * nothing of the whole's. */
static struct plumb_packet *join(struct datagram *datagram) {
    struct plumb_packet *whole = datagram->first, *tail = whole, *next = whole->next;

    whole->total = datagram->end;
    whole->flags &= (uint8_t)~PLUMB_PACKET_CHECKSUM_GOOD;
    whole->next = NULL;
    while (next) {
        while (tail->more)
            tail = tail->more;
        tail->more = next;
        tail = next;
        next = tail->next;
        tail->next = NULL;
    }
    datagram->first = NULL;
    return whole;
}

static struct arrival arrival_of(const struct pl_ipv4_header *header, struct plumb_packet *packet) {
    unsigned fragment = plumb_get16(header->fragment);
    struct arrival arrival = {.packet = packet,
                              .header = header,
                              .offset = (fragment & OFFSET_MASK) * 8,
                              .last = !(fragment & PL_IPV4_MORE_FRAGMENTS)};

    arrival.end = arrival.offset + packet->total;
    for (; packet; packet = packet->more)
        arrival.packets++;
    return arrival;
}

/* Nothing in it, ends past any datagram, or is cut where only the last may be. */
static bool is_malformed(const struct arrival *arrival) {
    return arrival->packet->total == 0 || arrival->end > PL_IPV4_PAYLOAD_MOST ||
           (!arrival->last && arrival->packet->total % 8);
}

struct plumb_packet *pl_fragment_input(struct plumb *stack, struct plumb_netif *netif,
                                       const struct pl_ipv4_header **header,
                                       struct plumb_packet *packet) {
    struct fragment_state *state = pl_layer_state(stack, &pl_fragment_layer);
    struct arrival arrival = arrival_of(*header, packet);
    enum plumb_counter counter = PLUMB_COUNTER_ipv4_fragment_quota;
    enum verdict verdict = CONTRADICTION;

    if (is_malformed(&arrival)) {
        pl_drop(stack, PLUMB_COUNTER_ipv4_fragment, packet);
        return NULL;
    }
    struct datagram *datagram = place_for(stack, state, netif, *header);
    if (make_room(stack, state, datagram, &arrival)) {
        counter = PLUMB_COUNTER_ipv4_fragment;
        verdict = insert(datagram, &arrival);
    }
    if (verdict == CONTRADICTION)
        give_up(stack, datagram, counter);
    if (verdict != TAKEN) {
        pl_drop(stack, counter, packet);
        return NULL;
    }
    if (!plumb_timer_running(&state->timer))
        plumb_timer_start(stack, &state->timer, TICK_MS, tick);
    if (!datagram->end || datagram->bytes != datagram->end)
        return NULL;
    pl_count(stack, PLUMB_COUNTER_ipv4_reassembled);
    packet = join(datagram);
    *header = (const void *)(packet->data - packet->mark);
    return packet;
}

static void readdressed(struct plumb *stack, void *layer, struct plumb_netif *netif,
                        plumb_ipv4 before) {
    struct fragment_state *state = layer;

    (void)before;
    for (struct datagram *d = state->datagrams; d < state->datagrams + DATAGRAMS; d++)
        if (d->first && d->netif == netif)
            give_up(stack, d, PLUMB_COUNTER_ipv4_fragment_timeout);
}

const struct pl_layer pl_fragment_layer = {
    .state_size = sizeof(struct fragment_state),
    .readdressed = readdressed,
};

#endif
