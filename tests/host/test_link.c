/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Ethernet, VLAN tags and ARP. */
#include <string.h>

#include <plumb_config.h>

#include "harness.h"

static const uint8_t everyone[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
static const uint8_t zeroes[6];
static const uint8_t stranger[6] = {2, 0, 0, 0, 9, 9};

/* ---- helpers ---- */

static bool is_arp(const struct frame *frame, unsigned operation) {
    return frame->length >= 42 && frame_get16(frame, 12) == 0x0806 &&
           frame_get16(frame, 20) == operation;
}

static uint32_t arp_target(const struct frame *frame) {
    return frame_get32(frame, 38);
}

/* How many ARP requests for `address` were sent; the rest is thrown away. */
static unsigned requests_sent(struct world *world, uint32_t address) {
    unsigned count = 0;
    for (struct frame *frame; (frame = world_collect_any(world));)
        count += is_arp(frame, 1) && arp_target(frame) == address;
    return count;
}

static void arp_from(struct world *world, unsigned operation, const uint8_t sender[6],
                     uint32_t sender_ipv4, uint32_t target_ipv4) {
    struct frame frame;
    bool request = operation == 1;
    frame_arp(&frame, request ? everyone : world->a.ethernet, operation, sender, sender_ipv4,
              request ? zeroes : world->a.ethernet, target_ipv4);
    world_inject(world, &frame);
}

static void ignore(struct plumb_udp *socket, struct plumb_packet *payload,
                   const struct plumb_udp_source *source, void *context) {
    (void)socket;
    (void)payload;
    (void)source;
    (void)context;
}

static struct plumb_udp *open_socket(struct world *world) {
    struct plumb_udp *socket;
    assert_int_equal(plumb_udp_open(world->a.stack, endpoint_of(0, 7000), ignore, 0, &socket),
                     PLUMB_OK);
    return socket;
}

/* The stack asks for the test's address, and is answered. */
static void meet_neighbour(struct world *world, struct plumb_udp *socket) {
    plumb_udp_send(socket, endpoint_of(world->b.address, 9), "x", 1);
    arp_from(world, 2, world->b.ethernet, world->b.address, world->a.address);
    world_drain(world);
}

/* Sends one datagram to `address`; returns whether it went out to `hardware`. */
static bool datagram_reaches(struct world *world, struct plumb_udp *socket, uint32_t address,
                             const uint8_t hardware[6]) {
    bool reached = false;
    plumb_udp_send(socket, endpoint_of(address, 9), "ping", 4);
    world_settle(world);
    for (struct frame *frame; (frame = world_collect_any(world));)
        reached |= frame_get16(frame, 12) == 0x0800 && !memcmp(frame->bytes, hardware, 6) &&
                   frame_get32(frame, 30) == address;
    return reached;
}

/* ---- Ethernet ---- */

static void runts_are_short(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct frame frame;
    frame_ethernet(&frame, world->a.ethernet, world->b.ethernet, 0x0800);
    for (uint16_t length = 0; length < 14; length++) {
        struct counters before = counters_now(&world->a);
        frame.length = length;
        world_inject(world, &frame);
        counters_expect_drop(&world->a, &before, "ethernet_short", 1);
    }
    expect_equal(plumb_wire_waiting(&world->wire.end[1]), 0);
    world_end(world);
}

static void ethernet_drops_are_named(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct frame_path path = world_path(world, 1000, 2000);
    const struct {
        const char *counter;
        uint8_t to[6], from[6];
        uint16_t type;
    } cases[] = {
        {"ethernet_not_for_us", {2, 0, 0, 0, 0, 77}, {2, 0, 0, 0, 0, 2}, 0x0800},
        {"ethernet_not_for_us", {1, 0, 0x5e, 0, 0, 1}, {2, 0, 0, 0, 0, 2}, 0x0800},
        {"ethernet_not_for_us", {0, 0, 0, 0, 0, 0}, {2, 0, 0, 0, 0, 2}, 0x0800},
        {"ethernet_source", {2, 0, 0, 0, 0, 1}, {3, 0, 0, 0, 0, 2}, 0x0800},
        {"ethernet_source", {2, 0, 0, 0, 0, 1}, {255, 255, 255, 255, 255, 255}, 0x0800},
        {"ethernet_type", {2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}, 0x86dd},
        {"ethernet_type", {2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}, 46},
        {"ethernet_type", {255, 255, 255, 255, 255, 255}, {2, 0, 0, 0, 0, 2}, 0x88cc},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct frame frame;
        struct counters before = counters_now(&world->a);
        frame_icmp(&frame, &path, 8, 0, 1, "ping", 4);
        memcpy(frame.bytes, cases[i].to, 6);
        memcpy(frame.bytes + 6, cases[i].from, 6);
        frame_put16(&frame, 12, cases[i].type);
        world_inject(world, &frame);
        counters_expect_drop(&world->a, &before, cases[i].counter, 1);
        expect_equal(plumb_wire_waiting(&world->wire.end[1]), 0);
    }
    world_end(world);
}

static void oversized_frames_stop_at_the_interface(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct frame frame = {.length = 1519};
    struct counters before = counters_now(&world->a);
    world_inject(world, &frame);
    counters_expect_drop(&world->a, &before, "netif.rx_too_long", 1);
    world_end(world);
}

/* An echo request with a tag is answered, untagged, or dropped as expected. */
static void check_tag(struct world *world, unsigned tag, bool answered) {
    struct frame_path path = world_path(world, 0, 0);
    struct frame frame;
    struct counters before = counters_now(&world->a);
    frame_icmp(&frame, &path, 8, 0, 1, "tagged", 6);
    frame_tag(&frame, tag);
    world_inject(world, &frame);
    counters_expect_drop(&world->a, &before, answered ? 0 : "ethernet_vlan", 1);
    struct frame *reply = world_collect_any(world);
    expect(answered == (reply != 0));
    if (reply)
        expect_equal(frame_get16(reply, 12), 0x0800);
}

static void vlan_tags(void **state) {
    (void)state;
    struct world *world = world_single(0);
    world_introduce(world);
    check_tag(world, 0, true);
    check_tag(world, 0xe000, true);
    check_tag(world, 5, false);
    world->a.netif->vlan = 5;
    check_tag(world, 5, true);
    check_tag(world, 0xa005, true);
    check_tag(world, 6, false);
    check_tag(world, 0, true);
    world_end(world);
}

static void vlan_tag_cut_short(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct frame frame;
    frame_ethernet(&frame, world->a.ethernet, world->b.ethernet, 0x8100);
    frame_append32(&frame, 0x00000800);
    for (uint16_t length = 14; length < 18; length++) {
        struct counters before = counters_now(&world->a);
        frame.length = length;
        world_inject(world, &frame);
        counters_expect_drop(&world->a, &before, "ethernet_short", 1);
    }
    world_end(world);
}

static void a_tag_within_a_tag_is_not_followed(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct frame_path path = world_path(world, 0, 0);
    struct frame frame;
    frame_icmp(&frame, &path, 8, 0, 1, "tagged", 6);
    frame_tag(&frame, 0);
    frame_tag(&frame, 0);
    struct counters before = counters_now(&world->a);
    world_inject(world, &frame);
    counters_expect_drop(&world->a, &before, "ethernet_type", 1);
    world_end(world);
}

/* ---- ARP ---- */

static void arp_answers_for_itself_only(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct counters before = counters_now(&world->a);
    arp_from(world, 1, world->b.ethernet, world->b.address, world->a.address);
    struct frame *reply = world_collect_any(world);
    assert_non_null(reply);
    expect(is_arp(reply, 2));
    assert_memory_equal(reply->bytes, world->b.ethernet, 6);
    assert_memory_equal(reply->bytes + 6, world->a.ethernet, 6);
    assert_memory_equal(reply->bytes + 22, world->a.ethernet, 6);
    expect_equal(frame_get32(reply, 28), world->a.address);
    assert_memory_equal(reply->bytes + 32, world->b.ethernet, 6);
    expect_equal(frame_get32(reply, 38), world->b.address);
    counters_expect_drop(&world->a, &before, 0, 0);

    before = counters_now(&world->a);
    arp_from(world, 1, stranger, FRAME_IPV4(10, 0, 0, 50), FRAME_IPV4(10, 0, 0, 60));
    counters_expect_drop(&world->a, &before, "arp_not_for_us", 1);
    assert_null(world_collect_any(world));
    world_end(world);
}

static void arp_malformed(void **state) {
    (void)state;
    struct world *world = world_single(0);
    static const struct {
        uint16_t offset, value;
    } cases[] = {
        {14, 0},      {14, 6},      {16, 0x0801}, {16, 0x86dd}, {18, 0x0504}, {18, 0x0604 + 1},
        {18, 0x0004}, {18, 0xffff}, {20, 0},      {20, 3},      {20, 8},      {20, 0xffff},
        {28, 0x7f00}, {28, 0xe000}, {28, 0xffff}, {22, 0x0300}, {22, 0xffff},
    };
    struct frame good, frame;
    frame_arp(&good, everyone, 1, world->b.ethernet, world->b.address, zeroes, world->a.address);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct counters before = counters_now(&world->a);
        frame = good;
        frame_put16(&frame, cases[i].offset, cases[i].value);
        world_inject(world, &frame);
        counters_expect_drop(&world->a, &before, "arp_invalid", 1);
        assert_null(world_collect_any(world));
    }
    for (uint16_t length = 14; length < 42; length++) {
        struct counters before = counters_now(&world->a);
        frame = good;
        frame.length = length;
        world_inject(world, &frame);
        counters_expect_drop(&world->a, &before, "arp_short", 1);
    }
    world_inject(world, &good);
    expect(world_collect_any(world) != 0);
    world_end(world);
}

