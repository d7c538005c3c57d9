/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Datagram sockets. A datagram stays in the packets it came in until it is read: its first
 * packet's `sequence` and `mark` say where from.
 */
#include "inet/ipv4.h"
#include "packet/packet.h"
#include "socket/socket.h"

/* ---- receiving ---- */

static bool is_from_peer(const struct pl_socket *socket, const struct plumb_endpoint *from) {
    return socket->state != PL_SOCKET_CONNECTED ||
           (socket->remote.address.be == from->address.be && socket->remote.port == from->port);
}

/* A socket that is not read keeps so many, and none while the pool is low: it cannot shut out
 * those who are. */
static bool has_room(const struct pl_socket *socket, const struct plumb_packet *payload) {
    const struct plumb_pool *pool = payload->pool;

    return socket->count < CONFIG_PLUMB_SOCKET_DATAGRAMS &&
           socket->queued + payload->total <= socket->options.receive_buffer &&
           pool->free_count >= pool->count / 4;
}

static void keep(struct pl_socket *socket, struct plumb_packet *payload,
                 const struct plumb_endpoint *from) {
    plumb_packet_hold(payload);
    payload->sequence = from->address.be;
    payload->mark = from->port;
    payload->next = NULL;
    if (socket->first)
        socket->last->next = payload;
    else
        socket->first = payload;
    socket->last = payload;
    socket->count++;
    socket->queued += payload->total;
    socket->sockets->changed = true;
}

static void datagram(struct plumb_udp *udp, struct plumb_packet *payload,
                     const struct plumb_udp_source *source, void *context) {
    struct pl_socket *socket = context;

    (void)udp;
    if (is_from_peer(socket, &source->from) && !(socket->flags & PL_SOCKET_READ_SHUT) &&
        has_room(socket, payload))
        keep(socket, payload, &source->from);
    else
        pl_count(socket->sockets->stack, PLUMB_COUNTER_udp_socket);
}

/* Linux tells a connected socket, and only that the port is nobody's: other messages may be a
 * router's, and pass. */
static void take_icmp(struct plumb_udp *udp, struct plumb_endpoint to, int error, void *context) {
    struct pl_socket *socket = context;

    (void)udp;
    if (error != PLUMB_ERROR_REFUSED || socket->state != PL_SOCKET_CONNECTED ||
        !is_from_peer(socket, &to))
        return;
    socket->error = PLUMB_ECONNREFUSED;
    socket->sockets->changed = true;
}

static void drop_first(struct pl_socket *socket) {
    struct plumb_packet *packet = socket->first;

    socket->first = packet->next;
    socket->count--;
    socket->queued -= packet->total;
    plumb_packet_put(packet);
}

/* 0 when there is one, 1 at the end, or a negative errno. */
static int await_datagram(struct pl_socket *socket, uint64_t until) {
    while (!socket->first) {
        int error = socket->error;
        socket->error = 0;
        if (error)
            return -error;
        if (socket->flags & PL_SOCKET_READ_SHUT)
            return 1;
        int result = pl_socket_wait(socket, until);
        if (result)
            return result;
    }
    return 0;
}

int pl_datagram_receive(struct pl_socket *socket, const struct plumb_iov *vectors, size_t count,
                        struct plumb_endpoint *from, int *flags) {
    struct pl_cursor cursor = pl_cursor_at(vectors, count);
    uint64_t until = pl_socket_until(socket, *flags, socket->options.receive_ms);
    int asked = *flags, result = await_datagram(socket, until);

    *flags = 0;
    if (result)
        return result < 0 ? result : 0;
    const struct plumb_packet *packet = socket->first;
    size_t total = packet->total, room = pl_vectors_length(vectors, count);
    size_t done = pl_cursor_copy(&cursor, packet, true, room);
    from->address.be = packet->sequence;
    from->port = packet->mark;
    if (done < total)
        *flags = PLUMB_MSG_TRUNC;
    if (!(asked & PLUMB_MSG_PEEK))
        drop_first(socket);
    return (int)(asked & PLUMB_MSG_TRUNC ? total : done);
}

/* ---- names ---- */

static int open_at(struct pl_socket *socket, struct plumb_endpoint local) {
    struct plumb_udp *udp;
    int error = plumb_udp_open(socket->sockets->stack, local, datagram, socket, &udp);

    if (error)
        return -(int)pl_errno(error);
    plumb_udp_set_error_handler(udp, take_icmp);
    socket->udp = udp;
    socket->local = local;
    socket->local.port = plumb_udp_port(udp);
    socket->flags |= PL_SOCKET_BOUND;
    return 0;
}

int pl_datagram_bind(struct pl_socket *socket, struct plumb_endpoint local) {
    return open_at(socket, local);
}

static int bind_unless_bound(struct pl_socket *socket) {
    return socket->flags & PL_SOCKET_BOUND ? 0 : open_at(socket, socket->local);
}

