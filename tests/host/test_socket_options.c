/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Sockets: every option, as it is at first, set, read, kept for a connection to come, and felt. */
#include <string.h>

#include "socket_rig.h"

/* Timestamps take 12 bytes of each segment. */
enum {
    SOL = PLUMB_SOL_SOCKET,
    TCP = PLUMB_SOL_TCP,
    MSS = 1460 - 12 * PLUMB_IS_SET_(CONFIG_PLUMB_TCP_TIMESTAMPS),
};

static struct plumb_tcp_info info_of(struct plumb_sockets *sockets, int fd) {
    struct plumb_tcp_info info;
    plumb_socklen length = sizeof info;

    expect_equal(plumb_getsockopt(sockets, fd, TCP, PLUMB_TCP_SO_INFO, &info, &length), 0);
    expect_equal(length, sizeof info);
    return info;
}

static void what_a_socket_is(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    int stream = rig_stream(rig.b);
    int datagrams = plumb_socket(rig.b, PLUMB_AF_INET, PLUMB_SOCK_DGRAM | PLUMB_SOCK_NONBLOCK, 0);
    int listener = rig_listen(&rig, 1);
    expect_equal(rig_int(rig.b, stream, SOL, PLUMB_SO_TYPE), PLUMB_SOCK_STREAM);
    expect_equal(rig_int(rig.b, datagrams, SOL, PLUMB_SO_TYPE), PLUMB_SOCK_DGRAM);
    expect_equal(rig_int(rig.b, stream, SOL, PLUMB_SO_PROTOCOL), PLUMB_IPPROTO_TCP);
    expect_equal(rig_int(rig.b, datagrams, SOL, PLUMB_SO_PROTOCOL), PLUMB_IPPROTO_UDP);
    expect_equal(rig_int(rig.b, stream, SOL, PLUMB_SO_DOMAIN), PLUMB_AF_INET);
    expect_equal(rig_int(rig.b, stream, SOL, PLUMB_SO_ACCEPTCONN), 0);
    expect_equal(rig_int(rig.b, listener, SOL, PLUMB_SO_ACCEPTCONN), 1);
    expect_equal(plumb_fcntl(rig.b, datagrams, PLUMB_F_GETFL, 0), PLUMB_O_NONBLOCK);
    expect_equal(plumb_fcntl(rig.b, datagrams, 99, 0), -PLUMB_EINVAL);
    rig_end(&rig);
}

static void flags_are_off_and_can_be_set(void **state) {
    static const int options[][2] = {{SOL, PLUMB_SO_REUSEADDR},
                                     {SOL, PLUMB_SO_BROADCAST},
                                     {SOL, PLUMB_SO_KEEPALIVE},
                                     {TCP, PLUMB_TCP_SO_NODELAY}};
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    int fd = rig_stream(rig.a);
    for (unsigned i = 0; i < sizeof options / sizeof *options; i++) {
        expect_equal(rig_int(rig.a, fd, options[i][0], options[i][1]), 0);
        expect_equal(rig_set(rig.a, fd, options[i][0], options[i][1], 7), 0);
        expect_equal(rig_int(rig.a, fd, options[i][0], options[i][1]), 1);
        expect_equal(rig_set(rig.a, fd, options[i][0], options[i][1], 0), 0);
        expect_equal(rig_int(rig.a, fd, options[i][0], options[i][1]), 0);
    }
    rig_end(&rig);
}

