/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * An ARM processor's alignment checking (ARM DDI 0406, A3.2.1).
 *
 * Before ARMv6, a misaligned load turns the word's bytes around and nothing tells of
 * it. ARMv6 has both behaviours, chosen by the control register's U bit, which ARMv7
 * reads as one. Whatever these say, memory has to be translated: until then it is of
 * the kind that devices have, where a misaligned access goes wrong. The registers are
 * the privileged modes'; a user's program cannot ask, and a hypervisor has others.
 */
#include "bytes/select.h"

#if defined(PL_BYTES_GENERIC) && defined(PL_MISALIGNED_ARM)
#include "bytes/processor.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    MODE = 0x1f,
    MODE_USER = 0x10,
    MODE_HYPERVISOR = 0x1a,
    ARCHITECTURE_SHIFT = 16, /* of the main identification */
    ARCHITECTURE_V6 = 7,     /* above: by features, ARMv7 and later */
    TRANSLATED = 1 << 0,     /* of the control register: M */
    CHECKED = 1 << 1,        /* A */
    UNALIGNED = 1 << 22,     /* U */
};

enum plumb_misaligned pl_processor_misaligned(void) {
    uint32_t status, identification, control;

    __asm__ volatile("mrs %0, cpsr" : "=r"(status));
    if ((status & MODE) == MODE_USER || (status & MODE) == MODE_HYPERVISOR)
        return PLUMB_MISALIGNED_UNKNOWN;
    __asm__ volatile("mrc p15, 0, %0, c0, c0, 0" : "=r"(identification));
    __asm__ volatile("mrc p15, 0, %0, c1, c0, 0" : "=r"(control));
    bool old = (identification >> ARCHITECTURE_SHIFT & 0xf) < ARCHITECTURE_V6;
    if (old || !(control & TRANSLATED) || (control & CHECKED) || !(control & UNALIGNED))
        return PLUMB_MISALIGNED_TRAPS;
    return PLUMB_MISALIGNED_TAKEN;
}

#endif
