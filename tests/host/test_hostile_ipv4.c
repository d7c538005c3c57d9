/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* IPv4 headers that have broken other stacks: rows 9 to 17 of docs/hostile.md. */
#include <string.h>

#include <plumb_config.h>

#include "siege.h"

static struct siege siege;

/* An echo request from the attacker. */
static struct frame echo(void) {
    struct frame frame;
    frame_icmp(&frame, &siege.path, 8, 0, 0x00070001, "abcdefgh", 8);
    return frame;
}

/* After what was wrong on purpose. */
static void fix_header_checksum(struct frame *frame) {
    frame_put16(frame, 24, 0);
    frame_put16(frame, 24, ~frame_sum(frame->bytes + 14, 20, 0));
}

static void expect_echoed(const struct frame *frame) {
    const struct frame *reply = siege_take(&siege, frame);
    assert_non_null(reply);
    expect_equal(reply->bytes[14], 0x45);
    expect_equal(frame_get16(reply, FRAME_TRANSPORT), 0);
}

/* What makes four kinds of answers, from anybody else. */
static void expect_silence(struct frame_path path, const char *counter) {
    struct frame frames[5];
    frame_icmp(&frames[0], &path, 8, 0, 1, "hello", 5);
    frame_udp(&frames[1], &path, "hello", 5);
    frame_tcp(&frames[2], &path, 1, 0, TCP_SYN, 1000, 0, 0, 0, 0);
    path.to_port = 9;
    frame_tcp(&frames[3], &path, 1, 1, TCP_ACK, 1000, 0, 0, 0, 0);
    frame_ipv4(&frames[4], &path, 99, 0, 0);
    frame_finish(&frames[4]);
    for (unsigned i = 0; i < 5; i++)
        siege_drop(&siege, &frames[i], counter);
}

static void test_hostile_09_header_length_under_5_or_over_what_arrived(void **state) {
    (void)state;
    siege_begin(&siege, 0);
    for (unsigned words = 0; words < 16; words++) {
        struct frame frame = echo();
        frame.bytes[14] = (uint8_t)(0x40 | words);
        if (words < 5 || 4 * words > frame.length - 14U)
            siege_drop(&siege, &frame, "ipv4_header_length");
        else if (words != 5)
            siege_drop(&siege, &frame, "ipv4_checksum");
    }
    siege_end(&siege);
}

static void test_hostile_10_total_length_over_the_frame_or_under_the_header(void **state) {
    (void)state;
    static const uint16_t wrong[] = {0, 1, 19, 37, 38, 1500, 0x7fff, 0xffff};
    siege_begin(&siege, 0);
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct frame frame = echo();
        frame_put16(&frame, 16, wrong[i]);
        fix_header_checksum(&frame);
        siege_drop(&siege, &frame, "ipv4_length");
    }
    /* Right, yet nothing behind the header. */
    struct frame frame = echo();
    frame_put16(&frame, 16, 20);
    fix_header_checksum(&frame);
    siege_drop(&siege, &frame, "icmp_short");
    /* Every length of the frame but the one that it says. */
    for (uint16_t length = 14; length < frame.length; length++) {
        frame = echo();
        frame.length = length;
        siege_drop(&siege, &frame, length < 34 ? "ipv4_short" : "ipv4_length");
    }
    siege_end(&siege);
}

static void expect_no_padding(const struct frame *reply, unsigned length) {
    assert_non_null(reply);
    expect_equal(reply->length, length);
    for (unsigned i = 0; i < reply->length; i++)
        expect(reply->bytes[i] != 0xee || i < FRAME_TRANSPORT + 8); /* a checksum may be */
}

static struct frame padded(const struct frame *frame) {
    struct frame longer = *frame;
    for (unsigned i = 0; i < 40; i++)
        frame_append8(&longer, 0xee);
    return longer;
}

/* Whatever is answered, what lay behind the datagram is not in it. */
static void test_hostile_11_padding_is_trimmed_and_never_echoed(void **state) {
    (void)state;
    struct frame frame, longer;
    siege_begin(&siege, 0);
    frame = echo();
    longer = padded(&frame);
    expect_no_padding(siege_take(&siege, &longer), frame.length);
    siege.path.to_port = 9;
    frame_udp(&frame, &siege.path, "abc", 3);
    longer = padded(&frame);
    expect_no_padding(siege_refuse(&siege, &longer, "udp_port"), FRAME_TRANSPORT + 8 + 28);
    frame_tcp(&frame, &siege.path, 1, 0, TCP_SYN, 1000, 0, 0, 0, 0);
    longer = padded(&frame);
    expect_no_padding(siege_refuse(&siege, &longer, "tcp_port"), FRAME_TCP_PAYLOAD);
    /* An error message quotes up to 8 bytes; there are 3. */
    frame_ipv4(&frame, &siege.path, 99, 0, 0);
    frame_append(&frame, "abc", 3);
    frame_finish(&frame);
    longer = padded(&frame);
    expect_no_padding(siege_refuse(&siege, &longer, "ipv4_protocol"), FRAME_TRANSPORT + 8 + 23);
    siege_end(&siege);
}