int pl_datagram_connect(struct pl_socket *socket, const struct plumb_endpoint *remote) {
    plumb_ipv4 local;

    if (!remote) {
        socket->state = PL_SOCKET_NEW;
        return 0;
    }
    if (remote->port == 0)
        return -PLUMB_EINVAL;
    int result = pl_address_towards(socket, remote->address, &local);
    if (result == 0)
        result = bind_unless_bound(socket);
    if (result)
        return result;
    socket->remote = *remote;
    socket->state = PL_SOCKET_CONNECTED;
    return 0;
}

/* ---- sending ---- */

static bool is_broadcast(const struct plumb *stack, plumb_ipv4 address) {
    for (const struct plumb_netif *netif = stack->netifs; netif; netif = netif->next)
        if (pl_ipv4_is_broadcast(netif, address))
            return true;
    return address.be == PLUMB_IPV4_BROADCAST.be;
}

/* Gathers the vectors into a packet of the stack's. */
static void gather(const struct plumb_iov *vectors, size_t count, struct plumb_packet *packet) {
    size_t at = 0;

    for (size_t i = 0; i < count; i++)
        at += plumb_packet_copy_in(packet, at, vectors[i].iov_base, vectors[i].iov_len);
}

/* 0 or a native error. One vector is copied and summed in one pass, however long; several
 * have to fit a buffer. */
static int send_once(struct pl_socket *socket, const struct plumb_iov *vectors, size_t count,
                     struct plumb_endpoint to, size_t length) {
    if (count == 1)
        return plumb_udp_send(socket->udp, to, vectors->iov_base, length);
    if (length > socket->sockets->stack->options.segments->capacity - (size_t)PL_HEADROOM)
        return PLUMB_ERROR_TOO_LONG;
    struct plumb_packet *packet = plumb_udp_take(socket->udp, length);
    if (!packet)
        return PLUMB_ERROR_NO_BUFFER;
    gather(vectors, count, packet);
    return plumb_udp_send_packet(socket->udp, to, packet);
}

/* What is full empties by itself, and no event tells when. */
#define RETRY_US 1000

static uint64_t sooner(const struct pl_socket *socket, uint64_t until) {
    const struct plumb_socket_port *port = socket->sockets->port;

    if (!until)
        return 0;
    uint64_t soon = port->now_us(port->context) + RETRY_US;
    return soon < until ? soon : until;
}

static int send_to(struct pl_socket *socket, const struct plumb_iov *vectors, size_t count,
                   struct plumb_endpoint to, int flags) {
    size_t length = pl_vectors_length(vectors, count);
    uint64_t until = pl_socket_until(socket, flags, socket->options.send_ms);

    for (;;) {
        int result = send_once(socket, vectors, count, to, length);
        if (result == PLUMB_OK)
            return (int)length;
        if (result != PLUMB_ERROR_WOULD_BLOCK && result != PLUMB_ERROR_NO_BUFFER)
            return -(int)pl_errno(result);
        int waited = pl_socket_wait(socket, sooner(socket, until));
        if (waited)
            return waited == -PLUMB_EAGAIN ? -(int)pl_errno(result) : waited;
    }
}

int pl_datagram_send(struct pl_socket *socket, const struct plumb_iov *vectors, size_t count,
                     const struct plumb_endpoint *to, int flags) {
    int error = socket->error;

    socket->error = 0;
    if (error)
        return -error;
    if (socket->flags & PL_SOCKET_WRITE_SHUT)
        return -PLUMB_EPIPE;
    if (!to && socket->state != PL_SOCKET_CONNECTED)
        return -PLUMB_EDESTADDRREQ;
    if (!to)
        to = &socket->remote;
    if (to->port == 0)
        return -PLUMB_EINVAL;
    if (is_broadcast(socket->sockets->stack, to->address) && !(socket->flags & PL_SOCKET_BROADCAST))
        return -PLUMB_EACCES;
    int result = bind_unless_bound(socket);
    return result ? result : send_to(socket, vectors, count, *to, flags);
}

/* ---- ending ---- */

int pl_datagram_shutdown(struct pl_socket *socket, int how) {
    if (socket->state != PL_SOCKET_CONNECTED)
        return -PLUMB_ENOTCONN;
    if (how != PLUMB_SHUT_RD)
        socket->flags |= PL_SOCKET_WRITE_SHUT;
    if (how != PLUMB_SHUT_WR)
        socket->flags |= PL_SOCKET_READ_SHUT;
    socket->sockets->changed = true;
    return 0;
}

void pl_datagram_close(struct pl_socket *socket) {
    if (socket->flags & PL_SOCKET_BOUND)
        plumb_udp_close(socket->udp);
    pl_socket_free(socket);
}

unsigned pl_datagram_ready(const struct pl_socket *socket) {
    const unsigned both = PL_SOCKET_READ_SHUT | PL_SOCKET_WRITE_SHUT;
    unsigned ready = PLUMB_POLLOUT;

    if (socket->first || socket->flags & PL_SOCKET_READ_SHUT)
        ready |= PLUMB_POLLIN;
    if (socket->flags & PL_SOCKET_READ_SHUT)
        ready |= PLUMB_POLLRDHUP;
    if ((socket->flags & both) == both)
        ready |= PLUMB_POLLHUP;
    if (socket->error)
        ready |= PLUMB_POLLERR;
    return ready;
}
