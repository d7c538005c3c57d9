/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Time-outs and recoveries for nothing: what tells that what was sent again had not been lost,
 * and the window put back (RFC 4015).
 *
 *  - F-RTO (RFC 5682 section 2): after a time-out the first acknowledgement that is of new
 *    bytes lets two new segments go and not old ones; when the next one is of more bytes, these
 *    were acknowledged by what was sent before the time-out.
 *  - An echoed timestamp from before what was sent again (Eifel, RFC 3522 section 3.2).
 *  - Every segment that was sent again had arrived twice (D-SACK, RFC 3708 section 2).
 *
 * What holds: undo_window is what the window was before the last reduction, 0 when there is
 * nothing to go back to; undo_count the repetitions since, UINT8_MAX when too many. A connection
 * without a record has nothing to go back to.
 */
#include "tcp/congestion.h"

#ifdef CONFIG_PLUMB_TCP_UNDO

/* Of W_max, which is noted in 16 bits: windows stop growing at 2 MiB. */
#define MOST_SHIFT 6

void pl_tcp_undo_note(struct plumb_tcp *connection) {
    struct pl_tcp_loss *loss = pl_tcp_loss(connection);

    if (!loss)
        return;
    loss->undo_window = connection->congestion_window;
    loss->undo_threshold = connection->slow_start_threshold;
#ifdef CONFIG_PLUMB_TCP_CUBIC
    loss->undo_most = (uint16_t)(loss->cubic_most >> MOST_SHIFT);
#endif
    loss->undo_count = 0;
    loss->undo_step = PL_TCP_UNDO_NONE;
}

void pl_tcp_undo_repeated(struct plumb_tcp *connection) {
    struct pl_tcp_loss *loss = pl_tcp_loss(connection);

    if (!loss)
        return;
    if (loss->undo_count < UINT8_MAX)
        loss->undo_count++;
    /* What is acknowledged next may be this. */
    if (loss->undo_step == PL_TCP_UNDO_SENT_NEW)
        loss->undo_step = PL_TCP_UNDO_NONE;
}

/* Goes on where sending was before the time-out. */
static void forward(struct plumb_tcp *connection) {
    struct plumb_packet *segment = connection->send_unsent;

    while (segment && pl_before(segment->sequence, connection->send_most))
        segment = segment->next;
    connection->send_unsent = segment;
    connection->send_next = connection->send_most;
    if (connection->flags & PL_TCP_FIN_QUEUED &&
        connection->send_most - connection->send_unacked == connection->send_queued + 1U)
        connection->flags |= PL_TCP_FIN_SENT;
}

/* Is there something new that the peer has room for (RFC 5682 section 2.1, step 2b)? */
static bool has_new(const struct plumb_tcp *connection) {
    uint32_t out = connection->send_most - connection->send_unacked;
    uint32_t queued = connection->send_queued;

    return queued > out && connection->send_window >= out + connection->mss;
}

/* RFC 4015 section 3.2, RFC 9438 section 4.9. */
static void undo(struct plumb_tcp *connection) {
    struct pl_tcp_loss *loss = pl_tcp_own_loss(connection);

    pl_count(pl_tcp_stack(connection), PLUMB_COUNTER_tcp_undone);
    if (connection->congestion_window < loss->undo_window)
        connection->congestion_window = loss->undo_window;
    connection->slow_start_threshold = loss->undo_threshold;
#ifdef CONFIG_PLUMB_TCP_CUBIC
    loss->cubic_most = (pl_tcp_size)((uint32_t)loss->undo_most << MOST_SHIFT);
#endif
    loss->undo_window = 0;
    loss->undo_step = PL_TCP_UNDO_NONE;
    connection->flags &= (uint16_t)~PL_TCP_RECOVERY;
    connection->recover = connection->send_unacked - 1;
    forward(connection);
    pl_tcp_forget_losses(connection);
    pl_tcp_congestion_resume(connection);
    pl_tcp_pend(connection);
}

void pl_tcp_undo_timeout(struct plumb_tcp *connection) {
    struct pl_tcp_loss *loss = pl_tcp_loss(connection);

    if (loss)
        loss->undo_step = PL_TCP_UNDO_SENT_OLDEST;
}

void pl_tcp_undo_never(struct plumb_tcp *connection) {
    struct pl_tcp_loss *loss = pl_tcp_loss(connection);

    if (!loss)
        return;
    loss->undo_window = 0;
    loss->undo_step = PL_TCP_UNDO_NONE;
}

/* Steps 2 and 3: an acknowledgement of `advanced` bytes after a time-out. */
static void take_step(struct plumb_tcp *connection, struct pl_tcp_loss *loss, uint32_t advanced) {
    const unsigned step = loss->undo_step;

    loss->undo_step = PL_TCP_UNDO_NONE;
    if (step == PL_TCP_UNDO_SENT_NEW) {
        if (advanced) {
            undo(connection);
            return;
        }
        /* Lost after all. */
        connection->congestion_window = pl_tcp_bounded(3U * connection->mss);
        pl_tcp_pend(connection);
        if (pl_tcp_racks(connection))
            return; /* which finds out by itself */
        connection->duplicates = 0;
        pl_tcp_rewind(connection);
    } else if (advanced && pl_before(connection->send_unacked, connection->recover) &&
               has_new(connection)) {
        forward(connection);
        connection->congestion_window =
            pl_tcp_bounded(pl_tcp_in_flight(connection) + 2U * connection->mss);
        loss->undo_step = PL_TCP_UNDO_SENT_NEW;
    }
}

void pl_tcp_undo_step(struct plumb_tcp *connection, uint32_t advanced) {
    struct pl_tcp_loss *loss = pl_tcp_loss(connection);

    if (loss && loss->undo_step != PL_TCP_UNDO_NONE)
        take_step(connection, loss, advanced);
}

bool pl_tcp_undo_duplicate(struct plumb_tcp *connection) {
    struct pl_tcp_loss *loss = pl_tcp_own_loss(connection);

    if (!loss->undo_window || !loss->undo_count || loss->undo_count == UINT8_MAX)
        return false;
    if (--loss->undo_count != 0)
        return false;
    undo(connection);
    return true;
}

void pl_tcp_undo_spurious(struct plumb_tcp *connection) {
    if (pl_tcp_own_loss(connection)->undo_window)
        undo(connection);
}

#endif
