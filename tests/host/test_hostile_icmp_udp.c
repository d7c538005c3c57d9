/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* ICMP and UDP that have broken other stacks: rows 33 to 39 of docs/hostile.md. */
#include <string.h>

#include <plumb_config.h>

#include "neighbours.h"
#include "siege.h"

enum { ICMP = 1, UDP = 17, MORE = 0x2000, OPEN = 2000, CLOSED = 9 };
enum { UNREACHABLE = 3, QUENCH = 4, REDIRECT = 5, ECHO = 8, EXCEEDED = 11 };

static struct siege siege;

/* ---- ICMP ---- */

static void test_hostile_33_echo_under_8_bytes(void **state) {
    (void)state;
    siege_begin(&siege, 0);
    for (unsigned length = 0; length < 8; length++) {
        struct frame frame;
        frame_ipv4(&frame, &siege.path, ICMP, 0, 0);
        frame_append(&frame, "\x08\x00\xf7\xff\x00\x00\x00\x00", length);
        frame_finish(&frame);
        siege_drop(&siege, &frame, "icmp_short");
    }
    siege_end(&siege);
}

/* The longest that there is goes back in as many parts as it came in. */
static void test_hostile_33_echo_over_the_mtu_has_a_bounded_reply(void **state) {
    (void)state;
    enum { LENGTH = 65515, PIECE = 1480, PIECES = (LENGTH + PIECE - 1) / PIECE };
    static uint8_t message[LENGTH] = {ECHO};
    struct frame frame;
    siege_begin(&siege, 0);
    memset(message + 8, 0x55, LENGTH - 8);
    uint32_t sum = ~frame_sum(message, LENGTH, 0);
    message[2] = (uint8_t)(sum >> 8);
    message[3] = (uint8_t)sum;
    for (unsigned i = 0; i < PIECES; i++) {
        unsigned offset = i * PIECE;
        bool last = i + 1 == PIECES;
        frame_fragment(&frame, &siege.path, ICMP, 7, offset / 8 | (last ? 0 : MORE),
                       message + offset, last ? LENGTH - offset : PIECE);
        siege.most = last ? PIECES : 1;
        expect(last == (siege_take(&siege, &frame) != 0));
    }
    expect_equal(side_buffers_used(&siege.world->a), 0);
    siege_end(&siege);
}

/* A message about a segment of the flow's, in which the sequence number is this. */
static struct frame about(unsigned type, unsigned code, uint32_t rest, uint32_t sequence) {
    struct frame quoted, frame;
    struct frame_path back = frame_path_back(&siege.peer.path);
    frame_tcp(&quoted, &back, sequence, siege.peer.sequence, TCP_ACK, 1000, 0, 0, 0, 0);
    frame_icmp(&frame, &siege.path, type, code, rest, quoted.bytes + FRAME_NETWORK, 28);
    return frame;
}

/* What no segment under way has: too old, too new, and by far. */
static uint32_t out_of_window(unsigned i) {
    static const uint32_t away[] = {0xffffffff, 5, 100000, 0x7fffffff, 0x80000000};
    return siege.peer.acknowledgement + away[i % (sizeof away / sizeof *away)];
}

/* The user has bytes under way while the message comes. */
static const struct frame *strike_under_way(unsigned type, unsigned code, uint32_t rest,
                                            uint32_t away) {
    uint32_t sequence = siege.peer.acknowledgement + away;
    expect_equal(plumb_tcp_send(siege.user.connection, "hello", 5), 5);
    world_settle(siege.world);
    expect_equal(peer_accept(&siege.peer, TCP_ACK)->length, 5);
    struct frame frame = about(type, code, rest, sequence);
    const struct frame *reply = siege_strike(&siege, &frame);
    peer_send(&siege.peer, TCP_ACK, 0, 0);
    return reply;
}

