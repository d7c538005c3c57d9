/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The routines that touch payload bytes: copy, the Internet checksum
 * (RFC 1071), and both in one pass.
 *
 * A *sum* is the one's complement sum of 16-bit words as they lie in memory,
 * folded to 16 bits and not complemented; storing its complement with a plain
 * halfword store gives the checksum on either byte order. Every pointer may
 * have any alignment, every length is legal, and no byte outside the given
 * ranges is read or written.
 */
#ifndef PL_BYTES_H
#define PL_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <plumb/byteorder.h>

#include "bytes/routines.h"

/* At every level of optimisation, and where space counts. */
#define PL_INLINE static inline __attribute__((always_inline))

/* Of comparisons by two a compiler makes one branch, where it would make one of each. */
PL_INLINE bool pl_both_equal(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    return (a == b) & (c == d);
}

/* Words that alias everything: the bytes of a packet have no declared type. */
typedef uint32_t __attribute__((may_alias)) pl_word;
typedef uint16_t __attribute__((may_alias)) pl_halfword;

/* The value of a byte at an even or odd offset of a sum. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define PL_BYTE_AT_EVEN(b) ((uint32_t)(b) << 8)
#define PL_BYTE_AT_ODD(b)  ((uint32_t)(b))
#else
#define PL_BYTE_AT_EVEN(b) ((uint32_t)(b))
#define PL_BYTE_AT_ODD(b)  ((uint32_t)(b) << 8)
#endif

/* Where the routines are chosen at run time, calls go through a table. */
#ifdef PL_BYTES_DISPATCHED
#define PL_BYTES_CALL static inline
#else
#define PL_BYTES_CALL
#endif

/* The sum of `length` bytes. */
PL_BYTES_CALL uint32_t pl_sum(const void *bytes, size_t length);

/* Copies; the ranges must not overlap. */
PL_BYTES_CALL void pl_copy(void *to, const void *from, size_t length);

/* Copies and returns the sum of what was copied; the ranges must not overlap. */
PL_BYTES_CALL uint32_t pl_copy_sum(void *to, const void *from, size_t length);

#ifdef PL_BYTES_DISPATCHED

static inline uint32_t pl_sum(const void *bytes, size_t length) {
    return PL_BYTES_ROUTINE(sum)(bytes, length);
}

static inline void pl_copy(void *to, const void *from, size_t length) {
    PL_BYTES_ROUTINE(copy)(to, from, length);
}

static inline uint32_t pl_copy_sum(void *to, const void *from, size_t length) {
    return PL_BYTES_ROUTINE(copy_sum)(to, from, length);
}

#endif

/* Folds a 32-bit accumulation of sums to 16 bits: with its halves exchanged beside it
 * the carry of the lower ones goes where the upper ones are added. */
PL_INLINE uint32_t pl_fold(uint32_t sum) {
    return (sum + (sum >> 16 | sum << 16)) >> 16;
}

/* Does it fold to all ones, as it does over what a right checksum is part of? */
PL_INLINE bool pl_sum_passes(uint32_t sum) {
    return sum + (sum >> 16 | sum << 16) >= 0xffff0000U;
}

/* Folds a 64-bit accumulation of words to 16 bits. */
PL_INLINE uint32_t pl_fold64(uint64_t sum) {
    return pl_fold((uint32_t)((sum + (sum >> 32 | sum << 32)) >> 32));
}

/* An accumulation of words: in 64 bits, where a register has as many; in 32 with every
 * carry brought back in at the other end. */
#if UINTPTR_MAX > 0xffffffffU
typedef uint64_t pl_words;
#else
typedef uint32_t pl_words;
#endif

PL_INLINE pl_words pl_words_add(pl_words sum, uint32_t word) {
    sum += word;
    return sizeof sum > sizeof word ? sum : sum + (sum < word);
}

/* Folds it to 16 bits. */
PL_INLINE uint32_t pl_words_fold(pl_words sum) {
#if UINTPTR_MAX > 0xffffffffU
    return pl_fold64(sum);
#else
    return pl_fold(sum);
#endif
}

/* What a sum becomes when its bytes begin at an odd offset of the whole. */
static inline uint32_t pl_sum_odd(uint32_t sum) {
    return (sum & 0xffU) << 8 | sum >> 8;
}

/* The sum of two runs of bytes, the first `length` bytes long. */
static inline uint32_t pl_sum_append(uint32_t sum, size_t length, uint32_t more) {
    return pl_fold(sum + ((length & 1) ? pl_sum_odd(more) : more));
}

/* The sum of an IPv4 header without options at any even address. It is straight-line
 * halfwords: to look for a better start takes longer than there is to gain. */
PL_INLINE uint32_t pl_sum_header(const void *header) {
    const pl_halfword *h = (const pl_halfword *)header;

    return pl_fold((uint32_t)h[0] + h[1] + h[2] + h[3] + h[4] + h[5] + h[6] + h[7] + h[8] + h[9]);
}

/* The same on a word boundary, where five loads do. */
PL_INLINE uint32_t pl_sum_header_on_word(const void *header) {
#ifdef PL_SUM_BY_HALFWORDS
    return pl_sum_header(header);
#else
    const pl_word *w = (const pl_word *)header;

    return pl_words_fold(
        pl_words_add(pl_words_add(pl_words_add(pl_words_add(w[0], w[1]), w[2]), w[3]), w[4]));
#endif
}

/* The sum of two IPv4 addresses as they lie in memory. */
PL_INLINE uint32_t pl_sum_addresses(uint32_t source, uint32_t destination) {
    return pl_words_fold(pl_words_add(source, destination));
}

/* The sum of the pseudo-header of TCP and UDP (RFC 9293 section 3.1), not folded;
 * `addresses` is that of the two in it. */
PL_INLINE uint32_t pl_sum_pseudo(uint32_t addresses, uint8_t protocol, uint16_t length) {
    return addresses + PLUMB_SWAP16(protocol) + PLUMB_SWAP16(length);
}

/* Replaces a 16-bit word in a checksum (RFC 1624, equation 3); all three as
 * they lie in memory. */
static inline uint16_t pl_checksum_replace(uint16_t checksum, uint16_t from, uint16_t to) {
    return (uint16_t)~pl_fold((uint16_t)~checksum + (uint32_t)(uint16_t)~from + to);
}

/* The same for a 32-bit field at an even place, such as an address. */
static inline uint16_t pl_checksum_replace32(uint16_t checksum, uint32_t from, uint32_t to) {
    return (uint16_t)~pl_fold((uint16_t)~checksum + pl_fold(~from) + pl_fold(to));
}

#endif
