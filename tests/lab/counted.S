/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A program whose every instruction, access and moment of idling is known. */
    .syntax unified
    .arm
    .global _start, board_measure_start, board_measure_stop, board_idle, work, helper

    .type _start, %function
_start:
    ldr sp, =stack
    bl work                     /* before the interval: not counted */
    bl board_measure_start
    mov r4, #10
1:  bl work
    bl board_idle
    subs r4, r4, #1
    bne 1b
    bl board_measure_stop
    ldr r0, =0xF8000008         /* unlock, then reset: the emulator ends */
    ldr r1, =0xDF0D
    str r1, [r0]
    mov r1, #1
    str r1, [r0, #0x1f8]
2:  b 2b
    .size _start, . - _start

    .type board_measure_start, %function
board_measure_start:
    bx lr
    .size board_measure_start, . - board_measure_start

    .type board_measure_stop, %function
board_measure_stop:
    bx lr
    .size board_measure_stop, . - board_measure_stop

    .type work, %function
work:
    ldr r0, =data               /* 1 load of 4 */
    ldm r0, {r1, r2, r3}        /* 3 loads of 4 */
    ldrh r1, [r0, #1]           /* 1 load of 2, misaligned */
    strb r1, [r0]               /* 1 store of 1 */
    push {lr}                   /* 1 store of 4 */
    bl helper
    pop {pc}                    /* 1 load of 4 */
    .size work, . - work

    .type helper, %function
helper:
    nop
    bx lr
    .size helper, . - helper

    .type board_idle, %function
board_idle:
    push {lr}
    cmp r4, #5
    popeq {pc}                  /* once in ten */
    bl helper
    pop {pc}
    .size board_idle, . - board_idle
    .ltorg

    .data
    .align 3
data:
    .space 64
    .space 1024
stack:
    .word 0
