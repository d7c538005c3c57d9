/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What a plugin has to know of an ARM-state instruction, of which the emulator tells it the
 * word and the address and no register.
 *
 * Cache maintenance names its line in a register. A firmware that is to be modelled loads a
 * byte of that line behind each such instruction, by LDRBT, which no compiler emits: a
 * witness. To plugins it is no part of the program.
 */
#ifndef LAB_PLUGIN_ARM_H
#define LAB_PLUGIN_ARM_H

#include <stdbool.h>
#include <stdint.h>

static inline bool arm_is_witness(uint32_t word) {
    return (word & 0x0F700000u) == 0x04700000u;
}

/* Of the data cache's line that a register holds; to the point of coherency or unification. */
enum arm_maintenance { ARM_NO_MAINTENANCE = 0, ARM_CLEAN = 1, ARM_INVALIDATE = 2 };
unsigned arm_maintenance(uint32_t word);

/* Waits until what was written before has left: DSB, and DMB for stores alone. A DMB for both
 * orders accesses and leaves them in flight. */
bool arm_is_write_barrier(uint32_t word);

bool arm_is_multiplication(uint32_t word);

/* The registers, a bit each, that a load fills last, and those that an instruction reads. */
uint32_t arm_loaded(uint32_t word);
uint32_t arm_read(uint32_t word);

#endif
