/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Copy and checksum against a byte-wise reference, with pages that must not be
 * touched on either side of what is given.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bytes/bytes.h"
#include "harness.h"

enum { LONGEST = 300, PLACES = 8 };

/* A range whose end, or whose start, meets a page that faults. */
struct guarded {
    uint8_t *map;
    uint8_t *first, *end; /* of the usable page */
};

static struct guarded guarded_create(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *map = mmap(0, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(mprotect(map + page, page, PROT_READ | PROT_WRITE), 0);
    return (struct guarded){.map = map, .first = map + page, .end = map + 2 * page};
}

static void guarded_end(struct guarded *guarded) {
    munmap(guarded->map, 3 * (size_t)sysconf(_SC_PAGESIZE));
}

enum { ZEROES, ONES, RANDOM, PATTERNS };

static void fill(uint8_t *to, unsigned length, unsigned pattern, struct random *random) {
    for (unsigned i = 0; i < length; i++)
        to[i] = pattern == ZEROES ? 0 : pattern == ONES ? 0xff : (uint8_t)random_next(random);
}

/* The sum as memory holds it, from the reference's sum of big-endian halfwords. */
static uint32_t reference_sum(const uint8_t *bytes, unsigned length) {
    plumb_be16 sum = plumb_put16((uint16_t)frame_sum(bytes, length, 0));
    return sum.be;
}

static void sum_every_length_and_place(void **state) {
    (void)state;
    struct guarded memory = guarded_create();
    struct random random = {1};
    for (unsigned pattern = 0; pattern < PATTERNS; pattern++)
        for (unsigned length = 0; length <= LONGEST; length++)
            for (unsigned place = 0; place < PLACES; place++) {
                uint8_t *at_end = memory.end - length - place, *at_start = memory.first + place;
                fill(at_end, length, pattern, &random);
                expect_equal(pl_sum(at_end, length), reference_sum(at_end, length));
                fill(at_start, length, pattern, &random);
                expect_equal(pl_sum(at_start, length), reference_sum(at_start, length));
            }
    guarded_end(&memory);
}

/* Every place of source and destination, next to the guard pages. */
static void check_copy(const uint8_t *from, uint8_t *to, unsigned length, bool sum) {
    uint8_t before[8], after[8];
    memcpy(before, to - 8, 8);
    memcpy(after, to + length, 8);
    if (sum)
        expect_equal(pl_copy_sum(to, from, length), reference_sum(from, length));
    else
        pl_copy(to, from, length);
    if (memcmp(to, from, length))
        fail_msg("copy of %u bytes from %p to %p is wrong", length, (const void *)from, (void *)to);
    assert_memory_equal(before, to - 8, 8);
    assert_memory_equal(after, to + length, 8);
}

static void copy_every_length_and_place(void **state) {
    (void)state;
    struct guarded source = guarded_create();
    static _Alignas(8) uint8_t target[LONGEST + 64];
    struct random random = {2};
    fill(source.first, (unsigned)(source.end - source.first), RANDOM, &random);
    fill(target, sizeof target, RANDOM, &random);
    for (unsigned length = 0; length <= LONGEST; length++)
        for (unsigned from = 0; from < PLACES; from++)
            for (unsigned to = 0; to < PLACES; to++) {
                uint8_t *at = target + 16 + to;
                check_copy(source.end - length - from, at, length, false);
                fill(at, length, ONES, &random);
                check_copy(source.end - length - from, at, length, true);
                fill(at, length, ZEROES, &random);
                check_copy(source.first + from, at, length, true);
            }
    guarded_end(&source);
}

static void copy_stays_inside_the_destination(void **state) {
    (void)state;
    struct guarded target = guarded_create();
    static uint8_t source[LONGEST + 16];
    struct random random = {3};
    fill(source, sizeof source, RANDOM, &random);
    for (unsigned length = 0; length <= LONGEST; length++)
        for (unsigned from = 0; from < 4; from++)
            for (unsigned to = 0; to < PLACES; to++) {
                uint8_t *at_end = target.end - length - to, *at_start = target.first + to;
                pl_copy(at_end, source + from, length);
                assert_memory_equal(at_end, source + from, length);
                fill(at_start, length, ZEROES, &random);
                expect_equal(pl_copy_sum(at_start, source + from, length),
                             reference_sum(source + from, length));
                assert_memory_equal(at_start, source + from, length);
            }
    guarded_end(&target);
}

static void sum_of_the_longest(void **state) {
    (void)state;
    static uint8_t bytes[65536], copy[65536];
    struct random random = {4};
    for (unsigned pattern = 0; pattern < PATTERNS; pattern++) {
        fill(bytes, sizeof bytes, pattern, &random);
        for (unsigned length = 65500; length <= 65535; length++)
            expect_equal(pl_sum(bytes + 1, length), reference_sum(bytes + 1, length));
        expect_equal(pl_copy_sum(copy + 3, bytes, 65533), reference_sum(bytes, 65533));
        assert_memory_equal(copy + 3, bytes, 65533);
    }
}

static void sums_join(void **state) {
    (void)state;
    uint8_t bytes[97];
    struct random random = {5};
    for (unsigned times = 0; times < 50; times++) {
        fill(bytes, sizeof bytes, RANDOM, &random);
        for (unsigned cut = 0; cut <= sizeof bytes; cut++) {
            uint32_t first = pl_sum(bytes, cut), second = pl_sum(bytes + cut, sizeof bytes - cut);
            expect_equal(pl_sum_append(first, cut, second), reference_sum(bytes, sizeof bytes));
        }
    }
}

static void accumulations_fold(void **state) {
    (void)state;
    struct random random = {6};
    expect_equal(pl_fold(0), 0);
    expect_equal(pl_fold(0xffffffffU), 0xffff);
    expect_equal(pl_fold(0x0001fffeU), 0xffff);
    expect_equal(pl_fold64(UINT64_MAX), 0xffff);
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t value = (uint64_t)random_next(&random) << 32 | random_next(&random);
        uint32_t expected = (uint32_t)(value % 0xffff);
        uint32_t folded = pl_fold64(value);
        expect_equal(folded % 0xffff, expected);
        expect(folded <= 0xffff && folded);
    }
}

static void checksum_replaced(void **state) {
    (void)state;
    struct random random = {7};
    for (unsigned i = 0; i < 100000; i++) {
        uint16_t words[4] = {0};
        for (unsigned k = 0; k < 4; k++)
            words[k] = (uint16_t)(random_below(&random, 3) ? random_next(&random) : 0xffff);
        words[3] |= 1; /* all zero has no place in a header */
        uint16_t checksum = (uint16_t)~pl_sum(words, sizeof words);
        uint16_t from = words[1], to = (uint16_t)random_next(&random);
        words[1] = to;
        uint16_t replaced = pl_checksum_replace(checksum, from, to);
        expect_equal(replaced, (uint16_t)~pl_sum(words, sizeof words));
    }
}

HARNESS_MAIN(cmocka_unit_test(sum_every_length_and_place),
             cmocka_unit_test(copy_every_length_and_place),
             cmocka_unit_test(copy_stays_inside_the_destination),
             cmocka_unit_test(sum_of_the_longest), cmocka_unit_test(sums_join),
             cmocka_unit_test(accumulations_fold), cmocka_unit_test(checksum_replaced))
