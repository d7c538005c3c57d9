/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Echo over BSD sockets (port 7, RFC 862), TCP and UDP, as one would write it for a system that
 * has them: who is connected is served to the end, by calls that wait. What waits polls the
 * stack, through the superloop's port; so there is neither a system nor a thread.
 */
#include "board.h"
#include "superloop.h"

enum { ECHO = 7, BACKLOG = 4, PART = 4096, PATIENCE_S = 20 };

static PLUMB_SOCKETS_MEMORY(memory);
static struct plumb_superloop loop;
static struct plumb_sockets *sockets;
static int listener, datagrams;

/* What waits here has a peer, which is not for long: nothing is gained by sleeping. */
static void idle(uint64_t deadline_us) {
    (void)deadline_us;
}

static int open_bound(int type) {
    const struct plumb_sockaddr_in here =
        plumb_sockaddr_of((struct plumb_endpoint){PLUMB_IPV4_ANY, ECHO});
    int fd = plumb_socket(sockets, PLUMB_AF_INET, type | PLUMB_SOCK_NONBLOCK, 0);

    if (fd < 0 || plumb_bind(sockets, fd, &here, sizeof here))
        board_exit(1);
    return fd;
}

void app_start(struct plumb *stack, struct plumb_netif *netif) {
    (void)netif;
    plumb_superloop_create(&loop, board_now_us, idle);
    if (plumb_sockets_create(&sockets, memory, sizeof memory, stack, &loop.port))
        board_exit(1);
    plumb_superloop_begin(&loop, sockets);
    listener = open_bound(PLUMB_SOCK_STREAM);
    datagrams = open_bound(PLUMB_SOCK_DGRAM);
    if (plumb_listen(sockets, listener, BACKLOG))
        board_exit(1);
}

void app_ready(struct plumb *stack, struct plumb_netif *netif) {
    (void)stack;
    (void)netif;
    board_print("sockets: echo on port %d\n", ECHO);
}

/* Waits for each part, and for room to send it; a peer that is silent for long is left. */
static void serve(int fd) {
    static uint8_t bytes[PART];
    const struct plumb_timeval patience = {PATIENCE_S, 0};
    int length;

    plumb_setsockopt(sockets, fd, PLUMB_SOL_SOCKET, PLUMB_SO_RCVTIMEO, &patience, sizeof patience);
    plumb_setsockopt(sockets, fd, PLUMB_SOL_SOCKET, PLUMB_SO_SNDTIMEO, &patience, sizeof patience);
    while ((length = plumb_recv(sockets, fd, bytes, sizeof bytes, 0)) > 0)
        if (plumb_send(sockets, fd, bytes, (size_t)length, 0) != length)
            break;
    plumb_close(sockets, fd);
}

static void answer_datagrams(void) {
    static uint8_t bytes[PART];
    struct plumb_sockaddr_in from;
    plumb_socklen from_length = sizeof from;
    int length;

    while ((length = plumb_recvfrom(sockets, datagrams, bytes, sizeof bytes, 0, &from,
                                    &from_length)) >= 0)
        plumb_sendto(sockets, datagrams, bytes, (size_t)length, 0, &from, from_length);
}

bool app_poll(struct plumb *stack) {
    (void)stack;
    answer_datagrams();
    int fd = plumb_accept(sockets, listener, NULL, NULL);
    if (fd < 0)
        return false;
    serve(fd);
    return true;
}
