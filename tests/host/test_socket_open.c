/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Sockets: making, naming, listening, accepting, connecting and closing, as POSIX says. */
#include "socket_rig.h"

static void socket_arguments(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    expect_equal(plumb_socket(rig.a, 10, PLUMB_SOCK_STREAM, 0), -PLUMB_EAFNOSUPPORT);
    expect_equal(plumb_socket(rig.a, PLUMB_AF_INET, 3, 0), -PLUMB_ESOCKTNOSUPPORT);
    expect_equal(plumb_socket(rig.a, PLUMB_AF_INET, PLUMB_SOCK_STREAM, 132),
                 -PLUMB_EPROTONOSUPPORT);
    expect_equal(plumb_socket(rig.a, PLUMB_AF_INET, PLUMB_SOCK_STREAM, PLUMB_IPPROTO_UDP),
                 -PLUMB_EPROTOTYPE);
    expect_equal(plumb_socket(rig.a, PLUMB_AF_INET, PLUMB_SOCK_DGRAM, PLUMB_IPPROTO_TCP),
                 -PLUMB_EPROTOTYPE);
    expect_equal(plumb_socket(rig.a, PLUMB_AF_INET, PLUMB_SOCK_DGRAM, PLUMB_IPPROTO_UDP), 0);
    expect_equal(plumb_socket(rig.a, PLUMB_AF_INET, PLUMB_SOCK_STREAM, PLUMB_IPPROTO_TCP), 1);
    rig_end(&rig);
}

/* The lowest that is free, and ENFILE when none is. */
static void descriptors(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    for (int i = 0; i < CONFIG_PLUMB_SOCKETS_MOST; i++)
        expect_equal(rig_stream(rig.a), i);
    expect_equal(plumb_socket(rig.a, PLUMB_AF_INET, PLUMB_SOCK_STREAM, 0), -PLUMB_ENFILE);
    expect_equal(plumb_close(rig.a, 3), 0);
    expect_equal(plumb_close(rig.a, 3), -PLUMB_EBADF);
    expect_equal(rig_stream(rig.a), 3);
    expect_equal(plumb_close(rig.a, -1), -PLUMB_EBADF);
    expect_equal(plumb_close(rig.a, CONFIG_PLUMB_SOCKETS_MOST), -PLUMB_EBADF);
    rig_end(&rig);
}

static void every_call_knows_a_bad_descriptor(void **state) {
    struct plumb_sockaddr_in address = rig_address(RIG_B, 1);
    struct plumb_msghdr message = {0};
    struct rig rig;
    plumb_socklen length = sizeof address;
    int value = 0;
    (void)state;
    rig_create(&rig, NULL, true);
    expect_equal(plumb_bind(rig.a, 0, &address, length), -PLUMB_EBADF);
    expect_equal(plumb_listen(rig.a, 0, 1), -PLUMB_EBADF);
    expect_equal(plumb_accept(rig.a, 0, NULL, NULL), -PLUMB_EBADF);
    expect_equal(plumb_connect(rig.a, 0, &address, length), -PLUMB_EBADF);
    expect_equal(plumb_shutdown(rig.a, 0, PLUMB_SHUT_RD), -PLUMB_EBADF);
    expect_equal(plumb_getsockname(rig.a, 0, &address, &length), -PLUMB_EBADF);
    expect_equal(plumb_getpeername(rig.a, 0, &address, &length), -PLUMB_EBADF);
    expect_equal(plumb_send(rig.a, 0, &value, 1, 0), -PLUMB_EBADF);
    expect_equal(plumb_recv(rig.a, 0, &value, 1, 0), -PLUMB_EBADF);
    expect_equal(plumb_sendmsg(rig.a, 0, &message, 0), -PLUMB_EBADF);
    expect_equal(plumb_recvmsg(rig.a, 0, &message, 0), -PLUMB_EBADF);
    expect_equal(plumb_getsockopt(rig.a, 0, PLUMB_SOL_SOCKET, PLUMB_SO_TYPE, &value, &length),
                 -PLUMB_EBADF);
    expect_equal(rig_set(rig.a, 0, PLUMB_SOL_SOCKET, PLUMB_SO_KEEPALIVE, 1), -PLUMB_EBADF);
    expect_equal(plumb_fcntl(rig.a, 0, PLUMB_F_GETFL, 0), -PLUMB_EBADF);
    expect_equal(plumb_ioctl(rig.a, 0, PLUMB_FIONREAD, &value), -PLUMB_EBADF);
    expect_equal(rig_poll(rig.a, 0), PLUMB_POLLNVAL);
    expect_equal(rig_poll(rig.a, CONFIG_PLUMB_SOCKETS_MOST), PLUMB_POLLNVAL);
    rig_end(&rig);
}

