/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What is sent, and when (RFC 9293 section 3.8.6, RFC 5681, RFC 1122 section
 * 4.2.3.4 on Nagle and section 4.2.3.2 on delayed acknowledgements).
 */
#include "tcp/segment.h"

/* The pause before trying again after a full ring or an unknown neighbour, and
 * after an empty pool. */
#define RETRY_RING_MS 1
#define RETRY_POOL_MS 10

/* Challenges per connection and second: a random number from the first on, so
 * that nobody can count them (RFC 5961 section 7; CVE-2016-5696). */
#define CHALLENGES_LEAST  5
#define CHALLENGES_SPREAD 8

/* ---- any segment ---- */

/* Puts headers in front of a packet and sends it. */
static int emit(struct plumb_tcp *connection, struct plumb_packet *packet, uint32_t sequence,
                uint32_t control, uint32_t sum) {
    struct pl_neighbour *neighbour = pl_tcp_neighbour(connection);
    bool has_front = pl_neighbour_has_front(neighbour);
    pl_header_word *word = (void *)(packet->data - PL_TCP_HEADER);

    pl_tcp_write_headers(connection, word, sequence, control, packet->total, sum);
    if (pl_tcp_is_offloaded(connection))
        packet->flags |= PLUMB_PACKET_CHECKSUM_OFFLOAD;
    word -= PL_IPV4_HEADER / 4;
    if (control & PL_TCP_CAPABLE)
        pl_ipv4_make_capable(word);
    pl_packet_push(packet,
                   PL_TCP_HEADER + PL_IPV4_HEADER + (has_front ? (unsigned)PL_ETHERNET_HEADER : 0));
    return has_front ? pl_link_send_front(neighbour, packet, word)
                     : pl_link_send(pl_tcp_stack(connection), neighbour, packet);
}

void pl_tcp_not_sent(struct plumb_tcp *connection) {
    connection->flags |= PL_TCP_ACK_NOW;
    pl_tcp_set_deadline(connection, PL_TCP_RETRY, RETRY_RING_MS);
}

/* ---- segments without payload ---- */

void pl_tcp_no_header(struct plumb_tcp *connection) {
    pl_count(pl_tcp_stack(connection), PLUMB_COUNTER_tcp_no_buffer_out);
    pl_tcp_set_deadline(connection, PL_TCP_RETRY, RETRY_POOL_MS);
}

static struct plumb_packet *take_header(struct plumb_tcp *connection) {
    struct plumb_packet *packet =
        pl_packet_take(pl_tcp_stack(connection)->options.headers, PL_HEADROOM);

    if (!packet)
        pl_tcp_no_header(connection);
    return packet;
}

/* Sends a packet that is empty, but for what options there are. */
static int emit_control(struct plumb_tcp *connection, struct plumb_packet *packet,
                        uint32_t sequence, uint8_t flags) {
    uint32_t options = pl_tcp_build_options(connection, flags, (void *)packet->data), sum = 0;

    if (options) {
        packet->length = packet->total = (uint16_t)options;
        sum = pl_sum(packet->data, options);
    }
    return emit(connection, packet, sequence,
                pl_tcp_control(flags | pl_tcp_ecn_flags(connection, flags), options), sum);
}

static int send_control(struct plumb_tcp *connection, uint32_t sequence, uint8_t flags) {
    struct plumb_packet *packet = take_header(connection);

    if (!packet)
        return PLUMB_ERROR_NO_BUFFER;
    int result = emit_control(connection, packet, sequence, flags);
    if (result != PLUMB_OK)
        pl_tcp_not_sent(connection);
    pl_fragment_put(packet);
    return result;
}

/* With the highest number ever sent: after a time-out send_next lies below what the
 * peer has received, and an ACK with it would be taken for an old duplicate; two
 * peers in that state would never hear each other. */
void pl_tcp_send_ack(struct plumb_tcp *connection) {
    if (send_control(connection, connection->send_most, PL_TCP_ACK) == PLUMB_OK)
        pl_tcp_tally(connection, acks_out, 1);
    else
        connection->flags |= PL_TCP_ACK_NOW;
}

void pl_tcp_send_probe(struct plumb_tcp *connection) {
    send_control(connection, connection->send_unacked - 1, PL_TCP_ACK);
}

void pl_tcp_send_reset(struct plumb_tcp *connection) {
    send_control(connection, connection->send_most, PL_TCP_RST | PL_TCP_ACK);
}

