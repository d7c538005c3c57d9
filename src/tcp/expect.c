/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The first look at a frame: is it what the connection of the last one expects? Then
 * it is taken here, in one pass over its three headers. Any other frame goes the
 * ordinary way, from Ethernet up, and nothing has been changed.
 *
 * What holds:
 *  - A segment taken here would have been taken by the ordinary way, with the same
 *    effect to the last counter and field. One that acknowledges less than one before
 *    it in the batch may here set window_sequence, though no
 *    segment is acceptable that this decides about, and leaves what the batch
 *    acknowledged to be acted on when it is settled. Whatever is wrong with a frame,
 *    the ordinary way finds it and names it.
 *  - netif->expected, while not null, is a connection in state ESTABLISHED whose way
 *    is this interface, with nothing out of order, and window_sequence not after
 *    receive_next. So its user takes payload, no FIN has come, and its local address
 *    is the interface's; and as there is a handler, it is pending while it has an
 *    event to tell. Nobody observes the interface. window_word is known: zero would
 *    match a header without flags.
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

/* The fourth word, as it lies in memory; what PSH says makes no difference here. */
static inline uint32_t word_of(const struct pl_tcp_header *header) {
    const pl_header_word *word = (const void *)header;

    return word[3].be & ~PUSH;
}

/* Is the option there as all lay it out, and no older than the last? */
static inline bool stamp_passes(const struct plumb_tcp *connection,
                                const struct pl_tcp_header *header) {
#ifdef CONFIG_PLUMB_TCP_TIMESTAMPS
    const pl_header_word *stamp = (const void *)(header + 1);

    return stamp[0].be == PL_TCP_STAMP_WORD &&
           !pl_before(plumb_get32((plumb_be32){stamp[1].be}), connection->timestamp_recent);
#else
    (void)connection;
    (void)header;
    return true;
#endif
}

/* What pl_tcp_note_timestamps() does, of the next segment in order. */
static inline void take_stamp(struct plumb_tcp *connection, const struct pl_tcp_header *header) {
#ifdef CONFIG_PLUMB_TCP_TIMESTAMPS
    const pl_header_word *stamp = (const void *)(header + 1);

    if (connection->receive_next == connection->receive_acked)
        connection->timestamp_recent = plumb_get32((plumb_be32){stamp[1].be});
    if (pl_tcp_advances(connection, plumb_get32(pl_net32_get(header->acknowledgement))))
        pl_tcp_measure_echo(connection, plumb_get32((plumb_be32){stamp[2].be}));
#else
    (void)connection;
    (void)header;
#endif
}

/* Would the payload be refused for want of buffers, or copied behind the last? */
static inline bool may_queue(const struct plumb_tcp *connection, const struct plumb_packet *packet,
                             uint32_t length) {
    const struct plumb_pool *pool = packet->pool;
    const struct plumb_packet *last = connection->receive_last;

    return pool->free_count >= pool->count / 4 &&
           (!last || last->length + length > last->pool->capacity);
}

/* In these, `behind` is what lies behind the header's first 20 bytes. */
static inline uint32_t pseudo_sum(const struct plumb_tcp *connection, uint32_t behind) {
    return pl_sum_pseudo(pl_tcp_address_sum(connection), PL_PROTOCOL_TCP,
                         (uint16_t)(PL_TCP_HEADER + behind));
}

static inline bool sum_passes(const struct plumb_tcp *connection, const struct plumb_packet *packet,
                              const struct pl_tcp_header *header, uint32_t behind) {
    return packet->flags & PLUMB_PACKET_CHECKSUM_GOOD ||
           pl_sum_passes(pseudo_sum(connection, behind) + pl_sum(header, PL_TCP_HEADER + behind));
}

/* Copies the payload to where the user wants it and verifies the checksum in the same
 * pass. The bytes do not count yet. */
static bool deliver(struct plumb_tcp *connection, const struct plumb_packet *packet,
                    const struct pl_tcp_header *header, uint32_t options, uint32_t length) {
    uint32_t payload_sum;

    /* What the device verified is no better off here; behind a short frame's payload
     * there is padding. */
    if (packet->flags & PLUMB_PACKET_CHECKSUM_GOOD ||
        packet->length != HEADERS + options + length ||
        !pl_tcp_poster(connection)
             ->copy(connection, connection->receive_next, packet, HEADERS + options, &payload_sum))
        return false;
    return pl_sum_passes(pseudo_sum(connection, options + length) +
                         pl_sum(header, PL_TCP_HEADER + options) + payload_sum);
}

