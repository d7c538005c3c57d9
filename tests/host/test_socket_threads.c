/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Sockets in threads: two stacks, each with its poller, joined by a pair of kernel sockets that
 * carry frames. Real time, so every wait has a limit. It is to run under a thread sanitizer, too.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"
#include "tap.h"
#include "threads.h"

enum { PACKETS = 512, BUFFER = PLUMB_DMA_WHOLE_LINES(1600), PORT = 7000, LIMIT_S = 20 };

struct host {
    struct plumb_packet descriptors[PACKETS];
    _Alignas(PLUMB_DMA_LINE) uint8_t buffers[PACKETS * BUFFER];
    struct plumb_pool pool;
    PLUMB_STACK_MEMORY(memory);
    PLUMB_SOCKETS_MEMORY(sockets_memory);
    struct plumb *stack;
    struct plumb_sockets *sockets;
    struct plumb_tap tap;
    struct plumb_threads threads;
};

static struct host hosts[2];

static void host_begin(unsigned index, int fd) {
    struct host *host = &hosts[index];
    const struct plumb_options options = {
        .seed = {index + 1, 2}, .segments = &host->pool, .headers = &host->pool};
    const struct plumb_tap_config config = {
        .name = index ? "b" : "a",
        .pool = &host->pool,
        .address = plumb_ethernet_address((const uint8_t[]){2, 0, 0, 0, 0, (uint8_t)(1 + index)}),
    };

    expect_equal(
        plumb_pool_create(&host->pool, host->descriptors, host->buffers, PACKETS, BUFFER, NULL),
        PLUMB_OK);
    expect_equal(plumb_create(&host->stack, host->memory, sizeof host->memory, &options), PLUMB_OK);
    expect_equal(plumb_tap_adopt(&host->tap, fd, &config), PLUMB_OK);
    expect_equal(plumb_netif_attach(host->stack, &host->tap.netif), PLUMB_OK);
    expect_equal(plumb_netif_set_ipv4(&host->tap.netif, ipv4_of(0x0a000001 + index),
                                      ipv4_of(0xffffff00), PLUMB_IPV4_ANY),
                 PLUMB_OK);
    expect_equal(plumb_threads_create(&host->threads), PLUMB_OK);
    expect_equal(plumb_sockets_create(&host->sockets, host->sockets_memory,
                                      sizeof host->sockets_memory, host->stack,
                                      &host->threads.port),
                 PLUMB_OK);
    expect_equal(plumb_threads_start(&host->threads, host->sockets, fd), PLUMB_OK);
}

static void host_end(struct host *host) {
    plumb_threads_stop(&host->threads);
    plumb_sockets_destroy(host->sockets);
    plumb_destroy(host->stack);
    plumb_tap_close(&host->tap);
    expect_equal(host->pool.free_count, PACKETS);
}

static void begin(void) {
    int ends[2];

    expect_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    alarm(LIMIT_S);
    host_begin(0, ends[0]);
    host_begin(1, ends[1]);
}

static void end(void) {
    host_end(&hosts[0]);
    host_end(&hosts[1]);
    alarm(0);
}

static struct plumb_sockaddr_in there(uint16_t port) {
    return plumb_sockaddr_of(endpoint_of(0x0a000002, port));
}

static int listen_at_b(uint16_t port) {
    struct plumb_sockaddr_in any = plumb_sockaddr_of(endpoint_of(0, port));
    int fd = plumb_socket(hosts[1].sockets, PLUMB_AF_INET, PLUMB_SOCK_STREAM, 0);

    expect_equal(plumb_bind(hosts[1].sockets, fd, &any, sizeof any), 0);
    expect_equal(plumb_listen(hosts[1].sockets, fd, 8), 0);
    return fd;
}

static int connect_from_a(uint16_t port) {
    struct plumb_sockaddr_in address = there(port);
    int fd = plumb_socket(hosts[0].sockets, PLUMB_AF_INET, PLUMB_SOCK_STREAM, 0);

    expect_equal(plumb_connect(hosts[0].sockets, fd, &address, sizeof address), 0);
    return fd;
}

/* ---- a server, and clients in threads ---- */

enum { CLIENTS = 4, BYTES = 200000, PART = 3000 };

/* Echoes one connection to its end. In a thread nothing may be asserted: -1 tells. */
static void *echo(void *context) {
    struct plumb_sockets *sockets = hosts[1].sockets;
    int fd = (int)(intptr_t)context, length;
    char bytes[PART];

    while ((length = plumb_recv(sockets, fd, bytes, sizeof bytes, 0)) > 0)
        if (plumb_send(sockets, fd, bytes, (size_t)length, 0) != length)
            length = -1;
    plumb_close(sockets, fd);
    return (void *)(intptr_t)length;
}

static void *serve(void *context) {
    int listener = (int)(intptr_t)context, bad = 0;
    pthread_t threads[CLIENTS];
    void *result;

    for (unsigned i = 0; i < CLIENTS; i++) {
        int fd = plumb_accept(hosts[1].sockets, listener, NULL, NULL);
        if (fd < 0 || pthread_create(&threads[i], NULL, echo, (void *)(intptr_t)fd))
            abort();
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        pthread_join(threads[i], &result);
        bad |= result != NULL;
    }
    return (void *)(intptr_t)bad;
}

struct stream {
    int fd;
    uint32_t seed;
};

/* One direction of a client: another thread has the other. */
static void *send_all(void *context) {
    const struct stream *stream = context;
    uint8_t bytes[PART];

    for (uint32_t at = 0; at < BYTES; at += PART) {
        uint32_t length = BYTES - at < PART ? BYTES - at : PART;
        for (uint32_t i = 0; i < length; i++)
            bytes[i] = pattern_at(stream->seed, at + i);
        if (plumb_send(hosts[0].sockets, stream->fd, bytes, length, 0) != (int)length)
            return (void *)1;
    }
    return plumb_shutdown(hosts[0].sockets, stream->fd, PLUMB_SHUT_WR) ? (void *)1 : NULL;
}

