/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Selective acknowledgements as the stack gives them (RFC 2018), and duplicates (RFC 2883). */
#include <string.h>

#include <plumb_config.h>

#include "peer.h"
#include "tcp/tcp.h"

enum { SACK_PERMITTED = 4, SACK = 5, STEP = 100 };

static const uint8_t bytes[1460];

static uint32_t word_at(const uint8_t *from) {
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

static uint32_t base; /* where the peer's stream begins */

/* A connection to a listening user, that agreed on SACK, and on timestamps if stamped. */
static struct world *begin(struct user *user, struct peer *peer, uint32_t sequence, bool stamped) {
    uint8_t options[20] = {2, 4, 0x05, 0xb4, SACK_PERMITTED, 2, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0,
                           0, 0, 1,    1};
    struct world *world = world_single(0);
    world_introduce(world);
    user_listen(user, &world->a, 80);
    *peer = peer_at(world, 40000, 80);
    peer->sequence = sequence - 1;
    peer_send_syn(peer, TCP_SYN, options, stamped ? 20 : 8);
    peer_accept(peer, TCP_SYN | TCP_ACK);
    assert_non_null(peer_option(peer, SACK_PERMITTED));
    peer->stamped = stamped;
    peer->stamp = 1;
    peer_send(peer, TCP_ACK, 0, 0);
    expect_equal(user->accepted, 1);
    base = peer->sequence;
    return world;
}

/* Segment number `index` of the stream, or so many of them in one. */
static void send(struct peer *peer, unsigned index, unsigned count) {
    peer_send_at(peer, base + index * STEP, peer->acknowledgement, TCP_ACK, bytes, count * STEP);
}

/* The next acknowledgement is of so many segments, and its blocks are these, pairs of
 * segment numbers. */
static void expect_blocks(struct peer *peer, unsigned acknowledged, unsigned count,
                          const unsigned *blocks) {
    peer_expect(peer, TCP_ACK);
    expect_equal(peer->last.length, 0);
    expect_equal(peer->last.acknowledgement, base + acknowledged * STEP);
    const uint8_t *option = peer_option(peer, SACK);
    expect_equal(option != 0, count != 0);
    expect_equal(peer->last.options_length, (peer->stamped ? 12 : 0) + (count ? 4 + 8 * count : 0));
    if (!count)
        return;
    expect_equal(option[1], 2 + 8 * count);
    for (unsigned i = 0; i < 2 * count; i++)
        expect_equal(word_at(option + 2 + 4 * i) - base, blocks[i] * STEP);
}

#define BLOCKS(...)                                                                                \
    sizeof((const unsigned[]){__VA_ARGS__}) / (2 * sizeof(unsigned)), (const unsigned[]) {         \
        __VA_ARGS__                                                                                \
    }
#define NONE 0, 0

/* ---- agreed on (RFC 2018 sections 2 and 3) ---- */

static void offered_when_opening(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_SACK);
    for (unsigned answered = 0; answered < 2; answered++) {
        struct user user = {0};
        struct peer peer;
        struct world *world = connecting(&user, &peer);
        uint8_t options[8] = {2, 4, 0x05, 0xb4, SACK_PERMITTED, 2, 1, 1};
        const uint8_t *option = peer_option(&peer, SACK_PERMITTED);
        assert_non_null(option);
        expect_equal(option[1], 2);
        peer_send_syn(&peer, TCP_SYN | TCP_ACK, options, answered ? 8 : 4);
        peer_expect(&peer, TCP_ACK);
        base = peer.sequence;
        send(&peer, 1, 1);
        peer_expect(&peer, TCP_ACK);
        expect_equal(peer_option(&peer, SACK) != 0, answered);
        disconnected(world, &user);
    }
}

static void answered_only_when_offered(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_SACK);
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    expect(!(user.connection->agreed & PL_TCP_SACK));
    base = peer.sequence;
    send(&peer, 1, 1);
    expect_blocks(&peer, 0, NONE);
    send(&peer, 1, 1);
    expect_blocks(&peer, 0, NONE);
    disconnected(world, &user);
}

/* ---- blocks (section 4) ---- */

