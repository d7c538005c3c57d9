/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Sockets: sending, receiving and half-closing a stream, waiting and not. */
#include "socket_rig.h"

enum { MUCH = 300000 };

static uint8_t sent[MUCH], got[MUCH];

static void fill(void) {
    for (unsigned i = 0; i < MUCH; i++)
        sent[i] = pattern_at(3, i);
}

/* ---- receiving ---- */

static void nothing_there_is_eagain(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    struct rig_connection c = rig_connect(&rig);
    expect_equal(plumb_recv(rig.a, c.a, got, 1, PLUMB_MSG_DONTWAIT), -PLUMB_EAGAIN);
    expect_equal(plumb_fcntl(rig.a, c.a, PLUMB_F_SETFL, PLUMB_O_NONBLOCK), 0);
    expect_equal(plumb_recv(rig.a, c.a, got, 1, 0), -PLUMB_EAGAIN);
    int off = 0;
    expect_equal(plumb_ioctl(rig.a, c.a, PLUMB_FIONBIO, &off), 0);
    expect_equal(plumb_fcntl(rig.a, c.a, PLUMB_F_GETFL, 0), 0);
    expect_equal(plumb_recv(rig.a, c.a, got, 0, 0), 0); /* none wanted: at once */
    expect_equal(rig.waited_us, 0);
    rig_end(&rig);
}

static void send_from_b(struct rig *rig, void *context) {
    const int *fd = context;
    expect_equal(plumb_send(rig->b, *fd, "later", 5, 0), 5);
}

static void receiving_waits(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    struct rig_connection c = rig_connect(&rig);
    rig.meanwhile = send_from_b;
    rig.context = &c.b;
    expect_equal(plumb_recv(rig.a, c.a, got, sizeof got, 0), 5);
    assert_memory_equal(got, "later", 5);
    rig_end(&rig);
}

static void receiving_waits_so_long(void **state) {
    struct plumb_timeval time = {0, 250500};
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    struct rig_connection c = rig_connect(&rig);
    expect_equal(
        plumb_setsockopt(rig.a, c.a, PLUMB_SOL_SOCKET, PLUMB_SO_RCVTIMEO, &time, sizeof time), 0);
    expect_equal(plumb_recv(rig.a, c.a, got, 1, 0), -PLUMB_EAGAIN);
    expect_equal(rig.waited_us, 251000); /* rounded up */
    expect_equal(plumb_setsockopt(rig.b, c.listener, PLUMB_SOL_SOCKET, PLUMB_SO_RCVTIMEO, &time,
                                  sizeof time),
                 0);
    expect_equal(plumb_accept(rig.b, c.listener, NULL, NULL), -PLUMB_EAGAIN);
    expect_equal(rig.waited_us, 502000);
    rig_end(&rig);
}

/* Where there are no bytes but a connection that waits to be accepted. */
static void peeking_at_a_listener(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    int listener = rig_listen(&rig, 4), client = rig_stream(rig.a);
    expect_equal(rig_begin(&rig, client), -PLUMB_EINPROGRESS);
    rig_run(&rig, 10);
    expect(rig_poll(rig.b, listener) & PLUMB_POLLIN);
    expect_equal(plumb_recv(rig.b, listener, got, 100, PLUMB_MSG_PEEK), -PLUMB_ENOTCONN);
    expect_equal(plumb_recv(rig.b, listener, got, 100, 0), -PLUMB_ENOTCONN);
    rig_end(&rig);
}

static void peeking_takes_nothing(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    struct rig_connection c = rig_connect(&rig);
    fill();
    plumb_send(rig.b, c.b, sent, 5000, 0);
    rig_run(&rig, 10);
    int readable = 0;
    for (int i = 0; i < 2; i++) {
        expect_equal(plumb_ioctl(rig.a, c.a, PLUMB_FIONREAD, &readable), 0);
        expect_equal(readable, 5000);
        expect_equal(plumb_recv(rig.a, c.a, got, sizeof got, PLUMB_MSG_PEEK), 5000);
        assert_memory_equal(got, sent, 5000);
    }
    expect_equal(plumb_recv(rig.a, c.a, got, 1000, 0), 1000);
    expect_equal(plumb_recv(rig.a, c.a, got, 10, PLUMB_MSG_PEEK), 10);
    assert_memory_equal(got, sent + 1000, 10);
    expect_equal(plumb_recv(rig.a, c.a, got, sizeof got, 0), 4000);
    assert_memory_equal(got, sent + 1000, 4000);
    expect_equal(plumb_recv(rig.a, c.a, got, 1, PLUMB_MSG_PEEK), -PLUMB_EAGAIN);
    rig_end(&rig);
}