static void *receive_all(void *context) {
    const struct stream *stream = context;
    uint8_t bytes[PART];
    uint32_t at = 0;
    int length;

    while ((length = plumb_recv(hosts[0].sockets, stream->fd, bytes, sizeof bytes, 0)) > 0)
        for (int i = 0; i < length; i++, at++)
            if (bytes[i] != pattern_at(stream->seed, at))
                return (void *)1;
    return length || at != BYTES ? (void *)1 : NULL;
}

static void many_at_once(void **state) {
    struct stream streams[CLIENTS];
    pthread_t server, threads[2 * CLIENTS];
    void *result;
    (void)state;
    begin();
    int listener = listen_at_b(PORT);
    expect_equal(pthread_create(&server, NULL, serve, (void *)(intptr_t)listener), 0);
    for (unsigned i = 0; i < CLIENTS; i++) {
        streams[i] = (struct stream){connect_from_a(PORT), i};
        expect_equal(pthread_create(&threads[2 * i], NULL, send_all, &streams[i]), 0);
        expect_equal(pthread_create(&threads[2 * i + 1], NULL, receive_all, &streams[i]), 0);
    }
    for (unsigned i = 0; i < 2 * CLIENTS; i++) {
        pthread_join(threads[i], &result);
        expect(!result);
    }
    pthread_join(server, &result);
    expect(!result);
    for (unsigned i = 0; i < CLIENTS; i++)
        expect_equal(plumb_close(hosts[0].sockets, streams[i].fd), 0);
    end();
}

/* ---- waits that another thread ends ---- */

static void *receive_one(void *context) {
    char byte;
    return (void *)(intptr_t)plumb_recv(hosts[0].sockets, (int)(intptr_t)context, &byte, 1, 0);
}

static void *accept_one(void *context) {
    return (void *)(intptr_t)plumb_accept(hosts[1].sockets, (int)(intptr_t)context, NULL, NULL);
}

static int result_of(pthread_t thread) {
    void *result;
    pthread_join(thread, &result);
    return (int)(intptr_t)result;
}

static void closing_ends_waits(void **state) {
    pthread_t receiver, acceptor;
    (void)state;
    begin();
    int listener = listen_at_b(PORT), other = listen_at_b(PORT + 1);
    int fd = connect_from_a(PORT);
    expect_equal(pthread_create(&receiver, NULL, receive_one, (void *)(intptr_t)fd), 0);
    expect_equal(pthread_create(&acceptor, NULL, accept_one, (void *)(intptr_t)other), 0);
    usleep(50000); /* likely they wait by now; if not they find it closed */
    expect_equal(plumb_close(hosts[0].sockets, fd), 0);
    expect_equal(plumb_close(hosts[1].sockets, other), 0);
    expect_equal(result_of(receiver), -PLUMB_EBADF);
    expect_equal(result_of(acceptor), -PLUMB_EBADF);
    expect_equal(plumb_close(hosts[1].sockets, listener), 0);
    end();
}

/* A time-out by the real clock, while nothing else happens: nobody polls on their behalf. */
static void times(void **state) {
    struct plumb_timeval time = {0, 100000};
    struct plumb_pollfd one;
    char byte;
    (void)state;
    begin();
    int listener = listen_at_b(PORT), fd = connect_from_a(PORT);
    expect(listener >= 0);
    plumb_setsockopt(hosts[0].sockets, fd, PLUMB_SOL_SOCKET, PLUMB_SO_RCVTIMEO, &time, sizeof time);
    expect_equal(plumb_recv(hosts[0].sockets, fd, &byte, 1, 0), -PLUMB_EAGAIN);
    one = (struct plumb_pollfd){fd, PLUMB_POLLIN, 0};
    expect_equal(plumb_pollfds(hosts[0].sockets, &one, 1, 100), 0);
    end();
}

/* What a call starts is due long before what the poller sleeps for: connecting to nobody has to
 * send again after a second though nothing else ever wakes it. */
static void the_poller_is_called_when_needed(void **state) {
    struct plumb_sockaddr_in nobody = plumb_sockaddr_of(endpoint_of(0x0a000063, 9));
    struct plumb_timeval time = {3, 0};
    struct plumb_tcp_info info;
    plumb_socklen length = sizeof info;
    (void)state;
    begin();
    usleep(100000);
    int fd = plumb_socket(hosts[0].sockets, PLUMB_AF_INET, PLUMB_SOCK_STREAM, 0);
    plumb_setsockopt(hosts[0].sockets, fd, PLUMB_SOL_SOCKET, PLUMB_SO_SNDTIMEO, &time, sizeof time);
    expect_equal(plumb_connect(hosts[0].sockets, fd, &nobody, sizeof nobody), -PLUMB_EINPROGRESS);
    plumb_sockets_lock(hosts[0].sockets);
    uint32_t timeouts = plumb_counter(hosts[0].stack, PLUMB_COUNTER_tcp_timeout);
    plumb_sockets_unlock(hosts[0].sockets);
    expect(timeouts >= 1);
    expect_equal(
        plumb_getsockopt(hosts[0].sockets, fd, PLUMB_SOL_TCP, PLUMB_TCP_SO_INFO, &info, &length),
        0);
    expect_equal(info.state, PLUMB_TCP_STATE_SYN_SENT);
    end();
}

HARNESS_MAIN(cmocka_unit_test(many_at_once), cmocka_unit_test(closing_ends_waits),
             cmocka_unit_test(times), cmocka_unit_test(the_poller_is_called_when_needed))
