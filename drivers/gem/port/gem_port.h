/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * How the Cadence GEM driver reaches its registers and orders its accesses: in
 * plain C11, for a processor of the device's byte order. A board whose fences do
 * not order device accesses, or a model of the device, has its own of this file.
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
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* What is read after is at least as new as what was read before. */
static inline void gem_read_barrier(void) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif
