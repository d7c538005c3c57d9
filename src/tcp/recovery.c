/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Finding out what was lost, and sending it again: by duplicate acknowledgements, which
 * tell of one loss per round trip (NewReno, RFC 6582, with limited transmit, RFC 3042).
 */
#include "tcp/congestion.h"

#define DUPLICATES_TO_RETRANSMIT 3U

void pl_tcp_recovery_timeout(struct plumb_tcp *connection) {
    /* Within what another one has sent again nothing is known (RFC 5682 section 2.1, step 1). */
    bool known = connection->retries == 0 && !(connection->flags & PL_TCP_RECOVERY) &&
                 !pl_before(connection->send_unacked, connection->recover);

    pl_tcp_congestion_timeout(connection);
    if (known)
        pl_tcp_undo_timeout(connection);
    else
        pl_tcp_undo_never(connection);
    connection->recover = connection->send_most;
    connection->flags &= (uint16_t)~PL_TCP_RECOVERY;
    connection->duplicates = 0;
}

static void enter_recovery(struct plumb_tcp *connection) {
    pl_count(pl_tcp_stack(connection), PLUMB_COUNTER_tcp_fast_retransmit);
    connection->flags |= PL_TCP_RECOVERY;
    connection->recover = connection->send_most;
    pl_tcp_congestion_lost(connection);
    connection->congestion_window = pl_tcp_bounded(connection->slow_start_threshold +
                                                   DUPLICATES_TO_RETRANSMIT * connection->mss);
    pl_tcp_send_oldest(connection);
}

void pl_tcp_duplicate_acknowledgement(struct plumb_tcp *connection) {
    if (connection->duplicates < UINT8_MAX)
        connection->duplicates++;
    pl_tcp_undo_step(connection, 0);
    if (connection->flags & PL_TCP_RECOVERY) {
        /* Each tells of a segment that has left the network; but of no more of
         * them than were out. */
        if (connection->congestion_window <
            connection->slow_start_threshold + pl_tcp_in_flight(connection))
            pl_tcp_grow_window(connection, connection->mss);
    } else if (connection->duplicates == DUPLICATES_TO_RETRANSMIT &&
               pl_after(connection->send_unacked, connection->recover)) {
        /* Not for what was sent before the last loss (RFC 6582 section 3.2, step 1). */
        enter_recovery(connection);
    }
}

static void leave_recovery(struct plumb_tcp *connection) {
    uint32_t flight = pl_tcp_in_flight(connection), mss = connection->mss;
    uint32_t window = (flight > mss ? flight : mss) + mss;
    uint32_t threshold = connection->slow_start_threshold;

    connection->congestion_window = pl_tcp_bounded(window < threshold ? window : threshold);
    connection->flags &= (uint16_t)~PL_TCP_RECOVERY;
}

void pl_tcp_recovery_acknowledgement(struct plumb_tcp *connection, uint32_t bytes) {
    uint32_t window = connection->congestion_window, mss = connection->mss;

    if (!pl_before(connection->send_unacked, connection->recover)) {
        leave_recovery(connection);
        return;
    }
    /* A partial acknowledgement: the next hole is lost too (RFC 6582 section 3.2, step 3). */
    window = window > bytes ? window - bytes : mss;
    if (bytes >= mss)
        window += mss;
    connection->congestion_window = pl_tcp_bounded(window > mss ? window : mss);
    pl_tcp_send_oldest(connection);
}