void pl_tcp_send_syn(struct plumb_tcp *connection) {
    bool answering = connection->state == PLUMB_TCP_STATE_SYN_RECEIVED;

    if (connection->flags & PL_TCP_SYN_REPEATED)
        connection->flags &= (uint16_t)~PL_TCP_TIMING;
    else
        pl_tcp_begin_timing(connection, connection->send_unacked + 1);
    send_control(connection, connection->send_unacked,
                 (uint8_t)(PL_TCP_SYN | (answering ? PL_TCP_ACK : 0)));
    connection->send_next = connection->send_most = connection->send_unacked + 1;
    pl_tcp_time_oldest(connection);
}

void pl_tcp_challenge(struct plumb_tcp *connection) {
    struct plumb *stack = pl_tcp_stack(connection);

    if (connection->challenge_second != pl_tcp_second(stack)) {
        connection->challenge_second = pl_tcp_second(stack);
        connection->challenges =
            (uint8_t)(CHALLENGES_LEAST + plumb_random(stack) % CHALLENGES_SPREAD);
    }
    if (connection->challenges == 0) {
        pl_count(stack, PLUMB_COUNTER_tcp_challenge_limited);
        return;
    }
    connection->challenges--;
    pl_count(stack, PLUMB_COUNTER_tcp_challenge);
    pl_tcp_acknowledge_now(connection);
}

void pl_tcp_send_once(struct plumb_tcp *stranger, uint32_t sequence, uint8_t flags) {
    struct plumb *stack = pl_tcp_stack(stranger);
    struct plumb_packet *packet = plumb_packet_take(stack->options.headers, PL_HEADROOM);

    if (!packet) {
        pl_count(stack, PLUMB_COUNTER_tcp_no_buffer_out);
        return;
    }
    emit_control(stranger, packet, sequence, flags);
    plumb_packet_put(packet);
}

void pl_tcp_reset_stranger(const struct pl_segment *segment) {
    plumb_ipv4 remote = pl_net32_get(segment->ip->source);
    struct plumb_tcp stranger;
    struct pl_route route;

    if (segment->flags & PL_TCP_RST ||
        !pl_route_find(segment->tcp->stack, segment->netif, remote, &route))
        return;
    pl_tcp_begin(&stranger, segment->tcp, segment->netif, remote,
                 pl_net32_get(segment->header->ports).be);
    stranger.receive_next = stranger.receive_edge = segment->sequence + segment->length +
                                                    !!(segment->flags & PL_TCP_SYN) +
                                                    !!(segment->flags & PL_TCP_FIN);
    if (segment->flags & PL_TCP_ACK)
        pl_tcp_send_once(&stranger, segment->acknowledgement, PL_TCP_RST);
    else
        pl_tcp_send_once(&stranger, 0, PL_TCP_RST | PL_TCP_ACK);
}

/* ---- segments with payload ---- */

/* Puts the options of a segment with payload in front of it and returns their sum. */
static inline uint32_t push_options(const struct plumb_tcp *connection, struct plumb_packet *packet,
                                    unsigned length) {
    pl_header_word *word;

    if (!length)
        return 0;
    word = pl_packet_push(packet, length);
    pl_tcp_write_stamp(connection, word);
    return pl_sum(word, length);
}

/* Sends the first `length` bytes of a segment with headers in front, its own or
 * another packet's, and leaves it as it was. */
static inline int send_with_headers(struct plumb_tcp *connection, struct plumb_packet *segment,
                                    uint32_t flags, uint32_t length) {
    struct plumb_packet *front = pl_tcp_takes_headers(segment) ? segment : take_header(connection);
    const unsigned options = pl_tcp_stamp_length(connection);
    uint8_t *data = segment->data;
    uint16_t whole = segment->length;

    if (!front)
        return PLUMB_ERROR_NO_BUFFER;
    uint32_t sum = 0;
    if (!pl_tcp_is_offloaded(connection))
        sum = length < whole ? pl_sum(data, length) : pl_tcp_sum_kept(segment);
    segment->length = segment->total = (uint16_t)length;
    if (front != segment) {
        front->more = segment;
        front->total = (uint16_t)length;
        front->flags = PLUMB_PACKET_RETAINED;
    }
    sum += push_options(connection, front, options);
    int result = emit(connection, front, segment->sequence, pl_tcp_control(flags, options), sum);
    if (result != PLUMB_OK)
        pl_tcp_not_sent(connection);
    if (front != segment) {
        front->more = NULL;
        pl_fragment_put(front);
    }
    segment->data = data;
    segment->length = segment->total = whole;
    return result;
}

