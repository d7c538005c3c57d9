/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* BSD sockets where there is one thread of control: the client, written for POSIX, waits in
 * connect() and recv(), and it is there that both stacks are polled. */
#include <stdio.h>
#include <string.h>

#include "pair.h"
#include "superloop.h"

static struct pair pair;
static uint64_t now;

static uint64_t now_us(void) {
    return now;
}

/* A board would sleep until the deadline or a frame. */
static void idle(uint64_t deadline_us) {
    uint64_t next = pair_turn(&pair, now);
    now = next < deadline_us ? next : deadline_us;
}

static void echo(struct plumb_tcp *connection, unsigned events, void *context) {
    struct plumb_iovec run;
    (void)context;
    while (!(events & PLUMB_TCP_CLOSED) && plumb_tcp_peek(connection, &run, 1)) {
        plumb_tcp_send(connection, run.data, run.length);
        plumb_tcp_consume(connection, run.length);
    }
    if (events & PLUMB_TCP_PEER_CLOSED)
        plumb_tcp_close(connection);
}

static void take(struct plumb_tcp_listener *listener, struct plumb_tcp *connection, void *context) {
    (void)listener;
    plumb_tcp_set_handler(connection, echo, context);
}

#include <plumb/posix.h>

/* From here on this is anybody's client. */
static int ask(const char *question, char *answer, size_t length) {
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(7)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    server.sin_addr.s_addr = htonl(0x0a000001);
    if (fd < 0 || connect(fd, (struct sockaddr *)&server, sizeof server) < 0) {
        fprintf(stderr, "connect: %s\n", strerror(errno));
        return -1;
    }
    send(fd, question, strlen(question), 0);
    shutdown(fd, SHUT_WR);
    int got = recv(fd, answer, length, MSG_WAITALL);
    close(fd);
    return got;
}

int main(void) {
    static PLUMB_SOCKETS_MEMORY(memory);
    static struct plumb_superloop loop;
    struct plumb_tcp_listener *listener;
    struct plumb_sockets *sockets;
    char answer[100];
    const char *question = "is anybody there?";
    pair = pair_create();
    pair_check(plumb_tcp_listen(pair.server, pair_server(7), 4, take, NULL, &listener), "listen");
    plumb_superloop_create(&loop, now_us, idle);
    pair_check(plumb_sockets_create(&sockets, memory, sizeof memory, pair.client, &loop.port),
               "sockets");
    plumb_superloop_begin(&loop, sockets);
    plumb_posix_use(sockets);
    int length = ask(question, answer, sizeof answer);
    printf("client: \"%.*s\" came back\n", length, answer);
    bool done = length == (int)strlen(question) && !memcmp(answer, question, (size_t)length);
    plumb_sockets_destroy(sockets);
    return pair_run(&pair, &done);
}
