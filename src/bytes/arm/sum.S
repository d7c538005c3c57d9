/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The Internet checksum in ARM state and in Thumb-2, little-endian: load multiple, add
 * with carry. The carry lives in its flag from the first word to the last byte, so
 * nothing between touches it.
 */
#include "bytes/select.h"

#if (defined(PL_BYTES_ARM) || defined(PL_BYTES_THUMB2)) && !defined(__OPTIMIZE_SIZE__)
#include "bytes/arm/arm.inc"

/* uint32_t pl_sum(const void *bytes, size_t length)
 *
 * r0 bytes, r1 length, r2 address times 8, r3 where the loop ends, ip sum */
        function pl_sum
        push    {r4-r10, lr}
        lsl     r2, r0, #3
        ands    ip, r0, #3              @ on a word that is the sum so far
        beq     .Laligned
        mov     ip, #0
        cmp     r1, #4
        blo     .Lfew
        tst     r0, #1
        beq     .Leven
        ldrb    r4, [r0], #1
        sub     r1, r1, #1
        lsl     ip, r4, #8
.Leven:
        tst     r0, #2
        beq     .Lbegun
        ldrh    r4, [r0], #2
        sub     r1, r1, #2
        add     ip, ip, r4
.Lbegun:
        cmp     r1, #64                 @ what was cut short need not be asked for more, and
        blo     .L32                    @ again below it clears the carry

.Laligned:
        cmp     r1, #256                @ below it, clears the carry
        blo     .Lblocks
        bic     r3, r1, #255
        adds    r3, r3, r0              @ as this does: no range ends behind the last address
.Llong:
        .rept   8
        ldmia   r0!, {r4-r10, lr}
        add_up  r4, r5, r6, r7, r8, r9, r10, lr
        .endr
        teq     r0, r3
        bne     .Llong
.Lblocks:                               @ r1 modulo 256
        tst     r1, #128
        beq     .L64
        .rept   4
        ldmia   r0!, {r4-r10, lr}
        add_up  r4, r5, r6, r7, r8, r9, r10, lr
        .endr
.L64:   tst     r1, #64
        beq     .L32
        .rept   2
        ldmia   r0!, {r4-r10, lr}
        add_up  r4, r5, r6, r7, r8, r9, r10, lr
        .endr
        tst     r1, #63                 @ 64 bytes are common, five bits less to ask for
        beq     .Lfold
.L32:
        tst     r1, #32
        beq     .L16
        ldmia   r0!, {r4-r10, lr}
        add_up  r4, r5, r6, r7, r8, r9, r10, lr
.L16:   tst     r1, #16
        beq     .L8
        ldmia   r0!, {r4-r7}
        add_up  r4, r5, r6, r7
.L8:    tst     r1, #8
        beq     .L4
        ldmia   r0!, {r4, r5}
        add_up  r4, r5
.L4:    tst     r1, #4
        beq     .L2
        ldr     r4, [r0], #4
        add_up  r4
.L2:    tst     r1, #3
        beq     .Lfold
        tst     r1, #2
        beq     .L1
        ldrh    r4, [r0], #2
        add_up  r4
        tst     r1, #1
        beq     .Lfold
.L1:    ldrb    r4, [r0]
        add_up  r4
.Lfold:
        fold    r2
        pop     {r4-r10, pc}

.Lfew:                                  @ at most 3 bytes, at any address
        lsrs    r1, r1, #1
        beq     .Lsingle
        ldrb    ip, [r0], #1
        ldrb    r4, [r0], #1
        orr     ip, ip, r4, lsl #8
.Lsingle:
        bcc     .Lhalve
        ldrb    r4, [r0]
        add     ip, ip, r4
.Lhalve:
        halve   r0
        pop     {r4-r10, pc}
        .size   pl_sum, . - pl_sum

#endif
