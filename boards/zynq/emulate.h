/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What a load or a store in ARM state means whose address is misaligned.
 */
#ifndef ZYNQ_EMULATE_H
#define ZYNQ_EMULATE_H

#include <stdbool.h>
#include <stdint.h>

enum { EMULATE_SP = 13, EMULATE_LR = 14, EMULATE_PC = 15, EMULATE_REGISTERS = 16 };

/* Does what `instruction` would have done where misaligned words are taken; `r` are r0 to
 * r12, sp, lr and pc as it found them. Its condition was true, or it would not have trapped.
 * False, and nothing has changed: it is none of those that are emulated. These are LDR, STR,
 * LDRH, LDRSH, STRH, LDRD, STRD, LDM and STM in every form that a compiler makes; not those
 * with a user's rights, exclusive ones, what loads sp or pc or changes sp, or what the
 * architecture leaves open. Neither pc nor the flags change. */
bool emulate(uint32_t r[EMULATE_REGISTERS], uint32_t instruction);

#endif
