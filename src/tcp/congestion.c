/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Congestion control: Reno (RFC 5681) with NewReno recovery (RFC 6582), counting
 * bytes (RFC 3465) so that a peer which acknowledges in long strides does not
 * slow the window's growth; initial window of 10 segments (RFC 6928).
 */
#include "tcp/tcp.h"

#define DUPLICATES_TO_RETRANSMIT 3U

#ifdef CONFIG_PLUMB_TCP_WINDOW_SCALE
#define LARGEST_WINDOW (2U << 20)
#else
#define LARGEST_WINDOW UINT16_MAX
#endif

/* So many, or as many as there can be. */
static pl_tcp_size bounded(uint32_t bytes) {
    const uint32_t most = (pl_tcp_size)UINT32_MAX;

    return (pl_tcp_size)(bytes < most ? bytes : most);
}

static void set_window(struct plumb_tcp *connection, uint32_t bytes) {
    connection->congestion_window = bounded(bytes);
}

static void grow_window(struct plumb_tcp *connection, uint32_t bytes) {
    set_window(connection, connection->congestion_window + bytes);
}

static pl_tcp_size half_flight(const struct plumb_tcp *connection) {
    uint32_t half = pl_tcp_in_flight(connection) / 2;
    uint32_t least = 2U * connection->mss;

    return bounded(half > least ? half : least);
}

void pl_tcp_congestion_start(struct plumb_tcp *connection) {
    uint32_t mss = connection->mss;
    uint32_t ten = 10 * mss, floor = 2 * mss > 14600 ? 2 * mss : 14600;

    set_window(connection, ten < floor ? ten : floor);
    connection->slow_start_threshold = (pl_tcp_size)UINT32_MAX;
}

void pl_tcp_congestion_acked(struct plumb_tcp *connection, uint32_t bytes, uint32_t count) {
    uint32_t mss = connection->mss;

    /* Beyond this, twice the largest send buffer, it decides nothing. */
    if (connection->congestion_window >= LARGEST_WINDOW)
        return;
    if (connection->congestion_window < connection->slow_start_threshold) {
        uint32_t left = connection->slow_start_threshold - connection->congestion_window;
        uint32_t step = bytes < 2 * mss * count ? bytes : 2 * mss * count;
        /* Of a batch only those up to the threshold grow it like this. */
        if (count > 1 && step > left)
            step = left;
        grow_window(connection, step);
        if (count == 1 || step < left)
            return;
        bytes -= step;
    }
    bytes += connection->congestion_acked;
    if (bytes >= connection->congestion_window) {
        bytes -= connection->congestion_window;
        grow_window(connection, mss);
    }
    connection->congestion_acked = bounded(bytes);
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
    pl_count(pl_tcp_stack(connection), PLUMB_COUNTER_tcp_fast_retransmit);
    connection->flags |= PL_TCP_RECOVERY;
    connection->recover = connection->send_most;
    connection->slow_start_threshold = half_flight(connection);
    set_window(connection,
               connection->slow_start_threshold + DUPLICATES_TO_RETRANSMIT * connection->mss);
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
            grow_window(connection, connection->mss);
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
        set_window(connection, window < connection->slow_start_threshold
                                   ? window
                                   : connection->slow_start_threshold);
        connection->flags &= (uint16_t)~PL_TCP_RECOVERY;
        return;
    }
    /* A partial acknowledgement: the next hole is lost too. */
    set_window(connection, connection->congestion_window > bytes
                               ? connection->congestion_window - bytes
                               : connection->mss);
    if (bytes >= connection->mss)
        grow_window(connection, connection->mss);
    if (connection->congestion_window < connection->mss)
        connection->congestion_window = connection->mss;
    pl_tcp_send_oldest(connection);
}