static void bind_errors(void **state) {
    struct plumb_sockaddr_in address = rig_address(RIG_A, 80);
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    int fd = rig_stream(rig.a);
    expect_equal(plumb_bind(rig.a, fd, &address, 8), -PLUMB_EINVAL);
    expect_equal(plumb_bind(rig.a, fd, NULL, sizeof address), -PLUMB_EINVAL);
    address.sin_family = 10;
    expect_equal(plumb_bind(rig.a, fd, &address, sizeof address), -PLUMB_EAFNOSUPPORT);
    address = rig_address(RIG_B, 80);
    expect_equal(plumb_bind(rig.a, fd, &address, sizeof address), -PLUMB_EADDRNOTAVAIL);
    address = rig_address(RIG_A, 80);
    expect_equal(plumb_bind(rig.a, fd, &address, sizeof address), 0);
    expect_equal(plumb_bind(rig.a, fd, &address, sizeof address), -PLUMB_EINVAL);
    rig_end(&rig);
}

/* One port: any address and a certain one collide; so do two that listen, whatever they set. */
static void bind_collisions(void **state) {
    struct plumb_sockaddr_in any = rig_address(0, 80), own = rig_address(RIG_A, 80);
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    int first = rig_stream(rig.a), second = rig_stream(rig.a);
    expect_equal(plumb_bind(rig.a, first, &own, sizeof own), 0);
    expect_equal(plumb_bind(rig.a, second, &own, sizeof own), -PLUMB_EADDRINUSE);
    expect_equal(plumb_bind(rig.a, second, &any, sizeof any), -PLUMB_EADDRINUSE);
    expect_equal(rig_set(rig.a, second, PLUMB_SOL_SOCKET, PLUMB_SO_REUSEADDR, 1), 0);
    expect_equal(plumb_bind(rig.a, second, &any, sizeof any), -PLUMB_EADDRINUSE);
    expect_equal(rig_set(rig.a, first, PLUMB_SOL_SOCKET, PLUMB_SO_REUSEADDR, 1), 0);
    expect_equal(plumb_listen(rig.a, first, 1), 0);
    expect_equal(plumb_bind(rig.a, second, &any, sizeof any), -PLUMB_EADDRINUSE);
    expect_equal(plumb_close(rig.a, first), 0);
    expect_equal(plumb_bind(rig.a, second, &any, sizeof any), 0);
    rig_end(&rig);
}

static void two_bound_with_reuse_and_one_listens(void **state) {
    struct plumb_sockaddr_in own = rig_address(RIG_A, 80);
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    int first = rig_stream(rig.a), second = rig_stream(rig.a);
    for (int i = 0; i < 2; i++) {
        int fd = i ? second : first;
        expect_equal(rig_set(rig.a, fd, PLUMB_SOL_SOCKET, PLUMB_SO_REUSEADDR, 1), 0);
        expect_equal(plumb_bind(rig.a, fd, &own, sizeof own), 0);
    }
    expect_equal(plumb_listen(rig.a, first, 1), 0);
    expect_equal(plumb_listen(rig.a, second, 1), -PLUMB_EADDRINUSE);
    rig_end(&rig);
}

/* A server that closed first leaves its port in TIME_WAIT: only SO_REUSEADDR has it again. */
static void reuseaddr_and_time_wait(void **state) {
    struct plumb_sockaddr_in any = rig_address(0, RIG_PORT);
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    struct rig_connection c = rig_connect(&rig);
    expect_equal(plumb_close(rig.b, c.b), 0);
    rig_run(&rig, 10);
    expect_equal(plumb_close(rig.a, c.a), 0);
    rig_run(&rig, 10);
    expect_equal(plumb_close(rig.b, c.listener), 0);
    int again = rig_stream(rig.b);
    expect_equal(plumb_bind(rig.b, again, &any, sizeof any), -PLUMB_EADDRINUSE);
    expect_equal(rig_set(rig.b, again, PLUMB_SOL_SOCKET, PLUMB_SO_REUSEADDR, 1), 0);
    expect_equal(plumb_bind(rig.b, again, &any, sizeof any), 0);
    expect_equal(plumb_listen(rig.b, again, 1), 0);
    rig_end(&rig);
}

static void port_0_is_chosen(void **state) {
    struct plumb_sockaddr_in any = rig_address(0, 0);
    plumb_socklen length = sizeof any;
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    int fd = rig_stream(rig.a);
    expect_equal(plumb_bind(rig.a, fd, &any, sizeof any), 0);
    expect_equal(plumb_getsockname(rig.a, fd, &any, &length), 0);
    expect_equal(length, sizeof any);
    expect(plumb_get16((plumb_be16){any.sin_port}) >= 49152);
    int unbound = rig_stream(rig.a);
    expect_equal(plumb_listen(rig.a, unbound, 1), 0);
    expect_equal(plumb_getsockname(rig.a, unbound, &any, &length), 0);
    expect(any.sin_port != 0);
    rig_end(&rig);
}

