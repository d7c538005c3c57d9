/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A test as its client: once, when the board has its address. Streams are opened one after
 * the other, since a server tells them apart by that. In the end the application ends, with
 * 0 if the server's results have come.
 */
#include "iperf3.h"

static void make_cookie(struct iperf3 *app) {
    for (unsigned i = 0; i < CONTROL_COOKIE - 1; i++)
        app->cookie[i] =
            (uint8_t) "abcdefghijklmnopqrstuvwxyz234567"[plumb_random(app->stack) & 31];
    app->cookie[CONTROL_COOKIE - 1] = 0;
}

void client_start(struct iperf3 *app) {
    app->client = true;
    app->parameters = app->arguments.parameters;
    app->peer = app->arguments.server;
    app->streams_wanted = app->parameters.parallel << app->parameters.bidirectional;
    make_cookie(app);
    control_want(&app->reader, ITEM_STATE);
    phase_set(app, PHASE_OPENING, IPERF3_CONTROL_LIMIT_MS);
    int error = plumb_tcp_connect(app->stack, app->peer, 0, channel_handler, app, &app->control);
    if (error) {
        board_print("iperf3: %s\n", plumb_error_text(error));
        test_fail(app, CODE_CLOSED);
    }
}

static void open_stream(struct iperf3 *app) {
    struct stream *stream = stream_new(app);
    int error = PLUMB_ERROR_NO_CONNECTION;
    if (stream && app->parameters.udp)
        error = plumb_udp_open(app->stack, (struct plumb_endpoint){.port = 0}, udp_client_datagram,
                               stream, &stream->socket);
    else if (stream)
        error = plumb_tcp_connect(app->stack, app->peer, 0, tcp_stream_handler, stream,
                                  &stream->connection);
    if (error) {
        board_print("iperf3: stream: %s\n", plumb_error_text(error));
        test_fail(app, CODE_STREAM);
        return;
    }
    stream->sends = stream_sends(app, app->count - 1);
    stream->peer = app->peer;
    if (app->parameters.udp)
        udp_greet(stream);
}

void client_stream_open(struct stream *stream) {
    struct iperf3 *app = stream->app;
    if (stream->open || app->phase != PHASE_STREAMS)
        return;
    stream->open = true;
    if (stream->connection) {
        plumb_tcp_send(stream->connection, app->cookie, sizeof app->cookie);
        tcp_prepare(stream);
    }
    if (app->count < app->streams_wanted)
        open_stream(app);
    else
        phase_set(app, PHASE_STARTING, IPERF3_CONTROL_LIMIT_MS);
}

static void send_parameters(struct iperf3 *app) {
    struct json_writer writer;
    channel_text_begin(app, &writer);
    exchange_write_parameters(&app->parameters, &writer);
    channel_text_end(app, &writer);
}

/* A test is over when as much was sent, or has come, as was asked for, or its time is up. */
void client_look(struct iperf3 *app, uint64_t now_us) {
    const struct parameters *p = &app->parameters;
    uint64_t most = p->bytes ? p->bytes : p->blocks * p->length;
    bool over = p->time_s && now_us - app->begun_us >= p->time_s * 1000000ULL;
    if (app->omitting)
        return;
    if (most)
        over |= !test_left(app) || test_bytes(app, false) >= most;
    if (over)
        test_drain(app);
}

/* What was handed to the stack is the server's by now, or never will be. */
void client_drained(struct iperf3 *app) {
    test_conclude(app);
    phase_set(app, PHASE_RESULTS, IPERF3_CONTROL_LIMIT_MS);
    channel_send_state(app, STATE_TEST_END);
}

static void take_state(struct iperf3 *app, unsigned state) {
    if (state == STATE_ERROR)
        control_want(&app->reader, ITEM_ERROR);
    else if (state == STATE_BUSY)
        test_fail(app, CODE_BUSY);
    else if (state == STATE_SERVER_TERMINATE)
        test_fail(app, CODE_TERMINATED);
    else if (state == STATE_PARAMETERS && app->phase == PHASE_OPENING)
        send_parameters(app);
    else if (state == STATE_CREATE_STREAMS && app->phase == PHASE_OPENING) {
        phase_set(app, PHASE_STREAMS, IPERF3_CONTROL_LIMIT_MS);
        open_stream(app);
    } else if (state == STATE_TEST_START && app->phase == PHASE_STARTING)
        return;
    else if (state == STATE_TEST_RUNNING && app->phase == PHASE_STARTING)
        test_run(app);
    else if (state == STATE_RESULTS && app->phase == PHASE_RESULTS) {
        test_send_results(app);
        control_want(&app->reader, ITEM_TEXT);
    } else if (state == STATE_DISPLAY && app->phase == PHASE_DISPLAY) {
        app->exit_status = 0;
        test_close_streams(app);
        channel_send_state(app, STATE_DONE);
        test_end(app);
    } else
        test_fail(app, CODE_MESSAGE);
}

void client_item(struct iperf3 *app, enum control_item item) {
    if (item == ITEM_STATE) {
        take_state(app, app->reader.bytes[0]);
    } else if (item == ITEM_ERROR) {
        test_fail(app, control_word(app->reader.bytes));
    } else if (item == ITEM_TOO_LONG ||
               !exchange_read_results(&app->results, app->reader.text, app->reader.length)) {
        test_fail(app, CODE_RESULTS);
    } else {
        report_peer(app);
        control_want(&app->reader, ITEM_STATE);
        phase_set(app, PHASE_DISPLAY, IPERF3_CONTROL_LIMIT_MS);
    }
}
