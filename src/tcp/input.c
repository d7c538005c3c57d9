/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A received segment: checked, then taken by the state of its connection
 * (RFC 9293 section 3.10.7, in its order of checks; RFC 5961).
 */
#include "tcp/tcp.h"

#include "bytes/bytes.h"

void pl_tcp_drop(struct pl_segment *segment, enum plumb_counter counter) {
    pl_drop(segment->tcp->stack, counter, segment->packet);
    segment->packet = NULL;
}

/* ---- checks on the segment alone ---- */

/* Verifies the checksum. Payload that a connection wants in memory of its user's
 * is copied there in the same pass. */
static bool checksum_passes(struct plumb_tcp *connection, struct pl_segment *segment,
                            unsigned header_length) {
    const struct plumb_packet *packet = segment->packet;
    const struct pl_ipv4_header *ip = segment->ip;
    uint32_t pseudo = pl_sum_pseudo(pl_sum_addresses(ip->source.be, ip->destination.be),
                                    PL_PROTOCOL_TCP, packet->total);
    uint32_t payload_sum;

    if (packet->flags & PLUMB_PACKET_CHECKSUM_GOOD)
        return true;
    if (connection && pl_tcp_is_posting(connection) &&
        pl_tcp_poster(connection)
            ->copy(connection, segment->sequence, packet, header_length, &payload_sum)) {
        segment->delivered = true;
        return pl_fold(pseudo + pl_sum(packet->data, header_length) + payload_sum) == 0xffff;
    }
    return pl_fold(pseudo + pl_packet_sum(packet)) == 0xffff;
}

static void parse(struct pl_segment *segment, unsigned header_length) {
    const struct pl_tcp_header *header = segment->header;

    segment->sequence = plumb_get32(pl_net32_get(header->sequence));
    segment->acknowledgement = plumb_get32(pl_net32_get(header->acknowledgement));
    segment->window = plumb_get16(header->window);
    segment->length = segment->packet->total - header_length;
    segment->flags = header->flags;
    segment->options_length = (uint8_t)(header_length - PL_TCP_HEADER);
    segment->delivered = false;
}

static uint32_t sequence_length(const struct pl_segment *segment) {
    return segment->length + !!(segment->flags & PL_TCP_SYN) + !!(segment->flags & PL_TCP_FIN);
}

/* ---- no connection, and SYN_SENT ---- */

static void input_closed(struct pl_segment *segment) {
    const uint8_t kind = segment->flags & (PL_TCP_SYN | PL_TCP_RST | PL_TCP_ACK);

    if (pl_tcp_take_handshake(segment))
        return;
    if (kind == PL_TCP_SYN) {
        pl_tcp_passive_open(segment, NULL);
        return;
    }
    pl_tcp_reset_stranger(segment);
    pl_tcp_drop(segment, PLUMB_COUNTER_tcp_port);
}

static void establish(struct plumb_tcp *connection, const struct pl_segment *segment) {
    struct plumb *stack = pl_tcp_stack(connection);

    /* The user may have shut down meanwhile. */
    connection->state = connection->flags & PL_TCP_FIN_QUEUED ? PLUMB_TCP_STATE_FIN_WAIT_1
                                                              : PLUMB_TCP_STATE_ESTABLISHED;
    connection->recover = connection->send_unacked; /* the SYN */
    connection->send_unacked = segment->acknowledgement;
    connection->window_sequence = segment->sequence;
    connection->send_window_most = (uint16_t)segment->window;
    connection->send_window = (pl_tcp_size)pl_tcp_scaled(connection, segment->window);
#ifdef CONFIG_PLUMB_TCP_WINDOW_SCALE
    if (segment->flags & PL_TCP_SYN) {
        connection->send_window = segment->window; /* never scaled */
        connection->send_window_most = (uint16_t)(segment->window >> connection->send_scale);
    }
#endif
    connection->retries = 0;
    connection->progress_ms = stack->now_ms;
    pl_tcp_clear_deadline(connection, PL_TCP_RETRANSMIT);
    if (connection->flags & PL_TCP_TIMING)
        pl_tcp_round_trip(connection, (uint32_t)stack->now_us - connection->timed_us);
    connection->flags &= (uint16_t)~PL_TCP_TIMING;
    if (connection->flags & PL_TCP_SYN_REPEATED) {
        /* A handshake that lost a SYN says little for the path (RFC 6298 section
         * 5.7, RFC 5681 section 3.1). */
        connection->rto_ms = 3000;
        connection->congestion_window = connection->mss;
    }
    pl_count(stack, PLUMB_COUNTER_tcp_opened);
    pl_tcp_pend(connection);
}

