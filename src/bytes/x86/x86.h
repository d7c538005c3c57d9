/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The arms of x86-64.
 *
 * Loads may be misaligned here, so an odd address is like any other, and alignment
 * matters only where a vector would cross cache lines. What is left behind the last
 * whole word or vector is loaded under a mask, or as the last word or vector of the
 * range, less what was counted already: no byte outside is read.
 */
#ifndef PL_BYTES_X86_H
#define PL_BYTES_X86_H

#include <stddef.h>
#include <stdint.h>

uint32_t pl_sum_carry(const void *bytes, size_t length);
uint32_t pl_sum_avx2(const void *bytes, size_t length);
uint32_t pl_sum_avx512(const void *bytes, size_t length);

uint32_t pl_copy_sum_carry(void *to, const void *from, size_t length);
uint32_t pl_copy_sum_avx2(void *to, const void *from, size_t length);
uint32_t pl_copy_sum_avx512(void *to, const void *from, size_t length);

/* For ranges longer than the sums in vectors have room for: piece by piece. */
uint32_t pl_sum_pieces(const void *bytes, size_t length,
                       uint32_t (*sum)(const void *bytes, size_t length));
uint32_t pl_copy_sum_pieces(void *to, const void *from, size_t length,
                            uint32_t (*copy_sum)(void *to, const void *from, size_t length));

/* How every arm copies. A hosted program has the C library's memcpy, which nothing
 * here beats; the name is only another declaration of it, so that no call stands
 * between. */
#if __STDC_HOSTED__
void pl_copy_x86(void *to, const void *from, size_t length) __asm__("memcpy");
#else
void pl_copy_x86(void *to, const void *from, size_t length);
#endif

#endif
