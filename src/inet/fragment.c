/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Fragmentation (RFC 791 section 3.2): a payload longer than its interface's MTU is
 * copied, part by part, into packets of the segment pool.
 *
 * An identification is used again only after all others to the same destination, or to
 * one of the few that share its counter (RFC 6864 section 4.3); where a counter begins is
 * random, so that it tells a stranger nothing of others' traffic.
 */
#include "inet/fragment.h"

#include "bytes/bytes.h"
#include "packet/packet.h"

#ifdef CONFIG_PLUMB_IPV4_FRAGMENTS

/* In front of a part: Ethernet with a tag, and IPv4, so that the latter lies on a word. */
#define HEADROOM 40

static uint16_t next_identification(struct plumb *stack, plumb_ipv4 destination) {
    struct pl_identifications *known = pl_identifications_of(stack);
    unsigned count = sizeof known->next / sizeof *known->next;

    if (!known->chosen) {
        for (unsigned i = 0; i < count; i++)
            known->next[i] = (uint16_t)plumb_random(stack);
        known->chosen = true;
    }
    return known->next[pl_keyed_hash(stack, destination.be, 0) % count]++;
}

/* Payload in each part but the last. */
static unsigned part_size(const struct plumb *stack, const struct pl_route *route) {
    unsigned fits_frame = route->netif->mtu - PL_IPV4_HEADER;
    unsigned fits_buffer = stack->options.segments->capacity - HEADROOM;

    return (fits_frame < fits_buffer ? fits_frame : fits_buffer) & ~7U;
}

int pl_fragment_send(struct plumb *stack, const struct pl_route *route,
                     const struct plumb_packet *packet, uint8_t protocol, plumb_ipv4 source,
                     plumb_ipv4 destination) {
    struct plumb_pool *pool = stack->options.segments;
    unsigned size = part_size(stack, route);
    uint32_t address_sum = pl_sum_addresses(source.be, destination.be);
    uint32_t identification = (uint32_t)next_identification(stack, destination) << 16;
    int result = PLUMB_OK;

    /* Of what waits for a neighbour's answer only the last frame is kept. */
    if (!route->broadcast &&
        !pl_neighbour_known(pl_neighbour_resolve(stack, route->netif, route->next_hop)))
        return PLUMB_ERROR_WOULD_BLOCK;
    if ((packet->total + size - 1) / size > pool->free_count)
        return PLUMB_ERROR_NO_BUFFER;
    pl_count(stack, PLUMB_COUNTER_ipv4_fragmented);
    for (unsigned offset = 0; offset < packet->total && result == PLUMB_OK; offset += size) {
        struct plumb_packet *part = plumb_packet_take(pool, HEADROOM);
        uint32_t more = offset + size < packet->total ? PL_IPV4_MORE_FRAGMENTS : 0;
        uint32_t bytes = (uint32_t)plumb_packet_copy_out(packet, offset, part->data, size);
        part->length = part->total = (uint16_t)bytes;
        pl_ipv4_write_fragment_header(pl_packet_push(part, PL_IPV4_HEADER), PL_IPV4_HEADER + bytes,
                                      identification | more | offset / 8, protocol, source,
                                      destination, address_sum);
        result = pl_ipv4_route(stack, route, part);
        plumb_packet_put(part);
    }
    return result;
}

#endif
