/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Sockets where there is one thread of control: whoever waits in a call polls the stack, and
 * idles when there is nothing to do. There is no lock.
 *
 *     static struct plumb_superloop loop;
 *     plumb_superloop_create(&loop, board_now_us, idle);
 *     plumb_sockets_create(&sockets, memory, sizeof memory, stack, &loop.port);
 *     plumb_superloop_begin(&loop, sockets);
 *     ... plumb_recv(sockets, fd, ...) ...
 *
 * Between calls somebody has to poll, too: plumb_superloop_turn(), or plumb_poll() itself.
 */
#ifndef PLUMB_SUPERLOOP_H
#define PLUMB_SUPERLOOP_H

#include <plumb/socket.h>

struct plumb_superloop {
    struct plumb_socket_port port;
    struct plumb_sockets *sockets;
    uint64_t (*now_us)(void);
    void (*idle)(uint64_t deadline_us);
};

/* `idle` sleeps until the deadline (PLUMB_NEVER: without one) or a frame; it may return early, or
 * do other work. */
void plumb_superloop_create(struct plumb_superloop *loop, uint64_t (*now_us)(void),
                            void (*idle)(uint64_t deadline_us));

/* From now on calls may wait. */
void plumb_superloop_begin(struct plumb_superloop *loop, struct plumb_sockets *sockets);

/* Polls once and, when there is nothing left to do, idles until `until_us` at most. */
void plumb_superloop_turn(struct plumb_superloop *loop, uint64_t until_us);

#endif
