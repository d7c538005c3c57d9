/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The congestion window: its start (RFC 6928), slow start (RFC 5681, counting bytes by
 * RFC 3465 so that a peer which acknowledges in long strides does not slow its growth),
 * what a loss, a mark, a time-out and a silence leave of it, and Reno, which is all there is
 * beside that but for CUBIC.
 */
#include "tcp/congestion.h"

#ifdef CONFIG_PLUMB_TCP_WINDOW_SCALE
#define LARGEST_WINDOW (2U << 20)
#else
#define LARGEST_WINDOW UINT16_MAX
#endif

uint32_t pl_tcp_fraction(uint32_t part, uint32_t whole) {
    uint32_t fraction = 0;

    if (part >= whole)
        return 65536;
    for (unsigned i = 0; i < 16; i++) {
        part <<= 1;
        fraction <<= 1;
        if (part >= whole) {
            part -= whole;
            fraction++;
        }
    }
    return fraction;
}

/* ---- by algorithm ---- */

/* What is added above the threshold, the window having been made use of: Reno's one segment for
 * each window that is acknowledged (RFC 5681 section 3.1), or the curve's. */
static void avoid(struct plumb_tcp *connection, uint32_t bytes) {
#ifdef CONFIG_PLUMB_TCP_CUBIC
    if (pl_tcp_is_cubic(connection)) {
        pl_tcp_cubic_avoid(connection, bytes);
        return;
    }
#endif
    bytes += connection->congestion_acked;
    if (bytes >= connection->congestion_window) {
        bytes -= connection->congestion_window;
        pl_tcp_grow_window(connection, connection->mss);
    }
    connection->congestion_acked = pl_tcp_bounded(bytes);
}

/* The threshold after a loss while `flight` bytes were out (RFC 5681 section 3.1, equation 4). */
static uint32_t reduce(struct plumb_tcp *connection, uint32_t flight) {
#ifdef CONFIG_PLUMB_TCP_CUBIC
    if (pl_tcp_is_cubic(connection))
        return pl_tcp_cubic_reduce(connection, flight);
#endif
    connection->congestion_acked = 0;
    return flight / 2;
}

/* The window is no longer what growth had made it: after a time-out (`lost`), or while the user
 * has not made use of it. */
static void restart(struct plumb_tcp *connection, bool lost) {
    if (lost)
        connection->congestion_acked = 0;
#ifdef CONFIG_PLUMB_TCP_CUBIC
    if (pl_tcp_is_cubic(connection))
        pl_tcp_cubic_restart(connection, lost);
#endif
    if (pl_tcp_in_hystart(connection))
        pl_tcp_hystart_begin(connection);
}

int pl_tcp_congestion_choose(struct plumb_tcp *connection, uint32_t value) {
#ifdef CONFIG_PLUMB_TCP_CUBIC
    if (value > PLUMB_TCP_CUBIC)
        return PLUMB_ERROR_INVALID;
    connection->agreed &= (uint8_t)~PL_TCP_RENO;
    restart(connection, true);
    if (value == PLUMB_TCP_RENO)
        connection->agreed |= PL_TCP_RENO;
    return PLUMB_OK;
#else
    (void)connection;
    return value == PLUMB_TCP_RENO ? PLUMB_OK : PLUMB_ERROR_INVALID;
#endif
}

/* ---- for all of them ---- */

static uint32_t initial_window(const struct plumb_tcp *connection) {
    uint32_t mss = connection->mss;
    uint32_t ten = 10 * mss, floor = 2 * mss > 14600 ? 2 * mss : 14600;

    return ten < floor ? ten : floor;
}

void pl_tcp_congestion_start(struct plumb_tcp *connection) {
    connection->congestion_window = pl_tcp_bounded(initial_window(connection));
    connection->slow_start_threshold = (pl_tcp_size)UINT32_MAX;
    if (pl_tcp_in_hystart(connection))
        pl_tcp_hystart_begin(connection);
}

