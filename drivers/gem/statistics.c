/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The device's own counters. On silicon a read clears one; under QEMU it does
 * not. Which of the two was found when the device was probed, and differences
 * are added up accordingly.
 */
#include "internal.h"

/* In the order of struct plumb_gem_statistics. */
static const uint16_t registers[] = {0x108, 0x134, 0x140, 0x144, 0x158, 0x184,
                                     0x188, 0x190, 0x198, 0x19C, 0x1A0, 0x1A4};

enum { COUNT = sizeof registers / sizeof registers[0] };

_Static_assert(sizeof(struct plumb_gem_statistics) == COUNT * sizeof(uint32_t),
               "a register for each statistic");

void plumb_gem_statistics(struct plumb_gem *gem, struct plumb_gem_statistics *statistics) {
    uint32_t *out = &statistics->tx_frames;

    for (unsigned i = 0; i < COUNT; i++) {
        uint32_t raw = pl_gem_read(gem, registers[i]);
        gem->statistics[i] += raw - gem->statistics_raw[i];
        if (gem->statistics_stay)
            gem->statistics_raw[i] = raw;
        out[i] = gem->statistics[i];
    }
}
