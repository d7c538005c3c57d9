/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Sending over TCP: on the client's own connection (-R, --full-duplex), or on
 * one that is opened back to it (-d, -r).
 *
 * Bytes go from the pattern by copy, as many as the send buffer takes each time
 * it has room. A transfer ends when the peer has acknowledged the FIN, and so
 * everything before it; the stack's state says so.
 */
#include "iperf.h"

enum { EMPTY_HEADER = 24 };

void tcp_sent(struct stream *stream) {
    struct plumb_tcp_info info;
    if (!stream->sending)
        return;
    stream->sending = false;
    if (stream->departure.finishing)
        stream->iperf->draining--;
    plumb_tcp_get_info(stream->connection, &info);
    stream->sent.packets = info.segments_out;
    stream->sent.acks = info.acks_out;
    report_leave(stream->iperf, TCP_TX, &stream->sent);
}

static void finish(struct stream *stream) {
    stream->departure.finishing = true;
    stream->iperf->draining++;
    plumb_tcp_shutdown(stream->connection);
}

static bool has_more(const struct departure *d) {
    return d->until_us ? board_now_us() < d->until_us : d->left != 0;
}

/* The pattern is entered where the last send left it, so that copying finds source
 * and destination at the same place within a word. */
static bool send_piece(struct stream *stream) {
    struct departure *d = &stream->departure;
    size_t length = IPERF_PATTERN;
    if (!d->until_us && d->left < length)
        length = (size_t)d->left;
    int sent = plumb_tcp_send(stream->connection,
                              stream->iperf->bytes + IPERF_DATAGRAM_HEAD + d->phase, length);
    if (sent <= 0)
        return false;
    d->phase = (uint8_t)((d->phase + (unsigned)sent) % IPERF_PATTERN_PERIOD);
    d->left -= (unsigned)sent;
    stream->sent.bytes += (unsigned)sent;
    return (size_t)sent == length;
}

void tcp_send_more(struct stream *stream) {
    struct departure *d = &stream->departure;
    if (!stream->sending || d->finishing)
        return;
    bool more = has_more(d);
    while (more && send_piece(stream))
        more = d->until_us || d->left;
    if (!has_more(d))
        finish(stream);
}

static void set_amount(struct departure *d, int32_t amount) {
    if (amount > 0)
        d->left = (uint32_t)amount;
    else
        d->until_us = board_now_us() + 10000 * (amount ? 0 - (uint64_t)amount : 1000);
}

void tcp_send_start(struct stream *stream) {
    stream->sending = true;
    report_join(stream->iperf, TCP_TX);
    report_begin(stream->iperf, TCP_TX);
    set_amount(&stream->departure, stream->request.amount);
    tcp_send_more(stream);
}

/* A client's server expects a header or data; the empty header is zeros. */
void tcp_connected(struct stream *stream) {
    static const uint8_t header[EMPTY_HEADER];
    struct departure *d = &stream->departure;
    report_begin(stream->iperf, TCP_TX);
    set_amount(d, stream->request.amount);
    if (plumb_tcp_send(stream->connection, header, EMPTY_HEADER) == EMPTY_HEADER) {
        stream->sent.bytes += EMPTY_HEADER;
        d->left -= d->left > EMPTY_HEADER ? EMPTY_HEADER : 0;
    }
    tcp_send_more(stream);
}

void tcp_connect_back(struct iperf *iperf, const struct request *request, plumb_ipv4 to) {
    struct plumb_endpoint peer = {to, request->port};
    if (!request->port) {
        iperf->refused++;
        return;
    }
    struct stream *stream = stream_new(iperf, STREAM_TCP, peer);
    if (!stream)
        return;
    stream->request.amount = request->amount;
    stream->begun = true; /* no header comes from a server */
    if (plumb_tcp_connect(iperf->stack, peer, 0, tcp_stream_handler, stream, &stream->connection)) {
        iperf->refused++;
        stream_free(stream);
        return;
    }
    stream->sending = true;
    report_join(iperf, TCP_TX);
}

static bool acknowledged(struct plumb_tcp *connection) {
    struct plumb_tcp_info info;
    plumb_tcp_get_info(connection, &info);
    return info.state == PLUMB_TCP_STATE_FIN_WAIT_2 || info.state == PLUMB_TCP_STATE_TIME_WAIT ||
           info.state == PLUMB_TCP_STATE_CLOSED;
}

/* The peer closes in its own time; the stack sees to that without us. */
static void end_if_acknowledged(struct stream *stream) {
    if (!acknowledged(stream->connection))
        return;
    tcp_sent(stream);
    if (!stream->receiving) {
        plumb_tcp_close(stream->connection);
        stream_free(stream);
    }
}

void tcp_poll(struct iperf *iperf) {
    if (!iperf->draining)
        return;
    for (struct stream *s = iperf->streams; s < iperf->streams + IPERF_STREAMS; s++)
        if (s->kind == STREAM_TCP && s->sending && s->departure.finishing)
            end_if_acknowledged(s);
}