/* Absurd sizes make no absurd segments, and what quotes nothing under way makes none at all. */
static void test_hostile_34_fragmentation_needed_with_an_absurd_mtu(void **state) {
    (void)state;
    static const uint32_t sizes[] = {0, 1, 67, 68, 575, 1499, 1500, 9000, 0xffff};
    siege_begin(&siege, 0);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct counters before = counters_now(&siege.world->a);
        unsigned mss = user_info(&siege.user).mss;
        for (unsigned k = 0; k < 5; k++) {
            struct frame frame = about(UNREACHABLE, 4, sizes[i], out_of_window(k));
            assert_null(siege_strike(&siege, &frame));
            assert_null(strike_under_way(UNREACHABLE, 4, sizes[i], 100000 + k));
        }
        expect_equal(user_info(&siege.user).mss, mss);
        counters_expect_drop(&siege.world->a, &before, "icmp_quote", 10);
        assert_null(strike_under_way(UNREACHABLE, 4, sizes[i], 0));
        expect(counters_drops(&siege.world->a, &before) <= 11);
        expect(user_info(&siege.user).mss >= 100 && user_info(&siege.user).mss <= mss);
        siege_exchange(&siege);
    }
    expect_equal(siege.user.events & PLUMB_TCP_CLOSED, 0);
    siege_end(&siege);
}

/* About a full segment under way it is believed, as far down as to 536 bytes. */
static void test_hostile_34_sizes_are_clamped(void **state) {
    static const struct {
        uint32_t mtu;
        unsigned mss;
    } cases[] = {{0, 1452},  {1, 536},     {67, 536},    {68, 536},    {575, 536},
                 {577, 537}, {1499, 1459}, {1500, 1460}, {9000, 1460}, {0xffff, 1460}};
    static const uint8_t full[1460];
    (void)state;
    needs(CONFIG_PLUMB_TCP_PMTUD);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct frame quoted, frame;
        siege_begin(&siege, 0);
        siege.most = 3; /* it goes again in parts */
        struct frame_path back = frame_path_back(&siege.peer.path);
        struct counters before = counters_now(&siege.world->a);
        frame_tcp(&quoted, &back, siege.peer.acknowledgement, siege.peer.sequence, TCP_ACK, 1000, 0,
                  0, full, sizeof full);
        expect_equal(plumb_tcp_send(siege.user.connection, full, sizeof full), sizeof full);
        world_settle(siege.world);
        expect_equal(peer_accept(&siege.peer, TCP_ACK)->length, sizeof full);
        frame_icmp(&frame, &siege.path, UNREACHABLE, 4, cases[i].mtu, quoted.bytes + FRAME_NETWORK,
                   28);
        siege_strike(&siege, &frame);
        expect_equal(user_info(&siege.user).mss, cases[i].mss);
        counters_expect_drop(&siege.world->a, &before, "icmp_quote", cases[i].mss == 1460);
        peer_send(&siege.peer, TCP_ACK, 0, 0);
        siege_exchange(&siege);
        siege_end(&siege);
    }
}

static void test_hostile_35_unreachable_ends_no_established_connection(void **state) {
    (void)state;
    siege_begin(&siege, 0);
    for (unsigned code = 0; code < 16; code++) {
        if (code == 4)
            continue;
        struct frame frame = about(UNREACHABLE, code, 0, out_of_window(code));
        siege_drop(&siege, &frame, "icmp_quote");
        frame = about(EXCEEDED, code, 0, out_of_window(code));
        siege_drop(&siege, &frame, "icmp_quote");
        /* A hint, and no more (RFC 5927 section 4). */
        struct counters before = counters_now(&siege.world->a);
        assert_null(strike_under_way(UNREACHABLE, code, 0, 0));
        assert_null(strike_under_way(EXCEEDED, code, 0, 0));
        counters_expect_drop(&siege.world->a, &before, 0, 0);
        siege_exchange(&siege);
    }
    expect_equal(siege.user.events & PLUMB_TCP_CLOSED, 0);
    siege_end(&siege);
}

