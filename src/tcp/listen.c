/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Listeners and passive opens (RFC 9293 section 3.10.7.2).
 *
 * A listener has at most `backlog` handshakes under way, its `half_open`. Where they are
 * kept is half_open.c's or syn_cache.c's.
 */
#include "tcp/tcp.h"

struct plumb_tcp_listener *pl_tcp_find_listener(struct pl_tcp_state *tcp, plumb_ipv4 local,
                                                uint32_t ports) {
    const uint16_t port = (uint16_t)plumb_get32((plumb_be32){ports});
    struct plumb_tcp_listener *any = NULL;

    for (unsigned i = 0; i < CONFIG_PLUMB_TCP_LISTENERS; i++) {
        struct plumb_tcp_listener *listener = &tcp->listeners[i];
        if (!listener->acceptor || listener->local.port != port)
            continue;
        if (listener->local.address.be == local.be)
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
#ifdef CONFIG_PLUMB_TCP_BUFFER_LIMITS
        .receive_limit = CONFIG_PLUMB_TCP_RECEIVE_BUFFER,
#endif
#ifdef CONFIG_PLUMB_TCP_MSS_LIMIT
        .mss = UINT16_MAX,
#endif
    };
    *out = listener;
    return PLUMB_OK;
}

int plumb_tcp_listener_receive_buffer(struct plumb_tcp_listener *listener, uint32_t bytes) {
#ifdef CONFIG_PLUMB_TCP_BUFFER_LIMITS
    if (bytes == 0 || bytes > PL_TCP_LARGEST_BUFFER)
        return PLUMB_ERROR_INVALID;
    listener->receive_limit = (pl_tcp_size)bytes;
    return PLUMB_OK;
#else
    (void)listener;
    (void)bytes;
    return PLUMB_ERROR_INVALID;
#endif
}

int plumb_tcp_listener_mss(struct plumb_tcp_listener *listener, uint32_t bytes) {
#ifdef CONFIG_PLUMB_TCP_MSS_LIMIT
    if (bytes < PL_TCP_SMALLEST_MSS)
        return PLUMB_ERROR_INVALID;
    listener->mss = (uint16_t)(bytes < UINT16_MAX ? bytes : UINT16_MAX);
    return PLUMB_OK;
#else
    (void)listener;
    (void)bytes;
    return PLUMB_ERROR_INVALID;
#endif
}

void plumb_tcp_listener_room(struct plumb_tcp_listener *listener, plumb_tcp_room *room) {
#ifdef CONFIG_PLUMB_TCP_SYN_CACHE
    listener->room = room;
#else
    (void)listener;
    (void)room;
#endif
}

#ifdef CONFIG_PLUMB_TCP_SYN_CACHE
bool pl_tcp_has_room(struct plumb_tcp_listener *listener) {
    const struct plumb_tcp *connection = listener->tcp->connections;
    unsigned coming = 0;

    if (!listener->room)
        return true;
    for (unsigned i = 0; i < CONFIG_PLUMB_TCP_CONNECTIONS; i++)
        coming += is_of(connection++, listener);
    return listener->room(listener, coming, listener->context);
}
#endif

void plumb_tcp_unlisten(struct plumb_tcp_listener *listener) {
    struct pl_tcp_state *tcp = listener->tcp;

    for (unsigned i = 0; i < CONFIG_PLUMB_TCP_CONNECTIONS; i++) {
        struct plumb_tcp *connection = &tcp->connections[i];
        if (!is_of(connection, listener))
            continue;
        pl_tcp_send_reset(connection);
        pl_tcp_end(connection, PLUMB_ERROR_ABORTED);
    }
    pl_tcp_reset_handshakes(listener);
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

uint32_t pl_tcp_choose_initial(const struct plumb *stack, uint64_t hash, const uint32_t *above) {
    uint32_t initial = pl_tcp_initial(stack, hash);

    /* Nothing that is still under way from the last connection may fall into the window of
     * this one (RFC 9293 section 3.6.1, RFC 6191 section 2). */
    return above && !pl_after(initial, *above) ? *above + 65537 : initial;
}

void pl_tcp_passive_open(struct pl_segment *segment, const uint32_t *above) {
    struct pl_tcp_state *tcp = segment->tcp;
    plumb_be32 ports = pl_net32_get(segment->header->ports);
    struct plumb_tcp_listener *listener =
        pl_tcp_find_listener(tcp, pl_net32_get(segment->ip->destination), ports.be);
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
    if (!pl_route_find(tcp->stack, segment->netif, pl_net32_get(segment->ip->source), &route) ||
        !pl_tcp_take_syn(listener, segment, above))
        pl_tcp_drop(segment, PLUMB_COUNTER_tcp_backlog);
}
