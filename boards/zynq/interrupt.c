/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The interrupt controller (GIC, PL390), set up so that the interface and the
 * alarm end a WFI. The processor keeps interrupts masked: a pending one wakes it,
 * none is ever taken, so there is no handler and nothing to acknowledge.
 */
#include "zynq.h"

enum {
    CPU_CONTROL = 0x00,
    CPU_PRIORITY_MASK = 0x04,
    DISTRIBUTOR_CONTROL = 0x000,
    DISTRIBUTOR_ENABLE = 0x100,
    DISTRIBUTOR_CLEAR_PENDING = 0x280,
    DISTRIBUTOR_PRIORITY = 0x400,
    DISTRIBUTOR_TARGET = 0x800,
    LOWEST_PRIORITY = 0xF0,
    MIDDLE_PRIORITY = 0xA0,
    FIRST_PROCESSOR = 1,
};

static void set_byte(uintptr_t base, unsigned id, uint32_t value) {
    *(volatile uint8_t *)(ZYNQ_GIC + base + id) = (uint8_t)value;
}

static void enable(unsigned id) {
    set_byte(DISTRIBUTOR_PRIORITY, id, MIDDLE_PRIORITY);
    set_byte(DISTRIBUTOR_TARGET, id, FIRST_PROCESSOR);
    zynq_write(ZYNQ_GIC + DISTRIBUTOR_ENABLE + id / 32 * 4, 1U << id % 32);
}

void interrupt_clear(unsigned id) {
    zynq_write(ZYNQ_GIC + DISTRIBUTOR_CLEAR_PENDING + id / 32 * 4, 1U << id % 32);
}

void interrupt_start(void) {
    enable(ZYNQ_GEM0_INTERRUPT);
    enable(ZYNQ_TIMER_INTERRUPT);
    zynq_write(ZYNQ_GIC + DISTRIBUTOR_CONTROL, 1);
    zynq_write(ZYNQ_GIC_CPU + CPU_PRIORITY_MASK, LOWEST_PRIORITY);
    zynq_write(ZYNQ_GIC_CPU + CPU_CONTROL, 1);
}