static void test_hostile_36_nothing_is_said_about_broadcasts(void **state) {
    (void)state;
    static const uint8_t group[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    siege_begin(&siege, 0);
    for (unsigned i = 0; i < 3; i++) {
        struct frame_path path = siege.path;
        struct frame frame;
        if (i == 0)
            path.to = FRAME_IPV4(10, 0, 0, 255);
        if (i == 1)
            path.to = FRAME_IPV4(255, 255, 255, 255);
        if (i == 2) /* ours by IPv4, everyone's by Ethernet */
            memcpy(path.to_ethernet, group, 6);
        path.to_port = CLOSED;
        frame_udp(&frame, &path, "hello", 5);
        siege_drop(&siege, &frame, "udp_port");
        frame_icmp(&frame, &path, ECHO, 0, 1, "hello", 5);
        siege_drop(&siege, &frame, "icmp_broadcast");
        frame_ipv4(&frame, &path, 99, 0, 0);
        frame_finish(&frame);
        siege_drop(&siege, &frame, "ipv4_protocol");
        /* Nor when the rest of it never comes. */
        frame_fragment(&frame, &path, UDP, i, MORE, "12345678", 8);
        assert_null(siege_take(&siege, &frame));
    }
    siege.unasked = 0;
    siege_wait(&siege, (CONFIG_PLUMB_IPV4_REASSEMBLY_MS + 2000) * MILLISECOND);
    expect_equal(siege.unasked, 0);
    siege_end(&siege);
}

static void test_hostile_36_nothing_is_said_about_errors(void **state) {
    (void)state;
    static const uint8_t types[] = {0, UNREACHABLE, QUENCH, REDIRECT, ECHO, EXCEEDED, 12};
    siege_begin(&siege, 0);
    struct counters before = counters_now(&siege.world->a);
    for (unsigned i = 0; i < sizeof types; i++) {
        struct frame frame, whole;
        frame_icmp(&whole, &siege.path, types[i], 3, 0, "12345678", 8);
        frame_fragment(&frame, &siege.path, ICMP, i, MORE, whole.bytes + FRAME_TRANSPORT, 8);
        siege_wait(&siege, MILLISECOND);
        assert_null(siege_strike(&siege, &frame));
    }
    /* Nor about what is not the first part of anything. */
    struct frame frame;
    frame_fragment(&frame, &siege.path, UDP, 99, MORE | 1, "12345678", 8);
    assert_null(siege_strike(&siege, &frame));
    siege.unasked = 0;
    siege_wait(&siege, (CONFIG_PLUMB_IPV4_REASSEMBLY_MS + 2000) * MILLISECOND);
    expect_equal(siege.unasked, 0);
    expect_equal(counters_drops(&siege.world->a, &before), sizeof types + 1);
    /* As there is of a first part of anything else. */
    frame_fragment(&frame, &siege.path, UDP, 99, MORE, "12345678", 8);
    assert_null(siege_take(&siege, &frame));
    siege_wait(&siege, (CONFIG_PLUMB_IPV4_REASSEMBLY_MS + 2000) * MILLISECOND);
    expect_equal(siege.unasked, 1);
    siege_end(&siege);
}

static void test_hostile_36_errors_are_limited(void **state) {
    (void)state;
    struct frame datagram, unknown;
    siege_begin(&siege, 0);
    siege_wait(&siege, 2 * SECOND);
    siege.flood = true;
    siege.path.to_port = CLOSED;
    frame_udp(&datagram, &siege.path, "hello", 5);
    frame_ipv4(&unknown, &siege.path, 99, 0, 0);
    frame_finish(&unknown);
    struct counters before = counters_now(&siege.world->a);
    for (unsigned i = 0; i < CONFIG_PLUMB_ICMP_RATE + 500; i++) {
        const struct frame *frame = i % 2 ? &datagram : &unknown;
        const char *counter = i % 2 ? "udp_port" : "ipv4_protocol";
        before = counters_now(&siege.world->a);
        if (i < CONFIG_PLUMB_ICMP_RATE)
            siege_refuse(&siege, frame, counter);
        else
            siege_drop(&siege, frame, counter);
        expect_equal(counters_moved(&siege.world->a, &before, "icmp_limited"),
                     i >= CONFIG_PLUMB_ICMP_RATE);
    }
    siege_wait(&siege, 1100 * MILLISECOND);
    siege_refuse(&siege, &datagram, "udp_port");
    siege_end(&siege);
}

/* Every type that there could be, and none of them answered; above all those by which a
 * stranger would have us use another gateway, another netmask or less of the network. */
static void test_hostile_37_redirect_mask_reply_and_quench_are_ignored(void **state) {
    (void)state;
    const uint32_t gateway = FRAME_IPV4(10, 0, 0, 254), far = FRAME_IPV4(8, 8, 8, 8);
    const uint8_t hardware[6] = {2, 0, 0, 0, 0, 0xfe};
    siege_begin(&siege, &(struct world_options){.gateway = true});
    struct world *world = siege.world;
    struct plumb_udp *socket = open_socket(world);
    struct frame_path back = {.from = world->a.address, .to = far};
    struct frame quoted, frame;
    plumb_udp_send(socket, endpoint_of(far, 9), "x", 1);
    world_settle(world);
    arp_from(world, 2, hardware, gateway, world->a.address);
    world_drain(world);
    frame_udp(&quoted, &back, "x", 1);
    for (unsigned type = 0; type < 256; type++)
        for (unsigned code = 0; code < 4; code++) {
            frame_icmp(&frame, &siege.path, type, code, 0x0a000042, quoted.bytes + FRAME_NETWORK,
                       28);
            if (type != ECHO || code)
                siege_drop(&siege, &frame,
                           type == UNREACHABLE || type == EXCEEDED ? "icmp_quote" : "icmp_type");
        }
    for (unsigned code = 0; code < 4; code++) {
        /* As from the gateway itself. */
        frame_icmp(&frame, &siege.path, REDIRECT, code, 0x0a000042, quoted.bytes + FRAME_NETWORK,
                   28);
        memcpy(frame.bytes + 6, hardware, 6);
        frame_put32(&frame, 26, gateway);
        frame_fix_checksums(&frame);
        siege_drop(&siege, &frame, "icmp_type");
        frame = about(QUENCH, code, 0, siege.peer.acknowledgement);
        siege_drop(&siege, &frame, "icmp_type");
    }
    expect(datagram_reaches(world, socket, far, hardware));
    expect_equal(plumb_get32(world->a.netif->netmask), 0xffffff00U);
    expect_equal(plumb_get32(world->a.netif->gateway), gateway);
    siege_end(&siege);
}

/* ---- UDP ---- */

struct inbox {
    unsigned count, length;
    struct plumb_packet *kept[64];
    unsigned kept_count, turned_away;
    bool slow, numbered;
};

static void on_datagram(struct plumb_udp *socket, struct plumb_packet *payload,
                        const struct plumb_udp_source *source, void *context) {
    struct inbox *inbox = context;
    (void)socket;
    (void)source;
    inbox->length = payload->total;
    if (!inbox->slow) {
        uint32_t number = inbox->count;
        if (inbox->numbered)
            plumb_packet_copy_out(payload, 0, &number, sizeof number);
        expect_equal(number, inbox->count);
        inbox->count++;
    } else if (inbox->kept_count < 64) {
        plumb_packet_hold(payload);
        inbox->kept[inbox->kept_count++] = payload;
    } else {
        inbox->turned_away++;
    }
}

static void open_at(uint16_t port, struct inbox *inbox) {
    struct plumb_udp *socket;
    expect_equal(
        plumb_udp_open(siege.world->a.stack, endpoint_of(0, port), on_datagram, inbox, &socket),
        PLUMB_OK);
}

static void test_hostile_38_udp_length_under_8_or_over_the_payload(void **state) {
    (void)state;
    struct inbox inbox = {0};
    struct frame frame;
    siege_begin(&siege, 0);
    open_at(OPEN, &inbox);
    for (uint16_t port = CLOSED; port <= OPEN; port += OPEN - CLOSED) {
        siege.path.to_port = port;
        for (unsigned length = 0; length < 8; length++) {
            frame_ipv4(&frame, &siege.path, UDP, 0, 0);
            frame_append(&frame, "\x03\xe8\x07\xd0\x00\x08\x00\x00", length);
            frame_put16(&frame, 16, 20 + length);
            frame_fix_checksums(&frame);
            siege_drop(&siege, &frame, "udp_short");
        }
        static const uint16_t wrong[] = {0, 1, 7, 13, 14, 1500, 32767, 32768, 65535};
        for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            frame_udp(&frame, &siege.path, "1234", 4);
            frame_put16(&frame, FRAME_TRANSPORT + 4, wrong[i]);
            siege_drop(&siege, &frame, "udp_length");
        }
    }
    expect_equal(inbox.count, 0);
    /* Shorter than the datagram that carries it: the rest is no payload. */
    frame_udp(&frame, &siege.path, "12345678", 8);
    frame_put16(&frame, FRAME_TRANSPORT + 4, 12);
    frame_put16(&frame, FRAME_TRANSPORT + 6, 0);
    siege_take(&siege, &frame);
    expect_equal(inbox.count, 1);
    expect_equal(inbox.length, 4);
    siege_end(&siege);
}

