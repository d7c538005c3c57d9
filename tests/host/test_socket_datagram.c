/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Sockets: datagrams. */
#include "socket_rig.h"

enum { LONGEST = 65507 };

static uint8_t sent[LONGEST + 1], got[LONGEST + 1];

static int open_datagrams(struct plumb_sockets *sockets) {
    int fd = plumb_socket(sockets, PLUMB_AF_INET, PLUMB_SOCK_DGRAM, 0);

    expect(fd >= 0);
    return fd;
}

/* One of `b`, bound to RIG_PORT. */
static int open_bound(struct rig *rig) {
    struct plumb_sockaddr_in any = rig_address(0, RIG_PORT);
    int fd = open_datagrams(rig->b);

    expect_equal(plumb_bind(rig->b, fd, &any, sizeof any), 0);
    return fd;
}

static int send_there(struct rig *rig, int fd, const void *bytes, size_t length) {
    struct plumb_sockaddr_in there = rig_address(RIG_B, RIG_PORT);
    return plumb_sendto(rig->a, fd, bytes, length, 0, &there, sizeof there);
}

static void to_and_fro(void **state) {
    struct plumb_sockaddr_in from, own;
    plumb_socklen length = sizeof from;
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    int server = open_bound(&rig), client = open_datagrams(rig.a);
    expect_equal(send_there(&rig, client, "ask", 3), 3); /* which binds it */
    expect_equal(plumb_recvfrom(rig.b, server, got, sizeof got, 0, &from, &length), 3);
    expect_equal(length, sizeof from);
    plumb_getsockname(rig.a, client, &own, &length);
    expect_equal(from.sin_port, own.sin_port);
    expect_equal(from.sin_addr.s_addr, ipv4_of(RIG_A).be);
    expect_equal(plumb_sendto(rig.b, server, "answer", 6, 0, &from, sizeof from), 6);
    expect_equal(plumb_recv(rig.a, client, got, sizeof got, 0), 6);
    assert_memory_equal(got, "answer", 6);
    rig_end(&rig);
}

static void each_read_is_one_datagram(void **state) {
    struct plumb_msghdr message = {0};
    struct plumb_iov vector = {got, 2};
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    int server = open_bound(&rig), client = open_datagrams(rig.a), next = -1;
    send_there(&rig, client, "x", 1); /* the neighbour becomes known */
    rig_run(&rig, 10);
    expect_equal(plumb_recv(rig.b, server, got, 1, 0), 1);
    expect_equal(plumb_recv(rig.b, server, got, 1, 0), -PLUMB_EAGAIN);
    expect_equal(rig_poll(rig.b, server), PLUMB_POLLOUT);
    send_there(&rig, client, "first", 5);
    send_there(&rig, client, "", 0);
    send_there(&rig, client, "third", 5);
    rig_run(&rig, 100);
    expect_equal(rig_poll(rig.b, server), PLUMB_POLLIN | PLUMB_POLLOUT);
    plumb_ioctl(rig.b, server, PLUMB_FIONREAD, &next);
    expect_equal(next, 5);
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    expect_equal(plumb_recvmsg(rig.b, server, &message, PLUMB_MSG_PEEK), 2);
    expect_equal(message.msg_flags, PLUMB_MSG_TRUNC);
    expect_equal(plumb_recvmsg(rig.b, server, &message, PLUMB_MSG_PEEK | PLUMB_MSG_TRUNC), 5);
    expect_equal(plumb_recv(rig.b, server, got, 2, 0), 2); /* the rest is gone */
    expect_equal(plumb_recv(rig.b, server, got, sizeof got, 0), 0);
    expect_equal(plumb_recv(rig.b, server, got, sizeof got, 0), 5);
    assert_memory_equal(got, "third", 5);
    expect_equal(plumb_recv(rig.b, server, got, sizeof got, 0), -PLUMB_EAGAIN);
    rig_end(&rig);
}

