/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Counts what a board executes: by function, by kind of work, by who called it.
 *
 * The lab writes a map of the firmware (see map.h) and passes its name, with that of
 * the output file: `-plugin libcount.so,map=FILE,out=FILE`. An interval lasts from
 * each call of the function board_measure_start to the next call of
 * board_measure_stop. Beside the functions the map may have lines of these forms,
 * numbers in hexadecimal:
 *
 *     work receive|transmit|idle ADDRESS  the kind of work of a function and of all that
 *                                         it calls; the innermost so marked decides
 *     vectors ADDRESS SIZE                where exceptions begin
 *     buffers ADDRESS SIZE STRIDE NAME    see buffers.h
 *     heap ADDRESS SIZE NAME
 *     copying ADDRESS                     a function that copies payload into a heap
 *
 * Calls are followed if any function is marked, or vectors are given (see calls.h);
 * otherwise all work is of one kind.
 *
 * What holds:
 * - What a function executed is exact: one inline addition per instruction. An
 *   instruction whose condition fails was executed.
 * - `by_register` is the same with each register of an instruction that moves several
 *   counted as one.
 * - Accesses are those of the guest's instructions: a load of n registers is n loads.
 *   One is misaligned if its address is no multiple of its size.
 * - A record is written, one JSON object a line, and flushed at the end of each
 *   interval, so that it can be read while the board still runs.
 * - One processor, one thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffers.h"
#include "calls.h"
#include "decode.h"
#include "map.h"
#include "qemu.h"

#define WIDTHS       5 /* 1, 2, 4, 8, 16 bytes */
#define CULPRITS_MAX 8

EXPORT int qemu_plugin_version = 1;

struct accesses {
    uint64_t count[2][WIDTHS]; /* loads, stores */
    uint64_t misaligned;
};

struct instructions {
    uint64_t count, by_register;
};

struct culprit {
    uint64_t pc;
    uint64_t address;
    unsigned size;
};

static const char *const work_names[WORKS] = {"other", "receive", "transmit", "idle"};

static unsigned measure_start, measure_stop; /* indices; 0: there is none */
static bool is_user_mode, follows_calls;
static bool is_copying[MAP_FUNCTIONS_MAX];
static uint64_t displacement;   /* known once there is code */
static unsigned mips_opcode_at; /* which byte of an instruction holds it */
static bool is_mips;
static FILE *out;

/* These only grow. */
static uint64_t executed[MAP_FUNCTIONS_MAX];
static uint64_t more_registers[MAP_FUNCTIONS_MAX];

/* These are of the interval. */
static uint64_t executed_at_start[MAP_FUNCTIONS_MAX];
static uint64_t more_at_start[MAP_FUNCTIONS_MAX];
static struct instructions instructions[MAP_FUNCTIONS_MAX][WORKS];
static struct accesses accesses[MAP_FUNCTIONS_MAX][WORKS];
static struct culprit culprits[CULPRITS_MAX];
static unsigned culprit_count;
static unsigned interval;
static bool is_measuring;

/* ---- intervals ---- */

static void begin_interval(unsigned cpu, void *data) {
    (void)cpu;
    (void)data;
    memcpy(executed_at_start, executed, sizeof executed);
    memcpy(more_at_start, more_registers, sizeof more_registers);
    memset(accesses, 0, map_function_count * sizeof accesses[0]);
    buffers_clear();
    if (follows_calls) {
        calls_clear();
    }
    culprit_count = 0;
    is_measuring = true;
}

static uint64_t executed_by(unsigned function) {
    return executed[function] - executed_at_start[function];
}

/* What each function executed, by kind of work. */
static void divide(void) {
    memset(instructions, 0, map_function_count * sizeof instructions[0]);
    if (!follows_calls) {
        for (unsigned i = 0; i < map_function_count; i++) {
            uint64_t count = executed_by(i);
            uint64_t more = more_registers[i] - more_at_start[i];
            instructions[i][OTHER_WORK] = (struct instructions){count, count + more};
        }
        return;
    }
    calls_settle();
    for (unsigned i = 0; i < calls_count(); i++) {
        const struct call_node *node = calls_node(i);
        struct instructions *sum = &instructions[node->function][node->work];
        sum->count += node->instructions;
        sum->by_register += node->instructions + node->more_registers;
    }
}

