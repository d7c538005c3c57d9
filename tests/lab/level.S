/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * For AArch64's emulated virt machine with nothing else on it: at exception level LEVEL
 * alignment checking is on if there is CHECKING, or off, and addresses are translated,
 * each to itself, unless there is UNTRANSLATED; then what pl_processor_misaligned()
 * says is the status that the emulator ends with.
 */
#define REGISTER(name)      JOIN(name, LEVEL)
#define JOIN(name, level)   JOINED(name, level)
#define JOINED(name, level) name##_EL##level

#define TRANSLATION (25 | 1 << 23 | 1 << 31) /* 39 bits, and what has to be set */
#define MEMORY      0xff                /* normal memory, cached */

        .section .text.start, "ax"
        .global _start
_start:
        ldr     x0, =stack
        mov     sp, x0
        ldr     x0, =table
        msr     REGISTER(TTBR0), x0
        ldr     x0, =TRANSLATION
        msr     REGISTER(TCR), x0
        mov     x0, #MEMORY
        msr     REGISTER(MAIR), x0
        isb
        mrs     x0, REGISTER(SCTLR)
        bic     x0, x0, #3
#ifdef CHECKING
        orr     x0, x0, #2
#endif
#ifndef UNTRANSLATED
        orr     x0, x0, #1
#endif
        msr     REGISTER(SCTLR), x0
        isb
        bl      pl_processor_misaligned
        ldr     x1, =ending
        str     x0, [x1, #8]
        mov     w0, #0x18               // SYS_EXIT of semihosting
        hlt     #0xf000
        .ltorg

        .bss
        .balign 16
        .skip   1024
stack:
        .data
        .balign 4096
table:  .xword  0, 0x40000000 | 1 << 10 | 3 << 8 | 1 /* the second GiB, as it is */
        .fill   510, 8, 0
ending: .xword  0x20026, 0              // the application has ended, and how
