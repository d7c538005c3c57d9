/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Fragments that have broken other stacks: rows 18 to 25 of docs/hostile.md. */
#include <string.h>

#include <plumb_config.h>

#include "siege.h"

enum { ICMP = 1, TCP = 6, UDP = 17, MORE = 0x2000, MANY = 10000 };
enum { SOURCE_PACKETS = CONFIG_PLUMB_IPV4_REASSEMBLY_PACKETS * 3 / 4 };

static struct siege siege;
static const uint8_t bytes[1480];

static struct frame fragment(unsigned protocol, unsigned identification, unsigned field,
                             const void *payload, unsigned length) {
    struct frame frame;
    frame_fragment(&frame, &siege.path, protocol, identification, field, payload, length);
    return frame;
}

static unsigned held(void) {
    return side_buffers_used(&siege.world->a);
}

/* Long enough that nobody waits for a missing part any more, nor a message about it for a
 * neighbour that is not there. */
static void let_them_expire(void) {
    siege_wait(&siege, (CONFIG_PLUMB_IPV4_REASSEMBLY_MS + 6000) * MILLISECOND);
    expect_equal(held(), 0);
}

/* ---- parts that do not fit together ---- */

struct cut {
    uint16_t field;
    uint16_t length;
    uint16_t drops; /* by this fragment: itself, and those it ends */
};

static void expect_cuts(const struct cut *cuts, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        struct frame frame = fragment(UDP, 77, cuts[i].field, bytes, cuts[i].length);
        if (cuts[i].drops)
            siege_drop_all(&siege, &frame, "ipv4_fragment", cuts[i].drops);
        else
            assert_null(siege_take(&siege, &frame));
    }
    expect_equal(held(), 0);
}

#define EXPECT_CUTS(...)                                                                           \
    do {                                                                                           \
        static const struct cut cuts_[] = {__VA_ARGS__};                                           \
        expect_cuts(cuts_, sizeof cuts_ / sizeof *cuts_);                                          \
    } while (0)

/* One policy: no part of a datagram whose parts overlap is ever delivered. */
static void test_hostile_18_overlaps_end_the_whole_datagram(void **state) {
    (void)state;
    siege_begin(&siege, 0);
    EXPECT_CUTS({MORE, 16, 0}, {MORE | 1, 16, 2});              /* the end of what is there */
    EXPECT_CUTS({MORE | 2, 16, 0}, {MORE | 1, 16, 2});          /* the start of it */
    EXPECT_CUTS({MORE | 1, 8, 0}, {MORE, 32, 2});               /* all of it */
    EXPECT_CUTS({MORE, 32, 0}, {MORE | 1, 8, 2});               /* within it */
    EXPECT_CUTS({MORE, 16, 0}, {MORE, 24, 2});                  /* same start */
    EXPECT_CUTS({MORE, 8, 0}, {MORE | 2, 8, 0}, {MORE, 24, 3}); /* two of them */
    EXPECT_CUTS({MORE | 1, 16, 0}, {MORE | 1, 16, 1}, {MORE | 2, 16, 2}); /* after a duplicate */
    siege_end(&siege);
}

static void test_hostile_19_past_65535_bytes(void **state) {
    (void)state;
    siege_begin(&siege, 0);
    EXPECT_CUTS({0x1fff, 8, 1});           /* the last that there could be */
    EXPECT_CUTS({0x1ffd, 8, 1});           /* by its header only */
    EXPECT_CUTS({MORE | 0x1fff, 1480, 1}); /* far past */
    EXPECT_CUTS({0x1f48, 1480, 1});        /* where 65515 ends, and one part more */
    /* A datagram of which all is there, and then the last is too long. */
    for (unsigned i = 0; i < 44; i++) {
        struct frame frame = fragment(ICMP, 5, MORE | i * 185, bytes, 1480);
        assert_null(siege_take(&siege, &frame));
    }
    struct frame frame = fragment(ICMP, 5, 44 * 185, bytes, 1480);
    siege_drop(&siege, &frame, "ipv4_fragment");
    expect_equal(held(), 44);
    let_them_expire();
    siege_end(&siege);
}

