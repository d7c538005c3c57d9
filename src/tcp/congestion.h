/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * How much may be in the network: the window, and what the algorithms that size it
 * share. Who finds out what was lost, and what is sent again, is recovery.c's.
 *
 * What holds: congestion_window is one segment at least once the connection stands,
 * and slow_start_threshold two; CUBIC and Reno decide only on the growth above the
 * threshold and on the threshold after a loss. Nothing divides: firmware may link no
 * routine for it.
 */
#ifndef PL_TCP_CONGESTION_H
#define PL_TCP_CONGESTION_H

#include "tcp/tcp.h"

#ifdef CONFIG_PLUMB_TCP_CUBIC

/* Is the window CUBIC's? Before the first loss, or without a record, there is no curve. */
static inline bool pl_tcp_is_cubic(const struct plumb_tcp *connection) {
    return connection->loss && !(connection->agreed & PL_TCP_RENO);
}

/* Of such a connection: `bytes` were acknowledged above the threshold; the threshold after a loss
 * while `flight` bytes were out; the curve begins anew, after a time-out (`lost`) from nothing. */
void pl_tcp_cubic_avoid(struct plumb_tcp *connection, uint32_t bytes);
uint32_t pl_tcp_cubic_reduce(struct plumb_tcp *connection, uint32_t flight);
void pl_tcp_cubic_restart(struct plumb_tcp *connection, bool lost);

#endif

/* So many, or as many as a size takes. */
static inline pl_tcp_size pl_tcp_bounded(uint32_t bytes) {
    const uint32_t most = (pl_tcp_size)UINT32_MAX;

    return (pl_tcp_size)(bytes < most ? bytes : most);
}

/* ---- hystart.c: how the first slow start ends, unless by a loss ---- */

#ifdef CONFIG_PLUMB_TCP_HYSTART

/* The first slow start begins, or begins anew. */
void pl_tcp_hystart_begin(struct plumb_tcp *connection);

/* The window grows in it, by so many bytes or less. */
void pl_tcp_hystart_grow(struct plumb_tcp *connection, uint32_t bytes);

#else

static inline void pl_tcp_hystart_begin(const struct plumb_tcp *connection) {
    (void)connection;
}

static inline void pl_tcp_hystart_grow(const struct plumb_tcp *connection, uint32_t bytes) {
    (void)connection;
    (void)bytes;
}

#endif

static inline void pl_tcp_grow_window(struct plumb_tcp *connection, uint32_t bytes) {
    connection->congestion_window = pl_tcp_bounded(connection->congestion_window + bytes);
}

/* part / whole in 65536ths, at most 65536; whole is below 2^31. */
uint32_t pl_tcp_fraction(uint32_t part, uint32_t whole);

#endif