/* Returns what is left for congestion avoidance, once the threshold is reached. */
static uint32_t slow_start(struct plumb_tcp *connection, uint32_t bytes, uint32_t count) {
    uint32_t left = connection->slow_start_threshold - connection->congestion_window;
    uint32_t most = 2U * connection->mss * count; /* RFC 3465 section 2.3, L = 2 */
    uint32_t step = bytes < most ? bytes : most;

    if (pl_tcp_in_hystart(connection)) {
        pl_tcp_hystart_grow(connection, step);
        return 0;
    }
    /* Of a batch only those up to the threshold grow it like this. */
    if (count > 1 && step > left)
        step = left;
    pl_tcp_grow_window(connection, step);
    return count == 1 || step < left ? 0 : bytes - step;
}

void pl_tcp_congestion_acked(struct plumb_tcp *connection, uint32_t bytes, uint32_t count) {
    /* Beyond this, twice the largest send buffer, it decides nothing. */
    if (connection->congestion_window >= LARGEST_WINDOW)
        return;
    /* A window of which less than half was in use has not been tried (RFC 7661 section
     * 4.3; RFC 9438 section 5.8). */
    if (2 * (pl_tcp_in_flight(connection) + bytes) < connection->congestion_window) {
        if (!pl_tcp_in_hystart(connection)) /* which has not noted what is not so any more */
            restart(connection, false);
        return;
    }
    if (connection->congestion_window < connection->slow_start_threshold) {
        bytes = slow_start(connection, bytes, count);
        if (!bytes)
            return;
    }
    avoid(connection, bytes);
}

void pl_tcp_congestion_lost(struct plumb_tcp *connection) {
    uint32_t flight = pl_tcp_in_flight(connection), least = 2U * connection->mss;

    pl_tcp_keep_loss(connection);
    pl_tcp_undo_note(connection);
    /* What limited transmit adds does not count (RFC 5681 section 3.1). */
    if (flight > connection->congestion_window)
        flight = connection->congestion_window;
    uint32_t threshold = reduce(connection, flight);

    connection->slow_start_threshold = pl_tcp_bounded(threshold > least ? threshold : least);
    pl_tcp_note_reduced(connection);
}

#ifdef CONFIG_PLUMB_TCP_ECN
void pl_tcp_congestion_ecn(struct plumb_tcp *connection) {
    pl_count(pl_tcp_stack(connection), PLUMB_COUNTER_tcp_ecn);
    pl_tcp_congestion_lost(connection);
    pl_tcp_undo_never(connection); /* a mark is no mistake */
    if (connection->congestion_window > connection->slow_start_threshold)
        connection->congestion_window = connection->slow_start_threshold;
}
#endif

/* What was lost once more was reduced for already; but the threshold is at most half of what is
 * out (RFC 5681 section 3.1, equation 4). */
static void bound_threshold(struct plumb_tcp *connection) {
    uint32_t half = pl_tcp_in_flight(connection) / 2, least = 2U * connection->mss;

    if (half < least)
        half = least;
    if (connection->slow_start_threshold > half)
        connection->slow_start_threshold = (pl_tcp_size)half;
}

void pl_tcp_congestion_timeout(struct plumb_tcp *connection) {
    /* Only the first time-out of a row measures what was in flight (RFC 5681 section 3.1). */
    if (connection->flags & PL_TCP_RECOVERY)
        bound_threshold(connection);
    else if (connection->retries == 0)
        pl_tcp_congestion_lost(connection);
    restart(connection, true);
    connection->congestion_window = connection->mss;
}

void pl_tcp_congestion_resume(struct plumb_tcp *connection) {
    restart(connection, false);
}

/* RFC 5681 section 4.1: nothing was sent for longer than the time-out, so nothing is known
 * of the network; what it once took is remembered as the threshold (RFC 2861 section 3). */
void pl_tcp_congestion_idle(struct plumb_tcp *connection) {
    uint32_t window = connection->congestion_window, initial = initial_window(connection);
    uint32_t remembered = window - window / 4;

    if (window <= initial)
        return;
    if (remembered > connection->slow_start_threshold)
        connection->slow_start_threshold = (pl_tcp_size)remembered;
    connection->congestion_window = (pl_tcp_size)initial;
    restart(connection, false);
}
