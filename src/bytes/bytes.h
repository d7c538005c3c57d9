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

#include "bytes/routines.h"

/* At every level of optimisation, and where space counts. */
#define PL_INLINE static inline __attribute__((always_inline))

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
#define PL_BYTES_CALL inline
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

inline uint32_t pl_sum(const void *bytes, size_t length) {
    return PL_BYTES_ROUTINE(sum)(bytes, length);
}

inline void pl_copy(void *to, const void *from, size_t length) {
    PL_BYTES_ROUTINE(copy)(to, from, length);
}

inline uint32_t pl_copy_sum(void *to, const void *from, size_t length) {
    return PL_BYTES_ROUTINE(copy_sum)(to, from, length);
}

#endif

/* Folds a 32-bit accumulation of sums to 16 bits: with its halves exchanged beside it
 * the carry of the lower ones goes where the upper ones are added. */
PL_INLINE uint32_t pl_fold(uint32_t sum) {
    return (sum + (sum >> 16 | sum << 16)) >> 16;
}

/* Folds a 64-bit accumulation of 32-bit words to 16 bits. */
uint32_t pl_fold64(uint64_t sum);

/* What a sum becomes when its bytes begin at an odd offset of the whole. */
static inline uint32_t pl_sum_odd(uint32_t sum) {
    return (sum & 0xffU) << 8 | sum >> 8;
}

/* The sum of two runs of bytes, the first `length` bytes long. */
static inline uint32_t pl_sum_append(uint32_t sum, size_t length, uint32_t more) {
    return pl_fold(sum + ((length & 1) ? pl_sum_odd(more) : more));
}

/* Replaces a 16-bit word in a checksum (RFC 1624, equation 3); all three as
 * they lie in memory. */
static inline uint16_t pl_checksum_replace(uint16_t checksum, uint16_t from, uint16_t to) {
    return (uint16_t)~pl_fold((uint16_t)~checksum + (uint32_t)(uint16_t)~from + to);
}

#endif