/* RFC 5227: a probe has no sender, is answered, and nobody is learnt from it. */
static void arp_probe_for_our_address(void **state) {
    (void)state;
    struct world *world = world_single(0);
    arp_from(world, 1, stranger, 0, world->a.address);
    struct frame *reply = world_collect_any(world);
    assert_non_null(reply);
    expect(is_arp(reply, 2));
    assert_memory_equal(reply->bytes, stranger, 6);
    world_end(world);
}

/* Several connections of other networks would otherwise want it at once, and a
 * neighbour's queue holds one packet. */
static void arp_asks_for_the_gateway_at_once(void **state) {
    (void)state;
    struct world *world = world_single(&(struct world_options){.unconfigured = true});
    expect_equal(plumb_netif_set_ipv4(world->a.netif, ipv4_of(FRAME_IPV4(10, 0, 0, 1)),
                                      ipv4_of(0xffffff00U), ipv4_of(FRAME_IPV4(10, 0, 0, 254))),
                 PLUMB_OK);
    assert_non_null(world_collect_any(world)); /* the announcement */
    struct frame *frame = world_collect_any(world);
    assert_non_null(frame);
    expect(is_arp(frame, 1));
    expect_equal(arp_target(frame), FRAME_IPV4(10, 0, 0, 254));
    /* Nobody heard it; the first packet for the gateway has it asked again at once, the
     * next ones not. */
    world_run(world, 300 * MILLISECOND);
    struct plumb_udp *socket = open_socket(world);
    for (unsigned i = 0; i < 3; i++) {
        plumb_udp_send(socket, endpoint_of(FRAME_IPV4(10, 0, 0, 254), 9), "x", 1);
        expect_equal(requests_sent(world, FRAME_IPV4(10, 0, 0, 254)), i == 0);
        world_run(world, 10 * MILLISECOND);
    }
    world_end(world);
}

