/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What an instruction is, as far as counting asks: how it leaves its function, and
 * how many registers it moves. Knows ARM and Thumb, and the calls of x86-64.
 */
#ifndef LAB_PLUGIN_DECODE_H
#define LAB_PLUGIN_DECODE_H

#include "qemu.h"

/* Chosen once, by the emulator's name for the processor; false: it is another one. */
bool decode_start(const char *target);

enum decode_leaving {
    STAYS,             /* or jumps: only where it arrives tells */
    CALLS,             /* the return address is that of the next instruction */
    RETURNS,           /* or jumps to where a register or a table says */
    RETURNS_EXCEPTION, /* restores the state of what was interrupted */
};

/* A condition may keep it from doing so. */
enum decode_leaving decode_leaving(const struct qemu_plugin_insn *instruction, bool is_thumb);

/* Of a load or store of several registers (LDM, STM, PUSH, POP, LDRD, STRD), how
 * many; of anything else, and on x86-64, 1. */
unsigned decode_registers(const struct qemu_plugin_insn *instruction, bool is_thumb);

/* Tells another plugin something, and is no part of the program (see arm.h). */
bool decode_witness(const struct qemu_plugin_insn *instruction, bool is_thumb);

#endif
