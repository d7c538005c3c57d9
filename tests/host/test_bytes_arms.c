/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Every arm that this processor can run, against a byte-wise reference, with pages that
 * must not be touched on either side of what is given; and how an arm is chosen.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bytes/bytes.h"
#include "bytes/routines.h"
#include "harness.h"

/* Past every threshold between ways of doing it, and past a page of offsets. */
enum { LONGEST = 1100, PLACES = 64, PAGE = 4096 };

struct guarded {
    uint8_t *map, *first, *end;
};

static struct guarded guarded_create(size_t size) {
    uint8_t *map = mmap(0, size + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(sysconf(_SC_PAGESIZE), PAGE);
    assert_int_equal(mprotect(map + PAGE, size, PROT_READ | PROT_WRITE), 0);
    return (struct guarded){map, map + PAGE, map + PAGE + size};
}

static void guarded_end(struct guarded *guarded) {
    munmap(guarded->map, (size_t)(guarded->end - guarded->map) + PAGE);
}

enum { ZEROES, ONES, RANDOM, ROUNDED, PATTERNS };

/* Of every eight vectors of 32 bytes, averages that are rounded up each time and words
 * that are otherwise all ones: as wrong as an estimate by averages can be. */
static uint8_t rounded(size_t i) {
    static const uint8_t uppermost[8] = {0, 1, 1, 2, 1, 2, 2, 3};
    return i % 8 == 6 ? uppermost[i / 32 % 8] : i % 8 == 7 ? 0 : 0xff;
}

static void fill(uint8_t *to, size_t length, unsigned pattern, struct random *random) {
    for (size_t i = 0; i < length; i++)
        to[i] = pattern == ZEROES    ? 0
                : pattern == ONES    ? 0xff
                : pattern == ROUNDED ? rounded(i)
                                     : (uint8_t)random_next(random);
}

static uint32_t reference_sum(const uint8_t *bytes, size_t length) {
    uint64_t sum = 0;
    for (size_t i = 0; i < length; i++)
        sum += i & 1 ? PL_BYTE_AT_ODD(bytes[i]) : PL_BYTE_AT_EVEN(bytes[i]);
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint32_t)sum;
}

static bool runs_here(const struct pl_bytes_arm *arm) {
    return !arm->runs_here || arm->runs_here();
}

/* Calls it with each arm that runs here. */
static void with_each(void (*check)(const struct pl_bytes_routines *arm)) {
    unsigned count = 0;
    for (unsigned i = 0; i < pl_bytes_arm_count; i++)
        if (runs_here(&pl_bytes_arms[i])) {
            check(&pl_bytes_arms[i].routines);
            count++;
        }
    expect(count);
}

static void check_sums(const struct pl_bytes_routines *arm) {
    struct guarded memory = guarded_create(PAGE);
    struct random random = {1};
    for (unsigned pattern = 0; pattern < PATTERNS; pattern++) {
        fill(memory.first, PAGE, pattern, &random);
        for (unsigned length = 0; length <= LONGEST; length++) {
            const uint8_t *at_end = memory.end - length, *at_start = memory.first;
            expect_equal(arm->sum(at_end, length), reference_sum(at_end, length));
            expect_equal(arm->sum(at_start, length), reference_sum(at_start, length));
            for (unsigned place = 1; place < PLACES; place += 1 + length % 7) {
                const uint8_t *inside = at_end - place;
                expect_equal(arm->sum(inside, length), reference_sum(inside, length));
            }
        }
    }
    guarded_end(&memory);
}

static void sum_every_length(void **state) {
    (void)state;
    with_each(check_sums);
}

/* One copy, without and with sum. */
static void check_copy(const struct pl_bytes_routines *arm, uint8_t *to, const uint8_t *from,
                       size_t length) {
    memset(to, 0x5a, length);
    arm->copy(to, from, length);
    expect(!memcmp(to, from, length));
    memset(to, 0x5a, length);
    expect_equal(arm->copy_sum(to, from, length), reference_sum(from, length));
    expect(!memcmp(to, from, length));
}

