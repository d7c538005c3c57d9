/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Frames and ARP packets that have broken other stacks: rows 1 to 4 of docs/hostile.md. */
#include <string.h>

#include <plumb_config.h>

#include "neighbours.h"
#include "siege.h"

static struct siege siege;

static void test_hostile_01_runts_under_14_bytes(void **state) {
    (void)state;
    static const uint16_t types[] = {0x0800, 0x0806, 0x8100, 0x86dd};
    siege_begin(&siege, 0);
    for (unsigned i = 0; i < sizeof types / sizeof *types; i++) {
        struct frame frame;
        frame_ethernet(&frame, siege.path.to_ethernet, siege.path.from_ethernet, types[i]);
        for (uint16_t length = 0; length < 14; length++) {
            frame.length = length;
            siege_drop(&siege, &frame, "ethernet_short");
        }
    }
    siege_end(&siege);
}

static void test_hostile_01_ethertype_alone(void **state) {
    (void)state;
    static const struct {
        uint16_t type;
        const char *counter;
    } cases[] = {
        {0x0800, "ipv4_short"},  {0x0806, "arp_short"},     {0x8100, "ethernet_short"},
        {0, "ethernet_type"},    {46, "ethernet_type"},     {1500, "ethernet_type"},
        {1501, "ethernet_type"}, {0xffff, "ethernet_type"},
    };
    siege_begin(&siege, 0);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct frame frame;
        frame_ethernet(&frame, siege.path.to_ethernet, siege.path.from_ethernet, cases[i].type);
        siege_drop(&siege, &frame, cases[i].counter);
    }
    /* A tag, and what it should have before the type that it names. */
    for (unsigned length = 14; length < 18; length++) {
        struct frame frame;
        frame_ethernet(&frame, siege.path.to_ethernet, siege.path.from_ethernet, 0x8100);
        frame_append32(&frame, 0x00000800);
        frame.length = (uint16_t)length;
        siege_drop(&siege, &frame, "ethernet_short");
    }
    siege_end(&siege);
}

static void test_hostile_02_arp_malformed(void **state) {
    (void)state;
    static const struct {
        uint16_t offset, value;
    } cases[] = {
        {14, 0},      {14, 6},      {16, 0x0801}, {16, 0x86dd}, {18, 0x0504}, {18, 0x0604 + 1},
        {18, 0x0004}, {18, 0xffff}, {20, 0},      {20, 3},      {20, 8},      {20, 0xffff},
        {28, 0x7f00}, {28, 0xe000}, {28, 0xffff}, {22, 0x0300}, {22, 0xffff},
    };
    siege_begin(&siege, 0);
    struct world *world = siege.world;
    const struct frame good =
        arp_frame(world, 1, siege.path.from_ethernet, siege.path.from, world->a.address);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct frame frame = good;
        frame_put16(&frame, cases[i].offset, cases[i].value);
        siege_drop(&siege, &frame, "arp_invalid");
    }
    for (uint16_t length = 14; length < 42; length++) {
        struct frame frame = good;
        frame.length = length;
        siege_drop(&siege, &frame, "arp_short");
    }
    const struct frame *reply = siege_take(&siege, &good);
    assert_non_null(reply);
    expect(is_arp(reply, 2));
    siege_end(&siege);
}

/* ---- who is whose neighbour ---- */

static void test_hostile_03_unsolicited_answers_change_nothing(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct plumb_udp *socket = open_socket(world);
    struct counters before = counters_now(&world->a);
    arp_from(world, 2, stranger, world->b.address, world->a.address);
    counters_expect_drop(&world->a, &before, "arp_unsolicited", 1);

    meet_neighbour(world, socket);
    before = counters_now(&world->a);
    arp_from(world, 2, stranger, world->b.address, world->a.address);
    counters_expect_drop(&world->a, &before, "arp_unsolicited", 1);
    expect_equal(counters_moved(&world->a, &before, "arp_conflict"), 1);
    arp_from(world, 1, stranger, world->b.address, world->b.address);
    arp_from(world, 1, stranger, world->b.address, world->a.address);
    world_drain(world);
    expect(datagram_reaches(world, socket, world->b.address, world->b.ethernet));
    world_end(world);
}

