/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A stream to the client's own server, which sends what the client asked to be
 * sent: at once (-d), or when the client has finished (-r).
 */
#include "iperf.h"

static int open_stream(struct stream *stream) {
    struct plumb *stack = stream->iperf->stack;
    if (stream->protocol == PROTOCOL_TCP)
        return plumb_tcp_connect(stack, stream->peer, 0, tcp_stream_handler, stream,
                                 &stream->connection);
    return plumb_udp_open(stack, (struct plumb_endpoint){.port = 0}, udp_answered, stream,
                          &stream->socket);
}

void connect_back(const struct stream *from) {
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
        report_join(stream, SENDING);
    } else {
        stream->owns_socket = true;
        udp_send_start(stream, IPERF_DATAGRAM_MOST);
    }
}
