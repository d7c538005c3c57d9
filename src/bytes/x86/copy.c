/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The copy of a program without a C library: 16 bytes at a time, the last 16
 * overlapping what was copied before. Without SSE, as kernels are built, the
 * compiler makes each two words of 8.
 */
#include "bytes/select.h"

#if defined(PL_BYTES_X86) && !__STDC_HOSTED__
#include "bytes/x86/x86.h"

typedef uint64_t __attribute__((vector_size(16), may_alias, aligned(1))) any128;
typedef uint64_t __attribute__((may_alias, aligned(1))) any64;
typedef uint32_t __attribute__((may_alias, aligned(1))) any32;
typedef uint16_t __attribute__((may_alias, aligned(1))) any16;

/* The first and the last `type` of a range no longer than two of them. */
#define ENDS(type)                                                                                 \
    do {                                                                                           \
        type first = *(const type *)f;                                                             \
        type last = *(const type *)(f + length - sizeof(type));                                    \
        *(type *)t = first;                                                                        \
        *(type *)(t + length - sizeof(type)) = last;                                               \
    } while (0)

static void few(uint8_t *t, const uint8_t *f, size_t length) {
    if (length >= 8)
        ENDS(any64);
    else if (length >= 4)
        ENDS(any32);
    else if (length >= 2)
        ENDS(any16);
    else if (length)
        *t = *f;
}

void pl_copy_x86(void *to, const void *from, size_t length) {
    uint8_t *t = to;
    const uint8_t *f = from;

    if (length < 16) {
        few(t, f, length);
        return;
    }
    any128 last = *(const any128 *)(f + length - 16);
    uint8_t *end = t + length - 16;
    for (; length > 64; length -= 64, t += 64, f += 64) {
        any128 a = ((const any128 *)f)[0], b = ((const any128 *)f)[1];
        any128 c = ((const any128 *)f)[2], d = ((const any128 *)f)[3];
        ((any128 *)t)[0] = a;
        ((any128 *)t)[1] = b;
        ((any128 *)t)[2] = c;
        ((any128 *)t)[3] = d;
    }
    for (; length > 16; length -= 16, t += 16, f += 16)
        *(any128 *)t = *(const any128 *)f;
    *(any128 *)end = last;
}

#endif
