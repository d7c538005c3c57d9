/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The Internet checksum for AArch64, little-endian, in general registers: load pair,
 * add with carry. The carry lives in its flag from the first whole word to the last, so
 * nothing between touches the flags. No register is loaded but from an address that its
 * size divides.
 */
#include "bytes/select.h"

#if defined(PL_BYTES_AARCH64)
#include "bytes/aarch64/aarch64.inc"

#ifdef CONFIG_PLUMB_BYTES_NEON
#define NAME pl_sum_general             /* what pl_sum takes for few and for very many */
#else
#define NAME pl_sum
#endif

        .macro  add_up  registers:vararg
        .irp    register, \registers
        adcs    x2, x2, \register
        .endr
        .endm

/* 64 bytes at `at` from x0. */
        .macro  add_64  at
        ldp     x4, x5, [x0, #\at]
        ldp     x6, x7, [x0, #\at + 16]
        ldp     x8, x9, [x0, #\at + 32]
        ldp     x10, x11, [x0, #\at + 48]
        add_up  x4, x5, x6, x7, x8, x9, x10, x11
        .endm

/* uint32_t pl_sum(const void *bytes, size_t length)
 *
 * x0 bytes, x1 length, x2 sum, x3 where the bytes end, then blocks, w12 odd start */
        function NAME
        mov     x2, #0
        mov     w12, #0
        cmp     x1, #8
        b.lo    .Lfew
        mov     w12, w0
        add     x3, x0, x1
        tbz     w0, #0, 1f
        ldrb    w4, [x0], #1
        lsl     x2, x4, #8
1:      tbz     w0, #1, 2f
        ldrh    w4, [x0], #2
        add     x2, x2, x4
2:      tbz     w0, #2, 3f
        ldr     w4, [x0], #4
        add     x2, x2, x4
3:      sub     x1, x3, x0
        cmn     xzr, xzr                // clears the carry
#ifndef __OPTIMIZE_SIZE__
        lsr     x3, x1, #7
        cbz     x3, 5f
4:      add_64  0
        add_64  64
        add     x0, x0, #128
        sub     x3, x3, #1
        cbnz    x3, 4b
5:      tbz     w1, #6, 6f
        add_64  0
        add     x0, x0, #64
6:      tbz     w1, #5, 7f
        ldp     x4, x5, [x0], #16
        ldp     x6, x7, [x0], #16
        add_up  x4, x5, x6, x7
#else
        lsr     x3, x1, #5
        cbz     x3, 7f
4:      ldp     x4, x5, [x0], #16
        ldp     x6, x7, [x0], #16
        add_up  x4, x5, x6, x7
        sub     x3, x3, #1
        cbnz    x3, 4b
#endif
7:      tbz     w1, #4, 8f
        ldp     x4, x5, [x0], #16
        add_up  x4, x5
8:      tbz     w1, #3, 9f
        ldr     x4, [x0], #8
        add_up  x4
9:      tbz     w1, #2, 10f
        ldr     w4, [x0], #4
        add_up  x4
10:     tbz     w1, #1, 11f
        ldrh    w4, [x0], #2
        add_up  x4
11:     tbz     w1, #0, 12f
        ldrb    w4, [x0]
        add_up  x4
12:     adc     x2, x2, xzr
        fold_64 x2, x3
.Lfold:
        fold_32 w2, w3, w12
        ret

.Lfew:                                  // at most 7 bytes, at any address
        subs    x1, x1, #2
        b.lo    13f
        ldrb    w4, [x0], #1
        ldrb    w5, [x0], #1
        add     w2, w2, w4
        add     w2, w2, w5, lsl #8
        b       .Lfew
13:     tbz     w1, #0, .Lfold
        ldrb    w4, [x0]
        add     w2, w2, w4
        b       .Lfold
        end     NAME

#endif