static void listen_and_accept_errors(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    int datagrams = plumb_socket(rig.b, PLUMB_AF_INET, PLUMB_SOCK_DGRAM, 0);
    int fresh = rig_stream(rig.b), listener = rig_listen(&rig, 1);
    expect_equal(plumb_listen(rig.b, datagrams, 1), -PLUMB_EOPNOTSUPP);
    expect_equal(plumb_accept(rig.b, datagrams, NULL, NULL), -PLUMB_EOPNOTSUPP);
    for (int how = -1; how <= 3; how += 4)
        expect_equal(plumb_shutdown(rig.b, listener, how), -PLUMB_EINVAL);
    int waiting = 7;
    expect_equal(plumb_ioctl(rig.b, listener, PLUMB_FIONREAD, &waiting), -PLUMB_EINVAL);
    expect_equal(plumb_ioctl(rig.b, datagrams, 9999, &waiting), -PLUMB_EINVAL);
    expect_equal(waiting, 7);
    expect_equal(plumb_ioctl(rig.b, datagrams, PLUMB_FIONREAD, &waiting), 0);
    expect_equal(waiting, 0);
    expect_equal(plumb_accept(rig.b, fresh, NULL, NULL), -PLUMB_EINVAL);
    expect_equal(plumb_accept4(rig.b, listener, NULL, NULL, 1), -PLUMB_EINVAL);
    plumb_fcntl(rig.b, listener, PLUMB_F_SETFL, PLUMB_O_NONBLOCK);
    expect_equal(plumb_accept(rig.b, listener, NULL, NULL), -PLUMB_EAGAIN);
    struct plumb_sockaddr_in there = rig_address(RIG_A, 9);
    expect_equal(plumb_connect(rig.b, listener, &there, sizeof there), -PLUMB_EISCONN);
    expect_equal(plumb_listen(rig.b, listener, 3), 0);
    struct rig_connection c;
    c.a = rig_stream(rig.a);
    expect_equal(rig_begin(&rig, c.a), -PLUMB_EINPROGRESS);
    rig_run(&rig, 10);
    expect_equal(plumb_listen(rig.a, c.a, 1), -PLUMB_EINVAL);
    rig_end(&rig);
}

/* None is one, and more than there are sockets are as many. */
static void backlogs_out_of_range(void **state) {
    static const int backlogs[] = {-1, 0, 1000};
    (void)state;
    for (unsigned i = 0; i < sizeof backlogs / sizeof *backlogs; i++) {
        struct rig rig;
        rig_create(&rig, NULL, true);
        int listener = rig_listen(&rig, backlogs[i]), client = rig_stream(rig.a);
        expect_equal(rig_begin(&rig, client), -PLUMB_EINPROGRESS);
        rig_run(&rig, 10);
        expect(plumb_accept(rig.b, listener, NULL, NULL) >= 0);
        rig_end(&rig);
    }
}

/* A socket that connects has its name already. */
static void bind_while_connecting(void **state) {
    struct plumb_sockaddr_in own = rig_address(RIG_A, 81);
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    int client = rig_stream(rig.a);
    rig_listen(&rig, 1);
    expect_equal(rig_begin(&rig, client), -PLUMB_EINPROGRESS);
    expect_equal(plumb_bind(rig.a, client, &own, sizeof own), -PLUMB_EINVAL);
    rig_end(&rig);
}

static void accept_gives_the_peers_name(void **state) {
    struct plumb_sockaddr_in peer, own;
    plumb_socklen length = sizeof peer;
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    int listener = rig_listen(&rig, 2), client = rig_stream(rig.a);
    expect_equal(rig_begin(&rig, client), -PLUMB_EINPROGRESS);
    rig_run(&rig, 10);
    expect_equal(plumb_close(rig.b, listener + 1), -PLUMB_EBADF); /* nobody's yet */
    expect_equal(rig_poll(rig.b, listener + 1), PLUMB_POLLNVAL);
    int server = plumb_accept4(rig.b, listener, &peer, &length, PLUMB_SOCK_NONBLOCK);
    expect_equal(server, listener + 1);
    expect_equal(length, sizeof peer);
    expect_equal(plumb_fcntl(rig.b, server, PLUMB_F_GETFL, 0), PLUMB_O_NONBLOCK);
    expect_equal(plumb_getsockname(rig.a, client, &own, &length), 0);
    assert_memory_equal(&own, &peer, sizeof own);
    expect_equal(own.sin_addr.s_addr, ipv4_of(RIG_A).be);
    expect_equal(plumb_getpeername(rig.b, server, &own, &length), 0);
    assert_memory_equal(&own, &peer, sizeof own);
    length = 4; /* cut, and the whole length told */
    peer.sin_addr.s_addr = 0;
    expect_equal(plumb_getpeername(rig.a, client, &peer, &length), 0);
    expect_equal(length, sizeof peer);
    expect_equal(peer.sin_port, plumb_put16(RIG_PORT).be);
    expect_equal(peer.sin_addr.s_addr, 0);
    rig_end(&rig);
}

/* As many as fit the backlog wait to be accepted. One more waits in its handshake, with what it
 * sends, until there is room. */
