/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Sending over TCP: on the client's own connection (-R, --full-duplex), or on
 * one that is opened back to it (-d, -r).
 *
 * Bytes go from the pattern, by copy or by reference, as many as the send buffer
 * takes each time it has room. What is lent stays lent when its stream ends: loans
 * are the application's, not a stream's. A transfer ends when the peer has acknowledged the FIN,
 * and so everything before it; the stack's state says so.
 */
#include "iperf.h"

enum { EMPTY_HEADER = 24 };

#ifdef CONFIG_PLUMB_IPERF_SEND_REFERENCE

static void give_back(struct plumb_reference *reference) {
    struct iperf *iperf = reference->context;
    struct loan *loan = (void *)reference;
    loan->next = iperf->loans_free;
    iperf->loans_free = loan;
}

/* The pattern never changes: it is written back to memory here, and never again. */
void tcp_loans_start(struct iperf *iperf) {
    struct plumb_reference all = {.memory = iperf->words, .length = sizeof iperf->words};
    plumb_reference_clean(iperf->stack, &all);
    for (struct loan *loan = iperf->loans; loan < iperf->loans + IPERF_LOANS; loan++) {
        loan->reference =
            (struct plumb_reference){.release = give_back, .context = iperf, .clean = true};
        give_back(&loan->reference);
    }
}

/* How many bytes were taken: all or none. */
static int send_some(struct stream *stream, const uint8_t *bytes, uint32_t length) {
    struct iperf *iperf = stream->iperf;
    struct loan *loan = iperf->loans_free;
    if (!loan) {
        iperf->loans_wanted = true;
        return 0;
    }
    loan->reference.memory = bytes;
    loan->reference.length = length;
    if (plumb_tcp_send_reference(stream->connection, &loan->reference) != PLUMB_OK)
        return 0;
    iperf->loans_free = loan->next;
    return (int)length;
}

/* Loans have come back: those who found none try again. */
static void use_loans(struct iperf *iperf) {
    if (!iperf->loans_wanted || !iperf->loans_free)
        return;
    iperf->loans_wanted = false;
    for (struct stream *s = iperf->streams; s < iperf->streams + IPERF_STREAMS; s++)
        if (s->used && s->protocol == PROTOCOL_TCP)
            tcp_send_more(s);
}

#else

static int send_some(struct stream *stream, const uint8_t *bytes, uint32_t length) {
    return plumb_tcp_send(stream->connection, bytes, length);
}

static void use_loans(struct iperf *iperf) {
    (void)iperf;
}

#endif

/* The pattern is entered where the last send left it, so that copying finds source
 * and destination at the same place within a word. */
void tcp_send_more(struct stream *stream) {
    struct departure *d = &stream->departure;
    const uint8_t *pattern = (const uint8_t *)stream->iperf->words + IPERF_DATAGRAM_HEAD;
    if (!(stream->active & 1U << SENDING) || d->finishing)
        return;
    while (!departure_over(d)) {
        uint32_t length = d->timed || d->left > IPERF_PATTERN ? IPERF_PATTERN : d->left;
        int sent = send_some(stream, pattern + d->phase, length);
        if (sent <= 0)
            return;
        d->phase = (uint8_t)((d->phase + (unsigned)sent) % IPERF_PATTERN_PERIOD);
        d->left -= (unsigned)sent;
        stream->bytes[SENDING] += (unsigned)sent;
        if ((unsigned)sent < length)
            return;
    }
    d->finishing = stream->iperf->draining = true;
    plumb_tcp_shutdown(stream->connection);
}

/* A client's server expects a header or data; the empty header is zeros. */
void tcp_connected(struct stream *stream) {
    static const uint8_t header[EMPTY_HEADER];
    struct departure *d = &stream->departure;
    departure_start(stream);
    plumb_tcp_send(stream->connection, header, EMPTY_HEADER);
    stream->bytes[SENDING] = EMPTY_HEADER;
    d->left -= d->left > EMPTY_HEADER ? EMPTY_HEADER : 0;
    tcp_send_more(stream);
}

/* The peer closes in its own time; the stack sees to that without us. */
static void end_if_acknowledged(struct stream *stream) {
    struct plumb_tcp_info info;
    plumb_tcp_get_info(stream->connection, &info);
    if (info.state != PLUMB_TCP_STATE_FIN_WAIT_2)
        return;
    report_leave(stream, SENDING);
    if (stream->active)
        return;
    stream_end(stream);
    plumb_tcp_close(stream->connection);
}

/* TIME_WAIT and the other ends come as events; that our FIN was acknowledged does not. */
void tcp_poll(struct iperf *iperf) {
    use_loans(iperf);
    if (!iperf->draining)
        return;
    iperf->draining = false;
    for (struct stream *s = iperf->streams; s < iperf->streams + IPERF_STREAMS; s++) {
        if (!s->used || s->protocol != PROTOCOL_TCP || !s->departure.finishing)
            continue;
        iperf->draining = true;
        end_if_acknowledged(s);
    }
}
