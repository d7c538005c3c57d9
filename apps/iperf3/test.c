/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A test as both ends see it: its streams, its beginning, its end, and what came of it. */
#include "iperf3.h"

struct stream *stream_new(struct iperf3 *app) {
    if (app->count == app->streams_wanted || app->count == IPERF3_STREAMS)
        return NULL;
    struct stream *stream = &app->streams[app->count++];
    *stream = (struct stream){.app = app};
    return stream;
}

/* Of a test both ways the first half is the client's to send. */
bool stream_sends(const struct iperf3 *app, unsigned index) {
    const struct parameters *p = &app->parameters;
    bool client_sends = p->bidirectional ? index < p->parallel : !p->reverse;
    return client_sends == app->client;
}

/* Of what came first, all but its datagrams' numbers is forgotten. */
void test_omitted(struct iperf3 *app) {
    app->omitting = false;
    app->begun_us = app->moved_us = board_now_us();
    for (struct stream *s = app->streams; s < app->streams + app->count; s++) {
        struct plumb_tcp_info info = {0};
        if (s->connection)
            plumb_tcp_get_info(s->connection, &info);
        s->retransmitted = info.retransmitted;
        s->bytes = 0;
        s->first_us = s->last_us = app->begun_us;
        s->arrival.jitter = 0;
        s->arrival.omitted = s->sends ? s->packets : s->arrival.highest;
        s->arrival.omitted_lost = s->arrival.lost;
    }
}

void test_run(struct iperf3 *app) {
    const struct parameters *p = &app->parameters;
    uint64_t now = board_now_us();
    uint32_t time_s = (p->time_s ? p->time_s : PARAMETERS_LONGEST_S) + p->omit_s;
    phase_set(app, PHASE_RUNNING, time_s * 1000 + IPERF3_GRACE_MS);
    app->omitting = p->omit_s > 0;
    report_begin(app);
    app->begun_us = app->moved_us = now;
    for (struct stream *s = app->streams; s < app->streams + app->count; s++) {
        s->due_ns = now * 1000;
        s->first_us = s->last_us = now;
        if (s->connection)
            tcp_stream_handler(s->connection, PLUMB_TCP_READABLE | PLUMB_TCP_WRITABLE, s);
    }
}

/* Nobody sends any more; what is under way is waited for. */
void test_drain(struct iperf3 *app) {
    app->moved_us = board_now_us();
    phase_set(app, PHASE_DRAINING, IPERF3_DRAIN_LIMIT_MS);
}

/* A client waits for what it sent to be acknowledged, whoever receives for a pause. */
bool test_is_quiet(const struct iperf3 *app, uint64_t now_us) {
    bool receives = false;
    for (const struct stream *s = app->streams; s < app->streams + app->count; s++) {
        if (app->client && s->sends && s->connection && plumb_tcp_writable(s->connection) < s->room)
            return false;
        receives |= !s->sends;
    }
    return app->client || !receives || now_us >= app->moved_us + IPERF3_QUIET_MS * 1000ULL;
}

uint64_t test_bytes(const struct iperf3 *app, bool sent) {
    uint64_t bytes = 0;
    for (const struct stream *s = app->streams; s < app->streams + app->count; s++)
        bytes += s->sends == sent ? s->bytes : 0;
    return bytes;
}

/* A server leaves it to the client to say when it is enough. */
uint64_t test_left(const struct iperf3 *app) {
    const struct parameters *p = &app->parameters;
    uint64_t most = p->bytes ? p->bytes : p->blocks * p->length, sent = test_bytes(app, true);
    if (!app->client || !most || app->omitting)
        return UINT64_MAX;
    return most > sent ? most - sent : 0;
}

static struct result result_of(const struct stream *s, unsigned index) {
    const struct arrival *a = &s->arrival;
    struct plumb_tcp_info info = {0};
    struct result result = {
        .id = index ? index + 2 : 1, /* 1, 3, 4, 5: as iperf numbers them */
        .bytes = s->bytes,
        .retransmits = -1,
        .start_us = s->first_us - s->app->begun_us,
        .end_us = s->last_us - s->app->begun_us,
        .packets = s->sends ? s->packets : a->highest,
        .omitted_packets = a->omitted,
        .jitter_ns = (uint64_t)a->jitter * 1000 / 16,
        .lost = a->lost,
        .omitted_lost = a->omitted_lost,
    };
    if (s->connection && s->sends) {
        plumb_tcp_get_info(s->connection, &info);
        result.retransmits = (int32_t)(info.retransmitted - s->retransmitted);
    }
    return result;
}

/* What has come of it, before the connections that know go. */
void test_conclude(struct iperf3 *app) {
    app->own.count = app->count;
    for (unsigned i = 0; i < app->count; i++)
        app->own.streams[i] = result_of(&app->streams[i], i);
    report_end(app);
}

void test_send_results(struct iperf3 *app) {
    const struct parameters *p = &app->parameters;
    bool sends = p->bidirectional || p->reverse != app->client;
    struct json_writer writer;
    channel_text_begin(app, &writer);
    exchange_write_results(&app->own, !sends ? -1 : !p->udp, &writer);
    channel_text_end(app, &writer);
}

/* In order, for a peer that still reads; whatever still comes is dropped. */
void test_close_streams(struct iperf3 *app) {
    for (struct stream *s = app->streams; s < app->streams + app->count; s++) {
        if (s->connection)
            plumb_tcp_close(s->connection);
        if (s->socket && app->client)
            plumb_udp_close(s->socket);
        s->connection = NULL;
        s->socket = NULL;
    }
    app->count = 0;
}

void test_end(struct iperf3 *app) {
    report_end(app);
    test_close_streams(app);
    if (app->control)
        plumb_tcp_close(app->control);
    app->control = NULL;
    app->over = app->client;
    app->until_us = board_now_us() + IPERF3_QUIET_MS * 1000ULL;
    app->phase = PHASE_IDLE;
}

static void abort_streams(struct iperf3 *app) {
    for (struct stream *s = app->streams; s < app->streams + app->count; s++)
        if (s->connection) {
            plumb_tcp_abort(s->connection);
            s->connection = NULL;
        }
}

/* The client of a test that goes wrong reads a state, and two words behind it. */
void test_fail(struct iperf3 *app, unsigned code) {
    const uint8_t word[1 + CONTROL_ERROR_BYTES] = {STATE_ERROR, 0, 0, (uint8_t)(code >> 8),
                                                   (uint8_t)code};
    struct plumb_tcp *control = app->control;
    app->control = NULL;
    report_end(app);
    abort_streams(app);
    board_print("iperf3: test ended: %s (code %u)\n", report_reason(code), code);
    app->exit_status = 1;
    test_end(app);
    if (!control)
        return;
    if (app->client || code == CODE_CLOSED)
        plumb_tcp_abort(control);
    else
        guest_turn_away(app, control, word, sizeof word);
}