/* Notes that sequence numbers up to `end` are out. */
static inline void note_sent(struct plumb_tcp *connection, uint32_t sequence, uint32_t end) {
    if (sequence == connection->send_most) {
        pl_tcp_begin_timing(connection, end);
        connection->send_next = connection->send_most = end;
    } else {
        pl_tcp_tally(connection, retransmitted, 1);
        pl_tcp_undo_repeated(connection);
        pl_count(pl_tcp_stack(connection), PLUMB_COUNTER_tcp_retransmitted);
        /* Karn: what was sent twice is not timed. */
        connection->flags &= (uint16_t)~PL_TCP_TIMING;
        if (pl_after(end, connection->send_next))
            connection->send_next = end;
        if (pl_after(end, connection->send_most))
            connection->send_most = end;
    }
}

/* Sends a segment, or a part from its front, which leaves it among the unsent. */
static int send_segment(struct plumb_tcp *connection, struct plumb_packet *segment,
                        uint32_t length) {
    bool whole = length == segment->total;
    bool last = whole && segment->next == NULL;
    bool fin = last && connection->flags & PL_TCP_FIN_QUEUED;
    uint32_t flags = PL_TCP_ACK | (last ? PL_TCP_PSH : 0U) | (fin ? PL_TCP_FIN : 0U);
    bool fresh =
        segment->sequence == connection->send_most && !(connection->flags & PL_TCP_PROBING);
    flags |= pl_tcp_payload_flags(connection, fresh);
    int result = send_with_headers(connection, segment, flags, length);

    if (result != PLUMB_OK)
        return result;
    if (flags & PL_TCP_CWR)
        connection->agreed &= (uint8_t)~PL_TCP_REDUCED;
    pl_tcp_tally(connection, segments_out, 1);
    if (fin)
        connection->flags |= PL_TCP_FIN_SENT;
    if (whole && connection->send_unsent == segment)
        connection->send_unsent = segment->next;
    pl_tcp_mark_sent(connection, segment, segment->sequence != connection->send_most);
    note_sent(connection, segment->sequence, segment->sequence + length + fin);
    return PLUMB_OK;
}

static void send_fin(struct plumb_tcp *connection) {
    uint32_t sequence = connection->send_unacked + connection->send_queued;

    if (send_control(connection, sequence, PL_TCP_FIN | PL_TCP_ACK) != PLUMB_OK)
        return;
    connection->flags |= PL_TCP_FIN_SENT;
    note_sent(connection, sequence, sequence + 1);
}

void pl_tcp_rewind(struct plumb_tcp *connection) {
    if (connection->send_unacked == connection->send_most)
        return;
    connection->send_unsent = connection->send_first;
    connection->send_next = connection->send_unacked;
    connection->flags &= (uint16_t) ~(PL_TCP_FIN_SENT | PL_TCP_TIMING);
    pl_tcp_forget_marks(connection);
}

void pl_tcp_send_whole(struct plumb_tcp *connection, struct plumb_packet *segment) {
    if (pl_tcp_fit(connection, segment))
        send_segment(connection, segment, segment->total);
}

void pl_tcp_send_oldest(struct plumb_tcp *connection) {
    struct plumb_packet *oldest = connection->send_first;
    uint32_t window = connection->send_window ? connection->send_window : 1;

    if (!oldest) {
        if (connection->flags & PL_TCP_FIN_QUEUED)
            send_fin(connection);
        return;
    }
    /* Where there is no packet to cut it in two, as the queue itself may hold them all, its
     * front goes by itself. */
    if (!pl_tcp_fit(connection, oldest) && window > connection->mss)
        window = connection->mss;
    send_segment(connection, oldest, oldest->total < window ? oldest->total : window);
}

/* ---- what may go now ---- */

/* Nagle: a small last segment waits while others are out. */
static bool held_back(const struct plumb_tcp *connection, const struct plumb_packet *segment) {
    return segment->total < connection->mss && !segment->next && pl_tcp_in_flight(connection) &&
           !(connection->flags & (PL_TCP_NO_DELAY | PL_TCP_FIN_QUEUED)) &&
           !pl_before(connection->send_next, connection->send_most);
}

#ifdef CONFIG_PLUMB_TCP_RACK

/* RFC 6675 section 5, NextSeg (1): what was lost goes first. False when there is no use in
 * going on. */
