/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * TCP (RFC 9293), the native API: connections with one handler, called once
 * per poll with all that happened.
 *
 * A connection is the user's from plumb_tcp_connect() or from the accept
 * handler until plumb_tcp_close() or plumb_tcp_abort(), or until its handler
 * returned from an event with PLUMB_TCP_CLOSED. After that the pointer must
 * not be used.
 */
#ifndef PLUMB_TCP_H
#define PLUMB_TCP_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/address.h>
#include <plumb/packet.h>

#ifdef __cplusplus
extern "C" {
#endif

struct plumb;
struct plumb_tcp;
struct plumb_tcp_listener;

enum plumb_tcp_event {
    PLUMB_TCP_CONNECTED = 1,   /* the handshake is complete */
    PLUMB_TCP_READABLE = 2,    /* bytes have arrived */
    PLUMB_TCP_WRITABLE = 4,    /* the send buffer has room again after a short send */
    PLUMB_TCP_PEER_CLOSED = 8, /* the peer's FIN: after the bytes readable now come no more */
    PLUMB_TCP_CLOSED = 16,     /* the end: plumb_tcp_error() says why; the pointer dies with the
                                  handler's return */
};

/* `events` is a set of enum plumb_tcp_event. */
typedef void plumb_tcp_handler(struct plumb_tcp *connection, unsigned events, void *context);

/* A new connection on a listener, established. The user takes it by calling
 * plumb_tcp_set_handler() in here; otherwise it is aborted. */
typedef void plumb_tcp_acceptor(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                                void *context);

/* Listens on a local address (PLUMB_IPV4_ANY: all) and port (1 to 65535), with
 * at most `backlog` handshakes under way. Returns PLUMB_OK, PLUMB_ERROR_INVALID,
 * PLUMB_ERROR_IN_USE or PLUMB_ERROR_NO_CONNECTION. */
int plumb_tcp_listen(struct plumb *stack, struct plumb_endpoint local, unsigned backlog,
                     plumb_tcp_acceptor *acceptor, void *context,
                     struct plumb_tcp_listener **listener);

/* Stops listening; handshakes under way are reset, accepted connections stay. */
void plumb_tcp_unlisten(struct plumb_tcp_listener *listener);

/* The receive buffer of connections to come, bytes, which their SYN-ACK already tells: 1 to 1 MiB.
 * Returns PLUMB_OK or PLUMB_ERROR_INVALID, as plumb_tcp_set_option() does. */
int plumb_tcp_listener_receive_buffer(struct plumb_tcp_listener *listener, uint32_t bytes);

/* Is there room for one more connection, behind `coming` that will be offered? */
typedef bool plumb_tcp_room(struct plumb_tcp_listener *listener, unsigned coming, void *context);

/* Has that asked before the last ACK of a handshake is taken (null, as at first: there is room).
 * While there is none the handshake stays under way: SYN and SYN-ACK are repeated, which has the
 * peer say its ACK again, until CONFIG_PLUMB_TCP_SYN_RETRIES are over. In builds without
 * CONFIG_PLUMB_TCP_SYN_CACHE it is never asked. */
void plumb_tcp_listener_room(struct plumb_tcp_listener *listener, plumb_tcp_room *room);

/* The largest segment, bytes of payload and options, that connections to come send and take: their
 * SYN-ACK tells it. Returns PLUMB_OK, or PLUMB_ERROR_INVALID when it is less than 48 or the build
 * is without CONFIG_PLUMB_TCP_MSS_LIMIT. */
int plumb_tcp_listener_mss(struct plumb_tcp_listener *listener, uint32_t bytes);

/* Opens a connection to `remote` from `local_port` (0: chosen by RFC 6056).
 * The handler is told CONNECTED, or CLOSED with PLUMB_ERROR_REFUSED,
 * _TIMED_OUT or _UNREACHABLE. Returns PLUMB_OK, PLUMB_ERROR_INVALID,
 * _NO_ROUTE, _IN_USE or _NO_CONNECTION. */
int plumb_tcp_connect(struct plumb *stack, struct plumb_endpoint remote, uint16_t local_port,
                      plumb_tcp_handler *handler, void *context, struct plumb_tcp **connection);

void plumb_tcp_set_handler(struct plumb_tcp *connection, plumb_tcp_handler *handler, void *context);

/* Copies up to `length` bytes into the send buffer; returns how many fitted (0
 * to length), or PLUMB_ERROR_CLOSED after shutdown or before the connection is
 * established. A short count promises a WRITABLE event. */
int plumb_tcp_send(struct plumb_tcp *connection, const void *bytes, size_t length);

/* Sends the bytes of `reference` without copying; all or nothing. Its release is
 * called when the peer has acknowledged them and no device reads them, or when
 * the connection ended. Returns PLUMB_OK, PLUMB_ERROR_WOULD_BLOCK (a WRITABLE
 * event follows), PLUMB_ERROR_INVALID (empty, or longer than the send window
 * can ever take), or PLUMB_ERROR_CLOSED. */
int plumb_tcp_send_reference(struct plumb_tcp *connection, struct plumb_reference *reference);

/* Writes the bytes of `reference` back from the caches, once for all the times they are to be
 * sent, and sets its `clean`. The stack has a reference pool, which knows how. */
void plumb_reference_clean(struct plumb *stack, struct plumb_reference *reference);

/* Room in the send buffer, bytes. */
size_t plumb_tcp_writable(const struct plumb_tcp *connection);

/* Bytes received, in order, and not yet consumed. */
size_t plumb_tcp_readable(const struct plumb_tcp *connection);

/* Points up to `count` vectors at received bytes, in order, where they lie.
 * Returns how many were filled. They are good until the next
 * plumb_tcp_consume() or the end of the handler or of the user's turn. */
unsigned plumb_tcp_peek(const struct plumb_tcp *connection, struct plumb_iovec *vectors,
                        unsigned count);

/* Gives the first `length` (at most readable) bytes back to the stack. */
void plumb_tcp_consume(struct plumb_tcp *connection, size_t length);

/* Copies up to `length` received bytes and consumes them; returns how many
 * (0: none now), or PLUMB_ERROR_CLOSED when the peer's FIN has been reached. */
int plumb_tcp_read(struct plumb_tcp *connection, void *to, size_t length);

#ifdef CONFIG_PLUMB_TCP_POST
/* Lends the connection `length` bytes at `to` for what arrives next. While it is
 * lent, in-order payload is copied there and checksummed in the same pass, and
 * does not become readable otherwise. READABLE tells of progress; what is already
 * readable is copied at once. Replaces an earlier loan. Length 0 ends it. */
void plumb_tcp_post(struct plumb_tcp *connection, void *to, size_t length);

/* Bytes that have been written to the loan so far. */
size_t plumb_tcp_posted(const struct plumb_tcp *connection);
#endif

/* Sends a FIN after what is in the send buffer. Receiving goes on. */
void plumb_tcp_shutdown(struct plumb_tcp *connection);

/* The user is done: a FIN after what is in the send buffer, or a RST when
 * received bytes were not consumed (RFC 9293 section 3.6.1). The stack does the
 * rest by itself; the handler is not called again. */
void plumb_tcp_close(struct plumb_tcp *connection);

/* Sends a RST and forgets everything. The handler is not called again. */
void plumb_tcp_abort(struct plumb_tcp *connection);

/* Why the connection ended: PLUMB_OK for an orderly close. */
int plumb_tcp_error(const struct plumb_tcp *connection);

enum plumb_tcp_option {
    PLUMB_TCP_NODELAY,   /* 1: send small segments at once (no Nagle). Default 0 */
    PLUMB_TCP_KEEPALIVE, /* milliseconds idle before probing, up to a week; 0: never. Default 0 */
    PLUMB_TCP_USER_TIMEOUT,   /* milliseconds without any acknowledgement before giving up */
    PLUMB_TCP_SEND_BUFFER,    /* bytes, 1 to 1 MiB */
    PLUMB_TCP_RECEIVE_BUFFER, /* bytes, 1 to 1 MiB; above 65535 of use with peers that scale
                                 windows (RFC 7323). A window once offered is kept */
    PLUMB_TCP_CONGESTION,     /* enum plumb_tcp_congestion. Default CUBIC, if there is any */
};

/* How the congestion window grows. */
enum plumb_tcp_congestion {
    PLUMB_TCP_RENO,  /* RFC 5681 */
    PLUMB_TCP_CUBIC, /* RFC 9438: with CONFIG_PLUMB_TCP_CUBIC */
};

/* Returns PLUMB_OK or PLUMB_ERROR_INVALID, which is also for what this build leaves out
 * (CONFIG_PLUMB_TCP_KEEPALIVE, _USER_TIMEOUT, _BUFFER_LIMITS, _CUBIC; without _WINDOW_SCALE buffers
 * above 65535 bytes). */
int plumb_tcp_set_option(struct plumb_tcp *connection, enum plumb_tcp_option option,
                         uint32_t value);

enum plumb_tcp_state {
    PLUMB_TCP_STATE_CLOSED,
    PLUMB_TCP_STATE_SYN_SENT,
    PLUMB_TCP_STATE_SYN_RECEIVED,
    PLUMB_TCP_STATE_ESTABLISHED,
    PLUMB_TCP_STATE_FIN_WAIT_1,
    PLUMB_TCP_STATE_FIN_WAIT_2,
    PLUMB_TCP_STATE_CLOSE_WAIT,
    PLUMB_TCP_STATE_CLOSING,
    PLUMB_TCP_STATE_LAST_ACK,
    PLUMB_TCP_STATE_TIME_WAIT,
};

struct plumb_tcp_info {
    enum plumb_tcp_state state;
    struct plumb_endpoint local, remote;
    uint16_t mss;                  /* bytes of payload per segment sent */
    uint32_t rto_ms, srtt_us;      /* RFC 6298 */
    uint32_t congestion_window;    /* bytes */
    uint32_t slow_start_threshold; /* bytes */
    uint32_t send_window;          /* as the peer last advertised, bytes */
    uint32_t receive_window;       /* as last advertised, bytes */
    /* The rest is 0 in a build without CONFIG_PLUMB_TCP_STATISTICS. */
    uint32_t segments_in, segments_out; /* with payload */
    uint32_t acks_out;                  /* without payload */
    uint32_t retransmitted;             /* segments */
};

void plumb_tcp_get_info(const struct plumb_tcp *connection, struct plumb_tcp_info *info);

#ifdef __cplusplus
}
#endif

#endif
