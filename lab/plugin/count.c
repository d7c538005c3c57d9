/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Counts what a board executes, function by function.
 *
 * The lab writes a map of the firmware's functions (see map.h) and passes its
 * name, with that of the output file: `-plugin libcount.so,map=FILE,out=FILE`.
 * The functions board_measure_start, board_measure_stop and board_idle have a
 * meaning: an interval lasts from each call of the first to the next call of
 * the second, and what runs between entry to and return from the third is idle.
 *
 * What holds:
 * - executed[i] is exact: one inline addition per instruction. An instruction
 *   whose condition fails was executed.
 * - Accesses are those of the guest's instructions: a load of n registers is n
 *   loads. One is misaligned if its address is no multiple of its size.
 * - A record is written, one JSON object a line, and flushed at the end of each
 *   interval, so that it can be read while the board still runs.
 * - One processor, one thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "qemu.h"

#define WIDTHS       5 /* 1, 2, 4, 8, 16 bytes */
#define CULPRITS_MAX 8

EXPORT int qemu_plugin_version = 1;

struct accesses {
    uint64_t count[2][WIDTHS]; /* loads, stores */
    uint64_t misaligned;
};

struct culprit {
    uint64_t pc;
    uint64_t address;
    unsigned size;
};

static unsigned measure_start, measure_stop, idle; /* indices; 0: there is none */
static bool is_arm, is_user_mode;
static unsigned mips_opcode_at; /* which byte of an instruction holds it */
static bool is_mips;
static FILE *out;

static uint64_t executed[MAP_FUNCTIONS_MAX];
static struct accesses accesses[MAP_FUNCTIONS_MAX];

static uint64_t executed_at_start[MAP_FUNCTIONS_MAX];
static uint64_t executed_at_idle[MAP_FUNCTIONS_MAX];
static uint64_t executed_idle[MAP_FUNCTIONS_MAX];
static struct culprit culprits[CULPRITS_MAX];
static unsigned culprit_count;
static unsigned interval;
static bool is_measuring;
static bool is_idle;

/* ---- idle ---- */

static void note_idle_begins(unsigned cpu, void *data) {
    (void)cpu;
    (void)data;
    if (is_measuring && !is_idle) {
        memcpy(executed_at_idle, executed, map_function_count * sizeof executed[0]);
        is_idle = true;
    }
}

static void note_idle_ends(unsigned cpu, void *data) {
    (void)cpu;
    (void)data;
    if (!is_idle) {
        return;
    }
    for (unsigned i = 0; i < map_function_count; i++) {
        executed_idle[i] += executed[i] - executed_at_idle[i];
    }
    is_idle = false;
}

static bool leaves_on_arm(uint32_t word, uint64_t address, const struct map_function *function) {
    if ((word & 0x0F000000u) == 0x0A000000u) {
        int64_t offset = (int64_t)((int32_t)(word << 8) >> 6) + 8;
        return address + (uint64_t)offset - function->address >= function->size;
    }
    return (word & 0x0FFFFFF0u) == 0x012FFF10u || /* bx */
           (word & 0x0E108000u) == 0x08108000u || /* ldm {..., pc} */
           (word & 0x0C10F000u) == 0x0410F000u || /* ldr pc */
           (word & 0x0FFFFFFFu) == 0x01A0F00Eu;   /* mov pc, lr */
}

static bool leaves_on_x86(const uint8_t *code, size_t size, uint64_t address,
                          const struct map_function *function) {
    if (code[0] == 0xE9 && size == 5) {
        int32_t offset;
        memcpy(&offset, code + 1, sizeof offset);
        return address + 5 + (uint64_t)(int64_t)offset - function->address >= function->size;
    }
    return code[0] == 0xC3 || code[0] == 0xC2 ||
           (code[0] == 0xF3 && size == 2 && code[1] == 0xC3) ||
           (code[0] == 0xFF && size > 1 && (code[1] & 0x38) == 0x20);
}

