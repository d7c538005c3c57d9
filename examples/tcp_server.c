/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Events and reading in place: a server that looks at received bytes where the
 * DMA engine put them, answers, and gives them back. No byte is copied to be read. */
#include <stdio.h>

#include "pair.h"

static bool done;

/* Called once per poll with everything that happened. */
static void serve(struct plumb_tcp *connection, unsigned events, void *context) {
    struct plumb_iovec run;
    unsigned *lines = context;
    while (!(events & PLUMB_TCP_CLOSED) && plumb_tcp_peek(connection, &run, 1)) {
        for (size_t i = 0; i < run.length; i++)
            *lines += run.data[i] == '\n';
        plumb_tcp_consume(connection, run.length);
    }
    if (events & PLUMB_TCP_PEER_CLOSED) {
        plumb_tcp_send(connection, "goodbye\n", 8);
        plumb_tcp_close(connection); /* the stack sends what is left by itself */
    }
}

static void accept(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                   void *context) {
    (void)listener;
    plumb_tcp_set_handler(connection, serve, context);
}

static void talk(struct plumb_tcp *connection, unsigned events, void *context) {
    char answer[16];
    (void)context;
    if (events & PLUMB_TCP_CONNECTED) {
        plumb_tcp_send(connection, "one\ntwo\nthree\n", 14);
        plumb_tcp_shutdown(connection);
    }
    if (events & PLUMB_TCP_PEER_CLOSED) {
        int length = plumb_tcp_read(connection, answer, sizeof answer);
        printf("client: the server answered: %.*s", length > 0 ? length : 0, answer);
        plumb_tcp_close(connection);
        done = true;
    }
}

int main(void) {
    struct pair pair = pair_create();
    struct plumb_tcp_listener *listener;
    struct plumb_tcp *connection;
    unsigned lines = 0;
    pair_check(plumb_tcp_listen(pair.server, pair_server(80), 4, accept, &lines, &listener),
               "listen");
    pair_check(plumb_tcp_connect(pair.client, pair_server(80), 0, talk, NULL, &connection),
               "connect");
    int status = pair_run(&pair, &done);
    printf("server: counted %u lines in place\n", lines);
    return lines == 3 ? status : 1;
}
