/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Pools and packets: counts, fragments, trims and lent memory. */
#include <string.h>

#include "harness.h"
#include "packet/packet.h"

enum { COUNT = 8, CAPACITY = 128 };

static struct plumb_packet descriptors[COUNT], reference_descriptors[COUNT];
static _Alignas(PLUMB_DMA_LINE) uint8_t memory[COUNT][CAPACITY];
static struct plumb_pool pool, references;

static int setup(void **state) {
    (void)state;
    return plumb_pool_create(&pool, descriptors, memory, COUNT, CAPACITY, 0) ||
           plumb_pool_create(&references, reference_descriptors, 0, COUNT, 0, 0);
}

static int all_back(void **state) {
    (void)state;
    return pool.free_count != COUNT || references.free_count != COUNT;
}

static void pool_refuses_what_no_device_could_use(void **state) {
    (void)state;
    struct plumb_pool bad;
    struct plumb_packet *d = descriptors;
    expect_equal(plumb_pool_create(&bad, d, memory, 0, CAPACITY, 0), PLUMB_ERROR_INVALID);
    expect_equal(plumb_pool_create(&bad, d, memory[0] + 4, 1, CAPACITY, 0), PLUMB_ERROR_INVALID);
    expect_equal(plumb_pool_create(&bad, d, memory, 1, 100, 0), PLUMB_ERROR_INVALID);
    expect_equal(plumb_pool_create(&bad, d, memory, 1, 0, 0), PLUMB_ERROR_INVALID);
    expect_equal(plumb_pool_create(&bad, d, 0, 1, CAPACITY, 0), PLUMB_ERROR_INVALID);
}

static void pool_empties_and_fills(void **state) {
    (void)state;
    struct plumb_packet *taken[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        taken[i] = plumb_packet_take(&pool, 2);
        assert_non_null(taken[i]);
        expect(taken[i]->data == taken[i]->owner.memory + 2);
        expect_equal(taken[i]->length, 0);
        expect_equal(taken[i]->references, 1);
        expect_equal(pool.free_count, COUNT - 1 - i);
        for (unsigned k = 0; k < i; k++)
            expect(taken[k]->owner.memory != taken[i]->owner.memory);
    }
    assert_null(plumb_packet_take(&pool, 0));
    expect_equal(pool.low_water, 0);
    for (unsigned i = 0; i < COUNT; i++)
        plumb_packet_put(taken[i]);
    expect_equal(pool.free_count, COUNT);
    expect_equal(pool.low_water, 0);
}

/* A frame of `count` fragments of `length` bytes each, numbered on. */
static struct plumb_packet *chain(unsigned count, unsigned length) {
    struct plumb_packet *first = 0, **link = &first;
    uint8_t value = 0;
    for (unsigned i = 0; i < count; i++) {
        struct plumb_packet *fragment = plumb_packet_take(&pool, (uint16_t)(i % 4));
        assert_non_null(fragment);
        fragment->length = (uint16_t)length;
        fragment->total = (uint16_t)(count * length);
        for (unsigned k = 0; k < length; k++)
            fragment->data[k] = value++;
        *link = fragment;
        link = &fragment->more;
    }
    return first;
}

static void fragments_return_with_their_last_holder(void **state) {
    (void)state;
    struct plumb_packet *packet = chain(3, 10), *second = packet->more;
    plumb_packet_hold(packet);
    plumb_packet_put(packet);
    expect_equal(pool.free_count, COUNT - 3);
    plumb_fragment_put(second);
    expect_equal(pool.free_count, COUNT - 2);
    plumb_fragment_put(packet);
    expect_equal(pool.free_count, COUNT - 1);
}

static int put_third(void **state) {
    (void)state;
    /* What the test above left: its third fragment. */
    for (unsigned i = 0; i < COUNT; i++)
        if (descriptors[i].references)
            plumb_fragment_put(&descriptors[i]);
    return all_back(state);
}

