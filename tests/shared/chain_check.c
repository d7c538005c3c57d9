/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "chain_check.h"

#include <stdlib.h>
#include <string.h>

#include "bytes/bytes.h"
#include "packet/packet.h"
#include "random.h"

enum { MOST = CHAIN_FRAGMENTS * 255, BEYOND = 8 };

struct script {
    const uint8_t *next;
    size_t left;
};

struct chain {
    struct plumb_pool pool;
    struct plumb_packet fragments[CHAIN_FRAGMENTS];
    uint8_t *memory[CHAIN_FRAGMENTS];
    unsigned count;
    uint8_t flat[MOST];
    size_t length;
    struct random random;
};

/* One step, its numbers in range. */
struct step {
    enum chain_step kind;
    size_t offset, length;
};

static uint8_t take(struct script *script) {
    if (!script->left)
        return 0;
    script->left--;
    return *script->next++;
}

static size_t take_two(struct script *script) {
    size_t low = take(script);
    return low | (size_t)take(script) << 8;
}

/* At least a byte: that of none may be null. */
static uint8_t *allocate(size_t length) {
    return malloc(length ? length : 1);
}

/* ---- the chain ---- */

static void fill(struct chain *chain, uint8_t *bytes, size_t length, unsigned data) {
    for (size_t i = 0; i < length; i++)
        bytes[i] = data % 4 == 0 ? 0 : data % 4 == 1 ? 0xff : (uint8_t)random_next(&chain->random);
}

static void add_fragment(struct chain *chain, struct script *script) {
    struct plumb_packet *fragment = &chain->fragments[chain->count];
    uint8_t size = take(script), place = take(script) & 7;
    uint8_t *memory = allocate((size_t)place + size);

    *fragment = (struct plumb_packet){
        .pool = &chain->pool, .data = memory + place, .length = size, .references = 1};
    if (chain->count)
        fragment[-1].more = fragment;
    chain->memory[chain->count++] = memory;
    chain->fragments[0].total = (uint16_t)(chain->fragments[0].total + size);
}

static void make(struct chain *chain, struct script *script) {
    unsigned count = 1 + (take(script) + CHAIN_FRAGMENTS - 1U) % CHAIN_FRAGMENTS;

    *chain = (struct chain){.pool = {.capacity = 1}, .random = {script->left}};
    while (chain->count < count)
        add_fragment(chain, script);
    unsigned data = take(script);
    for (unsigned i = 0; i < count; i++) {
        const struct plumb_packet *fragment = &chain->fragments[i];
        fill(chain, fragment->data, fragment->length, data);
        memcpy(chain->flat + chain->length, fragment->data, fragment->length);
        chain->length += fragment->length;
    }
}

static void unmake(struct chain *chain) {
    for (unsigned i = 0; i < chain->count; i++)
        free(chain->memory[i]);
}

/* ---- the reference ---- */

