/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The memory map: flat, in sections of 1 MB (ARM DDI 0406, B3.5).
 *
 * What holds: RAM is cached (write-back, write-allocate) but for the section of
 * the descriptor rings; device space is Device memory; everything else, the
 * first megabyte included, is not mapped, so that a wild or null pointer traps.
 * The second-level cache (PL310) is switched off at start: it would need maintenance by
 * physical line as well, and what is measured here is the first level's cost.
 */
#include "zynq.h"

enum {
    SECTION = 2,
    BUFFERABLE = 1 << 2,
    CACHEABLE = 1 << 3,
    NEVER_EXECUTE = 1 << 4,
    FULL_ACCESS = 3 << 10,
    TYPE_1 = 1 << 12, /* TEX 001: normal memory */
};

static const uint32_t cached = SECTION | FULL_ACCESS | TYPE_1 | CACHEABLE | BUFFERABLE;
static const uint32_t uncached = SECTION | FULL_ACCESS | TYPE_1 | NEVER_EXECUTE;
static const uint32_t device = SECTION | FULL_ACCESS | BUFFERABLE | NEVER_EXECUTE;

static _Alignas(16384) uint32_t table[4096];

static void fill(uint32_t first, uint32_t last, uint32_t attributes) {
    for (uint32_t megabyte = first; megabyte <= last; megabyte++)
        table[megabyte] = megabyte << 20 | attributes;
}

uint32_t *mmu_make_table(void) {
    extern uint8_t uncached_start[];
    uint32_t rings = (uint32_t)(uintptr_t)uncached_start >> 20;

    fill(1, 127, cached);
    fill(rings, rings, uncached);
    fill(0xE00, 0xFFF, device);
    return table;
}
