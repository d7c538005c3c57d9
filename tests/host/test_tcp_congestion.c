/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The congestion window: how it grows, and what losses, time-outs and silence leave of it.
 */
#include <string.h>

#include "peer.h"

#include "tcp/congestion.h"

enum { MSS = 1460 };

static uint8_t bytes[45 * MSS];

static void acknowledge(struct peer *peer, uint32_t number) {
    peer_send_at(peer, peer->sequence, number, TCP_ACK, 0, 0);
}

/* Takes everything that was sent and returns how many segments carried payload. */
static unsigned drain_payload(struct peer *peer) {
    unsigned count = 0;
    while (peer_take(peer))
        count += peer->last.length != 0;
    return count;
}

static unsigned send_segments(struct user *user, struct peer *peer, unsigned count) {
    expect_equal(plumb_tcp_send(user->connection, bytes, count * MSS), count * MSS);
    world_settle(peer->world);
    return drain_payload(peer);
}

static void choose(struct user *user, enum plumb_tcp_congestion algorithm) {
    expect_equal(plumb_tcp_set_option(user->connection, PLUMB_TCP_CONGESTION, algorithm), PLUMB_OK);
}

static void an_algorithm_is_chosen(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    choose(&user, PLUMB_TCP_RENO);
    expect_equal(plumb_tcp_set_option(user.connection, PLUMB_TCP_CONGESTION, 2),
                 PLUMB_ERROR_INVALID);
    expect_equal(plumb_tcp_set_option(user.connection, PLUMB_TCP_CONGESTION, PLUMB_TCP_CUBIC),
                 PLUMB_IS_SET_(CONFIG_PLUMB_TCP_CUBIC) ? PLUMB_OK : PLUMB_ERROR_INVALID);
    disconnected(world, &user);
}

/* RFC 5681 section 3.1, RFC 3465 section 2.2: by what is acknowledged, two segments for one
 * acknowledgement. */
static void slow_start_grows_by_bytes(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    uint32_t base = peer.acknowledgement;
    expect_equal(send_segments(&user, &peer, 40), 10);
    acknowledge(&peer, base + 500);
    expect_equal(user_info(&user).congestion_window, 10 * MSS + 500);
    acknowledge(&peer, base + 4 * MSS);
    expect_equal(user_info(&user).congestion_window, 12 * MSS + 500);
    disconnected(world, &user);
}

/* RFC 5681 section 3.1, equation 3 counting bytes. */
static void reno_grows_by_a_segment_a_window(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    uint32_t base = peer.acknowledgement;
    choose(&user, PLUMB_TCP_RENO);
    user.connection->slow_start_threshold = 10 * MSS;
    user.connection->congestion_acked = 0;
    expect_equal(send_segments(&user, &peer, 40), 10);
    acknowledge(&peer, base + 9 * MSS);
    expect_equal(user_info(&user).congestion_window, 10 * MSS);
    acknowledge(&peer, base + 10 * MSS);
    expect_equal(user_info(&user).congestion_window, 11 * MSS);
    disconnected(world, &user);
}

/* RFC 7661 section 4.3: what is not made use of does not grow. */
static void an_unused_window_does_not_grow(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    for (unsigned i = 0; i < 50; i++) {
        expect_equal(send_segments(&user, &peer, 4), 4);
        acknowledge(&peer, peer.acknowledgement += 4 * MSS);
    }
    expect_equal(user_info(&user).congestion_window, 10 * MSS);
    disconnected(world, &user);
}

static void lose_one(struct peer *peer, uint32_t base) {
    for (unsigned i = 0; i < 3; i++)
        acknowledge(peer, base);
}

/* RFC 5681 section 3.1, equation 4, and RFC 9438 section 4.6; what limited transmit adds does
 * not count. */
