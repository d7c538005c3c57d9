/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Sockets over the native API: theory of operation.
 *
 * A descriptor is the index of a slot in a fixed table. A stream is over a listener or a
 * connection, and what the connection's handler is told becomes the slot's state; nothing is
 * copied or queued here while there is a connection, whose own queues are read and filled. Two
 * things outlive what is below: a connection's unread bytes after it has ended (`first`), and
 * its error. A datagram socket keeps the packets it was handed, in the same queue.
 *
 *     NEW ──listen──> LISTENING ──> CONNECTED (queued at the listener until accepted)
 *      └──connect──> CONNECTING ──> CONNECTED ──> ENDED
 *                        └────────> FAILED ──connect──> CONNECTING
 *
 * Whoever has to wait tries, waits for a wake, and tries again: pl_socket_wait() is the one
 * place where that is done, and where the lock is given back. A slot may be closed by another
 * thread meanwhile, which its generation tells.
 *
 * What holds:
 *  - all of it is read and changed with the lock held (pl_sockets_enter, pl_sockets_leave);
 *  - `tcp` is good in CONNECTING and CONNECTED, `listener` in LISTENING, `udp` of a datagram
 *    socket once it is bound;
 *  - a slot that waits at a listener has no descriptor, though its index is taken;
 *  - `error` is what SO_ERROR says: positive, told once.
 */
#ifndef PL_SOCKET_H
#define PL_SOCKET_H

#include <plumb/socket.h>
#include <plumb/udp.h>

#include "stack/stack.h"

enum pl_socket_kind { PL_SOCKET_FREE, PL_SOCKET_STREAM, PL_SOCKET_DATAGRAM };

enum pl_socket_state {
    PL_SOCKET_NEW,
    PL_SOCKET_LISTENING,
    PL_SOCKET_CONNECTING,
    PL_SOCKET_CONNECTED, /* of a datagram socket: it has a peer */
    PL_SOCKET_FAILED,    /* to connect */
    PL_SOCKET_ENDED,
};

enum pl_socket_flag {
    PL_SOCKET_BOUND = 1,
    PL_SOCKET_NONBLOCK = 2,
    PL_SOCKET_QUEUED = 4,  /* waits at its listener: has no descriptor */
    PL_SOCKET_CLOSING = 8, /* close() lingers: has no descriptor any more */
    PL_SOCKET_READ_SHUT = 16,
    PL_SOCKET_WRITE_SHUT = 32,
    PL_SOCKET_PEER_CLOSED = 64,
    PL_SOCKET_FULL = 128, /* the send buffer was, and no event has said otherwise */
    PL_SOCKET_REUSE = 256,
    PL_SOCKET_BROADCAST = 512,
    PL_SOCKET_KEEPALIVE = 1024,
    PL_SOCKET_NODELAY = 2048,
    PL_SOCKET_LINGER = 4096,
};

/* Of the flags, what an accepted connection has from its listener. */
#define PL_SOCKET_INHERITED                                                                        \
    (PL_SOCKET_REUSE | PL_SOCKET_KEEPALIVE | PL_SOCKET_NODELAY | PL_SOCKET_LINGER)

struct pl_socket_options {
    uint32_t receive_ms, send_ms; /* time-outs in milliseconds; 0: none */
    uint32_t send_buffer, receive_buffer;
    uint32_t keepalive_s;
    uint32_t user_timeout_ms;
    uint16_t linger_s;
    uint16_t mss; /* 0: as negotiated */
};

struct pl_socket {
    struct plumb_sockets *sockets;
    union {
        struct plumb_tcp *tcp;
        struct plumb_tcp_listener *listener;
        struct plumb_udp *udp;
    };
    union {
        struct plumb_packet *first; /* unread */
        struct pl_socket *accepted; /* LISTENING: the one that has waited longest */
    };
    struct plumb_packet *last;
    struct pl_socket *next; /* QUEUED: the next at its listener */
    uint32_t queued;        /* bytes unread in `first` */
    struct plumb_endpoint local, remote;
    struct pl_socket_options options;
    uint16_t flags;      /* enum pl_socket_flag */
    uint16_t count;      /* datagrams unread, or connections that wait */
    uint16_t backlog;    /* most of the latter */
    uint16_t generation; /* how often the slot was freed */
    uint8_t kind;        /* enum pl_socket_kind */
    uint8_t state;       /* enum pl_socket_state */
    uint8_t error;       /* enum plumb_errno, to be told; 0: none */
};

struct plumb_sockets {
    struct plumb *stack;
    const struct plumb_socket_port *port; /* null: nothing waits */
    uint64_t next_us;                     /* when the stack asked to be polled again */
    bool changed;                         /* somebody who waits may go on */
    uint8_t lingering;                    /* how many close() */
    struct pl_socket table[CONFIG_PLUMB_SOCKETS_MOST];
};

_Static_assert(sizeof(struct plumb_sockets) <= PLUMB_SOCKETS_BYTES,
               "plumb_sockets_create() needs what <plumb/socket.h> says");

/* ---- table.c: slots, descriptors, the lock ---- */

/* Takes the lock; the socket of a descriptor, or null. */
struct pl_socket *pl_sockets_enter(struct plumb_sockets *sockets, int fd);

