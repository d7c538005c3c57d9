/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The Internet checksum as sum.S has it, where space counts more.
 */
#include "bytes/select.h"

#if (defined(PL_BYTES_ARM) || defined(PL_BYTES_THUMB2)) && defined(__OPTIMIZE_SIZE__)
#include "bytes/arm/arm.inc"

/* uint32_t pl_sum(const void *bytes, size_t length)
 *
 * r0 bytes, r1 length, r2 address times 8, r3 where a loop ends, ip sum */
        function pl_sum
        push    {r4-r10, lr}
        mov     ip, #0
        mov     r2, #0
        cmp     r1, #8
        blo     .Ltail
        lsl     r2, r0, #3
        tst     r0, #1
        ittt    ne
        ldrbne  r4, [r0], #1
        subne   r1, r1, #1
        lslne   ip, r4, #8
        tst     r0, #2
        ittt    ne
        ldrhne  r4, [r0], #2
        subne   r1, r1, #2
        addne   ip, ip, r4

        bic     r3, r1, #31
        add     r3, r3, r0
        and     r1, r1, #31
        cmn     r0, #0                  @ clears the carry
        teq     r0, r3
        beq     .Lwords
.Lblock:
        ldmia   r0!, {r4-r10, lr}
        add_up  r4, r5, r6, r7, r8, r9, r10, lr
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
        add_up  r4
        teq     r0, r3
        bne     .Lword
.Lfold:
        adc     ip, ip, #0
        halve   ip

.Ltail:                                 @ at most 7 bytes, at any address
        subs    r1, r1, #2
        itttt   hs
        ldrbhs  r4, [r0], #1
        ldrbhs  r5, [r0], #1
        addhs   ip, ip, r4
        addhs   ip, ip, r5, lsl #8
        bhi     .Ltail
        tst     r1, #1
        itt     ne
        ldrbne  r4, [r0]
        addne   ip, ip, r4
        ror     ip, ip, r2
        halve   r0
        pop     {r4-r10, pc}
        .size   pl_sum, . - pl_sum

#endif
