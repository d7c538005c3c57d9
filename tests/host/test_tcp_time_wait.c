/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* TCP: who may follow a connection in TIME_WAIT (RFC 6191, RFC 9293 section 3.6.1), and which
 * port we take for the next one (RFC 6056). */
#include <string.h>

#include <plumb_config.h>

#include "peer.h"

enum { STAMP = 5000 };

static void put_stamp(uint8_t options[16], uint32_t stamp) {
    static const uint8_t begin[8] = {2, 4, 0x05, 0xb4, 1, 1, 8, 10};
    memset(options, 0, 16);
    memcpy(options, begin, 8);
    for (unsigned i = 0; i < 4; i++)
        options[8 + i] = (uint8_t)(stamp >> (24 - 8 * i));
}

/* A SYN with this timestamp, or (0) without. */
static void syn(struct peer *peer, uint32_t stamp) {
    uint8_t options[20];
    put_stamp(options, stamp);
    memset(options + 16, 1, 4);
    peer_send_syn(peer, TCP_SYN, options, stamp ? 20 : 4);
}

/* A connection that has come to TIME_WAIT here; STAMP was the peer's last timestamp. */
static struct world *time_wait(struct user *user, struct peer *peer, bool stamped) {
    struct world *world = world_single(0);
    world_introduce(world);
    user_listen(user, &world->a, 80);
    *peer = peer_at(world, 40000, 80);
    syn(peer, stamped ? STAMP : 0);
    peer_accept(peer, TCP_SYN | TCP_ACK);
    peer->stamped = stamped;
    peer->stamp = STAMP;
    peer_send(peer, TCP_ACK, 0, 0);
    expect_equal(user->accepted, 1);
    plumb_tcp_shutdown(user->connection);
    world_settle(world);
    peer_accept(peer, TCP_FIN | TCP_ACK);
    peer->stamp = STAMP;
    peer_send(peer, TCP_FIN | TCP_ACK, 0, 0);
    expect(user->events & PLUMB_TCP_CLOSED);
    world_drain(world);
    return world;
}

static void expect_follows(bool stamped, uint32_t stamp, int32_t ahead, bool follows) {
    struct user user = {0};
    struct peer peer;
    struct world *world = time_wait(&user, &peer, stamped);
    uint32_t next = peer.sequence, last = peer.acknowledgement;
    struct counters before = counters_now(&world->a);
    peer.sequence += (uint32_t)ahead;
    peer.stamped = false;
    syn(&peer, stamp);
    if (!follows) {
        /* A challenge, and TIME_WAIT goes on (RFC 5961 section 4.2). */
        expect_equal(peer_expect(&peer, TCP_ACK)->acknowledgement, next);
        counters_expect_drop(&world->a, &before, "tcp_syn", 1);
        disconnected(world, &user);
        return;
    }
    struct segment *answer = peer_accept(&peer, TCP_SYN | TCP_ACK);
    expect_equal(answer->acknowledgement, peer.sequence);
    expect((int32_t)(answer->sequence - last) > 0);
    peer.stamped = stamp != 0;
    peer.stamp = stamp;
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(user.accepted, 2);
    peer_send(&peer, TCP_ACK | TCP_PSH, "again", 5);
    expect_equal(user.length, 5);
    disconnected(world, &user);
}

/* RFC 6191 section 2, each of its cases. */
static void follows_one_with_timestamps(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_TIMESTAMPS);
    expect_follows(true, STAMP + 1, 1000, true);
    expect_follows(true, STAMP + 1, -1000, true);
    expect_follows(true, STAMP, 1000, true);
    expect_follows(true, STAMP, -1000, false);
    expect_follows(true, STAMP - 1, 1000, false);
    expect_follows(true, STAMP - 1, -1000, false);
    expect_follows(true, 0, 1000, true);
    expect_follows(true, 0, -1000, false);
}

static void follows_one_without(void **state) {
    (void)state;
    bool stamps = PLUMB_IS_SET_(CONFIG_PLUMB_TCP_TIMESTAMPS);
    expect_follows(false, 0, 1000, true);
    expect_follows(false, 0, -1000, false);
    expect_follows(false, STAMP, 1000, true);
    expect_follows(false, STAMP, -1000, stamps);
    expect_follows(false, 0xf0000000U, -1000, stamps);
}

/* Neither a reset nor anything else shortens TIME_WAIT (RFC 1337). */
static void nothing_ends_it_early(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = time_wait(&user, &peer, false);
    for (int32_t offset = -2; offset < 3; offset++) {
        peer_send_at(&peer, peer.sequence + (uint32_t)offset, peer.acknowledgement,
                     TCP_RST | TCP_ACK, 0, 0);
        peer_send_at(&peer, peer.sequence + (uint32_t)offset, peer.acknowledgement, TCP_ACK, "late",
                     4);
        peer_send_at(&peer, peer.sequence + (uint32_t)offset, peer.acknowledgement,
                     TCP_SYN | TCP_ACK, 0, 0);
    }
    while (peer_take(&peer))
        expect_equal(peer.last.flags, TCP_ACK);
    world_run(world, SECOND);
    peer_send_at(&peer, peer.sequence - 1, peer.acknowledgement, TCP_FIN | TCP_ACK, 0, 0);
    expect_equal(peer_expect(&peer, TCP_ACK)->acknowledgement, peer.sequence);
    disconnected(world, &user);
}

/* ---- ports ---- */

static void never_told(struct plumb_tcp *connection, unsigned events, void *context) {
    (void)connection;
    (void)events;
    (void)context;
}

static uint16_t port_for(struct world *world, uint32_t address, uint16_t port) {
    struct plumb_tcp *connection;
    struct plumb_tcp_info info;
    expect_equal(plumb_tcp_connect(world->a.stack, endpoint_of(address, port), 0, never_told, 0,
                                   &connection),
                 PLUMB_OK);
    plumb_tcp_get_info(connection, &info);
    plumb_tcp_abort(connection);
    world_drain(world);
    return info.local.port;
}

/* RFC 6056 section 3.3.4: of one peer's thousand connections no two have the same port. */
static void ports_come_again_late(void **state) {
    (void)state;
    struct world *world = world_single(0);
    static uint8_t seen[65536];
    world_introduce(world);
    memset(seen, 0, sizeof seen);
    for (unsigned i = 0; i < 1500; i++) {
        uint16_t port = port_for(world, world->b.address, 80);
        expect(port >= 49152);
        expect(!seen[port]++);
        /* Others in between make no difference. */
        port_for(world, world->b.address, (uint16_t)(1000 + i));
    }
    world_end(world);
}

/* What one peer sees says little of what others will. */
static void ports_of_others_are_elsewhere(void **state) {
    (void)state;
    unsigned near = 0;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct world *world = world_single(&(struct world_options){.seed = seed});
        world_introduce(world);
        uint16_t first = port_for(world, world->b.address, 80);
        uint16_t other = port_for(world, world->b.address, 81);
        uint16_t third = port_for(world, world->b.address, 80);
        near += (uint16_t)(other - first + 100) < 200;
        expect((uint16_t)(third - first) % 16384 <= 17);
        world_end(world);
    }
    expect(near < 6); /* one in 80 by chance */
}

HARNESS_MAIN(cmocka_unit_test(follows_one_with_timestamps), cmocka_unit_test(follows_one_without),
             cmocka_unit_test(nothing_ends_it_early), cmocka_unit_test(ports_come_again_late),
             cmocka_unit_test(ports_of_others_are_elsewhere))