static uint64_t sum_of(unsigned function, bool is_idle) {
    uint64_t sum = 0;
    for (unsigned work = 0; work < WORKS; work++) {
        sum += (work == IDLE) == is_idle ? instructions[function][work].count : 0;
    }
    return sum;
}

/* ---- writing ---- */

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

static void write_amounts(const struct instructions *done, const struct accesses *touched) {
    fprintf(out, "\"instructions\":%" PRIu64 ",\"by_register\":%" PRIu64, done->count,
            done->by_register);
    write_widths("loads", touched->count[0]);
    write_widths("stores", touched->count[1]);
    fprintf(out, ",\"misaligned\":%" PRIu64, touched->misaligned);
}

static void add(struct accesses *sum, const struct accesses *more) {
    for (unsigned i = 0; i < WIDTHS; i++) {
        sum->count[0][i] += more->count[0][i];
        sum->count[1][i] += more->count[1][i];
    }
    sum->misaligned += more->misaligned;
}

/* All but idle work, then each kind. */
static void write_function(unsigned index) {
    struct instructions busy = {0};
    struct accesses touched = {0};
    for (unsigned work = 0; work < IDLE; work++) {
        busy.count += instructions[index][work].count;
        busy.by_register += instructions[index][work].by_register;
        add(&touched, &accesses[index][work]);
    }
    fprintf(out, "{\"name\":\"%s\",\"idle\":%" PRIu64 ",", map_functions[index].name,
            instructions[index][IDLE].count);
    write_amounts(&busy, &touched);
    fputs(",\"work\":{", out);
    const char *separator = "";
    for (unsigned work = 0; work < WORKS; work++) {
        if (instructions[index][work].count != 0) {
            fprintf(out, "%s\"%s\":{", separator, work_names[work]);
            write_amounts(&instructions[index][work], &accesses[index][work]);
            fputc('}', out);
            separator = ",";
        }
    }
    fputs("}}", out);
}

static void write_functions(void) {
    const char *separator = "";
    fputs(",\"functions\":[", out);
    for (unsigned i = 0; i < map_function_count; i++) {
        if (executed_by(i) != 0) {
            fputs(separator, out);
            write_function(i);
            separator = ",";
        }
    }
    fputc(']', out);
}

/* The tree, each node behind its parent: [PARENT, NAME, WORK, INSTRUCTIONS,
 * BY_REGISTER]; of the first the parent is itself. */
