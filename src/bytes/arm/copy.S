/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Copy, and copy with checksum, in ARM state and in Thumb-2, little-endian.
 *
 * Once the destination is on a word, so are all stores. A source on a word too is
 * moved by load and store multiple. Any other is loaded by words all the same and
 * each word stored is joined from two, in a loop for each distance from a word; its
 * first, partial word is loaded by parts, so that nothing outside the source is read.
 * The sum is taken of the words as they are stored; its carry lives in the flag until
 * the last byte, so nothing between touches it.
 */
#include "bytes/select.h"

#if (defined(PL_BYTES_ARM) || defined(PL_BYTES_THUMB2)) && !defined(__OPTIMIZE_SIZE__)
#include "bytes/arm/arm.inc"

        .macro  sum_up  summing, registers:vararg
        .if     \summing
        add_up  \registers
        .endif
        .endm

/* 32 bytes from one place on words to another */
        .macro  move    summing
        ldmia   r1!, {r3-r10}
        sum_up  \summing, r3, r4, r5, r6, r7, r8, r9, r10
        stmia   r0!, {r3-r10}
        .endm

/* `word` holds the last bytes of one word, lowest: the first ones of the next follow. */
        .macro  join    skew, word, next
        orr     \word, \word, \next, lsl #(32 - 8 * \skew)
        .endm

/* The same, and then for the word that `next` holds. */
        .macro  joins   skew, word, next, more:vararg
        join    \skew, \word, \next
        .ifnb   \more
        lsr     \next, \next, #(8 * \skew)
        joins   \skew, \next, \more
        .endif
        .endm

/* The source is `skew` bytes past a word, the destination on one, and r2, their
 * length, at least 5. What was loaded and not stored yet lies in the upper bytes of
 * r11, which is both the last register loaded and apart from those stored, so that it
 * need not be moved. */
        .macro  move_skewed skew, summing
        .if     \skew == 2
        ldrh    r11, [r1], #2
        .else
        ldrb    r11, [r1], #1
        .endif
        lsl     r11, r11, #(8 * \skew)
        .if     \skew == 1
        ldrh    r3, [r1], #2
        orr     r11, r11, r3, lsl #16
        .endif
        sub     r2, r2, #(4 - \skew)
        .if     \summing
        cmn     r0, #0                  @ clears the carry
        .endif
        bics    lr, r2, #31
        beq     2f
        add     lr, lr, r0
1:      lsr     r3, r11, #(8 * \skew)
        ldmia   r1!, {r4-r11}
        joins   \skew, r3, r4, r5, r6, r7, r8, r9, r10, r11
        sum_up  \summing, r3, r4, r5, r6, r7, r8, r9, r10
        stmia   r0!, {r3-r10}
        teq     r0, lr
        bne     1b
2:      tst     r2, #16
        beq     3f
        lsr     r3, r11, #(8 * \skew)
        ldmia   r1!, {r4-r6, r11}
        joins   \skew, r3, r4, r5, r6, r11
        sum_up  \summing, r3, r4, r5, r6
        stmia   r0!, {r3-r6}
3:      tst     r2, #8
        beq     4f
        lsr     r3, r11, #(8 * \skew)
        ldmia   r1!, {r4, r11}
        joins   \skew, r3, r4, r11
        sum_up  \summing, r3, r4
        stmia   r0!, {r3, r4}
4:      tst     r2, #4
        beq     5f
        lsr     r3, r11, #(8 * \skew)
        ldr     r11, [r1], #4
        join    \skew, r3, r11
        sum_up  \summing, r3
        str     r3, [r0], #4
5:      and     r2, r2, #3              @ what r11 holds goes by bytes
        sub     r1, r1, #(4 - \skew)
        add     r2, r2, #(4 - \skew)
        .endm

/* r0 to, r1 from, r2 length, ip sum, lr where a loop ends */
        .macro  copy    name, summing
        function \name
        .if     \summing
        push    {r0, r4-r11, lr}
        mov     ip, #0
        .else
        push    {r4-r11, lr}
        .endif
        orr     r3, r0, r1
        tst     r3, #3
        beq     .Laligned\@
        cmp     r2, #8
        blo     .Lfew\@
        tst     r0, #1
        beq     .Leven\@
        ldrb    r3, [r1], #1
        sub     r2, r2, #1
        strb    r3, [r0], #1
        .if     \summing
        lsl     ip, r3, #8
        .endif
