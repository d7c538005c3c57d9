/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Ethernet, VLAN tags and ARP. */
#include <string.h>

#include <plumb_config.h>

#include "neighbours.h"

/* ---- Ethernet ---- */

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

HARNESS_MAIN(cmocka_unit_test(ethernet_drops_are_named),
             cmocka_unit_test(oversized_frames_stop_at_the_interface), cmocka_unit_test(vlan_tags),
             cmocka_unit_test(a_tag_within_a_tag_is_not_followed),
             cmocka_unit_test(arp_answers_for_itself_only),
             cmocka_unit_test(arp_probe_for_our_address),
             cmocka_unit_test(arp_asks_for_the_gateway_at_once),
             cmocka_unit_test(arp_announces_a_new_address),
             cmocka_unit_test(arp_before_there_is_an_address),
             cmocka_unit_test(arp_asks_three_times_and_drops_what_waits),
             cmocka_unit_test(arp_keeps_the_newest_of_what_waits),
             cmocka_unit_test(arp_ages_and_confirms),
             cmocka_unit_test(arp_forgets_who_does_not_answer),
             cmocka_unit_test(arp_defends_its_address_without_a_storm),
             cmocka_unit_test(arp_more_peers_than_entries))