static void a_loss_sets_the_threshold(void **state) {
    (void)state;
    for (enum plumb_tcp_congestion i = PLUMB_TCP_RENO; i <= PLUMB_TCP_CUBIC; i++) {
        struct user user = {0};
        struct peer peer;
        if (i == PLUMB_TCP_CUBIC)
            needs(CONFIG_PLUMB_TCP_CUBIC);
        struct world *world = connected(&user, &peer, 0);
        choose(&user, i);
        expect_equal(send_segments(&user, &peer, 20), 10);
        lose_one(&peer, peer.acknowledgement);
        expect_equal(user_info(&user).slow_start_threshold,
                     i == PLUMB_TCP_CUBIC ? 10 * MSS * 717 / 1024 : 5 * MSS);
        disconnected(world, &user);
    }
}

/* RFC 5681 section 3.1: of time-outs in a row only the first says what was in flight. */
static void a_time_out_leaves_one_segment(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    choose(&user, PLUMB_TCP_RENO);
    expect_equal(send_segments(&user, &peer, 20), 10);
    for (unsigned i = 0; i < 3; i++) {
        while (!peer_take(&peer))
            world_run(world, 100 * MILLISECOND);
        expect_equal(drain_payload(&peer), 0);
        expect_equal(user_info(&user).congestion_window, MSS);
        expect_equal(user_info(&user).slow_start_threshold, 5 * MSS);
    }
    disconnected(world, &user);
}

/* RFC 5681 section 4.1. */
static void silence_takes_the_window_back(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    user.connection->congestion_window = 40 * MSS;
    user.connection->slow_start_threshold = 20 * MSS;
    expect_equal(send_segments(&user, &peer, 1), 1);
    acknowledge(&peer, peer.acknowledgement += MSS);
    world_run(world, (user_info(&user).rto_ms - 10) * MILLISECOND);
    expect_equal(send_segments(&user, &peer, 1), 1);
    expect_equal(user_info(&user).congestion_window, 40 * MSS);
    acknowledge(&peer, peer.acknowledgement += MSS);
    world_run(world, (user_info(&user).rto_ms + 10) * MILLISECOND);
    expect_equal(send_segments(&user, &peer, 40), 10);
    expect_equal(user_info(&user).congestion_window, 10 * MSS);
    expect_equal(user_info(&user).slow_start_threshold, 30 * MSS);
    disconnected(world, &user);
}

#ifdef CONFIG_PLUMB_TCP_CUBIC

/* After seconds in which nothing was heard of the peer. */
static void introduced_and_disconnected(struct world *world, struct user *user) {
    world_introduce(world);
    disconnected(world, user);
}

static double cube(double x) {
    return x * x * x;
}

/* A window of 70 segments after a loss at 100, every `rtt_ms` wholly acknowledged. */
static struct plumb_tcp *after_a_loss(struct user *user, unsigned rtt_ms) {
    struct plumb_tcp *connection = user->connection;
    connection->congestion_window = connection->slow_start_threshold = 70 * MSS;
    pl_tcp_keep_loss(connection)->cubic_most = 100 * MSS;
    connection->srtt_us = rtt_ms * 1000;
    return connection;
}

static void expect_within(double value, double wanted, double part) {
    if (value < wanted * (1 - part) || value > wanted * (1 + part))
        fail_msg("%.2f is not %.2f", value, wanted);
}

/* RFC 9438 sections 4.2, 4.4 and 4.5: one loss in 100 segments, at a round trip of 200 ms. */
static void cubic_follows_the_curve(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    struct plumb_tcp *connection = after_a_loss(&user, 200);
    const double k = 4.2172; /* (30 / 0.4) ^ (1/3) */
    for (double t = 0; t < 10; t += 0.2) {
        pl_tcp_cubic_avoid(connection, connection->congestion_window);
        expect_within(connection->congestion_window / (double)MSS, 100 + 0.4 * cube(t + 0.2 - k),
                      0.005);
        world_run(world, 200 * MILLISECOND);
    }
    introduced_and_disconnected(world, &user);
}

/* The same acknowledged a segment at a time: what is rounded off does not add up. */
static void cubic_loses_nothing_by_rounding(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    struct plumb_tcp *connection = after_a_loss(&user, 200);
    for (unsigned ms = 0; ms < 8000; ms += 2) {
        pl_tcp_cubic_avoid(connection, MSS);
        world_run(world, 2 * MILLISECOND);
    }
    /* A hundred segments in each 200 ms; the curve is followed a round trip behind. */
    expect_within(connection->congestion_window / (double)MSS, 100 + 0.4 * cube(8 - 4.2172), 0.03);
    introduced_and_disconnected(world, &user);
}