static void options_that_are_refused(void **state) {
    struct rig rig;
    char byte = 0;
    plumb_socklen length = 1;
    struct plumb_timeval time = {0, 1000000};
    (void)state;
    rig_create(&rig, NULL, true);
    int fd = rig_stream(rig.a);
    int datagrams = plumb_socket(rig.a, PLUMB_AF_INET, PLUMB_SOCK_DGRAM, 0);
    expect_equal(rig_set(rig.a, fd, SOL, 9999, 1), -PLUMB_ENOPROTOOPT);
    expect_equal(rig_set(rig.a, fd, TCP, 9999, 1), -PLUMB_ENOPROTOOPT);
    expect_equal(rig_set(rig.a, fd, 9999, 1, 1), -PLUMB_ENOPROTOOPT);
    expect_equal(rig_set(rig.a, fd, SOL, PLUMB_SO_TYPE, 1), -PLUMB_ENOPROTOOPT);
    expect_equal(rig_set(rig.a, fd, SOL, PLUMB_SO_ERROR, 1), -PLUMB_ENOPROTOOPT);
    expect_equal(rig_set(rig.a, datagrams, TCP, PLUMB_TCP_SO_NODELAY, 1), -PLUMB_ENOPROTOOPT);
    expect_equal(plumb_getsockopt(rig.a, fd, SOL, 9999, &byte, &length), -PLUMB_ENOPROTOOPT);
    expect_equal(plumb_getsockopt(rig.a, datagrams, TCP, PLUMB_TCP_SO_NODELAY, &byte, &length),
                 -PLUMB_ENOPROTOOPT);
    expect_equal(plumb_setsockopt(rig.a, fd, SOL, PLUMB_SO_KEEPALIVE, &byte, 1), -PLUMB_EINVAL);
    expect_equal(plumb_setsockopt(rig.a, fd, SOL, PLUMB_SO_LINGER, &byte, 1), -PLUMB_EINVAL);
    expect_equal(plumb_setsockopt(rig.a, fd, SOL, PLUMB_SO_RCVTIMEO, &time, sizeof time),
                 -PLUMB_EDOM);
    expect_equal(plumb_setsockopt(rig.a, fd, SOL, PLUMB_SO_RCVTIMEO, &time, 4), -PLUMB_EINVAL);
    expect_equal(rig_set(rig.a, fd, TCP, PLUMB_TCP_SO_MAXSEG, 10), -PLUMB_EINVAL);
    expect_equal(rig_set(rig.a, fd, TCP, PLUMB_TCP_SO_KEEPIDLE, 0), -PLUMB_EINVAL);
    expect_equal(rig_set(rig.a, fd, TCP, PLUMB_TCP_SO_USER_TIMEOUT, -1), -PLUMB_EINVAL);
    rig_end(&rig);
}

static void times_at_their_bounds(void **state) {
    static const struct plumb_timeval refused = {0, -1}, never[] = {{-1, 0}, {INT64_MAX, 0}};
    struct plumb_timeval read;
    plumb_socklen length = sizeof read;
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    int fd = rig_stream(rig.a);
    expect_equal(plumb_setsockopt(rig.a, fd, SOL, PLUMB_SO_RCVTIMEO, &refused, sizeof refused),
                 -PLUMB_EDOM);
    for (unsigned i = 0; i < sizeof never / sizeof *never; i++) {
        const struct plumb_timeval some = {5, 0};
        expect_equal(plumb_setsockopt(rig.a, fd, SOL, PLUMB_SO_RCVTIMEO, &some, sizeof some), 0);
        expect_equal(plumb_setsockopt(rig.a, fd, SOL, PLUMB_SO_RCVTIMEO, &never[i], sizeof *never),
                     0);
        expect_equal(plumb_getsockopt(rig.a, fd, SOL, PLUMB_SO_RCVTIMEO, &read, &length), 0);
        expect_equal(read.tv_sec, 0);
        expect_equal(read.tv_usec, 0);
    }
    rig_end(&rig);
}

static void lingers_at_their_bounds(void **state) {
    static const struct plumb_linger refused[] = {{1, -1}, {1, 65536}}, off = {0, -1};
    struct plumb_linger read = {1, 1};
    plumb_socklen length = sizeof read;
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    int fd = rig_stream(rig.a);
    for (unsigned i = 0; i < sizeof refused / sizeof *refused; i++)
        expect_equal(plumb_setsockopt(rig.a, fd, SOL, PLUMB_SO_LINGER, &refused[i], sizeof off),
                     -PLUMB_EINVAL);
    expect_equal(plumb_setsockopt(rig.a, fd, SOL, PLUMB_SO_LINGER, &off, sizeof off), 0);
    expect_equal(plumb_getsockopt(rig.a, fd, SOL, PLUMB_SO_LINGER, &read, &length), 0);
    expect_equal(read.l_onoff, 0);
    expect_equal(read.l_linger, 0); /* no time was taken from what is off */
    rig_end(&rig);
}