static uint32_t sum_of(const uint8_t *bytes, size_t length) {
    uint32_t sum = 0;

    for (size_t i = 0; i < length; i++)
        sum += i & 1 ? PL_BYTE_AT_ODD(bytes[i]) : PL_BYTE_AT_EVEN(bytes[i]);
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

static const char *compare(const struct chain *chain) {
    const struct plumb_packet *fragment = &chain->fragments[0];
    size_t at = 0;
    unsigned there = 0;

    if (fragment->total != chain->length)
        return "total";
    for (; fragment; fragment = fragment->more) {
        if (at + fragment->length > chain->length)
            return "fragments are longer than their total";
        if (memcmp(fragment->data, chain->flat + at, fragment->length))
            return "bytes of the chain";
        at += fragment->length;
        there++;
    }
    if (there + chain->pool.free_count != chain->count)
        return "fragments that were given back";
    return at == chain->length ? NULL : "fragments are shorter than their total";
}

/* ---- steps ---- */

static const char *copy_sum(struct chain *chain, const struct step *step) {
    const size_t expected = chain->length - step->offset;
    uint8_t *to = allocate(expected);
    const char *failure = NULL;
    uint32_t sum = pl_packet_copy_sum(chain->fragments, step->offset, to);
    if (memcmp(to, chain->flat + step->offset, expected))
        failure = "bytes of pl_packet_copy_sum";
    else if (sum != sum_of(to, expected))
        failure = "sum of pl_packet_copy_sum";
    free(to);
    return failure;
}

/* How much of a step's range there is. */
static size_t present(const struct chain *chain, const struct step *step) {
    size_t left = step->offset < chain->length ? chain->length - step->offset : 0;
    return step->length < left ? step->length : left;
}

static const char *copy_out(struct chain *chain, const struct step *step) {
    const size_t expected = present(chain, step);
    uint8_t *to = allocate(expected);
    const char *failure = NULL;

    if (plumb_packet_copy_out(chain->fragments, step->offset, to, step->length) != expected)
        failure = "length of plumb_packet_copy_out";
    else if (expected && memcmp(to, chain->flat + step->offset, expected))
        failure = "bytes of plumb_packet_copy_out";
    free(to);
    return failure;
}

/* The fragments that hold a byte of the range, and no others, are dirty. */
static bool dirt_agrees(struct chain *chain, size_t first, size_t end) {
    bool agrees = true;
    size_t at = 0;

    for (struct plumb_packet *f = chain->fragments; f; at += f->length, f = f->more) {
        bool written = first < end && first < at + f->length && at < end && f->length;
        agrees &= f->dirty == written;
        f->dirty = false;
    }
    return agrees;
}

static const char *copy_in(struct chain *chain, const struct step *step) {
    const size_t expected = present(chain, step);
    uint8_t *from = allocate(expected);
    const char *failure = NULL;

    fill(chain, from, expected, 2);
    if (plumb_packet_copy_in(chain->fragments, step->offset, from, step->length) != expected)
        failure = "length of plumb_packet_copy_in";
    else if (!dirt_agrees(chain, step->offset, step->offset + expected))
        failure = "dirt of plumb_packet_copy_in";
    if (expected)
        memcpy(chain->flat + step->offset, from, expected);
    free(from);
    return failure;
}

static void trim_front(struct chain *chain, size_t count) {
    plumb_packet_trim_front(chain->fragments, count);
    chain->length -= count;
    memmove(chain->flat, chain->flat + count, chain->length);
}

static struct step take_step(const struct chain *chain, struct script *script) {
    struct step step = {.kind = take(script) % CHAIN_STEPS};
    bool beyond = step.kind == CHAIN_COPY_OUT || step.kind == CHAIN_COPY_IN;
    size_t most = chain->length + (beyond ? BEYOND : 0);

    step.offset = take_two(script) % (most + 1);
    step.length = take_two(script) % (most + 1);
    return step;
}

static const char *run(struct chain *chain, const struct step *step) {
    switch (step->kind) {
    case CHAIN_SUM:
        return pl_packet_sum(chain->fragments) == sum_of(chain->flat, chain->length)
                   ? NULL
                   : "sum of pl_packet_sum";
    case CHAIN_COPY_SUM:
        return copy_sum(chain, step);
    case CHAIN_COPY_OUT:
        return copy_out(chain, step);
    case CHAIN_COPY_IN:
        return copy_in(chain, step);
    case CHAIN_TRIM_FRONT:
        trim_front(chain, step->offset);
        return NULL;
    default:
        plumb_packet_trim_to(chain->fragments, step->length);
        chain->length = step->length;
        return NULL;
    }
}

const char *chain_check(const uint8_t *script, size_t length) {
    struct script reader = {script, length};
    struct chain chain;
    const char *failure = NULL;

    make(&chain, &reader);
    while (!failure && reader.left) {
        struct step step = take_step(&chain, &reader);
        failure = run(&chain, &step);
        if (!failure)
            failure = compare(&chain);
    }
    unmake(&chain);
    return failure;
}