static void arp_announces_a_new_address(void **state) {
    (void)state;
    struct world *world = world_single(&(struct world_options){.unconfigured = true});
    assert_null(world_collect_any(world));
    expect_equal(plumb_netif_set_ipv4(world->a.netif, ipv4_of(FRAME_IPV4(10, 0, 0, 1)),
                                      ipv4_of(0xffffff00U), PLUMB_IPV4_ANY),
                 PLUMB_OK);
    struct frame *frame = world_collect_any(world);
    assert_non_null(frame);
    expect(is_arp(frame, 1));
    assert_memory_equal(frame->bytes, everyone, 6);
    expect_equal(frame_get32(frame, 28), FRAME_IPV4(10, 0, 0, 1));
    expect_equal(arp_target(frame), FRAME_IPV4(10, 0, 0, 1));
    world_end(world);
}

static void arp_before_there_is_an_address(void **state) {
    (void)state;
    struct world *world = world_single(&(struct world_options){.unconfigured = true});
    struct counters before = counters_now(&world->a);
    arp_from(world, 1, stranger, FRAME_IPV4(10, 0, 0, 50), FRAME_IPV4(0, 0, 0, 0));
    counters_expect_drop(&world->a, &before, "arp_not_for_us", 1);
    assert_null(world_collect_any(world));
    world_end(world);
}

