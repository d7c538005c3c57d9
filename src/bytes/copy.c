/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Copy, and copy with checksum, in portable C: one body for both.
 *
 * Stores are whole words once the destination is on a word boundary. When the
 * source then is too, loads are words as well; otherwise each word stored is
 * put together from two aligned words loaded, which beats narrower loads on
 * every core that cannot load a misaligned word. The first word is only partly
 * the source's: that part is loaded by itself, so that nothing before it is read.
 */
#include "bytes/strict.h"

#if defined(PL_COPY_IN_C) || defined(PL_COPY_SUM_IN_C)

#include "bytes/wide.h"

#define BITS (8 * PL_WIDE)

/* The last bytes of one word followed by the first of the next; and what lies
 * `at` bits behind a word's beginning, `size` bits wide. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define JOIN(first, second, bits) ((first) << (bits) | (second) >> (BITS - (bits)))
#define PLACE(piece, at, size)    ((pl_wide)(piece) << (BITS - (size) - (at)))
#else
#define JOIN(first, second, bits) ((first) >> (bits) | (second) << (BITS - (bits)))
#define PLACE(piece, at, size)    ((pl_wide)(piece) << (at))
#endif

/* A copy under way. */
struct move {
    uint8_t *to;
    const uint8_t *from;
    size_t length;         /* left */
    struct pl_total total; /* of whole words */
    uint32_t ends;         /* the sum of what lies before and behind those */
};

/* One chain of additions: loads and stores leave time for no more. */
PL_INLINE void store(struct move *move, pl_wide *to, unsigned index, pl_wide word, bool summing) {
    to[index] = word;
    if (summing)
        pl_total_add(&move->total, 0, word);
}

/* Loads of a turn come before its stores: those could change what is loaded. */
#define MOVE_4(i)                                                                                  \
    do {                                                                                           \
        pl_wide a = from[i], b = from[(i) + 1], c = from[(i) + 2], d = from[(i) + 3];              \
        store(move, to, i, a, summing);                                                            \
        store(move, to, (i) + 1, b, summing);                                                      \
        store(move, to, (i) + 2, c, summing);                                                      \
        store(move, to, (i) + 3, d, summing);                                                      \
    } while (0)

PL_INLINE void move_aligned(struct move *move, bool summing) {
    const size_t words = move->length / PL_WIDE;
    const pl_wide *from = (const pl_wide *)(const void *)move->from;
    pl_wide *to = (pl_wide *)(void *)move->to;
    const pl_wide *end = from;

#ifndef __OPTIMIZE_SIZE__
    for (end += words & ~(size_t)15; from != end; from += 16, to += 16) {
        MOVE_4(0);
        MOVE_4(4);
        MOVE_4(8);
        MOVE_4(12);
    }
    end += words & 12;
#else
    end += words & ~(size_t)3;
#endif
    for (; from != end; from += 4, to += 4)
        MOVE_4(0);
    for (end += words & 3; from != end; from++, to++)
        store(move, to, 0, *from, summing);
    move->to += words * PL_WIDE;
    move->from += words * PL_WIDE;
    move->length %= PL_WIDE;
}

/* The end of a word, from byte `skew` of it on, which `from` points at. */
PL_INLINE pl_wide load_end(const uint8_t *from, unsigned skew) {
    pl_wide held = 0;

    if (skew & 1) {
        held = PLACE(*from++, 8 * skew, 8);
        skew++;
    }
    if (skew & 2) {
        held |= PLACE(*(const pl_halfword *)(const void *)from, 8 * skew, 16);
        /* cppcheck-suppress uselessAssignmentPtrArg ; four bytes may follow where words are wide */
        from += 2;
        skew += 2;
    }
#if PL_WIDE > 4
    if (skew & 4)
        held |= PLACE(*(const pl_word *)(const void *)from, 32, 32);
#endif
    return held;
}

