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
    REPORT = 40,
};

uint32_t arrival_lost(const struct arrival *a) {
    return a->lost > a->late ? a->lost - a->late : 0;
}

/* RFC 3550 section 6.4.1, in 16ths of a microsecond. */
static void update_jitter(struct arrival *a, uint32_t transit) {
    int32_t difference = (int32_t)(transit - a->transit);
    if (a->highest)
        a->jitter += (uint32_t)(difference < 0 ? -difference : difference) - ((a->jitter + 8) >> 4);
    a->transit = transit;
}

static void count_datagram(struct stream *stream, const uint8_t *head, uint32_t id,
                           unsigned length) {
    struct arrival *a = &stream->arrival;
    a->last_us = (uint32_t)board_now_us();
    if (!a->highest)
        a->first_us = a->last_us;
    update_jitter(a, a->last_us - load32(head + 4) * 1000000U - load32(head + 8));
    if (id > a->highest) {
        a->lost += id - a->highest - 1;
        a->highest = id;
    } else {
        a->late++;
    }
    stream->bytes[RECEIVING] += length;
    stream->packets[RECEIVING]++;
}

/* The prefix as the client sent it, then ten words. */
static void send_report(const struct stream *stream, const uint8_t *prefix) {
    const struct arrival *a = &stream->arrival;
    uint32_t report[(LONG_PREFIX + REPORT) / 4];
    unsigned length = stream->request.flags & ASKS_LONG_ID ? LONG_PREFIX : SHORT_PREFIX;
    uint32_t time = a->last_us - a->first_us;
    uint32_t *words = report + length / 4;
    for (unsigned i = 0; i < length; i++)
        ((uint8_t *)report)[i] = prefix[i];
    words[0] = 0x80000000U;
    words[1] = (uint32_t)(stream->bytes[RECEIVING] >> 32);
    words[2] = (uint32_t)stream->bytes[RECEIVING];
    words[3] = time / 1000000;
    words[4] = time % 1000000;
    words[5] = arrival_lost(a);
    words[6] = a->late;
    words[7] = a->highest;
    words[8] = 0; /* whole seconds of jitter */
    words[9] = a->jitter >> 4;
    for (unsigned i = 0; i < REPORT / 4; i++)
        words[i] = plumb_put32(words[i]).be;
    plumb_udp_send(stream->socket, stream->peer, report, length + REPORT);
}

static struct stream *find(struct iperf *iperf, const struct plumb_endpoint *peer) {
    for (struct stream *s = iperf->streams; s < iperf->streams + IPERF_STREAMS; s++)
        if (s->used && s->socket == iperf->socket && s->peer.port == peer->port &&
            plumb_ipv4_equal(s->peer.address, peer->address))
            return s;
    return NULL;
}

/* No driver's first fragment is shorter than a datagram's head; of a shorter datagram
 * the header reads as absent. */
static struct stream *begin(struct iperf *iperf, struct plumb_endpoint peer,
                            const struct plumb_packet *payload) {
    const uint8_t *head = payload->data;
    unsigned length = payload->length;
    struct stream *stream = stream_new(iperf, PROTOCOL_UDP, peer);
    if (!stream)
        return NULL;
    struct request *request = &stream->request;
    stream->socket = iperf->socket;
    header_read(request, head + LONG_PREFIX, length - LONG_PREFIX);
    if (!(request->flags & ASKS_LONG_ID))
        header_read(request, head + SHORT_PREFIX, length - SHORT_PREFIX);
    udp_set_clock(iperf, load32(head + 4), load32(head + 8));
    report_join(stream, RECEIVING);
    stream_obey(stream, payload->total);
    return stream;
}

/* What comes again for a stream that has ended, or that only sends, is the client
 * asking again: a report answers the last datagram, each time. */
static void input(struct stream *stream, const uint8_t *head, int32_t id, unsigned length) {
    stream_touch(stream);
    if (stream->active & 1U << RECEIVING)
        count_datagram(stream, head, (uint32_t)(id < 0 ? 0 - (uint32_t)id : (uint32_t)id), length);
    if (id >= 0 || stream->request.flags2 & ASKS_REVERSE)
        return;
    send_report(stream, head);
    stream_received(stream);
}

void udp_datagram(struct plumb_udp *socket, struct plumb_packet *payload,
                  const struct plumb_udp_source *source, void *context) {
    struct iperf *iperf = context;
    const uint8_t *head = payload->data;
    (void)socket;
    if (payload->length < LONG_PREFIX)
        return;
    int32_t id = (int32_t)load32(head);
    struct stream *stream = find(iperf, &source->from);
    if (id > 0) {
        if (stream && stream_lingers(stream) && stream_age(stream) > IPERF_YIELD) {
            stream_end(stream);
            stream = NULL;
        }
        if (!stream)
            stream = begin(iperf, source->from, payload);
    }
    if (stream)
        input(stream, head, id, payload->total);
}