static void waitall_waits_for_all(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    struct rig_connection c = rig_connect(&rig);
    plumb_send(rig.b, c.b, "now, ", 5, 0);
    rig_run(&rig, 10);
    rig.meanwhile = send_from_b;
    rig.context = &c.b;
    expect_equal(plumb_recv(rig.a, c.a, got, 10, PLUMB_MSG_WAITALL | PLUMB_MSG_PEEK), 10);
    expect_equal(plumb_recv(rig.a, c.a, got, 10, PLUMB_MSG_WAITALL), 10);
    assert_memory_equal(got, "now, later", 10);
    rig_run(&rig, 100); /* or Nagle keeps the next behind the last */
    plumb_send(rig.b, c.b, "now, ", 5, 0);
    rig_run(&rig, 10);
    rig.meanwhile = send_from_b;
    expect_equal(plumb_recv(rig.a, c.a, got + 10, 10, PLUMB_MSG_WAITALL), 10);
    assert_memory_equal(got + 10, "now, later", 10);
    plumb_send(rig.b, c.b, "rest", 4, 0);
    plumb_shutdown(rig.b, c.b, PLUMB_SHUT_WR);
    expect_equal(plumb_recv(rig.a, c.a, got, 10, PLUMB_MSG_WAITALL | PLUMB_MSG_PEEK), 4);
    expect_equal(plumb_recv(rig.a, c.a, got, 10, PLUMB_MSG_WAITALL), 4);
    expect_equal(plumb_recv(rig.a, c.a, got, 10, PLUMB_MSG_WAITALL), 0);
    rig_end(&rig);
}

static void waitall_without_waiting_takes_what_there_is(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    struct rig_connection c = rig_connect(&rig);
    plumb_send(rig.b, c.b, "some", 4, 0);
    rig_run(&rig, 10);
    expect_equal(plumb_recv(rig.a, c.a, got, 10, PLUMB_MSG_WAITALL | PLUMB_MSG_DONTWAIT), 4);
    rig_end(&rig);
}

static void vectors(void **state) {
    struct plumb_iov out[4] = {{"ab", 2}, {NULL, 0}, {"cdefg", 5}, {"h", 1}};
    char one[3], two[10];
    struct plumb_iov in[3] = {{one, sizeof one}, {NULL, 0}, {two, sizeof two}};
    struct plumb_sockaddr_in name;
    struct plumb_msghdr message = {.msg_name = &name,
                                   .msg_namelen = sizeof name,
                                   .msg_iov = in,
                                   .msg_iovlen = 3,
                                   .msg_controllen = 7,
                                   .msg_flags = -1};
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    struct rig_connection c = rig_connect(&rig);
    expect_equal(plumb_writev(rig.b, c.b, out, 4), 8);
    rig_run(&rig, 10);
    expect_equal(plumb_recvmsg(rig.a, c.a, &message, PLUMB_MSG_PEEK), 8);
    assert_memory_equal(one, "abc", 3);
    assert_memory_equal(two, "defgh", 5);
    expect_equal(message.msg_namelen, 0);
    expect_equal(message.msg_controllen, 0);
    expect_equal(message.msg_flags, 0);
    two[0] = 0;
    expect_equal(plumb_readv(rig.a, c.a, in, 3), 8);
    assert_memory_equal(two, "defgh", 5);
    expect_equal(plumb_readv(rig.a, c.a, in, -1), -PLUMB_EINVAL);
    expect_equal(plumb_writev(rig.a, c.a, out, -1), -PLUMB_EINVAL);
    rig_end(&rig);
}

