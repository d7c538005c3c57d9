/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The data abort's entry where misaligned accesses are emulated: the interrupted
 * supervisor mode's r0 to r12, sp, lr and pc in order on the abort mode's stack, then
 * trap_emulate(registers, state), which returns when the run is to go on at that pc. An
 * emulated load may have changed any register but sp.
 */
#include <plumb_config.h>

#ifdef CONFIG_PLUMB_ZYNQ_EMULATE_MISALIGNED
    .syntax unified
    .arm

    .equ MODE_ABORT,      0x17
    .equ MODE_SUPERVISOR, 0x13
    .equ FRAME,           64    /* keeps the stack on 8 bytes */

    .text
    .global trap_entry
    .type trap_entry, %function
trap_entry:
    sub sp, sp, #FRAME
    stm sp, {r0-r12}
    sub lr, lr, #8              /* the instruction concerned */
    str lr, [sp, #60]
    mrs r1, spsr
    cps #MODE_SUPERVISOR
    mov r2, sp
    mov r3, lr
    cps #MODE_ABORT
    strd r2, r3, [sp, #52]
#ifdef CONFIG_PLUMB_SAMPLING
    cpsie i                     /* emulation takes time, which is to be seen */
#endif
    mov r0, sp
    bl trap_emulate
    ldr r0, [sp, #56]
    cps #MODE_SUPERVISOR
    mov lr, r0
    cps #MODE_ABORT
    ldr lr, [sp, #60]
    ldm sp, {r0-r12}
    add sp, sp, #FRAME
    movs pc, lr                 /* and the state as it was */
    .size trap_entry, . - trap_entry
#endif
