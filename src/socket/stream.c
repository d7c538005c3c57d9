/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Streams: how they are opened, accepted and closed.
 */
#include "inet/ports.h"
#include "packet/packet.h"
#include "socket/socket.h"
#include "tcp/tcp.h"

static void set_state(struct pl_socket *socket, enum pl_socket_state state) {
    socket->state = (uint8_t)state;
    socket->sockets->changed = true;
}

/* ---- what a connection tells ---- */

/* The connection's pointer dies: what is unread is kept, unless nobody would read it. */
static void take_end(struct pl_socket *socket) {
    struct plumb_tcp *tcp = socket->tcp;
    int error = plumb_tcp_error(tcp);
    bool failed = socket->state == PL_SOCKET_CONNECTING;

    if (error)
        socket->error = pl_errno(error);
    socket->queued = (uint32_t)plumb_tcp_readable(tcp);
    socket->first = pl_tcp_take_received(tcp, &socket->last);
    socket->tcp = NULL;
    set_state(socket, failed ? PL_SOCKET_FAILED : PL_SOCKET_ENDED);
}

static void learn_endpoints(struct pl_socket *socket) {
    struct plumb_tcp_info info;

    plumb_tcp_get_info(socket->tcp, &info);
    socket->local = info.local;
    socket->remote = info.remote;
}

static void stream_events(struct plumb_tcp *tcp, unsigned events, void *context) {
    struct pl_socket *socket = context;

    (void)tcp;
    socket->sockets->changed = true;
    if (events & PLUMB_TCP_CONNECTED) {
        set_state(socket, PL_SOCKET_CONNECTED);
        pl_stream_apply_options(socket);
    }
    if (events & PLUMB_TCP_WRITABLE)
        socket->flags &= (uint16_t)~PL_SOCKET_FULL;
    if (events & PLUMB_TCP_PEER_CLOSED)
        socket->flags |= PL_SOCKET_PEER_CLOSED;
    if (events & PLUMB_TCP_CLOSED)
        take_end(socket);
    if (socket->flags & PL_SOCKET_READ_SHUT)
        pl_stream_discard(socket);
}

/* ---- a name ---- */

/* Two names of one port that cannot both be had. */
static bool names_collide(plumb_ipv4 a, plumb_ipv4 b) {
    return a.be == 0 || b.be == 0 || a.be == b.be;
}

static bool bound_to(const struct pl_socket *other, struct plumb_endpoint local) {
    return other->kind == PL_SOCKET_STREAM && other->flags & PL_SOCKET_BOUND &&
           other->local.port == local.port && names_collide(other->local.address, local.address);
}

/* A connection of nobody's, in TIME_WAIT mostly. */
static bool left_over(const struct plumb *stack, struct plumb_endpoint local) {
    const struct pl_tcp_state *tcp = pl_layer_state(stack, &pl_tcp_layer);

    for (unsigned i = 0; i < CONFIG_PLUMB_TCP_CONNECTIONS; i++) {
        const struct plumb_tcp *connection = &tcp->connections[i];
        if (connection->state != PLUMB_TCP_STATE_CLOSED &&
            pl_tcp_local_port(connection) == local.port &&
            names_collide(pl_tcp_local(connection), local.address))
            return true;
    }
    return false;
}

/* May the socket have this name? With SO_REUSEADDR on both sides, beside all that do not
 * listen. */
static bool name_is_free(const struct pl_socket *socket, struct plumb_endpoint local) {
    bool reuse = socket->flags & PL_SOCKET_REUSE;

    for (unsigned i = 0; i < CONFIG_PLUMB_SOCKETS_MOST; i++) {
        const struct pl_socket *other = &socket->sockets->table[i];
        if (other == socket || !bound_to(other, local))
            continue;
        if (!reuse || !(other->flags & PL_SOCKET_REUSE) || other->state == PL_SOCKET_LISTENING)
            return false;
    }
    return reuse || !left_over(socket->sockets->stack, local);
}

static bool port_in_use(void *context, uint16_t port) {
    const struct pl_socket *socket = context;

    return !name_is_free(socket, (struct plumb_endpoint){socket->local.address, port});
}

