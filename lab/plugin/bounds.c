/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Watches what a program reads and writes, to the byte: guard pages cannot see a word
 * loaded whole of which only a part was asked for.
 *
 * `-plugin libbounds.so,map=FILE,out=FILE`, with the map of map.h. The
 * program tells by loads of single bytes, in functions known by name:
 *
 *     bounds_areas    the first and the last byte of one watched area, and of another
 *     bounds_begin    the same of what may be read and of what may be written, until
 *     bounds_end      is called; a byte outside the areas stands for nothing at all
 *
 * In between, an access that touches a watched area and is not wholly inside what is
 * allowed is written to the file, the first of them:
 *
 *     read|write SIZE OFFSET FUNCTION+OFFSET
 *
 * its first OFFSET counted from the start of what was allowed. What may be written may
 * be read. At the end comes `watched N`, how often watching began.
 *
 * MIPS's LWL and LWR take only some bytes of a word; the emulator loads all of it, and
 * tells no more, so that one which holds an allowed byte passes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "qemu.h"

#define TOLD_MAX 20

EXPORT int qemu_plugin_version = 1;

typedef void (*on_exit_of_all)(qemu_plugin_id_t id, void *data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, on_exit_of_all callback, void *data);

struct range {
    uint64_t first, last;
};

enum state { IDLE, MARKING_AREAS, MARKING_ALLOWED, WATCHING };

static FILE *out;

/* In an access's data, beside the address of its instruction. */
#define PART_OF_A_WORD ((uint64_t)1 << 63)

static bool is_mips, is_mips_big;
static enum state state;
static unsigned marks;
static struct range areas[2], allowed[2]; /* allowed: what is read, what is written */
static uint64_t watched;
static unsigned told;

static bool contains(const struct range *range, uint64_t address, unsigned size) {
    return address >= range->first && address + size - 1 <= range->last;
}

static bool touches(const struct range *range, uint64_t address, unsigned size) {
    return address + size - 1 >= range->first && address <= range->last;
}

static void tell(bool is_store, unsigned size, uint64_t address, uint64_t pc) {
    unsigned index = map_function_at(pc);
    const struct map_function *function = &map_functions[index];

    if (told++ < TOLD_MAX) {
        fprintf(out, "%s %u %" PRId64 " %s+%#" PRIx64 "\n", is_store ? "write" : "read", size,
                (int64_t)(address - allowed[is_store].first), index ? function->name : "?",
                pc - function->address);
        fflush(out);
    }
}

/* The byte loads of a marking function, in order. */
static void take_mark(uint64_t address) {
    struct range *ranges = state == MARKING_AREAS ? areas : allowed;

    if (marks & 1)
        ranges[marks / 2].last = address;
    else
        ranges[marks / 2].first = address;
    if (++marks < 4)
        return;
    marks = 0;
    watched += state == MARKING_ALLOWED;
    state = state == MARKING_ALLOWED ? WATCHING : IDLE;
}

static void note_access(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data) {
    unsigned size = 1u << qemu_plugin_mem_size_shift(info);
    bool is_store = qemu_plugin_mem_is_store(info);

    (void)cpu;
    if (state == IDLE)
        return;
    if (state != WATCHING) {
        if (size == 1 && !is_store)
            take_mark(address);
        return;
    }
    if (!touches(&areas[0], address, size) && !touches(&areas[1], address, size))
        return;
    if (contains(&allowed[1], address, size) || (!is_store && contains(&allowed[0], address, size)))
        return;
    if (((uintptr_t)data & PART_OF_A_WORD) != 0 &&
        (touches(&allowed[0], address, size) || touches(&allowed[1], address, size)))
        return;
    tell(is_store, size, address, (uintptr_t)data & ~PART_OF_A_WORD);
}

/* LWL, opcode 0x22, and LWR, 0x26. */
static bool loads_part_of_a_word(const struct qemu_plugin_insn *instruction) {
    const uint8_t *code = qemu_plugin_insn_data(instruction);

    return is_mips && (code[is_mips_big ? 0 : 3] >> 2 & ~4) == 0x22;
}

static void enter(unsigned cpu, void *data) {
    (void)cpu;
    state = (enum state)(uintptr_t)data;
    marks = 0;
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
    static const struct {
        const char *name;
        enum state state;
    } known[] = {
        {"bounds_areas", MARKING_AREAS}, {"bounds_begin", MARKING_ALLOWED}, {"bounds_end", IDLE}};

    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
        uint64_t pc = qemu_plugin_insn_vaddr(instruction);
        const struct map_function *function = &map_functions[map_function_at(pc)];
        for (unsigned k = 0; k < sizeof known / sizeof *known; k++)
            if (pc == function->address && strcmp(function->name, known[k].name) == 0)
                qemu_plugin_register_vcpu_insn_exec_cb(instruction, enter,
                                                       CALLBACK_READS_NO_REGISTERS,
                                                       (void *)(uintptr_t)known[k].state);
        pc |= loads_part_of_a_word(instruction) ? PART_OF_A_WORD : 0;
        qemu_plugin_register_vcpu_mem_cb(instruction, note_access, CALLBACK_READS_NO_REGISTERS,
                                         MEMORY_READ_WRITE, (void *)(uintptr_t)pc);
    }
}

static void end(qemu_plugin_id_t id, void *data) {
    (void)id;
    (void)data;
    fprintf(out, "watched %" PRIu64 "\n", watched);
    fclose(out);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int count,
                               char **arguments) {
    const char *output = map_argument(count, arguments, "out");

    is_mips_big = strcmp(info->target_name, "mips") == 0;
    is_mips = is_mips_big || strcmp(info->target_name, "mipsel") == 0;
    if (!map_read(map_argument(count, arguments, "map"), NULL) || output == NULL ||
        (out = fopen(output, "w")) == NULL) {
        fprintf(stderr, "bounds: needs map=FILE (readable) and out=FILE (writable)\n");
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    qemu_plugin_register_atexit_cb(id, end, NULL);
    return 0;
}