static void arp_asks_three_times_and_drops_what_waits(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct plumb_udp *socket = open_socket(world);
    uint32_t nobody = FRAME_IPV4(10, 0, 0, 99);
    struct counters before = counters_now(&world->a);
    plumb_udp_send(socket, endpoint_of(nobody, 9), "x", 1);
    world_run(world, 10 * SECOND);
    expect_equal(requests_sent(world, nobody), 3);
    counters_expect_drop(&world->a, &before, "arp_queue", 1);
    expect_equal(side_buffers_used(&world->a), 0);
    world_end(world);
}

static void arp_keeps_the_newest_of_what_waits(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct plumb_udp *socket = open_socket(world);
    struct counters before = counters_now(&world->a);
    for (unsigned i = 0; i < 5; i++) {
        uint8_t payload = (uint8_t)i;
        expect_equal(plumb_udp_send(socket, endpoint_of(world->b.address, 9), &payload, 1),
                     PLUMB_OK);
    }
    expect_equal(requests_sent(world, world->b.address), 1);
    counters_expect_drop(&world->a, &before, "arp_queue", 4);
    arp_from(world, 2, world->b.ethernet, world->b.address, world->a.address);
    struct frame *frame = world_collect_any(world);
    assert_non_null(frame);
    expect_equal(frame_get16(frame, 12), 0x0800);
    expect_equal(frame->bytes[FRAME_UDP_PAYLOAD], 4);
    assert_memory_equal(frame->bytes, world->b.ethernet, 6);
    assert_null(world_collect_any(world));
    expect_equal(side_buffers_used(&world->a), 0);
    world_end(world);
}

static void arp_unsolicited_answers_change_nothing(void **state) {
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

/* A neighbour in use is asked again once its time has passed, and only it. */
static void arp_ages_and_confirms(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct plumb_udp *socket = open_socket(world);
    meet_neighbour(world, socket);
    world_run(world, (CONFIG_PLUMB_ARP_REACHABLE_MS - 2000) * MILLISECOND);
    expect(datagram_reaches(world, socket, world->b.address, world->b.ethernet));
    expect_equal(requests_sent(world, world->b.address), 0);
    world_run(world, 4 * SECOND);
    expect(requests_sent(world, world->b.address) >= 1);
    expect(datagram_reaches(world, socket, world->b.address, world->b.ethernet));
    /* Another's claim is not believed while the neighbour answers; but once it no longer
     * does, whoever answers the next question is. */
    arp_from(world, 2, stranger, world->b.address, world->a.address);
    world_drain(world);
    expect(datagram_reaches(world, socket, world->b.address, world->b.ethernet));
    world_run(world, 6 * SECOND);
    world_drain(world);
    plumb_udp_send(socket, endpoint_of(world->b.address, 9), "x", 1);
    expect_equal(requests_sent(world, world->b.address), 1);
    arp_from(world, 2, stranger, world->b.address, world->a.address);
    world_drain(world);
    expect(datagram_reaches(world, socket, world->b.address, stranger));
    world_end(world);
}

static void arp_forgets_who_does_not_answer(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct plumb_udp *socket = open_socket(world);
    meet_neighbour(world, socket);
    for (unsigned i = 0; i < 80; i++) {
        plumb_udp_send(socket, endpoint_of(world->b.address, 9), "x", 1);
        world_run(world, SECOND);
        world_drain(world);
    }
    expect(!datagram_reaches(world, socket, world->b.address, world->b.ethernet));
    world_end(world);
}

static void arp_defends_its_address_without_a_storm(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct counters before = counters_now(&world->a);
    unsigned announcements = 0;
    for (unsigned i = 0; i < 100; i++) {
        arp_from(world, 1, stranger, world->a.address, world->a.address);
        announcements += requests_sent(world, world->a.address);
    }
    expect_equal(announcements, 1);
    expect_equal(counters_moved(&world->a, &before, "arp_conflict"), 100);
    world_run(world, 11 * SECOND);
    arp_from(world, 2, stranger, world->a.address, world->b.address);
    expect_equal(requests_sent(world, world->a.address), 1);
    world_end(world);
}

/* 100 000 hosts speak up, asking and answering; the peers in use stay, and at the
 * end there is room for a new one. */
static void arp_flood_keeps_live_peers(void **state) {
    (void)state;
    enum { PEERS = 4 };
    struct world *world = world_single(0);
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
        struct counters before = counters_now(&world->a);
        arp_from(world, 1 + i % 2, source, address, world->a.address);
        counters_expect_drop(&world->a, &before, i % 2 ? "arp_unsolicited" : 0, 1);
        unsigned replies = 0;
        while (world_collect_any(world))
            replies++;
        expect_equal(replies, 1 - i % 2);
        if (i % 1000 == 0) {
            unsigned peer = i / 1000 % PEERS;
            expect(
                datagram_reaches(world, socket, FRAME_IPV4(10, 0, 0, 10 + peer), hardware[peer]));
        }
    }
    for (unsigned i = 0; i < PEERS; i++)
        expect(datagram_reaches(world, socket, FRAME_IPV4(10, 0, 0, 10 + i), hardware[i]));
    world_introduce(world);
    expect(datagram_reaches(world, socket, world->b.address, world->b.ethernet));
    expect_equal(side_buffers_used(&world->a), 0);
    world_end(world);
}

