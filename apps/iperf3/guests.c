/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Connections beside the test: those that have not yet shown the cookie which makes them its
 * streams, and those that were told to go. A word said to a peer is lost if the connection is
 * reset behind it, which is what becomes of one that is closed with bytes unread: so what such
 * a peer still sends is read, until it closes or its time is up.
 */
#include "iperf3.h"

static const uint8_t busy = STATE_BUSY;

static void leave(struct guest *guest, const uint8_t *word, size_t length) {
    guest->leaves = true;
    plumb_tcp_send(guest->connection, word, length);
    plumb_tcp_shutdown(guest->connection);
}

/* The cookie of the test that runs, while it opens streams, makes a stream of it. */
static void judge(struct guest *guest) {
    struct iperf3 *app = guest->app;
    struct stream *stream;
    unsigned differs = 0;
    for (unsigned i = 0; i < CONTROL_COOKIE; i++)
        differs |= (unsigned)(guest->cookie[i] ^ app->cookie[i]);
    if (differs || app->phase != PHASE_STREAMS || !(stream = stream_new(app))) {
        leave(guest, &busy, 1);
        return;
    }
    stream->connection = guest->connection;
    stream->order = guest->order;
    guest->connection = NULL;
    plumb_tcp_set_handler(stream->connection, tcp_stream_handler, stream);
    tcp_prepare(stream);
    if (app->count == app->streams_wanted)
        server_begin(app);
}

static void guest_handler(struct plumb_tcp *connection, unsigned events, void *context) {
    struct guest *guest = context;
    if (events & PLUMB_TCP_CLOSED) {
        guest->connection = NULL;
        return;
    }
    if (!guest->leaves) {
        int got = plumb_tcp_read(connection, guest->cookie + guest->have,
                                 (size_t)(CONTROL_COOKIE - guest->have));
        guest->have = (uint8_t)(guest->have + (got > 0 ? got : 0));
        if (guest->have == CONTROL_COOKIE)
            judge(guest);
        if (!guest->connection)
            return; /* a stream's now */
    }
    if (guest->leaves)
        plumb_tcp_consume(connection, plumb_tcp_readable(connection));
    if (events & PLUMB_TCP_PEER_CLOSED) {
        plumb_tcp_close(connection);
        guest->connection = NULL;
    }
}

static struct guest *find_place(struct iperf3 *app) {
    for (struct guest *g = app->guests; g < app->guests + IPERF3_GUESTS; g++)
        if (!g->connection)
            return g;
    return NULL;
}

static struct guest *take_in(struct iperf3 *app, struct plumb_tcp *connection) {
    struct guest *guest = find_place(app);
    if (!guest)
        return NULL;
    *guest = (struct guest){.app = app,
                            .connection = connection,
                            .order = app->accepted++,
                            .until_us = board_now_us() + IPERF3_GUEST_LIMIT_MS * 1000ULL};
    plumb_tcp_set_handler(connection, guest_handler, guest);
    look_start(app);
    return guest;
}

bool guest_welcome(struct iperf3 *app, struct plumb_tcp *connection) {
    struct guest *guest = take_in(app, connection);
    bool expected = app->phase == PHASE_STREAMS && !app->parameters.udp && !app->client;
    if (guest && !expected)
        leave(guest, &busy, 1);
    return guest;
}

void guest_turn_away(struct iperf3 *app, struct plumb_tcp *connection, const uint8_t *word,
                     size_t length) {
    struct guest *guest = take_in(app, connection);
    if (guest)
        leave(guest, word, length);
    else
        plumb_tcp_abort(connection);
}

bool guests_look(struct iperf3 *app, uint64_t now_us) {
    bool any = false;
    for (struct guest *g = app->guests; g < app->guests + IPERF3_GUESTS; g++) {
        if (g->connection && now_us >= g->until_us) {
            plumb_tcp_abort(g->connection);
            g->connection = NULL;
        }
        any |= g->connection != NULL;
    }
    return any;
}