/* Counts payload as received, and has the user told. */
static inline void count_payload(struct plumb_tcp *connection, uint32_t end) {
    connection->heard_ms = pl_tcp_stack(connection)->now_ms;
    pl_tcp_tally(connection, segments_in, 1);
    connection->receive_next = end;
    if (!(connection->events & PLUMB_TCP_READABLE))
        pl_tcp_tell(connection, PLUMB_TCP_READABLE);
}

static inline void queue(struct plumb_tcp *connection, struct plumb_packet *packet,
                         uint32_t options, uint32_t length, uint32_t end) {
    struct plumb_packet *last = connection->receive_last;

    packet->data += HEADERS + options;
    packet->total = (uint16_t)length;
    count_payload(connection, end);
    packet->length = (uint16_t)length; /* not beside total: a compiler would join them */
    connection->receive_last = packet;
    connection->receive_queued = (pl_tcp_size)(connection->receive_queued + length);
    if (last)
        last->next = packet;
    else
        connection->receive_first = packet;
}

/* Bytes acknowledged, or another window. */
static __attribute__((noinline)) bool
take_acknowledgement(struct plumb_tcp *connection, struct plumb_netif *netif,
                     struct plumb_packet *packet, uint32_t acknowledgement, uint32_t length) {
    const struct pl_tcp_header *header = (const void *)(packet->data + TCP);
    struct pl_segment segment = {
        .sequence = connection->receive_next,
        .acknowledgement = acknowledgement,
        .window = plumb_get16(header->window),
        .length = length,
        .flags = PL_TCP_ACK,
        .tcp = connection->tcp,
        .netif = netif,
        .header = header,
        .packet = packet,
    };

#ifdef CONFIG_PLUMB_TCP_TIMESTAMPS
    if (pl_tcp_agreed(connection, PL_TCP_TIMESTAMPS)) {
        const pl_header_word *stamp = (const void *)(header + 1);
        segment.timestamp_echo = plumb_get32((plumb_be32){stamp[2].be});
    }
#endif
    if (pl_tcp_take_acknowledgement(connection, &segment))
        return true;
    pl_tcp_drop(&segment, PLUMB_COUNTER_tcp_acknowledgement);
    return false;
}

/* What is new beside the payload, if anything is. */
static inline bool take_news(struct plumb_tcp *connection, struct plumb_netif *netif,
                             struct plumb_packet *packet, uint32_t length) {
    const struct pl_tcp_header *header = (const void *)(packet->data + TCP);
    uint32_t acknowledgement = plumb_get32(pl_net32_get(header->acknowledgement));

    if (word_of(header) == connection->window_word) {
        if (length && acknowledgement == connection->send_unacked) {
            connection->window_sequence = connection->receive_next;
            return true;
        }
        if (pl_tcp_defer(connection, connection->receive_next, acknowledgement))
            return true;
    }
    return take_acknowledgement(connection, netif, packet, acknowledgement, length);
}

/* A segment that brings more than the next payload, or less, or is for memory of the
 * user's. Takes it, or returns false. */
PL_INLINE bool take_any(struct plumb_tcp *connection, struct plumb_netif *netif,
                        struct plumb_packet *packet, uint32_t length, const uint32_t options) {
    const struct pl_tcp_header *tcp = (const void *)(packet->data + TCP);
    uint32_t end = connection->receive_next + length;
    bool delivered = length && pl_tcp_is_posting(connection);

    if (delivered ? !deliver(connection, packet, tcp, options, length)
                  : (length && !may_queue(connection, packet, length)) ||
                        !sum_passes(connection, packet, tcp, options + length))
        return false;
    if (options)
        take_stamp(connection, tcp);
    if (!take_news(connection, netif, packet, length))
        return true;
    if (!length) {
        connection->heard_ms = pl_tcp_stack(connection)->now_ms;
        plumb_packet_put(packet);
    } else if (delivered) {
        pl_tcp_count_posted(connection, length);
        count_payload(connection, end);
        plumb_packet_put(packet);
    } else {
        queue(connection, packet, options, length, end);
    }
    return true;
}

/* Without options and with timestamps, so that neither asks again. */
static __attribute__((noinline)) bool take_other(struct plumb_tcp *connection,
                                                 struct plumb_netif *netif,
                                                 struct plumb_packet *packet, uint32_t length) {
    return take_any(connection, netif, packet, length, 0);
}

