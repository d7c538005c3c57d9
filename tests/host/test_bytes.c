/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The suite of the byte routines between pages that fault, for every arm that this
 * processor runs; chains of fragments, for every cut and by chance; and properties of
 * checksums.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bytes/bytes.h"
#include "bytes_check.h"
#include "chain_check.h"
#include "harness.h"

/* ---- the suite ---- */

/* Usable memory between two pages that fault. */
struct guarded {
    uint8_t *map, *usable;
    size_t mapped, length;
};

static struct guarded guarded_create(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t length = (BYTES_CHECK_MOST + page - 1) / page * page;
    struct guarded guarded = {.mapped = length + 2 * page, .length = length};

    guarded.map = mmap(0, guarded.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(guarded.map != MAP_FAILED);
    guarded.usable = guarded.map + page;
    assert_int_equal(mprotect(guarded.usable, length, PROT_READ | PROT_WRITE), 0);
    return guarded;
}

static void check(const struct bytes_memory *memory, const char *arm) {
    struct bytes_failure failure;

    if (!bytes_check(memory, &failure))
        fail_msg("%s %s: %s; length %u, to %u, from %u", arm, failure.routine, failure.what,
                 failure.length, failure.to, failure.from);
}

static void check_arms(const struct bytes_memory *memory) {
#ifdef PL_BYTES_DISPATCHED
    const char *chosen = pl_bytes_chosen()->name;
    for (unsigned i = 0; i < pl_bytes_arm_count; i++)
        if (pl_bytes_force(pl_bytes_arms[i].name))
            check(memory, pl_bytes_arms[i].name);
    assert_true(pl_bytes_force(chosen));
#else
    check(memory, "linked");
#endif
}

static void suite_between_guard_pages(void **state) {
    (void)state;
    struct guarded from = guarded_create(), to = guarded_create();
    const struct bytes_memory memory = {
        .from = from.usable, .to = to.usable, .length = from.length, .guarded = true};
    check_arms(&memory);
    munmap(from.map, from.mapped);
    munmap(to.map, to.mapped);
}

/* As boards without such pages have it. */
static void suite_in_plain_memory(void **state) {
    (void)state;
    static _Alignas(8) uint8_t from[BYTES_CHECK_LEAST], to[BYTES_CHECK_LEAST];
    const struct bytes_memory memory = {.from = from, .to = to, .length = sizeof from};
    check_arms(&memory);
}

/* ---- chains, for every cut ---- */

enum { CHAIN = 19, STEP = 5 };

static uint8_t *put_step(uint8_t *to, enum chain_step kind, unsigned offset, unsigned length) {
    const uint8_t step[STEP] = {(uint8_t)kind, (uint8_t)offset, 0, (uint8_t)length, 0};
    memcpy(to, step, sizeof step);
    return to + sizeof step;
}

/* Every routine from every offset on, on a chain of three. */
static void check_cut(unsigned first, unsigned second, unsigned place) {
    uint8_t script[16 + (1 + 3 * (CHAIN + 2) * 2) * STEP];
    const uint8_t sizes[] = {(uint8_t)first, (uint8_t)(second - first), (uint8_t)(CHAIN - second)};
    uint8_t *end = script;

    *end++ = 3;
    for (unsigned i = 0; i < 3; i++) {
        *end++ = sizes[i];
        *end++ = (uint8_t)(place >> i);
    }
    *end++ = 2; /* random data */
    end = put_step(end, CHAIN_SUM, 0, 0);
    for (unsigned offset = 0; offset <= CHAIN; offset++) {
        unsigned length = (offset * 7 + first + second) % (CHAIN + 3);
        end = put_step(end, CHAIN_COPY_SUM, offset, 0);
        end = put_step(end, CHAIN_COPY_OUT, offset, length);
        end = put_step(end, CHAIN_COPY_IN, offset, length);
    }
    const char *failure = chain_check(script, (size_t)(end - script));
    if (failure)
        fail_msg("%s; cuts at %u and %u of %u, place %u", failure, first, second, CHAIN, place);
}

static void chain_cut_everywhere(void **state) {
    (void)state;
    for (unsigned first = 0; first <= CHAIN; first++)
        for (unsigned second = first; second <= CHAIN; second++)
            for (unsigned place = 0; place < 8; place++)
                check_cut(first, second, place);
}

static void trim_chain_everywhere(void **state) {
    (void)state;
    for (unsigned first = 0; first <= CHAIN; first++)
        for (unsigned count = 0; count <= CHAIN; count++)
            for (unsigned length = 0; length <= CHAIN - count; length++) {
                uint8_t script[8 + 3 * STEP] = {3, (uint8_t)first,
                                                1, (uint8_t)(CHAIN - first) / 2,
                                                2, (uint8_t)(CHAIN - first + 1) / 2,
                                                3, 2};
                uint8_t *end = put_step(script + 8, CHAIN_TRIM_FRONT, count, 0);
                end = put_step(end, CHAIN_TRIM_TO, 0, length);
                end = put_step(end, CHAIN_SUM, 0, 0);
                const char *failure = chain_check(script, (size_t)(end - script));
                if (failure)
                    fail_msg("%s; %u of %u in the first, less %u, to %u", failure, first, CHAIN,
                             count, length);
            }
}

/* ---- properties ---- */

/* What must hold of any bytes: null, or what does not. */
typedef const char *property_of(const uint8_t *bytes, size_t length);

enum { CASES = 4000, BYTES = 1200 };

/* Plain bytes come in runs: they are what carries and what is empty. */
static size_t generate(uint8_t *bytes, size_t most, struct random *random) {
    size_t length = random_below(random, (uint32_t)most + 1);

    for (size_t i = 0; i < length;) {
        size_t end = i + 1 + random_below(random, 16);
        uint32_t kind = random_below(random, 4);
        for (; i < length && i < end; i++)
            bytes[i] = kind == 0 ? 0 : kind == 1 ? 0xff : (uint8_t)random_next(random);
    }
    return length;
}

/* Leaves out, then clears, whatever the failure does without. */
static size_t shrink(property_of *fails, uint8_t *bytes, size_t length) {
    for (size_t run = length; run; run /= 2)
        for (size_t at = 0; at + run <= length;) {
            uint8_t kept[BYTES];
            memcpy(kept, bytes, length);
            memmove(bytes + at, bytes + at + run, length - at - run);
            if (fails(bytes, length - run)) {
                length -= run;
                continue;
            }
            memcpy(bytes, kept, length);
            at += run;
        }
    for (size_t i = 0; i < length; i++) {
        uint8_t kept = bytes[i];
        bytes[i] = 0;
        if (!fails(bytes, length))
            bytes[i] = kept;
    }
    return length;
}

static void hold(property_of *property) {
    struct random random = {1};
    uint8_t bytes[BYTES];

    for (unsigned i = 0; i < CASES; i++) {
        size_t length = generate(bytes, 8 + (size_t)i * (BYTES - 8) / CASES, &random);
        if (!property(bytes, length))
            continue;
        length = shrink(property, bytes, length);
        print_error("%s:", property(bytes, length));
        for (size_t k = 0; k < length; k++)
            print_error(" %02x", bytes[k]);
        fail_msg("does not hold of these %zu bytes", length);
    }
}

/* Scripts of everything that is done to chains. */
static void property_chains(void **state) {
    (void)state;
    hold(chain_check);
}

/* A message with its checksum in it sums to all ones, wherever it lies and the
 * checksum in it does. */
static const char *verifies(const uint8_t *bytes, size_t length) {
    uint8_t message[BYTES + 16];
    size_t field = length >= 2 ? (size_t)bytes[0] * 2 % (length - 1) & ~(size_t)1 : 0;
    uint8_t *at = message + (length ? bytes[length - 1] & 7 : 0);

    if (length < 4)
        return NULL;
    memcpy(at, bytes, length);
    at[field] = at[field + 1] = 0;
    uint32_t sum = pl_sum(at, length);
    if (sum == 0)
        return NULL; /* all zeroes: nothing sums them to ones */
    uint16_t checksum = (uint16_t)~sum;
    memcpy(at + field, &checksum, 2);
    return pl_sum(at, length) == 0xffff ? NULL : "a message with its checksum";
}

static void property_checksum_verifies(void **state) {
    (void)state;
    hold(verifies);
}

/* The sum does not know in which order halfwords come. */
static const char *has_no_order(const uint8_t *bytes, size_t length) {
    uint8_t turned[BYTES];
    size_t cut = length ? bytes[0] * (size_t)4 % length & ~(size_t)1 : 0;

    if (length & 1)
        length--;
    if (cut > length)
        return NULL;
    uint32_t sum = pl_copy_sum(turned, bytes + cut, length - cut);
    sum = pl_sum_append(sum, length - cut, pl_copy_sum(turned + length - cut, bytes, cut));
    if (sum != pl_sum(bytes, length))
        return "the sum of parts in another order";
    return pl_sum(turned, length) == sum ? NULL : "the sum of what was turned";
}

static void property_sum_has_no_order(void **state) {
    (void)state;
    hold(has_no_order);
}

/* One and the same bytes have one sum, wherever they lie and however they got there. */
static const char *is_at_home_anywhere(const uint8_t *bytes, size_t length) {
    uint8_t there[BYTES + 16], back[BYTES + 16];
    uint8_t *to = there + (length ? bytes[0] & 7 : 0),
            *home = back + (length ? bytes[0] >> 3 & 7 : 0);
    uint32_t sum = pl_sum(bytes, length);

    if (pl_copy_sum(to, bytes, length) != sum)
        return "the sum of a copy";
    pl_copy(home, to, length);
    if (memcmp(home, bytes, length))
        return "a copy of a copy";
    return pl_sum(home, length) == sum ? NULL : "the sum in another place";
}

static void property_copies_agree(void **state) {
    (void)state;
    hold(is_at_home_anywhere);
}

HARNESS_MAIN(cmocka_unit_test(suite_between_guard_pages), cmocka_unit_test(suite_in_plain_memory),
             cmocka_unit_test(chain_cut_everywhere), cmocka_unit_test(trim_chain_everywhere),
             cmocka_unit_test(property_chains), cmocka_unit_test(property_checksum_verifies),
             cmocka_unit_test(property_sum_has_no_order), cmocka_unit_test(property_copies_agree))
