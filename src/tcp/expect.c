/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The first look at a frame: is it what the connection of the last one expects? Then
 * it is taken here, in one pass over its three headers. Any other frame goes the
 * ordinary way, from Ethernet up, and nothing has been changed.
 *
 * What holds:
 *  - A segment taken here would have been taken by the ordinary way, with the same
 *    effect to the last counter and field. Whatever is wrong with a frame, the
 *    ordinary way finds it and names it.
 *  - netif->expected, while not null, is a connection in state ESTABLISHED whose way
 *    is this interface, with nothing out of order, and window_sequence not after
 *    receive_next. So its user takes payload, no FIN has come, and its local address
 *    is the interface's. Nobody observes the interface.
 *
 * Only the ordinary way sets the pointer, behind each segment that it has taken; what
 * else could end the above clears it.
 */
#include "tcp/tcp.h"

#include "bytes/bytes.h"

#ifdef CONFIG_PLUMB_TCP_EXPECT

/* Where headers begin in a frame that is as expected. */
enum {
    IPV4 = PL_ETHERNET_HEADER,
    TCP = IPV4 + PL_IPV4_HEADER,
    HEADERS = TCP + PL_TCP_HEADER,
};

#define PUSH plumb_put32((uint32_t)PL_TCP_PSH << 16).be
/* All of the fourth word but the window. */
#define FLAGS plumb_put32(0xffff0000).be

typedef const pl_header_word *header_words;

/* Would the payload be refused for want of buffers, or copied behind the last? */
static inline bool may_queue(const struct plumb_tcp *connection, const struct plumb_packet *packet,
                             uint32_t length) {
    const struct plumb_pool *pool = packet->pool;
    const struct plumb_packet *last = connection->receive_last;

    return pool->free_count >= pool->count / 4 &&
           (!last || last->length + length > last->pool->capacity);
}

static inline void queue(struct plumb_tcp *connection, struct plumb_packet *packet,
                         uint32_t length) {
    struct plumb_packet *last = connection->receive_last;

    packet->data += HEADERS;
    packet->length = packet->total = (uint16_t)length;
    packet->next = NULL;
    connection->receive_last = packet;
    connection->receive_queued += length;
    if (last)
        last->next = packet;
    else
        connection->receive_first = packet;
}

static inline uint32_t pseudo_sum(const struct plumb_tcp *connection, uint32_t length) {
    return pl_sum_pseudo(connection->address_sum, PL_PROTOCOL_TCP,
                         (uint16_t)(PL_TCP_HEADER + length));
}

static inline bool sum_passes(const struct plumb_tcp *connection, const struct plumb_packet *packet,
                              const struct pl_tcp_header *header, uint32_t length) {
    return packet->flags & PLUMB_PACKET_CHECKSUM_GOOD ||
           pl_fold(pseudo_sum(connection, length) + pl_sum(header, PL_TCP_HEADER + length)) ==
               0xffff;
}

/* Copies the payload to where the user wants it and verifies the checksum in the same
 * pass. The bytes do not count yet. */
static bool deliver(struct plumb_tcp *connection, const struct plumb_packet *packet,
                    const struct pl_tcp_header *header, uint32_t length) {
    uint32_t payload_sum;

    /* What the device verified is no better off here; behind a short frame's payload
     * there is padding. */
    if (packet->flags & PLUMB_PACKET_CHECKSUM_GOOD || packet->length != HEADERS + length ||
        !connection->post->copy(connection, connection->receive_next, packet, HEADERS,
                                &payload_sum))
        return false;
    return pl_fold(pseudo_sum(connection, length) + pl_sum(header, PL_TCP_HEADER) + payload_sum) ==
           0xffff;
}

static void take_payload(struct plumb_tcp *connection, struct plumb_packet *packet,
                         uint32_t sequence, uint32_t length, bool delivered) {
    connection->segments_in++;
    connection->receive_next = sequence + length;
    connection->events |= PLUMB_TCP_READABLE;
    if (!(connection->flags & PL_TCP_PENDING))
        pl_tcp_pend(connection);
    if (delivered) {
        connection->posted_filled += length;
        plumb_packet_put(packet);
    } else {
        queue(connection, packet, length);
    }
}

