/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Sending by reference: the stack sends from the user's own memory and says when
 * it has no more use for it, which is when the peer has acknowledged the bytes. */
#include <stdio.h>

#include "pair.h"

enum { BYTES = 40000 };

static uint8_t picture[BYTES];
static bool released, received;
static bool done;

static void release(struct plumb_reference *reference) {
    printf("client: %zu bytes acknowledged, the memory is mine again\n", reference->length);
    released = true;
    done = received;
}

static void send_picture(struct plumb_tcp *connection, unsigned events, void *context) {
    struct plumb_reference *reference = context;
    if (events & PLUMB_TCP_CONNECTED) {
        pair_check(plumb_tcp_send_reference(connection, reference), "send");
        plumb_tcp_close(connection); /* after the bytes, in order */
    }
}

static void count(struct plumb_tcp *connection, unsigned events, void *context) {
    size_t *total = context;
    *total += plumb_tcp_readable(connection);
    plumb_tcp_consume(connection, plumb_tcp_readable(connection));
    if (events & PLUMB_TCP_PEER_CLOSED) {
        plumb_tcp_close(connection);
        received = true;
        done = released;
    }
}

static void accept(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                   void *context) {
    (void)listener;
    plumb_tcp_set_handler(connection, count, context);
}

int main(void) {
    struct pair pair = pair_create();
    struct plumb_tcp_listener *listener;
    struct plumb_tcp *connection;
    struct plumb_reference reference = {.memory = picture, .length = BYTES, .release = release};
    size_t total = 0;
    pair_check(plumb_tcp_listen(pair.server, pair_server(80), 4, accept, &total, &listener),
               "listen");
    pair_check(
        plumb_tcp_connect(pair.client, pair_server(80), 0, send_picture, &reference, &connection),
        "connect");
    int status = pair_run(&pair, &done);
    printf("server: received %zu bytes\n", total);
    return total == BYTES ? status : 1;
}