/* A table full of peers that we need has no place for strangers; they are answered
 * all the same. */
static void arp_strangers_displace_no_needed_peer(void **state) {
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

/* More peers than entries, all needed: the oldest give way, none is stuck. */
static void arp_more_peers_than_entries(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct plumb_udp *socket = open_socket(world);
    for (unsigned i = 0; i < 3 * CONFIG_PLUMB_ARP_ENTRIES; i++) {
        uint32_t address = FRAME_IPV4(10, 0, 0, 10 + i);
        uint8_t hardware[6] = {2, 0, 0, 1, 0, (uint8_t)i};
        plumb_udp_send(socket, endpoint_of(address, 9), "x", 1);
        arp_from(world, 2, hardware, address, world->a.address);
        world_drain(world);
        expect(datagram_reaches(world, socket, address, hardware));
        world_run(world, 10 * MILLISECOND);
    }
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
static void arp_claims_move_no_known_neighbour(void **state) {
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

HARNESS_MAIN(
    cmocka_unit_test(runts_are_short), cmocka_unit_test(ethernet_drops_are_named),
    cmocka_unit_test(oversized_frames_stop_at_the_interface), cmocka_unit_test(vlan_tags),
    cmocka_unit_test(vlan_tag_cut_short), cmocka_unit_test(a_tag_within_a_tag_is_not_followed),
    cmocka_unit_test(arp_answers_for_itself_only), cmocka_unit_test(arp_malformed),
    cmocka_unit_test(arp_probe_for_our_address), cmocka_unit_test(arp_asks_for_the_gateway_at_once),
    cmocka_unit_test(arp_announces_a_new_address), cmocka_unit_test(arp_before_there_is_an_address),
    cmocka_unit_test(arp_asks_three_times_and_drops_what_waits),
    cmocka_unit_test(arp_keeps_the_newest_of_what_waits),
    cmocka_unit_test(arp_unsolicited_answers_change_nothing),
    cmocka_unit_test(arp_ages_and_confirms), cmocka_unit_test(arp_forgets_who_does_not_answer),
    cmocka_unit_test(arp_defends_its_address_without_a_storm),
    cmocka_unit_test(arp_flood_keeps_live_peers),
    cmocka_unit_test(arp_strangers_displace_no_needed_peer),
    cmocka_unit_test(arp_more_peers_than_entries),
    cmocka_unit_test(arp_claims_move_no_known_neighbour))
