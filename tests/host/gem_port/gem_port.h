/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The Cadence GEM driver's registers, where the device is a model: gem_model.c. */
#ifndef GEM_PORT_H
#define GEM_PORT_H

#include <stdint.h>

uint32_t gem_port_read(uintptr_t address);
void gem_port_write(uintptr_t address, uint32_t value);

static inline void gem_write_barrier(void) {
}

static inline void gem_read_barrier(void) {
}

#endif
