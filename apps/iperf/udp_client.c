/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Sending datagrams: to the client that asked (-R, --full-duplex), or to its own
 * server (-d, -r).
 *
 * With a rate, a timer of one millisecond sends what has fallen due; without
 * one, or when the ring was full, the next turn of the loop tries again. The
 * last datagram carries a negative id and is sent a few times, until an answer
 * comes or the number is used up.
 */
#include "iperf.h"

enum {
    BURST = 16,            /* datagrams in one go, then the stack is polled */
    FINALS = 10,           /* for a server, whose report ends them */
    FINALS_UNANSWERED = 3, /* for a client that waits for the first and closes */
    UNIT = 64,             /* of pacing: this part of a microsecond */
    FINAL_GAP = 20000 * UNIT,
    LATE = 100000 * UNIT, /* further behind than this, the rate is not caught up with */
};

/* The board has no calendar, and a receiver's jitter begins with the difference of
 * the clocks: so time goes on from what the client's datagram said. */
void udp_set_clock(struct iperf *iperf, uint32_t seconds, uint32_t microseconds) {
    iperf->seconds = seconds;
    iperf->second_us = board_now_us() - microseconds;
}

/* Seconds and microseconds without a division per datagram. */
static void stamp(struct iperf *iperf, uint8_t *to, uint64_t now_us) {
    while (now_us - iperf->second_us >= 1000000) {
        iperf->second_us += 1000000;
        iperf->seconds++;
    }
    store32(to, iperf->seconds);
    store32(to + 4, (uint32_t)(now_us - iperf->second_us));
}

static bool amount_reached(const struct departure *d, uint64_t now_us) {
    return now_us >= d->until_us || !d->left;
}

static uint16_t next_length(const struct departure *d) {
    if (d->left >= d->length)
        return d->length;
    return d->left > IPERF_DATAGRAM_LEAST ? (uint16_t)d->left : (uint16_t)IPERF_DATAGRAM_LEAST;
}

/* True when the stack took it. */
static bool send_one(struct stream *stream, uint64_t now_us, bool last) {
    struct departure *d = &stream->departure;
    uint8_t *head = stream->iperf->bytes;
    uint16_t length = last ? d->length : next_length(d);
    store32(head, last ? 0 - d->id : d->id);
    stamp(stream->iperf, head + 4, now_us);
    store32(head + 12, last ? 0xffffffffU : 0);
    int error = plumb_udp_send(stream->socket, stream->peer, head, length);
    if (error == PLUMB_ERROR_NO_BUFFER || error == PLUMB_ERROR_WOULD_BLOCK)
        return false;
    if (!last || !d->finishing) {
        stream->sent.bytes += length;
        stream->sent.packets++;
    }
    if (!last) {
        d->id++;
        if (!d->timed)
            d->left -= d->left > length ? length : d->left;
    }
    stream_touch(stream);
    return true;
}

/* The transfer ends with the first last datagram; the others are insistence. */
static void finish(struct stream *stream) {
    stream->departure.finishing = true;
    stream->sending = false;
    report_leave(stream->iperf, UDP_TX, &stream->sent);
}

static void send_final(struct stream *stream, uint64_t now_us) {
    struct departure *d = &stream->departure;
    if (!send_one(stream, now_us, true)) {
        stream->iperf->hurried = true;
        return;
    }
    d->finals--;
    d->next = (uint32_t)now_us * UNIT + FINAL_GAP;
    if (!d->finishing)
        finish(stream);
    if (d->finals)
        return;
    stream->done = !stream->receiving;
    if (stream->own_socket)
        udp_stream_end(stream);
}

/* How far behind its time the next datagram is; below 0: not yet due. The clock
 * wraps after a minute, and no gap is longer than a second. */
static int32_t late(const struct departure *d, uint32_t now) {
    return (int32_t)(now - d->next);
}

static void send_due(struct stream *stream, uint64_t now_us) {
    struct departure *d = &stream->departure;
    uint32_t now = (uint32_t)now_us * UNIT;
    if (late(d, now) > LATE)
        d->next = now;
    for (unsigned i = 0; i < BURST && late(d, now) >= 0; i++) {
        if (d->finishing || amount_reached(d, now_us)) {
            send_final(stream, now_us);
            return;
        }
        if (!send_one(stream, now_us, false)) {
            stream->iperf->hurried = true;
            return;
        }
        d->next += d->gap;
    }
    if (late(d, now) >= 0)
        stream->iperf->hurried = true;
}

/* Sends what is due on every stream; returns whether any has more to send. */
static bool send_all(struct iperf *iperf) {
    bool more = false;
    uint64_t now = board_now_us();
    iperf->hurried = false;
    for (struct stream *s = iperf->streams; s < iperf->streams + IPERF_STREAMS; s++) {
        if (s->kind != STREAM_UDP || !s->departure.finals)
            continue;
        send_due(s, now);
        more |= s->departure.finals != 0;
    }
    return more;
}

static void pace(struct plumb *stack, struct plumb_timer *timer);

static void turn(struct iperf *iperf) {
    if (send_all(iperf) && !iperf->hurried)
        plumb_timer_start(iperf->stack, &iperf->pace, 1, pace);
}

static void pace(struct plumb *stack, struct plumb_timer *timer) {
    (void)stack;
    turn((struct iperf *)(void *)((char *)timer - offsetof(struct iperf, pace)));
}

bool udp_poll(struct iperf *iperf) {
    if (!iperf->hurried)
        return false;
    turn(iperf);
    return true;
}

/* Between datagrams: at most a second. */
static uint32_t gap(const struct request *request, uint16_t length) {
    const uint32_t second = 1000000 * UNIT;
    if (!request->rate)
        return 0;
    uint64_t units = request->flags2 & ASKS_PACKETS ? 1 : (uint64_t)length * 8;
    return request->rate < units ? second : (uint32_t)(units * second / request->rate);
}

static uint16_t clamp_length(unsigned length) {
    if (length < IPERF_DATAGRAM_LEAST)
        return IPERF_DATAGRAM_LEAST;
    return length > IPERF_DATAGRAM_MOST ? (uint16_t)IPERF_DATAGRAM_MOST : (uint16_t)length;
}

static void set_amount(struct departure *d, int32_t amount, uint64_t now_us) {
    uint64_t time = IPERF_LONGEST_US;
    d->left = UINT32_MAX;
    d->timed = amount <= 0;
    if (amount > 0)
        d->left = (uint32_t)amount;
    else
        time = 10000 * (amount ? 0 - (uint64_t)amount : 1000);
    d->until_us = now_us + (time < IPERF_LONGEST_US ? time : IPERF_LONGEST_US);
}

void udp_send_start(struct stream *stream, uint16_t length) {
    struct iperf *iperf = stream->iperf;
    struct departure *d = &stream->departure;
    const struct request *request = &stream->request;
    uint64_t now = board_now_us();
    *d = (struct departure){.id = 1, .next = (uint32_t)now * UNIT};
    d->length = clamp_length(request->length ? request->length : length);
    d->gap = gap(request, d->length);
    d->finals = stream->own_socket ? FINALS : FINALS_UNANSWERED;
    set_amount(d, request->amount, now);
    stream->sending = true;
    report_join(iperf, UDP_TX);
    report_begin(iperf, UDP_TX);
    plumb_timer_start(iperf->stack, &iperf->pace, 0, pace);
}

/* Whatever the peer's server says, it has had the last datagram. */
static void answer(struct plumb_udp *socket, struct plumb_packet *payload,
                   const struct plumb_udp_source *source, void *context) {
    struct stream *stream = context;
    (void)socket;
    (void)payload;
    if (stream->departure.finishing && plumb_ipv4_equal(source->from.address, stream->peer.address))
        udp_stream_end(stream);
}

void udp_connect_back(struct iperf *iperf, const struct request *request, plumb_ipv4 to) {
    struct stream *stream = NULL;
    if (request->port)
        stream = stream_new(iperf, STREAM_UDP, (struct plumb_endpoint){to, request->port});
    if (!stream)
        return;
    stream->request = *request;
    if (plumb_udp_open(iperf->stack, (struct plumb_endpoint){.port = 0}, answer, stream,
                       &stream->socket)) {
        iperf->refused++;
        stream_free(stream);
        return;
    }
    stream->own_socket = true;
    udp_send_start(stream, IPERF_DATAGRAM_MOST);
}
