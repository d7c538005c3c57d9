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

static void cut_at_every_length(void **state) {
    (void)state;
    struct frame echo;
    struct world *world = begin(&echo);
    for (uint16_t length = 14; length < FRAME_TRANSPORT + 8 + 8; length++) {
        struct frame frame = echo;
        frame.length = length;
        expect_silent_drop(world, &frame, length < 34 ? "ipv4_short" : "ipv4_length");
    }
    expect_answer(world, &echo);
    world_end(world);
}

static void versions_other_than_4(void **state) {
    (void)state;
    struct frame echo;
    struct world *world = begin(&echo);
    for (unsigned version = 0; version < 16; version++) {
        struct frame frame = echo;
        frame.bytes[14] = (uint8_t)(version << 4 | 5);
        frame_put16(&frame, 24, 0);
        frame_put16(&frame, 24, ~frame_sum(frame.bytes + 14, 20, 0));
        if (version != 4)
            expect_silent_drop(world, &frame, "ipv4_version");
    }
    world_end(world);
}

static void header_length_of_every_value(void **state) {
    (void)state;
    struct frame echo;
    struct world *world = begin(&echo);
    for (unsigned words = 0; words < 16; words++) {
        struct frame frame = echo;
        frame.bytes[14] = (uint8_t)(0x40 | words);
        if (words < 5)
            expect_silent_drop(world, &frame, "ipv4_header_length");
        else if (4 * words > 36)
            expect_silent_drop(world, &frame, "ipv4_header_length");
        else if (words != 5)
            expect_silent_drop(world, &frame, "ipv4_checksum");
    }
    world_end(world);
}

static void total_length_of_many_values(void **state) {
    (void)state;
    struct frame echo;
    struct world *world = begin(&echo);
    static const uint16_t wrong[] = {0, 1, 19, 37, 38, 1500, 0x7fff, 0xffff};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct frame frame = echo;
        frame_put16(&frame, 16, wrong[i]);
        frame_put16(&frame, 24, 0);
        frame_put16(&frame, 24, ~frame_sum(frame.bytes + 14, 20, 0));
        expect_silent_drop(world, &frame, "ipv4_length");
    }
    /* Right, yet nothing behind the header. */
    struct frame frame = echo;
    frame_put16(&frame, 16, 20);
    frame_fix_checksums(&frame);
    expect_silent_drop(world, &frame, "icmp_short");
    world_end(world);
}

static void every_wrong_header_checksum_bit(void **state) {
    (void)state;
    struct frame echo;
    struct world *world = begin(&echo);
    for (unsigned bit = 0; bit < 16; bit++) {
        struct frame frame = echo;
        frame_put16(&frame, 24, frame_get16(&frame, 24) ^ 1U << bit);
        expect_silent_drop(world, &frame, "ipv4_checksum");
    }
    world_end(world);
}

/* What lies behind the datagram is not part of it, and is not sent back. */
static void padding_is_not_echoed(void **state) {
    (void)state;
    struct frame echo;
    struct world *world = begin(&echo);
    struct frame padded = echo;
    for (unsigned i = 0; i < 40; i++)
        frame_append8(&padded, 0xee);
    struct frame *reply = expect_answer(world, &padded);
    expect_equal(reply->length, echo.length);
    world_end(world);
}

static void options_tolerated_or_dropped(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct frame_path path = world_path(world, 0, 0);
    static const struct {
        uint8_t bytes[8];
        const char *drop; /* null: answered */
    } cases[] = {
        {{1, 1, 1, 1, 1, 1, 1, 1}, 0},
        {{0, 0, 0, 0, 0, 0, 0, 0}, 0},
        {{1, 0, 9, 0, 9, 9, 9, 9}, 0},
        {{7, 7, 4, 0, 0, 0, 0, 0}, 0},               /* record route */
        {{68, 8, 5, 0, 0, 0, 0, 0}, 0},              /* time stamp */
        {{148, 4, 0, 0, 0, 0, 0, 0}, 0},             /* router alert */
        {{131, 7, 4, 1, 2, 3, 4, 0}, "ipv4_option"}, /* loose source route */
        {{137, 7, 4, 1, 2, 3, 4, 0}, "ipv4_option"}, /* strict */
        {{7, 0, 4, 0, 0, 0, 0, 0}, "ipv4_option"},
        {{7, 1, 4, 0, 0, 0, 0, 0}, "ipv4_option"},
        {{7, 9, 4, 0, 0, 0, 0, 0}, "ipv4_option"},
        {{7, 255, 4, 0, 0, 0, 0, 0}, "ipv4_option"},
        {{1, 1, 1, 1, 1, 1, 1, 7}, "ipv4_option"},
        {{1, 1, 1, 1, 1, 1, 7, 3}, "ipv4_option"},
    };
    world_introduce(world);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct frame frame;
        frame_ipv4(&frame, &path, 1, cases[i].bytes, 8);
        frame_append32(&frame, 0x08000000);
        frame_append32(&frame, 0x00070001);
        frame_append(&frame, "option", 6);
        frame_finish(&frame);
        if (cases[i].drop) {
            expect_silent_drop(world, &frame, cases[i].drop);
        } else {
            struct frame *reply = expect_answer(world, &frame);
            expect_equal(reply->bytes[14], 0x45);
            expect_equal(reply->length, FRAME_TRANSPORT + 8 + 6);
        }
    }
    world_end(world);
}

