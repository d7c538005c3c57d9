/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A generic image has to meet processors of both kinds. This one traps misaligned words
 * from the start (start.S); the boot parameters can make it one that takes them.
 */
#include "zynq.h"

enum { TRAPPING = 1 << 1 }; /* of the control register: A */

static void stop_trapping(void) {
    uint32_t control;

    __asm__ volatile("mrc p15, 0, %0, c1, c0, 0" : "=r"(control));
    control &= ~(uint32_t)TRAPPING;
    __asm__ volatile("mcr p15, 0, %0, c1, c0, 0\n\tisb" : : "r"(control) : "memory");
    exceptions_check_no_alignment();
}

void alignment_settle(void) {
    struct zynq_processor processor;

    parameters_read_processor(&processor);
    if (processor.misaligned)
        stop_trapping();
    board_use_routines(processor.routines);
}
