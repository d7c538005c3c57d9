/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Sending datagrams: to the client that asked (-R, --full-duplex), or to its own
 * server (-d, -r).
 *
 * A timer of one millisecond sends what has fallen due, or without a rate what
 * the ring takes, up to a burst. The last datagram carries a negative id and is
 * sent a few times, until an answer comes or the number is used up; the transfer
 * ends with the first.
 */
#include "iperf.h"

enum {
    BURST = 64, /* datagrams in one go, then the stack is polled; about 370 Mbit/s */
    FINALS = 5,
    UNIT = 64, /* of pacing: this part of a microsecond */
    FINAL_GAP = 20000 * UNIT,
    LATE = 100000 * UNIT, /* further behind than this, the rate is not caught up with */
};

/* The board has no calendar, and a receiver's jitter begins with the difference of
 * the clocks: so time goes on from what the client's datagram said. */
void udp_set_clock(struct iperf *iperf, uint32_t seconds, uint32_t microseconds) {
    iperf->seconds = seconds;
    iperf->second_us = (uint32_t)board_now_us() - microseconds;
}

/* Id, seconds and microseconds, the id's high word; without a division. */
static void write_head(struct iperf *iperf, uint32_t id, uint32_t now_us) {
    while (now_us - iperf->second_us >= 1000000) {
        iperf->second_us += 1000000;
        iperf->seconds++;
    }
    iperf->words[0] = plumb_put32(id).be;
    iperf->words[1] = plumb_put32(iperf->seconds).be;
    iperf->words[2] = plumb_put32(now_us - iperf->second_us).be;
    iperf->words[3] = 0U - (id >> 31);
}

/* True when the stack took it. */
static bool send_one(struct stream *stream, uint32_t now_us) {
    struct departure *d = &stream->departure;
    bool last = d->finishing || departure_over(d);
    write_head(stream->iperf, last ? 0 - d->id : d->id, now_us);
    if (plumb_udp_send(stream->socket, stream->peer, stream->iperf->words, d->length))
        return false;
    stream_touch(stream);
    d->next += d->gap;
    d->left -= d->left > d->length ? d->length : d->left;
    if (!last) {
        d->id++;
        return true;
    }
    d->finishing = true;
    d->finals--;
    d->next += FINAL_GAP;
    stream->bytes[SENDING] = (uint64_t)d->id * d->length; /* they were all of one length */
    stream->packets[SENDING] = d->id;
    report_leave(stream, SENDING);
    return true;
}

/* How far behind its time the next datagram is; below 0: not yet due. The clock
 * wraps after a minute, and no gap is longer than a second. */
static int32_t late(const struct departure *d, uint32_t now) {
    return (int32_t)(now - d->next);
}

static void send_due(struct stream *stream, uint32_t now_us) {
    struct departure *d = &stream->departure;
    uint32_t now = now_us * UNIT;
    if (late(d, now) > LATE)
        d->next = now;
    for (unsigned i = 0; i < BURST && late(d, now) >= 0 && d->finals; i++)
        if (!send_one(stream, now_us))
            return;
    if (!d->finals && stream->owns_socket)
        stream_end(stream);
}

static void pace(struct plumb *stack, struct plumb_timer *timer) {
    struct iperf *iperf = (void *)((char *)timer - offsetof(struct iperf, pace));
    uint32_t now = (uint32_t)board_now_us();
    for (struct stream *s = iperf->streams; s < iperf->streams + IPERF_STREAMS; s++) {
        if (!s->used || !s->departure.finals)
            continue;
        send_due(s, now);
        plumb_timer_start(stack, timer, 1, pace);
    }
}

/* Between datagrams: at most a second. */
static uint32_t gap(const struct request *request, uint32_t length) {
    const uint32_t second = 1000000 * UNIT;
    uint32_t units = request->flags2 & ASKS_PACKETS ? 1 : length * 8;
    if (!request->rate)
        return 0;
    return request->rate < units ? second : (uint32_t)((uint64_t)units * second / request->rate);
}

void udp_send_start(struct stream *stream, uint32_t length) {
    struct departure *d = &stream->departure;
    if (stream->request.length)
        length = stream->request.length;
    if (length < IPERF_DATAGRAM_LEAST)
        length = IPERF_DATAGRAM_LEAST;
    d->length = length < IPERF_DATAGRAM_MOST ? length : IPERF_DATAGRAM_MOST;
    d->id = 1;
    d->next = (uint32_t)board_now_us() * UNIT;
    d->gap = gap(&stream->request, d->length);
    d->finals = FINALS;
    plumb_timer_start(stream->iperf->stack, &stream->iperf->pace, 0, pace);
}

/* Whatever the peer's server says, it has had the last datagram. */
void udp_answered(struct plumb_udp *socket, struct plumb_packet *payload,
                  const struct plumb_udp_source *source, void *context) {
    struct stream *stream = context;
    (void)socket;
    (void)payload;
    if (stream->departure.finishing && plumb_ipv4_equal(source->from.address, stream->peer.address))
        stream_end(stream);
}
