/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* TCP: a path that takes less than the interface (RFC 1191, RFC 2923, RFC 5927). */
#include <string.h>

#include <plumb_config.h>

#include "peer.h"

enum { BYTES = 20000, CODE_TOO_LONG = 4 };

static uint8_t bytes[BYTES], got[BYTES];

static struct world *sending(struct user *user, struct peer *peer) {
    struct world *world = connected(user, peer, 0);
    for (unsigned i = 0; i < BYTES; i++)
        bytes[i] = pattern_at(5, i);
    memset(got, 0, BYTES);
    expect_equal(plumb_tcp_send(user->connection, bytes, BYTES), BYTES);
    world_settle(world);
    return world;
}

/* A router's message about a segment of `total` bytes with this number. */
static void too_long(struct peer *peer, uint32_t sequence, unsigned total, unsigned mtu) {
    struct frame quoted, frame;
    struct frame_path back = frame_path_back(&peer->path);
    frame_tcp(&quoted, &back, sequence, peer->sequence, TCP_ACK, 1000, 0, 0, 0, 0);
    frame_put16(&quoted, FRAME_NETWORK + 2, total);
    frame_icmp(&frame, &peer->path, 3, CODE_TOO_LONG, mtu, quoted.bytes + FRAME_NETWORK, 28);
    world_inject(peer->world, &frame);
}

/* Takes what was sent, up to `most` bytes of payload each, larger ones being lost on the way;
 * until all has come. Returns the largest that came. */
static unsigned take_all(struct peer *peer, unsigned most, uint64_t limit_us) {
    uint32_t base = peer->acknowledgement;
    unsigned largest = 0, longest = 0;
    uint64_t end = peer->world->now_us + limit_us;
    while (peer->acknowledgement - base < BYTES) {
        expect(peer->world->now_us < end);
        bool news = false;
        while (peer_take(peer)) {
            uint32_t offset = peer->last.sequence - base;
            longest = peer->last.length > longest ? peer->last.length : longest;
            if (peer->last.length > most || offset + peer->last.length > BYTES)
                continue;
            memcpy(got + offset, peer->last.payload, peer->last.length);
            largest = peer->last.length > largest ? peer->last.length : largest;
            if (peer->last.sequence == peer->acknowledgement) {
                peer->acknowledgement += peer->last.length;
                news = true;
            }
        }
        if (news)
            peer_send(peer, TCP_ACK, 0, 0);
        else
            world_run(peer->world, 10 * MILLISECOND);
    }
    assert_memory_equal(got, bytes, BYTES);
    return largest;
}

/* RFC 1191 sections 5, 6.4 and 7: at once, in segments that pass, and from then on. */
static void a_router_says_so(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_PMTUD);
    static const struct {
        unsigned mtu, size;
    } cases[] = {{0, 1452},  {1499, 1459}, {1492, 1452}, {1280, 1240}, {1006, 966}, {577, 537},
                 {576, 536}, {575, 536},   {296, 536},   {68, 536},    {67, 536},   {1, 536}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct user user = {0};
        struct peer peer;
        struct world *world = sending(&user, &peer);
        struct counters before = counters_now(&world->a);
        world_drain(world);
        uint64_t began = world->now_us;
        too_long(&peer, peer.acknowledgement, 1500, cases[i].mtu);
        expect_equal(user_info(&user).mss, cases[i].size);
        expect_equal(counters_moved(&world->a, &before, "tcp_path_mtu"), 1);
        expect_equal(take_all(&peer, cases[i].size, SECOND), cases[i].size);
        /* No time-out was needed, nor was it taken for congestion. */
        expect_equal(world->now_us, began);
        expect_equal(counters_moved(&world->a, &before, "tcp_timeout"), 0);
        expect_equal(counters_moved(&world->a, &before, "tcp_fast_retransmit"), 0);
        expect_equal(plumb_tcp_send(user.connection, bytes, BYTES), BYTES);
        world_settle(world);
        expect_equal(take_all(&peer, cases[i].size, SECOND), cases[i].size);
        disconnected(world, &user);
    }
}