static void tcp_options_without_a_connection(void **state) {
    struct rig rig;
    uint64_t wide = 0;
    plumb_socklen length = sizeof wide;
    (void)state;
    rig_create(&rig, NULL, true);
    int fd = rig_stream(rig.a);
    expect_equal(rig_set(rig.a, fd, TCP, PLUMB_TCP_SO_MAXSEG, 32768), -PLUMB_EINVAL);
    expect_equal(rig_set(rig.a, fd, TCP, PLUMB_TCP_SO_KEEPIDLE, 32768), -PLUMB_EINVAL);
    expect_equal(plumb_setsockopt(rig.a, fd, TCP, PLUMB_TCP_SO_NODELAY, &wide, 3), -PLUMB_EINVAL);
    expect_equal(rig_int(rig.a, fd, TCP, PLUMB_TCP_SO_MAXSEG), 536);
    expect_equal(rig_set(rig.a, fd, TCP, PLUMB_TCP_SO_MAXSEG, 900), 0);
    expect_equal(rig_int(rig.a, fd, TCP, PLUMB_TCP_SO_MAXSEG), 900);
    expect_equal(rig_set(rig.a, fd, TCP, PLUMB_TCP_SO_USER_TIMEOUT, 5000), 0);
    expect_equal(rig_int(rig.a, fd, TCP, PLUMB_TCP_SO_USER_TIMEOUT), 5000);
    expect_equal(plumb_getsockopt(rig.a, fd, TCP, 9999, &wide, &length), -PLUMB_ENOPROTOOPT);
    expect_equal(plumb_getsockopt(rig.a, fd, 9999, 1, &wide, &length), -PLUMB_ENOPROTOOPT);
    /* A number takes no more than its size of the room. */
    expect_equal(plumb_getsockopt(rig.a, fd, SOL, PLUMB_SO_TYPE, &wide, &length), 0);
    expect_equal(length, sizeof(int));
    rig_end(&rig);
}

/* What the peer takes is less than what was asked for. */
static void maxseg_above_what_was_agreed(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    int client = rig_stream(rig.a);
    rig_listen(&rig, 1);
    expect_equal(rig_set(rig.a, client, TCP, PLUMB_TCP_SO_MAXSEG, 9000), 0);
    rig_begin(&rig, client);
    rig_run(&rig, 10);
    expect_equal(rig_int(rig.a, client, TCP, PLUMB_TCP_SO_MAXSEG), MSS);
    rig_end(&rig);
}

static void structures_are_read_as_set(void **state) {
    struct plumb_timeval time = {3, 4000}, read = {0, 0};
    struct plumb_linger linger = {1, 9}, lingers = {0, 0};
    plumb_socklen length = sizeof read;
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    int fd = rig_stream(rig.a);
    for (int option = PLUMB_SO_RCVTIMEO; option <= PLUMB_SO_SNDTIMEO; option++) {
        expect_equal(plumb_setsockopt(rig.a, fd, SOL, option, &time, sizeof time), 0);
        expect_equal(plumb_getsockopt(rig.a, fd, SOL, option, &read, &length), 0);
        assert_memory_equal(&read, &time, sizeof read);
    }
    length = sizeof lingers;
    expect_equal(plumb_setsockopt(rig.a, fd, SOL, PLUMB_SO_LINGER, &linger, sizeof linger), 0);
    expect_equal(plumb_getsockopt(rig.a, fd, SOL, PLUMB_SO_LINGER, &lingers, &length), 0);
    expect_equal(lingers.l_onoff, 1);
    expect_equal(lingers.l_linger, 9);
    /* Cut to the room given. */
    int number = 0x55555555;
    length = 1;
    expect_equal(plumb_getsockopt(rig.a, fd, SOL, PLUMB_SO_TYPE, &number, &length), 0);
    expect_equal(length, 1);
    expect_equal(((uint8_t *)&number)[1], 0x55);
    rig_end(&rig);
}

