/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The long part of unaligned.c's copies, in ARM state and in Thumb-2: blocks of 32 bytes
 * from any address to a word's. What a compiler cannot be made to do is here: words are
 * loaded one by one, as the load of many traps at a misaligned address whatever the
 * processor does otherwise, and stored all at once.
 */
#include "bytes/select.h"

#if defined(PL_UNALIGNED_BLOCKS) && !defined(PL_MISALIGNED_AARCH64)

        .syntax unified
#ifdef __thumb__
        .thumb
#else
        .arm
#endif

/* r0 to, r1 from, r2 where `to` ends, another place than it begins; ip sum */
        .macro  blocks  name, summing
        .section .text.\name, "ax", %progbits
        .balign 4
        .global \name
        .type   \name, %function
\name:
        push    {r4-r10, lr}
        .if     \summing
        mov     ip, #0
        adds    ip, ip, #0              @ clears the carry, which lives across the loop
        .endif
.Lblock\@:
        ldr     r4, [r1, #4]
        ldr     r5, [r1, #8]
        ldr     r6, [r1, #12]
        ldr     r7, [r1, #16]
        ldr     r8, [r1, #20]
        ldr     r9, [r1, #24]
        ldr     r10, [r1, #28]
        ldr     r3, [r1], #32
        .if     \summing
        .irp    register, r3, r4, r5, r6, r7, r8, r9, r10
        adcs    ip, ip, \register
        .endr
        .endif
        stmia   r0!, {r3-r10}
        teq     r0, r2
        bne     .Lblock\@
        .if     \summing
        adcs    r0, ip, #0
        adc     r0, r0, #0
        .endif
        pop     {r4-r10, pc}
        .size   \name, . - \name
        .endm

        blocks  pl_unaligned_copy, 0
        blocks  pl_unaligned_copy_sum, 1

#endif