/* Nagle would keep the second vector back behind the first, were they two sends. */
static void vectors_go_out_as_one_segment(void **state) {
    struct plumb_iov out[2] = {{"head", 4}, {"body", 4}};
    struct plumb_tcp_info info;
    plumb_socklen length = sizeof info;
    struct rig rig;
    (void)state;
    needs(CONFIG_PLUMB_TCP_STATISTICS);
    rig_create(&rig, &(struct world_options){.faults = {.delay_us = 10000}}, true);
    int listener = rig_listen(&rig, 1), client = rig_stream(rig.a);
    rig_begin(&rig, client);
    rig_run(&rig, 100);
    expect_equal(plumb_writev(rig.a, client, out, 2), 8);
    expect_equal(plumb_getsockopt(rig.a, client, PLUMB_SOL_TCP, PLUMB_TCP_SO_INFO, &info, &length),
                 0);
    expect_equal(info.segments_out, 1);
    rig_run(&rig, 11);
    int server = plumb_accept(rig.b, listener, NULL, NULL);
    expect_equal(plumb_recv(rig.b, server, got, sizeof got, 0), 8);
    rig_end(&rig);
}

/* ---- sending ---- */

static void a_full_buffer_is_eagain(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    struct rig_connection c = rig_connect(&rig);
    fill();
    unsigned in = 0, out = 0;
    int part;
    while ((part = plumb_send(rig.a, c.a, sent + in, MUCH - in, 0)) > 0) {
        in += (unsigned)part;
        rig_run(&rig, 100);
    }
    expect_equal(part, -PLUMB_EAGAIN);
    expect(in >= CONFIG_PLUMB_TCP_SEND_BUFFER && in < MUCH);
    expect_equal(rig_poll(rig.a, c.a), 0);
    expect_equal(rig_poll(rig.b, c.b), PLUMB_POLLIN | PLUMB_POLLOUT);
    while ((part = plumb_recv(rig.b, c.b, got + out, MUCH - out, 0)) > 0) {
        out += (unsigned)part;
        rig_run(&rig, 100);
    }
    expect_equal(out, in);
    assert_memory_equal(got, sent, out);
    expect_equal(rig_poll(rig.a, c.a), PLUMB_POLLOUT);
    rig_end(&rig);
}

/* Not one byte too many: nothing was refused, yet poll has to tell when there is room. */
static void filled_to_the_byte(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, &(struct world_options){.faults = {.delay_us = 10000}}, true);
    int listener = rig_listen(&rig, 1), client = rig_stream(rig.a);
    rig_begin(&rig, client);
    rig_run(&rig, 100);
    expect_equal(plumb_send(rig.a, client, sent, CONFIG_PLUMB_TCP_SEND_BUFFER, 0),
                 CONFIG_PLUMB_TCP_SEND_BUFFER);
    expect_equal(rig_poll(rig.a, client), 0);
    rig_run(&rig, 1000);
    expect_equal(rig_poll(rig.a, client), PLUMB_POLLOUT);
    expect(plumb_accept(rig.b, listener, NULL, NULL) >= 0);
    rig_end(&rig);
}

/* A send would fail at once, full or not. */
static void full_and_shut(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    struct rig_connection c = rig_connect(&rig);
    while (plumb_send(rig.a, c.a, sent, MUCH, 0) > 0)
        rig_run(&rig, 100);
    expect_equal(plumb_shutdown(rig.a, c.a, PLUMB_SHUT_WR), 0);
    expect_equal(rig_poll(rig.a, c.a), PLUMB_POLLOUT);
    rig_end(&rig);
}

static struct {
    int fd;
    unsigned done;
} reader;

/* Reads at `b` whatever comes, in each turn of the world. */
static void read_at_b(struct world *world, void *context) {
    struct rig *rig = context;
    int part;
    (void)world;
    while (reader.fd >= 0 && (part = plumb_recv(rig->b, reader.fd, got + reader.done,
                                                MUCH - reader.done, PLUMB_MSG_DONTWAIT)) > 0)
        reader.done += (unsigned)part;
}

static void sending_waits_for_room(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    struct rig_connection c = rig_connect(&rig);
    fill();
    reader.fd = c.b;
    reader.done = 0;
    rig.world->turn = read_at_b;
    rig.world->context = &rig;
    expect_equal(plumb_send(rig.a, c.a, sent, MUCH, 0), MUCH);
    expect(rig.waited_us > 0);
    rig_run(&rig, 1000);
    expect_equal(reader.done, MUCH);
    assert_memory_equal(got, sent, MUCH);
    rig_end(&rig);
}

