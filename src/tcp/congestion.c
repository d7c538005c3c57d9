/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Congestion control: Reno (RFC 5681) with NewReno recovery (RFC 6582), counting
 * bytes (RFC 3465) so that a peer which acknowledges in long strides does not
 * slow the window's growth; initial window of 10 segments (RFC 6928).
 */
#include "tcp/tcp.h"

#define DUPLICATES_TO_RETRANSMIT 3

static uint32_t half_flight(const struct plumb_tcp *connection) {
    uint32_t half = pl_tcp_in_flight(connection) / 2;
    uint32_t least = 2U * connection->mss;

    return half > least ? half : least;
}

void pl_tcp_congestion_start(struct plumb_tcp *connection) {
    uint32_t mss = connection->mss;
    uint32_t ten = 10 * mss, floor = 2 * mss > 14600 ? 2 * mss : 14600;

    connection->congestion_window = ten < floor ? ten : floor;
    connection->slow_start_threshold = UINT32_MAX;
}

void pl_tcp_congestion_acked(struct plumb_tcp *connection, uint32_t bytes, uint32_t count) {
    uint32_t mss = connection->mss;

    /* Twice the largest send buffer: beyond that it decides nothing. */
    if (connection->congestion_window >= 2U << 20)
        return;
    if (connection->congestion_window < connection->slow_start_threshold) {
        uint32_t left = connection->slow_start_threshold - connection->congestion_window;
        uint32_t step = bytes < 2 * mss * count ? bytes : 2 * mss * count;
        /* Of a batch only those up to the threshold grow it like this. */
        if (count > 1 && step > left)
            step = left;
        connection->congestion_window += step;
        if (count == 1 || step < left)
            return;
        bytes -= step;
    }
    connection->congestion_acked += bytes;
    if (connection->congestion_acked >= connection->congestion_window) {
        connection->congestion_acked -= connection->congestion_window;
        connection->congestion_window += mss;
    }
}

void pl_tcp_congestion_timeout(struct plumb_tcp *connection) {
    /* Only the first time-out of a row measures what was in flight. */
    if (connection->retries == 0)
        connection->slow_start_threshold = half_flight(connection);
    connection->congestion_window = connection->mss;
    connection->congestion_acked = 0;
    connection->recover = connection->send_most;
    connection->flags &= (uint16_t)~PL_TCP_RECOVERY;
    connection->duplicates = 0;
}

static void enter_recovery(struct plumb_tcp *connection) {
    pl_count(connection->stack, PLUMB_COUNTER_tcp_fast_retransmit);
    connection->flags |= PL_TCP_RECOVERY;
    connection->recover = connection->send_most;
    connection->slow_start_threshold = half_flight(connection);
    connection->congestion_window =
        connection->slow_start_threshold + DUPLICATES_TO_RETRANSMIT * connection->mss;
    connection->congestion_acked = 0;
    pl_tcp_send_oldest(connection);
}

void pl_tcp_duplicate_acknowledgement(struct plumb_tcp *connection) {
    if (connection->duplicates < UINT8_MAX)
        connection->duplicates++;
    if (connection->flags & PL_TCP_RECOVERY) {
        /* Each tells of a segment that has left the network; but of no more of
         * them than were out. */
        if (connection->congestion_window <
            connection->slow_start_threshold + pl_tcp_in_flight(connection))
            connection->congestion_window += connection->mss;
    } else if (connection->duplicates == DUPLICATES_TO_RETRANSMIT &&
               pl_after(connection->send_unacked, connection->recover)) {
        /* Not for what was sent before the last loss (RFC 6582 section 3.2, step 1). */
        enter_recovery(connection);
    }
}

void pl_tcp_recovery_acknowledgement(struct plumb_tcp *connection, uint32_t bytes) {
    if (!pl_before(connection->send_unacked, connection->recover)) {
        uint32_t flight = pl_tcp_in_flight(connection);
        uint32_t window = (flight > connection->mss ? flight : connection->mss) + connection->mss;
        connection->congestion_window =
            window < connection->slow_start_threshold ? window : connection->slow_start_threshold;
        connection->flags &= (uint16_t)~PL_TCP_RECOVERY;
        return;
    }
    /* A partial acknowledgement: the next hole is lost too. */
    connection->congestion_window = connection->congestion_window > bytes
                                        ? connection->congestion_window - bytes
                                        : connection->mss;
    if (bytes >= connection->mss)
        connection->congestion_window += connection->mss;
    if (connection->congestion_window < connection->mss)
        connection->congestion_window = connection->mss;
    pl_tcp_send_oldest(connection);
}