/* What cannot be, or is about nothing in flight, changes nothing (RFC 5927 section 4.1). */
static void messages_that_are_not_believed(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = sending(&user, &peer);
    unsigned in_flight = 0;
    while (peer_take(&peer))
        in_flight += peer.last.length;
    expect(in_flight > 1460);
    struct counters before = counters_now(&world->a);
    too_long(&peer, peer.acknowledgement - 1, 1500, 576);
    too_long(&peer, peer.acknowledgement + in_flight, 1500, 576);
    too_long(&peer, peer.acknowledgement + 0x7fffffff, 1500, 576);
    too_long(&peer, peer.acknowledgement + 0x80000000U, 1500, 576);
    counters_expect_drop(&world->a, &before, "icmp_quote", 4);
    if (PLUMB_IS_SET_(CONFIG_PLUMB_TCP_PMTUD)) {
        too_long(&peer, peer.acknowledgement, 1500, 1500);
        too_long(&peer, peer.acknowledgement, 1500, 65535);
        too_long(&peer, peer.acknowledgement, 100, 576);
        too_long(&peer, peer.acknowledgement, 500, 0);
        counters_expect_drop(&world->a, &before, "icmp_quote", 8);
    }
    expect_equal(user_info(&user).mss, 1460);
    peer_expect_nothing(&peer);
    disconnected(world, &user);
}

/* However many messages come, what is in flight is sent again as often as it gets smaller. */
static void many_messages(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_PMTUD);
    struct user user = {0};
    struct peer peer;
    struct world *world = sending(&user, &peer);
    struct counters before = counters_now(&world->a);
    for (unsigned mtu = 1600; mtu--;) {
        too_long(&peer, peer.acknowledgement, 1500, mtu);
        world_drain(world);
    }
    expect_equal(user_info(&user).mss, 536);
    expect(counters_moved(&world->a, &before, "tcp_path_mtu") <= 1460 - 536);
    for (unsigned i = 0; i < 1000; i++)
        too_long(&peer, peer.acknowledgement, 1500, 576);
    peer_expect_nothing(&peer);
    take_all(&peer, 536, 10 * SECOND);
    disconnected(world, &user);
}

/* RFC 2923 section 2.1: nobody says anything, and large segments vanish. */
static void a_black_hole(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_PMTUD);
    static const struct {
        unsigned most, size;
    } cases[] = {{1459, 730}, {730, 730}, {729, 536}, {536, 536}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct user user = {0};
        struct peer peer;
        struct world *world = sending(&user, &peer);
        expect_equal(take_all(&peer, cases[i].most, 60 * SECOND), cases[i].size);
        expect_equal(user_info(&user).mss, cases[i].size);
        disconnected(world, &user);
    }
}

/* After a time-out the window is one segment of the new size. */
static void one_small_segment_at_a_time(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_PMTUD);
    struct user user = {0};
    struct peer peer;
    struct world *world = sending(&user, &peer);
    world_run(world, 12000 * MILLISECOND);
    world_introduce(world);
    world_run(world, 100 * MILLISECOND);
    world_drain(world);
    world_run(world, 1000 * MILLISECOND);
    expect_equal(peer_expect(&peer, TCP_ACK)->length, 730);
    peer_expect_nothing(&peer);
    disconnected(world, &user);
}

/* Five time-outs say nothing of a path. */
static void a_loss_is_no_black_hole(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = sending(&user, &peer);
    world_run(world, 6300 * MILLISECOND); /* 200, and twice as much each time */
    world_drain(world);
    expect_equal(user_info(&user).mss, 1460);
    peer_read(&peer, got, BYTES);
    disconnected(world, &user);
}

/* RFC 1191 section 6.3: after ten minutes, not before. */
static void the_path_may_have_grown(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_PMTUD);
    struct user user = {0};
    struct peer peer;
    struct world *world = sending(&user, &peer);
    world_drain(world);
    too_long(&peer, peer.acknowledgement, 1500, 1280);
    take_all(&peer, 1240, SECOND);
    world_run(world, 590 * SECOND);
    expect_equal(plumb_tcp_send(user.connection, bytes, BYTES), BYTES);
    world_settle(world);
    expect_equal(take_all(&peer, 1240, SECOND), 1240);
    world_run(world, 30 * SECOND);
    expect_equal(plumb_tcp_send(user.connection, bytes, BYTES), BYTES);
    world_settle(world);
    expect_equal(user_info(&user).mss, 1460);
    expect_equal(take_all(&peer, 1460, SECOND), 1460);
    disconnected(world, &user);
}

static unsigned released;

static void on_release(struct plumb_reference *reference) {
    (void)reference;
    released++;
}

/* Lent memory is cut again too, and given back. */
static void what_was_lent(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_PMTUD);
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    struct plumb_reference reference = {.memory = bytes, .length = BYTES, .release = on_release};
    for (unsigned i = 0; i < BYTES; i++)
        bytes[i] = pattern_at(6, i);
    released = 0;
    expect_equal(plumb_tcp_send_reference(user.connection, &reference), PLUMB_OK);
    world_settle(world);
    world_drain(world);
    too_long(&peer, peer.acknowledgement, 1500, 1006);
    expect_equal(take_all(&peer, 966, SECOND), 966);
    world_settle(world);
    expect_equal(released, 1);
    disconnected(world, &user);
}