static void backlog(void **state) {
    struct rig rig;
    int clients[3];
    char bytes[8];
    (void)state;
    needs(CONFIG_PLUMB_TCP_SYN_CACHE);
    rig_create(&rig, NULL, true);
    int listener = rig_listen(&rig, 2);
    for (unsigned i = 0; i < 3; i++) {
        clients[i] = rig_stream(rig.a);
        expect_equal(rig_begin(&rig, clients[i]), -PLUMB_EINPROGRESS);
        rig_run(&rig, 10);
    }
    expect_equal(plumb_send(rig.a, clients[2], "patience", 8, 0), 8);
    rig_run(&rig, 10000);
    for (unsigned i = 0; i < 3; i++)
        expect_equal(rig_int(rig.a, clients[i], PLUMB_SOL_SOCKET, PLUMB_SO_ERROR), 0);
    struct counters before = counters_now(&rig.world->b);
    expect(plumb_accept(rig.b, listener, NULL, NULL) >= 0);
    expect(plumb_accept(rig.b, listener, NULL, NULL) >= 0);
    expect_equal(plumb_accept(rig.b, listener, NULL, NULL), -PLUMB_EAGAIN);
    expect_equal(counters_moved(&rig.world->b, &before, "tcp_opened"), 0);
    rig_run(&rig, 10000);
    int last = plumb_accept(rig.b, listener, NULL, NULL);
    expect(last >= 0);
    expect_equal(plumb_recv(rig.b, last, bytes, sizeof bytes, 0), 8);
    assert_memory_equal(bytes, "patience", 8);
    rig_end(&rig);
}

/* Whoever is not accepted in time is told so when he asks again. */
static void backlog_for_too_long(void **state) {
    struct rig rig;
    (void)state;
    needs(CONFIG_PLUMB_TCP_SYN_CACHE);
    rig_create(&rig, NULL, true);
    int listener = rig_listen(&rig, 1), first = rig_stream(rig.a), second = rig_stream(rig.a);
    rig_begin(&rig, first);
    rig_run(&rig, 10);
    rig_begin(&rig, second);
    rig_run(&rig, 200000);
    expect_equal(plumb_send(rig.a, second, "x", 1, 0), 1);
    rig_run(&rig, 10000);
    expect_equal(rig_int(rig.a, second, PLUMB_SOL_SOCKET, PLUMB_SO_ERROR), PLUMB_ECONNRESET);
    expect_equal(rig_int(rig.a, first, PLUMB_SOL_SOCKET, PLUMB_SO_ERROR), 0);
    expect(plumb_accept(rig.b, listener, NULL, NULL) >= 0);
    rig_end(&rig);
}

/* No descriptor is free: the same. */
static void accepting_without_a_descriptor(void **state) {
    struct rig rig;
    int others[CONFIG_PLUMB_SOCKETS_MOST - 1];
    (void)state;
    needs(CONFIG_PLUMB_TCP_SYN_CACHE);
    rig_create(&rig, NULL, true);
    int listener = rig_listen(&rig, 2), client = rig_stream(rig.a);
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        others[i] = rig_stream(rig.b);
    rig_begin(&rig, client);
    rig_run(&rig, 1000);
    expect_equal(plumb_accept(rig.b, listener, NULL, NULL), -PLUMB_EAGAIN);
    expect_equal(plumb_close(rig.b, others[0]), 0);
    rig_run(&rig, 10000);
    expect(plumb_accept(rig.b, listener, NULL, NULL) >= 0);
    expect_equal(rig_int(rig.a, client, PLUMB_SOL_SOCKET, PLUMB_SO_ERROR), 0);
    rig_end(&rig);
}

/* Those that wait at a listener end with it. */
static void closing_a_listener_resets_who_waits(void **state) {
    struct rig rig;
    char byte;
    (void)state;
    rig_create(&rig, NULL, true);
    int listener = rig_listen(&rig, 2), client = rig_stream(rig.a);
    rig_begin(&rig, client);
    rig_run(&rig, 10);
    expect_equal(plumb_close(rig.b, listener), 0);
    rig_run(&rig, 10);
    expect_equal(plumb_recv(rig.a, client, &byte, 1, 0), -PLUMB_ECONNRESET);
    for (int i = 0; i < CONFIG_PLUMB_SOCKETS_MOST; i++)
        rig_stream(rig.b); /* no slot is lost */
    rig_end(&rig);
}

/* It wrote, and went, before it was accepted: its bytes are there, then the end. */
static void a_connection_that_ended_is_accepted(void **state) {
    struct rig rig;
    char bytes[8];
    (void)state;
    rig_create(&rig, NULL, true);
    int listener = rig_listen(&rig, 2), client = rig_stream(rig.a);
    rig_begin(&rig, client);
    rig_run(&rig, 10);
    expect_equal(plumb_send(rig.a, client, "news", 4, 0), 4);
    rig_run(&rig, 10);
    rig_set(rig.a, client, PLUMB_SOL_SOCKET, PLUMB_SO_LINGER, 0);
    struct plumb_linger linger = {1, 0};
    plumb_setsockopt(rig.a, client, PLUMB_SOL_SOCKET, PLUMB_SO_LINGER, &linger, sizeof linger);
    expect_equal(plumb_close(rig.a, client), 0);
    rig_run(&rig, 10);
    int server = plumb_accept(rig.b, listener, NULL, NULL);
    expect(server >= 0);
    expect_equal(plumb_recv(rig.b, server, bytes, sizeof bytes, 0), 4);
    assert_memory_equal(bytes, "news", 4);
    expect_equal(plumb_recv(rig.b, server, bytes, sizeof bytes, 0), -PLUMB_ECONNRESET);
    expect_equal(plumb_recv(rig.b, server, bytes, sizeof bytes, 0), 0);
    rig_end(&rig);
}

