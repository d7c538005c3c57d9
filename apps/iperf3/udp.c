/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Streams of datagrams. A client opens one with four bytes, which the server answers with
 * another four; from then on each datagram has a head:
 *
 *    0 seconds   4 microseconds   8 number, in 32 bits, or in 64 if the client said so
 *
 * Numbers count from 1. Lost are those skipped, less those that came late.
 */
#include "iperf3.h"

enum { HEAD = 16, GREETING = 4, BURST = 64 };

#define LATE_NS 100000000ULL /* further behind than this, a rate is not caught up with */

/* As the bytes lie on the wire: iperf writes a number in its processor's order, and one of
 * the other order, or one before 3.10 (decimal digits), says the same in other bytes. */
static const uint8_t greetings[][GREETING] = {
    {0x39, 0x38, 0x37, 0x36},
    {0x36, 0x37, 0x38, 0x39},
    {0xb1, 0x68, 0xde, 0x3a},
    {0x3a, 0xde, 0x68, 0xb1},
};
static const uint8_t answers[][GREETING] = {
    {0x36, 0x37, 0x38, 0x39},
    {0x39, 0x38, 0x37, 0x36},
    {0x15, 0xcd, 0x5b, 0x07},
    {0x07, 0x5b, 0xcd, 0x15},
};

/* The row that a datagram is, or -1. */
static int row_of(const uint8_t table[][GREETING], const struct plumb_packet *payload) {
    uint8_t bytes[GREETING];
    if (payload->total != GREETING || plumb_packet_copy_out(payload, 0, bytes, GREETING) < GREETING)
        return -1;
    for (int row = 0; row < 4; row++)
        if (control_word(table[row]) == control_word(bytes))
            return row;
    return -1;
}

/* ---- receiving ---- */

/* RFC 3550 section 6.4.1, in 16ths of a microsecond. */
static void update_jitter(struct arrival *a, uint32_t transit) {
    int32_t difference = (int32_t)(transit - a->transit);
    if (a->highest)
        a->jitter += (uint32_t)(difference < 0 ? -difference : difference) - ((a->jitter + 8) >> 4);
    a->transit = transit;
}

static void count_number(struct arrival *a, uint64_t number) {
    if (number > a->highest) {
        a->lost += number - a->highest - 1;
        a->highest = number;
        return;
    }
    a->late++;
    a->lost -= a->lost > 0;
}

static void receive(struct stream *stream, const struct plumb_packet *payload) {
    struct iperf3 *app = stream->app;
    uint8_t copy[HEAD];
    const uint8_t *head = payload->data;
    uint64_t now = board_now_us(), number;
    if (stream->sends || payload->total < HEAD || app->phase < PHASE_STARTING ||
        app->phase > PHASE_DRAINING)
        return;
    if (payload->length < HEAD) {
        plumb_packet_copy_out(payload, 0, copy, HEAD);
        head = copy;
    }
    number = control_word(head + 8);
    if (app->parameters.wide)
        number = number << 32 | control_word(head + 12);
    uint32_t sent = control_word(head) * 1000000U + control_word(head + 4);
    update_jitter(&stream->arrival, (uint32_t)now - sent);
    count_number(&stream->arrival, number);
    stream->packets++;
    stream_moved(stream, payload->total, now);
}

/* ---- the server's socket, which all its streams share ---- */

static struct stream *find(struct iperf3 *app, const struct plumb_endpoint *peer) {
    for (struct stream *s = app->streams; s < app->streams + app->count; s++)
        if (s->peer.port == peer->port && plumb_ipv4_equal(s->peer.address, peer->address))
            return s;
    return NULL;
}

/* Who greets has to be where the test's client is; it may not have heard the answer. */
static void welcome(struct iperf3 *app, struct stream *stream,
                    const struct plumb_udp_source *source, int row) {
    if (!plumb_ipv4_equal(source->from.address, app->peer.address))
        return;
    bool fresh = !stream;
    if (fresh && !(stream = stream_new(app)))
        return;
    stream->peer = source->from;
    stream->socket = app->socket;
    plumb_udp_send(app->socket, source->from, answers[row], GREETING);
    if (fresh && app->count == app->streams_wanted)
        server_begin(app);
}

void udp_server_datagram(struct plumb_udp *socket, struct plumb_packet *payload,
                         const struct plumb_udp_source *source, void *context) {
    struct iperf3 *app = context;
    (void)socket;
    if (app->phase < PHASE_STREAMS || app->client || !app->parameters.udp)
        return;
    struct stream *stream = find(app, &source->from);
    int row = row_of(greetings, payload);
    if (row >= 0 && (stream || app->phase == PHASE_STREAMS))
        welcome(app, stream, source, row);
    else if (stream)
        receive(stream, payload);
}

/* ---- a client's socket, of one stream ---- */

void udp_greet(struct stream *stream) {
    plumb_udp_send(stream->socket, stream->peer, greetings[0], GREETING);
}

void udp_client_datagram(struct plumb_udp *socket, struct plumb_packet *payload,
                         const struct plumb_udp_source *source, void *context) {
    struct stream *stream = context;
    (void)socket;
    if (source->from.port != stream->peer.port ||
        !plumb_ipv4_equal(source->from.address, stream->peer.address))
        return;
    if (stream->open)
        receive(stream, payload);
    else if (row_of(answers, payload) >= 0)
        client_stream_open(stream);
}

/* ---- sending ---- */

static bool send_one(struct stream *stream, uint64_t now_us) {
    struct iperf3 *app = stream->app;
    uint32_t *words = app->datagram;
    uint64_t number = stream->packets + 1;
    words[0] = plumb_put32((uint32_t)(now_us / 1000000)).be;
    words[1] = plumb_put32((uint32_t)(now_us % 1000000)).be;
    words[2] = plumb_put32((uint32_t)(app->parameters.wide ? number >> 32 : number)).be;
    words[3] = plumb_put32((uint32_t)number).be;
    if (plumb_udp_send(stream->socket, stream->peer, words, app->parameters.length))
        return false;
    stream->packets = number;
    stream_moved(stream, app->parameters.length, now_us);
    return true;
}

void udp_send_due(struct stream *stream, uint64_t now_us) {
    struct iperf3 *app = stream->app;
    uint64_t now_ns = now_us * 1000;
    if (!stream->sends || !stream->socket || app->phase != PHASE_RUNNING)
        return;
    if (now_ns > stream->due_ns + LATE_NS)
        stream->due_ns = now_ns;
    for (unsigned i = 0; i < BURST && now_ns >= stream->due_ns && test_left(app); i++) {
        if (!send_one(stream, now_us))
            return;
        if (app->parameters.rate)
            stream->due_ns += stream_gap_ns(stream, app->parameters.length);
    }
}
