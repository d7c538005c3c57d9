/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Functions of a line of instructions each, which use memory in known ways. All run once
 * before the interval, over other data of the same row, so that within it instructions are
 * there and rows are open. r5: cached data; r6: uncached; r7: a device's register.
 */
#include "bare.S"

    function _start
    ldr sp, =stack
    ldr r5, =cached
    ldr r6, =uncached
    ldr r7, =0xF8000004
    bl all
    add r5, r5, #1024           /* the next row, of another bank */
    ldr r8, [r5]                /* which this opens */
    add r5, r5, #64
    bl board_measure_start
    bl all
    bl board_idle
    bl board_measure_stop
    reset
    .ltorg
    end _start

    function all
    push {lr}
    bl reads_a_line
    bl reads_many
    bl writes_elsewhere
    bl reads_uncached
    bl maintains
    bl reads_a_device
    pop {pc}
    end all

    function board_idle
    ldr r1, [r6]
    b helper
    end board_idle

    function helper
    nop
    bx lr
    end helper

    function reads_a_line
    ldr r1, [r5]
    ldr r1, [r5, #28]
    bx lr
    end reads_a_line

    function reads_many
    ldm r5, {r0-r4, r8, r9, r10}
    bx lr
    end reads_many

    function writes_elsewhere
    str r1, [r5, #128]
    str r1, [r5, #132]
    str r1, [r5, #192]
    bx lr
    end writes_elsewhere

    function reads_uncached
    ldr r1, [r6]
    ldrb r1, [r6, #4]
    bx lr
    end reads_uncached

    function maintains
    str r1, [r5]                /* a line that is held: dirty */
    mov r0, r5
    mcr p15, 0, r0, c7, c14, 1  /* cleaned and dropped */
#ifndef BLIND
    ldrbt r1, [r0], #0          /* witness */
#endif
    dsb
    ldr r1, [r5]
    bx lr
    end maintains

    function reads_a_device
    ldr r1, [r7]
    mul r1, r1, r1
    bx lr
    end reads_a_device

    .data
    .balign 2048
cached:
    .space 2048
    .space 1024
stack:
    .word 0

    .section .uncached, "aw", %nobits
uncached:
    .space 64