/* Seconds in which the test answers for its own address. */
static void answer_for(struct world *world, unsigned seconds) {
    for (unsigned i = 0; i < seconds; i++) {
        world_run(world, SECOND);
        if (requests_sent(world, world->b.address))
            arp_from(world, 2, world->b.ethernet, world->b.address, world->a.address);
    }
}

/* Requests, announcements and answers, asked for or not, in every state of a neighbour
 * that is there: its frames go on to where they went. */
static void test_hostile_03_claims_move_no_known_neighbour(void **state) {
    (void)state;
    enum { REACHABLE, STALE, PROBED, STATES, REQUEST = 0, ANNOUNCEMENT, ANSWER, CLAIMS };
    for (unsigned turn = 0; turn < STATES * CLAIMS; turn++) {
        unsigned at = turn / CLAIMS, claim = turn % CLAIMS;
        struct world *world = world_single(0);
        struct plumb_udp *socket = open_socket(world);
        meet_neighbour(world, socket);
        /* Confirmed once, for it was used, and not used since. */
        if (at != REACHABLE)
            answer_for(world, 2 * CONFIG_PLUMB_ARP_REACHABLE_MS / 1000 + 5);
        if (at == PROBED) {
            expect(datagram_reaches(world, socket, world->b.address, world->b.ethernet));
            world_run(world, 1100 * MILLISECOND);
            expect_equal(requests_sent(world, world->b.address), 1);
        }
        struct counters before = counters_now(&world->a);
        arp_from(world, claim == ANSWER ? 2 : 1, stranger, world->b.address,
                 claim == ANNOUNCEMENT ? world->b.address : world->a.address);
        expect_equal(counters_moved(&world->a, &before, "arp_conflict"), 1);
        world_drain(world);
        expect(datagram_reaches(world, socket, world->b.address, world->b.ethernet));
        /* Whoever has it says so when asked. */
        answer_for(world, 10);
        world_drain(world);
        expect(datagram_reaches(world, socket, world->b.address, world->b.ethernet));
        world_end(world);
    }
}

/* A stranger says to be the gateway, in every way there is; it gets none of our packets. */
static void test_hostile_03_claims_to_be_the_gateway(void **state) {
    (void)state;
    const uint32_t gateway = FRAME_IPV4(10, 0, 0, 254), far = FRAME_IPV4(8, 8, 8, 8);
    const uint8_t hardware[6] = {2, 0, 0, 0, 0, 0xfe};
    siege_begin(&siege, &(struct world_options){.gateway = true});
    struct world *world = siege.world;
    struct plumb_udp *socket = open_socket(world);
    plumb_udp_send(socket, endpoint_of(far, 9), "x", 1);
    world_settle(world);
    arp_from(world, 2, hardware, gateway, world->a.address);
    world_drain(world);
    expect(datagram_reaches(world, socket, far, hardware));
    for (unsigned i = 0; i < 100; i++) {
        struct counters before = counters_now(&world->a);
        struct frame answer = arp_frame(world, 2, stranger, gateway, world->a.address);
        struct frame announcement = arp_frame(world, 1, stranger, gateway, gateway);
        struct frame to_us = announcement;
        memcpy(to_us.bytes, world->a.ethernet, 6);
        siege_drop(&siege, &answer, "arp_unsolicited");
        siege_drop(&siege, &announcement, "arp_unsolicited");
        siege_drop(&siege, &to_us, "arp_unsolicited");
        struct frame question = arp_frame(world, 1, stranger, gateway, world->a.address);
        assert_non_null(siege_take(&siege, &question)); /* told whose our address is */
        expect_equal(counters_moved(&world->a, &before, "arp_conflict"), 4);
        expect(datagram_reaches(world, socket, far, hardware));
    }
    siege_end(&siege);
}

/* 100 000 hosts speak up, asking and answering; the peers in use stay, and at the
 * end there is room for a new one. */
