/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the two ways of sending a segment share, the general one of output.c and the
 * one for many alike of burst.c.
 */
#ifndef PL_TCP_SEGMENT_H
#define PL_TCP_SEGMENT_H

#include "bytes/bytes.h"
#include "tcp/tcp.h"

static inline uint32_t pl_tcp_window_field(struct plumb_tcp *connection, uint32_t flags) {
    uint32_t window = pl_tcp_receive_window(connection);

    /* Down: what is said is less than what is kept open, never more. */
#ifdef CONFIG_PLUMB_TCP_WINDOW_SCALE
    if (connection->flags & PL_TCP_SCALING && !(flags & PL_TCP_SYN))
        window >>= PL_TCP_RECEIVE_SCALE;
#else
    (void)flags;
#endif
    return window < UINT16_MAX ? window : UINT16_MAX;
}

/* The upper half of a header's fourth word. */
static inline uint32_t pl_tcp_control(uint32_t flags, uint32_t options) {
    return (PL_TCP_HEADER + options) << 10 | flags;
}

/* Writes TCP's header at `word` and IPv4's in front of it. What is behind, options and
 * payload, is `behind` bytes long and has the sum `sum`. Clears what the
 * acknowledgement in it settles. */
static inline void pl_tcp_write_headers(struct plumb_tcp *connection, pl_header_word *word,
                                        uint32_t sequence, uint32_t control, uint32_t behind,
                                        uint32_t sum) {
    const uint32_t length = PL_TCP_HEADER + behind;
    const uint32_t ports = connection->ports << 16 | connection->ports >> 16;
    const uint32_t sequence_word = plumb_put32(sequence).be;
    const uint32_t acknowledgement =
        plumb_put32(control & PL_TCP_ACK ? connection->receive_next : 0).be;
    const uint32_t control_window =
        plumb_put32(control << 16 | pl_tcp_window_field(connection, control)).be;

    word[0].be = ports;
    word[1].be = sequence_word;
    word[2].be = acknowledgement;
    word[3].be = control_window;
    word[4].be = 0;
    const uint32_t address_sum = pl_tcp_address_sum(connection);
    if (!pl_tcp_is_offloaded(connection)) {
#ifdef __OPTIMIZE_SIZE__
        sum += pl_sum(word, PL_TCP_HEADER);
#else
        pl_words words = pl_words_add(ports, sequence_word);
        sum += pl_words_fold(pl_words_add(pl_words_add(words, acknowledgement), control_window));
#endif
        sum += pl_sum_pseudo(address_sum, PL_PROTOCOL_TCP, (uint16_t)length);
        word[4].be = pl_first_half((uint16_t)~pl_fold(sum));
    }
    pl_ipv4_write_header(word - PL_IPV4_HEADER / 4, PL_IPV4_HEADER + length, PL_PROTOCOL_TCP,
                         pl_tcp_local(connection), connection->remote, address_sum);
    connection->receive_acked = connection->receive_next;
    connection->flags &= (uint16_t)~PL_TCP_ACK_NOW;
    pl_tcp_clear_deadline(connection, PL_TCP_ACKNOWLEDGE);
}

/* The neighbour that segments go to: that of the last segment while it is still the
 * same, or the one that ARP finds. */
static inline struct pl_neighbour *pl_tcp_neighbour(struct plumb_tcp *connection) {
    struct plumb_netif *netif = connection->netif;
    const plumb_ipv4 next_hop = pl_next_hop(netif, connection->remote);
#ifdef CONFIG_PLUMB_TCP_REMEMBER
    struct pl_neighbour *neighbour = connection->neighbour;

    if (!neighbour || neighbour->address.be != next_hop.be || neighbour->netif != netif ||
        neighbour->state == PL_NEIGHBOUR_FREE) {
        neighbour = pl_neighbour_resolve(pl_tcp_stack(connection), netif, next_hop);
        connection->neighbour = neighbour;
    }
    return neighbour;
#else
    return pl_neighbour_resolve(pl_tcp_stack(connection), netif, next_hop);
#endif
}

/* Begins to time the segment that ends at `end`, unless one is being timed. */
static inline void pl_tcp_begin_timing(struct plumb_tcp *connection, uint32_t end) {
    if (connection->flags & PL_TCP_TIMING)
        return;
    connection->flags |= PL_TCP_TIMING;
    connection->timed_sequence = end;
    connection->timed_us = (uint32_t)pl_tcp_stack(connection)->now_us;
}

/* May the headers be written in front of the payload itself? Not while a device
 * reads the packet, nor where the network header would miss a word. */
static inline bool pl_tcp_takes_headers(const struct plumb_packet *segment) {
    return segment->pool->capacity && segment->references == 1 &&
           ((uintptr_t)segment->data & 3) == 0;
}

/* The sum of a segment's payload, taken when it is first asked for and kept, as it may be
 * sent again. */
static inline uint32_t pl_tcp_sum_kept(struct plumb_packet *segment) {
    if (!(segment->flags & PLUMB_PACKET_SUMMED)) {
        segment->sum = pl_sum(segment->data, segment->length);
        segment->flags |= PLUMB_PACKET_SUMMED;
    }
    return segment->sum;
}

/* The window that counts: the peer's, and the network's with one segment more for
 * each of the first two duplicates (RFC 3042). */
static inline uint32_t pl_tcp_usable_window(const struct plumb_tcp *connection) {
    uint32_t network = connection->congestion_window;

#ifdef CONFIG_PLUMB_TCP_RACK
    /* There what has left the network makes room, however much it is. */
    if (pl_tcp_racks(connection))
        network += pl_tcp_left_network(connection);
    else
#endif
        if (!(connection->flags & PL_TCP_RECOVERY) && connection->duplicates < 3)
        network += (uint32_t)connection->duplicates * connection->mss;
    return network < connection->send_window ? network : connection->send_window;
}

/* There was no packet for headers: it is tried again later. */
void pl_tcp_no_header(struct plumb_tcp *connection);

/* A segment did not get out, and the acknowledgement in it neither. */
void pl_tcp_not_sent(struct plumb_tcp *connection);

/* burst.c: sends the full segments that were never sent before, as many as may go.
 * False when there is no use in going on. */
#if defined(CONFIG_PLUMB_TCP_BURST) && !defined(__OPTIMIZE_SIZE__)
bool pl_tcp_send_burst(struct plumb_tcp *connection);
#else
static inline bool pl_tcp_send_burst(struct plumb_tcp *connection) {
    (void)connection;
    return true;
}
#endif

#endif
