/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Sockets: poll and select. What is ready when stands in the tests of each kind. */
#include "socket_rig.h"

static void poll_of_none(void **state) {
    struct plumb_pollfd none = {-1, PLUMB_POLLIN, 99};
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    expect_equal(plumb_pollfds(rig.a, NULL, 0, 50), 0);
    expect_equal(rig.waited_us, 50000);
    expect_equal(plumb_pollfds(rig.a, &none, 1, 0), 0);
    expect_equal(none.revents, 0);
    rig_end(&rig);
}

static void poll_counts_descriptors(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    struct rig_connection c = rig_connect(&rig);
    struct plumb_pollfd fds[4] = {{c.a, PLUMB_POLLIN | PLUMB_POLLOUT, 0},
                                  {c.a, PLUMB_POLLIN, 0},
                                  {77, PLUMB_POLLIN, 0},
                                  {c.a, PLUMB_POLLOUT, 0}};
    expect_equal(plumb_pollfds(rig.a, fds, 4, -1), 3);
    expect_equal(fds[0].revents, PLUMB_POLLOUT);
    expect_equal(fds[1].revents, 0);
    expect_equal(fds[2].revents, PLUMB_POLLNVAL);
    expect_equal(fds[3].revents, PLUMB_POLLOUT);
    expect_equal(rig.waited_us, 0);
    rig_end(&rig);
}

static void send_from_b(struct rig *rig, void *context) {
    const int *fd = context;
    plumb_send(rig->b, *fd, "x", 1, 0);
}

static void poll_waits(void **state) {
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    struct rig_connection c = rig_connect(&rig);
    struct plumb_pollfd one = {c.a, PLUMB_POLLIN, 0};
    expect_equal(plumb_pollfds(rig.a, &one, 1, 30), 0);
    expect_equal(rig.waited_us, 30000);
    rig.meanwhile = send_from_b;
    rig.context = &c.b;
    expect_equal(plumb_pollfds(rig.a, &one, 1, -1), 1);
    expect_equal(one.revents, PLUMB_POLLIN);
    rig_end(&rig);
}

static void select_of_three_sets(void **state) {
    plumb_fd_set readable, writable, exceptional;
    struct plumb_timeval at_once = {0, 0};
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    struct rig_connection c = rig_connect(&rig);
    int other = rig_stream(rig.a);
    plumb_fd_zero(&readable);
    plumb_fd_zero(&exceptional);
    plumb_fd_add(c.a, &readable);
    plumb_fd_add(c.a, &exceptional);
    writable = readable;
    expect_equal(plumb_select(rig.a, other, &readable, &writable, &exceptional, &at_once), 1);
    expect(!plumb_fd_has(c.a, &readable));
    expect(plumb_fd_has(c.a, &writable));
    expect(!plumb_fd_has(c.a, &exceptional));
    send_from_b(&rig, &c.b);
    rig_run(&rig, 10);
    plumb_fd_add(c.a, &readable);
    expect_equal(plumb_select(rig.a, other, &readable, &writable, NULL, NULL), 2);
    expect(plumb_fd_has(c.a, &readable));
    /* Those at or above the count are not looked at. */
    expect_equal(plumb_select(rig.a, c.a, &readable, NULL, NULL, &at_once), 0);
    expect(!plumb_fd_has(c.a, &readable));
    rig_end(&rig);
}

static void select_waits(void **state) {
    plumb_fd_set readable;
    struct plumb_timeval time = {0, 40000};
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    struct rig_connection c = rig_connect(&rig);
    plumb_fd_zero(&readable);
    plumb_fd_add(c.a, &readable);
    expect_equal(plumb_select(rig.a, 16, &readable, NULL, NULL, &time), 0);
    expect_equal(rig.waited_us, 40000);
    expect_equal(plumb_select(rig.a, 0, NULL, NULL, NULL, &time), 0);
    expect_equal(rig.waited_us, 80000);
    plumb_fd_add(c.a, &readable);
    rig.meanwhile = send_from_b;
    rig.context = &c.b;
    expect_equal(plumb_select(rig.a, 16, &readable, NULL, NULL, NULL), 1);
    rig_end(&rig);
}

/* More seconds than milliseconds can say: as long as it takes. */
static void select_waits_for_ages(void **state) {
    plumb_fd_set readable;
    const struct plumb_timeval ages = {INT64_MAX, 0};
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    struct rig_connection c = rig_connect(&rig);
    plumb_fd_zero(&readable);
    plumb_fd_add(c.a, &readable);
    rig.meanwhile = send_from_b;
    rig.context = &c.b;
    expect_equal(plumb_select(rig.a, 16, &readable, NULL, NULL, &ages), 1);
    expect(plumb_fd_has(c.a, &readable));
    rig_end(&rig);
}

static void select_errors(void **state) {
    plumb_fd_set set;
    struct plumb_timeval time = {0, 1000000};
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    plumb_fd_zero(&set);
    expect_equal(plumb_select(rig.a, -1, &set, NULL, NULL, NULL), -PLUMB_EINVAL);
    expect_equal(plumb_select(rig.a, PLUMB_FD_SETSIZE + 1, &set, NULL, NULL, NULL), -PLUMB_EINVAL);
    expect_equal(plumb_select(rig.a, 1, &set, NULL, NULL, &time), -PLUMB_EINVAL);
    time = (struct plumb_timeval){-1, 0};
    expect_equal(plumb_select(rig.a, 1, &set, NULL, NULL, &time), -PLUMB_EINVAL);
    time = (struct plumb_timeval){0, -1};
    expect_equal(plumb_select(rig.a, 1, &set, NULL, NULL, &time), -PLUMB_EINVAL);
    plumb_fd_add(3, &set);
    expect_equal(plumb_select(rig.a, 8, &set, NULL, NULL, NULL), -PLUMB_EBADF);
    expect(plumb_fd_has(3, &set)); /* as it was */
    rig_end(&rig);
}

static void creation(void **state) {
    static PLUMB_SOCKETS_MEMORY(memory);
    struct plumb_sockets *sockets;
    struct rig rig;
    (void)state;
    rig_create(&rig, NULL, false);
    struct plumb *stack = rig.world->a.stack;
    uint8_t *odd = (uint8_t *)memory + 1;
    expect_equal(plumb_sockets_create(&sockets, NULL, sizeof memory, stack, NULL),
                 PLUMB_ERROR_INVALID);
    expect_equal(plumb_sockets_create(&sockets, odd, sizeof memory, stack, NULL),
                 PLUMB_ERROR_INVALID);
    expect_equal(plumb_sockets_create(&sockets, memory, sizeof memory, NULL, NULL),
                 PLUMB_ERROR_INVALID);
    expect_equal(plumb_sockets_create(&sockets, memory, 100, stack, NULL), PLUMB_ERROR_NO_MEMORY);
    expect_equal(plumb_sockets_create(&sockets, memory, sizeof memory, stack, NULL), PLUMB_OK);
    expect(plumb_sockets_stack(sockets) == stack);
    rig_end(&rig);
}

HARNESS_MAIN(cmocka_unit_test(poll_of_none), cmocka_unit_test(poll_counts_descriptors),
             cmocka_unit_test(poll_waits), cmocka_unit_test(select_of_three_sets),
             cmocka_unit_test(select_waits), cmocka_unit_test(select_waits_for_ages),
             cmocka_unit_test(select_errors), cmocka_unit_test(creation))
