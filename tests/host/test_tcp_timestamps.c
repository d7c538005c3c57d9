/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Timestamps (RFC 7323): agreed on, echoed, checked and measured by. */
#include <string.h>

#include <plumb_config.h>

#include "peer.h"
#include "tcp/tcp.h"

#ifdef CONFIG_PLUMB_TCP_TIMESTAMPS

enum { MSS = 1460, STAMPED_MSS = MSS - 12 };

static const uint8_t bytes[8 * MSS];

static uint32_t word_at(const uint8_t *from) {
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

/* The timestamps of the segment taken last, which has to have some. */
static uint32_t value_of(const struct peer *peer) {
    const uint8_t *option = peer_option(peer, 8);
    assert_non_null(option);
    expect_equal(option[1], 10);
    return word_at(option + 2);
}

static uint32_t echo_of(const struct peer *peer) {
    const uint8_t *option = peer_option(peer, 8);
    assert_non_null(option);
    return word_at(option + 6);
}

/* The stack's clock on this connection. */
static uint32_t clock_of(const struct user *user) {
    return plumb_now_ms(user->side->stack) + user->connection->timestamp_offset;
}

/* ---- agreed on (section 3.2) ---- */

static void offered_when_opening(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connecting(&user, &peer);
    expect_equal(value_of(&peer), clock_of(&user));
    expect_equal(echo_of(&peer), 0);
    /* Not answered: none from now on. */
    static const uint8_t mss[4] = {2, 4, 0x05, 0xb4};
    peer_send_syn(&peer, TCP_SYN | TCP_ACK, mss, 4);
    peer_expect(&peer, TCP_ACK);
    expect_equal(peer.last.options_length, 0);
    expect_equal(user_info(&user).mss, MSS);
    disconnected(world, &user);
}

static void taken_when_answered(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connecting(&user, &peer);
    uint8_t options[16] = {2, 4, 0x05, 0xb4, 8, 10, 0x80, 0, 0, 7, 0, 0, 0, 0, 1, 1};
    peer_send_syn(&peer, TCP_SYN | TCP_ACK, options, 16);
    peer_expect(&peer, TCP_ACK);
    expect_equal(peer.last.options_length, 12);
    expect_equal(echo_of(&peer), 0x80000007);
    expect_equal(user_info(&user).mss, STAMPED_MSS);
    disconnected(world, &user);
}

static void answered_only_when_offered(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    expect_equal(user_info(&user).mss, MSS);
    expect_equal(plumb_tcp_send(user.connection, bytes, 100), 100);
    world_settle(world);
    expect_equal(peer_accept(&peer, TCP_ACK)->options_length, 0);
    /* None was agreed on: one that comes all the same says nothing. */
    peer.stamped = true;
    peer_send(&peer, TCP_ACK, "abc", 3);
    peer.stamp -= 100;
    peer_send(&peer, TCP_ACK, "def", 3);
    expect_equal(user.length, 6);
    disconnected(world, &user);
    world = connected_stamped(&user, &peer, 0);
    expect_equal(user_info(&user).mss, STAMPED_MSS);
    disconnected(world, &user);
}

/* A SYN whose option has another length has none. */
static void of_a_wrong_length_is_none(void **state) {
    (void)state;
    for (uint8_t length = 2; length < 16; length++) {
        struct user user = {0};
        struct world *world = world_single(0);
        world_introduce(world);
        user_listen(&user, &world->a, 80);
        struct peer peer = peer_at(world, 40000, 80);
        uint8_t options[16] = {8, length, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
        peer_send_syn(&peer, TCP_SYN, options, 16);
        peer_expect(&peer, TCP_SYN | TCP_ACK);
        expect_equal(peer_option(&peer, 8) != 0, length == 10);
        disconnected(world, &user);
    }
}

/* Payload, acknowledgements, FIN and RST. */
static void in_every_segment(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected_stamped(&user, &peer, 0);
    plumb_tcp_set_option(user.connection, PLUMB_TCP_NODELAY, 1);
    expect_equal(plumb_tcp_send(user.connection, bytes, 3 * STAMPED_MSS + 100),
                 3 * STAMPED_MSS + 100);
    world_settle(world);
    for (unsigned i = 0; i < 4; i++) {
        expect_equal(peer_accept(&peer, TCP_ACK)->length, i < 3 ? STAMPED_MSS : 100);
        expect_equal(peer.last.options_length, 12);
        expect_equal(word_at(peer.last.options), 0x0101080a);
        expect_equal(value_of(&peer), clock_of(&user));
        expect_equal(echo_of(&peer), peer.stamp);
    }
    peer.stamp += 3;
    peer_send(&peer, TCP_ACK, "x", 1);
    world_run(world, 50 * MILLISECOND);
    expect_equal(peer_expect(&peer, TCP_ACK)->length, 0);
    expect_equal(echo_of(&peer), peer.stamp);
    plumb_tcp_shutdown(user.connection);
    world_settle(world);
    peer_accept(&peer, TCP_FIN | TCP_ACK);
    expect_equal(echo_of(&peer), peer.stamp);
    plumb_tcp_abort(user.connection);
    user.connection = 0;
    peer_expect(&peer, TCP_RST | TCP_ACK);
    expect_equal(peer_option(&peer, 8) != 0, true);
    disconnected(world, &user);
}

/* In a segment without, one of a connection that has them is dropped; a RST is not. */
static void missing(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected_stamped(&user, &peer, 0);
    struct counters before = counters_now(&world->a);
    peer.stamped = false;
    peer_send_at(&peer, peer.sequence, peer.acknowledgement, TCP_ACK, "abc", 3);
    counters_expect_drop(&world->a, &before, "tcp_timestamp_missing", 1);
    peer_expect_nothing(&peer);
    expect_equal(user.length, 0);
    peer_send_at(&peer, peer.sequence, peer.acknowledgement, TCP_RST, 0, 0);
    expect_equal(user.error, PLUMB_ERROR_RESET);
    disconnected(world, &user);
}

/* So it is with the handshake's last ACK, which may still come as it should. */
static void missing_in_the_last_of_the_handshake(void **state) {
    (void)state;
    struct user user = {0};
    struct world *world = world_single(0);
    world_introduce(world);
    user_listen(&user, &world->a, 80);
    struct peer peer = peer_at(world, 40000, 80);
    uint8_t options[12] = {8, 10, 0, 0, 0, 7, 0, 0, 0, 0, 1, 1};
    peer_send_syn(&peer, TCP_SYN, options, 12);
    peer_accept(&peer, TCP_SYN | TCP_ACK);
    expect_equal(echo_of(&peer), 7);
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(user.accepted, 0);
    world_run(world, 3100 * MILLISECOND);
    peer_expect(&peer, TCP_SYN | TCP_ACK);
    expect_equal(echo_of(&peer), 7);
    peer.stamped = true;
    peer.stamp = 8;
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(user.accepted, 1);
    disconnected(world, &user);
}

/* ---- the clock (sections 5.4 and 7.1) ---- */

static void counts_milliseconds_from_anywhere(void **state) {
    (void)state;
    uint32_t first[2];
    struct user user = {0};
    struct world *world = world_single(0);
    world_introduce(world);
    for (unsigned i = 0; i < 2; i++) {
        struct peer peer = peer_at(world, 80, (uint16_t)(5000 + i));
        user_connect_from(&user, (uint16_t)(5000 + i), &world->a, world->b.address, 80);
        peer_accept(&peer, TCP_SYN);
        first[i] = value_of(&peer) - plumb_now_ms(world->a.stack);
        world_run(world, 1010 * MILLISECOND); /* it is sent again after 1000 or so */
        peer_expect(&peer, TCP_SYN);
        expect(first[i] - (value_of(&peer) - plumb_now_ms(world->a.stack)) <= 10);
        plumb_tcp_abort(user.connection);
        user.connection = 0;
    }
    expect(first[0] - first[1] + 100000 > 200000);
    /* The same four numbers again: the clock goes on. */
    struct peer peer = peer_at(world, 80, 5000);
    user_connect_from(&user, 5000, &world->a, world->b.address, 80);
    peer_accept(&peer, TCP_SYN);
    expect_equal(value_of(&peer) - plumb_now_ms(world->a.stack), first[0]);
    disconnected(world, &user);
}

/* ---- which is echoed (section 4.3, its three situations) ---- */

static void delayed_acknowledgement_echoes_the_first(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected_stamped(&user, &peer, 0);
    uint32_t first = ++peer.stamp;
    peer_send(&peer, TCP_ACK, "a", 1);
    peer.stamp++;
    peer_send(&peer, TCP_ACK, "b", 1);
    peer.stamp++;
    peer_send(&peer, TCP_ACK, "c", 1);
    world_run(world, 50 * MILLISECOND);
    peer_expect(&peer, TCP_ACK);
    expect_equal(peer.last.acknowledgement, peer.sequence);
    expect_equal(echo_of(&peer), first);
    disconnected(world, &user);
}

static void a_hole_echoes_the_last_in_order_and_then_what_filled_it(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected_stamped(&user, &peer, 0);
    uint32_t base = peer.sequence, in_order = ++peer.stamp;
    peer_send_at(&peer, base, peer.acknowledgement, TCP_ACK, "a", 1);
    world_run(world, 50 * MILLISECOND);
    peer_expect(&peer, TCP_ACK);
    for (unsigned i = 2; i < 4; i++) {
        peer.stamp++;
        peer_send_at(&peer, base + i, peer.acknowledgement, TCP_ACK, "c", 1);
        expect_equal(peer_expect(&peer, TCP_ACK)->acknowledgement, base + 1);
        expect_equal(echo_of(&peer), in_order);
    }
    peer.stamp++;
    peer_send_at(&peer, base + 1, peer.acknowledgement, TCP_ACK, "b", 1);
    expect_equal(peer_expect(&peer, TCP_ACK)->acknowledgement, base + 4);
    expect_equal(echo_of(&peer), peer.stamp);
    disconnected(world, &user);
}

/* ---- old duplicates (section 5.3) ---- */

static void an_old_one_is_answered_and_dropped(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected_stamped(&user, &peer, 0);
    struct counters before = counters_now(&world->a);
    uint32_t recent = peer.stamp;
    peer.stamp = recent - 1;
    peer_send_at(&peer, peer.sequence, peer.acknowledgement, TCP_ACK, "old", 3);
    counters_expect_drop(&world->a, &before, "tcp_timestamp_old", 1);
    expect_equal(user.length, 0);
    expect_equal(peer_expect(&peer, TCP_ACK)->acknowledgement, peer.sequence);
    expect_equal(echo_of(&peer), recent);
    /* The same and the next are not old, across the clock's wrap. */
    peer.stamp = recent;
    peer_send(&peer, TCP_ACK, "same", 4);
    peer.stamp = recent + 0x7fffffff;
    peer_send(&peer, TCP_ACK, "next", 4);
    expect_equal(user.length, 8);
    disconnected(world, &user);
}

/* Two peers that take each other's for old do not answer for ever. */
static void empty_old_ones_are_answered_so_often(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected_stamped(&user, &peer, 0);
    struct counters before = counters_now(&world->a);
    unsigned answers = 0;
    peer.stamp -= 5;
    for (unsigned i = 0; i < 100; i++)
        peer_send(&peer, TCP_ACK, 0, 0);
    while (peer_take(&peer))
        answers++;
    expect(answers > 0 && answers < 20);
    counters_expect_drop(&world->a, &before, "tcp_timestamp_old", 100);
    disconnected(world, &user);
}

static void a_reset_is_never_old(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected_stamped(&user, &peer, 0);
    peer.stamp -= 5;
    peer_send_at(&peer, peer.sequence, peer.acknowledgement, TCP_RST, 0, 0);
    expect_equal(user.error, PLUMB_ERROR_RESET);
    disconnected(world, &user);
}

/* What lies outside the window moves nothing (R2 before R3). */
static void outside_the_window_is_not_remembered(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected_stamped(&user, &peer, 0);
    uint32_t recent = peer.stamp;
    peer.stamp = recent + 1000;
    peer_send_at(&peer, peer.sequence + 100000, peer.acknowledgement, TCP_ACK, "far", 3);
    peer_send_at(&peer, peer.sequence - 100, peer.acknowledgement, TCP_ACK, "far", 3);
    expect_equal(user.connection->timestamp_recent, recent);
    peer.stamp = recent + 1;
    peer_send(&peer, TCP_ACK, "next", 4);
    expect_equal(user.length, 4);
    disconnected(world, &user);
}

/* After 24 days without a word the last one is worth nothing (section 5.5). */
static void one_of_last_month_is_forgotten(void **state) {
    const uint64_t day = 24 * 3600 * SECOND;
    (void)state;
    for (unsigned days = 23; days < 26; days += 2) {
        struct user user = {0};
        struct peer peer;
        struct world *world = connected_stamped(&user, &peer, 0);
        world_run(world, days * day);
        world_drain(world);
        world_introduce(world);
        peer.stamp -= 5;
        peer_send(&peer, TCP_ACK, "late", 4);
        expect_equal(user.length, days > 24 ? 4 : 0);
        if (days > 24)
            expect_equal(user.connection->timestamp_recent, peer.stamp);
        disconnected(world, &user);
    }
}

/* ---- round trips (section 4) ---- */

/* What was sent again is measured, by the echo of the time that arrived. */
static void a_repeated_segment_is_measured(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected_stamped(&user, &peer, 0);
    expect_equal(plumb_tcp_send(user.connection, bytes, 100), 100);
    world_settle(world);
    peer_expect(&peer, TCP_ACK);
    uint32_t first = peer.echo;
    /* The first copy's echo comes after 1.3 seconds and a repetition. */
    world_run(world, 1300 * MILLISECOND);
    while (peer_take(&peer))
        ;
    expect(peer.echo != first);
    peer.acknowledgement += 100;
    peer.echo = first;
    uint32_t before = user_info(&user).srtt_us;
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(user_info(&user).srtt_us, before - before / 8 + 1300000 / 8);
    disconnected(world, &user);
}

/* Of a round's many samples each weighs less: about as much in all as one (appendix G). */
static void many_samples_weigh_as_one(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected_stamped(&user, &peer, 0);
    user.connection->srtt_us = 100000;
    user.connection->rttvar_us = 0;
    expect_equal(plumb_tcp_send(user.connection, bytes, 8 * STAMPED_MSS), 8 * STAMPED_MSS);
    world_run(world, 180 * MILLISECOND);
    for (unsigned i = 0; i < 8; i++) {
        peer_accept(&peer, TCP_ACK);
        peer_send(&peer, TCP_ACK, 0, 0);
    }
    /* One sample would give 110000; each of 8 an eighth, later ones less divided. */
    expect(user_info(&user).srtt_us > 108000);
    expect(user_info(&user).srtt_us < 135000);
    disconnected(world, &user);
}

/* Nonsense is not believed: from the future, or from long ago. */
static void echoes_of_nothing(void **state) {
    static const uint32_t offsets[] = {1, 1000, 0x80000000, (uint32_t)-200000};
    (void)state;
    for (unsigned i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        struct user user = {0};
        struct peer peer;
        struct world *world = connected_stamped(&user, &peer, 0);
        user.connection->srtt_us = 50000;
        expect_equal(plumb_tcp_send(user.connection, bytes, 100), 100);
        world_settle(world);
        peer_accept(&peer, TCP_ACK);
        peer.echo = clock_of(&user) + offsets[i];
        peer_send(&peer, TCP_ACK, 0, 0);
        expect_equal(user_info(&user).srtt_us, 50000);
        disconnected(world, &user);
    }
}

/* ---- two stacks ---- */

static void two_stacks_agree_and_lose_nothing(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct world *world = world_pair(&(struct world_options){
            .seed = seed,
            .faults = {.loss = 300, .reordering = 1000, .duplication = 300, .delay_us = 20000}});
        struct user sender = {0}, receiver = {0};
        uint8_t sent[200000];
        size_t done = 0;
        user_listen(&receiver, &world->b, 80);
        user_connect(&sender, &world->a, world->b.address, 80);
        for (unsigned i = 0; i < sizeof sent; i++)
            sent[i] = pattern_at((uint32_t)seed, i);
        for (unsigned turns = 0; receiver.length < sizeof sent && turns < 600000; turns++) {
            int taken = sender.events & PLUMB_TCP_CONNECTED
                            ? plumb_tcp_send(sender.connection, sent + done, sizeof sent - done)
                            : 0;
            done += taken > 0 ? (size_t)taken : 0;
            world_run(world, MILLISECOND);
        }
        expect_equal(receiver.length, sizeof sent);
        assert_memory_equal(receiver.bytes, sent, sizeof sent);
        expect(sender.connection->agreed & PL_TCP_TIMESTAMPS);
        user_end(&sender);
        user_end(&receiver);
        world_run(world, 300 * SECOND);
        world_end(world);
    }
}

HARNESS_MAIN(cmocka_unit_test(offered_when_opening), cmocka_unit_test(taken_when_answered),
             cmocka_unit_test(answered_only_when_offered),
             cmocka_unit_test(of_a_wrong_length_is_none), cmocka_unit_test(in_every_segment),
             cmocka_unit_test(missing), cmocka_unit_test(missing_in_the_last_of_the_handshake),
             cmocka_unit_test(counts_milliseconds_from_anywhere),
             cmocka_unit_test(delayed_acknowledgement_echoes_the_first),
             cmocka_unit_test(a_hole_echoes_the_last_in_order_and_then_what_filled_it),
             cmocka_unit_test(an_old_one_is_answered_and_dropped),
             cmocka_unit_test(empty_old_ones_are_answered_so_often),
             cmocka_unit_test(a_reset_is_never_old),
             cmocka_unit_test(outside_the_window_is_not_remembered),
             cmocka_unit_test(one_of_last_month_is_forgotten),
             cmocka_unit_test(a_repeated_segment_is_measured),
             cmocka_unit_test(many_samples_weigh_as_one), cmocka_unit_test(echoes_of_nothing),
             cmocka_unit_test(two_stacks_agree_and_lose_nothing))

#else

static void left_out(void **state) {
    (void)state;
    skip();
}

HARNESS_MAIN(cmocka_unit_test(left_out))

#endif
