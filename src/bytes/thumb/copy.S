/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Copy in Thumb-1, ARMv4T and later and ARMv6-M, little-endian.
 *
 * Once the destination is on a word, so are all stores. A source on a word too is
 * moved by load and store multiple. Any other is loaded by words all the same and
 * each word stored is joined from two, in a loop for each distance from a word; its
 * first, partial word is loaded by parts, so that nothing outside the source is read.
 */
#include "bytes/select.h"

#ifdef PL_BYTES_THUMB1
#include "bytes/thumb/thumb.inc"

        .macro  move    registers:vararg
        ldmia   r1!, {\registers}
        stmia   r0!, {\registers}
        .endm

/* `word` holds the last bytes of one word, lowest: the first ones of the next follow. */
        .macro  join    skew, scratch, word, next
        lsls    \scratch, \next, #(32 - 8 * \skew)
        orrs    \word, \word, \scratch
        .endm

/* The same, and then for the word that `next` holds. */
        .macro  joins   skew, scratch, word, next, more:vararg
        join    \skew, \scratch, \word, \next
        .ifnb   \more
        lsrs    \next, \next, #(8 * \skew)
        joins   \skew, \scratch, \next, \more
        .endif
        .endm

/* The source is `skew` bytes past a word, the destination on one, and r2, their
 * length, at least 5. What was loaded and not stored yet lies in the upper bytes of
 * r7, which is both the last register loaded and apart from those stored, so that it
 * need not be moved. */
        .macro  move_skewed skew
        .if     \skew == 2
        ldrh    r7, [r1]
        adds    r1, r1, #2
        .else
        ldrb    r7, [r1]
        adds    r1, r1, #1
        .endif
        lsls    r7, r7, #(8 * \skew)
        .if     \skew == 1
        ldrh    r3, [r1]
        adds    r1, r1, #2
        lsls    r3, r3, #16
        orrs    r7, r7, r3
        .endif
        subs    r2, r2, #(4 - \skew)
        lsrs    r3, r2, #4
        beq     2f
        lsls    r3, r3, #4
        adds    r3, r3, r0
        mov     ip, r3
        mov     lr, r2
1:      lsrs    r3, r7, #(8 * \skew)
        ldmia   r1!, {r4-r7}
        joins   \skew, r2, r3, r4, r5, r6, r7
        stmia   r0!, {r3-r6}
        cmp     r0, ip
        bne     1b
        mov     r2, lr
2:      lsrs    r3, r2, #4              @ carry: 8 bytes more
        bcc     3f
        lsrs    r3, r7, #(8 * \skew)
        ldmia   r1!, {r4, r7}
        joins   \skew, r5, r3, r4, r7
        stmia   r0!, {r3, r4}
3:      lsrs    r3, r2, #3              @ carry: 4 bytes more
        bcc     4f
        lsrs    r3, r7, #(8 * \skew)
        ldmia   r1!, {r7}
        join    \skew, r5, r3, r7
        stmia   r0!, {r3}
4:      movs    r3, #3                  @ what r7 holds goes by bytes
        ands    r2, r2, r3
        adds    r2, r2, #(4 - \skew)
        subs    r1, r1, #(4 - \skew)
        .endm

/* void pl_copy(void *to, const void *from, size_t length)
 *
 * r0 to, r1 from, r2 length, ip where a loop ends, lr length put aside */
        function pl_copy
        push    {r4-r7, lr}
        movs    r3, r0
        orrs    r3, r3, r1
        lsls    r3, r3, #30
        beq     .Laligned
        cmp     r2, #8
        blo     .Lbytes
        lsrs    r3, r0, #1
        bcc     .Leven
        ldrb    r3, [r1]
        strb    r3, [r0]
        adds    r0, r0, #1
        adds    r1, r1, #1
        subs    r2, r2, #1
.Leven:
        lsrs    r3, r0, #2
        bcc     .Lword
        ldrb    r3, [r1]
        strb    r3, [r0]
        ldrb    r3, [r1, #1]
        strb    r3, [r0, #1]
        adds    r0, r0, #2
        adds    r1, r1, #2
        subs    r2, r2, #2
.Lword: lsls    r3, r1, #31
        bne     .Lodd
        bcs     .Lskewed_2

.Laligned:
        subs    r2, r2, #64
        blo     .L32
.Lblock:
        move    r4-r7
        move    r4-r7
        move    r4-r7
        move    r4-r7
        subs    r2, r2, #64
        bhs     .Lblock
.L32:                                   @ r2 modulo 64
        lsls    r3, r2, #27             @ carry: 32 bytes more; negative: 16
        bcc     .L16
        move    r4-r7
        move    r4-r7
.L16:   bpl     .L8
        move    r4-r7
.L8:    lsls    r3, r2, #29             @ carry: 8 bytes more; negative: 4
        bcc     .L4
        move    r4, r5
.L4:    bpl     .L2
        move    r4
.L2:    lsls    r3, r2, #31             @ carry: 2 bytes more; negative: 1
        bcc     .L1
        ldrh    r3, [r1]
        strh    r3, [r0]
        bpl     .Ldone
        ldrb    r3, [r1, #2]
        strb    r3, [r0, #2]
        pop     {r4-r7, pc}
.L1:    bpl     .Ldone
        ldrb    r3, [r1]
        strb    r3, [r0]
.Ldone: pop     {r4-r7, pc}

.Lbytes:                                @ at most 7, at any address
        movs    r3, #7                  @ as many as there are not
        subs    r3, r3, r2
        lsls    r3, r3, #2              @ what moves one is 4 bytes
        add     pc, r3
        nop
        .irp    offset, 6, 5, 4, 3, 2, 1, 0
        ldrb    r3, [r1, #\offset]
        strb    r3, [r0, #\offset]
        .endr
        pop     {r4-r7, pc}

.Lodd:  bcs     .Lskewed_3
        move_skewed 1
        b       .Lbytes
.Lskewed_2:
        move_skewed 2
        b       .Lbytes
.Lskewed_3:
        move_skewed 3
        b       .Lbytes

        .size   pl_copy, . - pl_copy

#endif