static void copy_out_of_every_range(void **state) {
    (void)state;
    struct plumb_packet *packet = chain(4, 13);
    uint8_t out[64];
    for (unsigned offset = 0; offset <= 53; offset++)
        for (unsigned length = 0; length <= 60; length++) {
            unsigned left = offset < 52 ? 52 - offset : 0, expected = length < left ? length : left;
            memset(out, 0xee, sizeof out);
            expect_equal(plumb_packet_copy_out(packet, offset, out, length), expected);
            for (unsigned i = 0; i < sizeof out; i++)
                expect_equal(out[i], i < expected ? offset + i : 0xee);
        }
    plumb_packet_put(packet);
}

static void sums_along_fragments(void **state) {
    (void)state;
    for (unsigned length = 1; length < 40; length++) {
        struct plumb_packet *packet = chain(4, length);
        uint8_t flat[160], out[160];
        plumb_packet_copy_out(packet, 0, flat, 4 * length);
        plumb_be16 expected = plumb_put16((uint16_t)frame_sum(flat, 4 * length, 0));
        expect_equal(pl_packet_sum(packet), expected.be);
        for (unsigned offset = 0; offset <= 4 * length; offset++) {
            expected = plumb_put16((uint16_t)frame_sum(flat + offset, 4 * length - offset, 0));
            expect_equal(pl_packet_copy_sum(packet, offset, out), expected.be);
            assert_memory_equal(out, flat + offset, 4 * length - offset);
        }
        plumb_packet_put(packet);
    }
}

static void check_numbers(const struct plumb_packet *packet, unsigned first, unsigned count) {
    unsigned sum = 0, value = first;
    for (const struct plumb_packet *f = packet; f; f = f->more) {
        for (unsigned i = 0; i < f->length; i++)
            expect_equal(f->data[i], value++);
        sum += f->length;
    }
    expect_equal(sum, count);
    expect_equal(packet->total, count);
}

static void trims_at_every_place(void **state) {
    (void)state;
    for (unsigned cut = 0; cut <= 40; cut++) {
        struct plumb_packet *packet = chain(4, 10);
        plumb_packet_trim_front(packet, cut);
        check_numbers(packet, cut, 40 - cut);
        plumb_packet_put(packet);
        expect_equal(pool.free_count, COUNT);
        packet = chain(4, 10);
        plumb_packet_trim_to(packet, cut);
        check_numbers(packet, 0, cut);
        plumb_packet_put(packet);
        expect_equal(pool.free_count, COUNT);
    }
}

static unsigned released;

static void release(struct plumb_reference *reference) {
    expect(reference->context == &released);
    released++;
}

static void lent_memory_is_released_once(void **state) {
    (void)state;
    static const uint8_t bytes[10] = "lent";
    struct plumb_reference lent = {bytes, sizeof bytes, release, &released, false, 2, 0};
    struct plumb_packet *packets[2];
    released = 0;
    for (unsigned i = 0; i < 2; i++) {
        packets[i] = plumb_packet_take(&references, 0);
        assert_non_null(packets[i]);
        packets[i]->owner.reference = &lent;
    }
    plumb_packet_hold(packets[0]);
    plumb_packet_put(packets[0]);
    plumb_packet_put(packets[1]);
    pl_references_release(&references);
    expect_equal(released, 0);
    plumb_packet_put(packets[0]);
    expect_equal(references.free_count, COUNT);
    expect_equal(released, 0); /* not in the midst of whatever put it */
    pl_references_release(&references);
    pl_references_release(&references);
    expect_equal(released, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, all_back)

HARNESS_MAIN(TEST(pool_refuses_what_no_device_could_use), TEST(pool_empties_and_fills),
             cmocka_unit_test_setup_teardown(fragments_return_with_their_last_holder, setup,
                                             put_third),
             TEST(copy_out_of_every_range), TEST(sums_along_fragments), TEST(trims_at_every_place),
             TEST(lent_memory_is_released_once))