/* Some of it was sent, so that much is said; nothing was, so that is said. */
static void sending_waits_so_long(void **state) {
    struct plumb_timeval time = {0, 300000};
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    struct rig_connection c = rig_connect(&rig);
    expect_equal(
        plumb_setsockopt(rig.a, c.a, PLUMB_SOL_SOCKET, PLUMB_SO_SNDTIMEO, &time, sizeof time), 0);
    int part = plumb_send(rig.a, c.a, sent, MUCH, 0);
    expect(part > 0 && part < MUCH);
    expect_equal(rig.waited_us, 300000);
    while (plumb_send(rig.a, c.a, sent, MUCH, PLUMB_MSG_DONTWAIT) > 0)
        rig_run(&rig, 1000); /* what a closing window still takes */
    expect_equal(plumb_send(rig.a, c.a, sent, MUCH, 0), -PLUMB_EAGAIN);
    expect_equal(rig.waited_us, 600000);
    rig_end(&rig);
}

static void sending_without_a_connection(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    int fd = rig_stream(rig.a), listener = rig_listen(&rig, 1);
    expect_equal(plumb_send(rig.a, fd, "x", 1, 0), -PLUMB_ENOTCONN);
    expect_equal(plumb_recv(rig.a, fd, got, 1, 0), -PLUMB_ENOTCONN);
    expect_equal(plumb_send(rig.b, listener, "x", 1, 0), -PLUMB_ENOTCONN);
    expect_equal(plumb_recv(rig.b, listener, got, 1, 0), -PLUMB_ENOTCONN);
    expect_equal(plumb_shutdown(rig.a, fd, PLUMB_SHUT_RD), -PLUMB_ENOTCONN);
    expect_equal(plumb_shutdown(rig.b, listener, PLUMB_SHUT_RDWR), -PLUMB_ENOTCONN);
    rig_begin(&rig, fd);
    expect_equal(plumb_send(rig.a, fd, "x", 1, 0), -PLUMB_EAGAIN);
    expect_equal(plumb_recv(rig.a, fd, got, 1, 0), -PLUMB_EAGAIN);
    rig_end(&rig);
}

/* A blocking send on a socket that still connects waits for that, too. */
static void sending_waits_for_the_connection(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    int listener = rig_listen(&rig, 1), client = rig_stream(rig.a);
    rig_begin(&rig, client);
    expect_equal(plumb_send(rig.a, client, "early", 5, 0), 5);
    int server = plumb_accept(rig.b, listener, NULL, NULL);
    expect_equal(plumb_recv(rig.b, server, got, sizeof got, 0), 5);
    rig_end(&rig);
}

static void flags_and_names_that_are_refused(void **state) {
    struct plumb_sockaddr_in name = rig_address(RIG_B, 9);
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    struct rig_connection c = rig_connect(&rig);
    expect_equal(plumb_send(rig.a, c.a, "x", 1, PLUMB_MSG_OOB), -PLUMB_EOPNOTSUPP);
    expect_equal(plumb_recv(rig.a, c.a, got, 1, PLUMB_MSG_OOB), -PLUMB_EOPNOTSUPP);
    expect_equal(plumb_sendto(rig.a, c.a, "x", 1, 0, &name, sizeof name), -PLUMB_EISCONN);
    expect_equal(plumb_send(rig.a, c.a, "x", 1, PLUMB_MSG_NOSIGNAL), 1);
    expect_equal(plumb_shutdown(rig.a, c.a, 3), -PLUMB_EINVAL);
    rig_end(&rig);
}

/* ---- half-closing ---- */

static void shut_for_writing(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    struct rig_connection c = rig_connect(&rig);
    expect_equal(plumb_send(rig.a, c.a, "last", 4, 0), 4);
    expect_equal(plumb_shutdown(rig.a, c.a, PLUMB_SHUT_WR), 0);
    expect_equal(plumb_shutdown(rig.a, c.a, PLUMB_SHUT_WR), 0);
    expect_equal(plumb_send(rig.a, c.a, "x", 1, 0), -PLUMB_EPIPE);
    expect_equal(rig_poll(rig.a, c.a), PLUMB_POLLOUT); /* which would not block */
    rig_run(&rig, 10);
    expect_equal(plumb_recv(rig.b, c.b, got, 10, 0), 4);
    expect_equal(plumb_recv(rig.b, c.b, got, 10, 0), 0);
    /* The other way it goes on. */
    expect_equal(plumb_send(rig.b, c.b, "answer", 6, 0), 6);
    rig_run(&rig, 10);
    expect_equal(plumb_recv(rig.a, c.a, got, 10, 0), 6);
    expect_equal(plumb_recv(rig.a, c.a, got, 10, 0), -PLUMB_EAGAIN);
    expect_equal(plumb_shutdown(rig.b, c.b, PLUMB_SHUT_WR), 0);
    rig_run(&rig, 10);
    expect_equal(plumb_recv(rig.a, c.a, got, 10, 0), 0);
    expect_equal(rig_poll(rig.a, c.a),
                 PLUMB_POLLIN | PLUMB_POLLOUT | PLUMB_POLLRDHUP | PLUMB_POLLHUP);
    expect_equal(plumb_send(rig.a, c.a, "x", 1, 0), -PLUMB_EPIPE);
    rig_end(&rig);
}

