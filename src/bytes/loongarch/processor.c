/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A LoongArch processor's word 1 of its configuration says whether it takes misaligned
 * accesses (LoongArch Reference Manual, volume 1, CPUCFG: UAL); every program may
 * read it.
 */
#include "bytes/select.h"

#if defined(PL_BYTES_GENERIC) && defined(PL_MISALIGNED_LOONGARCH)
#include "bytes/processor.h"

#include <stdint.h>

enum { WORD = 1, UNALIGNED = 1 << 20 };

enum plumb_misaligned pl_processor_misaligned(void) {
    uint32_t configuration;

    __asm__("cpucfg %0, %1" : "=r"(configuration) : "r"(WORD));
    return configuration & UNALIGNED ? PLUMB_MISALIGNED_TAKEN : PLUMB_MISALIGNED_TRAPS;
}

#endif