static void input_syn_sent(struct plumb_tcp *connection, struct pl_segment *segment) {
    bool ack = segment->flags & PL_TCP_ACK;

    if (ack && segment->acknowledgement != connection->send_most) {
        pl_tcp_reset_stranger(segment);
        pl_tcp_drop(segment, PLUMB_COUNTER_tcp_acknowledgement);
    } else if (segment->flags & PL_TCP_RST) {
        if (ack)
            pl_tcp_end(connection, PLUMB_ERROR_REFUSED);
        else
            pl_tcp_drop(segment, PLUMB_COUNTER_tcp_reset);
    } else if (!(segment->flags & PL_TCP_SYN) || segment->flags & PL_TCP_FIN) {
        pl_tcp_drop(segment, PLUMB_COUNTER_tcp_flags);
    } else if (ack) {
        pl_tcp_synchronise(connection, segment);
        establish(connection, segment);
        connection->flags |= PL_TCP_ACK_NOW;
        pl_tcp_tell(connection, PLUMB_TCP_CONNECTED);
    } else {
        /* Both sides open at once (RFC 9293 section 3.5, figure 7). */
        connection->state = PLUMB_TCP_STATE_SYN_RECEIVED;
        pl_tcp_synchronise(connection, segment);
        pl_tcp_send_syn(connection);
    }
}

/* ---- synchronised states ---- */

/* RFC 9293 section 3.10.7.4, first check. A closed window takes nothing, yet the
 * acknowledgement of what probes it counts. */
static bool sequence_acceptable(const struct plumb_tcp *connection,
                                const struct pl_segment *segment) {
    uint32_t open = connection->receive_edge - connection->receive_next;
    uint32_t offset = segment->sequence - connection->receive_next;
    uint32_t length = sequence_length(segment);

    if (offset < open || offset == 0)
        return true;
    if (length == 0)
        return false;
    /* It begins before the window: does it reach into it? */
    return offset + length - 1 < open && (int32_t)offset < 0;
}

/* Not acceptable: an old duplicate, a keepalive probe, or something forged. All
 * are answered; those that carry nothing only so often. */
static void refuse_sequence(struct plumb_tcp *connection, struct pl_segment *segment) {
    uint32_t length = sequence_length(segment);
    uint32_t end = segment->sequence + length;
    bool old = !pl_after(end, connection->receive_next);

    if (old)
        pl_tcp_note_duplicate(connection, segment->sequence, segment->sequence + segment->length);
    if (connection->state == PLUMB_TCP_STATE_TIME_WAIT && segment->flags & PL_TCP_FIN)
        pl_tcp_set_deadline(connection, PL_TCP_IDLE, CONFIG_PLUMB_TCP_TIME_WAIT_MS);
    if (connection->state == PLUMB_TCP_STATE_SYN_RECEIVED &&
        (segment->flags & (PL_TCP_SYN | PL_TCP_ACK)) == PL_TCP_SYN)
        pl_tcp_send_syn(connection);
    else if (old && segment->length)
        pl_tcp_acknowledge_now(connection);
    else
        pl_tcp_challenge(connection);
    if (old)
        pl_count(pl_tcp_stack(connection), PLUMB_COUNTER_tcp_duplicate);
    else
        pl_tcp_drop(segment, PLUMB_COUNTER_tcp_sequence);
}

/* RFC 5961 section 3.2: only the exact number resets; RFC 1337: not in TIME_WAIT. */
static void take_reset(struct plumb_tcp *connection, struct pl_segment *segment) {
    uint32_t open = connection->receive_edge - connection->receive_next;
    uint32_t offset = segment->sequence - connection->receive_next;

    if (offset == 0 && connection->state != PLUMB_TCP_STATE_TIME_WAIT) {
        pl_tcp_end(connection, connection->state == PLUMB_TCP_STATE_SYN_RECEIVED
                                   ? PLUMB_ERROR_REFUSED
                                   : PLUMB_ERROR_RESET);
        return;
    }
    if (offset < open && connection->state != PLUMB_TCP_STATE_TIME_WAIT)
        pl_tcp_challenge(connection);
    pl_tcp_drop(segment, PLUMB_COUNTER_tcp_reset);
}

/* A SYN to a connection in TIME_WAIT: surely no duplicate from before its end (RFC 6191
 * section 2)? By its timestamp, where there is one; else, or where that is the last one's,
 * by its number. */
