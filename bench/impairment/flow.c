/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Linux's ends of the connection: the one that listens, in the subject's place, and the one
 * that connects and measures. They speak iperf 2, as Plumb's program does: the header of
 * the one that connects says which of them sends, and all other bytes mean nothing.
 */
#include "impair.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    HEADER = 60,
    FIRST_FLAGS = 0x40010000 | (HEADER << 1), /* extended, with its length */
    REVERSE = 0x0400,
    LONG = 1 << 16,
    CONNECT_LIMIT_MS = 60000,
    WINDOW = 1 << 20, /* asked for, as much as Plumb's program has room for */
};

static uint8_t bytes[LONG];

static void choose(int fd, const char *algorithm) {
    socklen_t length = (socklen_t)strlen(algorithm);
    if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, algorithm, length))
        give_up(algorithm);
}

int flow_socket(const char *algorithm) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    /* The kernel makes some 1.3 times as much of it. */
    int window = WINDOW, buffer = WINDOW;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer) ||
        setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &window, sizeof window))
        give_up("a socket");
    choose(fd, algorithm);
    return fd;
}

int flow_listen(const char *algorithm) {
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    int fd = flow_socket(algorithm);
    if (bind(fd, (const struct sockaddr *)&any, sizeof any) || listen(fd, 1))
        give_up("a listener");
    return fd;
}

static void wait_for(int fd, short events, int limit_ms) {
    struct pollfd watched = {.fd = fd, .events = events};
    poll(&watched, 1, limit_ms);
}

static bool must_wait(ssize_t done) {
    return done < 0 && (errno == EAGAIN || errno == EINTR);
}

static bool asks_back(int fd) {
    uint8_t header[HEADER];
    size_t length = 0;
    while (length < sizeof header) {
        wait_for(fd, POLLIN, -1);
        ssize_t got = recv(fd, header + length, sizeof header - length, MSG_DONTWAIT);
        if (got <= 0 && !must_wait(got))
            exit(0);
        length += got > 0 ? (size_t)got : 0;
    }
    return header[32] & REVERSE >> 8;
}

/* One connection, until it ends or somebody ends this process. */
void flow_serve(int listener) {
    wait_for(listener, POLLIN, -1);
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        give_up("a connection");
    ssize_t done = 1;
    bool sends = asks_back(fd);
    while (done > 0)
        done =
            sends ? send(fd, bytes, sizeof bytes, MSG_NOSIGNAL) : recv(fd, bytes, sizeof bytes, 0);
    exit(0);
}

static bool connected(int fd) {
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = htonl(LEFT_ADDRESS)};
    int error = connect(fd, (const struct sockaddr *)&to, sizeof to) ? errno : 0;
    socklen_t length = sizeof error;
    if (error == EINPROGRESS) {
        wait_for(fd, POLLOUT, CONNECT_LIMIT_MS);
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
        struct tcp_info info = {0};
        length = sizeof info;
        getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length);
        if (!error && info.tcpi_state == 2) /* SYN_SENT */
            error = ETIMEDOUT;
    }
    errno = error;
    return !error;
}

static void send_header(int fd, bool reverse, unsigned seconds) {
    uint8_t header[HEADER] = {0};
    const uint32_t flags = htonl(FIRST_FLAGS), amount = htonl(0U - (seconds + 60) * 100);
    memcpy(header, &flags, 4);
    memcpy(header + 20, &amount, 4);
    if (reverse)
        header[32] = REVERSE >> 8;
    if (send(fd, header, sizeof header, MSG_NOSIGNAL) != sizeof header)
        give_up("a header");
}

static uint64_t acknowledged(int fd) {
    struct tcp_info info = {0};
    socklen_t length = sizeof info;
    getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length);
    return info.tcpi_bytes_acked;
}

/* Bytes that are only sent count when they are acknowledged. */
struct flow_result flow_measure(int fd, const struct impair_options *options) {
    struct flow_result result = {.connected = connected(fd)};
    uint64_t begin_us = clock_us(), end_us = begin_us + options->seconds * 1000000ULL, now_us;
    bool reads = !options->receives;

    if (!result.connected) {
        result.error = errno;
        return result;
    }
    send_header(fd, reads, options->seconds);
    while ((now_us = clock_us()) < end_us && !result.ended) {
        wait_for(fd, reads ? POLLIN : POLLOUT, (int)((end_us - now_us) / 1000 + 1));
        ssize_t done = reads ? recv(fd, bytes, sizeof bytes, MSG_DONTWAIT)
                             : send(fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (done > 0)
            result.bytes += (uint64_t)done;
        else
            result.ended = !must_wait(done);
        if (done < 0 && result.ended)
            result.error = errno;
    }
    result.elapsed_us = clock_us() - begin_us;
    if (!reads)
        result.bytes = acknowledged(fd);
    return result;
}
