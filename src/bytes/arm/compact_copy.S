/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Copy, and copy with checksum, as copy.S has them, where space counts more: one loop
 * for every distance of the source from a word, and one routine for both, whose sum
 * nobody looks at after a mere copy.
 */
#include "bytes/select.h"

#if (defined(PL_BYTES_ARM) || defined(PL_BYTES_THUMB2)) && defined(__OPTIMIZE_SIZE__)
#include "bytes/arm/arm.inc"

/* `word` becomes what lies across it and the next. r10 and r11 are the shifts. */
        .macro  join    word, next
        lsr     \word, \word, r10
#ifdef PL_BYTES_THUMB2
        lsl     r9, \next, r11
        orr     \word, \word, r9
#else
        orr     \word, \word, \next, lsl r11
#endif
        .endm

/* uint32_t pl_copy_sum(void *to, const void *from, size_t length)
 * void pl_copy(void *to, const void *from, size_t length)
 *
 * r0 to, r1 from, r2 length, r3 destination's address times 8, ip sum, lr where a loop
 * ends */
        function pl_copy_sum
        entry   pl_copy
        push    {r4-r11, lr}
        mov     ip, #0
        mov     r3, #0
        cmp     r2, #8
        blo     .Ltail
        lsl     r3, r0, #3
        tst     r0, #1
        itttt   ne
        ldrbne  r4, [r1], #1
        subne   r2, r2, #1
        strbne  r4, [r0], #1
        lslne   ip, r4, #8
        tst     r0, #2
        itttt   ne
        ldrbne  r4, [r1], #1
        ldrbne  r5, [r1], #1
        subne   r2, r2, #2
        orrne   r4, r4, r5, lsl #8
        itt     ne
        strhne  r4, [r0], #2
        addne   ip, ip, r4
        ands    r10, r1, #3
        bne     .Lskewed

        bic     lr, r2, #31
        add     lr, lr, r0
        and     r2, r2, #31
        cmn     r0, #0                  @ clears the carry
        teq     r0, lr
        beq     .Lwords
.Lblock:
        ldmia   r1!, {r4-r11}
        add_up  r4, r5, r6, r7, r8, r9, r10, r11
        stmia   r0!, {r4-r11}
        teq     r0, lr
        bne     .Lblock
.Lwords:
        bic     lr, r2, #3
        add     lr, lr, r0
        and     r2, r2, #3
        teq     r0, lr
        beq     .Lfold
.Lword:
        ldr     r4, [r1], #4
        add_up  r4
        str     r4, [r0], #4
        teq     r0, lr
        bne     .Lword
.Lfold:
        adc     ip, ip, #0
        halve   ip

.Ltail:                                 @ at most 7 bytes, at any address
        subs    r2, r2, #2
        itttt   hs
        ldrbhs  r4, [r1], #1
        ldrbhs  r5, [r1], #1
        strbhs  r4, [r0], #1
        strbhs  r5, [r0], #1
        itt     hs
        addhs   ip, ip, r4
        addhs   ip, ip, r5, lsl #8
        bhi     .Ltail
        tst     r2, #1
        ittt    ne
        ldrbne  r4, [r1]
        strbne  r4, [r0]
        addne   ip, ip, r4
        ror     ip, ip, r3
        halve   r0
        pop     {r4-r11, pc}

.Lskewed:
        lsl     r10, r10, #3
        rsb     r11, r10, #32
.Lpartial:                              @ below its bytes r4 is anything: that is shifted out
        ldrb    r5, [r1], #1
        lsr     r4, r4, #8
        orr     r4, r4, r5, lsl #24
        tst     r1, #3
        bne     .Lpartial
        sub     r2, r2, #4              @ the last word is left to the tail
        bic     lr, r2, #15
        add     lr, lr, r0
        cmn     r0, #0                  @ clears the carry
        teq     r0, lr
        beq     .Lsingles
.Lfour:
        ldmia   r1!, {r5-r8}
        join    r4, r5
        join    r5, r6
        join    r6, r7
        join    r7, r8
        add_up  r4, r5, r6, r7
        stmia   r0!, {r4-r7}
        mov     r4, r8
        teq     r0, lr
        bne     .Lfour
.Lsingles:
        and     r5, r2, #12
        add     lr, lr, r5
        and     r2, r2, #3
        add     r2, r2, #4
        teq     r0, lr
        beq     .Lback
.Lsingle:
        ldr     r5, [r1], #4
        join    r4, r5
        add_up  r4
        str     r4, [r0], #4
        mov     r4, r5
        teq     r0, lr
        bne     .Lsingle
.Lback:
        sub     r1, r1, r11, lsr #3     @ what is held goes bytewise
        b       .Lfold
        .size   pl_copy_sum, . - pl_copy_sum
        .size   pl_copy, . - pl_copy

#endif
