/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Explicit congestion notification (RFC 3168 section 6.1). */
#include <string.h>

#include <plumb_config.h>

#include "peer.h"
#include "tcp/tcp.h"

enum { MSS = 1460, CAPABLE = 2, MARKED = 3 };
#define BOTH (TCP_ECE | TCP_CWR)

static const uint8_t mss[4] = {2, 4, 0x05, 0xb4};
static const uint8_t bytes[20 * MSS];

/* The two bits of the frame that the stack sent last. */
static unsigned bits(const struct peer *peer) {
    const struct frame *frame = &peer->world->collected;
    return frame->bytes[frame->network + 1U];
}

/* A connection to a listening user that agreed on it. */
static struct world *begin(struct user *user, struct peer *peer) {
    struct world *world = world_single(0);
    world_introduce(world);
    user_listen(user, &world->a, 80);
    *peer = peer_at(world, 40000, 80);
    peer_send_syn(peer, TCP_SYN | BOTH, mss, 4);
    peer_accept(peer, TCP_SYN | TCP_ACK | TCP_ECE);
    expect_equal(peer->last.flags & TCP_CWR, 0);
    expect_equal(bits(peer), 0);
    peer_send(peer, TCP_ACK, 0, 0);
    expect_equal(user->accepted, 1);
    peer->window = 65535;
    return world;
}

/* Payload whose datagram a router has marked, or not. */
static void send_marked(struct peer *peer, unsigned flags, unsigned service, unsigned length) {
    struct frame frame;
    frame_tcp(&frame, &peer->path, peer->sequence, peer->acknowledgement, TCP_ACK | flags,
              peer->window, 0, 0, bytes, length);
    frame.bytes[frame.network + 1U] = (uint8_t)service;
    frame_fix_checksums(&frame);
    peer->sequence += length;
    world_inject(peer->world, &frame);
    world_run(peer->world, 50 * MILLISECOND);
}

/* ---- agreed on (section 6.1.1) ---- */

static void offered_when_opening(void **state) {
    static const struct {
        unsigned answer;
        bool agreed;
    } cases[] = {{0, false}, {TCP_ECE, true}, {BOTH, false}, {TCP_CWR, false}};
    (void)state;
    needs(CONFIG_PLUMB_TCP_ECN);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct user user = {0};
        struct peer peer;
        struct world *world = connecting(&user, &peer);
        expect_equal(peer.last.flags, TCP_SYN | BOTH);
        expect_equal(bits(&peer), 0);
        peer_send_syn(&peer, TCP_SYN | TCP_ACK | cases[i].answer, mss, 4);
        peer_expect(&peer, TCP_ACK);
        expect_equal(bits(&peer), 0);
        expect_equal(plumb_tcp_send(user.connection, bytes, MSS), MSS);
        world_settle(world);
        peer_expect(&peer, TCP_ACK);
        expect_equal(bits(&peer), cases[i].agreed ? CAPABLE : 0);
        disconnected(world, &user);
    }
}

/* A SYN that was lost goes again without, and then nothing is agreed on (section 6.1.1.1). */
static void a_repeated_syn_is_without(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_ECN);
    struct user user = {0};
    struct peer peer;
    struct world *world = connecting(&user, &peer);
    world_run(world, 1100 * MILLISECOND);
    peer_expect(&peer, TCP_SYN);
    expect_equal(peer.last.flags, TCP_SYN);
    peer_send_syn(&peer, TCP_SYN | TCP_ACK | TCP_ECE, mss, 4);
    peer_expect(&peer, TCP_ACK);
    expect(!(user.connection->agreed & PL_TCP_ECN));
    disconnected(world, &user);
}

static void answered_only_when_offered(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_ECN);
    for (unsigned flags = 0; flags <= BOTH; flags += TCP_ECE) {
        struct user user = {0};
        struct world *world = world_single(0);
        world_introduce(world);
        user_listen(&user, &world->a, 80);
        struct peer peer = peer_at(world, 40000, 80);
        peer_send_syn(&peer, TCP_SYN | flags, mss, 4);
        peer_expect(&peer, TCP_SYN | TCP_ACK);
        expect_equal(peer.last.flags & BOTH, flags == BOTH ? TCP_ECE : 0);
        disconnected(world, &user);
    }
}

