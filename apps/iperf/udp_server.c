/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Receiving datagrams, and the server report.
 *
 * A datagram begins with an id, counted from 1, the client's time, and in the
 * newer form the id's high word. A negative id is the last one; it comes again
 * until the report reaches the client, so a stream that has ended stays a while
 * to answer. Lost are the ids skipped less those that came late.
 */
#include "iperf.h"

enum {
    SHORT_PREFIX = 12, /* id, seconds, microseconds */
    LONG_PREFIX = 16,  /* and the id's high word */
    RESTART = IPERF_SECOND / 2,
};

/* RFC 3550 section 6.4.1, in 16ths of a microsecond. */
static void update_jitter(struct arrival *a, uint32_t sent_us, uint32_t now_us) {
    uint32_t transit = now_us - sent_us;
    uint32_t difference = transit - a->transit;
    if (difference & 0x80000000U)
        difference = 0 - difference;
    if (a->highest)
        a->jitter += difference - ((a->jitter + 8) >> 4);
    a->transit = transit;
}

static void count_id(struct arrival *a, uint32_t id) {
    if (id > a->highest) {
        a->lost += id - a->highest - 1;
        a->highest = id;
    } else {
        a->late++;
    }
}

static uint32_t lost(const struct arrival *a) {
    return a->lost > a->late ? a->lost - a->late : 0;
}

static void finish_receiving(struct stream *stream) {
    if (!stream->receiving)
        return;
    stream->receiving = false;
    stream->received.lost = lost(&stream->arrival);
    report_leave(stream->iperf, UDP_RX, &stream->received);
}

void udp_stream_end(struct stream *stream) {
    finish_receiving(stream);
    if (stream->sending)
        report_leave(stream->iperf, UDP_TX, &stream->sent);
    stream_free(stream);
}

static void count_datagram(struct stream *stream, const uint8_t *head, uint32_t id,
                           unsigned length) {
    struct arrival *a = &stream->arrival;
    uint32_t now = (uint32_t)board_now_us();
    if (!a->highest)
        a->first_us = now;
    a->last_us = now;
    update_jitter(a, load32(head + 4) * 1000000U + load32(head + 8), now);
    count_id(a, id);
    stream->received.bytes += length;
    stream->received.packets++;
}

/* The prefix as the client sent it, then ten words. */
static void send_report(const struct stream *stream, const uint8_t *prefix) {
    const struct arrival *a = &stream->arrival;
    uint8_t report[LONG_PREFIX + 40];
    unsigned at = stream->request.flags & ASKS_LONG_ID ? LONG_PREFIX : SHORT_PREFIX;
    uint32_t time = a->last_us - a->first_us;
    const uint32_t words[10] = {
        0x80000000U,
        (uint32_t)(stream->received.bytes >> 32),
        (uint32_t)stream->received.bytes,
        time / 1000000,
        time % 1000000,
        lost(a),
        a->late,
        a->highest,
        0, /* whole seconds of jitter */
        a->jitter >> 4,
    };
    for (unsigned i = 0; i < at; i++)
        report[i] = prefix[i];
    for (unsigned i = 0; i < 10; i++, at += 4)
        store32(report + at, words[i]);
    plumb_udp_send(stream->socket, stream->peer, report, at);
}

static struct stream *find(struct iperf *iperf, const struct plumb_endpoint *peer) {
    for (struct stream *s = iperf->streams; s < iperf->streams + IPERF_STREAMS; s++)
        if (s->kind == STREAM_UDP && s->peer.port == peer->port && !s->own_socket &&
            plumb_ipv4_equal(s->peer.address, peer->address))
            return s;
    return NULL;
}

static void begin_receiving(struct stream *stream) {
    stream->receiving = true;
    report_join(stream->iperf, UDP_RX);
    report_begin(stream->iperf, UDP_RX);
}

static struct stream *begin(struct iperf *iperf, struct plumb_endpoint peer, const uint8_t *head,
                            unsigned length, uint16_t datagram) {
    struct stream *stream = stream_new(iperf, STREAM_UDP, peer);
    if (!stream)
        return NULL;
    struct request *request = &stream->request;
    stream->socket = iperf->socket;
    header_read(request, head + LONG_PREFIX, length - LONG_PREFIX);
    if (!(request->flags & ASKS_LONG_ID))
        header_read(request, head + SHORT_PREFIX, length - SHORT_PREFIX);
    udp_set_clock(iperf, load32(head + 4), load32(head + 8));
    if (!(request->flags2 & ASKS_REVERSE))
        begin_receiving(stream);
    if (request->flags2 & (ASKS_REVERSE | ASKS_DUPLEX))
        udp_send_start(stream, datagram);
    if (asks_back_now(request))
        udp_connect_back(iperf, request, peer.address);
    return stream;
}

/* The last datagram: the report is due now, and each time it comes again. */
static void finish(struct stream *stream, const uint8_t *head) {
    send_report(stream, head);
    bool first = stream->receiving;
    stream->done = !stream->sending;
    finish_receiving(stream);
    if (first && asks_back_later(&stream->request))
        udp_connect_back(stream->iperf, &stream->request, stream->peer.address);
}

static void input(struct stream *stream, const uint8_t *head, uint32_t id, unsigned length) {
    bool last = id & 0x80000000U;
    stream_touch(stream);
    if (stream->receiving)
        count_datagram(stream, head, last ? 0 - id : id, length);
    /* What comes for a stream that sends only is the client asking again. */
    if (last && !(stream->request.flags2 & ASKS_REVERSE))
        finish(stream, head);
}

static bool stale(const struct stream *stream, uint32_t id) {
    return stream->done && !(id & 0x80000000U) && stream_age(stream) > RESTART;
}

static void datagram(struct plumb_udp *socket, struct plumb_packet *payload,
                     const struct plumb_udp_source *source, void *context) {
    struct iperf *iperf = context;
    uint8_t copy[LONG_PREFIX + IPERF_HEADER];
    const uint8_t *head = payload->data;
    unsigned length = payload->length;
    (void)socket;
    if (length < sizeof copy && length < payload->total) {
        length = (unsigned)plumb_packet_copy_out(payload, 0, copy, sizeof copy);
        head = copy;
    }
    if (length < LONG_PREFIX)
        return;
    uint32_t id = load32(head);
    struct stream *stream = find(iperf, &source->from);
    if (stream && stale(stream, id)) {
        udp_stream_end(stream);
        stream = NULL;
    }
    if (!stream && id - 1 < 0x7fffffffU)
        stream = begin(iperf, source->from, head, length, payload->total);
    if (stream)
        input(stream, head, id, payload->total);
}

int udp_server_start(struct iperf *iperf) {
    return plumb_udp_open(iperf->stack, (struct plumb_endpoint){.port = IPERF_PORT}, datagram,
                          iperf, &iperf->socket);
}
