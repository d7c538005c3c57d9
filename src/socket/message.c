/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The forms of sending and receiving: all come down to a message of vectors.
 */
#include "socket/socket.h"

enum {
    SEND_FLAGS = PLUMB_MSG_DONTWAIT | PLUMB_MSG_NOSIGNAL,
    RECEIVE_FLAGS = PLUMB_MSG_PEEK | PLUMB_MSG_TRUNC | PLUMB_MSG_DONTWAIT | PLUMB_MSG_WAITALL |
                    PLUMB_MSG_NOSIGNAL,
};

/* ---- sending ---- */

static int send_datagram(struct pl_socket *socket, const struct plumb_msghdr *message, int flags) {
    struct plumb_endpoint to;
    int result = 0;

    if (message->msg_name)
        result = pl_address_read(message->msg_name, message->msg_namelen, &to);
    if (result)
        return result;
    return pl_datagram_send(socket, message->msg_iov, message->msg_iovlen,
                            message->msg_name ? &to : NULL, flags);
}

static int send_message(struct pl_socket *socket, const struct plumb_msghdr *message, int flags) {
    if (!socket)
        return -PLUMB_EBADF;
    if (flags & ~SEND_FLAGS)
        return -PLUMB_EOPNOTSUPP;
    if (socket->kind == PL_SOCKET_DATAGRAM)
        return send_datagram(socket, message, flags);
    if (message->msg_name && socket->state == PL_SOCKET_CONNECTED)
        return -PLUMB_EISCONN;
    return pl_stream_send(socket, message->msg_iov, message->msg_iovlen, flags);
}

int plumb_sendmsg(struct plumb_sockets *sockets, int fd, const struct plumb_msghdr *message,
                  int flags) {
    struct pl_socket *socket = pl_sockets_enter(sockets, fd);

    return pl_sockets_leave(sockets, send_message(socket, message, flags));
}

int plumb_sendto(struct plumb_sockets *sockets, int fd, const void *bytes, size_t length, int flags,
                 const void *to, plumb_socklen to_length) {
    struct plumb_iov vector = {(void *)(uintptr_t)bytes, length};
    const struct plumb_msghdr message = {
        .msg_name = (void *)(uintptr_t)to,
        .msg_namelen = to_length,
        .msg_iov = &vector,
        .msg_iovlen = 1,
    };

    return plumb_sendmsg(sockets, fd, &message, flags);
}

int plumb_send(struct plumb_sockets *sockets, int fd, const void *bytes, size_t length, int flags) {
    return plumb_sendto(sockets, fd, bytes, length, flags, NULL, 0);
}

/* The vectors of the two forms that are given no message. */
static bool vectors_to_message(const struct plumb_iov *vectors, int count,
                               struct plumb_msghdr *message) {
    *message = (struct plumb_msghdr){
        .msg_iov = (struct plumb_iov *)(uintptr_t)vectors,
        .msg_iovlen = (size_t)count,
    };
    return count >= 0;
}

int plumb_writev(struct plumb_sockets *sockets, int fd, const struct plumb_iov *vectors,
                 int count) {
    struct plumb_msghdr message;

    if (!vectors_to_message(vectors, count, &message))
        return -PLUMB_EINVAL;
    return plumb_sendmsg(sockets, fd, &message, 0);
}

/* ---- receiving ---- */

static int receive_datagram(struct pl_socket *socket, struct plumb_msghdr *message, int flags) {
    struct plumb_endpoint from = {PLUMB_IPV4_ANY, 0};
    int result = pl_datagram_receive(socket, message->msg_iov, message->msg_iovlen, &from, &flags);

    if (result < 0 || !from.port)
        message->msg_namelen = 0;
    else
        pl_address_write(from, message->msg_name, &message->msg_namelen);
    message->msg_flags = flags;
    return result;
}

static int receive_message(struct pl_socket *socket, struct plumb_msghdr *message, int flags) {
    if (!socket)
        return -PLUMB_EBADF;
    if (flags & ~RECEIVE_FLAGS)
        return -PLUMB_EOPNOTSUPP;
    message->msg_controllen = 0;
    message->msg_flags = 0;
    if (socket->kind == PL_SOCKET_DATAGRAM)
        return receive_datagram(socket, message, flags);
    message->msg_namelen = 0; /* as with any that is connected (POSIX, recvfrom) */
    return pl_stream_receive(socket, message->msg_iov, message->msg_iovlen, flags);
}

int plumb_recvmsg(struct plumb_sockets *sockets, int fd, struct plumb_msghdr *message, int flags) {
    struct pl_socket *socket = pl_sockets_enter(sockets, fd);

    return pl_sockets_leave(sockets, receive_message(socket, message, flags));
}

int plumb_recvfrom(struct plumb_sockets *sockets, int fd, void *bytes, size_t length, int flags,
                   void *from, plumb_socklen *from_length) {
    struct plumb_iov vector = {bytes, length};
    struct plumb_msghdr message = {
        .msg_name = from,
        .msg_namelen = from_length ? *from_length : 0,
        .msg_iov = &vector,
        .msg_iovlen = 1,
    };
    int result = plumb_recvmsg(sockets, fd, &message, flags);

    if (from && from_length && result >= 0)
        *from_length = message.msg_namelen;
    return result;
}

int plumb_recv(struct plumb_sockets *sockets, int fd, void *bytes, size_t length, int flags) {
    return plumb_recvfrom(sockets, fd, bytes, length, flags, NULL, NULL);
}

int plumb_readv(struct plumb_sockets *sockets, int fd, const struct plumb_iov *vectors, int count) {
    struct plumb_msghdr message;

    if (!vectors_to_message(vectors, count, &message))
        return -PLUMB_EINVAL;
    return plumb_recvmsg(sockets, fd, &message, 0);
}