int pl_stream_bind(struct pl_socket *socket, struct plumb_endpoint local) {
    socket->local.address = local.address;
    if (local.port == 0)
        local.port = pl_port_choose(plumb_random(socket->sockets->stack), port_in_use, socket);
    else if (!name_is_free(socket, local))
        local.port = 0;
    if (local.port == 0) {
        socket->local.address = PLUMB_IPV4_ANY;
        return -PLUMB_EADDRINUSE;
    }
    socket->local = local;
    socket->flags |= PL_SOCKET_BOUND;
    return 0;
}

/* ---- listening ---- */

static void enqueue_accepted(struct pl_socket *listener, struct pl_socket *socket) {
    struct pl_socket **link = &listener->accepted;

    while (*link)
        link = &(*link)->next;
    socket->next = NULL;
    *link = socket;
    listener->count++;
    listener->sockets->changed = true;
}

/* May one more connection wait to be accepted, behind `coming` that will? */
static bool has_room(struct plumb_tcp_listener *native, unsigned coming, void *context) {
    const struct pl_socket *listener = context;

    (void)native;
    return listener->count + coming < listener->backlog &&
           pl_sockets_free(listener->sockets) > coming;
}

/* With no room it is not taken, which aborts it: only where handshakes are connections. */
static void take_connection(struct plumb_tcp_listener *native, struct plumb_tcp *tcp,
                            void *context) {
    struct pl_socket *listener = context, *socket = NULL;

    (void)native;
    if (listener->count < listener->backlog)
        socket = pl_socket_take(listener->sockets, PL_SOCKET_STREAM);
    if (!socket)
        return;
    socket->flags = (uint16_t)((listener->flags & PL_SOCKET_INHERITED) | PL_SOCKET_QUEUED);
    socket->options = listener->options;
    socket->state = PL_SOCKET_CONNECTED;
    socket->tcp = tcp;
    plumb_tcp_set_handler(tcp, stream_events, socket);
    learn_endpoints(socket);
    pl_stream_apply_options(socket);
    enqueue_accepted(listener, socket);
}

static int start_listening(struct pl_socket *socket, unsigned backlog) {
    struct plumb_tcp_listener *native;
    int result = 0;

    if (!(socket->flags & PL_SOCKET_BOUND))
        result = pl_stream_bind(socket, socket->local);
    if (result)
        return result;
    result = plumb_tcp_listen(socket->sockets->stack, socket->local, backlog, take_connection,
                              socket, &native);
    if (result)
        return -(int)pl_errno(result);
    plumb_tcp_listener_room(native, has_room);
    socket->listener = native;
    socket->accepted = NULL;
    socket->backlog = (uint16_t)backlog;
    set_state(socket, PL_SOCKET_LISTENING);
    pl_socket_apply_options(socket);
    return 0;
}

int plumb_listen(struct plumb_sockets *sockets, int fd, int backlog) {
    struct pl_socket *socket = pl_sockets_enter(sockets, fd);
    unsigned most = backlog < 1 ? 1U : (unsigned)backlog;
    int result = 0;

    if (most > CONFIG_PLUMB_SOCKETS_MOST)
        most = CONFIG_PLUMB_SOCKETS_MOST;
    if (!socket)
        result = -PLUMB_EBADF;
    else if (socket->kind != PL_SOCKET_STREAM)
        result = -PLUMB_EOPNOTSUPP;
    else if (socket->state == PL_SOCKET_LISTENING)
        socket->backlog = (uint16_t)most;
    else if (socket->state != PL_SOCKET_NEW)
        result = -PLUMB_EINVAL;
    else
        result = start_listening(socket, most);
    return pl_sockets_leave(sockets, result);
}

/* Its first connection gets a descriptor. */
static struct pl_socket *dequeue_accepted(struct pl_socket *listener) {
    struct pl_socket *socket = listener->accepted;

    listener->accepted = socket->next;
    listener->count--;
    socket->flags &= (uint16_t)~PL_SOCKET_QUEUED;
    return socket;
}

