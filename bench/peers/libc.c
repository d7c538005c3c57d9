/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A C library's memcpy as a routine to be measured, and the same followed by lwIP's
 * third checksum, as lwIP copies with checksum. STACK and VARIANT name the library;
 * its memcpy was renamed to STACK_VARIANT_memcpy in an object of its own.
 *
 * What it returns is of no interest here, and is not declared.
 */
#include "measure.h"

#define TEXT(name)           QUOTED(name)
#define QUOTED(name)         #name
#define NAME(stack, variant) JOIN(stack, variant)
#define JOIN(stack, variant) stack##_##variant##_memcpy
#define LIBRARY_MEMCPY       NAME(STACK, VARIANT)

copy_function LIBRARY_MEMCPY;
short_sum_function lwip_sum_3;

static uint32_t copy_then_sum(void *to, const void *from, size_t length) {
    LIBRARY_MEMCPY(to, from, length);
    return lwip_sum_3(to, (int)length);
}

ROUTINE(COPY, copy, TEXT(STACK), TEXT(VARIANT), LIBRARY_MEMCPY);
ROUTINE(COPY_SUM, copy_sum, TEXT(STACK), TEXT(VARIANT) "+algorithm-3", copy_then_sum);

#ifdef __x86_64__
/* Of glibc, which sets them at start-up: from how many bytes on to go another way. */
#define THRESHOLD(name)                                                                            \
    extern long __x86_##name;                                                                      \
    __attribute__((weak)) long __x86_##name = 0xc0000
THRESHOLD(shared_non_temporal_threshold);
THRESHOLD(rep_movsb_threshold);
THRESHOLD(rep_movsb_stop_threshold);
THRESHOLD(string_control);
#endif