/* An echo request with these 8 bytes of options. */
static struct frame with_options(const uint8_t options[8]) {
    struct frame frame;
    frame_ipv4(&frame, &siege.path, 1, options, 8);
    frame_append32(&frame, 0x08000000);
    frame_append32(&frame, 0x00070001);
    frame_append(&frame, "option", 6);
    frame_finish(&frame);
    return frame;
}

static void test_hostile_12_option_length_0_1_and_overrun(void **state) {
    (void)state;
    static const uint8_t wrong[][8] = {
        {7, 0, 4},
        {7, 1, 4},
        {7, 9, 4},
        {7, 255, 4},
        {1, 1, 1, 1, 1, 1, 1, 7}, /* the kind as the last byte */
        {1, 1, 1, 1, 1, 1, 7, 3},
        {68, 0, 5},
        {148, 1},
        {7, 4, 4, 0, 7, 5, 4, 0}, /* only the second */
    };
    siege_begin(&siege, 0);
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct frame frame = with_options(wrong[i]);
        siege_drop(&siege, &frame, "ipv4_option");
    }
    /* Behind the end nothing is an option. */
    const struct frame ended = with_options((const uint8_t[8]){1, 0, 9, 0, 9, 9, 9, 9});
    expect_echoed(&ended);
    /* Any kind, any length: those that fit are stepped over, and none is sent back. */
    for (unsigned kind = 2; kind < 256; kind++)
        for (unsigned length = 0; length < 10; length++) {
            const uint8_t options[8] = {(uint8_t)kind, (uint8_t)length};
            struct frame frame = with_options(options);
            if (length < 2 || length > 8 || kind == 131 || kind == 137)
                siege_drop(&siege, &frame, "ipv4_option");
            else
                expect_echoed(&frame);
        }
    siege_end(&siege);
}

static void test_hostile_13_source_routes_are_never_followed_or_echoed(void **state) {
    (void)state;
    siege_begin(&siege, 0);
    for (unsigned kind = 131; kind <= 137; kind += 6)
        for (unsigned length = 0; length < 10; length++)
            for (unsigned pointer = 0; pointer < 12; pointer += 4) {
                const uint8_t options[8] = {
                    (uint8_t)kind, (uint8_t)length, (uint8_t)pointer, 10, 0, 0, 66, 0};
                const uint8_t behind[8] = {1, (uint8_t)kind, (uint8_t)length, (uint8_t)pointer};
                struct frame frame = with_options(options);
                siege_drop(&siege, &frame, "ipv4_option");
                frame = with_options(behind);
                siege_drop(&siege, &frame, "ipv4_option");
            }
    siege_end(&siege);
}

static void test_hostile_14_sources_that_no_host_has(void **state) {
    (void)state;
    siege_begin(&siege, 0);
    const uint32_t sources[] = {
        FRAME_IPV4(0, 0, 0, 0),         FRAME_IPV4(0, 1, 2, 3),    FRAME_IPV4(127, 0, 0, 1),
        FRAME_IPV4(224, 0, 0, 1),       FRAME_IPV4(239, 1, 1, 1),  FRAME_IPV4(240, 0, 0, 1),
        FRAME_IPV4(255, 255, 255, 255), FRAME_IPV4(10, 0, 0, 255), siege.world->a.address,
    };
    for (unsigned i = 0; i < sizeof sources / sizeof *sources; i++) {
        struct frame_path path = siege.path;
        path.from = sources[i];
        expect_silence(path, "ipv4_source");
    }
    siege_end(&siege);
}

static void test_hostile_15_wrong_checksum_and_version(void **state) {
    (void)state;
    siege_begin(&siege, 0);
    for (unsigned bit = 0; bit < 16; bit++) {
        struct frame frame = echo();
        frame_put16(&frame, 24, frame_get16(&frame, 24) ^ 1U << bit);
        siege_drop(&siege, &frame, "ipv4_checksum");
    }
    for (unsigned version = 0; version < 16; version++) {
        struct frame frame = echo();
        frame.bytes[14] = (uint8_t)(version << 4 | 5);
        fix_header_checksum(&frame);
        if (version != 4)
            siege_drop(&siege, &frame, "ipv4_version");
    }
    siege_end(&siege);
}