static int accept(struct pl_socket *listener, void *address, plumb_socklen *length, int flags) {
    uint64_t until = pl_socket_until(listener, 0, listener->options.receive_ms);

    while (!listener->accepted) {
        int result = pl_socket_wait(listener, until);
        if (result)
            return result;
    }
    struct pl_socket *socket = dequeue_accepted(listener);
    if (flags & PLUMB_SOCK_NONBLOCK)
        socket->flags |= PL_SOCKET_NONBLOCK;
    pl_address_write(socket->remote, address, length);
    return pl_socket_fd(socket);
}

int plumb_accept4(struct plumb_sockets *sockets, int fd, void *address, plumb_socklen *length,
                  int flags) {
    struct pl_socket *socket = pl_sockets_enter(sockets, fd);
    int result;

    if (!socket)
        result = -PLUMB_EBADF;
    else if (socket->kind != PL_SOCKET_STREAM)
        result = -PLUMB_EOPNOTSUPP;
    else if (socket->state != PL_SOCKET_LISTENING || flags & ~PLUMB_SOCK_NONBLOCK)
        result = -PLUMB_EINVAL;
    else
        result = accept(socket, address, length, flags);
    return pl_sockets_leave(sockets, result);
}

int plumb_accept(struct plumb_sockets *sockets, int fd, void *address, plumb_socklen *length) {
    return plumb_accept4(sockets, fd, address, length, 0);
}

/* ---- connecting ---- */

static int start_connecting(struct pl_socket *socket, struct plumb_endpoint remote) {
    struct plumb_tcp *tcp;
    plumb_ipv4 local;
    int result = pl_address_towards(socket, remote.address, &local);

    if (result)
        return result;
    struct plumb *stack = socket->sockets->stack;
    result = pl_tcp_prepare(stack, remote, socket->local.port, stream_events, socket, &tcp);
    if (result)
        return -(int)pl_errno(result);
    socket->tcp = tcp;
    socket->error = 0;
    learn_endpoints(socket);
    pl_stream_apply_options(socket);
    set_state(socket, PL_SOCKET_CONNECTING);
    pl_tcp_send_syn(tcp);
    pl_settle(stack);
    return 0;
}

/* As before the attempt, whose error is told here unless SO_ERROR did. */
static int take_failure(struct pl_socket *socket) {
    int error = socket->error;

    socket->state = PL_SOCKET_NEW;
    socket->error = 0;
    if (!(socket->flags & PL_SOCKET_BOUND))
        socket->local = (struct plumb_endpoint){PLUMB_IPV4_ANY, 0};
    return -error;
}

static int await_connection(struct pl_socket *socket) {
    uint64_t until = pl_socket_until(socket, 0, socket->options.send_ms);

    while (socket->state == PL_SOCKET_CONNECTING) {
        int result = pl_socket_wait(socket, until);
        if (result)
            return result == -PLUMB_EAGAIN ? -PLUMB_EINPROGRESS : result;
    }
    return socket->state == PL_SOCKET_FAILED ? take_failure(socket) : 0;
}

int pl_stream_connect(struct pl_socket *socket, struct plumb_endpoint remote) {
    int result = 0;

    switch (socket->state) {
    case PL_SOCKET_LISTENING:
    case PL_SOCKET_CONNECTED:
    case PL_SOCKET_ENDED:
        return -PLUMB_EISCONN;
    case PL_SOCKET_CONNECTING:
        if (!pl_socket_until(socket, 0, 0))
            return -PLUMB_EALREADY;
        break;
    case PL_SOCKET_FAILED:
        result = take_failure(socket);
        if (result)
            return result;
        /* fall through */
    default:
        result = start_connecting(socket, remote);
        break;
    }
    return result ? result : await_connection(socket);
}

/* ---- closing ---- */

int pl_stream_shutdown(struct pl_socket *socket, int how) {
    if (socket->state != PL_SOCKET_CONNECTED)
        return -PLUMB_ENOTCONN;
    socket->sockets->changed = true;
    if (how != PLUMB_SHUT_RD) {
        socket->flags |= PL_SOCKET_WRITE_SHUT;
        plumb_tcp_shutdown(socket->tcp);
    }
    if (how != PLUMB_SHUT_WR) {
        socket->flags |= PL_SOCKET_READ_SHUT;
        pl_stream_discard(socket);
    }
    return 0;
}

