/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * CUBIC (RFC 9438): above the threshold the window is a cubic function of the time since
 * the last loss, flat where the loss was; or what Reno would have, where that is more.
 *
 *     W_cubic(t) = C (t - K)^3 + W_max        C = 0.4 segments / s^3
 *
 * What holds: cubic_friendly is 0 while no epoch has begun, so that there is no curve;
 * cubic_most is W_max, 0 before any loss. Times are in ms, windows in bytes.
 */
#include "tcp/congestion.h"

#ifdef CONFIG_PLUMB_TCP_CUBIC

/* Beyond this |t - K|, a minute, the curve is steeper than any network. */
#define LONGEST_MS 65535U

/* 0.7, and what the other constants follow from (RFC 9438 section 4.6), in 1024ths. */
#define BETA  717U
#define ALPHA 542U /* 3 (1 - beta) / (1 + beta), section 4.3 */

/* C x^3 of a time in ms, bytes. In x^3 / 2^16 a segment is 38147 units. */
static uint32_t curve(const struct plumb_tcp *connection, uint32_t ms) {
    uint32_t x = ms < LONGEST_MS ? ms : LONGEST_MS;
    uint32_t cube = (uint32_t)((uint64_t)(x * x) * x >> 16);
    uint32_t slope = connection->mss * 28147U >> 16; /* 2^14 / 38147, in 65536ths */
    uint64_t bytes = (uint64_t)cube * slope >> 14;

    return bytes < INT32_MAX ? (uint32_t)bytes : INT32_MAX;
}

/* K (section 4.2): when the curve has risen by so many bytes. */
static uint16_t time_to(const struct plumb_tcp *connection, uint32_t bytes) {
    uint32_t ms = 0;

    for (uint32_t bit = 1U << 15; bit; bit >>= 1)
        if (curve(connection, ms | bit) < bytes)
            ms |= bit;
    return (uint16_t)ms;
}

/* Section 4.2; where the window is above W_max, or there is none, the curve begins flat
 * where it is (sections 4.8 and 4.10). */
static void begin_epoch(struct plumb_tcp *connection, struct pl_tcp_loss *loss, uint32_t now_ms) {
    pl_tcp_size window = connection->congestion_window;

    if (window >= loss->cubic_most)
        loss->cubic_most = window;
    loss->cubic_plateau_ms = time_to(connection, loss->cubic_most - window);
    loss->cubic_begun_ms = now_ms;
    loss->cubic_friendly = window;
    connection->congestion_acked = 0;
}

/* W_cubic a round trip from now, between the window and one and a half of it (section 4.2). */
static uint32_t target(const struct plumb_tcp *connection, const struct pl_tcp_loss *loss,
                       uint32_t now_ms) {
    uint32_t window = connection->congestion_window, most = loss->cubic_most;
    uint32_t at = now_ms - loss->cubic_begun_ms + connection->srtt_us / 1000;
    uint32_t plateau = loss->cubic_plateau_ms;
    uint32_t wanted;

    if (at < plateau) {
        uint32_t below = curve(connection, plateau - at);
        wanted = most > below ? most - below : 0;
    } else {
        wanted = most + curve(connection, at - plateau);
    }
    if (wanted < window)
        return window;
    return wanted < window + window / 2 ? wanted : window + window / 2;
}

/* Section 4.3: what Reno with this beta would have; once above the window in which the loss
 * was, which is the threshold's 1 / beta, it grows like Reno. */
static void grow_friendly(const struct plumb_tcp *connection, struct pl_tcp_loss *loss,
                          uint32_t fraction) {
    uint32_t friendly = loss->cubic_friendly, step = connection->mss;

    if (friendly * (uint64_t)BETA < (uint64_t)connection->slow_start_threshold << 10)
        step = step * ALPHA >> 10;
    loss->cubic_friendly = pl_tcp_bounded(friendly + (step * fraction >> 16));
}

void pl_tcp_cubic_avoid(struct plumb_tcp *connection, uint32_t bytes) {
    struct pl_tcp_loss *loss = pl_tcp_own_loss(connection);
    uint32_t now_ms = pl_tcp_stack(connection)->now_ms;
    uint32_t window = connection->congestion_window;

    if (!loss->cubic_friendly)
        begin_epoch(connection, loss, now_ms);
    bytes += connection->congestion_acked;
    connection->congestion_acked = pl_tcp_bounded(bytes);
    /* In steps of a sixteenth, which no rounding loses. */
    if (bytes < window / 16)
        return;
    connection->congestion_acked = 0;
    uint32_t fraction = pl_tcp_fraction(bytes, window);
    grow_friendly(connection, loss, fraction);
    uint32_t growth =
        (uint32_t)((uint64_t)(target(connection, loss, now_ms) - window) * fraction >> 16);
    pl_tcp_grow_window(connection, growth);
    if (connection->congestion_window < loss->cubic_friendly)
        connection->congestion_window = loss->cubic_friendly;
}

/* Sections 4.6 and 4.7. A flow that met its loss earlier than the time before gives way to
 * others: its plateau is lower than where the loss was. */
uint32_t pl_tcp_cubic_reduce(struct plumb_tcp *connection, uint32_t flight) {
    struct pl_tcp_loss *loss = pl_tcp_own_loss(connection);
    uint32_t window = connection->congestion_window;

    if (window < loss->cubic_most)
        window = (uint32_t)((uint64_t)window * (1024 + BETA) >> 11);
    loss->cubic_most = (pl_tcp_size)window;
    loss->cubic_friendly = 0;
    return (uint32_t)((uint64_t)flight * BETA >> 10);
}

/* Section 4.8: after a time-out W_max is where congestion avoidance begins. When the window
 * was not used the same curve is entered anew from where it is (sections 4.2 and 5.8). */
void pl_tcp_cubic_restart(struct plumb_tcp *connection, bool lost) {
    struct pl_tcp_loss *loss = pl_tcp_own_loss(connection);

    loss->cubic_friendly = 0;
    connection->congestion_acked = 0;
    if (lost)
        loss->cubic_most = 0;
}

#endif