static void the_latest_goes_first(void **state) {
    struct user user = {0};
    struct peer peer;
    (void)state;
    needs(CONFIG_PLUMB_TCP_SACK);
    /* Across the wrap of sequence numbers. */
    struct world *world = begin(&user, &peer, (uint32_t)-300, false);
    send(&peer, 3, 1);
    expect_blocks(&peer, 0, BLOCKS(3, 4));
    send(&peer, 1, 1);
    expect_blocks(&peer, 0, BLOCKS(1, 2, 3, 4));
    send(&peer, 7, 1);
    expect_blocks(&peer, 0, BLOCKS(7, 8, 1, 2, 3, 4));
    send(&peer, 4, 1); /* joins one that is there */
    expect_blocks(&peer, 0, BLOCKS(3, 5, 7, 8, 1, 2));
    send(&peer, 9, 2);
    expect_blocks(&peer, 0, BLOCKS(9, 11, 3, 5, 7, 8, 1, 2));
    send(&peer, 13, 1); /* four fit, and the oldest is not told */
    expect_blocks(&peer, 0, BLOCKS(13, 14, 9, 11, 3, 5, 7, 8));
    send(&peer, 2, 1); /* three become one */
    expect_blocks(&peer, 0, BLOCKS(1, 5, 13, 14, 9, 11, 7, 8));
    /* What is acknowledged is no block any more. */
    send(&peer, 0, 1);
    expect_blocks(&peer, 5, BLOCKS(13, 14, 9, 11, 7, 8));
    send(&peer, 5, 8);
    expect_blocks(&peer, 14, NONE);
    expect_equal(user.length, 14 * STEP);
    disconnected(world, &user);
}

static void three_fit_beside_timestamps(void **state) {
    struct user user = {0};
    struct peer peer;
    (void)state;
    needs(CONFIG_PLUMB_TCP_SACK);
    needs(CONFIG_PLUMB_TCP_TIMESTAMPS);
    struct world *world = begin(&user, &peer, 5000, true);
    for (unsigned i = 1; i <= 4; i++) {
        while (peer_take(&peer))
            ;
        send(&peer, 2 * i, 1);
    }
    expect_blocks(&peer, 0, BLOCKS(8, 9, 6, 7, 4, 5));
    send(&peer, 8, 1);
    expect_blocks(&peer, 0, BLOCKS(8, 9, 8, 9, 6, 7));
    disconnected(world, &user);
}

/* Any acknowledgement tells them, one that is not provoked by payload too. */
static void later_acknowledgements_tell_them_too(void **state) {
    struct user user = {0};
    struct peer peer;
    (void)state;
    needs(CONFIG_PLUMB_TCP_SACK);
    struct world *world = begin(&user, &peer, 5000, false);
    send(&peer, 2, 1);
    expect_blocks(&peer, 0, BLOCKS(2, 3));
    send(&peer, 0, 1); /* fills a part of the gap: at once (RFC 5681 section 4.2) */
    expect_blocks(&peer, 1, BLOCKS(2, 3));
    peer_send_at(&peer, peer.sequence, peer.acknowledgement, TCP_ACK | TCP_SYN, 0, 0);
    expect_blocks(&peer, 1, BLOCKS(2, 3));
    disconnected(world, &user);
}

/* Payload goes out at the same time and carries none: an acknowledgement goes before. */
static void payload_does_not_swallow_them(void **state) {
    struct user user = {0};
    struct peer peer;
    struct frame frame;
    (void)state;
    needs(CONFIG_PLUMB_TCP_SACK);
    struct world *world = begin(&user, &peer, 5000, false);
    expect_equal(plumb_tcp_send(user.connection, bytes, 1000), 1000);
    world_settle(world);
    peer_accept(&peer, TCP_ACK);
    expect_equal(plumb_tcp_send(user.connection, bytes, 1000), 1000); /* held back: Nagle */
    world_settle(world);
    peer_expect_nothing(&peer);
    /* It brings a segment out of order and lets the payload go. */
    frame_tcp(&frame, &peer.path, base + STEP, peer.acknowledgement, TCP_ACK, peer.window, 0, 0,
              bytes, STEP);
    world_inject(world, &frame);
    expect_blocks(&peer, 0, BLOCKS(1, 2));
    expect_equal(peer_accept(&peer, TCP_ACK)->length, 1000);
    peer_expect_nothing(&peer);
    disconnected(world, &user);
}

