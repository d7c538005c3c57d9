/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Copy, and copy with checksum, in ARM state, ARMv4 and later, little-endian.
 *
 * Once the destination is on a word, so are all stores. A source on a word too is
 * moved by load and store multiple. Any other is loaded by words all the same and
 * each word stored is joined from two; its first, partial word is loaded bytewise,
 * so that nothing outside the source is read. The sum is taken of the words as
 * they are stored, its carry living in the flag across the loops.
 */
#include "bytes/select.h"

#ifdef PL_BYTES_ARM
#include "bytes/arm/fold.inc"

        .syntax unified
        .arm
        .text

        .macro  add_up  summing, registers:vararg
        .if     \summing
        .irp    register, \registers
        adcs    r3, r3, \register
        .endr
        .endif
        .endm

/* r4 held, r5 next: r4 becomes the word between them. r10 and r11 are the shifts. */
        .macro  join    held, next
        mov     \held, \held, lsr r10
        orr     \held, \held, \next, lsl r11
        .endm

/* r0 to, r1 from, r2 length, r3 sum, ip odd destination, lr where a loop ends */
        .macro  copy    name, summing
        .section .text.\name, "ax", %progbits
        .global \name
        .type   \name, %function
\name:
        push    {r4-r11, lr}
        .if     \summing
        mov     r3, #0
        mov     ip, #0
        .endif
        cmp     r2, #8
        blo     .Ltail\@
        .if     \summing
        and     ip, r0, #1
        .endif
        tst     r0, #1
        ldrbne  r4, [r1], #1
        subne   r2, r2, #1
        strbne  r4, [r0], #1
        .if     \summing
        movne   r3, r4, lsl #8
        .endif
        tst     r0, #2
        ldrbne  r4, [r1], #1
        ldrbne  r5, [r1], #1
        subne   r2, r2, #2
        strbne  r4, [r0], #1
        strbne  r5, [r0], #1
        .if     \summing
        addne   r3, r3, r4
        addne   r3, r3, r5, lsl #8
        .endif
        ands    r10, r1, #3
        bne     .Lskewed\@

        bic     lr, r2, #31
        add     lr, lr, r0
        and     r2, r2, #31
        .if     \summing
        adds    r3, r3, #0              @ clears the carry
        .endif
        teq     r0, lr
        beq     .Lwords\@
.Lblock\@:
        ldmia   r1!, {r4-r11}
        add_up  \summing, r4, r5, r6, r7, r8, r9, r10, r11
        stmia   r0!, {r4-r11}
        teq     r0, lr
        bne     .Lblock\@
.Lwords\@:
        bic     lr, r2, #3
        add     lr, lr, r0
        and     r2, r2, #3
        teq     r0, lr
        beq     .Lfold\@
.Lword\@:
        ldr     r4, [r1], #4
        add_up  \summing, r4
        str     r4, [r0], #4
        teq     r0, lr
        bne     .Lword\@
.Lfold\@:
        .if     \summing
        fold    r3
        .endif

.Ltail\@:                               @ at most 7 bytes, at any address
        subs    r2, r2, #2
        ldrbhs  r4, [r1], #1
        ldrbhs  r5, [r1], #1
        strbhs  r4, [r0], #1
        strbhs  r5, [r0], #1
        .if     \summing
        addhs   r3, r3, r4
        addhs   r3, r3, r5, lsl #8
        .endif
        bhi     .Ltail\@
        tst     r2, #1
        ldrbne  r4, [r1]
        strbne  r4, [r0]
        .if     \summing
        addne   r3, r3, r4
        adds    r3, r3, #0
        fold    r3
        cmp     ip, #0
        mov     r0, r3
        movne   r0, r3, lsr #8
        andne   r3, r3, #255
        orrne   r0, r0, r3, lsl #8
        .endif
        pop     {r4-r11, pc}

.Lskewed\@:
        mov     r10, r10, lsl #3
        rsb     r11, r10, #32
        mov     r4, #0
.Lpartial\@:
        ldrb    r5, [r1], #1
        mov     r4, r4, lsr #8
        orr     r4, r4, r5, lsl #24
        tst     r1, #3
        bne     .Lpartial\@
        sub     r2, r2, #4              @ the last word is left to the tail
        bic     lr, r2, #15
        add     lr, lr, r0
        .if     \summing
        adds    r3, r3, #0
        .endif
        teq     r0, lr
        beq     .Lsingles\@
.Lfour\@:
        ldmia   r1!, {r5-r8}
        join    r4, r5
        join    r5, r6
        join    r6, r7
        join    r7, r8
        add_up  \summing, r4, r5, r6, r7
        stmia   r0!, {r4-r7}
        mov     r4, r8
        teq     r0, lr
        bne     .Lfour\@
.Lsingles\@:
        and     r5, r2, #12
        add     lr, lr, r5
        and     r2, r2, #3
        add     r2, r2, #4
        teq     r0, lr
        beq     .Lback\@
.Lsingle\@:
        ldr     r5, [r1], #4
        join    r4, r5
        add_up  \summing, r4
        str     r4, [r0], #4
        mov     r4, r5
        teq     r0, lr
        bne     .Lsingle\@
.Lback\@:
        sub     r1, r1, r11, lsr #3     @ what is held goes bytewise
        b       .Lfold\@
        .size   \name, . - \name
        .endm

/* uint32_t pl_copy_sum(void *to, const void *from, size_t length) */
        copy    pl_copy_sum, 1

/* void pl_copy(void *to, const void *from, size_t length)
 *
 * Where space counts it is the other, whose sum nobody looks at. */
#ifdef __OPTIMIZE_SIZE__
        .global pl_copy
        .type   pl_copy, %function
        .set    pl_copy, pl_copy_sum
#else
        copy    pl_copy, 0
#endif

#endif
