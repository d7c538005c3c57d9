/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Keepalive (RFC 9293 section 3.8.4): once nothing was heard for the time asked
 * for, a probe at each interval until one is answered or too many were not.
 */
#include "tcp/tcp.h"

#ifdef CONFIG_PLUMB_TCP_KEEPALIVE

#define LONGEST_INTERVAL_MS 75000U

void pl_tcp_keepalive(struct plumb_tcp *connection) {
    uint32_t idle_ms = pl_tcp_stack(connection)->now_ms - connection->heard_ms;
    uint32_t after_ms = connection->keepalive_ms;
    uint32_t interval_ms = after_ms < LONGEST_INTERVAL_MS ? after_ms : LONGEST_INTERVAL_MS;

    if (idle_ms < after_ms) {
        pl_tcp_set_deadline(connection, PL_TCP_IDLE, after_ms - idle_ms);
    } else if (idle_ms - after_ms >= CONFIG_PLUMB_TCP_KEEPALIVE_PROBES * interval_ms) {
        pl_tcp_end(connection, PLUMB_ERROR_TIMED_OUT);
    } else {
        pl_count(pl_tcp_stack(connection), PLUMB_COUNTER_tcp_keepalive);
        pl_tcp_send_probe(connection);
        pl_tcp_set_deadline(connection, PL_TCP_IDLE, interval_ms);
    }
}

#endif
