/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Listeners and passive opens (RFC 9293 section 3.10.7.2).
 *
 * A listener has at most `backlog` handshakes under way; one more SYN displaces
 * the oldest, so that a flood of SYNs cannot shut others out for longer than it
 * lasts.
 */
#include "tcp/tcp.h"

static struct plumb_tcp_listener *find_listener(struct pl_tcp_state *tcp, plumb_ipv4 address,
                                                uint16_t port) {
    struct plumb_tcp_listener *any = NULL;

    for (unsigned i = 0; i < CONFIG_PLUMB_TCP_LISTENERS; i++) {
        struct plumb_tcp_listener *listener = &tcp->listeners[i];
        if (!listener->acceptor || listener->local.port != port)
            continue;
        if (listener->local.address.be == address.be)
            return listener;
        if (listener->local.address.be == 0)
            any = listener;
    }
    return any;
}

static bool is_of(const struct plumb_tcp *connection, const struct plumb_tcp_listener *listener) {
    return connection->flags & PL_TCP_LISTENED && connection->listener == listener;
}

int plumb_tcp_listen(struct plumb *stack, struct plumb_endpoint local, unsigned backlog,
                     plumb_tcp_acceptor *acceptor, void *context, struct plumb_tcp_listener **out) {
    struct pl_tcp_state *tcp = pl_layer_state(stack, &pl_tcp_layer);
    struct plumb_tcp_listener *listener = NULL;

    if (!acceptor || !local.port || !backlog || backlog > UINT16_MAX)
        return PLUMB_ERROR_INVALID;
    for (unsigned i = CONFIG_PLUMB_TCP_LISTENERS; i--;) {
        struct plumb_tcp_listener *other = &tcp->listeners[i];
        if (!other->acceptor)
            listener = other;
        else if (other->local.port == local.port && other->local.address.be == local.address.be)
            return PLUMB_ERROR_IN_USE;
    }
    if (!listener)
        return PLUMB_ERROR_NO_CONNECTION;
    *listener = (struct plumb_tcp_listener){
        .tcp = tcp,
        .acceptor = acceptor,
        .context = context,
        .local = local,
        .backlog = (uint16_t)backlog,
    };
    *out = listener;
    return PLUMB_OK;
}

void plumb_tcp_unlisten(struct plumb_tcp_listener *listener) {
    struct pl_tcp_state *tcp = listener->tcp;

    for (unsigned i = 0; i < CONFIG_PLUMB_TCP_CONNECTIONS; i++) {
        struct plumb_tcp *connection = &tcp->connections[i];
        if (!is_of(connection, listener))
            continue;
        pl_tcp_send_reset(connection);
        pl_tcp_end(connection, PLUMB_ERROR_ABORTED);
    }
    listener->acceptor = NULL;
    pl_settle(tcp->stack);
}

void pl_tcp_leave_listener(struct plumb_tcp *connection) {
    if (!(connection->flags & PL_TCP_LISTENED))
        return;
    if (connection->state == PLUMB_TCP_STATE_SYN_RECEIVED)
        connection->listener->half_open--;
    connection->context = NULL;
    connection->flags &= (uint16_t) ~(PL_TCP_ACCEPT | PL_TCP_LISTENED);
}

/* The oldest handshake of a listener ends without a word. */
static void displace_oldest(struct plumb_tcp_listener *listener) {
    struct pl_tcp_state *tcp = listener->tcp;
    struct plumb_tcp *oldest = NULL;

    for (unsigned i = 0; i < CONFIG_PLUMB_TCP_CONNECTIONS; i++) {
        struct plumb_tcp *connection = &tcp->connections[i];
        if (is_of(connection, listener) && connection->state == PLUMB_TCP_STATE_SYN_RECEIVED &&
            (!oldest || pl_before(connection->progress_ms, oldest->progress_ms)))
            oldest = connection;
    }
    if (oldest) {
        pl_count(tcp->stack, PLUMB_COUNTER_tcp_half_open_reused);
        pl_tcp_end(oldest, PLUMB_ERROR_ABORTED);
    }
}

static struct plumb_tcp *make_half_open(struct plumb_tcp_listener *listener,
                                        const struct pl_route *route,
                                        const struct pl_segment *segment) {
    plumb_ipv4 local = pl_net32_get(segment->ip->destination);
    plumb_ipv4 remote = pl_net32_get(segment->ip->source);

    if (listener->half_open >= listener->backlog)
        displace_oldest(listener);
    return pl_tcp_allocate(listener->tcp, route, local, remote, segment->header->ports.be);
}

void pl_tcp_passive_open(struct pl_segment *segment) {
    struct pl_tcp_state *tcp = segment->tcp;
    plumb_ipv4 local = pl_net32_get(segment->ip->destination);
    plumb_be32 ports = pl_net32_get(segment->header->ports);
    struct plumb_tcp_listener *listener = find_listener(tcp, local, (uint16_t)plumb_get32(ports));
    struct pl_route route;

    if (!listener) {
        pl_tcp_reset_stranger(segment);
        pl_tcp_drop(segment, PLUMB_COUNTER_tcp_port);
        return;
    }
    if (segment->flags & PL_TCP_FIN || plumb_get32(ports) >> 16 == 0) {
        pl_tcp_drop(segment, PLUMB_COUNTER_tcp_flags);
        return;
    }
    struct plumb_tcp *connection = NULL;
    if (pl_route_find(tcp->stack, segment->netif, pl_net32_get(segment->ip->source), &route))
        connection = make_half_open(listener, &route, segment);
    if (!connection) {
        pl_tcp_drop(segment, PLUMB_COUNTER_tcp_backlog);
        return;
    }
    listener->half_open++;
    connection->listener = listener;
    connection->flags |= PL_TCP_LISTENED;
    connection->state = PLUMB_TCP_STATE_SYN_RECEIVED;
    pl_tcp_synchronise(connection, segment);
    pl_tcp_send_syn(connection);
}
