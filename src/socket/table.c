/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The table of sockets, their descriptors, and the lock.
 */
#include "packet/packet.h"
#include "socket/socket.h"
#include "tcp/tcp.h"

int plumb_sockets_create(struct plumb_sockets **out, void *memory, size_t size, struct plumb *stack,
                         const struct plumb_socket_port *port) {
    struct plumb_sockets *sockets = memory;

    if (!memory || (uintptr_t)memory % 8 || !stack)
        return PLUMB_ERROR_INVALID;
    if (size < sizeof *sockets)
        return PLUMB_ERROR_NO_MEMORY;
    sockets->stack = stack;
    sockets->port = port;
    sockets->next_us = 0;
    sockets->changed = false;
    sockets->lingering = 0;
    for (unsigned i = 0; i < CONFIG_PLUMB_SOCKETS_MOST; i++)
        sockets->table[i] = (struct pl_socket){.sockets = sockets};
    *out = sockets;
    return PLUMB_OK;
}

void plumb_sockets_destroy(struct plumb_sockets *sockets) {
    plumb_sockets_lock(sockets);
    for (unsigned i = 0; i < CONFIG_PLUMB_SOCKETS_MOST; i++) {
        struct pl_socket *socket = &sockets->table[i];
        if (socket->kind == PL_SOCKET_STREAM)
            pl_stream_abandon(socket);
        else if (socket->kind == PL_SOCKET_DATAGRAM)
            pl_datagram_close(socket);
    }
    plumb_sockets_unlock(sockets);
}

struct plumb *plumb_sockets_stack(const struct plumb_sockets *sockets) {
    return sockets->stack;
}

/* ---- the lock ---- */

void plumb_sockets_lock(struct plumb_sockets *sockets) {
    if (sockets->port && sockets->port->lock)
        sockets->port->lock(sockets->port->context);
}

void plumb_sockets_unlock(struct plumb_sockets *sockets) {
    if (sockets->port && sockets->port->unlock)
        sockets->port->unlock(sockets->port->context);
}

static void wake(struct plumb_sockets *sockets) {
    if (!sockets->changed)
        return;
    sockets->changed = false;
    if (sockets->port && sockets->port->wake)
        sockets->port->wake(sockets->port->context);
}

uint64_t plumb_sockets_run(struct plumb_sockets *sockets, uint64_t now_us) {
    plumb_sockets_lock(sockets);
    uint64_t next = plumb_poll(sockets->stack, now_us);
    sockets->next_us = next;
    /* No event tells that all has been acknowledged. */
    if (sockets->lingering)
        sockets->changed = true;
    wake(sockets);
    plumb_sockets_unlock(sockets);
    return next;
}

/* Has a call left work for a poll that comes too late for it? */
static bool needs_poll(const struct plumb_sockets *sockets) {
    const struct pl_tcp_state *tcp = pl_layer_state(sockets->stack, &pl_tcp_layer);

    return tcp->pending || pl_due(sockets->stack) < sockets->next_us;
}

void pl_sockets_pass_on(struct plumb_sockets *sockets) {
    const struct plumb_socket_port *port = sockets->port;

    wake(sockets);
    if (port && port->poll_soon && needs_poll(sockets))
        port->poll_soon(port->context);
}

int pl_sockets_leave(struct plumb_sockets *sockets, int result) {
    pl_sockets_pass_on(sockets);
    plumb_sockets_unlock(sockets);
    return result;
}

struct pl_socket *pl_sockets_enter(struct plumb_sockets *sockets, int fd) {
    struct pl_socket *socket;

    plumb_sockets_lock(sockets);
    if (fd < 0 || fd >= CONFIG_PLUMB_SOCKETS_MOST)
        return NULL;
    socket = &sockets->table[fd];
    if (socket->kind == PL_SOCKET_FREE || socket->flags & (PL_SOCKET_QUEUED | PL_SOCKET_CLOSING))
        return NULL;
    return socket;
}

/* ---- slots ---- */

struct pl_socket *pl_socket_take(struct plumb_sockets *sockets, enum pl_socket_kind kind) {
    for (unsigned i = 0; i < CONFIG_PLUMB_SOCKETS_MOST; i++) {
        struct pl_socket *socket = &sockets->table[i];
        if (socket->kind != PL_SOCKET_FREE)
            continue;
        *socket = (struct pl_socket){
            .sockets = sockets, .kind = (uint8_t)kind, .generation = socket->generation};
        pl_socket_default_options(socket);
        return socket;
    }
    return NULL;
}

unsigned pl_sockets_free(const struct plumb_sockets *sockets) {
    unsigned count = 0;

    for (unsigned i = 0; i < CONFIG_PLUMB_SOCKETS_MOST; i++)
        count += sockets->table[i].kind == PL_SOCKET_FREE;
    return count;
}