/* Whether the instruction may return from, or jump out of, its function. When
 * its condition fails the next block of the function says so. */
static bool leaves(const struct qemu_plugin_insn *instruction, uint64_t address,
                   const struct map_function *function) {
    const uint8_t *code = qemu_plugin_insn_data(instruction);
    if (is_arm) {
        uint32_t word;
        memcpy(&word, code, sizeof word);
        return leaves_on_arm(word, address, function);
    }
    return leaves_on_x86(code, qemu_plugin_insn_size(instruction), address, function);
}

/* ---- intervals ---- */

static void begin_interval(unsigned cpu, void *data) {
    (void)cpu;
    (void)data;
    memcpy(executed_at_start, executed, map_function_count * sizeof executed[0]);
    memset(executed_idle, 0, map_function_count * sizeof executed_idle[0]);
    memset(accesses, 0, map_function_count * sizeof accesses[0]);
    culprit_count = 0;
    is_idle = false;
    is_measuring = true;
}

static void write_widths(const char *name, const uint64_t count[WIDTHS]) {
    fprintf(out, ",\"%s\":{", name);
    const char *separator = "";
    for (unsigned i = 0; i < WIDTHS; i++) {
        if (count[i] != 0) {
            fprintf(out, "%s\"%u\":%" PRIu64, separator, 1u << i, count[i]);
            separator = ",";
        }
    }
    fputc('}', out);
}

static void write_functions(void) {
    const char *separator = "";
    fputs(",\"functions\":[", out);
    for (unsigned i = 0; i < map_function_count; i++) {
        uint64_t count = executed[i] - executed_at_start[i];
        if (count == 0) {
            continue;
        }
        fprintf(out, "%s{\"name\":\"%s\",\"instructions\":%" PRIu64 ",\"idle\":%" PRIu64, separator,
                map_functions[i].name, count - executed_idle[i], executed_idle[i]);
        write_widths("loads", accesses[i].count[0]);
        write_widths("stores", accesses[i].count[1]);
        fprintf(out, ",\"misaligned\":%" PRIu64 "}", accesses[i].misaligned);
        separator = ",";
    }
    fputc(']', out);
}

static void write_culprits(void) {
    fputs(",\"culprits\":[", out);
    for (unsigned i = 0; i < culprit_count; i++) {
        fprintf(out, "%s{\"pc\":%" PRIu64 ",\"address\":%" PRIu64 ",\"size\":%u}", i ? "," : "",
                culprits[i].pc, culprits[i].address, culprits[i].size);
    }
    fputc(']', out);
}

static void end_interval(unsigned cpu, void *data) {
    (void)data;
    if (!is_measuring) {
        return;
    }
    note_idle_ends(cpu, NULL);
    is_measuring = false;
    uint64_t busy = 0, idled = 0, misaligned = 0;
    for (unsigned i = 0; i < map_function_count; i++) {
        idled += executed_idle[i];
        busy += executed[i] - executed_at_start[i] - executed_idle[i];
        misaligned += accesses[i].misaligned;
    }
    fprintf(out,
            "{\"interval\":%u,\"instructions\":%" PRIu64 ",\"idle_instructions\":%" PRIu64
            ",\"misaligned_accesses\":%" PRIu64,
            interval++, busy, idled, misaligned);
    write_culprits();
    write_functions();
    fputs("}\n", out);
    fflush(out);
}

/* ---- accesses ---- */

static void note_misaligned(unsigned function, uint64_t pc, uint64_t address, unsigned size) {
    accesses[function].misaligned++;
    for (unsigned i = 0; i < culprit_count; i++) {
        if (culprits[i].pc == pc) {
            return;
        }
    }
    if (culprit_count < CULPRITS_MAX) {
        culprits[culprit_count++] = (struct culprit){pc, address, size};
    }
}

/* `data` is the function's index in the upper half, the offset of the
 * instruction in it in the lower. */