static void test_hostile_20_not_a_multiple_of_8_or_empty(void **state) {
    (void)state;
    siege_begin(&siege, 0);
    EXPECT_CUTS({MORE, 0, 1}); /* nothing in it */
    EXPECT_CUTS({5, 0, 1});    /* nor here */
    EXPECT_CUTS({MORE | 5, 0, 1});
    for (unsigned length = 1; length < 1480; length++) {
        struct frame frame = fragment(UDP, 77, MORE | 3, bytes, length);
        if (length % 8)
            siege_drop(&siege, &frame, "ipv4_fragment");
    }
    expect_equal(held(), 0);
    siege_end(&siege);
}

/* ---- parts that never become a whole ---- */

/* Every frame is held or counted; returns how many have been dropped since. */
static unsigned account(const struct counters *before, unsigned sent, unsigned most) {
    const struct side *side = &siege.world->a;
    unsigned dropped = counters_moved(side, before, "ipv4_fragment") +
                       counters_moved(side, before, "ipv4_fragment_quota") +
                       counters_moved(side, before, "ipv4_fragment_timeout");
    expect_equal(dropped + held(), sent);
    expect(held() <= most);
    return dropped;
}

static void without_a_part(bool first, unsigned sources) {
    siege_begin(&siege, 0);
    struct counters before = counters_now(&siege.world->a);
    const uint32_t own = siege.path.from;
    for (unsigned i = 0; i < MANY; i++) {
        siege.path.from = own + i % sources;
        struct frame frame = fragment(UDP, i, first ? MORE : 8, bytes, 64);
        siege_wait(&siege, MILLISECOND);
        siege_strike(&siege, &frame);
        account(&before, i + 1, CONFIG_PLUMB_IPV4_REASSEMBLY_PACKETS);
        if (i % 16 == 0)
            siege_exchange(&siege);
    }
    expect(held() <= CONFIG_PLUMB_IPV4_REASSEMBLIES);
    let_them_expire();
    expect_equal(account(&before, MANY, 0), MANY);
    expect(counters_moved(&siege.world->a, &before, "ipv4_fragment_timeout") <=
           CONFIG_PLUMB_IPV4_REASSEMBLIES);
    siege_end(&siege);
}

static void test_hostile_21_first_part_missing_10000_times(void **state) {
    (void)state;
    without_a_part(false, 1);
    without_a_part(false, 100);
}

static void test_hostile_21_last_part_missing_10000_times(void **state) {
    (void)state;
    without_a_part(true, 1);
    without_a_part(true, 100);
}

/* RFC 1122 section 3.3.2 has it wait; for how long is Linux's and others' answer. */
static void test_hostile_21_a_missing_part_is_waited_for_30_to_60_seconds(void **state) {
    (void)state;
    siege_begin(&siege, 0);
    struct frame frame = fragment(UDP, 1, 8, bytes, 64);
    assert_null(siege_take(&siege, &frame));
    siege_wait(&siege, 29 * SECOND);
    expect_equal(held(), 1);
    siege_wait(&siege, 31 * SECOND);
    expect_equal(held(), 0);
    siege_end(&siege);
}

/* A header of which only a part comes first (RFC 1858): nobody looks at it, and together
 * with what follows it opens nothing. */
static void test_hostile_22_tiny_first_fragment(void **state) {
    (void)state;
    siege_begin(&siege, 0);
    struct frame syn;
    frame_tcp(&syn, &siege.path, 1, 0, TCP_SYN, 1000, 0, 0, 0, 0);
    for (unsigned tiny = 8; tiny < 20; tiny += 8) {
        const uint8_t *header = syn.bytes + FRAME_TRANSPORT;
        struct frame frame = fragment(TCP, tiny, MORE, header, tiny);
        assert_null(siege_take(&siege, &frame));
        frame = fragment(TCP, tiny, tiny / 8, header + tiny, 20 - tiny);
        siege_drop(&siege, &frame, "tcp_short");
        expect_equal(held(), 0);
        expect_equal(siege.user.accepted, 1); /* the flow's */
    }
    /* Of UDP 8 bytes are the header: the whole is refused as any other. */
    siege.path.to_port = 9;
    frame_udp(&syn, &siege.path, "12345678", 8);
    struct frame frame = fragment(UDP, 99, MORE, syn.bytes + FRAME_TRANSPORT, 8);
    assert_null(siege_take(&siege, &frame));
    frame = fragment(UDP, 99, 1, syn.bytes + FRAME_UDP_PAYLOAD, 8);
    assert_non_null(siege_refuse(&siege, &frame, "udp_port"));
    siege_end(&siege);
}

