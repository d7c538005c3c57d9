/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * An AArch64 processor's alignment checking: the A bit of the control register of the
 * exception level that runs (ARM DDI 0487, SCTLR_EL1 to SCTLR_EL3); and its M bit, as
 * memory that is not translated is of the kind that devices have, where a misaligned
 * access traps. Level 0 can read neither the register nor the level. What is compiled
 * for Linux is taken to run there, under a kernel that leaves checking off; a board that
 * has no kernel and is built by a compiler for Linux passes what it knows.
 */
#include "bytes/select.h"

#if defined(PL_BYTES_GENERIC) && defined(PL_MISALIGNED_AARCH64)
#include "bytes/processor.h"

#ifdef __linux__

enum plumb_misaligned pl_processor_misaligned(void) {
    return PLUMB_MISALIGNED_TAKEN;
}

#else
#include <stdint.h>

enum { TRANSLATED = 1 << 0, CHECKED = 1 << 1 };

static uint64_t read_control(void) {
    uint64_t level, control;

    __asm__ volatile("mrs %0, CurrentEL" : "=r"(level));
    switch (level >> 2 & 3) {
    case 1:
        __asm__ volatile("mrs %0, SCTLR_EL1" : "=r"(control));
        break;
    case 2:
        __asm__ volatile("mrs %0, SCTLR_EL2" : "=r"(control));
        break;
    default:
        __asm__ volatile("mrs %0, SCTLR_EL3" : "=r"(control));
    }
    return control;
}

enum plumb_misaligned pl_processor_misaligned(void) {
    uint64_t control = read_control();

    return control & TRANSLATED && !(control & CHECKED) ? PLUMB_MISALIGNED_TAKEN
                                                        : PLUMB_MISALIGNED_TRAPS;
}

#endif
#endif
