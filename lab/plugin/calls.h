/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Who called whom: a stack beside the program's own, and a tree of all stacks seen.
 *
 * What holds:
 * - The processor's registers cannot be read, so a frame is known by the address it
 *   will return to. A return is looked for from the innermost frame outwards; one
 *   that is found nowhere is a jump.
 * - A function that is entered without a call takes the place of the one that it was
 *   entered from (a tail call), as it does on the program's stack.
 * - An interrupt begins a stack of its own below the root, any other exception a frame
 *   of what trapped. Either ends with the instruction that returns from it; what it
 *   interrupted goes on where it was, a call that was under way included.
 * - The current node's function is the one whose code is executed. So what a node
 *   executed itself is how far its function's counters moved while it was current.
 * - A node's kind of work is what its function was marked with, else that of the one
 *   that called or gave way to it: the innermost mark decides.
 */
#ifndef LAB_PLUGIN_CALLS_H
#define LAB_PLUGIN_CALLS_H

#include "qemu.h"

enum work { OTHER_WORK, RECEIVE, TRANSMIT, IDLE, WORKS };

struct call_node {
    unsigned parent; /* 0, the root, is its own */
    unsigned function;
    enum work work;
    unsigned child, sibling; /* 0: none */
    uint64_t instructions;   /* since calls_clear() */
    uint64_t more_registers;
};

extern enum work current_work;

/* Both arrays are by function and only ever grow. */
void calls_start(const uint64_t *instructions, const uint64_t *more_registers);

/* Where a processor begins on an exception. */
void calls_set_vectors(uint64_t address, uint64_t size);
void calls_mark(unsigned function, enum work work);

/* Watches an instruction; `begins` whenever the block, or in it a function, does. */
void calls_watch(struct qemu_plugin_insn *instruction, unsigned function, bool begins);

/* Sets all nodes to 0; brings them up to date. */
void calls_clear(void);
void calls_settle(void);

unsigned calls_count(void);
const struct call_node *calls_node(unsigned index);

#endif