static void buffers_bound_what_is_taken(void **state) {
    static char bytes[200000];
    struct rig rig;
    (void)state;
    needs(CONFIG_PLUMB_TCP_BUFFER_LIMITS);
    rig_create(&rig, NULL, true);
    struct rig_connection c = rig_connect(&rig);
    expect_equal(rig_int(rig.a, c.a, SOL, PLUMB_SO_SNDBUF), CONFIG_PLUMB_TCP_SEND_BUFFER);
    expect_equal(rig_int(rig.a, c.a, SOL, PLUMB_SO_RCVBUF), CONFIG_PLUMB_TCP_RECEIVE_BUFFER);
    expect_equal(rig_set(rig.a, c.a, SOL, PLUMB_SO_SNDBUF, 5000), 0);
    expect_equal(rig_int(rig.a, c.a, SOL, PLUMB_SO_SNDBUF), 5000);
    plumb_wire_set_link(&rig.world->wire, false);
    expect_equal(plumb_send(rig.a, c.a, bytes, sizeof bytes, 0), 5000);
    plumb_wire_set_link(&rig.world->wire, true);
    rig_set(rig.b, c.b, SOL, PLUMB_SO_RCVBUF, 100000);
    rig_set(rig.a, c.a, SOL, PLUMB_SO_SNDBUF, 100000000);
    expect_equal(rig_int(rig.a, c.a, SOL, PLUMB_SO_SNDBUF), 1 << 20);
    expect_equal(rig_set(rig.a, c.a, SOL, PLUMB_SO_SNDBUF, -5), 0);
    expect_equal(rig_int(rig.a, c.a, SOL, PLUMB_SO_SNDBUF), 1);
    rig_end(&rig);
}

static void set_before_the_connection(void **state) {
    struct rig rig;
    (void)state;
    needs(CONFIG_PLUMB_TCP_BUFFER_LIMITS);
    rig_create(&rig, NULL, true);
    int listener = rig_listen(&rig, 1), client = rig_stream(rig.a);
    rig_set(rig.a, client, SOL, PLUMB_SO_SNDBUF, 3000);
    rig_set(rig.b, listener, SOL, PLUMB_SO_SNDBUF, 4000);
    rig_set(rig.b, listener, TCP, PLUMB_TCP_SO_NODELAY, 1);
    rig_begin(&rig, client);
    rig_run(&rig, 10);
    int server = plumb_accept(rig.b, listener, NULL, NULL);
    static char bytes[10000];
    expect_equal(plumb_send(rig.a, client, bytes, sizeof bytes, 0), 3000);
    expect_equal(plumb_send(rig.b, server, bytes, sizeof bytes, 0), 4000);
    expect_equal(rig_int(rig.b, server, TCP, PLUMB_TCP_SO_NODELAY), 1);
    rig_end(&rig);
}

static void maxseg(void **state) {
    static char bytes[1000];
    struct rig rig;
    (void)state;
    needs(CONFIG_PLUMB_TCP_STATISTICS);
    rig_create(&rig, NULL, true);
    struct rig_connection c = rig_connect(&rig);
    expect_equal(rig_int(rig.a, c.a, TCP, PLUMB_TCP_SO_MAXSEG), MSS);
    expect_equal(rig_set(rig.a, c.a, TCP, PLUMB_TCP_SO_MAXSEG, 100), 0);
    expect_equal(rig_int(rig.a, c.a, TCP, PLUMB_TCP_SO_MAXSEG), 100);
    plumb_send(rig.a, c.a, bytes, sizeof bytes, 0);
    rig_run(&rig, 10);
    /* A tail may be probed for before a delayed acknowledgement comes (RFC 8985 section 7). */
    expect_equal(info_of(rig.a, c.a).segments_out - info_of(rig.a, c.a).retransmitted, 10);
    rig_end(&rig);
}

/* Set before: the SYN says it, so that both ends send no larger segments. */
static void maxseg_before_the_connection(void **state) {
    static char bytes[3000];
    (void)state;
    needs(CONFIG_PLUMB_TCP_STATISTICS);
    needs(CONFIG_PLUMB_TCP_MSS_LIMIT);
    for (unsigned listens = 0; listens < 2; listens++) {
        const int stamps = PLUMB_IS_SET_(CONFIG_PLUMB_TCP_TIMESTAMPS) ? 12 : 0;
        struct rig rig;
        rig_create(&rig, NULL, true);
        int listener = rig_listen(&rig, 1), client = rig_stream(rig.a);
        expect_equal(rig_set(listens ? rig.b : rig.a, listens ? listener : client, TCP,
                             PLUMB_TCP_SO_MAXSEG, 300 + stamps),
                     0);
        rig_begin(&rig, client);
        rig_run(&rig, 10);
        int server = plumb_accept(rig.b, listener, NULL, NULL);
        expect_equal(rig_int(rig.a, client, TCP, PLUMB_TCP_SO_MAXSEG), 300);
        expect_equal(rig_int(rig.b, server, TCP, PLUMB_TCP_SO_MAXSEG), 300);
        expect_equal(plumb_send(rig.a, client, bytes, sizeof bytes, 0), sizeof bytes);
        expect_equal(plumb_send(rig.b, server, bytes, sizeof bytes, 0), sizeof bytes);
        rig_run(&rig, 10);
        struct plumb_tcp_info a = info_of(rig.a, client), b = info_of(rig.b, server);
        expect_equal(a.segments_out - a.retransmitted, 10);
        expect_equal(b.segments_out - b.retransmitted, 10);
        rig_end(&rig);
    }
}