/* RFC 9438 section 4.3: with a round trip of 10 ms Reno would be faster, so it is as fast; by
 * 0.53 segments a window, and by one above the window of the loss. */
static void cubic_is_no_slower_than_reno(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    struct plumb_tcp *connection = after_a_loss(&user, 10);
    for (unsigned i = 0; i < 50; i++) {
        pl_tcp_cubic_avoid(connection, connection->congestion_window);
        world_run(world, 10 * MILLISECOND);
    }
    expect_within(connection->congestion_window / (double)MSS, 70 + 50 * 0.529, 0.01);
    for (unsigned i = 0; i < 20; i++) {
        pl_tcp_cubic_avoid(connection, connection->congestion_window);
        world_run(world, 10 * MILLISECOND);
    }
    expect_within(connection->congestion_window / (double)MSS, 100 + 13, 0.005);
    introduced_and_disconnected(world, &user);
}

/* RFC 9438 section 4.7: W_max is lower when the last one was not reached. */
static void cubic_gives_way(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    struct plumb_tcp *connection = after_a_loss(&user, 100);
    connection->congestion_window = 80 * MSS;
    expect_within(pl_tcp_cubic_reduce(connection, 80 * MSS), 56 * MSS, 0.001);
    expect_within(pl_tcp_loss(connection)->cubic_most, 68 * MSS, 0.001);
    connection->congestion_window = 90 * MSS;
    pl_tcp_cubic_reduce(connection, 90 * MSS);
    expect_equal(pl_tcp_loss(connection)->cubic_most, 90 * MSS);
    introduced_and_disconnected(world, &user);
}

/* RFC 9438 section 4.8: after a time-out the curve begins flat where slow start ends. */
static void cubic_after_a_time_out(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    struct plumb_tcp *connection = after_a_loss(&user, 200);
    pl_tcp_congestion_timeout(connection);
    connection->congestion_window = 50 * MSS;
    for (double t = 0; t < 4; t += 0.2) {
        pl_tcp_cubic_avoid(connection, connection->congestion_window);
        world_run(world, 200 * MILLISECOND);
    }
    expect_within(connection->congestion_window / (double)MSS, 50 + 0.4 * cube(4), 0.02);
    introduced_and_disconnected(world, &user);
}

/* RFC 9438 section 5.8: time in which the window is not used does not count. */
static void cubic_does_not_grow_while_unused(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    struct plumb_tcp *connection = after_a_loss(&user, 200);
    pl_tcp_cubic_avoid(connection, connection->congestion_window);
    uint32_t window = connection->congestion_window;
    world_run(world, 4 * SECOND);
    pl_tcp_congestion_acked(connection, MSS, 1);
    pl_tcp_cubic_avoid(connection, connection->congestion_window);
    /* One round trip further, and not four seconds. */
    expect(connection->congestion_window < window + 6 * MSS);
    introduced_and_disconnected(world, &user);
}

#define CUBIC                                                                                      \
    cmocka_unit_test(cubic_follows_the_curve), cmocka_unit_test(cubic_loses_nothing_by_rounding),  \
        cmocka_unit_test(cubic_is_no_slower_than_reno), cmocka_unit_test(cubic_gives_way),         \
        cmocka_unit_test(cubic_after_a_time_out),                                                  \
        cmocka_unit_test(cubic_does_not_grow_while_unused),
#else
#define CUBIC
#endif

HARNESS_MAIN(CUBIC cmocka_unit_test(an_algorithm_is_chosen),
             cmocka_unit_test(slow_start_grows_by_bytes),
             cmocka_unit_test(reno_grows_by_a_segment_a_window),
             cmocka_unit_test(an_unused_window_does_not_grow),
             cmocka_unit_test(a_loss_sets_the_threshold),
             cmocka_unit_test(a_time_out_leaves_one_segment),
             cmocka_unit_test(silence_takes_the_window_back))