static void stop_listening(struct pl_socket *socket) {
    plumb_tcp_unlisten(socket->listener);
    while (socket->accepted)
        pl_stream_abandon(dequeue_accepted(socket));
}

void pl_stream_abandon(struct pl_socket *socket) {
    if (socket->flags & PL_SOCKET_QUEUED)
        return; /* its listener's to do */
    if (socket->state == PL_SOCKET_LISTENING)
        stop_listening(socket);
    else if (socket->state == PL_SOCKET_CONNECTING || socket->state == PL_SOCKET_CONNECTED)
        plumb_tcp_abort(socket->tcp);
    pl_socket_free(socket);
}

/* Has the peer all that was sent, and the FIN? */
static bool is_delivered(const struct pl_socket *socket) {
    struct plumb_tcp_info info;

    if (socket->state != PL_SOCKET_CONNECTED)
        return true;
    plumb_tcp_get_info(socket->tcp, &info);
    return info.state == PLUMB_TCP_STATE_FIN_WAIT_2;
}

/* Waits for that; the descriptor is gone already. */
static void linger(struct pl_socket *socket) {
    uint64_t until = pl_socket_until(socket, 0, socket->options.linger_s * 1000U);

    plumb_tcp_shutdown(socket->tcp);
    socket->flags |= PL_SOCKET_CLOSING;
    socket->sockets->lingering++;
    while (!is_delivered(socket) && pl_socket_wait(socket, until) == 0)
        ;
    socket->sockets->lingering--;
}

int pl_stream_close(struct pl_socket *socket) {
    bool linger_on = socket->flags & PL_SOCKET_LINGER;

    if (socket->state != PL_SOCKET_CONNECTED || (linger_on && socket->options.linger_s == 0)) {
        pl_stream_abandon(socket);
        return 0;
    }
    if (linger_on && !plumb_tcp_readable(socket->tcp))
        linger(socket);
    if (socket->state == PL_SOCKET_CONNECTED)
        plumb_tcp_close(socket->tcp);
    pl_socket_free(socket);
    return 0;
}

/* ---- readiness ---- */

static unsigned connected_ready(struct pl_socket *socket) {
    const uint16_t shut = socket->flags;
    bool no_more = shut & (PL_SOCKET_PEER_CLOSED | PL_SOCKET_READ_SHUT);
    unsigned ready = 0;

    if (no_more || plumb_tcp_readable(socket->tcp))
        ready |= PLUMB_POLLIN;
    if (no_more)
        ready |= PLUMB_POLLRDHUP;
    if (no_more && shut & PL_SOCKET_WRITE_SHUT)
        ready |= PLUMB_POLLHUP;
    if (!(shut & PL_SOCKET_FULL) && !plumb_tcp_writable(socket->tcp)) {
        /* Filled to the byte: an event is to tell of room. */
        pl_tcp_want_writable(socket->tcp);
        socket->flags |= PL_SOCKET_FULL;
    }
    if (shut & PL_SOCKET_WRITE_SHUT || !(socket->flags & PL_SOCKET_FULL))
        ready |= PLUMB_POLLOUT;
    return ready;
}

unsigned pl_stream_ready(struct pl_socket *socket) {
    unsigned error = socket->error ? PLUMB_POLLERR : 0;

    switch (socket->state) {
    case PL_SOCKET_NEW:
        return PLUMB_POLLOUT | PLUMB_POLLHUP | error;
    case PL_SOCKET_LISTENING:
        return socket->accepted ? PLUMB_POLLIN : 0;
    case PL_SOCKET_CONNECTING:
        return 0;
    case PL_SOCKET_CONNECTED:
        return connected_ready(socket) | error;
    default:
        return PLUMB_POLLIN | PLUMB_POLLOUT | PLUMB_POLLHUP | PLUMB_POLLRDHUP | error;
    }
}