/* Behind what is held come the next 4 words of the source. */
#define MOVE_SKEWED_4(i)                                                                           \
    do {                                                                                           \
        pl_wide a = from[i], b = from[(i) + 1], c = from[(i) + 2], d = from[(i) + 3];              \
        store(move, to, i, JOIN(held, a, bits), summing);                                          \
        store(move, to, (i) + 1, JOIN(a, b, bits), summing);                                       \
        store(move, to, (i) + 2, JOIN(b, c, bits), summing);                                       \
        store(move, to, (i) + 3, JOIN(c, d, bits), summing);                                       \
        held = d;                                                                                  \
    } while (0)

/* The source lies `skew` bytes past a word boundary, not 0; at least two words. The
 * last word is left: the source ends in it. */
PL_INLINE void move_skewed(struct move *move, unsigned skew, bool summing) {
    const unsigned bits = 8 * skew;
    const size_t words = move->length / PL_WIDE - 1;
    const pl_wide *from = (const pl_wide *)(const void *)(move->from + (PL_WIDE - skew));
    pl_wide *to = (pl_wide *)(void *)move->to;
    const pl_wide *end = from;
    pl_wide held = load_end(move->from, skew);

#ifndef __OPTIMIZE_SIZE__
    for (end += words & ~(size_t)7; from != end; from += 8, to += 8) {
        MOVE_SKEWED_4(0);
        MOVE_SKEWED_4(4);
    }
    end += words & 4;
#else
    end += words & ~(size_t)3;
#endif
    for (; from != end; from += 4, to += 4)
        MOVE_SKEWED_4(0);
    for (end += words & 3; from != end; from++, to++) {
        pl_wide next = *from;
        store(move, to, 0, JOIN(held, next, bits), summing);
        held = next;
    }
    move->to += words * PL_WIDE;
    move->from += words * PL_WIDE;
    move->length -= words * PL_WIDE;
}

PL_INLINE void move_pairs(struct move *move, size_t length, bool summing) {
    const uint8_t *end = move->from + length;

    for (; move->from != end; move->from += 2, move->to += 2) {
        uint32_t first = move->from[0], second = move->from[1];
        move->to[0] = (uint8_t)first;
        move->to[1] = (uint8_t)second;
        /* Without this gcc makes one halfword of the two for the sum, and loads it again,
         * by bytes on a strict target. */
        if (summing) {
            __asm__("" : "+r"(second));
            move->ends += PL_BYTE_AT_EVEN(first) + PL_BYTE_AT_ODD(second);
        }
    }
    move->length -= length;
}

PL_INLINE uint32_t copy(uint8_t *to, const uint8_t *from, size_t length, bool summing) {
    struct move move = {.to = to, .from = from, .length = length};
    const bool odd = ((uintptr_t)to & 1) && length;

    /* From an odd address on, sum as if the first byte were the second of a
     * halfword, and swap at the end. */
    if (odd) {
        *move.to++ = *from;
        move.ends = PL_BYTE_AT_ODD(*move.from++);
        move.length--;
    }
    /* Two words are left behind a head, whatever it takes. */
    if (move.length >= 3 * PL_WIDE - 2) {
        move_pairs(&move, -(uintptr_t)move.to & (PL_WIDE - 2), summing);
        const unsigned skew = (uintptr_t)move.from & (PL_WIDE - 1);
        if (skew == 0)
            move_aligned(&move, summing);
        else
            move_skewed(&move, skew, summing);
    }
    move_pairs(&move, move.length & ~(size_t)1, summing);
    if (move.length) {
        *move.to = *move.from;
        move.ends += PL_BYTE_AT_EVEN(*move.from);
    }
    if (!summing)
        return 0;
    pl_total_add(&move.total, 0, move.ends);
    uint32_t folded = pl_total_fold(&move.total);
    return odd ? pl_sum_odd(folded) : folded;
}

#ifdef PL_COPY_IN_C
void pl_copy(void *to, const void *from, size_t length) {
    (void)copy(to, from, length, false);
}
#endif

#ifdef PL_COPY_SUM_IN_C
uint32_t pl_copy_sum(void *to, const void *from, size_t length) {
#ifdef PL_SUM_BY_HALFWORDS
    /* Too few registers for both at once. */
    pl_copy(to, from, length);
    return pl_sum(from, length);
#else
    return copy(to, from, length, true);
#endif
}
#endif

#endif
