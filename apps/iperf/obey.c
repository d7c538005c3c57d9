/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Doing what a client asked for, over either protocol: receiving, sending on the
 * same connection (-R, --full-duplex), or on a stream of its own to the client's
 * server, at once (-d) or when the client has finished (-r).
 */
#include "iperf.h"

enum {
    UDP_LONGEST = 60000, /* 10 minutes: the address that asked may be made up */
    TCP_LONGEST = 6000000,
    DEFAULT_TIME = 1000,
};

/* Amounts of time are in 10 ms, which are 625/64 ticks. */
void departure_start(struct stream *stream) {
    struct departure *d = &stream->departure;
    uint32_t longest = stream->protocol == PROTOCOL_UDP ? UDP_LONGEST : TCP_LONGEST;
    uint32_t time = 0 - (uint32_t)stream->request.amount;
    d->timed = stream->request.amount <= 0;
    d->left = (uint32_t)stream->request.amount;
    if (!time)
        time = DEFAULT_TIME;
    d->until = tick_now() + (time < longest ? time : longest) * 625 / 64;
    report_begin(stream, SENDING);
}

bool departure_over(const struct departure *d) {
    return d->timed ? (int32_t)(tick_now() - d->until) >= 0 : !d->left;
}

static void start_sending(struct stream *stream, uint32_t datagram) {
    report_join(stream, SENDING);
    departure_start(stream);
    if (stream->protocol == PROTOCOL_UDP)
        udp_send_start(stream, datagram);
    else
        tcp_send_more(stream);
}

static int open_stream(struct stream *stream) {
    struct plumb *stack = stream->iperf->stack;
    if (stream->protocol == PROTOCOL_TCP)
        return plumb_tcp_connect(stack, stream->peer, 0, tcp_stream_handler, stream,
                                 &stream->connection);
    return plumb_udp_open(stack, (struct plumb_endpoint){.port = 0}, udp_answered, stream,
                          &stream->socket);
}

static void connect_back(const struct stream *from) {
    struct iperf *iperf = from->iperf;
    struct plumb_endpoint peer = {from->peer.address, (uint16_t)from->request.port};
    struct stream *stream = stream_new(iperf, from->protocol, peer);
    if (!stream)
        return;
    stream->request = from->request;
    stream->begun = true; /* no header comes from a server */
    if (from->request.port - 1 >= 65535 || open_stream(stream)) {
        iperf->ended++;
        stream->used = false;
    } else if (stream->protocol == PROTOCOL_TCP) {
        report_join(stream, SENDING); /* the rest when it is connected */
    } else {
        stream->owns_socket = true;
        start_sending(stream, IPERF_DATAGRAM_MOST);
    }
}

/* The stream joins what it sends before it leaves what it does not receive: an
 * interval that has no members ends. */
void stream_obey(struct stream *stream, uint32_t datagram) {
    const struct request *request = &stream->request;
    if (request->flags2 & (ASKS_REVERSE | ASKS_DUPLEX))
        start_sending(stream, datagram);
    if (!(request->flags2 & ASKS_REVERSE))
        report_begin(stream, RECEIVING);
    else
        report_leave(stream, RECEIVING);
    if (request->flags & ASKS_BACK && request->flags & ASKS_DUAL_NOW)
        connect_back(stream);
}

void stream_received(struct stream *stream) {
    uint32_t flags = stream->request.flags;
    bool back = stream->active & 1U << RECEIVING && flags & ASKS_BACK && !(flags & ASKS_DUAL_NOW);
    report_leave(stream, RECEIVING);
    if (back)
        connect_back(stream);
}
