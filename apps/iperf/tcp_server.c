/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Accepting, reading the client's header, and receiving.
 *
 * The header is looked at where it lies and never consumed by itself: its bytes
 * count as payload, as they do at the client. What is received is reached in
 * place and handed back at once; nobody copies it.
 */
#include "iperf.h"

static void finish_receiving(struct stream *stream) {
    struct plumb_tcp_info info;
    if (!stream->receiving)
        return;
    stream->receiving = false;
    plumb_tcp_get_info(stream->connection, &info);
    stream->received.packets = info.segments_in;
    stream->received.acks = info.acks_out;
    report_leave(stream->iperf, TCP_RX, &stream->received);
}

void tcp_stream_end(struct stream *stream) {
    finish_receiving(stream);
    tcp_sent(stream);
    stream_free(stream);
}

/* Copies the first bytes of what is readable: they may lie in several fragments. */
static unsigned look_ahead(struct plumb_tcp *connection, uint8_t *to, unsigned length) {
    struct plumb_iovec vectors[4];
    unsigned count = plumb_tcp_peek(connection, vectors, 4);
    unsigned copied = 0;
    for (unsigned i = 0; i < count; i++)
        for (size_t at = 0; at < vectors[i].length && copied < length; at++)
            to[copied++] = vectors[i].data[at];
    return copied;
}

static void send_ack(struct plumb_tcp *connection) {
    uint8_t ack[28] = {0};
    store32(ack, 2);
    store32(ack + 4, sizeof ack);
    store32(ack + 12, 0x00020001); /* the version whose protocol this is: 2.1.8 */
    store32(ack + 16, 0x00080003);
    plumb_tcp_send(connection, ack, sizeof ack);
}

/* The stream joins what it sends before it leaves what it does not receive: a
 * transfer that has no members ends. */
static void obey(struct stream *stream) {
    const struct request *request = &stream->request;
    if (request->flags & ASKS_ACK)
        send_ack(stream->connection);
    if (request->flags2 & (ASKS_REVERSE | ASKS_DUPLEX))
        tcp_send_start(stream);
    if (request->flags2 & ASKS_REVERSE && stream->receiving) {
        stream->receiving = false;
        report_leave(stream->iperf, TCP_RX, &stream->received);
    }
    if (stream->receiving)
        report_begin(stream->iperf, TCP_RX);
    if (asks_back_now(request))
        tcp_connect_back(stream->iperf, request, stream->peer.address);
}

/* True when the stream has begun; false when more bytes are needed, or it ended. */
static bool begin(struct stream *stream, bool closed) {
    uint8_t bytes[IPERF_HEADER];
    unsigned length = look_ahead(stream->connection, bytes, sizeof bytes);
    unsigned needs = header_needs(bytes, length);
    if (needs > length && !closed)
        return false;
    if (needs && needs <= length)
        header_read(&stream->request, bytes, length);
    if (stream->request.flags & ASKS_BOUNCEBACK) {
        stream->iperf->refused++;
        tcp_stream_end(stream);
        plumb_tcp_abort(stream->connection);
        return false;
    }
    stream->begun = true;
    if (length)
        obey(stream);
    return true;
}

static void drain(struct stream *stream) {
    struct plumb_iovec vectors[8];
    unsigned count;
    do {
        size_t length = 0;
        count = plumb_tcp_peek(stream->connection, vectors, 8);
        for (unsigned i = 0; i < count; i++)
            length += vectors[i].length;
        plumb_tcp_consume(stream->connection, length);
        stream->received.bytes += length;
    } while (count == 8);
}

/* The peer has sent its last byte. */
static void peer_closed(struct stream *stream) {
    struct iperf *iperf = stream->iperf;
    struct request request = stream->request;
    plumb_ipv4 peer = stream->peer.address;
    bool was_receiving = stream->receiving;
    finish_receiving(stream);
    if (!stream->sending) {
        plumb_tcp_close(stream->connection);
        stream_free(stream);
    }
    if (was_receiving && asks_back_later(&request))
        tcp_connect_back(iperf, &request, peer);
}

void tcp_stream_handler(struct plumb_tcp *connection, unsigned events, void *context) {
    struct stream *stream = context;
    bool closed = events & PLUMB_TCP_PEER_CLOSED;
    (void)connection;
    stream_touch(stream);
    if (events & PLUMB_TCP_CONNECTED)
        tcp_connected(stream);
    if (events & (PLUMB_TCP_READABLE | PLUMB_TCP_PEER_CLOSED)) {
        if (!stream->begun && !begin(stream, closed)) {
            if (stream->kind == STREAM_FREE)
                return;
        } else {
            drain(stream);
        }
    }
    if (events & PLUMB_TCP_CLOSED) {
        tcp_stream_end(stream);
        return;
    }
    if (events & PLUMB_TCP_WRITABLE)
        tcp_send_more(stream);
    if (closed)
        peer_closed(stream);
}

static void accept(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                   void *context) {
    struct iperf *iperf = context;
    struct plumb_tcp_info info;
    (void)listener;
    plumb_tcp_get_info(connection, &info);
    struct stream *stream = stream_new(iperf, STREAM_TCP, info.remote);
    if (!stream)
        return; /* not taken: the stack resets it */
    stream->connection = connection;
    stream->receiving = true;
    report_join(iperf, TCP_RX);
    plumb_tcp_set_handler(connection, tcp_stream_handler, stream);
}

int tcp_server_start(struct iperf *iperf) {
    return plumb_tcp_listen(iperf->stack, (struct plumb_endpoint){.port = IPERF_PORT},
                            IPERF_STREAMS, accept, iperf, &iperf->listener);
}
