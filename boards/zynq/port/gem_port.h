/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The Cadence GEM driver's view of this processor: registers in Device memory,
 * descriptors in normal memory that is not cached.
 */
#ifndef GEM_PORT_H
#define GEM_PORT_H

#include <stdint.h>

static inline uint32_t gem_port_read(uintptr_t address) {
    return *(const volatile uint32_t *)address;
}

static inline void gem_port_write(uintptr_t address, uint32_t value) {
    *(volatile uint32_t *)address = value;
}

/* What was written before is seen by the device before what is written after. */
static inline void gem_write_barrier(void) {
    __asm__ volatile("dmb st" ::: "memory");
}

/* What is read after is at least as new as what was read before. */
static inline void gem_read_barrier(void) {
    __asm__ volatile("dmb" ::: "memory");
}

#endif