static void note_access(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data) {
    (void)cpu;
    if (!is_measuring) {
        return;
    }
    unsigned function = (unsigned)((uintptr_t)data >> 32);
    unsigned shift = qemu_plugin_mem_size_shift(info);
    if (!is_idle) {
        accesses[function].count[qemu_plugin_mem_is_store(info)][shift < WIDTHS ? shift : 0]++;
    }
    /* Code outside the map is not the firmware's: a host's C library is free to
     * load as its processor allows. */
    if ((address & ((1u << shift) - 1)) != 0 && function != 0) {
        uint64_t pc = map_functions[function].address + (uint32_t)(uintptr_t)data;
        note_misaligned(function, pc, address, 1u << shift);
    }
}

/* Of an instruction that loads a part of a word. The emulator loads one byte before, so
 * as to fault at the address itself; that is no access of the guest's. */
static void note_access_but_probe(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address,
                                  void *data) {
    if (qemu_plugin_mem_size_shift(info) != 0) {
        note_access(cpu, info, address, data);
    }
}

static bool is_load_of_part(const struct qemu_plugin_insn *instruction) {
    enum { LWL = 0x22, LWR = 0x26 };
    if (!is_mips) {
        return false;
    }
    const uint8_t *code = qemu_plugin_insn_data(instruction);
    unsigned opcode = code[mips_opcode_at] >> 2;
    return opcode == LWL || opcode == LWR;
}

/* ---- translation ---- */

static void watch(struct qemu_plugin_insn *instruction, bool is_first_of_block) {
    uint64_t address = qemu_plugin_insn_vaddr(instruction) - map_displacement(is_user_mode);
    unsigned index = map_function_at(address);
    const struct map_function *function = &map_functions[index];
    uint64_t offset = index != 0 ? address - function->address : 0;

    qemu_plugin_register_vcpu_insn_exec_inline(instruction, INLINE_ADD_U64, &executed[index], 1);
    qemu_plugin_register_vcpu_mem_cb(
        instruction, is_load_of_part(instruction) ? note_access_but_probe : note_access,
        CALLBACK_READS_NO_REGISTERS, MEMORY_READ_WRITE,
        (void *)(uintptr_t)((uint64_t)index << 32 | offset));
    if (index == 0) {
        return;
    }
    on_execute callback = NULL;
    if (index == measure_start && offset == 0) {
        callback = begin_interval;
    } else if (index == measure_stop && offset == 0) {
        callback = end_interval;
    } else if (index == idle && leaves(instruction, address, function)) {
        callback = note_idle_ends;
    } else if (index == idle && (is_first_of_block || offset == 0)) {
        callback = note_idle_begins;
    }
    if (callback != NULL) {
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, callback, CALLBACK_READS_NO_REGISTERS,
                                               NULL);
    }
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
    (void)id;
    size_t count = qemu_plugin_tb_n_insns(block);
    for (size_t i = 0; i < count; i++) {
        watch(qemu_plugin_tb_get_insn(block, i), i == 0);
    }
}

/* ---- start and end ---- */

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int count,
                               char **arguments) {
    const char *output = map_argument(count, arguments, "out");
    is_arm = strcmp(info->target_name, "arm") == 0;
    is_mips = strncmp(info->target_name, "mips", 4) == 0;
    mips_opcode_at = strcmp(info->target_name, "mipsel") == 0 ? 3 : 0;
    is_user_mode = !info->system_emulation;
    if (output == NULL || !map_read(map_argument(count, arguments, "map"), NULL) ||
        (out = fopen(output, "a")) == NULL) {
        fprintf(stderr, "count: needs map=FILE (readable, sorted) and out=FILE (writable)\n");
        return 1;
    }
    measure_start = map_function_named("board_measure_start");
    measure_stop = map_function_named("board_measure_stop");
    idle = map_function_named("board_idle");
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    return 0;
}