static void check_copies(const struct pl_bytes_routines *arm) {
    struct guarded source = guarded_create(PAGE), target = guarded_create(PAGE);
    struct random random = {2};
    fill(source.first, PAGE, RANDOM, &random);
    for (unsigned length = 0; length <= LONGEST; length++) {
        check_copy(arm, target.end - length, source.end - length, length);
        check_copy(arm, target.first, source.first, length);
        for (unsigned place = 1; place < PLACES; place += 1 + length % 7) {
            check_copy(arm, target.end - length - place, source.first + place % 5, length);
            check_copy(arm, target.first + place, source.end - length - place % 5, length);
        }
    }
    guarded_end(&source);
    guarded_end(&target);
}

static void copy_every_length(void **state) {
    (void)state;
    with_each(check_copies);
}

/* What lies beside the destination on the same page stays as it was. */
static void check_surroundings(const struct pl_bytes_routines *arm) {
    static uint8_t source[LONGEST + PLACES], target[LONGEST + 3 * PLACES];
    struct random random = {3};
    fill(source, sizeof source, RANDOM, &random);
    for (unsigned length = 0; length <= LONGEST; length++)
        for (unsigned place = 0; place < PLACES; place += 1 + length % 5) {
            uint8_t *to = target + PLACES + place;
            memset(target, 0x5a, sizeof target);
            (void)arm->copy_sum(to, source + place / 2, length);
            for (uint8_t *byte = target; byte < target + sizeof target; byte++)
                expect((byte >= to && byte < to + length) || *byte == 0x5a);
        }
}

static void copy_nothing_else(void **state) {
    (void)state;
    with_each(check_surroundings);
}

/* Longer than what vectors of small sums have room for. */
static void check_longest(const struct pl_bytes_routines *arm) {
    enum { MOST = 1 << 20 };
    static const size_t lengths[] = {65534, 65535, 65536, 65537, 65538, 131071, 200001, MOST};
    struct guarded source = guarded_create(MOST), target = guarded_create(MOST);
    struct random random = {4};
    for (unsigned pattern = 0; pattern < PATTERNS; pattern++) {
        fill(source.first, MOST, pattern, &random);
        for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            const uint8_t *from = source.end - lengths[i];
            expect_equal(arm->sum(from, lengths[i]), reference_sum(from, lengths[i]));
            check_copy(arm, target.end - lengths[i], from, lengths[i]);
        }
    }
    guarded_end(&source);
    guarded_end(&target);
}

static void sum_the_longest(void **state) {
    (void)state;
    with_each(check_longest);
}

static void expect_called(const struct pl_bytes_arm *arm) {
    expect(pl_bytes.sum == arm->routines.sum);
    expect(pl_bytes.copy == arm->routines.copy);
    expect(pl_bytes.copy_sum == arm->routines.copy_sum);
}

static void expect_in_use(const struct pl_bytes_arm *arm) {
    expect_called(arm);
    assert_ptr_equal(pl_bytes_chosen(), arm);
}

/* Before a choice the arm that runs everywhere is in use, after it the best. */
static void the_best_is_chosen(void **state) {
    (void)state;
    const struct pl_bytes_arm *best = pl_bytes_arms;
    expect_called(&pl_bytes_arms[pl_bytes_arm_count - 1]);
    while (!runs_here(best))
        best++;
    pl_bytes_choose();
    expect_in_use(best);
    pl_bytes_choose();
    expect_in_use(best);
}

static void a_forced_arm_stays(void **state) {
    (void)state;
    for (unsigned i = 0; i < pl_bytes_arm_count; i++) {
        const struct pl_bytes_arm *arm = &pl_bytes_arms[i];
        expect_equal(pl_bytes_force(arm->name), runs_here(arm));
        if (runs_here(arm)) {
            pl_bytes_choose();
            expect_in_use(arm);
        }
    }
}

static void an_unknown_arm_is_refused(void **state) {
    (void)state;
    static const char *const names[] = {"", "avx", "avx2 ", "AVX2", "carr", "carry2", "neon"};
    const struct pl_bytes_arm *last = &pl_bytes_arms[pl_bytes_arm_count - 1];
    expect(pl_bytes_force(last->name));
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        expect(!pl_bytes_force(names[i]));
        expect_in_use(last);
    }
}

HARNESS_MAIN(cmocka_unit_test(the_best_is_chosen), cmocka_unit_test(a_forced_arm_stays),
             cmocka_unit_test(an_unknown_arm_is_refused), cmocka_unit_test(sum_every_length),
             cmocka_unit_test(copy_every_length), cmocka_unit_test(copy_nothing_else),
             cmocka_unit_test(sum_the_longest))
