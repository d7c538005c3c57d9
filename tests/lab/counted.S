/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A program whose every instruction, access and moment of idling is known. */
#include "bare.S"

    function _start
    ldr sp, =stack
    bl work                     /* before the interval: not counted */
    bl board_measure_start
    mov r4, #10
1:  bl work
    bl board_idle
    subs r4, r4, #1
    bne 1b
    bl board_measure_stop
    reset
    end _start

    function work
    ldr r0, =data               /* 1 load of 4 */
    ldm r0, {r1, r2, r3}        /* 3 loads of 4 */
    ldrh r1, [r0, #1]           /* 1 load of 2, misaligned */
    strb r1, [r0]               /* 1 store of 1 */
    push {lr}                   /* 1 store of 4 */
    bl helper
    pop {pc}                    /* 1 load of 4 */
    end work

    function helper
    nop
    bx lr
    end helper

    function board_idle
    push {lr}
    cmp r4, #5
    popeq {pc}                  /* once in ten */
    bl helper
    pop {pc}
    end board_idle
    .ltorg

    .data
    .align 3
data:
    .space 64
    .space 1024
stack:
    .word 0
