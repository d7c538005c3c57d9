/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* IPv4 and ICMP. */
#include <string.h>

#include <plumb_config.h>

#include "peer.h"

/* A world whose stack knows the test, and an echo request to it. */
static struct world *begin(struct frame *echo) {
    struct world *world = world_single(0);
    struct frame_path path = world_path(world, 0, 0);
    world_introduce(world);
    frame_icmp(echo, &path, 8, 0, 0x00070001, "abcdefgh", 8);
    return world;
}

/* The frame is dropped under this name, and nothing is said about it. */
static void expect_silent_drop(struct world *world, const struct frame *frame, const char *name) {
    struct counters before = counters_now(&world->a);
    world_inject(world, frame);
    counters_expect_drop(&world->a, &before, name, 1);
    if (world_collect(world))
        fail_msg("an answer to what %s should have dropped", name);
    expect_equal(side_buffers_used(&world->a), 0);
}

static struct frame *expect_answer(struct world *world, const struct frame *frame) {
    struct counters before = counters_now(&world->a);
    world_inject(world, frame);
    counters_expect_drop(&world->a, &before, 0, 0);
    struct frame *reply = world_collect(world);
    assert_non_null(reply);
    return reply;
}

/* ---- IPv4 ---- */

static void destinations_that_are_not_ours(void **state) {
    (void)state;
    struct frame echo;
    struct world *world = begin(&echo);
    const uint32_t destinations[] = {
        FRAME_IPV4(0, 0, 0, 0),   FRAME_IPV4(10, 0, 0, 3),  FRAME_IPV4(10, 0, 1, 255),
        FRAME_IPV4(127, 0, 0, 1), FRAME_IPV4(224, 0, 0, 1), FRAME_IPV4(10, 0, 0, 0),
        FRAME_IPV4(8, 8, 8, 8),
    };
    for (unsigned i = 0; i < sizeof destinations / sizeof *destinations; i++) {
        struct frame frame = echo;
        frame_put32(&frame, 30, destinations[i]);
        frame_fix_checksums(&frame);
        expect_silent_drop(world, &frame, "ipv4_not_for_us");
    }
    world_end(world);
}

static void flags_of_no_fragment(void **state) {
    (void)state;
    struct frame echo;
    struct world *world = begin(&echo);
    static const uint16_t whole[] = {0, 0x4000, 0x8000};
    for (unsigned i = 0; i < sizeof whole / sizeof *whole; i++) {
        struct frame frame = echo;
        frame_put16(&frame, 20, whole[i]);
        frame_fix_checksums(&frame);
        expect_answer(world, &frame);
    }
    world_end(world);
}

/* Every protocol but ours is refused by ICMP with the header and 8 bytes quoted. */
static void protocols_not_here(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct frame_path path = world_path(world, 0, 0);
    world_introduce(world);
    for (unsigned protocol = 0; protocol < 256; protocol++) {
        struct frame frame;
        if (protocol == 1 || protocol == 6 || protocol == 17)
            continue;
        struct counters before = counters_now(&world->a);
        frame_ipv4(&frame, &path, protocol, 0, 0);
        frame_append(&frame, "0123456789", protocol % 11);
        frame_finish(&frame);
        world_inject(world, &frame);
        counters_expect_drop(&world->a, &before, "ipv4_protocol", 1);
        struct frame *reply = world_collect(world);
        assert_non_null(reply);
        unsigned quoted = protocol % 11 < 8 ? protocol % 11 : 8;
        expect_equal(frame_get16(reply, FRAME_TRANSPORT), 0x0302);
        expect_equal(reply->length, FRAME_TRANSPORT + 8 + 20 + quoted);
        assert_memory_equal(reply->bytes + FRAME_TRANSPORT + 8, frame.bytes + 14, 20 + quoted);
        world_run(world, 10 * MILLISECOND);
    }
    world_end(world);
}

