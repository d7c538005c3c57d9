/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The control connection: its bytes into items for the server's or the client's part, and
 * what they answer out again. What finds no room waits in `out`, as it may while the streams
 * of a test hold every packet that there is.
 */
#include "iperf3.h"

enum { PREFIX = 4 };

void channel_flush(struct iperf3 *app) {
    if (!app->control || app->out_sent == app->out_length)
        return;
    int sent = plumb_tcp_send(app->control, app->out + app->out_sent,
                              (size_t)(app->out_length - app->out_sent));
    if (sent > 0)
        app->out_sent = (uint16_t)(app->out_sent + sent);
    if (app->out_sent == app->out_length)
        app->out_sent = app->out_length = 0;
}

/* There is room for all there is to say in a test. A peer that makes more of it, and takes
 * nothing, waits for the rest until its time is up. */
void channel_send(struct iperf3 *app, const void *bytes, size_t length) {
    const uint8_t *from = bytes;
    if (!app->control || length > sizeof app->out - app->out_length)
        return;
    for (size_t i = 0; i < length; i++)
        app->out[app->out_length++] = from[i];
    channel_flush(app);
}

void channel_send_state(struct iperf3 *app, enum control_state state) {
    uint8_t byte = (uint8_t)state;
    channel_send(app, &byte, 1);
}

/* Of the whole of `out`: in order, and nothing of it may wait. */
void channel_text_begin(struct iperf3 *app, struct json_writer *writer) {
    size_t at = app->out_length + (size_t)PREFIX;
    json_write_begin(writer, (char *)app->out + at, sizeof app->out - at);
}

void channel_text_end(struct iperf3 *app, const struct json_writer *writer) {
    if (!app->control || writer->overflow)
        return;
    uint8_t *prefix = app->out + app->out_length;
    for (unsigned i = 0; i < PREFIX; i++)
        prefix[i] = (uint8_t)(writer->length >> (24 - 8 * i));
    app->out_length = (uint16_t)(app->out_length + PREFIX + writer->length);
    channel_flush(app);
}

/* Items are dealt with one by one: each may end the test, and this connection. */
static void receive(struct iperf3 *app, struct plumb_tcp *connection) {
    struct plumb_iovec vector;
    while (app->control == connection && plumb_tcp_peek(connection, &vector, 1)) {
        size_t used;
        enum control_item item = control_read(&app->reader, vector.data, vector.length, &used);
        plumb_tcp_consume(connection, used);
        if (item != ITEM_NONE && app->client)
            client_item(app, item);
        else if (item != ITEM_NONE)
            server_item(app, item);
    }
}

void channel_handler(struct plumb_tcp *connection, unsigned events, void *context) {
    struct iperf3 *app = context;
    if (events & PLUMB_TCP_CONNECTED)
        channel_send(app, app->cookie, sizeof app->cookie);
    if (events & PLUMB_TCP_READABLE)
        receive(app, connection);
    if (app->control != connection)
        return;
    if (events & PLUMB_TCP_CLOSED)
        app->control = NULL; /* nobody can be told */
    if (events & (PLUMB_TCP_CLOSED | PLUMB_TCP_PEER_CLOSED))
        test_fail(app, CODE_CLOSED);
    else if (events & PLUMB_TCP_WRITABLE)
        channel_flush(app);
}
