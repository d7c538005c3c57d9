/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Copy with checksum in Thumb-1, ARMv4T and later and ARMv6-M, little-endian.
 *
 * Where source and destination lie alike the words moved are summed on the way, with
 * the carry in its flag, as in sum.S. Elsewhere a word stored is joined from two by
 * shifts, which destroy the carry, and keeping it costs more than the second pass that
 * is made there.
 */
#include "bytes/select.h"

#ifdef PL_BYTES_THUMB1
#include "bytes/thumb/thumb.inc"

#ifndef __OPTIMIZE_SIZE__
        .macro  move    registers:vararg
        ldmia   r1!, {\registers}
        add_up  \registers
        stmia   r0!, {\registers}
        .endm
#endif

/* uint32_t pl_copy_sum(void *to, const void *from, size_t length)
 *
 * r0 to, r1 from, r2 sum, r3 where the loop ends, ip length, lr bytes of code to skip */
        function pl_copy_sum
#ifndef __OPTIMIZE_SIZE__
        movs    r3, r0
        eors    r3, r3, r1
        lsls    r3, r3, #30
        beq     .Lalike
#endif
.Lapart:
        push    {r1-r3, lr}
        bl      pl_copy
        pop     {r0-r2}
        bl      pl_sum                  @ of the source: what was just stored loads late
        pop     {pc}

#ifndef __OPTIMIZE_SIZE__
.Lalike:
        cmp     r2, #4
        blo     .Lapart
        push    {r0, r4-r7, lr}
        movs    r3, r2
        movs    r2, #0
        lsrs    r4, r0, #1
        bcc     .Leven
        ldrb    r2, [r1]
        strb    r2, [r0]
        lsls    r2, r2, #8
        adds    r0, r0, #1
        adds    r1, r1, #1
        subs    r3, r3, #1
.Leven:
        lsrs    r4, r0, #2
        bcc     .Laligned
        ldrh    r4, [r1]
        strh    r4, [r0]
        adds    r2, r2, r4
        adds    r0, r0, #2
        adds    r1, r1, #2
        subs    r3, r3, #2

.Laligned:
        mov     ip, r3
        movs    r4, #60                 @ as many words as there are not
        bics    r4, r4, r3
        lsrs    r5, r4, #1
        adds    r4, r4, r5              @ a word is 4 bytes, what moves it is 6
        mov     lr, r4
        lsrs    r3, r3, #6
        lsls    r3, r3, #6
        adds    r3, r3, r0              @ no carry: what is written ends below the top
        b       .Lblocks
.Lblock:
        move    r4, r5, r6, r7
        move    r4, r5, r6, r7
        move    r4, r5, r6, r7
        move    r4, r5, r6, r7
.Lblocks:
        movs    r4, r0
        eors    r4, r4, r3
        bne     .Lblock
        mov     r3, ip
        add     pc, lr
        nop
        .rept   15
        move    r4
        .endr
        movs    r4, #2
        ands    r4, r4, r3
        beq     .Llast
        ldrh    r5, [r1]
        add_up  r5
        strh    r5, [r0]
.Llast:
        movs    r5, #1
        tst     r3, r5
        beq     .Lfold
        ldrb    r5, [r1, r4]
        add_up  r5
        strb    r5, [r0, r4]
.Lfold:
        pop     {r1}
        fold
        pop     {r4-r7, pc}
#endif
        .size   pl_copy_sum, . - pl_copy_sum

#endif
