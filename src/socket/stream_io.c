/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Streams: sending and receiving. The connection's queues are read and filled in place; what
 * a connection left unread when it ended is read from the socket.
 */
#include "packet/packet.h"
#include "socket/socket.h"
#include "tcp/tcp.h"

/* ---- receiving ---- */

size_t pl_stream_readable(const struct pl_socket *socket) {
    return socket->state == PL_SOCKET_CONNECTED ? plumb_tcp_readable(socket->tcp) : socket->queued;
}

static void consume_unread(struct pl_socket *socket, size_t length) {
    socket->queued -= (uint32_t)length;
    socket->first = pl_queue_put_front(socket->first, &length);
    if (socket->first && length)
        plumb_packet_trim_front(socket->first, length);
}

static void consume(struct pl_socket *socket, size_t length) {
    if (!length)
        return;
    if (socket->state == PL_SOCKET_CONNECTED)
        plumb_tcp_consume(socket->tcp, length);
    else
        consume_unread(socket, length);
}

void pl_stream_discard(struct pl_socket *socket) {
    consume(socket, pl_stream_readable(socket));
}

/* Copies what there is, up to `length` bytes. */
static size_t take(struct pl_socket *socket, struct pl_cursor *cursor, size_t length, bool peek) {
    const struct plumb_packet *first =
        socket->state == PL_SOCKET_CONNECTED ? socket->tcp->receive_first : socket->first;
    size_t done = pl_cursor_copy(cursor, first, false, length);

    if (!peek)
        consume(socket, done);
    return done;
}

/* There are too few bytes: 0 when no more come, 1 when some may, or a negative errno. */
static int why_short(struct pl_socket *socket) {
    int error = socket->error;

    if (error && !pl_stream_readable(socket)) {
        socket->error = 0;
        return -error;
    }
    switch (socket->state) {
    case PL_SOCKET_CONNECTING:
        return 1;
    case PL_SOCKET_CONNECTED:
        return socket->flags & (PL_SOCKET_PEER_CLOSED | PL_SOCKET_READ_SHUT) ? 0 : 1;
    case PL_SOCKET_ENDED:
        return 0;
    default:
        return -PLUMB_ENOTCONN;
    }
}

/* Waits until `wanted` bytes can be read: 1; 0 when the stream ends before, or a negative
 * errno. */
static int await_bytes(struct pl_socket *socket, size_t wanted, uint64_t until) {
    while (pl_stream_readable(socket) < wanted) {
        int result = why_short(socket);
        if (result <= 0)
            return result;
        result = pl_socket_wait(socket, until);
        if (result)
            return result;
    }
    return 1;
}

/* A peek at all of it takes no more than the window lets come. */
static size_t least(const struct pl_socket *socket, size_t wanted, int flags) {
    size_t most = socket->options.receive_buffer;

    if (!(flags & PLUMB_MSG_WAITALL))
        return 1;
    return wanted > most ? most : wanted;
}

static int peek(struct pl_socket *socket, struct pl_cursor *cursor, size_t wanted, int flags,
                uint64_t until) {
    int result = await_bytes(socket, least(socket, wanted, flags), until);

    /* What listens has no bytes, but connections in their place. */
    if (result == -PLUMB_EBADF || !pl_stream_readable(socket))
        return result;
    return (int)take(socket, cursor, wanted, true);
}

int pl_stream_receive(struct pl_socket *socket, const struct plumb_iov *vectors, size_t count,
                      int flags) {
    struct pl_cursor cursor = pl_cursor_at(vectors, count);
    size_t wanted = pl_vectors_length(vectors, count), done = 0;
    uint64_t until = pl_socket_until(socket, flags, socket->options.receive_ms);

    if (flags & PLUMB_MSG_PEEK && wanted)
        return peek(socket, &cursor, wanted, flags, until);
    while (done < wanted) {
        int result = await_bytes(socket, 1, until);
        if (result <= 0)
            return done ? (int)done : result;
        done += take(socket, &cursor, wanted - done, false);
        if (!(flags & PLUMB_MSG_WAITALL))
            break;
    }
    return (int)done;
}

/* ---- sending ---- */

/* Nothing can be sent: 1 when that may change, or a negative errno. */
static int why_unsendable(struct pl_socket *socket) {
    int error = socket->error;

    if (socket->state == PL_SOCKET_NEW || socket->state == PL_SOCKET_LISTENING)
        return -PLUMB_ENOTCONN;
    if (socket->state == PL_SOCKET_CONNECTING)
        return 1;
    socket->error = 0;
    return error ? -error : -PLUMB_EPIPE;
}

static bool may_send(const struct pl_socket *socket) {
    return socket->state == PL_SOCKET_CONNECTED && !(socket->flags & PL_SOCKET_WRITE_SHUT) &&
           !socket->error;
}

/* Gives the connection what it takes; how many bytes. They go out together, however many
 * vectors they come from, so that Nagle's rule sees one send. */
static size_t give(struct pl_socket *socket, struct pl_cursor *cursor, size_t length) {
    struct plumb *stack = socket->sockets->stack;
    bool settling = stack->settling;
    size_t done = 0;

    stack->settling = true;
    while (done < length) {
        struct plumb_iov run = pl_cursor_run(cursor, length - done);
        int sent = run.iov_len ? plumb_tcp_send(socket->tcp, run.iov_base, run.iov_len) : 0;
        if (sent <= 0)
            break;
        cursor->offset += (size_t)sent;
        done += (size_t)sent;
        if ((size_t)sent < run.iov_len)
            break;
    }
    stack->settling = settling;
    pl_settle(stack);
    if (done < length)
        socket->flags |= PL_SOCKET_FULL;
    else
        socket->flags &= (uint16_t)~PL_SOCKET_FULL;
    return done;
}

/* Waits until the connection stands; 0, or why it never will. */
static int await_open(struct pl_socket *socket, uint64_t until) {
    while (!may_send(socket)) {
        int result = why_unsendable(socket);
        if (result < 0)
            return result;
        result = pl_socket_wait(socket, until);
        if (result)
            return result;
    }
    return 0;
}

/* Waits until a full buffer is worth another try. */
static int await_room(struct pl_socket *socket, uint64_t until) {
    int result = 0;

    while (!result && may_send(socket) && socket->flags & PL_SOCKET_FULL)
        result = pl_socket_wait(socket, until);
    return result;
}

int pl_stream_send(struct pl_socket *socket, const struct plumb_iov *vectors, size_t count,
                   int flags) {
    struct pl_cursor cursor = pl_cursor_at(vectors, count);
    size_t wanted = pl_vectors_length(vectors, count), done = 0;
    uint64_t until = pl_socket_until(socket, flags, socket->options.send_ms);

    for (;;) {
        int result = await_open(socket, until);
        if (result == 0) {
            done += give(socket, &cursor, wanted - done);
            if (done == wanted)
                return (int)done;
            result = await_room(socket, until);
        }
        if (result)
            return done ? (int)done : result;
    }
}