/* ---- connect ---- */

static void connect_without_waiting(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    int listener = rig_listen(&rig, 2), client = rig_stream(rig.a);
    expect_equal(rig_poll(rig.a, client), PLUMB_POLLOUT | PLUMB_POLLHUP);
    expect_equal(rig_begin(&rig, client), -PLUMB_EINPROGRESS);
    expect_equal(rig_begin(&rig, client), -PLUMB_EALREADY);
    expect_equal(rig_poll(rig.a, client), 0);
    expect_equal(rig_poll(rig.b, listener), 0);
    rig_run(&rig, 10);
    expect_equal(rig_poll(rig.a, client), PLUMB_POLLOUT);
    expect_equal(rig_poll(rig.b, listener), PLUMB_POLLIN);
    expect_equal(rig_int(rig.a, client, PLUMB_SOL_SOCKET, PLUMB_SO_ERROR), 0);
    expect_equal(rig_begin(&rig, client), -PLUMB_EISCONN);
    rig_end(&rig);
}

static void connect_refused_without_waiting(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    int client = rig_stream(rig.a);
    expect_equal(rig_begin(&rig, client), -PLUMB_EINPROGRESS);
    rig_run(&rig, 10);
    expect_equal(rig_poll(rig.a, client),
                 PLUMB_POLLIN | PLUMB_POLLOUT | PLUMB_POLLERR | PLUMB_POLLHUP | PLUMB_POLLRDHUP);
    expect_equal(rig_int(rig.a, client, PLUMB_SOL_SOCKET, PLUMB_SO_ERROR), PLUMB_ECONNREFUSED);
    expect_equal(rig_int(rig.a, client, PLUMB_SOL_SOCKET, PLUMB_SO_ERROR), 0);
    /* The error has been told: another attempt begins, from another port. */
    struct plumb_sockaddr_in first, second;
    plumb_socklen length = sizeof first;
    plumb_getsockname(rig.a, client, &first, &length);
    rig_listen(&rig, 1);
    expect_equal(rig_begin(&rig, client), -PLUMB_EINPROGRESS);
    plumb_getsockname(rig.a, client, &second, &length);
    expect(first.sin_port != second.sin_port);
    rig_run(&rig, 10);
    expect_equal(rig_poll(rig.a, client), PLUMB_POLLOUT);
    rig_end(&rig);
}

static void connect_tells_the_error_of_the_last_attempt(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    int client = rig_stream(rig.a);
    rig_begin(&rig, client);
    rig_run(&rig, 10);
    expect_equal(rig_begin(&rig, client), -PLUMB_ECONNREFUSED);
    expect_equal(rig_begin(&rig, client), -PLUMB_EINPROGRESS);
    rig_end(&rig);
}

static void connect_waits(void **state) {
    struct plumb_sockaddr_in there = rig_address(RIG_B, RIG_PORT);
    struct rig rig;
    (void)state;
    rig_create(&rig, &(struct world_options){.faults = {.delay_us = 20000}}, false);
    int listener = rig_listen(&rig, 2), client = rig_stream(rig.a);
    expect_equal(plumb_connect(rig.a, client, &there, sizeof there), 0);
    expect(rig.waited_us >= 40000);
    expect_equal(plumb_connect(rig.a, client, &there, sizeof there), -PLUMB_EISCONN);
    expect(plumb_accept(rig.b, listener, NULL, NULL) >= 0);
    int other = rig_stream(rig.a);
    there.sin_port = plumb_put16(9).be;
    expect_equal(plumb_connect(rig.a, other, &there, sizeof there), -PLUMB_ECONNREFUSED);
    rig_end(&rig);
}

/* Nobody has the address: RFC 9293's time-out. With SO_SNDTIMEO connect comes back before, and
 * the attempt goes on. */
static void connect_times_out(void **state) {
    struct plumb_sockaddr_in nobody = rig_address(0x0a000063, 80);
    struct plumb_timeval second = {1, 0};
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    int client = rig_stream(rig.a);
    plumb_setsockopt(rig.a, client, PLUMB_SOL_SOCKET, PLUMB_SO_SNDTIMEO, &second, sizeof second);
    expect_equal(plumb_connect(rig.a, client, &nobody, sizeof nobody), -PLUMB_EINPROGRESS);
    expect_equal(rig.waited_us, SECOND);
    second.tv_sec = 0;
    plumb_setsockopt(rig.a, client, PLUMB_SOL_SOCKET, PLUMB_SO_SNDTIMEO, &second, sizeof second);
    expect_equal(plumb_connect(rig.a, client, &nobody, sizeof nobody), -PLUMB_ETIMEDOUT);
    expect(rig.waited_us > 60 * SECOND);
    rig_end(&rig);
}

