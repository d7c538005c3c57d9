/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode.h"
#include "map.h"

/* A callback's data: an address, and a small number above it. */
#define ADDRESS_BITS 48
#define ADDRESS_MASK (((uint64_t)1 << ADDRESS_BITS) - 1)

/* Of ARM's vectors the last two are those of interrupts. */
#define INTERRUPT_VECTOR 0x18

struct pending {
    enum decode_leaving leaving;
    uint64_t next; /* the address of the next instruction */
};

struct frame {
    unsigned node;
    bool is_exception;
    uint64_t returns_to;
    struct pending interrupted; /* of an exception */
};

enum work current_work;

static const uint64_t *executed, *moved;
static uint64_t vectors, vectors_size;
static uint8_t mark_of[MAP_FUNCTIONS_MAX]; /* 0: none, else enum work + 1 */

static struct call_node *nodes;
static unsigned node_count, node_room;
static struct frame *frames;
static unsigned depth, frame_room; /* frames[depth] is the current one */

static struct pending pending;
static unsigned current, current_function;
static uint64_t executed_before, moved_before;

static void *grown(void *memory, unsigned *room, size_t size) {
    *room = *room ? *room * 2 : 1024;
    memory = realloc(memory, *room * size);
    if (memory == NULL) {
        fputs("count: no memory for call stacks\n", stderr);
        abort();
    }
    return memory;
}

/* ---- the tree ---- */

static unsigned child_of(unsigned parent, unsigned function, enum work inherited) {
    enum work work = mark_of[function] ? (enum work)(mark_of[function] - 1) : inherited;
    for (unsigned i = nodes[parent].child; i != 0; i = nodes[i].sibling)
        if (nodes[i].function == function && nodes[i].work == work)
            return i;
    if (node_count == node_room)
        nodes = grown(nodes, &node_room, sizeof *nodes);
    nodes[node_count] = (struct call_node){
        .parent = parent, .function = function, .work = work, .sibling = nodes[parent].child};
    return nodes[parent].child = node_count++;
}

static void settle(void) {
    nodes[current].instructions += executed[current_function] - executed_before;
    nodes[current].more_registers += moved[current_function] - moved_before;
    executed_before = executed[current_function];
    moved_before = moved[current_function];
}

static void make_current(unsigned node) {
    settle();
    current = frames[depth].node = node;
    current_function = nodes[node].function;
    current_work = nodes[node].work;
    executed_before = executed[current_function];
    moved_before = moved[current_function];
}

/* ---- the stack ---- */

static void push(unsigned node, uint64_t returns_to, bool is_exception) {
    if (++depth == frame_room)
        frames = grown(frames, &frame_room, sizeof *frames);
    frames[depth] = (struct frame){.returns_to = returns_to, .is_exception = is_exception};
    make_current(node);
}

static void pop_to(unsigned below) {
    depth = below;
    make_current(frames[depth].node);
}

/* Whether it was a return to a frame's caller; never out of an exception. */
static bool pop_returned(uint64_t address) {
    for (unsigned i = depth; i != 0 && !frames[i].is_exception; i--) {
        if (frames[i].returns_to == address) {
            pop_to(i - 1);
            return true;
        }
    }
    return false;
}

static void pop_exception(void) {
    for (unsigned i = depth; i != 0; i--) {
        if (frames[i].is_exception) {
            struct pending interrupted = frames[i].interrupted;
            pop_to(i - 1);
            pending = interrupted;
            return;
        }
    }
}

/* An interrupt is nobody's work; what else traps does so on behalf of what trapped. */
static void enter_exception(unsigned function, bool is_interrupt) {
    struct pending interrupted = pending;
    unsigned parent = is_interrupt ? 0 : current;
    pending.leaving = STAYS;
    push(child_of(parent, function, nodes[parent].work), 0, true);
    frames[depth].interrupted = interrupted;
}

/* ---- what the program does ---- */

/* Where code arrives tells what the last instruction that might leave has done. */
static void arrive(unsigned function, uint64_t address) {
    if (pending.leaving == RETURNS_EXCEPTION && address != pending.next) {
        pending.leaving = STAYS;
        pop_exception(); /* what it interrupted may have been about to leave */
    }
    struct pending last = pending;
    pending.leaving = STAYS;
    if (last.leaving == CALLS && address != last.next) {
        push(child_of(current, function, nodes[current].work), last.next, false);
        return;
    }
    if (last.leaving == RETURNS && address != last.next && pop_returned(address) &&
        current_function == function)
        return;
    if (function != current_function)
        make_current(child_of(nodes[current].parent, function, nodes[current].work));
}

static void note_arrival(unsigned cpu, void *data) {
    uint64_t address = (uintptr_t)data & ADDRESS_MASK;
    unsigned function = (unsigned)((uintptr_t)data >> ADDRESS_BITS);
    (void)cpu;
    if (address - vectors < vectors_size)
        enter_exception(function, address - vectors >= INTERRUPT_VECTOR);
    else if (pending.leaving != STAYS || function != current_function)
        arrive(function, address);
}

static void note_leaving(unsigned cpu, void *data) {
    (void)cpu;
    pending.next = (uintptr_t)data & ADDRESS_MASK;
    pending.leaving = (enum decode_leaving)((uintptr_t)data >> ADDRESS_BITS);
}

static void *packed(uint64_t number, uint64_t address) {
    return (void *)(uintptr_t)(number << ADDRESS_BITS | (address & ADDRESS_MASK));
}

void calls_watch(struct qemu_plugin_insn *instruction, unsigned function, bool begins) {
    uint64_t address = qemu_plugin_insn_vaddr(instruction);
    enum decode_leaving leaving = decode_leaving(instruction, map_functions[function].is_thumb);
    if (begins)
        qemu_plugin_register_vcpu_insn_exec_cb(
            instruction, note_arrival, CALLBACK_READS_NO_REGISTERS, packed(function, address));
    if (leaving != STAYS)
        qemu_plugin_register_vcpu_insn_exec_cb(
            instruction, note_leaving, CALLBACK_READS_NO_REGISTERS,
            packed(leaving, address + qemu_plugin_insn_size(instruction)));
}

/* ---- start, and reading ---- */

void calls_start(const uint64_t *instructions, const uint64_t *more_registers) {
    executed = instructions;
    moved = more_registers;
    nodes = grown(nodes, &node_room, sizeof *nodes);
    frames = grown(frames, &frame_room, sizeof *frames);
    nodes[0] = (struct call_node){0};
    frames[0] = (struct frame){0};
    node_count = 1;
}

void calls_set_vectors(uint64_t address, uint64_t size) {
    vectors = address;
    vectors_size = size;
}

void calls_mark(unsigned function, enum work work) {
    mark_of[function] = (uint8_t)(work + 1);
}

void calls_clear(void) {
    settle();
    for (unsigned i = 0; i < node_count; i++)
        nodes[i].instructions = nodes[i].more_registers = 0;
}

void calls_settle(void) {
    settle();
}

unsigned calls_count(void) {
    return node_count;
}

const struct call_node *calls_node(unsigned index) {
    return &nodes[index];
}