static void the_longest(void **state) {
    struct rig rig;
    (void)state;
    needs(CONFIG_PLUMB_IPV4_FRAGMENTS);
    rig_create(&rig, NULL, false);
    int server = open_bound(&rig), client = open_datagrams(rig.a);
    for (unsigned i = 0; i < LONGEST; i++)
        sent[i] = pattern_at(5, i);
    send_there(&rig, client, "x", 1); /* the neighbour becomes known */
    plumb_recv(rig.b, server, got, sizeof got, 0);
    expect_equal(send_there(&rig, client, sent, LONGEST + 1), -PLUMB_EMSGSIZE);
    expect_equal(send_there(&rig, client, sent, LONGEST), LONGEST);
    expect_equal(plumb_recv(rig.b, server, got, sizeof got, 0), LONGEST);
    assert_memory_equal(got, sent, LONGEST);
    rig_end(&rig);
}

static void vectors(void **state) {
    struct plumb_iov out[3] = {{"ab", 2}, {"cde", 3}, {"f", 1}};
    struct plumb_sockaddr_in there = rig_address(RIG_B, RIG_PORT);
    struct plumb_msghdr message = {
        .msg_name = &there, .msg_namelen = sizeof there, .msg_iov = out, .msg_iovlen = 3};
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    int server = open_bound(&rig), client = open_datagrams(rig.a);
    expect_equal(plumb_sendmsg(rig.a, client, &message, 0), 6);
    struct plumb_iov in[2] = {{got, 4}, {got + 10, 4}};
    expect_equal(plumb_readv(rig.b, server, in, 2), 6);
    assert_memory_equal(got, "abcd", 4);
    assert_memory_equal(got + 10, "ef", 2);
    /* An empty one in between, and one with more than any datagram has. */
    out[1] = (struct plumb_iov){NULL, 0};
    expect_equal(plumb_sendmsg(rig.a, client, &message, 0), 3);
    expect_equal(plumb_recv(rig.b, server, got, sizeof got, 0), 3);
    assert_memory_equal(got, "abf", 3);
    out[1] = (struct plumb_iov){sent, (size_t)INT32_MAX};
    expect_equal(plumb_sendmsg(rig.a, client, &message, 0), -PLUMB_EMSGSIZE);
    out[1] = (struct plumb_iov){sent, 4000}; /* several have to fit a buffer */
    expect_equal(plumb_sendmsg(rig.a, client, &message, 0), -PLUMB_EMSGSIZE);
    rig_end(&rig);
}

/* Nothing to send from: told, and it goes when there is something again. */
static void no_buffer(void **state) {
    struct plumb_sockaddr_in there = rig_address(RIG_B, RIG_PORT);
    struct plumb_iov out[2] = {{"ab", 2}, {"c", 1}};
    struct plumb_msghdr message = {
        .msg_name = &there, .msg_namelen = sizeof there, .msg_iov = out, .msg_iovlen = 2};
    struct plumb_packet *taken = NULL, *packet;
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    int server = open_bound(&rig), client = open_datagrams(rig.a);
    send_there(&rig, client, "x", 1); /* the neighbour becomes known */
    plumb_recv(rig.b, server, got, sizeof got, 0);
    rig_run(&rig, 10);
    while ((packet = plumb_packet_take(&rig.world->a.segments, 0)) != NULL) {
        packet->next = taken;
        taken = packet;
    }
    expect_equal(plumb_sendmsg(rig.a, client, &message, PLUMB_MSG_DONTWAIT), -PLUMB_ENOBUFS);
    while (taken) {
        packet = taken->next;
        plumb_packet_put(taken);
        taken = packet;
    }
    expect_equal(plumb_sendmsg(rig.a, client, &message, PLUMB_MSG_DONTWAIT), 3);
    rig_end(&rig);
}