/* What is unread, and what still comes, is thrown away; the peer does not notice. */
static void shut_for_reading(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    struct rig_connection c = rig_connect(&rig);
    plumb_send(rig.b, c.b, "unread", 6, 0);
    rig_run(&rig, 10);
    expect_equal(plumb_shutdown(rig.a, c.a, PLUMB_SHUT_RD), 0);
    expect_equal(plumb_recv(rig.a, c.a, got, 10, 0), 0);
    expect_equal(rig_poll(rig.a, c.a), PLUMB_POLLIN | PLUMB_POLLOUT | PLUMB_POLLRDHUP);
    for (unsigned i = 0; i < 10; i++) {
        expect_equal(plumb_send(rig.b, c.b, sent, 30000, 0), 30000);
        rig_run(&rig, 100);
    }
    expect_equal(plumb_recv(rig.a, c.a, got, 10, 0), 0);
    expect_equal(plumb_send(rig.a, c.a, "still", 5, 0), 5);
    rig_run(&rig, 10);
    expect_equal(plumb_recv(rig.b, c.b, got, 10, 0), 5);
    rig_end(&rig);
}

static void shut_both_ways(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    struct rig_connection c = rig_connect(&rig);
    expect_equal(plumb_shutdown(rig.a, c.a, PLUMB_SHUT_RDWR), 0);
    expect_equal(plumb_recv(rig.a, c.a, got, 1, 0), 0);
    expect_equal(plumb_send(rig.a, c.a, "x", 1, 0), -PLUMB_EPIPE);
    expect(rig_poll(rig.a, c.a) & PLUMB_POLLHUP);
    rig_run(&rig, 10);
    expect_equal(plumb_recv(rig.b, c.b, got, 1, 0), 0);
    rig_end(&rig);
}

static void shut_it(struct rig *rig, void *context) {
    const int *fd = context;
    expect_equal(plumb_shutdown(rig->a, *fd, PLUMB_SHUT_RD), 0);
}

static void shutting_ends_a_wait(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    struct rig_connection c = rig_connect(&rig);
    rig.meanwhile = shut_it;
    rig.context = &c.a;
    expect_equal(plumb_recv(rig.a, c.a, got, 1, 0), 0);
    rig_end(&rig);
}

/* ---- errors of the connection ---- */

static void reset_by_peer(struct rig *rig, const struct rig_connection *c) {
    struct plumb_linger linger = {1, 0};
    plumb_setsockopt(rig->b, c->b, PLUMB_SOL_SOCKET, PLUMB_SO_LINGER, &linger, sizeof linger);
    plumb_close(rig->b, c->b);
    rig_run(rig, 10);
}

static void a_reset_is_told_once(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    struct rig_connection c = rig_connect(&rig);
    reset_by_peer(&rig, &c);
    expect_equal(rig_poll(rig.a, c.a),
                 PLUMB_POLLIN | PLUMB_POLLOUT | PLUMB_POLLERR | PLUMB_POLLHUP | PLUMB_POLLRDHUP);
    expect_equal(plumb_send(rig.a, c.a, "x", 1, 0), -PLUMB_ECONNRESET);
    expect_equal(plumb_send(rig.a, c.a, "x", 1, 0), -PLUMB_EPIPE);
    expect_equal(plumb_recv(rig.a, c.a, got, 1, 0), 0);
    expect_equal(rig_int(rig.a, c.a, PLUMB_SOL_SOCKET, PLUMB_SO_ERROR), 0);
    expect(!(rig_poll(rig.a, c.a) & PLUMB_POLLERR));
    rig_end(&rig);
}

