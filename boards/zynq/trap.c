/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The data abort of a build in which misaligned accesses are emulated: see trap.S.
 *
 * What holds: the run goes on only behind an access that was done in full. A fault in the
 * midst of one, at an address that is not mapped, is reported as its instruction's own.
 */
#include "zynq.h"

#ifdef CONFIG_PLUMB_ZYNQ_EMULATE_MISALIGNED
#include "emulate.h"

enum {
    THUMB = 1 << 5, /* of the interrupted state */
    STATUS_CAUSE = 0x40F,
    STATUS_ALIGNMENT = 1,
};

static uint32_t emulated, marked;
static const uint32_t *outer; /* the registers of an access that is being emulated */

static bool is_alignment(void) {
    uint32_t status;

    __asm__ volatile("mrc p15, 0, %0, c5, c0, 0" : "=r"(status));
    return (status & STATUS_CAUSE) == STATUS_ALIGNMENT;
}

void trap_emulate(uint32_t r[EMULATE_REGISTERS], uint32_t state) {
    if (outer || !is_alignment() || (state & THUMB))
        exceptions_report_data_abort(outer ? outer : r);
    outer = r;
    if (!emulate(r, *(const uint32_t *)(uintptr_t)r[EMULATE_PC]))
        exceptions_report_data_abort(r);
    outer = NULL;
    emulated++;
    r[EMULATE_PC] += 4;
}

uint32_t trap_emulated(void) {
    return emulated;
}

void trap_mark(void) {
    marked = emulated;
}

void trap_tell(void) {
    board_print("counter: %s.emulated_accesses=%u\n", BOARD_NAME, (unsigned)(emulated - marked));
}

#endif
