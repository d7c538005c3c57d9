/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Copy, and copy with checksum, for a processor that loads and stores misaligned words.
 * A checksum alone has one address, whose alignment costs nothing but its first word.
 *
 * This file alone of a generic image is compiled with leave to misalign. What is
 * misaligned goes through `loose`, a packed type: where a plain load takes any address
 * the loads of a pair and of many registers need not, and compilers put such loads in
 * the place of neighbouring plain ones unless the type forbids it. An empty statement
 * between any two holds them apart where the type does not.
 *
 * Stores lie on words but for the first and the last, which overlap the others; so no
 * routine goes byte by byte but for what is shorter than a word, and none leaves its
 * ranges.
 */
#include "bytes/unaligned.h"

#include "bytes/bytes.h"

#ifdef PL_UNALIGNED_IN_C

#ifdef PL_BYTES_GENERIC
#define pl_copy     pl_copy_unaligned
#define pl_copy_sum pl_copy_sum_unaligned
#endif

#define INLINE static inline __attribute__((always_inline))

typedef uintptr_t __attribute__((may_alias)) word;
typedef struct __attribute__((packed, may_alias)) {
    uintptr_t word;
} loose;

enum { WORD = sizeof(word), BLOCK = 8 * WORD };

/* A sum: of 64-bit words the carry is added at once, 32-bit ones leave it to the
 * upper half. */
#if UINTPTR_MAX > 0xffffffffU
INLINE uint64_t add(uint64_t sum, uint64_t value) {
    sum += value;
    return sum + (sum < value);
}
#else
INLINE uint64_t add(uint64_t sum, uint32_t value) {
    return sum + value;
}
#endif

/* The first or the last `count` bytes of a word, 1 to all, as they lie in memory at the
 * begin of one. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define FIRST(value, count) ((value) >> 8 * (WORD - (count)) << 8 * (WORD - (count)))
#define LAST(value, count)  ((value) << 8 * (WORD - (count)))
#else
#define FIRST(value, count) ((value) << 8 * (WORD - (count)) >> 8 * (WORD - (count)))
#define LAST(value, count)  ((value) >> 8 * (WORD - (count)))
#endif

INLINE uintptr_t load(const uint8_t *from) {
    uintptr_t value = ((const loose *)(const void *)from)->word;
    __asm__ volatile("" : : : "memory");
    return value;
}

INLINE void store(uint8_t *to, uintptr_t value) {
    ((loose *)(void *)to)->word = value;
}

#ifdef PL_UNALIGNED_BLOCKS

/* In assembly; returns how many bytes that were. */
INLINE size_t move_blocks(uint8_t *to, const uint8_t *from, size_t length, uint64_t *sum) {
    const size_t whole = length - length % BLOCK;

    if (whole && sum)
        *sum = pl_unaligned_copy_sum(to, from, to + whole);
    else if (whole)
        pl_unaligned_copy(to, from, to + whole);
    return whole;
}

#else

INLINE uint64_t move_half(uint8_t *to, const uint8_t *from, uint64_t sum) {
    uintptr_t a = load(from), b = load(from + WORD);
    uintptr_t c = load(from + 2 * WORD), d = load(from + 3 * WORD);
    word *t = (word *)(void *)to;

    t[0] = a;
    t[1] = b;
    t[2] = c;
    t[3] = d;
    return add(add(add(add(sum, a), b), c), d);
}

INLINE size_t move_blocks(uint8_t *to, const uint8_t *from, size_t length, uint64_t *sum) {
    const size_t whole = length - length % BLOCK;
    uint64_t total = 0;

    for (; length >= BLOCK; length -= BLOCK, to += BLOCK, from += BLOCK) {
        total = move_half(to, from, total);
        total = move_half(to + BLOCK / 2, from + BLOCK / 2, total);
    }
    if (sum)
        *sum = total;
    return whole;
}

#endif

/* Whole words, to where they are aligned; their sum, or null where nobody asks. */
INLINE void move_words(uint8_t *to, const uint8_t *from, size_t length, uint64_t *sum) {
    const size_t done = move_blocks(to, from, length, sum);

    for (length -= done, to += done, from += done; length >= WORD;
         length -= WORD, to += WORD, from += WORD) {
        uintptr_t value = load(from);
        *(word *)(void *)to = value;
        if (sum)
            *sum = add(*sum, value);
    }
}

/* Less than a word. */
INLINE uint32_t move_few(uint8_t *to, const uint8_t *from, size_t length) {
    uint32_t sum = 0;

    for (; length >= 2; length -= 2, to += 2, from += 2) {
        to[0] = from[0];
        to[1] = from[1];
        sum += PL_BYTE_AT_EVEN(from[0]) + PL_BYTE_AT_ODD(from[1]);
    }
    if (length) {
        to[0] = from[0];
        sum += PL_BYTE_AT_EVEN(from[0]);
    }
    return sum;
}

/* Functions of their own, so that those who call them need no registers first. */
static __attribute__((noinline)) void copy_apart(uint8_t *to, const uint8_t *from, size_t length) {
    if (length < WORD) {
        (void)move_few(to, from, length);
        return;
    }
    const size_t head = -(uintptr_t)to % WORD;
    const uintptr_t last = load(from + length - WORD);
    store(to, load(from));
    move_words(to + head, from + head, length - head, NULL);
    store(to + length - WORD, last);
}

static __attribute__((noinline)) uint32_t copy_sum_apart(uint8_t *to, const uint8_t *from,
                                                         size_t length) {
    if (length < WORD)
        return pl_fold(move_few(to, from, length));
    const size_t head = -(uintptr_t)to % WORD;
    const size_t tail = (length - head) % WORD;
    const uintptr_t first = load(from);
    const uintptr_t last = load(from + length - WORD);
    uint64_t sum = 0;
    store(to, first);
    move_words(to + head, from + head, length - head, &sum);
    if (tail) {
        store(to + length - WORD, last);
        sum = add(sum, LAST(last, tail));
    }
    if (!head)
        return pl_fold64(sum);
    return pl_sum_append(pl_fold64(FIRST(first, head)), head, pl_fold64(sum));
}

/* Do words of both lie on words at once? Then the strict routines, which load many
 * registers at a time, are the faster. */
INLINE bool agree(const void *to, const void *from) {
    return ((uintptr_t)to ^ (uintptr_t)from) % WORD == 0;
}

void pl_copy(void *to, const void *from, size_t length) {
    if (agree(to, from))
        pl_copy_strict(to, from, length);
    else
        copy_apart(to, from, length);
}

uint32_t pl_copy_sum(void *to, const void *from, size_t length) {
    return agree(to, from) ? pl_copy_sum_strict(to, from, length)
                           : copy_sum_apart(to, from, length);
}

#endif
