/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The acknowledgement and the window of an acceptable segment (RFC 9293 section
 * 3.10.7.4, fifth check; RFC 5681, RFC 6298).
 *
 * Acknowledgements that bring nothing but progress are only noted; all of a batch are acted
 * on at once when it is settled, or before anything that is not so plain. Until then
 * send_unacked and the queue are as before.
 */
#include "tcp/tcp.h"

/* A window that opens lets everything held back go at once, the probe included. */
static void window_opened(struct plumb_tcp *connection) {
    connection->flags &= (uint16_t)~PL_TCP_PROBING;
    connection->retries = 0;
    pl_tcp_rewind(connection);
    pl_tcp_clear_deadline(connection, PL_TCP_RETRANSMIT);
    pl_tcp_pend(connection);
}

/* Takes the window unless the segment is older than the one it was last taken
 * from. Returns whether it changed. */
static bool take_window(struct plumb_tcp *connection, const struct pl_segment *segment) {
    uint32_t window = pl_tcp_scaled(connection, segment->window);

    if (pl_after(connection->window_sequence, segment->sequence))
        return false;
    connection->window_sequence = segment->sequence;
    pl_tcp_expect_window(connection, segment->window);
    if (window == connection->send_window)
        return false;
    connection->send_window = (pl_tcp_size)window;
    if (segment->window > connection->send_window_most)
        connection->send_window_most = (uint16_t)segment->window;
    if (window && connection->flags & PL_TCP_PROBING)
        window_opened(connection);
    else if (connection->send_unsent)
        pl_tcp_pend(connection);
    return true;
}

static void measure(struct plumb_tcp *connection, uint32_t acknowledgement) {
    if (pl_before(acknowledgement, connection->timed_sequence))
        return;
    connection->flags &= (uint16_t)~PL_TCP_TIMING;
    if (!pl_tcp_echoes_measure(connection))
        pl_tcp_round_trip(connection,
                          (uint32_t)pl_tcp_stack(connection)->now_us - connection->timed_us);
}

void pl_tcp_offer_room(struct plumb_tcp *connection) {
    uint32_t worth = pl_tcp_send_limit(connection) / 2;

    if (worth > 8U * connection->mss)
        worth = 8U * connection->mss;
    if (!(connection->flags & PL_TCP_WANT_WRITABLE) || plumb_tcp_writable(connection) < worth)
        return;
    connection->flags &= (uint16_t)~PL_TCP_WANT_WRITABLE;
    pl_tcp_tell(connection, PLUMB_TCP_WRITABLE);
}

/* Moves the front of a segment forward; the sum of what is left is taken if that is
 * sent again. */
static void cut_front(struct plumb_packet *segment, uint32_t length) {
    pl_packet_pull(segment, length);
    segment->sequence += length;
    segment->flags &= (uint8_t)~PLUMB_PACKET_SUMMED;
}

/* Puts what is acknowledged: `bytes` from the front of the queue on, or all of it. */
static inline void release(struct plumb_tcp *connection, uint32_t bytes) {
    struct plumb_packet *segment = connection->send_first;
    uint32_t left = bytes;

    while (segment && left >= segment->total) {
        struct plumb_packet *next = segment->next;
        left -= segment->total;
        pl_fragment_put(segment);
        segment = next;
    }
    connection->send_first = segment;
    if (!segment) {
        connection->send_last = NULL;
        connection->send_queued = 0;
        return;
    }
    connection->send_queued = (pl_tcp_size)(connection->send_queued - bytes);
    if (left)
        cut_front(segment, left);
}

/* Something new was acknowledged: what follows from it beside congestion control. */
static inline void move_unacked(struct plumb_tcp *connection, uint32_t acknowledgement) {
    uint32_t bytes = acknowledgement - connection->send_unacked;

    if (connection->flags & PL_TCP_TIMING)
        measure(connection, acknowledgement);
    connection->retries = 0;
    connection->progress_ms = pl_tcp_stack(connection)->now_ms;
    if (connection->flags & PL_TCP_FIN_QUEUED && bytes == connection->send_queued + 1U)
        connection->flags |= PL_TCP_FIN_SENT;
    release(connection, bytes);
    connection->send_unacked = acknowledgement;
    if (pl_before(connection->send_next, acknowledgement)) {
        /* What was to be sent again need not be. */
        connection->send_next = acknowledgement;
        connection->send_unsent = connection->send_first;
    }
    if (connection->flags & PL_TCP_WANT_WRITABLE)
        pl_tcp_offer_room(connection);
    if (!(connection->flags & PL_TCP_PENDING))
        pl_tcp_pend(connection);
}