static void connect_errors(void **state) {
    struct plumb_sockaddr_in far = rig_address(0xc0000201, 80), near = rig_address(RIG_B, 80);
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    int fd = rig_stream(rig.a);
    expect_equal(plumb_connect(rig.a, fd, &far, sizeof far), -PLUMB_ENETUNREACH);
    expect_equal(plumb_connect(rig.a, fd, &near, 3), -PLUMB_EINVAL);
    near.sin_family = 10;
    expect_equal(plumb_connect(rig.a, fd, &near, sizeof near), -PLUMB_EAFNOSUPPORT);
    near = rig_address(RIG_B, 0);
    expect_equal(plumb_connect(rig.a, fd, &near, sizeof near), -PLUMB_EINVAL);
    rig_end(&rig);
}

static void connect_from_a_port_of_ones_own(void **state) {
    struct plumb_sockaddr_in own = rig_address(RIG_A, 1234), peer;
    plumb_socklen length = sizeof peer;
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    int listener = rig_listen(&rig, 2), client = rig_stream(rig.a);
    expect_equal(plumb_bind(rig.a, client, &own, sizeof own), 0);
    expect_equal(rig_begin(&rig, client), -PLUMB_EINPROGRESS);
    rig_run(&rig, 10);
    expect(plumb_accept(rig.b, listener, &peer, &length) >= 0);
    assert_memory_equal(&peer, &own, sizeof own);
    /* The same four numbers again: in use. */
    int second = rig_stream(rig.a);
    rig_set(rig.a, client, PLUMB_SOL_SOCKET, PLUMB_SO_REUSEADDR, 1);
    rig_set(rig.a, second, PLUMB_SOL_SOCKET, PLUMB_SO_REUSEADDR, 1);
    expect_equal(plumb_bind(rig.a, second, &own, sizeof own), 0);
    expect_equal(rig_begin(&rig, second), -PLUMB_EADDRINUSE);
    rig_end(&rig);
}

static void getpeername_without_a_peer(void **state) {
    struct plumb_sockaddr_in peer;
    plumb_socklen length = sizeof peer;
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    int fd = rig_stream(rig.a), listener = rig_listen(&rig, 1);
    expect_equal(plumb_getpeername(rig.a, fd, &peer, &length), -PLUMB_ENOTCONN);
    expect_equal(plumb_getpeername(rig.b, listener, &peer, &length), -PLUMB_ENOTCONN);
    rig_begin(&rig, fd);
    expect_equal(plumb_getpeername(rig.a, fd, &peer, &length), -PLUMB_ENOTCONN);
    rig_end(&rig);
}

/* ---- close ---- */

static void close_is_seen_as_the_end(void **state) {
    struct rig rig;
    char byte;
    (void)state;
    rig_create(&rig, NULL, true);
    struct rig_connection c = rig_connect(&rig);
    expect_equal(plumb_send(rig.a, c.a, "x", 1, 0), 1);
    expect_equal(plumb_close(rig.a, c.a), 0);
    rig_run(&rig, 10);
    expect_equal(rig_poll(rig.b, c.b), PLUMB_POLLIN | PLUMB_POLLOUT | PLUMB_POLLRDHUP);
    expect_equal(plumb_recv(rig.b, c.b, &byte, 1, 0), 1);
    expect_equal(plumb_recv(rig.b, c.b, &byte, 1, 0), 0);
    expect_equal(plumb_recv(rig.b, c.b, &byte, 1, 0), 0);
    rig_end(&rig);
}

/* RFC 2525 section 2.17: bytes nobody read are no orderly end. */
static void close_with_bytes_unread_resets(void **state) {
    struct rig rig;
    char byte;
    (void)state;
    rig_create(&rig, NULL, true);
    struct rig_connection c = rig_connect(&rig);
    expect_equal(plumb_send(rig.a, c.a, "x", 1, 0), 1);
    rig_run(&rig, 10);
    expect_equal(plumb_close(rig.b, c.b), 0);
    rig_run(&rig, 10);
    expect_equal(plumb_recv(rig.a, c.a, &byte, 1, 0), -PLUMB_ECONNRESET);
    expect_equal(plumb_recv(rig.a, c.a, &byte, 1, 0), 0);
    expect_equal(plumb_send(rig.a, c.a, "x", 1, 0), -PLUMB_EPIPE);
    rig_end(&rig);
}

static void close_while_connecting(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    int client = rig_stream(rig.a);
    rig_listen(&rig, 1);
    rig_begin(&rig, client);
    expect_equal(plumb_close(rig.a, client), 0);
    rig_run(&rig, 100);
    rig_end(&rig);
}

static void set_linger(struct rig *rig, int fd, int on, int seconds) {
    struct plumb_linger linger = {on, seconds};
    expect_equal(
        plumb_setsockopt(rig->a, fd, PLUMB_SOL_SOCKET, PLUMB_SO_LINGER, &linger, sizeof linger), 0);
}

