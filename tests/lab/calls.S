/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A program whose calls are known: of each way to call, to return, to be interrupted.
 * Every function executes as many instructions as the test says.
 */
#include "bare.S"

    .global vectors
    .equ GIC_CPU,   0xF8F00100
    .equ GIC,       0xF8F01000
    .equ SOFTWARE_INTERRUPT, GIC + 0xF00
    .equ TO_MYSELF, 2 << 24

    .balign 32
vectors:
    b .
    b .
    ldr pc, =trap_entry         /* supervisor call */
    b .
    b .
    b .
    ldr pc, =interrupt_entry
    b .
    .ltorg

function _start
    cps #0x12
    ldr sp, =interrupt_stack
    cps #0x13
    ldr sp, =stack
    ldr r0, =vectors
    mcr p15, 0, r0, c12, c0, 0
    ldr r0, =GIC
    mov r1, #1
    str r1, [r0]
    ldr r0, =GIC_CPU
    mov r2, #0xF0
    str r2, [r0, #4]
    str r1, [r0]
    cpsie i
    bl board_measure_start
    bl outer
    bl board_measure_stop
    reset
end _start

function outer                  /* 17, and 2 for each call taken of a loop of three */
    push {r4, lr}
    bl plain
    ldr r0, =indirect
    blx r0
    bl gives_way
    cmp r0, #0                  /* 0, by `last` */
    blne plain                  /* not taken */
    mov r0, #3
    bl recurse
    mov r0, #2
    bl switch
    bl thumb_outer
    svc #0
    bl interrupted
    bl receiving
    pop {r4, pc}                /* 16 in all */
end outer

function plain                  /* 2 */
    nop
    bx lr
end plain

function indirect               /* 1 */
    mov pc, lr
end indirect

function gives_way              /* 2, then another's frame in its place */
    nop
    b last
end gives_way

function last                   /* 2 */
    mov r0, #0
    bx lr
end last

function recurse                /* 5 and, innermost, 3 */
    push {r4, lr}
    subs r0, r0, #1
    popeq {r4, pc}
    bl recurse
    pop {r4, pc}
end recurse

function switch                 /* 3: jumps within itself through a table */
    ldr pc, [pc, r0, lsl #2]
    nop
    .word 1f, 1f, 2f
1:  nop
2:  nop
    bx lr
end switch

function trap_entry             /* 3 */
    push {lr}
    bl plain
    ldm sp!, {pc}^
end trap_entry

function interrupted            /* 14, wherever it is interrupted */
    ldr r0, =SOFTWARE_INTERRUPT
    ldr r1, =TO_MYSELF
    push {lr}
    str r1, [r0]
    bl plain
    bl plain
    bl plain
    nop
    nop
    nop
    nop
    nop
    nop
    pop {pc}
    .ltorg
end interrupted

function interrupt_entry        /* 8 */
    sub lr, lr, #4
    push {r0-r3, r12, lr}
    ldr r0, =GIC_CPU
    ldr r1, [r0, #0xC]
    str r1, [r0, #0x10]
    bl handler
    nop
    ldm sp!, {r0-r3, r12, pc}^
    .ltorg
end interrupt_entry

function handler                /* 1 */
    bx lr
end handler

function receiving              /* 4 */
    push {lr}
    bl plain
    bl sending
    pop {pc}
end receiving

function sending                /* 2: gives way, and what follows is still its work */
    nop
    b plain
end sending

    .thumb
function thumb_outer            /* 6 */
    push {r4, lr}
    bl thumb_inner
    ldr r3, =plain
    blx r3
    nop
    pop {r4, pc}
    .ltorg
end thumb_outer

function thumb_inner            /* 1 */
    bx lr
end thumb_inner

    .data
    .align 3
    .space 1024
stack:
    .space 256
interrupt_stack:
    .word 0
