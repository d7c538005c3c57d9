/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * From the first instruction to main(): vectors, a stack per mode, empty caches,
 * memory map, alignment trapping.
 *
 * The processor stays in supervisor mode with interrupts masked for good: an
 * interrupt's only job is to end a WFI, which it does masked as well. Sampling is the
 * exception: its interrupt alone is taken, wherever the program is. Memory
 * contents and clocks are as the boot loader (or the emulator) left them.
 */
#include <plumb_config.h>

/* Alignment trapping, of the control register, where the build keeps from what traps. */
#ifdef CONFIG_PLUMB_ALIGNMENT_UNALIGNED
    .equ TRAPPING, 0
#else
    .equ TRAPPING, 1 << 1
#endif

    .syntax unified
    .arm

    .equ MODE_ABORT,      0x17
    .equ MODE_UNDEFINED,  0x1b
    .equ MODE_INTERRUPT,  0x12
    .equ MODE_SUPERVISOR, 0x13

    .section .vectors, "ax"
    .balign 32
    .global vectors
vectors:
    ldr pc, =_start             /* reset */
    ldr pc, =undefined_entry
    ldr pc, =unexpected_entry   /* supervisor call */
    ldr pc, =prefetch_entry
#ifdef CONFIG_PLUMB_ZYNQ_EMULATE_MISALIGNED
    ldr pc, =trap_entry
#else
    ldr pc, =abort_entry
#endif
    ldr pc, =unexpected_entry   /* unused */
#ifdef CONFIG_PLUMB_SAMPLING
    ldr pc, =interrupt_entry
#else
    ldr pc, =unexpected_entry   /* interrupt: masked */
#endif
    ldr pc, =unexpected_entry   /* fast interrupt: masked */
    .ltorg

    .section .text.start, "ax"
    .global _start
    .type _start, %function
_start:
    cpsid aif, #MODE_ABORT
    ldr sp, =abort_stack_top
    cps #MODE_UNDEFINED
    ldr sp, =undefined_stack_top
#ifdef CONFIG_PLUMB_SAMPLING
    cps #MODE_INTERRUPT
    ldr sp, =interrupt_stack_top
#endif
    cps #MODE_SUPERVISOR
    ldr sp, =stack_top

    /* Off with MMU, trapping and caches, whatever a loader left, before they are emptied. */
    mrc p15, 0, r0, c1, c0, 0
    ldr r1, =(1 << 12 | 1 << 11 | 1 << 2 | 1 << 1 | 1 << 0)
    bic r0, r0, r1
    mcr p15, 0, r0, c1, c0, 0
    isb
    bl disable_second_level_cache
    mov r0, #0
    mcr p15, 0, r0, c7, c5, 0   /* instruction cache */
    mcr p15, 0, r0, c7, c5, 6   /* branch predictor */
    mcr p15, 0, r0, c8, c7, 0   /* TLBs */
    bl invalidate_data_cache
    dsb
    isb

    ldr r0, =vectors
    mcr p15, 0, r0, c12, c0, 0

    ldr r0, =bss_start
    ldr r1, =bss_end
    mov r2, #0
    mov r3, #0
1:  cmp r0, r1
    strdlo r2, r3, [r0], #8
    blo 1b

    bl mmu_make_table           /* returns its address */
    mcr p15, 0, r0, c2, c0, 0   /* TTBR0: the walk itself is not cached */
    mov r0, #0
    mcr p15, 0, r0, c2, c0, 2   /* TTBCR */
    mov r0, #1
    mcr p15, 0, r0, c3, c0, 0   /* domain 0: as the sections say */
    dsb
    isb

    /* MMU, alignment trapping, data cache, branch predictor, instruction cache. */
    mrc p15, 0, r0, c1, c0, 0
    ldr r1, =(1 << 12 | 1 << 11 | 1 << 2 | TRAPPING | 1 << 0)
    orr r0, r0, r1
    mcr p15, 0, r0, c1, c0, 0
    isb
    cpsie a

    ldr r4, =init_array_start
    ldr r5, =init_array_end
2:  cmp r4, r5
    bhs 3f
    ldr r0, [r4], #4
    blx r0
    b 2b
3:  bl main
4:  wfi
    b 4b
    .ltorg

/* The PL310: emptied into RAM and switched off, if a loader left it on. */
    .equ L2_CACHE,   0xF8F02000
    .equ L2_CONTROL, 0x100
    .equ L2_SYNC,    0x730
    .equ L2_CLEAN,   0x7FC      /* by way, and invalidate */
    .type disable_second_level_cache, %function
disable_second_level_cache:
    ldr r0, =L2_CACHE
    ldr r1, [r0, #L2_CONTROL]
    tst r1, #1
    bxeq lr
    mov r1, #0xFF               /* 8 ways */
    str r1, [r0, #L2_CLEAN]
    mov r3, #(1 << 20)          /* some milliseconds: ten times what it takes */
1:  ldr r2, [r0, #L2_CLEAN]
    tst r2, r1
    subsne r3, r3, #1
    bne 1b
    mov r1, #0
    str r1, [r0, #L2_SYNC]
    str r1, [r0, #L2_CONTROL]
    bx lr
    .ltorg

/* The Cortex-A9's data cache: 4 ways of 256 sets of 32 bytes. */
    .type invalidate_data_cache, %function
invalidate_data_cache:
    mov r0, #0                  /* way, in bits 31 and 30 */
1:  mov r1, #0                  /* set, from bit 5 */
2:  orr r2, r0, r1
    mcr p15, 0, r2, c7, c6, 2
    add r1, r1, #32
    cmp r1, #(256 * 32)
    blo 2b
    adds r0, r0, #(1 << 30)
    bcc 1b
    bx lr

/*
 * Every exception: r0 to r12 saved, the interrupted supervisor mode's sp and lr
 * beside them, then exception_report(kind, frame). Only a data abort may come
 * back, with how far to skip.
 */
    .macro entry name, kind, back, mode
    .global \name
    .type \name, %function
\name:
    sub lr, lr, #\back          /* the instruction concerned */
    push {r0-r12, lr}
    cps #MODE_SUPERVISOR
    mov r2, sp
    mov r3, lr
    cps #\mode
    push {r2, r3}
    mov r0, #\kind
    mov r1, sp
    mov r4, sp
    bic sp, sp, #7
    bl exception_report
    mov sp, r4
    add sp, sp, #8
    ldr r1, [sp, #52]
    add r1, r1, r0
    str r1, [sp, #52]
    ldm sp!, {r0-r12, pc}^
    .endm

    entry undefined_entry,  0, 4, MODE_UNDEFINED
    entry prefetch_entry,   1, 4, MODE_ABORT
    entry abort_entry,      2, 8, MODE_ABORT

#ifdef CONFIG_PLUMB_SAMPLING
    .type interrupt_entry, %function
interrupt_entry:
    sub lr, lr, #4              /* the instruction that comes next */
    push {r0-r3, r12, lr}
    mov r0, lr
    bl sampling_interrupt
    ldm sp!, {r0-r3, r12, pc}^
    .size interrupt_entry, . - interrupt_entry

    .section .bss.interrupt_stack, "aw", %nobits
    .balign 8
    .space 512
interrupt_stack_top:
    .section .text.start, "ax"
#endif

/* What cannot happen has no stack of its own; the kind says enough. */
    .type unexpected_entry, %function
unexpected_entry:
    cps #MODE_UNDEFINED
    b undefined_entry