static void write_calls(void) {
    fputs(",\"calls\":[", out);
    for (unsigned i = 0; i < calls_count(); i++) {
        const struct call_node *node = calls_node(i);
        fprintf(out, "%s[%u,\"%s\",\"%s\",%" PRIu64 ",%" PRIu64 "]", i ? "," : "", node->parent,
                map_functions[node->function].name, work_names[node->work], node->instructions,
                node->instructions + node->more_registers);
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

static void write_totals(void) {
    uint64_t busy = 0, idle = 0, by_register = 0, misaligned = 0;
    for (unsigned i = 0; i < map_function_count; i++) {
        busy += sum_of(i, false);
        idle += sum_of(i, true);
        for (unsigned work = 0; work < WORKS; work++) {
            by_register += work != IDLE ? instructions[i][work].by_register : 0;
            misaligned += accesses[i][work].misaligned;
        }
    }
    fprintf(out,
            "{\"interval\":%u,\"instructions\":%" PRIu64 ",\"by_register\":%" PRIu64
            ",\"idle_instructions\":%" PRIu64 ",\"misaligned_accesses\":%" PRIu64,
            interval++, busy, by_register, idle, misaligned);
}

static void end_interval(unsigned cpu, void *data) {
    (void)cpu;
    (void)data;
    if (!is_measuring) {
        return;
    }
    is_measuring = false;
    divide();
    write_totals();
    write_culprits();
    write_functions();
    fputs(",\"buffers\":", out);
    buffers_write(out);
    if (follows_calls) {
        write_calls();
    }
    fputs("}\n", out);
    fflush(out);
}

/* ---- accesses ---- */

static void note_misaligned(unsigned function, uint64_t pc, uint64_t address, unsigned size) {
    accesses[function][current_work].misaligned++;
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
    bool is_store = qemu_plugin_mem_is_store(info);
    accesses[function][current_work].count[is_store][shift < WIDTHS ? shift : 0]++;
    buffers_note(address - displacement, 1u << shift, is_store, is_copying[function]);
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

static void watch_marks(struct qemu_plugin_insn *instruction, unsigned index) {
    on_execute callback = index == 0               ? NULL
                          : index == measure_start ? begin_interval
                          : index == measure_stop  ? end_interval
                                                   : NULL;
    if (callback != NULL) {
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, callback, CALLBACK_READS_NO_REGISTERS,
                                               NULL);
    }
}

static void watch(struct qemu_plugin_insn *instruction, unsigned index, uint64_t offset) {
    unsigned registers = decode_registers(instruction, map_functions[index].is_thumb);

    qemu_plugin_register_vcpu_insn_exec_inline(instruction, INLINE_ADD_U64, &executed[index], 1);
    if (registers > 1) {
        qemu_plugin_register_vcpu_insn_exec_inline(instruction, INLINE_ADD_U64,
                                                   &more_registers[index], registers - 1);
    }
    qemu_plugin_register_vcpu_mem_cb(
        instruction, is_load_of_part(instruction) ? note_access_but_probe : note_access,
        CALLBACK_READS_NO_REGISTERS, MEMORY_READ_WRITE,
        (void *)(uintptr_t)((uint64_t)index << 32 | offset));
    if (offset == 0) {
        watch_marks(instruction, index);
    }
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
    (void)id;
    size_t count = qemu_plugin_tb_n_insns(block);
    unsigned last = MAP_FUNCTIONS_MAX;
    displacement = map_displacement(is_user_mode);
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
        uint64_t address = qemu_plugin_insn_vaddr(instruction) - displacement;
        unsigned index = map_function_at(address);
        if (decode_witness(instruction, map_functions[index].is_thumb)) {
            continue;
        }
        if (follows_calls) {
            calls_watch(instruction, index, index != last);
        }
        watch(instruction, index, index != 0 ? address - map_functions[index].address : 0);
        last = index;
    }
}

/* ---- start ---- */

static bool take_work(const char *line) {
    uint64_t address;
    char name[16];
    if (sscanf(line, "work %15s %" SCNx64, name, &address) != 2) {
        return false;
    }
    for (unsigned work = 0; work < WORKS; work++) {
        unsigned function = map_function_at(address);
        if (function != 0 && strcmp(name, work_names[work]) == 0) {
            calls_mark(function, (enum work)work);
            return follows_calls = true;
        }
    }
    return false;
}

/* Behind the functions. */
static bool take_line(const char *line) {
    uint64_t address, size;
    if (sscanf(line, "vectors %" SCNx64 " %" SCNx64, &address, &size) == 2) {
        calls_set_vectors(address, size);
        return follows_calls = true;
    }
    if (sscanf(line, "copying %" SCNx64, &address) == 1) {
        return is_copying[map_function_at(address)] = true;
    }
    return take_work(line) || buffers_take_line(line);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int count,
                               char **arguments) {
    const char *output = map_argument(count, arguments, "out");
    is_mips = strncmp(info->target_name, "mips", 4) == 0;
    mips_opcode_at = strcmp(info->target_name, "mipsel") == 0 ? 3 : 0;
    is_user_mode = !info->system_emulation;
    if (output == NULL || !map_read(map_argument(count, arguments, "map"), take_line) ||
        (out = fopen(output, "a")) == NULL) {
        fprintf(stderr, "count: needs map=FILE (readable, sorted) and out=FILE (writable)\n");
        return 1;
    }
    if (!decode_start(info->target_name) && follows_calls) {
        fprintf(stderr, "count: cannot follow the calls of %s\n", info->target_name);
        return 1;
    }
    calls_start(executed, more_registers);
    measure_start = map_function_named("board_measure_start");
    measure_stop = map_function_named("board_measure_stop");
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    return 0;
}