static bool send_lost(struct plumb_tcp *connection) {
    struct plumb_packet *segment = connection->send_first;

    while ((segment = pl_tcp_next_lost(connection, segment)) != NULL) {
        if (!pl_tcp_fit(connection, segment))
            return false;
        uint32_t end = segment->sequence + segment->total - connection->send_unacked;
        if (pl_tcp_pipe(connection) + segment->total > connection->congestion_window ||
            end > connection->send_window ||
            send_segment(connection, segment, segment->total) != PLUMB_OK)
            return false;
    }
    return true;
}

/* What is sent in order next, whether again or for the first time. */
static struct plumb_packet *next_unsent(struct plumb_tcp *connection) {
    if (connection->flags & PL_TCP_WATCHED && pl_tcp_racks(connection))
        pl_tcp_skip_sacked(connection);
    return connection->send_unsent;
}

#else

static bool send_lost(const struct plumb_tcp *connection) {
    (void)connection;
    return true;
}

static struct plumb_packet *next_unsent(const struct plumb_tcp *connection) {
    return connection->send_unsent;
}

#endif

static void send_queue(struct plumb_tcp *connection) {
    const uint16_t amiss = PL_TCP_RECOVERY | PL_TCP_WATCHED;
    struct plumb_packet *segment;

    if (connection->flags & amiss && pl_tcp_racks(connection) && !send_lost(connection))
        return;
    if (!pl_tcp_send_burst(connection))
        return;
    while ((segment = next_unsent(connection)) != NULL) {
        if (!pl_tcp_fit(connection, segment)) {
            if (!pl_tcp_in_flight(connection))
                pl_tcp_send_oldest(connection); /* a part of it */
            return;
        }
        /* What a small window cuts in two is left to the timer: half a segment sent
         * at once is a silly window's (RFC 9293 section 3.8.6.2.1). */
        if (held_back(connection, segment) ||
            pl_tcp_in_flight(connection) + segment->total > pl_tcp_usable_window(connection) ||
            send_segment(connection, segment, segment->total) != PLUMB_OK)
            return;
    }
    if ((connection->flags & (PL_TCP_FIN_QUEUED | PL_TCP_FIN_SENT)) == PL_TCP_FIN_QUEUED)
        send_fin(connection);
}

/* Something waits for an acknowledgement, or to be sent: time it. */
static void keep_time(struct plumb_tcp *connection) {
    bool waiting = connection->send_first != NULL ||
                   connection->send_unacked != connection->send_most ||
                   (connection->flags & (PL_TCP_FIN_QUEUED | PL_TCP_FIN_SENT)) == PL_TCP_FIN_QUEUED;

    if (waiting)
        pl_tcp_time_oldest(connection);
}

/* Two full segments unacknowledged, a window that may open by two, or haste. */
static bool acknowledgement_due(const struct plumb_tcp *connection) {
    uint32_t two = 2U * connection->mss;
    uint32_t half = pl_tcp_receive_limit(connection) / 2;
    uint32_t step = half < two ? half : two;
    uint32_t open = connection->receive_edge - connection->receive_next;

    return connection->flags & PL_TCP_ACK_NOW ||
           connection->receive_next - connection->receive_acked >= two ||
           (!(connection->flags & PL_TCP_FIN_RECEIVED) &&
            pl_tcp_receive_room(connection) >= open + step);
}

void pl_tcp_output(struct plumb_tcp *connection) {
    if (connection->state < PLUMB_TCP_STATE_ESTABLISHED) {
        if (connection->state == PLUMB_TCP_STATE_SYN_RECEIVED && connection->flags & PL_TCP_ACK_NOW)
            pl_tcp_send_ack(connection); /* a challenge */
        return;
    }
    /* What goes with payload has no blocks. */
    if (connection->flags & PL_TCP_ACK_NOW && pl_tcp_tells_blocks(connection))
        pl_tcp_send_ack(connection);
    if (connection->state != PLUMB_TCP_STATE_TIME_WAIT) {
        send_queue(connection);
        keep_time(connection);
    }
    if (acknowledgement_due(connection))
        pl_tcp_send_ack(connection);
    else if (connection->receive_next != connection->receive_acked &&
             !pl_tcp_has_deadline(connection, PL_TCP_ACKNOWLEDGE))
        pl_tcp_set_deadline(connection, PL_TCP_ACKNOWLEDGE, CONFIG_PLUMB_TCP_DELAYED_ACK_MS);
}
