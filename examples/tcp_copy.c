/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Reading by copy, two ways: memory posted beforehand, which the stack fills while
 * it sums the bytes, in one pass; and plumb_tcp_read, for what is at hand. */
#include <stdio.h>
#include <string.h>

#include "pair.h"

enum { HEAD = 8, BODY = 20000 };

static uint8_t body[BODY];
static bool done;

static void receive(struct plumb_tcp *connection, unsigned events, void *context) {
    char *head = context;
    if (!head[0] && plumb_tcp_readable(connection) >= HEAD) {
        plumb_tcp_read(connection, head, HEAD);
        plumb_tcp_post(connection, body, BODY); /* from here on bytes land in `body` */
    }
    if (events & PLUMB_TCP_PEER_CLOSED) {
        printf("server: head \"%.8s\", %zu bytes posted\n", head, plumb_tcp_posted(connection));
        done = plumb_tcp_posted(connection) == BODY;
        plumb_tcp_close(connection);
    }
}

static void accept(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                   void *context) {
    (void)listener;
    plumb_tcp_set_handler(connection, receive, context);
}

static void send(struct plumb_tcp *connection, unsigned events, void *context) {
    if (events & PLUMB_TCP_CONNECTED) {
        plumb_tcp_send(connection, "picture1", HEAD);
        plumb_tcp_send(connection, context, BODY); /* fits the send buffer */
        plumb_tcp_close(connection);
    }
}

int main(void) {
    static uint8_t original[BODY];
    static char head[HEAD];
    struct pair pair = pair_create();
    struct plumb_tcp_listener *listener;
    struct plumb_tcp *connection;
    for (unsigned i = 0; i < BODY; i++)
        original[i] = (uint8_t)(i * 7 + i / 251);
    pair_check(plumb_tcp_listen(pair.server, pair_server(80), 4, accept, head, &listener),
               "listen");
    pair_check(plumb_tcp_connect(pair.client, pair_server(80), 0, send, original, &connection),
               "connect");
    int status = pair_run(&pair, &done);
    return memcmp(body, original, BODY) ? 1 : status;
}
