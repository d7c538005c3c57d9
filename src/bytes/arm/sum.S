/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The Internet checksum in ARM state, ARMv4 and later, little-endian: load
 * multiple, add with carry. The carry lives in its flag across the whole loop, so
 * the loop counts without touching it.
 */
#include "bytes/select.h"

#ifdef PL_BYTES_ARM
#include "bytes/arm/fold.inc"

        .syntax unified
        .arm
        .text

/* uint32_t pl_sum(const void *bytes, size_t length)
 *
 * r0 bytes, r1 length, r2 sum, r3 where the loop ends, ip odd start */
        .section .text.pl_sum, "ax", %progbits
        .global pl_sum
        .type   pl_sum, %function
pl_sum:
        push    {r4-r10, lr}
        mov     r2, #0
        mov     ip, #0
        cmp     r1, #8
        blo     .Ltail
        ands    ip, r0, #1
        ldrbne  r4, [r0], #1
        subne   r1, r1, #1
        movne   r2, r4, lsl #8
        tst     r0, #2
        ldrhne  r4, [r0], #2
        subne   r1, r1, #2
        addne   r2, r2, r4

        bic     r3, r1, #31
        add     r3, r3, r0
        and     r1, r1, #31
        adds    r2, r2, #0              @ clears the carry
        teq     r0, r3
        beq     .Lwords
.Lblock:
        ldmia   r0!, {r4-r10, lr}
        adcs    r2, r2, r4
        adcs    r2, r2, r5
        adcs    r2, r2, r6
        adcs    r2, r2, r7
        adcs    r2, r2, r8
        adcs    r2, r2, r9
        adcs    r2, r2, r10
        adcs    r2, r2, lr
        teq     r0, r3
        bne     .Lblock
.Lwords:
        bic     r3, r1, #3
        add     r3, r3, r0
        and     r1, r1, #3
        teq     r0, r3
        beq     .Lfold
.Lword:
        ldr     r4, [r0], #4
        adcs    r2, r2, r4
        teq     r0, r3
        bne     .Lword
.Lfold:
        fold    r2

.Ltail:                                 @ at most 7 bytes, at any address
        subs    r1, r1, #2
        ldrbhs  r4, [r0], #1
        ldrbhs  r5, [r0], #1
        addhs   r2, r2, r4
        addhs   r2, r2, r5, lsl #8
        bhi     .Ltail
        tst     r1, #1
        ldrbne  r4, [r0]
        addne   r2, r2, r4
        adds    r2, r2, #0
        fold    r2
        cmp     ip, #0
        mov     r0, r2
        movne   r0, r2, lsr #8
        andne   r2, r2, #255
        orrne   r0, r0, r2, lsl #8
        pop     {r4-r10, pc}
        .size   pl_sum, . - pl_sum

#endif