/* What is new beside the payload: bytes acknowledged, or another window. */
static __attribute__((noinline)) bool take_news(struct plumb_tcp *connection,
                                                struct plumb_netif *netif,
                                                struct plumb_packet *packet, uint32_t length) {
    const struct pl_tcp_header *header = (const void *)(packet->data + TCP);
    struct pl_segment segment = {
        .sequence = connection->receive_next,
        .acknowledgement = plumb_get32(pl_net32_get(header->acknowledgement)),
        .window = plumb_get16(header->window),
        .length = length,
        .flags = PL_TCP_ACK,
        .tcp = connection->tcp,
        .netif = netif,
        .packet = packet,
    };

    if (pl_tcp_take_acknowledgement(connection, &segment))
        return true;
    pl_tcp_drop(&segment, PLUMB_COUNTER_tcp_acknowledgement);
    return false;
}

/* Takes the frame, or returns false. */
static inline bool take(struct plumb_netif *netif, struct plumb_tcp *connection,
                        struct plumb_packet *packet) {
    const uint8_t *frame = packet->data;
    const struct pl_ipv4_header *ip = (const void *)(frame + IPV4);
    const struct pl_tcp_header *tcp = (const void *)(frame + TCP);
    uint32_t wrong;

    if (packet->length < HEADERS || packet->more)
        return false;
    uint32_t total = plumb_get16(ip->total_length);
    if (total > packet->length - (uint32_t)PL_ETHERNET_HEADER)
        return false;
    uint32_t length = total - (PL_IPV4_HEADER + PL_TCP_HEADER);
    uint32_t sequence = plumb_get32(pl_net32_get(tcp->sequence));
    uint32_t word = ((header_words)(const void *)tcp)[3].be & ~PUSH;
    wrong = pl_ethernet_mismatch(netif, (const void *)frame);
    wrong |= pl_ipv4_mismatch(ip, PL_PROTOCOL_TCP);
    wrong |= ip->source.be ^ connection->remote.be;
    wrong |= ip->destination.be ^ connection->local.be;
    wrong |= tcp->ports.be ^ connection->ports;
    wrong |= sequence ^ connection->receive_next;
    wrong |= (word ^ connection->window_word) & FLAGS;
    if (wrong || length > connection->receive_edge - sequence ||
        !pl_ipv4_sum_passes(ip, connection->address_sum))
        return false;

    bool delivered = connection->post && length;
    if (delivered ? !deliver(connection, packet, tcp, length)
                  : (length && !may_queue(connection, packet, length)) ||
                        !sum_passes(connection, packet, tcp, length))
        return false;
    uint32_t acknowledgement = plumb_get32(pl_net32_get(tcp->acknowledgement));
    if (length && word == connection->window_word && acknowledgement == connection->send_unacked) {
        connection->window_sequence = sequence;
        connection->window_acknowledgement = acknowledgement;
    } else if ((word != connection->window_word ||
                !pl_tcp_defer(connection, sequence, acknowledgement)) &&
               !take_news(connection, netif, packet, length)) {
        return true;
    }
    connection->heard_ms = connection->stack->now_ms;
    if (length)
        take_payload(connection, packet, sequence, length, delivered);
    else
        plumb_packet_put(packet);
    return true;
}

void pl_tcp_first_look(struct plumb_netif *netif, struct plumb_packet *packet) {
    struct plumb_tcp *connection = netif->expected;

    if (!connection || !take(netif, connection, packet))
        pl_ethernet_input(netif, packet);
}

void pl_tcp_expect(struct plumb_tcp *connection, struct plumb_netif *netif) {
    if (connection->state == PLUMB_TCP_STATE_ESTABLISHED && connection->netif == netif &&
        !connection->reordered && !netif->observer &&
        !pl_after(connection->window_sequence, connection->receive_next))
        netif->expected = connection;
    else
        pl_tcp_unexpect(connection);
}

#endif
