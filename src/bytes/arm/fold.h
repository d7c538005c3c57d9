/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* For the assembler only. */

/* The sum so far, 32 bits and a carry, to 16 bits. Adding the carry brings no other:
 * that would take a sum of all ones with a carry, which only comes from another. */
        .macro  fold    sum
        adc     \sum, \sum, #0
        adds    \sum, \sum, \sum, lsl #16
        mov     \sum, \sum, lsr #16
        adc     \sum, \sum, #0
        .endm