/* A FIN out of order has a number, too. */
static void a_fin_is_in_its_block(void **state) {
    struct user user = {0};
    struct peer peer;
    (void)state;
    needs(CONFIG_PLUMB_TCP_SACK);
    struct world *world = begin(&user, &peer, 5000, false);
    peer_send_at(&peer, base + STEP, peer.acknowledgement, TCP_ACK | TCP_FIN, bytes, STEP);
    peer_expect(&peer, TCP_ACK);
    const uint8_t *option = peer_option(&peer, SACK);
    assert_non_null(option);
    expect_equal(word_at(option + 6) - base, 2 * STEP + 1);
    disconnected(world, &user);
}

/* ---- duplicates (RFC 2883 section 4) ---- */

static void a_duplicate_is_told_once(void **state) {
    struct user user = {0};
    struct peer peer;
    (void)state;
    needs(CONFIG_PLUMB_TCP_SACK);
    struct world *world = begin(&user, &peer, 5000, false);
    send(&peer, 0, 4);
    world_run(world, 50 * MILLISECOND);
    expect_blocks(&peer, 4, NONE);
    send(&peer, 1, 2);
    expect_blocks(&peer, 4, BLOCKS(1, 3));
    /* With a hole (section 4.1.1), once. */
    send(&peer, 5, 1);
    expect_blocks(&peer, 4, BLOCKS(5, 6));
    send(&peer, 0, 1);
    expect_blocks(&peer, 4, BLOCKS(0, 1, 5, 6));
    send(&peer, 7, 1);
    expect_blocks(&peer, 4, BLOCKS(7, 8, 5, 6));
    disconnected(world, &user);
}

/* Above the acknowledgement the block that holds it follows (section 4.1.2). */
static void a_duplicate_in_a_block_is_followed_by_that(void **state) {
    struct user user = {0};
    struct peer peer;
    (void)state;
    needs(CONFIG_PLUMB_TCP_SACK);
    struct world *world = begin(&user, &peer, 5000, false);
    send(&peer, 2, 3);
    expect_blocks(&peer, 0, BLOCKS(2, 5));
    send(&peer, 7, 1);
    expect_blocks(&peer, 0, BLOCKS(7, 8, 2, 5));
    send(&peer, 3, 1);
    expect_blocks(&peer, 0, BLOCKS(3, 4, 2, 5, 7, 8));
    disconnected(world, &user);
}

/* Of a segment that is known in part the part is told (section 4.2). */
static void a_part_that_is_known(void **state) {
    struct user user = {0};
    struct peer peer;
    (void)state;
    needs(CONFIG_PLUMB_TCP_SACK);
    struct world *world = begin(&user, &peer, 5000, false);
    send(&peer, 0, 2);
    world_run(world, 50 * MILLISECOND);
    expect_blocks(&peer, 2, NONE);
    send(&peer, 4, 1);
    expect_blocks(&peer, 2, BLOCKS(4, 5));
    send(&peer, 1, 2);
    expect_blocks(&peer, 3, BLOCKS(1, 2, 4, 5));
    expect_equal(user.length, 3 * STEP);
    disconnected(world, &user);
}

HARNESS_MAIN(cmocka_unit_test(offered_when_opening), cmocka_unit_test(answered_only_when_offered),
             cmocka_unit_test(the_latest_goes_first), cmocka_unit_test(three_fit_beside_timestamps),
             cmocka_unit_test(later_acknowledgements_tell_them_too),
             cmocka_unit_test(payload_does_not_swallow_them),
             cmocka_unit_test(a_fin_is_in_its_block), cmocka_unit_test(a_duplicate_is_told_once),
             cmocka_unit_test(a_duplicate_in_a_block_is_followed_by_that),
             cmocka_unit_test(a_part_that_is_known))