static bool is_newer(const struct plumb_tcp *connection, const struct pl_segment *syn) {
#ifdef CONFIG_PLUMB_TCP_TIMESTAMPS
    const uint8_t *option = pl_tcp_option(syn, PL_TCP_OPTION_TIMESTAMPS, 10);
    if (option) {
        uint32_t stamp = plumb_get32_any((const void *)(option + 2));
        if (!pl_tcp_agreed(connection, PL_TCP_TIMESTAMPS))
            return true;
        if (stamp != connection->timestamp_recent)
            return pl_after(stamp, connection->timestamp_recent);
    }
#endif
    return pl_after(syn->sequence, connection->receive_next);
}

/* A SYN where none belongs. A new connection may follow one in TIME_WAIT (RFC
 * 9293 section 3.6.1); any other is challenged (RFC 5961 section 4.2). */
static void take_syn(struct plumb_tcp *connection, struct pl_segment *segment) {
    if (connection->state == PLUMB_TCP_STATE_TIME_WAIT &&
        !(connection->flags & (PL_TCP_USER | PL_TCP_PENDING)) && !(segment->flags & PL_TCP_ACK) &&
        is_newer(connection, segment)) {
        uint32_t most = connection->send_most;
        pl_tcp_end(connection, PLUMB_OK);
        pl_tcp_passive_open(segment, &most);
        return;
    }
    pl_tcp_challenge(connection);
    pl_tcp_drop(segment, PLUMB_COUNTER_tcp_syn);
}

/* After both sides have opened at once, each answers the other's SYN by a SYN with
 * ACK, of which only the ACK is news. */
static bool is_crossing_syn(const struct plumb_tcp *connection, const struct pl_segment *segment) {
    const uint8_t both = PL_TCP_SYN | PL_TCP_ACK;

    return connection->state == PLUMB_TCP_STATE_SYN_RECEIVED && (segment->flags & both) == both &&
           segment->sequence + 1 == connection->receive_next &&
           segment->acknowledgement == connection->send_most;
}

/* The handshake's last ACK; false when it acknowledges something else. */
static bool complete_handshake(struct plumb_tcp *connection, struct pl_segment *segment) {
    if (segment->acknowledgement != connection->send_most) {
        pl_tcp_reset_stranger(segment);
        return false;
    }
    /* Out of SYN_RECEIVED, but still the listener's until offered to its user. */
    if (connection->flags & PL_TCP_LISTENED) {
        connection->listener->half_open--;
        connection->flags |= PL_TCP_ACCEPT;
    } else {
        pl_tcp_tell(connection, PLUMB_TCP_CONNECTED);
    }
    establish(connection, segment);
    return true;
}

/* Our FIN was acknowledged. */
static void take_fin_acknowledged(struct plumb_tcp *connection) {
    switch (connection->state) {
    case PLUMB_TCP_STATE_FIN_WAIT_1:
        connection->state = PLUMB_TCP_STATE_FIN_WAIT_2;
        if (!(connection->flags & PL_TCP_USER))
            pl_tcp_set_deadline(connection, PL_TCP_IDLE, CONFIG_PLUMB_TCP_TIME_WAIT_MS);
        break;
    case PLUMB_TCP_STATE_CLOSING:
        pl_tcp_enter_time_wait(connection);
        break;
    case PLUMB_TCP_STATE_LAST_ACK:
        pl_tcp_end(connection, PLUMB_OK);
        break;
    default:
        break;
    }
}

static bool fin_acknowledged(const struct plumb_tcp *connection) {
    return connection->flags & PL_TCP_FIN_SENT &&
           connection->send_unacked == connection->send_most && !connection->send_first;
}

/* Payload and FIN, in the states that take them. */
static void take_text(struct plumb_tcp *connection, struct pl_segment *segment) {
    if (connection->flags & PL_TCP_FIN_RECEIVED) {
        /* Nothing comes after a FIN. */
        pl_tcp_acknowledge_now(connection);
        if (segment->length)
            pl_tcp_drop(segment, PLUMB_COUNTER_tcp_window);
        return;
    }
    if (segment->length && !(connection->flags & (PL_TCP_USER | PL_TCP_ACCEPT))) {
        /* Nobody will ever read it (RFC 9293 section 3.6.1). */
        pl_tcp_send_reset(connection);
        pl_tcp_end(connection, PLUMB_ERROR_ABORTED);
        pl_tcp_drop(segment, PLUMB_COUNTER_tcp_closed);
        return;
    }
    plumb_packet_trim_front(segment->packet, (unsigned)PL_TCP_HEADER + segment->options_length);
    pl_tcp_take_payload(connection, segment);
}