void pl_socket_free(struct pl_socket *socket) {
    if (socket->state != PL_SOCKET_LISTENING)
        pl_queue_put(socket->first);
    socket->kind = PL_SOCKET_FREE;
    socket->generation++;
    socket->sockets->changed = true;
}

/* ---- making and ending ---- */

static int kind_of(int domain, int type, int protocol) {
    if (domain != PLUMB_AF_INET)
        return -PLUMB_EAFNOSUPPORT;
    if (type != PLUMB_SOCK_STREAM && type != PLUMB_SOCK_DGRAM)
        return -PLUMB_ESOCKTNOSUPPORT;
    if (protocol != 0 && protocol != PLUMB_IPPROTO_TCP && protocol != PLUMB_IPPROTO_UDP)
        return -PLUMB_EPROTONOSUPPORT;
    if (protocol == (type == PLUMB_SOCK_STREAM ? PLUMB_IPPROTO_UDP : PLUMB_IPPROTO_TCP))
        return -PLUMB_EPROTOTYPE;
    return type == PLUMB_SOCK_STREAM ? PL_SOCKET_STREAM : PL_SOCKET_DATAGRAM;
}

int plumb_socket(struct plumb_sockets *sockets, int domain, int type, int protocol) {
    int kind = kind_of(domain, type & ~PLUMB_SOCK_NONBLOCK, protocol);

    if (kind < 0)
        return kind;
    plumb_sockets_lock(sockets);
    struct pl_socket *socket = pl_socket_take(sockets, (enum pl_socket_kind)kind);
    if (!socket)
        return pl_sockets_leave(sockets, -PLUMB_ENFILE);
    if (type & PLUMB_SOCK_NONBLOCK)
        socket->flags |= PL_SOCKET_NONBLOCK;
    return pl_sockets_leave(sockets, pl_socket_fd(socket));
}

int plumb_close(struct plumb_sockets *sockets, int fd) {
    struct pl_socket *socket = pl_sockets_enter(sockets, fd);
    int result = 0;

    if (!socket)
        return pl_sockets_leave(sockets, -PLUMB_EBADF);
    if (socket->kind == PL_SOCKET_STREAM)
        result = pl_stream_close(socket);
    else
        pl_datagram_close(socket);
    return pl_sockets_leave(sockets, result);
}

int plumb_shutdown(struct plumb_sockets *sockets, int fd, int how) {
    struct pl_socket *socket = pl_sockets_enter(sockets, fd);
    int result;

    if (!socket)
        result = -PLUMB_EBADF;
    else if (how < PLUMB_SHUT_RD || how > PLUMB_SHUT_RDWR)
        result = -PLUMB_EINVAL;
    else if (socket->kind == PL_SOCKET_STREAM)
        result = pl_stream_shutdown(socket, how);
    else
        result = pl_datagram_shutdown(socket, how);
    return pl_sockets_leave(sockets, result);
}

/* ---- what a descriptor is told beside ---- */

static void set_nonblocking(struct pl_socket *socket, bool nonblocking) {
    if (nonblocking)
        socket->flags |= PL_SOCKET_NONBLOCK;
    else
        socket->flags &= (uint16_t)~PL_SOCKET_NONBLOCK;
}

int plumb_fcntl(struct plumb_sockets *sockets, int fd, int command, int argument) {
    struct pl_socket *socket = pl_sockets_enter(sockets, fd);
    int result = 0;

    if (!socket)
        result = -PLUMB_EBADF;
    else if (command == PLUMB_F_GETFL)
        result = socket->flags & PL_SOCKET_NONBLOCK ? PLUMB_O_NONBLOCK : 0;
    else if (command == PLUMB_F_SETFL)
        set_nonblocking(socket, argument & PLUMB_O_NONBLOCK);
    else
        result = -PLUMB_EINVAL;
    return pl_sockets_leave(sockets, result);
}

static int readable(const struct pl_socket *socket) {
    if (socket->kind == PL_SOCKET_STREAM)
        return (int)pl_stream_readable(socket);
    return socket->first ? socket->first->total : 0;
}

int plumb_ioctl(struct plumb_sockets *sockets, int fd, unsigned long request, int *argument) {
    struct pl_socket *socket = pl_sockets_enter(sockets, fd);
    int result = 0;

    if (!socket)
        result = -PLUMB_EBADF;
    else if (request == PLUMB_FIONREAD && socket->state != PL_SOCKET_LISTENING)
        *argument = readable(socket);
    else if (request == PLUMB_FIONBIO)
        set_nonblocking(socket, *argument);
    else
        result = -PLUMB_EINVAL;
    return pl_sockets_leave(sockets, result);
}