/* RFC 768: there is none then. */
static void test_hostile_38_udp_checksum_of_0_is_accepted(void **state) {
    (void)state;
    struct inbox inbox = {0};
    struct frame frame;
    siege_begin(&siege, 0);
    open_at(OPEN, &inbox);
    siege.path.to_port = OPEN;
    for (unsigned length = 0; length < 100; length++) {
        uint8_t payload[100];
        memset(payload, 0x5a, sizeof payload);
        frame_udp(&frame, &siege.path, payload, length + 1);
        unsigned right = frame_get16(&frame, FRAME_TRANSPORT + 6);
        frame_put16(&frame, FRAME_TRANSPORT + 6, 0);
        assert_null(siege_take(&siege, &frame));
        expect_equal(inbox.count, length + 1);
        expect_equal(inbox.length, length + 1);
        /* But what is one must be right. */
        frame_put16(&frame, FRAME_TRANSPORT + 6, right ^ 1U << length % 16);
        siege_drop(&siege, &frame, "udp_checksum");
    }
    siege_end(&siege);
}

/* A hundred datagrams a millisecond to a user who keeps what he can and reads one, and one
 * to another user: that one misses none. */
static void test_hostile_39_flood_to_one_slow_socket(void **state) {
    (void)state;
    enum { ROUNDS = 1000, BURST = 100 };
    struct inbox slow = {.slow = true}, other = {.numbered = true};
    siege_begin(&siege, &(struct world_options){.receive_count = 256});
    struct world *world = siege.world;
    struct frame_path to_other = world_path(world, 1000, OPEN + 1);
    struct counters before = counters_now(&world->a);
    open_at(OPEN, &slow);
    open_at(OPEN + 1, &other);
    siege.path.to_port = OPEN;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct frame frame;
        for (unsigned i = 0; i < BURST; i++) {
            static const uint8_t payload[1000];
            frame_udp(&frame, &siege.path, payload, i * 10);
            expect_equal(plumb_wire_inject(world->a.end, frame.bytes, frame.length), PLUMB_OK);
        }
        frame_udp(&frame, &to_other, &round, sizeof round);
        expect_equal(plumb_wire_inject(world->a.end, frame.bytes, frame.length), PLUMB_OK);
        siege_wait(&siege, MILLISECOND);
        expect_equal(other.count, round + 1);
        plumb_packet_put(slow.kept[--slow.kept_count]);
        if (round % 16 == 0)
            siege_exchange(&siege);
    }
    counters_expect_drop(&world->a, &before, 0, 0);
    expect(slow.turned_away > ROUNDS * (BURST - 1) - 64);
    while (slow.kept_count)
        plumb_packet_put(slow.kept[--slow.kept_count]);
    siege_end(&siege);
}

HARNESS_MAIN(cmocka_unit_test(test_hostile_33_echo_under_8_bytes),
             cmocka_unit_test(test_hostile_33_echo_over_the_mtu_has_a_bounded_reply),
             cmocka_unit_test(test_hostile_34_fragmentation_needed_with_an_absurd_mtu),
             cmocka_unit_test(test_hostile_34_sizes_are_clamped),
             cmocka_unit_test(test_hostile_35_unreachable_ends_no_established_connection),
             cmocka_unit_test(test_hostile_36_nothing_is_said_about_broadcasts),
             cmocka_unit_test(test_hostile_36_nothing_is_said_about_errors),
             cmocka_unit_test(test_hostile_36_errors_are_limited),
             cmocka_unit_test(test_hostile_37_redirect_mask_reply_and_quench_are_ignored),
             cmocka_unit_test(test_hostile_38_udp_length_under_8_or_over_the_payload),
             cmocka_unit_test(test_hostile_38_udp_checksum_of_0_is_accepted),
             cmocka_unit_test(test_hostile_39_flood_to_one_slow_socket))