static void so_error_takes_it(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, true);
    struct rig_connection c = rig_connect(&rig);
    plumb_send(rig.b, c.b, "before", 6, 0);
    rig_run(&rig, 10);
    reset_by_peer(&rig, &c);
    expect_equal(plumb_recv(rig.a, c.a, got, 10, PLUMB_MSG_PEEK | PLUMB_MSG_WAITALL), 6);
    expect_equal(plumb_recv(rig.a, c.a, got, 10, 0), 6); /* bytes first */
    expect_equal(rig_int(rig.a, c.a, PLUMB_SOL_SOCKET, PLUMB_SO_ERROR), PLUMB_ECONNRESET);
    expect_equal(plumb_recv(rig.a, c.a, got, 10, 0), 0);
    rig_end(&rig);
}

static void no_answer_is_a_timeout(void **state) {
    struct rig rig;
    (void)state;
    needs(CONFIG_PLUMB_TCP_USER_TIMEOUT);
    rig_create(&rig, NULL, false);
    struct rig_connection c = rig_connect(&rig);
    expect_equal(rig_set(rig.a, c.a, PLUMB_SOL_TCP, PLUMB_TCP_SO_USER_TIMEOUT, 3000), 0);
    expect_equal(plumb_send(rig.a, c.a, "x", 1, 0), 1);
    plumb_wire_set_link(&rig.world->wire, false);
    expect_equal(plumb_send(rig.a, c.a, "x", 1, 0), 1);
    expect_equal(plumb_recv(rig.a, c.a, got, 1, 0), -PLUMB_ETIMEDOUT);
    rig_end(&rig);
}

/* A handler of the native API runs within the poll: nothing it waits for could come. */
static int in_handler;

static void call_from_handler(struct plumb_udp *udp, struct plumb_packet *payload,
                              const struct plumb_udp_source *source, void *context) {
    struct rig *rig = context;
    (void)udp;
    (void)payload;
    (void)source;
    in_handler = plumb_recv(rig->a, 0, got, 1, 0);
}

static void no_waiting_within_a_poll(void **state) {
    struct rig rig;
    struct plumb_udp *at_a, *at_b;
    (void)state;
    rig_create(&rig, NULL, false);
    struct rig_connection c = rig_connect(&rig);
    expect_equal(c.a, 0);
    in_handler = 0;
    plumb_udp_open(rig.world->a.stack, endpoint_of(0, 99), call_from_handler, &rig, &at_a);
    plumb_udp_open(rig.world->b.stack, endpoint_of(0, 99), call_from_handler, &rig, &at_b);
    plumb_udp_send(at_b, endpoint_of(RIG_A, 99), "x", 1);
    rig_run(&rig, 10);
    expect_equal(in_handler, -PLUMB_EAGAIN);
    rig_end(&rig);
}

HARNESS_MAIN(cmocka_unit_test(nothing_there_is_eagain), cmocka_unit_test(receiving_waits),
             cmocka_unit_test(receiving_waits_so_long), cmocka_unit_test(peeking_takes_nothing),
             cmocka_unit_test(peeking_at_a_listener), cmocka_unit_test(waitall_waits_for_all),
             cmocka_unit_test(waitall_without_waiting_takes_what_there_is),
             cmocka_unit_test(vectors), cmocka_unit_test(vectors_go_out_as_one_segment),
             cmocka_unit_test(a_full_buffer_is_eagain), cmocka_unit_test(filled_to_the_byte),
             cmocka_unit_test(full_and_shut), cmocka_unit_test(sending_waits_for_room),
             cmocka_unit_test(sending_waits_so_long),
             cmocka_unit_test(sending_without_a_connection),
             cmocka_unit_test(sending_waits_for_the_connection),
             cmocka_unit_test(flags_and_names_that_are_refused), cmocka_unit_test(shut_for_writing),
             cmocka_unit_test(shut_for_reading), cmocka_unit_test(shut_both_ways),
             cmocka_unit_test(shutting_ends_a_wait), cmocka_unit_test(a_reset_is_told_once),
             cmocka_unit_test(so_error_takes_it), cmocka_unit_test(no_answer_is_a_timeout),
             cmocka_unit_test(no_waiting_within_a_poll))
