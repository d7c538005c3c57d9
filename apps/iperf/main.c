/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The iperf application: start, and the table of streams. It owns all of the
 * application's memory. Once a second, while there are streams, it ends those
 * that make no progress and says on the console how many were turned away.
 */
#include "iperf.h"

static struct iperf iperf;

uint32_t tick_now(void) {
    return (uint32_t)(board_now_us() >> 10);
}

void stream_touch(struct stream *stream) {
    stream->touched = tick_now();
}

uint32_t stream_age(const struct stream *stream) {
    return tick_now() - stream->touched;
}

bool stream_lingers(const struct stream *stream) {
    return stream->protocol == PROTOCOL_UDP && !stream->active && !stream->departure.finals;
}

void stream_end(struct stream *stream) {
    report_leave(stream, RECEIVING);
    report_leave(stream, SENDING);
    if (stream->owns_socket)
        plumb_udp_close(stream->socket);
    stream->used = false;
}

static void expire(struct stream *stream) {
    bool lingers = stream_lingers(stream);
    if (stream_age(stream) <= (lingers ? IPERF_LINGER : IPERF_IDLE))
        return;
    stream->iperf->ended += !lingers;
    stream_end(stream);
    if (stream->protocol == PROTOCOL_TCP)
        plumb_tcp_abort(stream->connection);
}

static void look(struct plumb *stack, struct plumb_timer *timer) {
    bool any = false;
    for (struct stream *s = iperf.streams; s < iperf.streams + IPERF_STREAMS; s++) {
        if (s->used)
            expire(s);
        any |= s->used;
    }
    if (iperf.told != iperf.ended && !iperf.measuring) {
        iperf.told = iperf.ended;
        board_print("iperf: streams refused or expired: %u\n", iperf.told);
    }
    if (any)
        plumb_timer_start(stack, timer, 1000, look);
}

/* Streams of datagrams that are over, or of which only one ever came: whoever sent
 * it may not exist. */
static bool gives_way(const struct stream *stream) {
    bool lone = stream->packets[RECEIVING] == 1 && !(stream->active & 1U << SENDING);
    return (lone || stream_lingers(stream)) && stream_age(stream) > IPERF_YIELD;
}

static struct stream *find_place(void) {
    for (struct stream *s = iperf.streams; s < iperf.streams + IPERF_STREAMS; s++) {
        if (s->used && gives_way(s))
            stream_end(s);
        if (!s->used)
            return s;
    }
    return NULL;
}

struct stream *stream_new(struct iperf *app, unsigned protocol, struct plumb_endpoint peer) {
    struct stream *stream = find_place();
    if (!plumb_timer_running(&app->look))
        plumb_timer_start(app->stack, &app->look, 1000, look);
    if (!stream) {
        app->ended++;
        return NULL;
    }
    *stream =
        (struct stream){.iperf = app, .used = true, .protocol = (uint8_t)protocol, .peer = peer};
    stream_touch(stream);
    return stream;
}

void app_start(struct plumb *stack, struct plumb_netif *netif) {
    const struct plumb_endpoint any = {.port = IPERF_PORT};
    uint8_t *bytes = (uint8_t *)iperf.words;
    iperf.stack = stack;
    iperf.netif = netif;
    for (unsigned i = IPERF_DATAGRAM_HEAD; i < sizeof iperf.words; i++)
        bytes[i] = (uint8_t)('0' + i % 10);
    tcp_loans_start(&iperf);
    int error = plumb_tcp_listen(stack, any, IPERF_STREAMS, tcp_accept, &iperf, &iperf.listener);
    if (!error)
        error = plumb_udp_open(stack, any, udp_datagram, &iperf, &iperf.socket);
    if (error) {
        board_print("panic: iperf: %s\n", plumb_error_text(error));
        board_exit(1);
    }
}

void app_ready(struct plumb *stack, struct plumb_netif *netif) {
    (void)stack;
    board_print("iperf: listening address=%I port=%d\n", netif->ipv4.be, IPERF_PORT);
}

bool app_poll(struct plumb *stack) {
    (void)stack;
    tcp_poll(&iperf);
    return false;
}
