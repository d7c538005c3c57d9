/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Handshakes in connections: what a build without syn_cache.c does.
 *
 * When a listener has as many as its backlog allows, one more SYN displaces the oldest, so
 * that a flood of SYNs cannot shut others out for longer than it lasts.
 */
#include "tcp/tcp.h"

#ifndef CONFIG_PLUMB_TCP_SYN_CACHE

/* The oldest handshake of a listener ends without a word. */
static void displace_oldest(struct plumb_tcp_listener *listener) {
    struct pl_tcp_state *tcp = listener->tcp;
    struct plumb_tcp *oldest = NULL;

    for (unsigned i = 0; i < CONFIG_PLUMB_TCP_CONNECTIONS; i++) {
        struct plumb_tcp *connection = &tcp->connections[i];
        if (connection->flags & PL_TCP_LISTENED && connection->listener == listener &&
            connection->state == PLUMB_TCP_STATE_SYN_RECEIVED &&
            (!oldest || pl_before(connection->progress_ms, oldest->progress_ms)))
            oldest = connection;
    }
    if (oldest) {
        pl_count(tcp->stack, PLUMB_COUNTER_tcp_half_open_reused);
        pl_tcp_end(oldest, PLUMB_ERROR_ABORTED);
    }
}

bool pl_tcp_take_syn(struct plumb_tcp_listener *listener, struct pl_segment *segment,
                     const uint32_t *above) {
    struct pl_tcp_state *tcp = listener->tcp;
    plumb_ipv4 remote = pl_net32_get(segment->ip->source);
    uint32_t ports = pl_net32_get(segment->header->ports).be;

    if (listener->half_open >= listener->backlog)
        displace_oldest(listener);
    struct plumb_tcp *connection = pl_tcp_allocate(tcp, segment->netif, remote, ports);
    if (!connection)
        return false;
    listener->half_open++;
    connection->listener = listener;
    connection->flags |= PL_TCP_LISTENED;
    pl_tcp_take_limit(connection, listener);
    connection->state = PLUMB_TCP_STATE_SYN_RECEIVED;
    uint64_t hash = pl_tcp_hash(tcp->stack, pl_tcp_local(connection), remote, ports);
    pl_tcp_number(connection, pl_tcp_choose_initial(tcp->stack, hash, above));
    pl_tcp_synchronise(connection, segment);
    pl_tcp_send_syn(connection);
    return true;
}

/* They are connections, which have been reset. */
void pl_tcp_reset_handshakes(struct plumb_tcp_listener *listener) {
    (void)listener;
}

#endif