static void addresses_are_checked_when_set(void **state) {
    (void)state;
    struct world *world = world_single(&(struct world_options){.unconfigured = true});
    const struct {
        uint32_t address, netmask, gateway;
        int result;
    } cases[] = {
        {FRAME_IPV4(127, 0, 0, 1), 0xff000000, 0, PLUMB_ERROR_INVALID},
        {FRAME_IPV4(224, 0, 0, 1), 0xffffff00, 0, PLUMB_ERROR_INVALID},
        {FRAME_IPV4(255, 255, 255, 255), 0xffffff00, 0, PLUMB_ERROR_INVALID},
        {FRAME_IPV4(0, 0, 0, 1), 0xffffff00, 0, PLUMB_ERROR_INVALID},
        {FRAME_IPV4(10, 0, 0, 1), 0xff00ff00, 0, PLUMB_ERROR_INVALID},
        {FRAME_IPV4(10, 0, 0, 1), 0, 0, PLUMB_ERROR_INVALID},
        {FRAME_IPV4(10, 0, 0, 1), 0xffffff00, FRAME_IPV4(10, 0, 0, 1), PLUMB_ERROR_INVALID},
        {FRAME_IPV4(10, 0, 0, 1), 0xffffff00, FRAME_IPV4(10, 0, 1, 1), PLUMB_ERROR_INVALID},
        {FRAME_IPV4(10, 0, 0, 1), 0xffffff00, FRAME_IPV4(10, 0, 0, 0), PLUMB_ERROR_INVALID},
        {FRAME_IPV4(10, 0, 0, 1), 0xffffff00, FRAME_IPV4(10, 0, 0, 255), PLUMB_ERROR_INVALID},
        {FRAME_IPV4(10, 0, 0, 0), 0xffffff00, 0, PLUMB_ERROR_INVALID},
        {FRAME_IPV4(10, 0, 0, 255), 0xffffff00, 0, PLUMB_ERROR_INVALID},
        {FRAME_IPV4(10, 0, 0, 7), 0xfffffff8, 0, PLUMB_ERROR_INVALID},
        {FRAME_IPV4(10, 0, 0, 2), 0xfffffffe, FRAME_IPV4(10, 0, 0, 3), PLUMB_OK},
        {FRAME_IPV4(10, 0, 0, 3), 0xfffffffe, FRAME_IPV4(10, 0, 0, 2), PLUMB_OK},
        {FRAME_IPV4(10, 0, 0, 1), 0xffffff00, FRAME_IPV4(10, 0, 0, 2), PLUMB_OK},
        {FRAME_IPV4(10, 0, 0, 1), 0xffffffff, 0, PLUMB_OK},
        {0, 0, 0, PLUMB_OK},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_equal(plumb_netif_set_ipv4(world->a.netif, ipv4_of(cases[i].address),
                                          ipv4_of(cases[i].netmask), ipv4_of(cases[i].gateway)),
                     cases[i].result);
    expect(plumb_ipv4_equal(world->a.netif->ipv4, PLUMB_IPV4_ANY));
    world_end(world);
}

/* Two hosts and no broadcast address (RFC 3021): the odd one is a host as any. */
static void two_hosts_on_a_network(void **state) {
    (void)state;
    struct world *world = world_single(&(struct world_options){.unconfigured = true});
    struct frame_path path = world_path(world, 0, 0);
    struct frame request;
    path.to = FRAME_IPV4(10, 0, 0, 2);
    path.from = FRAME_IPV4(10, 0, 0, 3);
    expect_equal(
        plumb_netif_set_ipv4(world->a.netif, ipv4_of(path.to), ipv4_of(0xfffffffeU), ipv4_of(0)),
        PLUMB_OK);
    world_drain(world);
    frame_arp(&request, world->a.ethernet, 1, world->b.ethernet, path.from, world->a.ethernet,
              path.to);
    world_inject(world, &request);
    assert_non_null(world_collect_any(world));
    frame_icmp(&request, &path, 8, 0, 0x10001, "hello", 5);
    world_inject(world, &request);
    struct frame *reply = world_collect_any(world);
    assert_non_null(reply);
    assert_memory_equal(reply->bytes, world->b.ethernet, 6);
    expect_equal(frame_get32(reply, 30), path.from);
    expect_equal(reply->bytes[FRAME_TRANSPORT], 0);
    world_end(world);
}

/* How many ARP requests for an address were sent; the rest is thrown away. */
static unsigned asks_for(struct world *world, uint32_t address) {
    unsigned count = 0;
    for (struct frame *frame; (frame = world_collect_any(world));)
        count += frame_get16(frame, 12) == 0x0806 && frame_get16(frame, 20) == 1 &&
                 frame_get32(frame, 38) == address;
    return count;
}

static void connections_follow_a_new_gateway(void **state) {
    (void)state;
    uint32_t second = FRAME_IPV4(10, 0, 0, 77);
    const uint8_t hardware[6] = {2, 0, 0, 0, 0, 77};
    struct user user = {0};
    struct world *world = world_single(0);
    expect_equal(plumb_netif_set_ipv4(world->a.netif, ipv4_of(world->a.address),
                                      ipv4_of(0xffffff00U), ipv4_of(world->b.address)),
                 PLUMB_OK);
    world_introduce(world);
    user_listen(&user, &world->a, 80);
    struct peer peer = peer_at(world, 40000, 80);
    peer.path.from = FRAME_IPV4(8, 8, 8, 8);
    peer_connect(&peer);
    expect_equal(user.accepted, 1);
    expect_equal(plumb_netif_set_ipv4(world->a.netif, ipv4_of(world->a.address),
                                      ipv4_of(0xffffff00U), ipv4_of(second)),
                 PLUMB_OK);
    plumb_tcp_send(user.connection, "hello", 5);
    world_run(world, 10 * MILLISECOND);
    expect(asks_for(world, second) >= 1);
    struct frame answer;
    frame_arp(&answer, world->a.ethernet, 2, hardware, second, world->a.ethernet, world->a.address);
    world_inject(world, &answer);
    world_run(world, SECOND);
    struct frame *frame = world_collect_any(world);
    assert_non_null(frame);
    expect_equal(frame_get32(frame, 30), peer.path.from);
    assert_memory_equal(frame->bytes, hardware, 6);
    expect_equal(plumb_tcp_error(user.connection), PLUMB_OK);
    user_end(&user);
    world_settle(world);
    world_end(world);
}

/* ---- ICMP ---- */

/* Every length, in whole buffers and in fragments: the bytes come back. */
static void echo_of_every_size(void **state) {
    (void)state;
    for (unsigned fragment = 0; fragment <= 128; fragment += 128) {
        struct world *world = world_single(&(struct world_options){.fragment = (uint16_t)fragment});
        struct frame_path path = world_path(world, 0, 0);
        uint8_t payload[1472];
        for (unsigned i = 0; i < sizeof payload; i++)
            payload[i] = pattern_at(1, i);
        world_introduce(world);
        for (unsigned length = 0; length <= sizeof payload; length++) {
            struct frame frame;
            frame_icmp(&frame, &path, 8, 0, 0x00010000 + length, payload, length);
            struct frame *reply = expect_answer(world, &frame);
            expect_equal(reply->length, frame.length);
            expect_equal(frame_get16(reply, FRAME_TRANSPORT), 0);
            expect_equal(frame_get32(reply, 26), world->a.address);
            expect_equal(frame_get32(reply, 30), world->b.address);
            assert_memory_equal(reply->bytes + FRAME_TRANSPORT + 4,
                                frame.bytes + FRAME_TRANSPORT + 4, length + 4);
            world_run(world, 2 * MILLISECOND);
        }
        world_end(world);
    }
}

/* A reply of nothing but zeroes has the checksum 0xffff, not 0 (RFC 1624 section 3). */
static void echo_of_nothing_but_zeroes(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct frame_path path = world_path(world, 0, 0);
    uint8_t zeroes[56] = {0};
    struct frame frame;
    world_introduce(world);
    frame_icmp(&frame, &path, 8, 0, 0, zeroes, sizeof zeroes);
    struct frame *reply = expect_answer(world, &frame);
    expect_equal(frame_get16(reply, FRAME_TRANSPORT + 2), 0xffff);
    world_end(world);
}

static void echo_malformed(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct frame_path path = world_path(world, 0, 0);
    struct frame frame;
    world_introduce(world);
    for (unsigned bit = 0; bit < 8 * 12; bit++) {
        frame_icmp(&frame, &path, 8, 0, 1, "abcd", 4);
        frame.bytes[FRAME_TRANSPORT + bit / 8] ^= (uint8_t)(1U << bit % 8);
        expect_silent_drop(world, &frame, "icmp_checksum");
    }
    frame_icmp(&frame, &path, 8, 1, 1, "abcd", 4);
    expect_silent_drop(world, &frame, "icmp_type");
    world_end(world);
}

static void ignore(struct plumb_udp *socket, struct plumb_packet *payload,
                   const struct plumb_udp_source *source, void *context) {
    (void)socket;
    (void)payload;
    (void)source;
    (void)context;
}

static void errors_are_quoted_in_full(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct frame_path path = world_path(world, 1000, 2000), back = frame_path_back(&path);
    struct frame quoted, frame;
    struct plumb_udp *socket;
    expect_equal(plumb_udp_open(world->a.stack, endpoint_of(0, 2000), ignore, 0, &socket),
                 PLUMB_OK);
    world_introduce(world);
    frame_udp(&quoted, &back, "0123", 4);
    struct counters before = counters_now(&world->a);
    frame_icmp(&frame, &path, 3, 3, 0, quoted.bytes + 14, 28);
    world_inject(world, &frame);
    counters_expect_drop(&world->a, &before, 0, 0);
    for (unsigned length = 0; length < 28; length++) {
        frame_icmp(&frame, &path, 3, 3, 0, quoted.bytes + 14, length);
        expect_silent_drop(world, &frame, "icmp_quote");
    }
    /* Quotes a longer header than there is; a version; another's packet. */
    struct frame wrong = quoted;
    wrong.bytes[14] = 0x4f;
    frame_icmp(&frame, &path, 3, 3, 0, wrong.bytes + 14, 32);
    expect_silent_drop(world, &frame, "icmp_quote");
    wrong.bytes[14] = 0x65;
    frame_icmp(&frame, &path, 3, 3, 0, wrong.bytes + 14, 32);
    expect_silent_drop(world, &frame, "icmp_quote");
    wrong = quoted;
    frame_put32(&wrong, 26, FRAME_IPV4(10, 0, 0, 77));
    frame_icmp(&frame, &path, 3, 3, 0, wrong.bytes + 14, 32);
    expect_silent_drop(world, &frame, "icmp_quote");
    world_end(world);
}

static void expect_silent_limit(struct world *world, const struct frame *frame) {
    struct counters before = counters_now(&world->a);
    world_inject(world, frame);
    expect_equal(counters_moved(&world->a, &before, "icmp_limited"), 1);
    assert_null(world_collect(world));
}

static void rate_is_limited_and_recovers(void **state) {
    (void)state;
    struct frame echo;
    struct world *world = begin(&echo);
    unsigned answers = 0;
    world_run(world, 2 * SECOND);
    struct counters before = counters_now(&world->a);
    for (unsigned i = 0; i < CONFIG_PLUMB_ICMP_RATE + 500; i++) {
        world_inject(world, &echo);
        answers += world_collect(world) != 0;
    }
    expect_equal(answers, CONFIG_PLUMB_ICMP_RATE);
    expect_equal(counters_moved(&world->a, &before, "icmp_limited"), 500);
    expect_equal(side_buffers_used(&world->a), 0);
    world_run(world, 1001 * MILLISECOND);
    /* Spread over most of a second it is no more. */
    for (answers = 0; answers < CONFIG_PLUMB_ICMP_RATE; answers++) {
        expect_answer(world, &echo);
        world_run(world, 800);
    }
    expect_silent_limit(world, &echo);
    world_run(world, 201 * MILLISECOND);
    expect_answer(world, &echo);
    world_end(world);
}

HARNESS_MAIN(cmocka_unit_test(destinations_that_are_not_ours),
             cmocka_unit_test(flags_of_no_fragment), cmocka_unit_test(protocols_not_here),
             cmocka_unit_test(addresses_are_checked_when_set), cmocka_unit_test(echo_of_every_size),
             cmocka_unit_test(echo_of_nothing_but_zeroes), cmocka_unit_test(echo_malformed),
             cmocka_unit_test(errors_are_quoted_in_full),
             cmocka_unit_test(rate_is_limited_and_recovers),
             cmocka_unit_test(two_hosts_on_a_network),
             cmocka_unit_test(connections_follow_a_new_gateway))