/* ---- the receiver (section 6.1.3) ---- */

static void a_mark_is_echoed_until_the_peer_has_slowed_down(void **state) {
    struct user user = {0};
    struct peer peer;
    (void)state;
    needs(CONFIG_PLUMB_TCP_ECN);
    struct world *world = begin(&user, &peer);
    send_marked(&peer, 0, CAPABLE, 100);
    peer_expect(&peer, TCP_ACK);
    send_marked(&peer, 0, MARKED, 100);
    peer_expect(&peer, TCP_ACK | TCP_ECE);
    expect_equal(bits(&peer), 0);
    send_marked(&peer, 0, CAPABLE, 100);
    peer_expect(&peer, TCP_ACK | TCP_ECE);
    /* With payload too. */
    expect_equal(plumb_tcp_send(user.connection, bytes, 100), 100);
    world_settle(world);
    peer_accept(&peer, TCP_ACK | TCP_ECE);
    send_marked(&peer, TCP_CWR, CAPABLE, 100);
    peer_expect(&peer, TCP_ACK);
    /* What says so may be marked itself. */
    send_marked(&peer, 0, MARKED, 100);
    peer_expect(&peer, TCP_ACK | TCP_ECE);
    send_marked(&peer, TCP_CWR, MARKED, 100);
    peer_expect(&peer, TCP_ACK | TCP_ECE);
    expect_equal(user.length, 600);
    disconnected(world, &user);
}

/* In bulk, where frames are looked for first, a mark is seen as well. */
static void a_mark_in_bulk_is_seen(void **state) {
    struct user user = {0};
    struct peer peer;
    (void)state;
    needs(CONFIG_PLUMB_TCP_ECN);
    struct world *world = begin(&user, &peer);
    struct counters before = counters_now(&world->a);
    for (unsigned i = 0; i < 5; i++) {
        send_marked(&peer, 0, CAPABLE, 1000);
        peer_expect(&peer, TCP_ACK);
    }
    send_marked(&peer, 0, MARKED, 1000);
    peer_expect(&peer, TCP_ACK | TCP_ECE);
    expect_equal(counters_moved(&world->a, &before, "tcp_marked"), 1);
    counters_expect_drop(&world->a, &before, 0, 0);
    disconnected(world, &user);
}

/* Where nothing was agreed on, a mark means nothing. */
static void a_mark_without_agreement(void **state) {
    struct user user = {0};
    struct peer peer;
    (void)state;
    struct world *world = connected(&user, &peer, 0);
    send_marked(&peer, 0, MARKED, 100);
    peer_expect(&peer, TCP_ACK);
    uint32_t window = user_info(&user).congestion_window;
    expect_equal(plumb_tcp_send(user.connection, bytes, MSS), MSS);
    world_settle(world);
    peer_accept(&peer, TCP_ACK);
    expect_equal(bits(&peer), 0);
    peer_send(&peer, TCP_ACK | TCP_ECE, 0, 0);
    expect(user_info(&user).congestion_window >= window);
    disconnected(world, &user);
}

/* ---- the sender (sections 6.1.2, 6.1.4 to 6.1.6) ---- */

/* Takes so many segments, and looks at the bits and at CWR of each. */
static void take(struct peer *peer, unsigned count, bool reduced) {
    for (unsigned i = 0; i < count; i++) {
        peer_accept(peer, TCP_ACK | (reduced && i == 0 ? TCP_CWR : 0));
        expect_equal(peer->last.length, MSS);
        expect_equal(bits(peer), CAPABLE);
    }
}

