/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The arms of x86-64, and what they share.
 *
 * Loads may be misaligned here, so nothing is done about alignment but where a
 * vector would cross cache lines, and an odd address is like any other. What is left
 * behind the last whole word or vector is fetched as the *last* word or vector of the
 * range, overlapping what was summed already, and shifted or masked: no byte outside
 * is read.
 */
#ifndef PL_BYTES_X86_H
#define PL_BYTES_X86_H

#include <stddef.h>
#include <stdint.h>

uint32_t pl_sum_carry(const void *bytes, size_t length);
uint32_t pl_copy_sum_carry(void *to, const void *from, size_t length);

/* How every arm copies. A hosted program has the C library's memcpy, which nothing
 * here beats; the name is only another declaration of it, so that no call stands
 * between. */
#if __STDC_HOSTED__
#define PL_X86_TEXT(x)   #x
#define PL_X86_STRING(x) PL_X86_TEXT(x)
#define PL_X86_COPY      __asm__(PL_X86_STRING(__USER_LABEL_PREFIX__) "memcpy")
#else
#define PL_X86_COPY
#endif
void pl_copy_x86(void *to, const void *from, size_t length) PL_X86_COPY;

#endif