void pl_tcp_input_synchronised(struct plumb_tcp *connection, struct pl_segment *segment) {
    if (segment->flags & PL_TCP_RST) {
        take_reset(connection, segment);
        return;
    }
    if (segment->flags & PL_TCP_SYN && connection->state != PLUMB_TCP_STATE_SYN_RECEIVED) {
        take_syn(connection, segment);
        return;
    }
    if (is_crossing_syn(connection, segment)) {
        segment->flags &= (uint8_t)~PL_TCP_SYN;
        segment->sequence++;
    }
    if (!pl_tcp_timestamps_pass(connection, segment))
        return;
    if (!sequence_acceptable(connection, segment)) {
        refuse_sequence(connection, segment);
        return;
    }
    if (segment->flags & PL_TCP_SYN || !(segment->flags & PL_TCP_ACK)) {
        pl_tcp_drop(segment, PLUMB_COUNTER_tcp_flags);
        return;
    }
    pl_tcp_take_timestamps(connection, segment);
    pl_tcp_take_ecn(connection, segment);
    bool taken = connection->state == PLUMB_TCP_STATE_SYN_RECEIVED
                     ? complete_handshake(connection, segment)
                     : pl_tcp_take_acknowledgement(connection, segment);
    if (!taken) {
        pl_tcp_drop(segment, PLUMB_COUNTER_tcp_acknowledgement);
        return;
    }
    connection->heard_ms = pl_tcp_stack(connection)->now_ms;
    if (connection->state > PLUMB_TCP_STATE_ESTABLISHED && fin_acknowledged(connection))
        take_fin_acknowledged(connection);
    if (connection->state != PLUMB_TCP_STATE_CLOSED &&
        (segment->length || segment->flags & PL_TCP_FIN))
        take_text(connection, segment);
    pl_tcp_expect(connection, segment->netif);
}

/* The first thing wrong with a segment by itself, or -1. */
static int segment_fault(const struct plumb_packet *packet) {
    const struct pl_tcp_header *header = (const void *)packet->data;

    if (packet->length < PL_TCP_HEADER)
        return PLUMB_COUNTER_tcp_short;
    unsigned header_length = (header->offset >> 4) * 4U;
    if (header_length < PL_TCP_HEADER || header_length > packet->length)
        return PLUMB_COUNTER_tcp_offset;
    return packet->flags & PLUMB_PACKET_BROADCAST ? PLUMB_COUNTER_tcp_broadcast : -1;
}

void pl_tcp_input(struct plumb *stack, void *state, struct plumb_netif *netif,
                  const struct pl_ipv4_header *ip, struct plumb_packet *packet) {
    const struct pl_tcp_header *header = (const void *)packet->data;
    int fault = segment_fault(packet);
    struct pl_segment segment;

    if (fault >= 0) {
        pl_drop(stack, (enum plumb_counter)fault, packet);
        return;
    }
    segment.tcp = state;
    segment.netif = netif;
    segment.ip = ip;
    segment.header = header;
    segment.packet = packet;
    unsigned header_length = (header->offset >> 4) * 4U;
    parse(&segment, header_length);
    struct plumb_tcp *connection =
        pl_tcp_find(state, pl_net32_get(ip->destination), pl_net32_get(ip->source),
                    pl_net32_get(header->ports).be);
    if (!checksum_passes(connection, &segment, header_length))
        pl_tcp_drop(&segment, PLUMB_COUNTER_tcp_checksum);
    else if (!connection)
        input_closed(&segment);
    else if (connection->state == PLUMB_TCP_STATE_SYN_SENT)
        input_syn_sent(connection, &segment);
    else
        pl_tcp_input_synchronised(connection, &segment);
    /* Whoever took or dropped the packet has said so. */
    plumb_packet_put(segment.packet);
}

/* Is believed only about what is in flight (RFC 5927 section 4.1).
 * Only a connection that is still opening ends by an ICMP message; others take it
 * as a hint (RFC 5927 section 4, RFC 9293 section 3.9.2.2), and time-outs decide. */
bool pl_tcp_icmp_error(struct plumb *stack, void *state, const struct pl_ipv4_header *quoted,
                       const void *payload, int error, unsigned mtu) {
    const struct pl_tcp_header *header = payload;
    uint32_t ports = pl_net32_get(header->ports).be;
    struct plumb_tcp *connection =
        pl_tcp_find(state, pl_net32_get(quoted->source), pl_net32_get(quoted->destination),
                    ports << 16 | ports >> 16);

    (void)stack;
    if (!connection)
        return false;
    uint32_t sequence = plumb_get32(pl_net32_get(header->sequence));
    if (sequence - connection->send_unacked >= connection->send_most - connection->send_unacked)
        return false;
    if (error == PLUMB_ERROR_TOO_LONG)
        return pl_tcp_path_too_small(connection, plumb_get16(quoted->total_length), mtu);
    if (connection->state == PLUMB_TCP_STATE_SYN_SENT)
        pl_tcp_end(connection, error);
    return true;
}
