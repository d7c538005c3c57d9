/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The two sets of routines of a build that may misalign, by the names that tell them
 * apart; and what of unaligned.c is assembly.
 */
#ifndef PL_BYTES_UNALIGNED_H
#define PL_BYTES_UNALIGNED_H

#include <stddef.h>
#include <stdint.h>

#include "bytes/select.h"

#ifdef PL_STRICT_COPY
void pl_copy_strict(void *to, const void *from, size_t length);
uint32_t pl_copy_sum_strict(void *to, const void *from, size_t length);
#endif

#ifdef PL_UNALIGNED_BLOCKS
void pl_unaligned_copy(void *to, const void *from, const void *to_end);
uintptr_t pl_unaligned_copy_sum(void *to, const void *from, const void *to_end);
#endif

#ifdef PL_BYTES_GENERIC
uint32_t pl_sum_strict(const void *bytes, size_t length);
void pl_copy_unaligned(void *to, const void *from, size_t length);
uint32_t pl_copy_sum_unaligned(void *to, const void *from, size_t length);
#endif

#endif