static void an_echo_slows_down_once_in_a_window(void **state) {
    struct user user = {0};
    struct peer peer;
    (void)state;
    needs(CONFIG_PLUMB_TCP_ECN);
    struct world *world = begin(&user, &peer);
    uint32_t base = peer.acknowledgement, initial = user_info(&user).congestion_window;
    struct counters before = counters_now(&world->a);
    expect_equal(plumb_tcp_send(user.connection, bytes, 20 * MSS), 20 * MSS);
    world_settle(world);
    take(&peer, 10, false);
    /* Each of a window's echoes is the same news. */
    peer_send_at(&peer, peer.sequence, base + MSS, TCP_ACK | TCP_ECE, 0, 0);
    uint32_t reduced = user_info(&user).congestion_window;
    expect(reduced < initial && reduced >= initial / 2 - MSS);
    expect(reduced - user_info(&user).slow_start_threshold < MSS);
    for (unsigned i = 2; i <= 6; i++)
        peer_send_at(&peer, peer.sequence, base + i * MSS, TCP_ACK | TCP_ECE, 0, 0);
    expect_equal(counters_moved(&world->a, &before, "tcp_ecn"), 1);
    expect(user_info(&user).congestion_window >= reduced);
    /* The first new payload says so, and no other. */
    peer_send_at(&peer, peer.sequence, base + 10 * MSS, TCP_ACK | TCP_ECE, 0, 0);
    peer.acknowledgement = base + 10 * MSS;
    unsigned sent = 0;
    for (; peer_take(&peer); sent++) {
        expect_equal(peer.last.flags & TCP_CWR, sent ? 0 : TCP_CWR);
        expect_equal(bits(&peer), CAPABLE);
        peer.acknowledgement += peer.last.length;
    }
    expect(sent >= 4);
    expect_equal(counters_moved(&world->a, &before, "tcp_ecn"), 1);
    /* Of the next window it is news again. */
    peer_send(&peer, TCP_ACK | TCP_ECE, 0, 0);
    expect_equal(counters_moved(&world->a, &before, "tcp_ecn"), 2);
    disconnected(world, &user);
}

/* Nor is what is sent again to be marked, and a loss is told by CWR too. */
static void what_is_sent_again_is_not_capable(void **state) {
    struct user user = {0};
    struct peer peer;
    (void)state;
    needs(CONFIG_PLUMB_TCP_ECN);
    struct world *world = begin(&user, &peer);
    expect_equal(plumb_tcp_send(user.connection, bytes, 2 * MSS), 2 * MSS);
    world_settle(world);
    uint32_t base = peer.acknowledgement;
    take(&peer, 2, false);
    world_run(world, 1500 * MILLISECOND);
    while (peer_take(&peer)) {
        expect(peer.last.sequence - base < 2 * MSS);
        expect_equal(bits(&peer), 0);
        expect_equal(peer.last.flags & TCP_CWR, 0);
    }
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(plumb_tcp_send(user.connection, bytes, MSS), MSS);
    world_settle(world);
    take(&peer, 1, true);
    disconnected(world, &user);
}

static void a_probe_is_not_capable(void **state) {
    struct user user = {0};
    struct peer peer;
    (void)state;
    needs(CONFIG_PLUMB_TCP_ECN);
    struct world *world = begin(&user, &peer);
    peer.window = 0;
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(plumb_tcp_send(user.connection, bytes, MSS), MSS);
    world_run(world, 3 * SECOND);
    peer_expect(&peer, TCP_ACK);
    expect_equal(peer.last.length, 1);
    expect_equal(bits(&peer), 0);
    disconnected(world, &user);
}

HARNESS_MAIN(cmocka_unit_test(offered_when_opening), cmocka_unit_test(a_repeated_syn_is_without),
             cmocka_unit_test(answered_only_when_offered),
             cmocka_unit_test(a_mark_is_echoed_until_the_peer_has_slowed_down),
             cmocka_unit_test(a_mark_in_bulk_is_seen), cmocka_unit_test(a_mark_without_agreement),
             cmocka_unit_test(an_echo_slows_down_once_in_a_window),
             cmocka_unit_test(what_is_sent_again_is_not_capable),
             cmocka_unit_test(a_probe_is_not_capable))
