/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Accepting, reading the client's header, and receiving.
 *
 * The header is read where it lies and never consumed by itself: its bytes count
 * as payload, as they do at the client. What is received is reached in place and
 * handed back at once, or copied to memory of ours; nobody looks at it.
 */
#include "iperf.h"

/* More than the frames of one poll. */
enum { VECTORS = CONFIG_PLUMB_POLL_BUDGET + 1 };

/* Type 2, its length, and the version whose protocol this is: 2.1.8. */
static const uint8_t acknowledgement[28] = {
    [3] = 2, [7] = 28, [13] = 2, [15] = 1, [17] = 8, [19] = 3};

static void refuse(struct stream *stream) {
    stream->iperf->ended++;
    stream_end(stream);
    plumb_tcp_abort(stream->connection);
}

/* False when more bytes are needed, or the stream was refused. A header that does
 * not lie in one piece is taken for data: the stack puts small pieces together, and
 * no driver's first fragment is shorter. */
static bool begin(struct stream *stream, bool closed) {
    struct plumb_tcp *connection = stream->connection;
    struct plumb_iovec first = {0};
    plumb_tcp_peek(connection, &first, 1);
    unsigned needs = header_needs(first.data, (unsigned)first.length);
    if (needs > first.length) {
        if (!closed && first.length == plumb_tcp_readable(connection))
            return false;
    } else if (needs) {
        header_read(&stream->request, first.data, (unsigned)first.length);
    }
    if (stream->request.flags & ASKS_BOUNCEBACK) {
        refuse(stream);
        return false;
    }
    if (stream->request.flags & ASKS_ACK)
        plumb_tcp_send(connection, acknowledgement, sizeof acknowledgement);
    stream->begun = true;
    if (first.length)
        stream_obey(stream, 0);
    return true;
}

#ifdef CONFIG_PLUMB_IPERF_RECEIVE_COPY

/* Into lent memory, the same for all streams: nobody looks at it. What was readable
 * already is copied as it is lent. */
static void drain(struct stream *stream) {
    uint32_t *memory = stream->iperf->received;
    for (size_t posted = 1; posted;) {
        stream->bytes[RECEIVING] += plumb_tcp_posted(stream->connection);
        plumb_tcp_post(stream->connection, memory, IPERF_RECEIVED);
        posted = plumb_tcp_posted(stream->connection);
    }
}

#else

static void drain(struct stream *stream) {
    struct plumb_iovec vectors[VECTORS];
    unsigned count;
    do {
        size_t length = 0;
        count = plumb_tcp_peek(stream->connection, vectors, VECTORS);
        for (unsigned i = 0; i < count; i++)
            length += vectors[i].length;
        plumb_tcp_consume(stream->connection, length);
        stream->bytes[RECEIVING] += length;
    } while (count == VECTORS);
}

#endif

void tcp_stream_handler(struct plumb_tcp *connection, unsigned events, void *context) {
    struct stream *stream = context;
    bool closed = events & PLUMB_TCP_PEER_CLOSED;
    stream_touch(stream);
    if (events & PLUMB_TCP_CONNECTED)
        tcp_connected(stream);
    if (events & (PLUMB_TCP_READABLE | PLUMB_TCP_PEER_CLOSED) &&
        (stream->begun || begin(stream, closed)))
        drain(stream);
    if (!stream->used)
        return;
    if (events & PLUMB_TCP_CLOSED) {
        stream_end(stream);
        return;
    }
    if (events & PLUMB_TCP_WRITABLE)
        tcp_send_more(stream);
    if (!closed)
        return;
    stream_received(stream);
    if (!stream->active) { /* what we still send goes on */
        stream_end(stream);
        plumb_tcp_close(connection);
    }
}

void tcp_accept(struct plumb_tcp_listener *listener, struct plumb_tcp *connection, void *context) {
    struct plumb_tcp_info info;
    (void)listener;
    plumb_tcp_get_info(connection, &info);
    struct stream *stream = stream_new(context, PROTOCOL_TCP, info.remote);
    if (!stream)
        return; /* not taken: the stack resets it */
    stream->connection = connection;
    report_join(stream, RECEIVING);
    plumb_tcp_set_handler(connection, tcp_stream_handler, stream);
}