static void sources_that_no_host_has(void **state) {
    (void)state;
    struct frame echo;
    struct world *world = begin(&echo);
    const uint32_t sources[] = {
        FRAME_IPV4(0, 0, 0, 0),         FRAME_IPV4(0, 1, 2, 3),    FRAME_IPV4(127, 0, 0, 1),
        FRAME_IPV4(224, 0, 0, 1),       FRAME_IPV4(239, 1, 1, 1),  FRAME_IPV4(240, 0, 0, 1),
        FRAME_IPV4(255, 255, 255, 255), FRAME_IPV4(10, 0, 0, 255), world->a.address,
    };
    for (unsigned i = 0; i < sizeof sources / sizeof *sources; i++) {
        struct frame frame = echo;
        frame_put32(&frame, 26, sources[i]);
        frame_fix_checksums(&frame);
        expect_silent_drop(world, &frame, "ipv4_source");
    }
    world_end(world);
}

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

/* RFC 1122 section 3.2.1.7: a datagram that has arrived is taken. */
static void time_to_live_of_zero_and_one(void **state) {
    (void)state;
    struct frame echo;
    struct world *world = begin(&echo);
    for (uint8_t ttl = 0; ttl < 2; ttl++) {
        struct frame frame = echo;
        frame.bytes[22] = ttl;
        frame_fix_checksums(&frame);
        struct frame *reply = expect_answer(world, &frame);
        expect_equal(reply->bytes[22], CONFIG_PLUMB_IPV4_TTL);
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

static void nothing_said_about_broadcasts(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct frame_path path = world_path(world, 5, 6);
    struct frame frame;
    static const uint8_t everyone[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    world_introduce(world);
    path.to = FRAME_IPV4(10, 0, 0, 255);
    frame_udp(&frame, &path, "hello", 5);
    expect_silent_drop(world, &frame, "udp_port");
    frame_icmp(&frame, &path, 8, 0, 1, "hello", 5);
    expect_silent_drop(world, &frame, "icmp_broadcast");
    path.to = FRAME_IPV4(255, 255, 255, 255);
    frame_icmp(&frame, &path, 8, 0, 1, "hello", 5);
    expect_silent_drop(world, &frame, "icmp_broadcast");
    /* Ours by IPv4, everyone's by Ethernet. */
    path.to = world->a.address;
    memcpy(path.to_ethernet, everyone, 6);
    frame_udp(&frame, &path, "hello", 5);
    expect_silent_drop(world, &frame, "udp_port");
    frame_icmp(&frame, &path, 8, 0, 1, "hello", 5);
    expect_silent_drop(world, &frame, "icmp_broadcast");
    frame_ipv4(&frame, &path, 99, 0, 0);
    frame_finish(&frame);
    expect_silent_drop(world, &frame, "ipv4_protocol");
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
    for (unsigned length = 0; length < 8; length++) {
        frame_ipv4(&frame, &path, 1, 0, 0);
        frame_append(&frame, "\x08\x00\xf7\xff\x00\x00\x00\x00", length);
        frame_finish(&frame);
        expect_silent_drop(world, &frame, "icmp_short");
    }
    for (unsigned bit = 0; bit < 8 * 12; bit++) {
        frame_icmp(&frame, &path, 8, 0, 1, "abcd", 4);
        frame.bytes[FRAME_TRANSPORT + bit / 8] ^= (uint8_t)(1U << bit % 8);
        expect_silent_drop(world, &frame, "icmp_checksum");
    }
    frame_icmp(&frame, &path, 8, 1, 1, "abcd", 4);
    expect_silent_drop(world, &frame, "icmp_type");
    world_end(world);
}

static void types_without_an_answer(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct frame_path path = world_path(world, 0, 0);
    world_introduce(world);
    for (unsigned type = 0; type < 256; type++) {
        struct frame frame;
        frame_icmp(&frame, &path, type, 0, 0x0a000001, "0123456789012345678901234567890123", 34);
        if (type == 8)
            continue;
        expect_silent_drop(world, &frame, type == 3 || type == 11 ? "icmp_quote" : "icmp_type");
    }
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

HARNESS_MAIN(
    cmocka_unit_test(cut_at_every_length), cmocka_unit_test(versions_other_than_4),
    cmocka_unit_test(header_length_of_every_value), cmocka_unit_test(total_length_of_many_values),
    cmocka_unit_test(every_wrong_header_checksum_bit), cmocka_unit_test(padding_is_not_echoed),
    cmocka_unit_test(options_tolerated_or_dropped), cmocka_unit_test(sources_that_no_host_has),
    cmocka_unit_test(destinations_that_are_not_ours), cmocka_unit_test(flags_of_no_fragment),
    cmocka_unit_test(time_to_live_of_zero_and_one), cmocka_unit_test(protocols_not_here),
    cmocka_unit_test(nothing_said_about_broadcasts),
    cmocka_unit_test(addresses_are_checked_when_set), cmocka_unit_test(echo_of_every_size),
    cmocka_unit_test(echo_of_nothing_but_zeroes), cmocka_unit_test(echo_malformed),
    cmocka_unit_test(types_without_an_answer), cmocka_unit_test(errors_are_quoted_in_full),
    cmocka_unit_test(rate_is_limited_and_recovers), cmocka_unit_test(two_hosts_on_a_network),
    cmocka_unit_test(connections_follow_a_new_gateway))