#ifdef CONFIG_PLUMB_TCP_TIMESTAMPS
static __attribute__((noinline)) bool take_other_stamped(struct plumb_tcp *connection,
                                                         struct plumb_netif *netif,
                                                         struct plumb_packet *packet,
                                                         uint32_t length) {
    return take_any(connection, netif, packet, length, PL_TCP_STAMP);
}
#else
#define take_other_stamped take_other
#endif

/* Takes the frame, whose header has so many bytes of options, or returns false. */
PL_INLINE bool take(struct plumb_netif *netif, struct plumb_tcp *connection,
                    struct plumb_packet *packet, const uint32_t options) {
    const uint8_t *frame = packet->data;
    const struct pl_ipv4_header *ip = (const void *)(frame + IPV4);
    const struct pl_tcp_header *tcp = (const void *)(frame + TCP);

    if (packet->length < HEADERS + options || packet->more)
        return false;
    uint32_t total = plumb_get16(ip->total_length);
    uint32_t length = total - (PL_IPV4_HEADER + PL_TCP_HEADER) - options;
    uint32_t sequence = plumb_get32(pl_net32_get(tcp->sequence));
    uint32_t word = word_of(tcp);
    uint32_t acknowledgement = plumb_get32(pl_net32_get(tcp->acknowledgement));

    if (!pl_ethernet_expected(netif, (const void *)frame) ||
        !pl_ipv4_expected(ip, PL_PROTOCOL_TCP) ||
        !pl_ipv4_between(ip, connection->remote, netif->ipv4) ||
        !pl_both_equal(tcp->ports.be, connection->ports, sequence, connection->receive_next) ||
        total > packet->length - (uint32_t)PL_ETHERNET_HEADER ||
        !pl_ipv4_sum_passes(ip, pl_tcp_address_sum(connection)) ||
        (options && !stamp_passes(connection, tcp)))
        return false;
    if (length - 1 >= connection->receive_edge - sequence || pl_tcp_is_posting(connection) ||
        !pl_both_equal(word, connection->window_word, acknowledgement, connection->send_unacked))
        return ((word ^ connection->window_word) & FLAGS) == 0 &&
               length <= connection->receive_edge - sequence &&
               (options ? take_other_stamped(connection, netif, packet, length)
                        : take_other(connection, netif, packet, length));
    if (!may_queue(connection, packet, length) ||
        !sum_passes(connection, packet, tcp, options + length))
        return false;
    if (options)
        take_stamp(connection, tcp);
    connection->window_sequence = sequence;
    queue(connection, packet, options, length, sequence + length);
    return true;
}

/* Of a connection with timestamps, or whose segments may be marked. Apart, so that the other
 * stays as it is. */
static __attribute__((noinline)) bool
take_agreed(struct plumb_netif *netif, struct plumb_tcp *connection, struct plumb_packet *packet) {
    const struct pl_ipv4_header *ip = (const void *)(packet->data + IPV4);

    if (packet->length < HEADERS ||
        (pl_tcp_agreed(connection, PL_TCP_ECN) && pl_ipv4_is_marked(ip)))
        return false;
    return take(netif, connection, packet, pl_tcp_stamp_length(connection));
}

/* Apart, so that a compiler does not join it with the way of frames that nobody looks for:
 * these would move their arguments out of the way first. */
static __attribute__((cold, noinline)) void pass_on(struct plumb_netif *netif,
                                                    struct plumb_packet *packet) {
    pl_interface_rest(netif, packet);
}

void pl_tcp_first_look(struct plumb_netif *netif, struct plumb_packet *packet) {
    struct plumb_tcp *connection = netif->expected;

    if (!connection)
        pl_interface_rest(netif, packet);
    else if (pl_tcp_agreed(connection, PL_TCP_TIMESTAMPS | PL_TCP_ECN)
                 ? !take_agreed(netif, connection, packet)
                 : !take(netif, connection, packet, 0))
        pass_on(netif, packet);
}

void pl_tcp_expect(struct plumb_tcp *connection, struct plumb_netif *netif) {
    if (connection->state == PLUMB_TCP_STATE_ESTABLISHED && connection->netif == netif &&
        !connection->reordered && connection->handler && !netif->observer &&
        connection->window_word && !pl_after(connection->window_sequence, connection->receive_next))
        netif->expected = connection;
    else
        pl_tcp_unexpect(connection);
}

#endif
