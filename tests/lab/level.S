/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * For AArch64's emulated virt machine with nothing else on it: alignment checking at
 * exception level LEVEL is on if there is CHECKING, or off; then what
 * pl_processor_misaligned() says is the status that the emulator ends with.
 */
#define REGISTER(level) JOIN(SCTLR_EL, level)
#define JOIN(a, b)      a##b

        .section .text.start, "ax"
        .global _start
_start:
        ldr     x0, =stack
        mov     sp, x0
        mrs     x0, REGISTER(LEVEL)
        bic     x0, x0, #2
#ifdef CHECKING
        orr     x0, x0, #2
#endif
        msr     REGISTER(LEVEL), x0
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
        .balign 8
ending: .xword  0x20026, 0              // the application has ended, and how
