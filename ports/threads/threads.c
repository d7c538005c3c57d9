/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The poller sleeps without the lock; what asks for it to come sooner writes to kick_fd, so
 * that nothing is missed between its poll and its sleep.
 */
#include "threads.h"

#include <plumb/error.h>
#include <plumb/netif.h>

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static uint64_t monotonic_us(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static struct timespec timespec_of(uint64_t us) {
    return (struct timespec){(time_t)(us / 1000000), (long)(us % 1000000 * 1000)};
}

/* ---- the port ---- */

static uint64_t now_us(void *context) {
    (void)context;
    return monotonic_us();
}

static void lock(void *context) {
    struct plumb_threads *threads = context;

    pthread_mutex_lock(&threads->mutex);
}

static void unlock(void *context) {
    struct plumb_threads *threads = context;

    pthread_mutex_unlock(&threads->mutex);
}

static void wait(void *context, uint64_t until_us) {
    struct plumb_threads *threads = context;
    const struct timespec until = timespec_of(until_us);

    if (until_us == PLUMB_NEVER)
        pthread_cond_wait(&threads->changed, &threads->mutex);
    else
        pthread_cond_timedwait(&threads->changed, &threads->mutex, &until);
}

static void wake(void *context) {
    struct plumb_threads *threads = context;

    pthread_cond_broadcast(&threads->changed);
}

static void poll_soon(void *context) {
    struct plumb_threads *threads = context;
    const uint64_t one = 1;

    if (!atomic_exchange(&threads->kicked, true) && write(threads->kick_fd, &one, sizeof one) < 0)
        atomic_store(&threads->kicked, false); /* cannot be: the counter is far from full */
}

/* ---- the poller ---- */

static void sleep_until(struct plumb_threads *threads, uint64_t deadline_us) {
    struct pollfd fds[2] = {{.fd = threads->frames_fd, .events = POLLIN},
                            {.fd = threads->kick_fd, .events = POLLIN}};
    uint64_t now = monotonic_us(), kicks;
    const struct timespec left = timespec_of(deadline_us > now ? deadline_us - now : 0);

    ppoll(fds, 2, deadline_us == PLUMB_NEVER ? NULL : &left, NULL);
    if (!(fds[1].revents & POLLIN))
        return;
    if (read(threads->kick_fd, &kicks, sizeof kicks) > 0)
        atomic_store(&threads->kicked, false);
}

static void *run(void *context) {
    struct plumb_threads *threads = context;

    while (!atomic_load(&threads->stopping))
        sleep_until(threads, plumb_sockets_run(threads->sockets, monotonic_us()));
    return NULL;
}

/* ---- beginning and end ---- */

static int make_condition(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    int error = pthread_condattr_init(&attributes);

    if (error)
        return error;
    error = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (!error)
        error = pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
    return error;
}

int plumb_threads_create(struct plumb_threads *threads) {
    int error;

    *threads = (struct plumb_threads){
        .port = {threads, now_us, lock, unlock, wait, wake, poll_soon},
        .kick_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
    };
    if (threads->kick_fd < 0)
        return PLUMB_ERROR_DEVICE;
    error = pthread_mutex_init(&threads->mutex, NULL);
    if (!error)
        error = make_condition(&threads->changed);
    if (!error)
        return PLUMB_OK;
    close(threads->kick_fd);
    errno = error;
    return PLUMB_ERROR_DEVICE;
}

int plumb_threads_start(struct plumb_threads *threads, struct plumb_sockets *sockets,
                        int frames_fd) {
    threads->sockets = sockets;
    threads->frames_fd = frames_fd;
    int error = pthread_create(&threads->poller, NULL, run, threads);
    errno = error;
    return error ? PLUMB_ERROR_DEVICE : PLUMB_OK;
}

void plumb_threads_stop(struct plumb_threads *threads) {
    atomic_store(&threads->stopping, true);
    poll_soon(threads);
    pthread_join(threads->poller, NULL);
    close(threads->kick_fd);
    pthread_cond_destroy(&threads->changed);
}