/* Wakes who may go on, and has the stack polled if it has work. */
void pl_sockets_pass_on(struct plumb_sockets *sockets);

/* The same, and gives the lock back. Returns `result`. */
int pl_sockets_leave(struct plumb_sockets *sockets, int result);

/* Takes a slot, or null. */
struct pl_socket *pl_socket_take(struct plumb_sockets *sockets, enum pl_socket_kind kind);

/* How many slots are free. */
unsigned pl_sockets_free(const struct plumb_sockets *sockets);

/* Puts what is unread and frees the slot. */
void pl_socket_free(struct pl_socket *socket);

static inline int pl_socket_fd(const struct pl_socket *socket) {
    return (int)(socket - socket->sockets->table);
}

/* ---- wait.c ---- */

/* What an operation with this time-out (ms; 0: none) waits until; 0 if it may not wait. */
uint64_t pl_socket_until(const struct pl_socket *socket, int flags, uint32_t timeout_ms);

/* Waits for a wake; 0 then, -PLUMB_EAGAIN when it is `until_us` or nobody may wait, or
 * -PLUMB_EBADF when the socket was closed meanwhile: then it is not to be looked at. */
int pl_socket_wait(struct pl_socket *socket, uint64_t until_us);

/* Which of poll's bits hold now. */
unsigned pl_socket_ready(struct pl_socket *socket);

/* ---- address.c ---- */

/* The errno of a PLUMB_ERROR_..., positive. */
uint8_t pl_errno(int error);

/* Reads an address; 0 or a negative errno. */
int pl_address_read(const void *address, plumb_socklen length, struct plumb_endpoint *endpoint);

/* Writes one, cut to *length, which becomes the whole length. `to` may be null. */
void pl_address_write(struct plumb_endpoint endpoint, void *to, plumb_socklen *length);

/* Is it an address of ours? */
bool pl_address_is_local(const struct plumb *stack, plumb_ipv4 address);

/* The address we have towards another; 0, -PLUMB_ENETUNREACH, or -PLUMB_EADDRNOTAVAIL when the
 * socket is bound to another. */
int pl_address_towards(const struct pl_socket *socket, plumb_ipv4 remote, plumb_ipv4 *local);

/* ---- vectors: what is sent from or received to ---- */

/* Bytes of all, at most INT_MAX. */
size_t pl_vectors_length(const struct plumb_iov *vectors, size_t count);

/* A place in vectors. */
struct pl_cursor {
    const struct plumb_iov *vector, *end;
    size_t offset;
};

/* The run of bytes at the cursor, at most `most`; its length 0 at the end. */
struct plumb_iov pl_cursor_run(struct pl_cursor *cursor, size_t most);

static inline struct pl_cursor pl_cursor_at(const struct plumb_iov *vectors, size_t count) {
    return (struct pl_cursor){vectors, vectors + count, 0};
}

/* Copies up to `length` bytes (no more than the vectors have left) of a queue of packets, or of
 * `one` alone, to the cursor, which moves on; returns how many. */
size_t pl_cursor_copy(struct pl_cursor *cursor, const struct plumb_packet *first, bool one,
                      size_t length);

/* ---- stream.c and stream_io.c ---- */

int pl_stream_bind(struct pl_socket *socket, struct plumb_endpoint local);
int pl_stream_connect(struct pl_socket *socket, struct plumb_endpoint remote);
int pl_stream_shutdown(struct pl_socket *socket, int how);
int pl_stream_close(struct pl_socket *socket);
/* The same at once, without a word but a RST. */
void pl_stream_abandon(struct pl_socket *socket);
unsigned pl_stream_ready(struct pl_socket *socket);

int pl_stream_send(struct pl_socket *socket, const struct plumb_iov *vectors, size_t count,
                   int flags);
int pl_stream_receive(struct pl_socket *socket, const struct plumb_iov *vectors, size_t count,
                      int flags);
/* Bytes that can be read now, and throwing them away. */
size_t pl_stream_readable(const struct pl_socket *socket);
void pl_stream_discard(struct pl_socket *socket);

/* ---- datagram.c ---- */

int pl_datagram_bind(struct pl_socket *socket, struct plumb_endpoint local);
int pl_datagram_connect(struct pl_socket *socket, const struct plumb_endpoint *remote);
int pl_datagram_shutdown(struct pl_socket *socket, int how);
void pl_datagram_close(struct pl_socket *socket);
unsigned pl_datagram_ready(const struct pl_socket *socket);
int pl_datagram_send(struct pl_socket *socket, const struct plumb_iov *vectors, size_t count,
                     const struct plumb_endpoint *to, int flags);
/* `from` and `flags` say where it came from and whether it was cut. */
int pl_datagram_receive(struct pl_socket *socket, const struct plumb_iov *vectors, size_t count,
                        struct plumb_endpoint *from, int *flags);

/* ---- options.c ---- */

void pl_socket_default_options(struct pl_socket *socket);

/* Tells the connection or listener that there may be what was set for it. */
void pl_socket_apply_options(const struct pl_socket *socket);

/* Tells a connection all that was set for it. */
void pl_stream_apply_options(const struct pl_socket *socket);

#endif
