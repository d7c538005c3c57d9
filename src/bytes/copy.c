/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Copy, and copy with checksum, in portable C: one body for both.
 *
 * Stores are whole words once the destination is on a word boundary. When the
 * source then is too, loads are words as well; otherwise each word stored is
 * put together from two aligned words loaded, which beats narrower loads on
 * every core that cannot load a misaligned word. The first, partial word is
 * loaded bytewise, so that nothing before the source is read.
 */
#include "bytes/bytes.h"
#include "bytes/select.h"

#if defined(PL_COPY_IN_C) || defined(PL_COPY_SUM_IN_C)

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
/* The last bytes of one word followed by the first of the next. */
#define JOIN(first, second, bits) ((first) << (bits) | (second) >> (32 - (bits)))
#define PLACE(byte, index)        ((uint32_t)(byte) << (24 - 8 * (index)))
#else
#define JOIN(first, second, bits) ((first) >> (bits) | (second) << (32 - (bits)))
#define PLACE(byte, index)        ((uint32_t)(byte) << (8 * (index)))
#endif

#define INLINE static inline __attribute__((always_inline))

INLINE uint64_t move_aligned(pl_word *to, const pl_word *from, size_t words, bool summing) {
    uint64_t sum = 0;

    for (; words >= 8; words -= 8, to += 8, from += 8) {
        uint32_t a = from[0], b = from[1], c = from[2], d = from[3];
        to[0] = a;
        to[1] = b;
        to[2] = c;
        to[3] = d;
        if (summing) {
            sum += a;
            sum += b;
            sum += c;
            sum += d;
        }
        a = from[4], b = from[5], c = from[6], d = from[7];
        to[4] = a;
        to[5] = b;
        to[6] = c;
        to[7] = d;
        if (summing) {
            sum += a;
            sum += b;
            sum += c;
            sum += d;
        }
    }
    for (; words; words--) {
        uint32_t a = *from++;
        *to++ = a;
        if (summing)
            sum += a;
    }
    return sum;
}

/* `from` lies `skew` bytes (1 to 3) past a word boundary; at least one word. */
INLINE uint64_t move_skewed(pl_word *to, const uint8_t *from, unsigned skew, size_t words,
                            bool summing) {
    const unsigned bits = 8 * skew;
    const pl_word *next = (const pl_word *)(const void *)(from + (4 - skew));
    uint64_t sum = 0;
    uint32_t held = 0;

    for (unsigned i = skew; i < 4; i++)
        held |= PLACE(*from++, i);
    /* The last word is only partly the source's: it is left to the tail. */
    for (; words > 4; words -= 4, to += 4, next += 4) {
        uint32_t a = next[0], b = next[1], c = next[2], d = next[3];
        uint32_t w = JOIN(held, a, bits), x = JOIN(a, b, bits);
        uint32_t y = JOIN(b, c, bits), z = JOIN(c, d, bits);
        held = d;
        to[0] = w;
        to[1] = x;
        to[2] = y;
        to[3] = z;
        if (summing) {
            sum += w;
            sum += x;
            sum += y;
            sum += z;
        }
    }
    for (; words > 1; words--) {
        uint32_t a = *next++;
        uint32_t w = JOIN(held, a, bits);
        held = a;
        *to++ = w;
        if (summing)
            sum += w;
    }
    return sum;
}

/* The copy proper; returns the sum as seen from the destination's first word
 * boundary in *sum, and how many bytes lay before it. */
INLINE uint32_t move(uint8_t *to, const uint8_t *from, size_t length, bool summing) {
    uint64_t sum = 0;
    const bool odd = ((uintptr_t)to & 1) && length;

    if (odd) {
        *to++ = *from;
        sum = PL_BYTE_AT_ODD(*from++);
        length--;
    }
    if (((uintptr_t)to & 2) && length >= 2) {
        uint8_t first = *from++, second = *from++;
        *to++ = first;
        *to++ = second;
        sum += PL_BYTE_AT_EVEN(first) + PL_BYTE_AT_ODD(second);
        length -= 2;
    }
    if (length >= 8) {
        const unsigned skew = (uintptr_t)from & 3;
        size_t words = length / 4;
        if (skew == 0)
            sum += move_aligned((pl_word *)(void *)to, (const pl_word *)(const void *)from, words,
                                summing);
        else
            sum += move_skewed((pl_word *)(void *)to, from, skew, words--, summing);
        to += 4 * words;
        from += 4 * words;
        length -= 4 * words;
    }
    for (; length >= 2; length -= 2) {
        uint8_t first = *from++, second = *from++;
        *to++ = first;
        *to++ = second;
        sum += PL_BYTE_AT_EVEN(first) + PL_BYTE_AT_ODD(second);
    }
    if (length) {
        *to = *from;
        sum += PL_BYTE_AT_EVEN(*from);
    }
    if (!summing)
        return 0;
    uint32_t folded = pl_fold64(sum);
    return odd ? pl_sum_odd(folded) : folded;
}

#ifdef PL_COPY_IN_C
void pl_copy(void *to, const void *from, size_t length) {
    (void)move(to, from, length, false);
}
#endif

#ifdef PL_COPY_SUM_IN_C
uint32_t pl_copy_sum(void *to, const void *from, size_t length) {
    return move(to, from, length, true);
}
#endif

#endif
