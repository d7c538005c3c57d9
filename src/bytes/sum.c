/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The Internet checksum in portable C.
 *
 * Words are added into 64 bits, so that no carry is looked for in the loop: on
 * a 32-bit processor that is a load, an add and an add-with-carry per word.
 */
#include "bytes/bytes.h"
#include "bytes/select.h"

#ifdef PL_SUM_IN_C

/* Whole words from a word boundary on. */
static uint64_t sum_words(const pl_word *p, size_t words) {
    uint64_t sum = 0;

    for (; words >= 8; words -= 8, p += 8) {
        uint32_t a = p[0], b = p[1], c = p[2], d = p[3];
        uint32_t e = p[4], f = p[5], g = p[6], h = p[7];
        sum += a;
        sum += b;
        sum += c;
        sum += d;
        sum += e;
        sum += f;
        sum += g;
        sum += h;
    }
    while (words--)
        sum += *p++;
    return sum;
}

uint32_t pl_sum(const void *bytes, size_t length) {
    const uint8_t *p = bytes;
    bool odd = ((uintptr_t)p & 1) && length;
    uint64_t sum = 0;

    /* From an odd address on, sum as if the first byte were the second of a
     * halfword, and swap at the end. */
    if (odd) {
        sum = PL_BYTE_AT_ODD(*p++);
        length--;
    }
    if (((uintptr_t)p & 2) && length >= 2) {
        sum += *(const pl_halfword *)(const void *)p;
        p += 2;
        length -= 2;
    }
    if (length >= 4) {
        sum += sum_words((const pl_word *)(const void *)p, length / 4);
        p += length & ~(size_t)3;
        length &= 3;
    }
    if (length >= 2) {
        sum += *(const pl_halfword *)(const void *)p;
        p += 2;
        length -= 2;
    }
    if (length)
        sum += PL_BYTE_AT_EVEN(*p);

    uint32_t folded = pl_fold64(sum);
    return odd ? pl_sum_odd(folded) : folded;
}

#endif
