/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The long part of unaligned.c's copies, for AArch64: blocks of 64 bytes from any address
 * to that of a word of 8. Words are loaded one by one and stored in pairs; what a
 * compiler cannot be made to do is the sum, whose carry lives in its flag.
 */
#include "bytes/select.h"

#if defined(PL_UNALIGNED_BLOCKS) && defined(PL_MISALIGNED_AARCH64)

/* x0 to, x1 from, x2 where `to` ends, another place than it begins; x3 sum */
        .macro  blocks  name, summing
        .section .text.\name, "ax", %progbits
        .balign 4
        .global \name
        .type   \name, %function
\name:
#ifdef __ARM_FEATURE_BTI_DEFAULT
        hint    #34                     // BTI c
#endif
        .if     \summing
        adds    x3, xzr, xzr            // clears the carry, which lives across the loop
        .endif
.Lblock\@:
        ldr     x5, [x1, #8]
        ldr     x6, [x1, #16]
        ldr     x7, [x1, #24]
        ldr     x8, [x1, #32]
        ldr     x9, [x1, #40]
        ldr     x10, [x1, #48]
        ldr     x11, [x1, #56]
        ldr     x4, [x1], #64
        .if     \summing
        .irp    register, x4, x5, x6, x7, x8, x9, x10, x11
        adcs    x3, x3, \register
        .endr
        .endif
        stp     x6, x7, [x0, #16]
        stp     x8, x9, [x0, #32]
        stp     x10, x11, [x0, #48]
        stp     x4, x5, [x0], #64
        sub     x12, x2, x0
        cbnz    x12, .Lblock\@
        .if     \summing
        adcs    x0, x3, xzr
        adc     x0, x0, xzr
        .endif
        ret
        .size   \name, . - \name
        .endm

        blocks  pl_unaligned_copy, 0
        blocks  pl_unaligned_copy_sum, 1

#endif