/* No packet for the rest of a segment: its front goes by itself, at once but not before the last
 * such part was acknowledged, as the queue itself may hold all packets. */
static void no_packet_to_cut_with(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_PMTUD);
    struct user user = {0};
    struct peer peer;
    struct world *world = sending(&user, &peer);
    struct plumb_packet *taken[WORLD_SEGMENTS];
    unsigned count = 0;
    world_drain(world);
    while ((taken[count] = plumb_packet_take(&world->a.segments, 0)) != NULL)
        count++;
    too_long(&peer, peer.acknowledgement, 1500, 1006);
    expect_equal(peer_accept(&peer, TCP_ACK)->length, 966);
    world_run(world, 100 * MILLISECOND);
    peer_expect_nothing(&peer);
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(peer_accept(&peer, TCP_ACK)->length, 1460 - 966);
    /* Acknowledged whole it makes room for the rest of the next. */
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(peer_accept(&peer, TCP_ACK)->length, 966);
    while (count)
        plumb_packet_put(taken[--count]);
    disconnected(world, &user);
}

/* The last segment is among those cut, and more follows it. */
static void more_behind_the_parts(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_PMTUD);
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    for (unsigned i = 0; i < BYTES; i++)
        bytes[i] = pattern_at(7, i);
    expect_equal(plumb_tcp_send(user.connection, bytes, 10000), 10000);
    world_settle(world);
    world_drain(world);
    too_long(&peer, peer.acknowledgement, 1500, 1006);
    expect_equal(plumb_tcp_send(user.connection, bytes + 10000, BYTES - 10000), BYTES - 10000);
    expect_equal(take_all(&peer, 966, SECOND), 966);
    disconnected(world, &user);
}

/* What had passed has the peer ask for the rest: that is no loss by congestion. */
static void duplicates_after_a_message(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_PMTUD);
    struct user user = {0};
    struct peer peer;
    struct world *world = sending(&user, &peer);
    struct counters before = counters_now(&world->a);
    world_drain(world);
    uint32_t window = user_info(&user).congestion_window;
    too_long(&peer, peer.acknowledgement, 1500, 1280);
    for (unsigned i = 0; i < 5; i++)
        peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(counters_moved(&world->a, &before, "tcp_fast_retransmit"), 0);
    expect_equal(user_info(&user).congestion_window, window);
    take_all(&peer, 1240, SECOND);
    disconnected(world, &user);
}

/* A FIN goes behind the last part. */
static void with_a_fin(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_PMTUD);
    struct user user = {0};
    struct peer peer;
    struct world *world = sending(&user, &peer);
    plumb_tcp_shutdown(user.connection);
    world_settle(world);
    world_drain(world);
    too_long(&peer, peer.acknowledgement, 1500, 600);
    uint32_t base = peer.acknowledgement;
    bool ended = false;
    for (unsigned i = 0; i < 100 && !ended; i++) {
        while (peer_take(&peer)) {
            expect(peer.last.length <= 560);
            if (peer.last.sequence != peer.acknowledgement)
                continue;
            peer.acknowledgement += peer.last.length;
            ended = peer.last.flags & TCP_FIN;
            expect(!ended || peer.acknowledgement - base == BYTES);
        }
        peer.acknowledgement += ended;
        peer_send(&peer, TCP_ACK, 0, 0);
    }
    expect(ended);
    expect_equal(user_info(&user).state, PLUMB_TCP_STATE_FIN_WAIT_2);
    disconnected(world, &user);
}

/* A SYN is no longer than every path takes: the message is not believed. */
static void during_the_handshake(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connecting(&user, &peer);
    too_long(&peer, peer.acknowledgement - 1, 48, 40);
    expect_equal(user.events, 0);
    peer.sequence = 77;
    peer_send_syn(&peer, TCP_SYN | TCP_ACK, (const uint8_t[]){2, 4, 0x05, 0xb4}, 4);
    expect(user.events & PLUMB_TCP_CONNECTED);
    expect_equal(user_info(&user).mss, 1460);
    disconnected(world, &user);
}

HARNESS_MAIN(cmocka_unit_test(a_router_says_so), cmocka_unit_test(messages_that_are_not_believed),
             cmocka_unit_test(many_messages), cmocka_unit_test(a_black_hole),
             cmocka_unit_test(one_small_segment_at_a_time),
             cmocka_unit_test(a_loss_is_no_black_hole), cmocka_unit_test(the_path_may_have_grown),
             cmocka_unit_test(what_was_lent), cmocka_unit_test(no_packet_to_cut_with),
             cmocka_unit_test(more_behind_the_parts), cmocka_unit_test(duplicates_after_a_message),
             cmocka_unit_test(with_a_fin), cmocka_unit_test(during_the_handshake))