.Leven\@:
        tst     r0, #2
        beq     .Lword\@
        ldrb    r3, [r1], #1
        ldrb    r4, [r1], #1
        sub     r2, r2, #2
        orr     r3, r3, r4, lsl #8
        strh    r3, [r0], #2
        .if     \summing
        add     ip, ip, r3
        .endif
.Lword\@:
        ands    r3, r1, #3
        bne     .Lskewed\@

.Laligned\@:
        .if     \summing
        cmn     r0, #0                  @ clears the carry
        bics    lr, r2, #63
        beq     .L32\@
        add     lr, lr, r0
.Lblock\@:
        move    1
        move    1
        teq     r0, lr
        bne     .Lblock\@
        .else
        subs    r2, r2, #128
        blo     .L64\@
.Lblock\@:
        move    0
        move    0
        move    0
        move    0
        subs    r2, r2, #128
        bhs     .Lblock\@
.L64\@:                                 @ r2 modulo 128
        tst     r2, #64
        beq     .L32\@
        move    0
        move    0
        .endif
.L32\@: tst     r2, #32
        beq     .L16\@
        move    \summing
.L16\@: tst     r2, #16
        beq     .L8\@
        ldmia   r1!, {r3-r6}
        sum_up  \summing, r3, r4, r5, r6
        stmia   r0!, {r3-r6}
.L8\@:  tst     r2, #8
        beq     .L4\@
        ldmia   r1!, {r3, r4}
        sum_up  \summing, r3, r4
        stmia   r0!, {r3, r4}
.L4\@:  tst     r2, #4
        beq     .L2\@
        ldr     r3, [r1], #4
        sum_up  \summing, r3
        str     r3, [r0], #4
.L2\@:  tst     r2, #2
        beq     .L1\@
        ldrh    r3, [r1], #2
        sum_up  \summing, r3
        strh    r3, [r0], #2
.L1\@:  tst     r2, #1
        beq     .Ldone\@
.Lbyte\@:
        ldrb    r3, [r1]
        sum_up  \summing, r3
        strb    r3, [r0]
.Ldone\@:
        .if     \summing
        pop     {r1}
        lsl     r1, r1, #3
        fold    r1
        .endif
        pop     {r4-r11, pc}

.Lskewed\@:
        cmp     r3, #2
        beq     .Lskewed_2\@
        bhi     .Lskewed_3\@
        move_skewed 1, \summing
        b       .Lbytes\@
.Lskewed_2\@:
        move_skewed 2, \summing
        b       .Lbytes\@
.Lskewed_3\@:
        move_skewed 3, \summing
        b       .Lbytes\@

.Lfew\@:                                @ no carry: the comparison was lower
        .if     \summing
        str     ip, [sp]                @ the first byte has the lower place
        .endif
.Lbytes\@:                              @ at most 7 bytes, at any address
        tst     r2, #4
        beq     .Lpair\@
        ldrb    r3, [r1], #1
        ldrb    r4, [r1], #1
        ldrb    r5, [r1], #1
        ldrb    r6, [r1], #1
        strb    r3, [r0], #1
        strb    r4, [r0], #1
        strb    r5, [r0], #1
        strb    r6, [r0], #1
        .if     \summing
        orr     r3, r3, r4, lsl #8
        orr     r3, r3, r5, lsl #16
        orr     r3, r3, r6, lsl #24
        add_up  r3
        .endif
.Lpair\@:
        tst     r2, #2
        beq     .Llast\@
        ldrb    r3, [r1], #1
        ldrb    r4, [r1], #1
        strb    r3, [r0], #1
        strb    r4, [r0], #1
        .if     \summing
        orr     r3, r3, r4, lsl #8
        add_up  r3
        .endif
.Llast\@:
        tst     r2, #1
        bne     .Lbyte\@
        b       .Ldone\@
        .size   \name, . - \name
        .endm

/* uint32_t pl_copy_sum(void *to, const void *from, size_t length) */
        copy    pl_copy_sum, 1

/* void pl_copy(void *to, const void *from, size_t length) */
        copy    pl_copy, 0

#endif