static void linger_0_resets(void **state) {
    struct rig rig;
    char byte;
    (void)state;
    rig_create(&rig, NULL, false);
    struct rig_connection c = rig_connect(&rig);
    set_linger(&rig, c.a, 1, 0);
    expect_equal(plumb_close(rig.a, c.a), 0);
    rig_run(&rig, 10);
    expect_equal(plumb_recv(rig.b, c.b, &byte, 1, 0), -PLUMB_ECONNRESET);
    rig_end(&rig);
}

/* close() comes back when the peer's stack has everything, and not before. */
static void linger_waits_for_the_acknowledgement(void **state) {
    static char bytes[30000];
    struct rig rig;
    (void)state;
    rig_create(&rig, &(struct world_options){.faults = {.delay_us = 50000}}, false);
    struct rig_connection c = {.listener = rig_listen(&rig, 1), .a = rig_stream(rig.a)};
    rig_begin(&rig, c.a);
    rig_run(&rig, 1000);
    c.b = plumb_accept(rig.b, c.listener, NULL, NULL);
    set_linger(&rig, c.a, 1, 5);
    expect_equal(plumb_send(rig.a, c.a, bytes, sizeof bytes, 0), sizeof bytes);
    uint64_t before = rig.waited_us;
    expect_equal(plumb_close(rig.a, c.a), 0);
    expect(rig.waited_us - before >= 100000);
    expect(rig.waited_us - before < SECOND);
    expect_equal(plumb_recv(rig.b, c.b, bytes, sizeof bytes, PLUMB_MSG_WAITALL), sizeof bytes);
    rig_end(&rig);
}

/* Meanwhile there is no such descriptor any more. */
static void close_again(struct rig *rig, void *context) {
    const int *fd = context;
    expect_equal(plumb_close(rig->a, *fd), -PLUMB_EBADF);
    expect_equal(rig_poll(rig->a, *fd), PLUMB_POLLNVAL);
}

/* The peer's window is closed: the time is over first. The rest is sent in the background. */
static void linger_ends(void **state) {
    static char bytes[100000];
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    struct rig_connection c = rig_connect(&rig);
    set_linger(&rig, c.a, 1, 2);
    int sent = 0, part;
    while ((part = plumb_send(rig.a, c.a, bytes, sizeof bytes, PLUMB_MSG_DONTWAIT)) > 0) {
        sent += part;
        rig_run(&rig, 100);
    }
    uint64_t before = rig.waited_us;
    rig.meanwhile = close_again;
    rig.context = &c.a;
    expect_equal(plumb_close(rig.a, c.a), 0);
    expect_equal(rig.waited_us - before, 2 * SECOND);
    expect_equal(plumb_socket(rig.a, PLUMB_AF_INET, PLUMB_SOCK_STREAM, 0), c.a);
    while (sent > 0) {
        part = plumb_recv(rig.b, c.b, bytes, sizeof bytes, 0);
        expect(part > 0);
        sent -= part;
    }
    expect_equal(plumb_recv(rig.b, c.b, bytes, sizeof bytes, 0), 0);
    rig_end(&rig);
}

/* ---- the time after ---- */

static void bytes_unread_outlive_the_connection(void **state) {
    static char bytes[20000], got[sizeof bytes];
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    struct rig_connection c = rig_connect(&rig);
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)pattern_at(1, i);
    expect_equal(plumb_shutdown(rig.b, c.b, PLUMB_SHUT_WR), 0);
    expect_equal(plumb_send(rig.a, c.a, bytes, sizeof bytes, 0), sizeof bytes);
    expect_equal(plumb_close(rig.a, c.a), 0);
    rig_run(&rig, 1000); /* both FINs are acknowledged: `b` is in TIME_WAIT or gone */
    expect_equal(plumb_recv(rig.b, c.b, got, 7777, PLUMB_MSG_PEEK), 7777);
    expect_equal(plumb_recv(rig.b, c.b, got, 7777, 0), 7777);
    expect_equal(plumb_recv(rig.b, c.b, got + 7777, sizeof got - 7777, 0), sizeof got - 7777);
    assert_memory_equal(got, bytes, sizeof got);
    expect_equal(plumb_recv(rig.b, c.b, got, 1, 0), 0);
    rig_end(&rig);
}

/* The pool is whole again though nobody ever read: rig_end asks. */
static void bytes_nobody_reads_are_given_back(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    struct rig_connection c = rig_connect(&rig);
    plumb_shutdown(rig.b, c.b, PLUMB_SHUT_WR);
    plumb_send(rig.a, c.a, "unread", 6, 0);
    plumb_close(rig.a, c.a);
    rig_run(&rig, 1000);
    expect_equal(plumb_close(rig.b, c.b), 0);
    rig_end(&rig);
}

/* Another thread closes what this one waits for. */
static void close_it(struct rig *rig, void *context) {
    const int *fd = context;
    expect_equal(plumb_close(rig->a, *fd), 0);
    rig_stream(rig->a); /* and the slot is taken again */
}

static void closed_while_waited_for(void **state) {
    struct rig rig;
    char byte;
    (void)state;
    rig_create(&rig, NULL, false);
    struct rig_connection c = rig_connect(&rig);
    rig.meanwhile = close_it;
    rig.context = &c.a;
    expect_equal(plumb_recv(rig.a, c.a, &byte, 1, 0), -PLUMB_EBADF);
    rig_end(&rig);
}

