/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The Internet checksum in portable C.
 *
 * What lies before the first and behind the last whole word is added first, by
 * halfwords and bytes: it cannot carry out of a word. Then come the words, several
 * to a turn of the loop.
 */
#include "bytes/strict.h"

#ifdef PL_SUM_IN_C

#ifdef PL_SUM_BY_HALFWORDS

#define PART 65536U

#define ADD_8(half, i)                                                                             \
    ((uint32_t)(half)[i] + (half)[(i) + 1] + (half)[(i) + 2] + (half)[(i) + 3] + (half)[(i) + 4] + \
     (half)[(i) + 5] + (half)[(i) + 6] + (half)[(i) + 7])

/* The halfwords of `length` bytes from a halfword boundary on. */
PL_INLINE uint32_t add_halfwords(uint32_t sum, const pl_halfword *half, size_t length) {
    const pl_halfword *end = half;

#ifndef __OPTIMIZE_SIZE__
    for (end += length / 64 * 32; half != end; half += 32)
        sum += ADD_8(half, 0) + ADD_8(half, 8) + ADD_8(half, 16) + ADD_8(half, 24);
    length %= 64;
#endif
    for (end += length / 16 * 8; half != end; half += 8)
        sum += ADD_8(half, 0);
    length %= 16;
    for (end += length / 2; half != end; half++)
        sum += *half;
    return sum;
}

uint32_t pl_sum(const void *bytes, size_t length) {
    const uint8_t *p = bytes;
    const bool odd = ((uintptr_t)p & 1) && length;
    uint32_t sum = 0;

    if (odd) {
        sum = PL_BYTE_AT_ODD(*p++);
        length--;
    }
    if (length & 1)
        sum += PL_BYTE_AT_EVEN(p[length - 1]);
    /* 32 bits hold the halfwords of twice as much. */
    do {
        size_t part = length < PART ? length : PART;
        sum = pl_fold(add_halfwords(sum, (const pl_halfword *)(const void *)p, part));
        p += part;
        length -= part;
    } while (length);
    return odd ? pl_sum_odd(sum) : sum;
}

#else

#include "bytes/wide.h"

#define ADD_4(total, word, i)                                                                      \
    pl_total_add(total, (i), (word)[i]), pl_total_add(total, (i) + 1, (word)[(i) + 1]),            \
        pl_total_add(total, (i) + 2, (word)[(i) + 2]),                                             \
        pl_total_add(total, (i) + 3, (word)[(i) + 3])

/* The words of `length` bytes from a word boundary on. */
PL_INLINE void add_words(struct pl_total *total, const pl_wide *word, size_t length) {
    const pl_wide *end = word;

#ifndef __OPTIMIZE_SIZE__
    for (end += length / (16 * PL_WIDE) * 16; word != end; word += 16) {
        ADD_4(total, word, 0);
        ADD_4(total, word, 4);
        ADD_4(total, word, 8);
        ADD_4(total, word, 12);
    }
    length %= 16 * PL_WIDE;
#endif
    for (end += length / (4 * PL_WIDE) * 4; word != end; word += 4)
        ADD_4(total, word, 0);
    length %= 4 * PL_WIDE;
    for (end += length / PL_WIDE; word != end; word++)
        pl_total_add(total, 0, *word);
}

uint32_t pl_sum(const void *bytes, size_t length) {
    const uint8_t *p = bytes;
    const bool odd = ((uintptr_t)p & 1) && length;
    struct pl_total total = {0};

    /* From an odd address on, sum as if the first byte were the second of a
     * halfword, and swap at the end. */
    if (odd) {
        total.sum[0] = PL_BYTE_AT_ODD(*p++);
        length--;
    }
    if (((uintptr_t)p & 2) && length >= 2) {
        total.sum[0] += *(const pl_halfword *)(const void *)p;
        p += 2;
        length -= 2;
    }
#if PL_WIDE > 4
    if (((uintptr_t)p & 4) && length >= 4) {
        total.sum[0] += *(const pl_word *)(const void *)p;
        p += 4;
        length -= 4;
    }
    if (length & 4)
        total.sum[0] += *(const pl_word *)(const void *)(p + (length & ~(size_t)7));
#endif
    if (length & 2)
        total.sum[0] += *(const pl_halfword *)(const void *)(p + (length & ~(size_t)3));
    if (length & 1)
        total.sum[0] += PL_BYTE_AT_EVEN(p[length - 1]);
    add_words(&total, (const pl_wide *)(const void *)p, length);

    uint32_t folded = pl_total_fold(&total);
    return odd ? pl_sum_odd(folded) : folded;
}

#endif
#endif
