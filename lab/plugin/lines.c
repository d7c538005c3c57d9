/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Counts what each instruction loads and stores, and how often misaligned.
 *
 * `-plugin liblines.so,map=FILE,out=FILE`, with the map of map.h. Counting goes from each
 * call of board_measure_start() to the next of board_measure_stop(); in a program that has
 * no such functions, from its start to its end. Each time a line is added to the file, a
 * JSON object by the address that an instruction was linked at:
 *
 *     {"INSTRUCTION": [[loads of 1, 2, 4, 8, 16 bytes], [stores], misaligned, ADDRESS], ...}
 *
 * ADDRESS is the last one that was misaligned. Only instructions of functions in the map
 * are in it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "qemu.h"

#define PLACES_MAX (1u << 17) /* a power of two, and more than a program has loads and stores */
#define WIDTHS     5

EXPORT int qemu_plugin_version = 1;

typedef void (*on_exit_of_all)(qemu_plugin_id_t id, void *data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, on_exit_of_all callback, void *data);

struct place {
    uint64_t pc; /* as it was linked; 0: the entry is free */
    uint64_t count[2][WIDTHS];
    uint64_t misaligned;
    uint64_t address;
    bool loads_part; /* of a word: MIPS's LWL and LWR, which the emulator precedes by a probe */
};

static struct place places[PLACES_MAX];
static struct place outside; /* for all code that is not in the map */
static unsigned place_count;
static unsigned measure_start, measure_stop; /* indices; 0: there is none */
static bool is_user_mode, is_mips, is_mips_big, is_measuring;
static FILE *out;

static struct place *place_at(uint64_t pc) {
    size_t index = (size_t)((pc >> 1) * 0x9E3779B97F4A7C15u >> 40) & (PLACES_MAX - 1);
    while (places[index].pc != 0 && places[index].pc != pc)
        index = (index + 1) & (PLACES_MAX - 1);
    if (places[index].pc == 0) {
        if (place_count == PLACES_MAX - 1) {
            fprintf(stderr, "lines: more than %u instructions\n", place_count);
            abort();
        }
        place_count++;
        places[index].pc = pc;
    }
    return &places[index];
}

/* ---- counting ---- */

static void note_access(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data) {
    struct place *place = data;
    unsigned shift = qemu_plugin_mem_size_shift(info);

    (void)cpu;
    if (!is_measuring || (place->loads_part && shift == 0))
        return;
    place->count[qemu_plugin_mem_is_store(info)][shift < WIDTHS ? shift : WIDTHS - 1]++;
    if ((address & ((1u << shift) - 1)) != 0) {
        place->misaligned++;
        place->address = address;
    }
}

static bool is_empty(const struct place *place) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < WIDTHS; i++)
        sum += place->count[0][i] + place->count[1][i];
    return sum == 0;
}

static void write_counts(const uint64_t count[WIDTHS]) {
    fprintf(out, "[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", count[0],
            count[1], count[2], count[3], count[4]);
}

static void write_all(void) {
    const char *separator = "";
    fputc('{', out);
    for (size_t i = 0; i < PLACES_MAX; i++) {
        const struct place *place = &places[i];
        if (place->pc == 0 || is_empty(place))
            continue;
        fprintf(out, "%s\"%" PRIu64 "\":[", separator, place->pc);
        write_counts(place->count[0]);
        fputc(',', out);
        write_counts(place->count[1]);
        fprintf(out, ",%" PRIu64 ",%" PRIu64 "]", place->misaligned, place->address);
        separator = ",";
    }
    fputs("}\n", out);
    fflush(out);
}

static void begin(unsigned cpu, void *data) {
    (void)cpu;
    (void)data;
    for (size_t i = 0; i < PLACES_MAX; i++) {
        memset(places[i].count, 0, sizeof places[i].count);
        places[i].misaligned = 0;
    }
    is_measuring = true;
}

static void end(unsigned cpu, void *data) {
    (void)cpu;
    (void)data;
    if (is_measuring)
        write_all();
    is_measuring = false;
}

static void end_of_all(qemu_plugin_id_t id, void *data) {
    (void)id;
    if (measure_start == 0)
        end(0, data);
}

/* ---- translation ---- */

/* LWL, opcode 0x22, and LWR, 0x26. */
static bool loads_part_of_a_word(const struct qemu_plugin_insn *instruction) {
    const uint8_t *code = qemu_plugin_insn_data(instruction);
    return is_mips && (code[is_mips_big ? 0 : 3] >> 2 & ~4) == 0x22;
}

static void watch(struct qemu_plugin_insn *instruction) {
    uint64_t pc = qemu_plugin_insn_vaddr(instruction) - map_displacement(is_user_mode);
    unsigned index = map_function_at(pc);
    /* Each instruction has to have a callback: what a helper of the emulator's accesses is
     * otherwise told of the last instruction that had one. */
    struct place *place = index != 0 ? place_at(pc) : &outside;

    place->loads_part = loads_part_of_a_word(instruction);
    qemu_plugin_register_vcpu_mem_cb(instruction, note_access, CALLBACK_READS_NO_REGISTERS,
                                     MEMORY_READ_WRITE, place);
    if (index == 0 || pc != map_functions[index].address ||
        (index != measure_start && index != measure_stop))
        return;
    qemu_plugin_register_vcpu_insn_exec_cb(instruction, index == measure_start ? begin : end,
                                           CALLBACK_READS_NO_REGISTERS, NULL);
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++)
        watch(qemu_plugin_tb_get_insn(block, i));
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int count,
                               char **arguments) {
    const char *path = map_argument(count, arguments, "out");

    if (!map_read(map_argument(count, arguments, "map"), NULL) || path == NULL ||
        (out = fopen(path, "w")) == NULL) {
        fprintf(stderr, "lines: needs map=FILE (readable, sorted) and out=FILE (writable)\n");
        return 1;
    }
    is_user_mode = !info->system_emulation;
    is_mips = strncmp(info->target_name, "mips", 4) == 0;
    is_mips_big = is_mips && strstr(info->target_name, "el") == NULL;
    measure_start = map_function_named("board_measure_start");
    measure_stop = map_function_named("board_measure_stop");
    is_measuring = measure_start == 0;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    qemu_plugin_register_atexit_cb(id, end_of_all, NULL);
    return 0;
}
