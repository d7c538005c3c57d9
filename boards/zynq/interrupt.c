/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The interrupt controller (GIC, PL390), set up so that the interface and the
 * alarm end a WFI. The processor keeps interrupts masked: a pending one wakes it,
 * none is ever taken, so there is no handler and nothing to acknowledge.
 *
 * With CONFIG_PLUMB_SAMPLING it is the controller's priority mask that keeps these
 * out, and the processor's own is open: the sampling timer alone has a priority above
 * it and comes through wherever the program is. The mask is lowered for a WFI only,
 * with the processor's closed meanwhile.
 */
#include "zynq.h"

enum {
    CPU_CONTROL = 0x00,
    CPU_PRIORITY_MASK = 0x04,
    CPU_ACKNOWLEDGE = 0x0C,
    CPU_END = 0x10,
    DISTRIBUTOR_CONTROL = 0x000,
    DISTRIBUTOR_ENABLE = 0x100,
    DISTRIBUTOR_PENDING = 0x200,
    DISTRIBUTOR_CLEAR_PENDING = 0x280,
    DISTRIBUTOR_PRIORITY = 0x400,
    DISTRIBUTOR_TARGET = 0x800,
    LOWEST_PRIORITY = 0xF0,
    MIDDLE_PRIORITY = 0xA0,
    SAMPLING_MASK = 0x40,
    SAMPLING_PRIORITY = 0x20,
    ID = 0x3FF,
    FIRST_PROCESSOR = 1,
};

static void set_byte(uintptr_t base, unsigned id, uint32_t value) {
    *(volatile uint8_t *)(ZYNQ_GIC + base + id) = (uint8_t)value;
}

static void enable(unsigned id, uint32_t priority) {
    set_byte(DISTRIBUTOR_PRIORITY, id, priority);
    set_byte(DISTRIBUTOR_TARGET, id, FIRST_PROCESSOR);
    zynq_write(ZYNQ_GIC + DISTRIBUTOR_ENABLE + id / 32 * 4, 1U << id % 32);
}

void interrupt_clear(unsigned id) {
    zynq_write(ZYNQ_GIC + DISTRIBUTOR_CLEAR_PENDING + id / 32 * 4, 1U << id % 32);
}

void interrupt_start(void) {
    enable(ZYNQ_GEM0_INTERRUPT, MIDDLE_PRIORITY);
    enable(ZYNQ_TIMER_INTERRUPT, MIDDLE_PRIORITY);
    zynq_write(ZYNQ_GIC + DISTRIBUTOR_CONTROL, 1);
    zynq_write(ZYNQ_GIC_CPU + CPU_PRIORITY_MASK, LOWEST_PRIORITY);
    zynq_write(ZYNQ_GIC_CPU + CPU_CONTROL, 1);
}

#ifdef CONFIG_PLUMB_SAMPLING

void interrupt_enable_sampling(void) {
    enable(ZYNQ_WATCHDOG_INTERRUPT, SAMPLING_PRIORITY);
    interrupt_let_through(false);
    __asm__ volatile("cpsie i" ::: "memory");
}

void interrupt_let_through(bool all) {
    zynq_write(ZYNQ_GIC_CPU + CPU_PRIORITY_MASK, all ? LOWEST_PRIORITY : SAMPLING_MASK);
    __asm__ volatile("dsb" ::: "memory");
}

static bool is_pending(unsigned id) {
    return zynq_read(ZYNQ_GIC + DISTRIBUTOR_PENDING + id / 32 * 4) >> id % 32 & 1;
}

bool interrupt_pending(void) {
    return is_pending(ZYNQ_GEM0_INTERRUPT) || is_pending(ZYNQ_TIMER_INTERRUPT);
}

uint32_t interrupt_take(void) {
    return zynq_read(ZYNQ_GIC_CPU + CPU_ACKNOWLEDGE) & ID;
}

void interrupt_end(uint32_t id) {
    zynq_write(ZYNQ_GIC_CPU + CPU_END, id);
}

#endif