static void test_hostile_04_arp_flood_keeps_live_peers(void **state) {
    (void)state;
    enum { PEERS = 4 };
    siege_begin(&siege, 0);
    siege.flood = true;
    siege.every = 200;
    struct world *world = siege.world;
    struct plumb_udp *socket = open_socket(world);
    uint8_t hardware[PEERS][6];
    for (unsigned i = 0; i < PEERS; i++) {
        uint8_t own[6] = {2, 0, 0, 1, 0, (uint8_t)i};
        memcpy(hardware[i], own, 6);
        plumb_udp_send(socket, endpoint_of(FRAME_IPV4(10, 0, 0, 10 + i), 9), "x", 1);
        arp_from(world, 2, own, FRAME_IPV4(10, 0, 0, 10 + i), world->a.address);
    }
    world_drain(world);
    for (uint32_t i = 0; i < 100000; i++) {
        uint8_t source[6] = {2, 1, 0, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i};
        uint32_t address = FRAME_IPV4(10, 0, 1 + i / 250 % 250, 1 + i % 250);
        struct frame frame = arp_frame(world, 1 + i % 2, source, address, world->a.address);
        if (i % 2)
            siege_drop(&siege, &frame, "arp_unsolicited");
        else
            assert_non_null(siege_take(&siege, &frame));
        if (i % 1000 == 0) {
            unsigned peer = i / 1000 % PEERS;
            expect(
                datagram_reaches(world, socket, FRAME_IPV4(10, 0, 0, 10 + peer), hardware[peer]));
        }
    }
    for (unsigned i = 0; i < PEERS; i++)
        expect(datagram_reaches(world, socket, FRAME_IPV4(10, 0, 0, 10 + i), hardware[i]));
    const uint8_t newcomer[6] = {2, 0, 0, 2, 0, 0};
    plumb_udp_send(socket, endpoint_of(FRAME_IPV4(10, 0, 0, 20), 9), "x", 1);
    arp_from(world, 2, newcomer, FRAME_IPV4(10, 0, 0, 20), world->a.address);
    expect(datagram_reaches(world, socket, FRAME_IPV4(10, 0, 0, 20), newcomer));
    expect_equal(side_buffers_used(&world->a), 0);
    siege_end(&siege);
}

/* A table full of peers that we need has no place for strangers; they are answered
 * all the same. */
static void test_hostile_04_strangers_displace_no_needed_peer(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct plumb_udp *socket = open_socket(world);
    for (unsigned i = 0; i < CONFIG_PLUMB_ARP_ENTRIES; i++) {
        uint8_t hardware[6] = {2, 0, 0, 1, 0, (uint8_t)i};
        plumb_udp_send(socket, endpoint_of(FRAME_IPV4(10, 0, 0, 10 + i), 9), "x", 1);
        arp_from(world, 2, hardware, FRAME_IPV4(10, 0, 0, 10 + i), world->a.address);
    }
    world_drain(world);
    for (unsigned i = 0; i < 100; i++) {
        arp_from(world, 1, stranger, FRAME_IPV4(10, 0, 0, 100 + i), world->a.address);
        struct frame *reply = world_collect_any(world);
        assert_non_null(reply);
        expect(is_arp(reply, 2));
    }
    for (unsigned i = 0; i < CONFIG_PLUMB_ARP_ENTRIES; i++) {
        uint8_t hardware[6] = {2, 0, 0, 1, 0, (uint8_t)i};
        expect(datagram_reaches(world, socket, FRAME_IPV4(10, 0, 0, 10 + i), hardware));
    }
    world_end(world);
}

HARNESS_MAIN(cmocka_unit_test(test_hostile_01_runts_under_14_bytes),
             cmocka_unit_test(test_hostile_01_ethertype_alone),
             cmocka_unit_test(test_hostile_02_arp_malformed),
             cmocka_unit_test(test_hostile_03_unsolicited_answers_change_nothing),
             cmocka_unit_test(test_hostile_03_claims_move_no_known_neighbour),
             cmocka_unit_test(test_hostile_03_claims_to_be_the_gateway),
             cmocka_unit_test(test_hostile_04_arp_flood_keeps_live_peers),
             cmocka_unit_test(test_hostile_04_strangers_displace_no_needed_peer))