static void errors(void **state) {
    struct plumb_sockaddr_in far = rig_address(0xc0000201, 9), no_port = rig_address(RIG_B, 0);
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    int server = open_bound(&rig), fd = open_datagrams(rig.b);
    struct plumb_sockaddr_in any = rig_address(0, RIG_PORT);
    (void)server;
    expect_equal(plumb_bind(rig.b, fd, &any, sizeof any), -PLUMB_EADDRINUSE);
    expect_equal(plumb_send(rig.b, fd, "x", 1, 0), -PLUMB_EDESTADDRREQ);
    expect_equal(plumb_sendto(rig.b, fd, "x", 1, 0, &far, sizeof far), -PLUMB_ENETUNREACH);
    expect_equal(plumb_sendto(rig.b, fd, "x", 1, 0, &no_port, sizeof no_port), -PLUMB_EINVAL);
    expect_equal(plumb_sendto(rig.b, fd, "x", 1, 0, &far, 4), -PLUMB_EINVAL);
    expect_equal(plumb_connect(rig.b, fd, &far, sizeof far), -PLUMB_ENETUNREACH);
    expect_equal(plumb_shutdown(rig.b, fd, PLUMB_SHUT_RD), -PLUMB_ENOTCONN);
    rig_end(&rig);
}

static void broadcasts_have_to_be_asked_for(void **state) {
    struct plumb_sockaddr_in all = rig_address(0xffffffff, RIG_PORT);
    struct plumb_sockaddr_in here = rig_address(0x0a0000ff, RIG_PORT);
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    int server = open_bound(&rig), client = open_datagrams(rig.a);
    expect_equal(plumb_sendto(rig.a, client, "x", 1, 0, &all, sizeof all), -PLUMB_EACCES);
    expect_equal(plumb_sendto(rig.a, client, "x", 1, 0, &here, sizeof here), -PLUMB_EACCES);
    expect_equal(rig_set(rig.a, client, PLUMB_SOL_SOCKET, PLUMB_SO_BROADCAST, 1), 0);
    expect_equal(plumb_sendto(rig.a, client, "all", 3, 0, &all, sizeof all), 3);
    expect_equal(plumb_sendto(rig.a, client, "here", 4, 0, &here, sizeof here), 4);
    expect_equal(plumb_recv(rig.b, server, got, sizeof got, 0), 3);
    expect_equal(plumb_recv(rig.b, server, got, sizeof got, 0), 4);
    rig_end(&rig);
}

/* A peer: what is sent goes to it, what comes is from it alone. */
static void connected(void **state) {
    struct plumb_sockaddr_in there = rig_address(RIG_B, RIG_PORT), name;
    struct plumb_sockaddr unspecified = {PLUMB_AF_UNSPEC, {0}};
    plumb_socklen length = sizeof name;
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    int server = open_bound(&rig), client = open_datagrams(rig.a), other = open_datagrams(rig.b);
    expect_equal(plumb_connect(rig.a, client, &there, sizeof there), 0);
    expect_equal(plumb_getpeername(rig.a, client, &name, &length), 0);
    expect_equal(name.sin_port, there.sin_port);
    expect_equal(plumb_send(rig.a, client, "ask", 3, 0), 3);
    expect_equal(plumb_recvfrom(rig.b, server, got, sizeof got, 0, &name, &length), 3);
    struct counters before = counters_now(&rig.world->a);
    expect_equal(plumb_sendto(rig.b, other, "stranger", 8, 0, &name, sizeof name), 8);
    rig_run(&rig, 10);
    counters_expect_drop(&rig.world->a, &before, "udp_socket", 1);
    expect_equal(plumb_sendto(rig.b, server, "yes", 3, 0, &name, sizeof name), 3);
    expect_equal(plumb_recv(rig.a, client, got, sizeof got, 0), 3);
    /* And no peer again. */
    expect_equal(plumb_connect(rig.a, client, &unspecified, sizeof unspecified), 0);
    expect_equal(plumb_getpeername(rig.a, client, &name, &length), -PLUMB_ENOTCONN);
    expect_equal(plumb_send(rig.a, client, "x", 1, 0), -PLUMB_EDESTADDRREQ);
    rig_end(&rig);
}