/* Nagle keeps a second small segment until the first is acknowledged. */
static unsigned segments_of_two_sends(int no_delay) {
    struct rig rig;
    rig_create(&rig, &(struct world_options){.faults = {.delay_us = 10000}}, true);
    int client = rig_stream(rig.a);
    rig_listen(&rig, 1);
    rig_begin(&rig, client);
    rig_run(&rig, 100);
    expect_equal(rig_set(rig.a, client, TCP, PLUMB_TCP_SO_NODELAY, no_delay), 0);
    plumb_send(rig.a, client, "a", 1, 0);
    plumb_send(rig.a, client, "b", 1, 0);
    rig_run(&rig, 5);
    unsigned segments = info_of(rig.a, client).segments_out;
    rig_end(&rig);
    return segments;
}

static void nodelay(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_STATISTICS);
    expect_equal(segments_of_two_sends(0), 1);
    expect_equal(segments_of_two_sends(1), 2);
}

static void keepalive_finds_the_dead(void **state) {
    struct rig rig;
    char byte;
    (void)state;
    needs(CONFIG_PLUMB_TCP_KEEPALIVE);
    rig_create(&rig, NULL, false);
    struct rig_connection c = rig_connect(&rig);
    expect_equal(rig_int(rig.a, c.a, TCP, PLUMB_TCP_SO_KEEPIDLE), 7200);
    expect_equal(rig_set(rig.a, c.a, TCP, PLUMB_TCP_SO_KEEPIDLE, 10), 0);
    expect_equal(rig_int(rig.a, c.a, TCP, PLUMB_TCP_SO_KEEPIDLE), 10);
    expect_equal(rig_set(rig.a, c.a, SOL, PLUMB_SO_KEEPALIVE, 1), 0);
    plumb_wire_set_link(&rig.world->wire, false);
    expect_equal(plumb_recv(rig.a, c.a, &byte, 1, 0), -PLUMB_ETIMEDOUT);
    rig_end(&rig);
}

static void info(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    int fresh = rig_stream(rig.a);
    expect_equal(info_of(rig.a, fresh).state, PLUMB_TCP_STATE_CLOSED);
    struct rig_connection c = rig_connect(&rig);
    struct plumb_tcp_info at_a = info_of(rig.a, c.a);
    expect_equal(at_a.state, PLUMB_TCP_STATE_ESTABLISHED);
    expect_equal(at_a.remote.port, RIG_PORT);
    expect_equal(at_a.mss, MSS);
    plumb_close(rig.b, c.b);
    rig_run(&rig, 10);
    expect_equal(info_of(rig.a, c.a).state, PLUMB_TCP_STATE_CLOSE_WAIT);
    plumb_shutdown(rig.a, c.a, PLUMB_SHUT_WR);
    rig_run(&rig, 10);
    expect_equal(info_of(rig.a, c.a).state, PLUMB_TCP_STATE_CLOSED);
    rig_end(&rig);
}

HARNESS_MAIN(cmocka_unit_test(what_a_socket_is), cmocka_unit_test(flags_are_off_and_can_be_set),
             cmocka_unit_test(options_that_are_refused), cmocka_unit_test(times_at_their_bounds),
             cmocka_unit_test(lingers_at_their_bounds),
             cmocka_unit_test(tcp_options_without_a_connection),
             cmocka_unit_test(maxseg_above_what_was_agreed),
             cmocka_unit_test(structures_are_read_as_set),
             cmocka_unit_test(buffers_bound_what_is_taken),
             cmocka_unit_test(set_before_the_connection), cmocka_unit_test(maxseg),
             cmocka_unit_test(maxseg_before_the_connection), cmocka_unit_test(nodelay),
             cmocka_unit_test(keepalive_finds_the_dead), cmocka_unit_test(info))