/* Follows, or it would come to lie ahead after 2^31 bytes. */
static void move_recover(struct plumb_tcp *connection, uint32_t acknowledgement) {
    if (pl_after(acknowledgement - 1, connection->recover))
        connection->recover = acknowledgement - 1;
}

/* Something new was acknowledged, by `count` segments, and nothing is amiss but what NewReno
 * takes care of. */
static void advance(struct plumb_tcp *connection, uint32_t acknowledgement, uint32_t count) {
    uint32_t bytes = acknowledgement - connection->send_unacked;

    move_unacked(connection, acknowledgement);
    if (connection->flags & PL_TCP_RECOVERY) {
        pl_tcp_recovery_acknowledgement(connection, bytes);
    } else {
        pl_tcp_congestion_acked(connection, bytes, count);
        move_recover(connection, acknowledgement);
        pl_tcp_undo_step(connection, bytes);
    }
    pl_tcp_open_eyes(connection);
    connection->duplicates = 0;
    /* What is sent next sets the deadline of those that probe. */
    if (pl_tcp_racks(connection) ||
        (acknowledgement == connection->send_most && !connection->send_first))
        pl_tcp_clear_deadline(connection, PL_TCP_RETRANSMIT);
    else
        pl_tcp_set_deadline(connection, PL_TCP_RETRANSMIT, connection->rto_ms);
}

#ifdef CONFIG_PLUMB_TCP_RACK
void pl_tcp_advance(struct plumb_tcp *connection, uint32_t acknowledgement) {
    move_unacked(connection, acknowledgement);
    if (!(connection->flags & PL_TCP_RECOVERY))
        move_recover(connection, acknowledgement);
}
#endif

#ifdef CONFIG_PLUMB_TCP_ACKNOWLEDGE_BATCH

void pl_tcp_take_deferred(struct plumb_tcp *connection) {
    const uint32_t count = connection->deferred_count;

    connection->deferred_count = 0;
    advance(connection, connection->deferred, count);
}

#endif

/* Brings it nothing but an acknowledgement? */
static inline bool is_plain(const struct plumb_tcp *connection, const struct pl_segment *segment) {
    return pl_tcp_scaled(connection, segment->window) == connection->send_window &&
           !pl_after(connection->window_sequence, segment->sequence) &&
           (!pl_tcp_racks(connection) ||
            segment->options_length <= pl_tcp_stamp_length(connection));
}

bool pl_tcp_take_acknowledgement(struct plumb_tcp *connection, const struct pl_segment *segment) {
    uint32_t acknowledgement = segment->acknowledgement;

    if (is_plain(connection, segment) &&
        pl_tcp_defer(connection, segment->sequence, acknowledgement))
        return true;
    pl_tcp_settle_deferred(connection);
    uint32_t ahead = acknowledgement - connection->send_unacked;
    if (ahead > connection->send_most - connection->send_unacked) {
        /* Never sent, or acknowledged long ago (RFC 5961 section 5.2). */
        uint32_t behind = connection->send_unacked - acknowledgement;
        if (behind <= pl_tcp_scaled(connection, connection->send_window_most))
            return true;
        pl_tcp_challenge(connection);
        return false;
    }
    bool changed = take_window(connection, segment);
    if (pl_tcp_racks(connection) && pl_tcp_rack_acknowledgement(connection, segment, ahead))
        return true;
    if (ahead)
        advance(connection, acknowledgement, 1);
    else if (!changed && !segment->length && !(segment->flags & PL_TCP_FIN) &&
             connection->send_window && pl_tcp_in_flight(connection))
        pl_tcp_duplicate_acknowledgement(connection);
    return true;
}
