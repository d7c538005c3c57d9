/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Copy, and copy with checksum, for AArch64, little-endian, in general registers. No
 * register is loaded or stored but at an address that its size divides.
 *
 * Once the destination is on a word of 8 bytes, so are all stores. A source that then
 * is too is moved by load and store pair. Any other is loaded by words all the same,
 * and each word stored is taken out of two by one instruction, which has to know their
 * distance: there is a loop for each. What the source has before its first and behind
 * its last whole word is put together in a register first, so that nothing outside is
 * read. The sum is taken of the words as they are stored, its carry living in the flag
 * from the first whole word to the last.
 */
#include "bytes/select.h"

#if defined(PL_BYTES_AARCH64)
#include "bytes/aarch64/aarch64.inc"

#ifdef CONFIG_PLUMB_BYTES_NEON
#define COPY     pl_copy_general        /* what pl_copy takes for few and for very many */
#define COPY_SUM pl_copy_sum_general
#else
#define COPY     pl_copy
#define COPY_SUM pl_copy_sum
#endif

        .macro  add_up  summing, registers:vararg
        .if     \summing
        .irp    register, \registers
        adcs    x3, x3, \register
        .endr
        .endif
        .endm

/* 64 bytes from word to word, `at` from both. */
        .macro  move_64 summing, at
        ldp     x4, x5, [x1, #\at]
        ldp     x6, x7, [x1, #\at + 16]
        ldp     x8, x9, [x1, #\at + 32]
        ldp     x10, x11, [x1, #\at + 48]
        add_up  \summing, x4, x5, x6, x7, x8, x9, x10, x11
        stp     x4, x5, [x0, #\at]
        stp     x6, x7, [x0, #\at + 16]
        stp     x8, x9, [x0, #\at + 32]
        stp     x10, x11, [x0, #\at + 48]
        .endm

/* One piece of a word: its bit of `left` says whether there is one. */
        .macro  piece   summing, left, bit, suffix, register
        tbz     \left, #\bit, .Lpiece\@
        ldr\suffix \register, [x1], #1 << \bit
        add_up  \summing, x4
        str\suffix \register, [x0], #1 << \bit
.Lpiece\@:
        .endm

/* A piece of a partial word of the source goes in at the upper end of `into`. */
        .macro  take    left, bit, suffix, into, from
        tbz     \left, #\bit, .Ltake\@
        ldr\suffix w5, [\from], #1 << \bit
        extr    \into, x5, \into, #8 << \bit
.Ltake\@:
        .endm

#ifndef __OPTIMIZE_SIZE__
/* x4 held, x14 the source's bytes left in whole words and x13 what is behind them. To
 * x4 and x5 what is left to store. */
        .macro  move_skewed summing, skew
        lsr     x15, x14, #6
        cbz     x15, 2f
1:      ldp     x5, x6, [x1]
        ldp     x7, x8, [x1, #16]
        ldp     x9, x10, [x1, #32]
        extr    x4, x5, x4, #8 * \skew
        extr    x5, x6, x5, #8 * \skew
        add_up  \summing, x4, x5
        stp     x4, x5, [x0]
        ldp     x11, x4, [x1, #48]      // the last is held
        extr    x6, x7, x6, #8 * \skew
        extr    x7, x8, x7, #8 * \skew
        add_up  \summing, x6, x7
        stp     x6, x7, [x0, #16]
        extr    x8, x9, x8, #8 * \skew
        extr    x9, x10, x9, #8 * \skew
        add_up  \summing, x8, x9
        stp     x8, x9, [x0, #32]
        extr    x10, x11, x10, #8 * \skew
        extr    x11, x4, x11, #8 * \skew
        add_up  \summing, x10, x11
        stp     x10, x11, [x0, #48]
        add     x1, x1, #64
        add     x0, x0, #64
        sub     x15, x15, #1
        cbnz    x15, 1b
2:      tbz     w14, #5, 3f
        ldp     x5, x6, [x1], #16
        ldp     x7, x8, [x1], #16
        extr    x4, x5, x4, #8 * \skew
        extr    x5, x6, x5, #8 * \skew
        extr    x6, x7, x6, #8 * \skew
        extr    x7, x8, x7, #8 * \skew
        add_up  \summing, x4, x5, x6, x7
        stp     x4, x5, [x0], #16
        stp     x6, x7, [x0], #16
        mov     x4, x8
3:      tbz     w14, #4, 4f
        ldp     x5, x6, [x1], #16
        extr    x4, x5, x4, #8 * \skew
        extr    x5, x6, x5, #8 * \skew
        add_up  \summing, x4, x5
        stp     x4, x5, [x0], #16
        mov     x4, x6
4:      tbz     w14, #3, 5f
        ldr     x5, [x1], #8
        extr    x4, x5, x4, #8 * \skew
        add_up  \summing, x4
        str     x4, [x0], #8
        mov     x4, x5
5:      extr    x4, x13, x4, #8 * \skew
        lsr     x5, x13, #8 * \skew
        .endm

        .macro  move_skewed_each summing
        tbz     w12, #2, 13f
        tbz     w12, #1, 15f
        tbz     w12, #0, 16f
        move_skewed \summing, 7
        b       .Lrest\@
16:     move_skewed \summing, 6
        b       .Lrest\@
15:     tbz     w12, #0, 14f
        move_skewed \summing, 5
        b       .Lrest\@
14:     move_skewed \summing, 4
        b       .Lrest\@
13:     tbz     w12, #1, 11f
        tbz     w12, #0, 12f
        move_skewed \summing, 3
        b       .Lrest\@
12:     move_skewed \summing, 2
        b       .Lrest\@
11:     move_skewed \summing, 1
.Lrest\@:
        .endm
#else
/* x12 and x11 are the shifts, of any distance. */
        .macro  join    low, high
        lsr     \low, \low, x12
        lsl     x7, \high, x11
        orr     \low, \low, x7
        .endm

        .macro  move_skewed_each summing
        lsl     x12, x12, #3
        neg     x11, x12
        lsr     x15, x14, #4
        cbz     x15, 2f
1:      ldp     x5, x6, [x1], #16
        join    x4, x5
        join    x5, x6
        add_up  \summing, x4, x5
        stp     x4, x5, [x0], #16
        mov     x4, x6
        sub     x15, x15, #1
        cbnz    x15, 1b
2:      tbz     w14, #3, 3f
        ldr     x5, [x1], #8
        join    x4, x5
        add_up  \summing, x4
        str     x4, [x0], #8
        mov     x4, x5
3:      join    x4, x13
        lsr     x5, x13, x12
        .endm
#endif

/* x0 to, x1 from, x2 length, x3 sum, w16 odd destination */
        .macro  copy    name, summing
        function \name
        .if     \summing
        mov     x3, #0
        mov     w16, #0
        .endif
        cmp     x2, #16
        b.lo    .Lfew\@
        .if     \summing
        mov     w16, w0
        .endif
        eor     w12, w0, w1
        add     x2, x2, x1              // where the source ends
        tst     w12, #7
        b.ne    .Lskewed\@

        tbz     w0, #0, 1f
        ldrb    w4, [x1], #1
        .if     \summing
        lsl     x3, x4, #8
        .endif
        strb    w4, [x0], #1
1:      .if     \summing
        cmn     xzr, xzr                // clears the carry
        .endif
        piece   \summing, w0, 1, h, w4
        piece   \summing, w0, 2, , w4
        sub     x2, x2, x1
#ifndef __OPTIMIZE_SIZE__
        lsr     x12, x2, #7
        cbz     x12, 3f
2:      move_64 \summing, 0
        move_64 \summing, 64
        add     x1, x1, #128
        add     x0, x0, #128
        sub     x12, x12, #1
        cbnz    x12, 2b
3:      tbz     w2, #6, 4f
        move_64 \summing, 0
        add     x1, x1, #64
        add     x0, x0, #64
4:      tbz     w2, #5, 5f
        ldp     x4, x5, [x1], #16
        ldp     x6, x7, [x1], #16
        add_up  \summing, x4, x5, x6, x7
        stp     x4, x5, [x0], #16
        stp     x6, x7, [x0], #16
#else
        lsr     x12, x2, #5
        cbz     x12, 5f
2:      ldp     x4, x5, [x1], #16
        ldp     x6, x7, [x1], #16
        add_up  \summing, x4, x5, x6, x7
        stp     x4, x5, [x0], #16
        stp     x6, x7, [x0], #16
        sub     x12, x12, #1
        cbnz    x12, 2b
#endif
5:      tbz     w2, #4, 6f
        ldp     x4, x5, [x1], #16
        add_up  \summing, x4, x5
        stp     x4, x5, [x0], #16
6:      piece   \summing, w2, 3, , x4
        piece   \summing, w2, 2, , w4
        piece   \summing, w2, 1, h, w4
        piece   \summing, w2, 0, b, w4
        .if     !\summing
        ret
        .else
.Lfold\@:
        adc     x3, x3, xzr
        fold_64 x3, x4
.Lfold_32\@:
        fold_32 w3, w4, w16
        ret
        .endif

.Lskewed\@:
        tbz     w0, #0, 1f
        ldrb    w4, [x1], #1
        .if     \summing
        lsl     x3, x4, #8
        .endif
        strb    w4, [x0], #1
1:      tbz     w0, #1, 2f
        ldrb    w4, [x1], #1
        ldrb    w5, [x1], #1
        orr     w4, w4, w5, lsl #8
        .if     \summing
        add     x3, x3, x4
        .endif
        strh    w4, [x0], #2
2:      tbz     w0, #2, 3f
        ldrb    w4, [x1], #1
        ldrb    w5, [x1], #1
        ldrb    w6, [x1], #1
        ldrb    w7, [x1], #1
        orr     w4, w4, w5, lsl #8
        orr     w6, w6, w7, lsl #8
        orr     w4, w4, w6, lsl #16
        .if     \summing
        add     x3, x3, x4
        .endif
        str     w4, [x0], #4
3:      and     w12, w1, #7             // the distance, not 0
        take    w1, 0, b, x4, x1
        take    w1, 1, h, x4, x1
        take    w1, 2, , x4, x1
        sub     x14, x2, x1
        and     x15, x14, #-8
        mov     x13, #0
        add     x15, x1, x15
        take    w14, 2, , x13, x15
        take    w14, 1, h, x13, x15
        take    w14, 0, b, x13, x15
        neg     x6, x14, lsl #3
        lsr     x13, x13, x6
        .if     \summing
        cmn     xzr, xzr
        .endif
        mov     w2, #8
        sub     w2, w2, w12
        and     w6, w14, #7
        add     w2, w2, w6              // what is left to store behind whole words
        move_skewed_each \summing
        add_up  \summing, x4, x5
        tbz     w2, #3, 7f
        str     x4, [x0], #8
        mov     x4, x5
7:      tbz     w2, #2, 8f
        str     w4, [x0], #4
        lsr     x4, x4, #32
8:      tbz     w2, #1, 9f
        strh    w4, [x0], #2
        lsr     x4, x4, #16
9:      tbz     w2, #0, 10f
        strb    w4, [x0]
10:     .if     \summing
        b       .Lfold\@
        .else
        ret
        .endif

.Lfew\@:                                // at most 15 bytes, at any address
        subs    x2, x2, #2
        b.lo    1f
        ldrb    w4, [x1], #1
        ldrb    w5, [x1], #1
        strb    w4, [x0], #1
        strb    w5, [x0], #1
        .if     \summing
        add     w3, w3, w4
        add     w3, w3, w5, lsl #8
        .endif
        b       .Lfew\@
1:      tbz     w2, #0, 2f
        ldrb    w4, [x1]
        strb    w4, [x0]
        .if     \summing
        add     w3, w3, w4
        .endif
2:      .if     \summing
        b       .Lfold_32\@
        .else
        ret
        .endif
        end     \name
        .endm

/* uint32_t pl_copy_sum(void *to, const void *from, size_t length) */
        copy    COPY_SUM, 1

/* void pl_copy(void *to, const void *from, size_t length)
 *
 * Where space counts, and it is for few bytes only, it is the other, whose sum nobody
 * looks at. */
#if defined(__OPTIMIZE_SIZE__) && defined(CONFIG_PLUMB_BYTES_NEON)
        .global COPY
        .type   COPY, %function
        .set    COPY, COPY_SUM
#else
        copy    COPY, 0
#endif

#endif
