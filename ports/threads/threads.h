/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Sockets with POSIX threads: any thread may call, and one of the port's own polls the stack.
 *
 *     struct plumb_threads threads;
 *     plumb_threads_create(&threads);
 *     plumb_sockets_create(&sockets, memory, sizeof memory, stack, &threads.port);
 *     plumb_threads_start(&threads, sockets, tap.fd);
 *     ... plumb_recv(sockets, fd, ...) in any thread ...
 *     plumb_threads_stop(&threads);
 *     plumb_sockets_destroy(sockets);
 *
 * The lock is `mutex`. It is held by the poller during a poll, by callers during a call but not
 * while they wait, and by whoever calls plumb_sockets_lock(). Time is CLOCK_MONOTONIC.
 */
#ifndef PLUMB_THREADS_H
#define PLUMB_THREADS_H

#include <pthread.h>
#include <stdatomic.h>

#include <plumb/socket.h>

struct plumb_threads {
    struct plumb_socket_port port;
    struct plumb_sockets *sockets;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t poller;
    int frames_fd;      /* readable: there are frames */
    int kick_fd;        /* readable: the poller is wanted */
    atomic_bool kicked; /* it has been written to */
    atomic_bool stopping;
};

/* Fills in `port`, for plumb_sockets_create(). Returns PLUMB_OK or PLUMB_ERROR_DEVICE, with errno
 * telling why. */
int plumb_threads_create(struct plumb_threads *threads);

/* Begins to poll, whenever the stack asks for it and when `frames_fd` becomes readable. Returns
 * PLUMB_OK or PLUMB_ERROR_DEVICE. */
int plumb_threads_start(struct plumb_threads *threads, struct plumb_sockets *sockets,
                        int frames_fd);

/* Ends the poller. No other thread may be in a call any more. */
void plumb_threads_stop(struct plumb_threads *threads);

#endif
