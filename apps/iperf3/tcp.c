/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A TCP stream: received bytes are given back to the stack where they lie, and sent ones come
 * from the pattern, entered where source and destination lie alike within a word.
 */
#include "iperf3.h"

void stream_moved(struct stream *stream, uint64_t bytes, uint64_t now_us) {
    stream->bytes += bytes;
    stream->last_us = stream->app->moved_us = now_us;
}

uint64_t stream_gap_ns(const struct stream *stream, uint64_t bytes) {
    return bytes * 8000000000ULL / stream->app->parameters.rate;
}

/* What the client asked for of a connection. What cannot be is left as it is. */
void tcp_prepare(struct stream *stream) {
    const struct parameters *p = &stream->app->parameters;
    if (p->nodelay)
        plumb_tcp_set_option(stream->connection, PLUMB_TCP_NODELAY, 1);
    if (p->congestion)
        plumb_tcp_set_option(stream->connection, PLUMB_TCP_CONGESTION,
                             p->congestion == CONGESTION_CUBIC ? PLUMB_TCP_CUBIC : PLUMB_TCP_RENO);
    if (p->window) {
        plumb_tcp_set_option(stream->connection, PLUMB_TCP_SEND_BUFFER, p->window);
        plumb_tcp_set_option(stream->connection, PLUMB_TCP_RECEIVE_BUFFER, p->window);
    }
    stream->room = plumb_tcp_writable(stream->connection);
}

static bool is_due(const struct stream *stream, uint64_t now_us) {
    return !stream->app->parameters.rate || now_us * 1000 >= stream->due_ns;
}

void tcp_send_more(struct stream *stream) {
    struct iperf3 *app = stream->app;
    const uint8_t *pattern = (const uint8_t *)app->datagram;
    uint32_t most =
        app->parameters.length < IPERF3_PATTERN ? app->parameters.length : IPERF3_PATTERN;
    uint64_t now = board_now_us(), left;
    if (!stream->sends || !stream->connection || app->phase != PHASE_RUNNING)
        return;
    while ((left = test_left(app)) && is_due(stream, now)) {
        size_t length = left < most ? (size_t)left : most;
        int sent = plumb_tcp_send(stream->connection, pattern + (stream->bytes & 3), length);
        if (sent <= 0)
            return;
        stream_moved(stream, (unsigned)sent, now);
        if (app->parameters.rate)
            stream->due_ns += stream_gap_ns(stream, (unsigned)sent);
        if ((size_t)sent < length)
            return;
    }
}

static void receive(struct stream *stream) {
    size_t length = plumb_tcp_readable(stream->connection);
    if (!length)
        return;
    plumb_tcp_consume(stream->connection, length);
    stream_moved(stream, length, board_now_us());
}

/* Before the test begins nothing is read. A stream that ends before its test does ends it;
 * afterwards it is the peer's to close. */
void tcp_stream_handler(struct plumb_tcp *connection, unsigned events, void *context) {
    struct stream *stream = context;
    struct iperf3 *app = stream->app;
    (void)connection;
    if (events & PLUMB_TCP_CONNECTED)
        client_stream_open(stream);
    if (app->phase >= PHASE_RUNNING)
        receive(stream);
    if (events & PLUMB_TCP_CLOSED)
        stream->connection = NULL;
    if (events & (PLUMB_TCP_CLOSED | PLUMB_TCP_PEER_CLOSED) && app->phase <= PHASE_RUNNING)
        test_fail(app, CODE_STREAM_CLOSED);
    else
        tcp_send_more(stream);
}