/* Nobody has the port: who is connected there is told once, by whatever call comes next. */
static void refused(void **state) {
    struct plumb_sockaddr_in there = rig_address(RIG_B, RIG_PORT);
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    int fd = open_datagrams(rig.a), other = open_datagrams(rig.a);
    plumb_connect(rig.a, fd, &there, sizeof there);
    expect_equal(plumb_send(rig.a, fd, "x", 1, 0), 1);
    expect_equal(plumb_recv(rig.a, fd, got, 1, 0), -PLUMB_ECONNREFUSED);
    plumb_send(rig.a, fd, "x", 1, 0);
    rig_run(&rig, 10);
    expect_equal(rig_poll(rig.a, fd), PLUMB_POLLOUT | PLUMB_POLLERR);
    expect_equal(plumb_send(rig.a, fd, "x", 1, 0), -PLUMB_ECONNREFUSED);
    expect_equal(rig_int(rig.a, fd, PLUMB_SOL_SOCKET, PLUMB_SO_ERROR), 0);
    expect_equal(send_there(&rig, other, "x", 1), 1); /* has no peer: is told nothing */
    rig_run(&rig, 10);
    expect_equal(rig_poll(rig.a, other), PLUMB_POLLOUT);
    /* Nor is one with another peer than the one it sent to. */
    struct plumb_sockaddr_in elsewhere = rig_address(RIG_B, RIG_PORT + 1);
    plumb_connect(rig.a, other, &there, sizeof there);
    plumb_sendto(rig.a, other, "x", 1, 0, &elsewhere, sizeof elsewhere);
    rig_run(&rig, 10);
    expect_equal(rig_poll(rig.a, other), PLUMB_POLLOUT);
    rig_end(&rig);
}

static void shut(void **state) {
    struct plumb_sockaddr_in there = rig_address(RIG_B, RIG_PORT);
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    int fd = open_datagrams(rig.a);
    plumb_connect(rig.a, fd, &there, sizeof there);
    expect_equal(plumb_shutdown(rig.a, fd, PLUMB_SHUT_WR), 0);
    expect_equal(plumb_send(rig.a, fd, "x", 1, 0), -PLUMB_EPIPE);
    expect_equal(rig_poll(rig.a, fd), PLUMB_POLLOUT);
    expect_equal(plumb_shutdown(rig.a, fd, PLUMB_SHUT_RD), 0);
    expect_equal(plumb_recv(rig.a, fd, got, 1, 0), 0);
    expect_equal(rig_poll(rig.a, fd),
                 PLUMB_POLLIN | PLUMB_POLLOUT | PLUMB_POLLHUP | PLUMB_POLLRDHUP);
    rig_end(&rig);
}

/* Who does not read keeps so much and no more; what is above is counted. */
static void a_socket_that_is_not_read(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    int server = open_bound(&rig), client = open_datagrams(rig.a);
    send_there(&rig, client, "x", 1);
    rig_run(&rig, 10);
    struct counters before = counters_now(&rig.world->b);
    for (unsigned i = 1; i < CONFIG_PLUMB_SOCKET_DATAGRAMS + 5; i++) {
        send_there(&rig, client, "x", 1);
        rig_run(&rig, 1);
    }
    counters_expect_drop(&rig.world->b, &before, "udp_socket", 5);
    for (unsigned i = 0; i < CONFIG_PLUMB_SOCKET_DATAGRAMS; i++)
        expect_equal(plumb_recv(rig.b, server, got, sizeof got, 0), 1);
    expect_equal(plumb_recv(rig.b, server, got, sizeof got, 0), -PLUMB_EAGAIN);
    /* Bytes count, too. */
    rig_set(rig.b, server, PLUMB_SOL_SOCKET, PLUMB_SO_RCVBUF, 2500);
    before = counters_now(&rig.world->b);
    for (unsigned i = 0; i < 4; i++) {
        send_there(&rig, client, sent, 1000);
        rig_run(&rig, 1);
    }
    counters_expect_drop(&rig.world->b, &before, "udp_socket", 2);
    rig_end(&rig);
}

