/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * SipHash-2-4 (Aumasson and Bernstein, 2012) of a message of 16 bytes, and the
 * instance's generator of random numbers, which is seeded through it.
 */
#include "stack/stack.h"

static uint64_t rotate(uint64_t x, unsigned bits) {
    return x << bits | x >> (64 - bits);
}

static void half_round(uint64_t *a, uint64_t *b, uint64_t *c, uint64_t *d, unsigned bits,
                       unsigned more_bits) {
    *a += *b;
    *b = rotate(*b, bits) ^ *a;
    *a = rotate(*a, 32);
    *c += *d;
    *d = rotate(*d, more_bits) ^ *c;
}

static void round_of(uint64_t v[4]) {
    half_round(&v[0], &v[1], &v[2], &v[3], 13, 16);
    half_round(&v[2], &v[1], &v[0], &v[3], 17, 21);
}

static void absorb(uint64_t v[4], uint64_t word) {
    v[3] ^= word;
    round_of(v);
    round_of(v);
    v[0] ^= word;
}

uint64_t pl_keyed_hash(const struct plumb *stack, uint64_t first, uint64_t second) {
    static const uint64_t initial[4] = {0x736f6d6570736575U, 0x646f72616e646f6dU,
                                        0x6c7967656e657261U, 0x7465646279746573U};
    uint64_t v[4];

    for (unsigned i = 0; i < 4; i++)
        v[i] = initial[i] ^ stack->options.seed[i & 1];
    absorb(v, first);
    absorb(v, second);
    absorb(v, (uint64_t)16 << 56);
    v[2] ^= 0xff;
    for (unsigned i = 0; i < 4; i++)
        round_of(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* xorshift128+ (Vigna, 2017), never seeded with zero. */
uint32_t plumb_random(struct plumb *stack) {
    uint64_t x = stack->random[0];
    const uint64_t y = stack->random[1];

    stack->random[0] = y;
    x ^= x << 23;
    stack->random[1] = x ^ y ^ (x >> 18) ^ (y >> 5);
    return (uint32_t)((stack->random[1] + y) >> 32);
}
