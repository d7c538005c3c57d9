/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The iperf application: start, and the table of streams. It owns all of the
 * application's memory. Once a second, while there are streams, it ends those
 * that make no progress and says on the console how many were turned away.
 */
#include "iperf.h"

static struct iperf iperf;

static bool lingers(const struct stream *stream) {
    return stream->kind == STREAM_UDP && stream->done;
}

static struct stream *find_place(struct iperf *app) {
    struct stream *oldest = NULL;
    for (struct stream *s = app->streams; s < app->streams + IPERF_STREAMS; s++) {
        if (s->kind == STREAM_FREE)
            return s;
        if (lingers(s) && (!oldest || stream_age(s) > stream_age(oldest)))
            oldest = s;
    }
    if (oldest)
        udp_stream_end(oldest);
    return oldest;
}

static void say(struct iperf *app) {
    if (app->measuring || app->refused + app->expired == app->told)
        return;
    app->told = (uint16_t)(app->refused + app->expired);
    board_print("iperf: streams refused=%u expired=%u\n", app->refused, app->expired);
}

static void expire(struct iperf *app, struct stream *stream) {
    uint32_t age = stream_age(stream);
    if (stream->kind == STREAM_UDP) {
        if (age <= (lingers(stream) ? IPERF_LINGER : IPERF_UDP_IDLE))
            return;
        app->expired = (uint16_t)(app->expired + !lingers(stream));
        udp_stream_end(stream);
    } else if (age > IPERF_TCP_IDLE) {
        struct plumb_tcp *connection = stream->connection;
        app->expired++;
        tcp_stream_end(stream);
        plumb_tcp_abort(connection);
    }
}

static void look(struct plumb *stack, struct plumb_timer *timer) {
    bool any = false;
    for (struct stream *s = iperf.streams; s < iperf.streams + IPERF_STREAMS; s++) {
        if (s->kind != STREAM_FREE)
            expire(&iperf, s);
        any |= s->kind != STREAM_FREE;
    }
    say(&iperf);
    if (any || iperf.measuring)
        plumb_timer_start(stack, timer, 1000, look);
}

struct stream *stream_new(struct iperf *app, enum stream_kind kind, struct plumb_endpoint peer) {
    struct stream *stream = find_place(app);
    if (!plumb_timer_running(&app->look))
        plumb_timer_start(app->stack, &app->look, 1000, look);
    if (!stream) {
        app->refused++;
        return NULL;
    }
    *stream = (struct stream){.iperf = app, .kind = (uint8_t)kind, .peer = peer};
    stream_touch(stream);
    return stream;
}

void stream_free(struct stream *stream) {
    if (stream->own_socket)
        plumb_udp_close(stream->socket);
    stream->own_socket = false;
    stream->kind = STREAM_FREE;
}

static uint32_t tick(const struct stream *stream) {
    return (uint32_t)(plumb_now_us(stream->iperf->stack) >> 10);
}

void stream_touch(struct stream *stream) {
    stream->touched = tick(stream);
}

uint32_t stream_age(const struct stream *stream) {
    return tick(stream) - stream->touched;
}

static void fill_pattern(void) {
    uint8_t digit = '0';
    for (unsigned i = IPERF_DATAGRAM_HEAD; i < sizeof iperf.bytes; i++) {
        iperf.bytes[i] = digit;
        digit = digit == '9' ? '0' : (uint8_t)(digit + 1);
    }
}

void app_start(struct plumb *stack, struct plumb_netif *netif) {
    iperf.stack = stack;
    iperf.netif = netif;
    fill_pattern();
    int error = tcp_server_start(&iperf);
    if (!error)
        error = udp_server_start(&iperf);
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
    return udp_poll(&iperf);
}
