/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A test as its server: the client opens, says what it wants, and says when it is over. */
#include "iperf3.h"

void server_accept(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                   void *context) {
    struct iperf3 *app = context;
    struct plumb_tcp_info info;
    (void)listener;
    if (app->phase != PHASE_IDLE) {
        guest_welcome(app, connection); /* who is not taken is reset */
        return;
    }
    plumb_tcp_get_info(connection, &info);
    app->control = connection;
    app->peer = info.remote;
    app->out_length = app->out_sent = 0;
    control_want(&app->reader, ITEM_COOKIE);
    plumb_tcp_set_handler(connection, channel_handler, app);
    plumb_tcp_set_option(connection, PLUMB_TCP_NODELAY, 1);
    phase_set(app, PHASE_COOKIE, IPERF3_CONTROL_LIMIT_MS);
}

static void take_cookie(struct iperf3 *app) {
    for (unsigned i = 0; i < CONTROL_COOKIE; i++)
        app->cookie[i] = app->reader.bytes[i];
    control_want(&app->reader, ITEM_TEXT);
    phase_set(app, PHASE_PARAMETERS, IPERF3_CONTROL_LIMIT_MS);
    channel_send_state(app, STATE_PARAMETERS);
}

static void take_parameters(struct iperf3 *app) {
    struct parameters *p = &app->parameters;
    unsigned code = exchange_read_parameters(p, app->reader.text, app->reader.length);
    if (code) {
        test_fail(app, code);
        return;
    }
    app->streams_wanted = p->parallel << p->bidirectional;
    app->count = 0;
    control_want(&app->reader, ITEM_STATE);
    phase_set(app, PHASE_STREAMS, IPERF3_CONTROL_LIMIT_MS);
    channel_send_state(app, STATE_CREATE_STREAMS);
}

/* Streams are numbered in the order in which they were opened, as the client does: what came
 * first in the end is another matter. */
static void sort_streams(struct iperf3 *app) {
    for (unsigned i = 1; i < app->count; i++) {
        for (unsigned k = i; k && app->streams[k].order < app->streams[k - 1].order; k--) {
            struct stream swapped = app->streams[k];
            app->streams[k] = app->streams[k - 1];
            app->streams[k - 1] = swapped;
        }
    }
    for (struct stream *s = app->streams; s < app->streams + app->count; s++)
        if (s->connection)
            plumb_tcp_set_handler(s->connection, tcp_stream_handler, s);
}

void server_begin(struct iperf3 *app) {
    sort_streams(app);
    for (unsigned i = 0; i < app->count; i++)
        app->streams[i].sends = stream_sends(app, i);
    channel_send_state(app, STATE_TEST_START);
    channel_send_state(app, STATE_TEST_RUNNING);
    test_run(app);
}

/* A client that receives reads whole blocks, and hears nothing before its streams end. */
void server_drained(struct iperf3 *app) {
    test_conclude(app);
    test_close_streams(app);
    control_want(&app->reader, ITEM_TEXT);
    phase_set(app, PHASE_RESULTS, IPERF3_CONTROL_LIMIT_MS);
    channel_send_state(app, STATE_RESULTS);
}

static void take_results(struct iperf3 *app) {
    if (!exchange_read_results(&app->results, app->reader.text, app->reader.length)) {
        test_fail(app, CODE_RESULTS);
        return;
    }
    report_peer(app);
    control_want(&app->reader, ITEM_STATE);
    phase_set(app, PHASE_DISPLAY, IPERF3_CONTROL_LIMIT_MS);
    test_send_results(app);
    channel_send_state(app, STATE_DISPLAY);
}

static void take_state(struct iperf3 *app, enum control_state state) {
    if (state == STATE_TEST_END && app->phase == PHASE_RUNNING)
        test_drain(app);
    else if (state == STATE_DONE && app->phase == PHASE_DISPLAY)
        test_end(app);
    else if (state == STATE_CLIENT_TERMINATE)
        test_fail(app, CODE_CLOSED);
    else
        test_fail(app, CODE_MESSAGE);
}

void server_item(struct iperf3 *app, enum control_item item) {
    if (item == ITEM_COOKIE)
        take_cookie(app);
    else if (item == ITEM_STATE)
        take_state(app, app->reader.bytes[0]);
    else if (item == ITEM_TOO_LONG)
        test_fail(app, app->phase == PHASE_RESULTS ? CODE_RESULTS : CODE_PARAMETERS);
    else if (app->phase == PHASE_RESULTS)
        take_results(app);
    else
        take_parameters(app);
}