/* In whatever order: what is held is bounded, so is what one more has to be compared with. */
static void test_hostile_23_10000_tiny_fragments_of_one_datagram(void **state) {
    (void)state;
    enum { ASCENDING, DESCENDING, SHUFFLED, ORDERS };
    for (unsigned order = 0; order < ORDERS; order++) {
        siege_begin(&siege, 0);
        struct counters before = counters_now(&siege.world->a);
        for (unsigned i = 0; i < MANY; i++) {
            unsigned at = i % 8000;
            if (order == DESCENDING)
                at = 7999 - at;
            if (order == SHUFFLED)
                at = at * 3001 % 8000;
            struct frame frame = fragment(UDP, 7, MORE | at, bytes, 8);
            siege_strike(&siege, &frame);
            account(&before, i + 1, SOURCE_PACKETS);
            if (i % 16 == 0)
                siege_exchange(&siege);
        }
        siege_wait(&siege, MILLISECOND);
        let_them_expire();
        expect_equal(account(&before, MANY, 0), MANY);
        siege_end(&siege);
    }
}

static void test_hostile_24_duplicate_or_conflicting_last(void **state) {
    (void)state;
    siege_begin(&siege, 0);
    EXPECT_CUTS({4, 8, 0}, {4, 8, 1}, {8, 8, 2}); /* the same again, and a later one */
    EXPECT_CUTS({4, 8, 0}, {8, 8, 2});
    EXPECT_CUTS({8, 8, 0}, {4, 8, 2});        /* an earlier one */
    EXPECT_CUTS({4, 8, 0}, {MORE | 5, 8, 2}); /* something behind the end */
    EXPECT_CUTS({MORE | 5, 8, 0}, {4, 8, 2}); /* an end before something */
    EXPECT_CUTS({4, 8, 0}, {4, 16, 2});       /* longer than it was */
    EXPECT_CUTS({4, 8, 0}, {MORE | 4, 16, 2});
    siege_end(&siege);
}

/* The nearest that IPv4 has to an atomic fragment: a whole datagram under the identification
 * of one whose parts are waiting. Neither touches the other. */
static void test_hostile_25_a_whole_datagram_is_processed_by_itself(void **state) {
    (void)state;
    static const uint16_t flags[] = {0, 0x4000, 0x8000};
    struct frame echo, whole;
    siege_begin(&siege, 0);
    frame_icmp(&echo, &siege.path, 8, 0, 0x00070001, "in two parts", 12);
    const uint8_t *message = echo.bytes + FRAME_TRANSPORT;
    for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++) {
        struct frame first = fragment(ICMP, 77, MORE, message, 8);
        struct frame last = fragment(ICMP, 77, 1, message + 8, 12);
        assert_null(siege_take(&siege, &first));
        frame_icmp(&whole, &siege.path, 8, 0, 0x00070002, "whole", 5);
        frame_put16(&whole, 18, 77);
        frame_put16(&whole, 20, flags[i]);
        frame_fix_checksums(&whole);
        const struct frame *reply = siege_take(&siege, &whole);
        assert_non_null(reply);
        expect_equal(frame_get32(reply, FRAME_TRANSPORT + 4), 0x00070002);
        expect_equal(held(), 1);
        reply = siege_take(&siege, &last);
        assert_non_null(reply);
        expect_equal(frame_get32(reply, FRAME_TRANSPORT + 4), 0x00070001);
        expect_equal(held(), 0);
    }
    siege_end(&siege);
}

HARNESS_MAIN(cmocka_unit_test(test_hostile_18_overlaps_end_the_whole_datagram),
             cmocka_unit_test(test_hostile_19_past_65535_bytes),
             cmocka_unit_test(test_hostile_20_not_a_multiple_of_8_or_empty),
             cmocka_unit_test(test_hostile_21_first_part_missing_10000_times),
             cmocka_unit_test(test_hostile_21_last_part_missing_10000_times),
             cmocka_unit_test(test_hostile_21_a_missing_part_is_waited_for_30_to_60_seconds),
             cmocka_unit_test(test_hostile_22_tiny_first_fragment),
             cmocka_unit_test(test_hostile_23_10000_tiny_fragments_of_one_datagram),
             cmocka_unit_test(test_hostile_24_duplicate_or_conflicting_last),
             cmocka_unit_test(test_hostile_25_a_whole_datagram_is_processed_by_itself))
