/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What programs in assembly for the zynq machine with nothing else on it share. */
    .syntax unified
    .arm

    .macro function name
    .balign 32
    .global \name
    .type \name, %function
\name:
    .endm

    .macro end name
    .size \name, . - \name
    .endm

    /* Unlocks, then resets: the emulator ends. */
    .macro reset
    ldr r0, =0xF8000008
    ldr r1, =0xDF0D
    str r1, [r0]
    mov r1, #1
    str r1, [r0, #0x1f8]
    b .
    .endm

    /* Between which the plugins count. */
    function board_measure_start
    bx lr
    end board_measure_start

    function board_measure_stop
    bx lr
    end board_measure_stop