/* RFC 1122 section 3.2.1.7: a datagram that has arrived is taken. */
static void test_hostile_15_time_to_live_of_0_and_1_is_delivered(void **state) {
    (void)state;
    siege_begin(&siege, 0);
    for (uint8_t ttl = 0; ttl < 2; ttl++) {
        struct frame frame = echo();
        frame.bytes[22] = ttl;
        fix_header_checksum(&frame);
        expect_echoed(&frame);
        expect_equal(siege.reply.bytes[22], CONFIG_PLUMB_IPV4_TTL);
    }
    siege_end(&siege);
}

/* What is inside is a datagram for us, and not looked at; told of by the outer header. */
static void test_hostile_16_ip_in_ip_is_refused_also_in_fragments(void **state) {
    (void)state;
    static const uint8_t protocols[] = {4, 41, 47, 50, 51, 94};
    siege_begin(&siege, 0);
    struct frame inner = echo(), frame;
    const uint8_t *bytes = inner.bytes + 14;
    unsigned length = inner.length - 14U;
    for (unsigned i = 0; i < sizeof protocols; i++) {
        frame_ipv4(&frame, &siege.path, protocols[i], 0, 0);
        frame_append(&frame, bytes, length);
        frame_finish(&frame);
        const struct frame *reply = siege_refuse(&siege, &frame, "ipv4_protocol");
        expect_equal(frame_get16(reply, FRAME_TRANSPORT), 0x0302);
        expect_equal(reply->length, FRAME_TRANSPORT + 8 + 20 + 8);
        assert_memory_equal(reply->bytes + FRAME_TRANSPORT + 8, frame.bytes + 14, 28);

        frame_fragment(&frame, &siege.path, protocols[i], 70 + i, 0x2000, bytes, 24);
        assert_null(siege_take(&siege, &frame));
        expect_equal(side_buffers_used(&siege.world->a), 1);
        frame_fragment(&frame, &siege.path, protocols[i], 70 + i, 3, bytes + 24, length - 24);
        reply = siege_refuse(&siege, &frame, "ipv4_protocol");
        expect_equal(frame_get16(reply, FRAME_TRANSPORT), 0x0302);
        expect_equal(reply->length, FRAME_TRANSPORT + 8 + 20 + 8);
        assert_memory_equal(reply->bytes + FRAME_TRANSPORT + 28, bytes, 8);
        expect_equal(side_buffers_used(&siege.world->a), 0);
    }
    siege_end(&siege);
}

static void drop_syn(const struct frame_path *path, const char *counter) {
    struct frame frame;
    frame_tcp(&frame, path, 1, 0, TCP_SYN, 1000, 0, 0, 0, 0);
    siege_drop(&siege, &frame, counter);
}

static void test_hostile_17_syn_to_broadcast_and_multicast(void **state) {
    (void)state;
    static const uint8_t everyone[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    static const uint8_t group[6] = {1, 0, 0x5e, 0, 0, 1};
    siege_begin(&siege, 0);
    for (uint16_t port = SIEGE_PORT; port <= SIEGE_PORT + 1; port++) { /* open and closed */
        struct frame_path path = siege.path;
        path.to_port = port;
        path.to = FRAME_IPV4(10, 0, 0, 255);
        drop_syn(&path, "tcp_broadcast");
        path.to = FRAME_IPV4(255, 255, 255, 255);
        drop_syn(&path, "tcp_broadcast");
        path.to = FRAME_IPV4(224, 0, 0, 1);
        drop_syn(&path, "ipv4_not_for_us");
        memcpy(path.to_ethernet, group, 6);
        drop_syn(&path, "ethernet_not_for_us");
        memcpy(path.to_ethernet, everyone, 6);
        drop_syn(&path, "ipv4_not_for_us");
        path.to = siege.path.to; /* ours by IPv4, everyone's by Ethernet */
        drop_syn(&path, "tcp_broadcast");
    }
    siege_end(&siege);
}

HARNESS_MAIN(cmocka_unit_test(test_hostile_09_header_length_under_5_or_over_what_arrived),
             cmocka_unit_test(test_hostile_10_total_length_over_the_frame_or_under_the_header),
             cmocka_unit_test(test_hostile_11_padding_is_trimmed_and_never_echoed),
             cmocka_unit_test(test_hostile_12_option_length_0_1_and_overrun),
             cmocka_unit_test(test_hostile_13_source_routes_are_never_followed_or_echoed),
             cmocka_unit_test(test_hostile_14_sources_that_no_host_has),
             cmocka_unit_test(test_hostile_15_wrong_checksum_and_version),
             cmocka_unit_test(test_hostile_15_time_to_live_of_0_and_1_is_delivered),
             cmocka_unit_test(test_hostile_16_ip_in_ip_is_refused_also_in_fragments),
             cmocka_unit_test(test_hostile_17_syn_to_broadcast_and_multicast))