/* With few buffers left nothing is kept, so that those who are read receive. */
static void a_pool_that_is_low(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, &(struct world_options){.receive_count = 16}, true);
    int server = open_bound(&rig), client = open_datagrams(rig.a), kept = 0;
    for (unsigned i = 0; i < 40; i++) {
        send_there(&rig, client, "x", 1);
        rig_run(&rig, 10);
    }
    while (plumb_recv(rig.b, server, got, sizeof got, 0) == 1)
        kept++;
    expect(kept >= 8 && kept <= 12);
    rig_end(&rig);
}

static void a_time_to_wait(void **state) {
    struct plumb_timeval time = {0, 20000};
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    int server = open_bound(&rig);
    plumb_setsockopt(rig.b, server, PLUMB_SOL_SOCKET, PLUMB_SO_RCVTIMEO, &time, sizeof time);
    expect_equal(plumb_recv(rig.b, server, got, 1, 0), -PLUMB_EAGAIN);
    expect_equal(rig.waited_us, 20000);
    rig_end(&rig);
}

/* However much comes for one that is not read, another beside it misses nothing. */
static void test_hostile_39_others_receive_all_the_same(void **state) {
    enum { ROUNDS = 100, BURST = 40 };
    struct plumb_sockaddr_in there = rig_address(RIG_B, RIG_PORT + 1);
    struct rig rig;
    (void)state;
    rig_create(&rig, &(struct world_options){.receive_count = 128}, true);
    int slow = open_bound(&rig), other = open_datagrams(rig.b), client = open_datagrams(rig.a);
    expect_equal(plumb_bind(rig.b, other, &there, sizeof there), 0);
    plumb_sendto(rig.a, client, "x", 1, 0, &there, sizeof there);
    rig_run(&rig, 10);
    expect_equal(plumb_recv(rig.b, other, got, sizeof got, 0), 1);
    struct counters before = counters_now(&rig.world->b);
    for (uint32_t round = 0, back = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < BURST; i++)
            send_there(&rig, client, sent, 1 + i * 30);
        expect_equal(plumb_sendto(rig.a, client, &round, sizeof round, 0, &there, sizeof there),
                     sizeof round);
        rig_run(&rig, 5);
        expect_equal(plumb_recv(rig.b, other, &back, sizeof back, 0), sizeof back);
        expect_equal(back, round);
        expect(rig.world->b.receive.free_count >= rig.world->b.receive.count / 4);
    }
    counters_expect_drop(&rig.world->b, &before, "udp_socket",
                         ROUNDS * BURST - CONFIG_PLUMB_SOCKET_DATAGRAMS);
    for (unsigned i = 0; i < CONFIG_PLUMB_SOCKET_DATAGRAMS; i++)
        expect_equal(plumb_recv(rig.b, slow, got, sizeof got, 0), 1 + i * 30);
    expect_equal(plumb_recv(rig.b, slow, got, sizeof got, 0), -PLUMB_EAGAIN);
    rig_end(&rig);
}

HARNESS_MAIN(cmocka_unit_test(to_and_fro), cmocka_unit_test(each_read_is_one_datagram),
             cmocka_unit_test(the_longest), cmocka_unit_test(vectors), cmocka_unit_test(no_buffer),
             cmocka_unit_test(errors), cmocka_unit_test(broadcasts_have_to_be_asked_for),
             cmocka_unit_test(connected), cmocka_unit_test(refused), cmocka_unit_test(shut),
             cmocka_unit_test(test_hostile_39_others_receive_all_the_same),
             cmocka_unit_test(a_socket_that_is_not_read), cmocka_unit_test(a_pool_that_is_low),
             cmocka_unit_test(a_time_to_wait))