/* ---- a second interface, which leads nowhere ---- */

static int nowhere_start(struct plumb_netif *netif) {
    (void)netif;
    return PLUMB_OK;
}

static void nowhere_stop(struct plumb_netif *netif) {
    (void)netif;
}

static unsigned nowhere_poll(struct plumb_netif *netif, uint64_t now_us, unsigned budget) {
    (void)netif;
    (void)now_us;
    (void)budget;
    return 0;
}

static int nowhere_transmit(struct plumb_netif *netif, struct plumb_packet *packet) {
    (void)netif;
    (void)packet;
    return PLUMB_OK;
}

/* Addresses and broadcasts are those of either; what is bound to one goes by no other. */
static void two_interfaces(void **state) {
    static const struct plumb_netif_driver nowhere = {.start = nowhere_start,
                                                      .stop = nowhere_stop,
                                                      .poll = nowhere_poll,
                                                      .transmit = nowhere_transmit};
    static const uint32_t here[] = {RIG_A, FRAME_IPV4(10, 1, 0, 1)},
                          there[] = {RIG_B, FRAME_IPV4(10, 1, 0, 9)};
    struct plumb_netif second = {
        .driver = &nowhere, .name = "nowhere", .mtu = 1500, .landing = TEST_LANDING};
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    expect_equal(plumb_netif_attach(rig.world->a.stack, &second), PLUMB_OK);
    plumb_netif_set_ipv4(&second, ipv4_of(here[1]), ipv4_of(0xffffff00U), PLUMB_IPV4_ANY);
    for (unsigned i = 0; i < 2; i++) {
        struct plumb_sockaddr_in own = rig_address(here[i], 4000), peer = rig_address(there[i], 9),
                                 other = rig_address(there[!i], 9), name,
                                 all = rig_address(here[i] | 0xff, 9);
        plumb_socklen length = sizeof name;
        int bound = rig_stream(rig.a), unbound = rig_stream(rig.a);
        int datagrams = plumb_socket(rig.a, PLUMB_AF_INET, PLUMB_SOCK_DGRAM, 0);
        expect_equal(plumb_bind(rig.a, bound, &own, sizeof own), 0);
        expect_equal(plumb_connect(rig.a, bound, &other, sizeof other), -PLUMB_EADDRNOTAVAIL);
        plumb_fcntl(rig.a, unbound, PLUMB_F_SETFL, PLUMB_O_NONBLOCK);
        expect_equal(plumb_connect(rig.a, unbound, &peer, sizeof peer), -PLUMB_EINPROGRESS);
        expect_equal(plumb_getsockname(rig.a, unbound, &name, &length), 0);
        expect_equal(name.sin_addr.s_addr, own.sin_addr.s_addr);
        expect_equal(plumb_sendto(rig.a, datagrams, "x", 1, 0, &all, sizeof all), -PLUMB_EACCES);
    }
    plumb_netif_detach(&second);
    rig_end(&rig);
}

HARNESS_MAIN(
    cmocka_unit_test(two_interfaces), cmocka_unit_test(socket_arguments),
    cmocka_unit_test(descriptors), cmocka_unit_test(every_call_knows_a_bad_descriptor),
    cmocka_unit_test(bind_errors), cmocka_unit_test(bind_collisions),
    cmocka_unit_test(two_bound_with_reuse_and_one_listens),
    cmocka_unit_test(reuseaddr_and_time_wait), cmocka_unit_test(port_0_is_chosen),
    cmocka_unit_test(listen_and_accept_errors), cmocka_unit_test(backlogs_out_of_range),
    cmocka_unit_test(bind_while_connecting), cmocka_unit_test(accept_gives_the_peers_name),
    cmocka_unit_test(backlog), cmocka_unit_test(backlog_for_too_long),
    cmocka_unit_test(accepting_without_a_descriptor),
    cmocka_unit_test(closing_a_listener_resets_who_waits),
    cmocka_unit_test(a_connection_that_ended_is_accepted),
    cmocka_unit_test(connect_without_waiting), cmocka_unit_test(connect_refused_without_waiting),
    cmocka_unit_test(connect_tells_the_error_of_the_last_attempt), cmocka_unit_test(connect_waits),
    cmocka_unit_test(connect_times_out), cmocka_unit_test(connect_errors),
    cmocka_unit_test(connect_from_a_port_of_ones_own), cmocka_unit_test(getpeername_without_a_peer),
    cmocka_unit_test(close_is_seen_as_the_end), cmocka_unit_test(close_with_bytes_unread_resets),
    cmocka_unit_test(close_while_connecting), cmocka_unit_test(linger_0_resets),
    cmocka_unit_test(linger_waits_for_the_acknowledgement), cmocka_unit_test(linger_ends),
    cmocka_unit_test(bytes_unread_outlive_the_connection),
    cmocka_unit_test(bytes_nobody_reads_are_given_back), cmocka_unit_test(closed_while_waited_for))
