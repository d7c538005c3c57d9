/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What is said on the console of a test: a line for each direction at its end, and what the
 * peer has seen of it. Between the marks for measuring nothing is printed.
 */
#include "iperf3.h"

static const char names[4][8] = {"tcp_rx", "tcp_tx", "udp_rx", "udp_tx"};

void report_begin(struct iperf3 *app) {
    app->measuring = true;
    board_measure_start();
}

struct sum {
    uint64_t bytes, packets, lost, late, last_us;
    uint32_t acks, retransmitted;
    unsigned streams;
};

static void add(struct sum *sum, const struct stream *s) {
    struct plumb_tcp_info info = {0};
    if (s->connection)
        plumb_tcp_get_info(s->connection, &info);
    sum->streams++;
    sum->bytes += s->bytes;
    sum->packets += s->connection ? (s->sends ? info.segments_out : info.segments_in) : s->packets;
    sum->lost += s->arrival.lost;
    sum->late += s->arrival.late;
    sum->acks += info.acks_out;
    sum->retransmitted += info.retransmitted - (s->connection ? s->retransmitted : 0);
    if (s->last_us > sum->last_us)
        sum->last_us = s->last_us;
}

static void print_way(const struct iperf3 *app, bool sends) {
    struct sum sum = {.last_us = app->begun_us};
    for (const struct stream *s = app->streams; s < app->streams + app->count; s++)
        if (s->sends == sends)
            add(&sum, s);
    if (!sum.streams)
        return;
    board_print("transfer: case=%s bytes=%llu packets=%u datagrams_lost=%u acks=%u time_us=%llu "
                "out_of_order=%u retransmitted=%u streams=%u\n",
                names[2 * app->parameters.udp + sends], (unsigned long long)sum.bytes,
                (unsigned)sum.packets, (unsigned)sum.lost, (unsigned)sum.acks,
                (unsigned long long)(sum.last_us - app->begun_us), (unsigned)sum.late,
                (unsigned)sum.retransmitted, sum.streams);
}

void report_end(struct iperf3 *app) {
    if (!app->measuring)
        return;
    board_measure_stop();
    app->measuring = false;
    print_way(app, false);
    print_way(app, true);
}

void report_peer(const struct iperf3 *app) {
    const struct results *results = &app->results;
    for (unsigned i = 0; i < results->count; i++) {
        const struct result *r = &results->streams[i];
        board_print("iperf3: peer stream=%u bytes=%llu retransmits=%d packets=%llu lost=%llu "
                    "jitter_us=%llu\n",
                    (unsigned)r->id, (unsigned long long)r->bytes, (int)r->retransmits,
                    (unsigned long long)r->packets, (unsigned long long)r->lost,
                    (unsigned long long)(r->jitter_ns / 1000));
    }
}

const char *report_reason(unsigned code) {
    switch (code) {
    case CODE_DURATION:
        return "too long a test";
    case CODE_STREAMS:
        return "more streams than there are, or none";
    case CODE_BLOCK:
    case CODE_UDP_BLOCK:
        return "a block too long or too short";
    case CODE_OMIT:
        return "too much is to be left out";
    case CODE_NO_SCTP:
        return "no SCTP here";
    case CODE_REVERSE_BIDIRECTIONAL:
        return "reverse and both ways at once";
    case CODE_CLOSED:
        return "the peer has closed";
    case CODE_MESSAGE:
        return "a message that has no place here";
    case CODE_PARAMETERS:
        return "no parameters";
    case CODE_RESULTS:
        return "no results";
    case CODE_TERMINATED:
        return "the server has terminated";
    case CODE_BUSY:
        return "the server is busy";
    case CODE_CONGESTION:
        return "no such congestion control here";
    case CODE_SILENT:
        return "the peer is silent";
    case CODE_STREAM:
        return "no stream";
    case CODE_STREAM_CLOSED:
        return "a stream has closed";
    default:
        return "what the peer says";
    }
}
