/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The Internet checksum in Thumb-1, ARMv4T and later and ARMv6-M, little-endian: load
 * multiple, add with carry.
 *
 * The carry lives in its flag from the first word to the last byte. Additions,
 * shifts and comparisons there would destroy it; moves, logic and additions of high
 * registers do not.
 */
#include "bytes/select.h"

#ifdef PL_BYTES_THUMB1
#include "bytes/thumb/thumb.inc"

        .macro  block
        ldmia   r0!, {r4-r7}
        add_up  r4, r5, r6, r7
        .endm

/* uint32_t pl_sum(const void *bytes, size_t length)
 *
 * r0 bytes, r1 length, r2 sum, r3 where the loop ends, ip address, lr bytes of code to
 * skip */
        function pl_sum
        push    {r4-r7, lr}
        mov     ip, r0
        movs    r2, #0
        lsls    r3, r0, #30
        beq     .Laligned
        cmp     r1, #4
        blo     .Lfew
        lsrs    r3, r0, #1
        bcc     .Leven
        ldrb    r2, [r0]
        lsls    r2, r2, #8
        adds    r0, r0, #1
        subs    r1, r1, #1
.Leven:
        lsrs    r3, r0, #2
        bcc     .Laligned
        ldrh    r3, [r0]
        adds    r2, r2, r3
        adds    r0, r0, #2
        subs    r1, r1, #2

.Laligned:
        movs    r4, #60                 @ as many words as there are not
        bics    r4, r4, r1
        mov     lr, r4
        lsrs    r3, r1, #6
        lsls    r3, r3, #6
        adds    r3, r3, r0              @ no carry: what is summed ends below the top
        b       .Lblocks
.Lblock:
        block
        block
        block
        block
.Lblocks:
        movs    r4, r0
        eors    r4, r4, r3
        bne     .Lblock
        add     pc, lr                  @ a word is 4 bytes and so is what adds it
        nop
        .rept   15
        ldmia   r0!, {r4}
        add_up  r4
        .endr
        movs    r3, #2
        ands    r3, r3, r1
        beq     .Llast
        ldrh    r4, [r0]
        add_up  r4
.Llast:
        movs    r4, #1
        tst     r1, r4
        beq     .Lfold
        ldrb    r4, [r0, r3]
        add_up  r4
.Lfold:
        mov     r1, ip
        fold
        pop     {r4-r7, pc}

.Lfew:                                  @ at most 3 bytes, at any address
        cmp     r1, #2
        blo     .Lone
        ldrb    r2, [r0]
        ldrb    r3, [r0, #1]
        beq     .Ltwo
        ldrb    r4, [r0, #2]
        adds    r2, r2, r4
.Ltwo:  lsls    r3, r3, #8
        adds    r2, r2, r3
        halve   r2
        pop     {r4-r7, pc}
.Lone:  lsrs    r1, r1, #1
        bcc     .Lnone
        ldrb    r2, [r0]
.Lnone: movs    r0, r2
        pop     {r4-r7, pc}
        .size   pl_sum, . - pl_sum

#endif
