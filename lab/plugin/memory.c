/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What a board's program takes on memories that it does not have: drives the memory-cost
 * model (memory_system.h) with the fetches and accesses of the emulator.
 *
 *     -plugin libmemory.so,map=FILE,out=FILE,model=FILE[,model=FILE...]
 *
 * `map` as in map.h; each `model` is a file of parameters, and all of them see the same
 * stream. As with count.c an interval lasts from a call of board_measure_start to the next of
 * board_measure_stop, what runs below board_idle is idle, and at an interval's end a JSON
 * object is written, a line each, the models in the order they were given in.
 *
 * What holds:
 * - The models see everything from the first instruction on, so that caches are warm, idling
 *   or not; only what is busy within an interval is told.
 * - Idling ends when the function that called board_idle goes on.
 * - A witness (arm.h) is no instruction and no access. It gives the line of the maintenance
 *   before it; `unwitnessed` counts maintenance that none came to, which had no effect.
 * - Costs by kind of instruction (multiplication, use of what was just loaded) are known of
 *   ARM-state code only.
 * - One processor, one thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arm.h"
#include "map.h"
#include "memory_system.h"
#include "qemu.h"

#define MODELS_MAX   160
#define PLACES       65536 /* chains of instructions, by address */
#define WITHOUT_CODE 0

EXPORT int qemu_plugin_version = 1;

/* A translated instruction. */
struct place {
    uint64_t address;
    struct place *next;
    unsigned function;
    unsigned extra;       /* enum memory_extra */
    unsigned maintenance; /* enum arm_maintenance */
    bool is_barrier;
};

struct model {
    struct memory_system system;
    uint64_t cycles[MAP_FUNCTIONS_MAX]; /* of the interval, busy */
    uint64_t causes[MEMORY_CAUSE_COUNT], causes_at_start[MEMORY_CAUSE_COUNT];
    uint64_t events[MEMORY_EVENT_COUNT], events_at_start[MEMORY_EVENT_COUNT];
};

static struct place *places[PLACES];
static struct model *models[MODELS_MAX];
static unsigned model_count;
static unsigned measure_start, measure_stop, idle; /* indices; 0: there is none */
static bool is_arm, is_user_mode;
static FILE *out;

static unsigned interval;
static bool is_measuring, is_idle;
static unsigned function;    /* of the present instruction */
static unsigned idle_caller; /* whose turn ends the idling */
static unsigned pending;     /* maintenance that waits for its witness */
static uint64_t unwitnessed;

/* ---- what is busy ---- */

static bool counts(void) {
    return is_measuring && !is_idle;
}

/* What a model did since the last call was busy (or was not, and is forgotten). */
static void settle(struct model *model, bool is_busy) {
    for (unsigned i = 0; i < MEMORY_CAUSE_COUNT; i++) {
        model->causes[i] += is_busy ? model->system.cycles[i] - model->causes_at_start[i] : 0;
        model->causes_at_start[i] = model->system.cycles[i];
    }
    for (unsigned i = 0; i < MEMORY_EVENT_COUNT; i++) {
        model->events[i] += is_busy ? model->system.events[i] - model->events_at_start[i] : 0;
        model->events_at_start[i] = model->system.events[i];
    }
}

static void settle_all(bool is_busy) {
    for (unsigned i = 0; i < model_count; i++) {
        settle(models[i], is_busy);
    }
}

static void begin_interval(void) {
    settle_all(false);
    for (unsigned i = 0; i < model_count; i++) {
        memset(models[i]->cycles, 0, sizeof models[i]->cycles);
        memset(models[i]->causes, 0, sizeof models[i]->causes);
        memset(models[i]->events, 0, sizeof models[i]->events);
    }
    unwitnessed = 0;
    is_idle = false;
    is_measuring = true;
}

static void write_numbers(const char *name, const char *const names[], const uint64_t *numbers,
                          unsigned count) {
    fprintf(out, ",\"%s\":{", name);
    for (unsigned i = 0; i < count; i++) {
        fprintf(out, "%s\"%s\":%" PRIu64, i == 0 ? "" : ",", names[i], numbers[i]);
    }
    fputc('}', out);
}

static void write_model(const struct model *model) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < MEMORY_CAUSE_COUNT; i++) {
        sum += model->causes[i];
    }
    fprintf(out, "{\"cycles\":%" PRIu64, sum);
    write_numbers("causes", memory_cause_names, model->causes, MEMORY_CAUSE_COUNT);
    write_numbers("events", memory_event_names, model->events, MEMORY_EVENT_COUNT);
    fputs(",\"functions\":{", out);
    const char *separator = "";
    for (unsigned i = 0; i < map_function_count; i++) {
        if (model->cycles[i] != 0) {
            fprintf(out, "%s\"%s@%" PRIx64 "\":%" PRIu64, separator, map_functions[i].name,
                    map_functions[i].address, model->cycles[i]);
            separator = ",";
        }
    }
    fputs("}}", out);
}

static void end_interval(void) {
    if (!is_measuring) {
        return;
    }
    settle_all(!is_idle);
    is_measuring = is_idle = false;
    fprintf(out, "{\"interval\":%u,\"unwitnessed\":%" PRIu64 ",\"models\":[", interval++,
            unwitnessed);
    for (unsigned i = 0; i < model_count; i++) {
        fputs(i == 0 ? "" : ",", out);
        write_model(models[i]);
    }
    fputs("]}\n", out);
    fflush(out);
}

/* ---- execution ---- */

static void follow_idling(const struct place *place) {
    if (is_idle && place->function == idle_caller) {
        settle_all(false);
        is_idle = false;
    } else if (place->function == idle && idle != 0 && !is_idle && counts()) {
        settle_all(true);
        is_idle = true;
        idle_caller = function;
    }
}

static void follow_marks(const struct place *place) {
    if (place->function == 0 || map_functions[place->function].address != place->address) {
        return;
    }
    if (place->function == measure_start) {
        begin_interval();
    } else if (place->function == measure_stop) {
        end_interval();
    }
}

static void note_execution(unsigned cpu, void *data) {
    const struct place *place = data;
    (void)cpu;
    follow_idling(place);
    follow_marks(place);
    function = place->function;
    unwitnessed += pending != 0;
    pending = place->maintenance;
    for (unsigned i = 0; i < model_count; i++) {
        struct memory_system *system = &models[i]->system;
        uint64_t before = system->now;
        memory_fetch(system, place->address, place->extra);
        if (place->is_barrier) {
            memory_barrier(system);
        }
        models[i]->cycles[function] += counts() ? system->now - before : 0;
    }
}

static void note_access(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data) {
    unsigned size = 1u << qemu_plugin_mem_size_shift(info);
    bool is_store = qemu_plugin_mem_is_store(info);
    (void)cpu;
    (void)data;
    for (unsigned i = 0; i < model_count; i++) {
        struct memory_system *system = &models[i]->system;
        uint64_t before = system->now;
        if (is_store) {
            memory_store(system, address, size);
        } else {
            memory_load(system, address, size);
        }
        models[i]->cycles[function] += counts() ? system->now - before : 0;
    }
}

static void note_witness(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data) {
    (void)cpu;
    (void)info;
    (void)data;
    for (unsigned i = 0; i < model_count; i++) {
        struct memory_system *system = &models[i]->system;
        uint64_t before = system->now;
        memory_maintain(system, address, pending);
        models[i]->cycles[function] += counts() ? system->now - before : 0;
    }
    pending = 0;
}

/* ---- translation ---- */

_Static_assert((unsigned)ARM_CLEAN == (unsigned)MEMORY_CLEAN &&
                   (unsigned)ARM_INVALIDATE == (unsigned)MEMORY_INVALIDATE,
               "maintenance is handed on as it is");

static struct place *place_at(uint64_t address) {
    struct place **chain = &places[address / 2 % PLACES];
    for (struct place *place = *chain; place != NULL; place = place->next) {
        if (place->address == address) {
            return place;
        }
    }
    struct place *place = calloc(1, sizeof *place);
    if (place == NULL) {
        fprintf(stderr, "memory: out of memory\n");
        exit(1);
    }
    place->address = address;
    place->next = *chain;
    *chain = place;
    return place;
}

static uint32_t word_of(const struct qemu_plugin_insn *instruction, bool is_thumb) {
    uint32_t word = WITHOUT_CODE;
    if (is_arm && !is_thumb && qemu_plugin_insn_size(instruction) == sizeof word) {
        memcpy(&word, qemu_plugin_insn_data(instruction), sizeof word);
    }
    return word;
}

static void fill_place(struct place *place, uint32_t word, uint32_t before) {
    bool uses = (arm_loaded(before) & arm_read(word)) != 0;
    place->function = map_function_at(place->address);
    place->maintenance = word != WITHOUT_CODE ? arm_maintenance(word) : 0;
    place->is_barrier = word != WITHOUT_CODE && arm_is_write_barrier(word);
    if (word != WITHOUT_CODE) {
        place->extra = (arm_is_multiplication(word) ? MEMORY_MULTIPLIES : MEMORY_PLAIN) |
                       (before != WITHOUT_CODE && uses ? MEMORY_USES_LOADED : MEMORY_PLAIN);
    }
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
    size_t count = qemu_plugin_tb_n_insns(block);
    uint32_t before = WITHOUT_CODE;
    (void)id;
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
        uint64_t address = qemu_plugin_insn_vaddr(instruction) - map_displacement(is_user_mode);
        uint32_t word = word_of(instruction, map_functions[map_function_at(address)].is_thumb);
        if (word != WITHOUT_CODE && arm_is_witness(word)) {
            qemu_plugin_register_vcpu_mem_cb(instruction, note_witness, CALLBACK_READS_NO_REGISTERS,
                                             MEMORY_READ_WRITE, NULL);
            continue;
        }
        struct place *place = place_at(address);
        fill_place(place, word, before);
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, note_execution,
                                               CALLBACK_READS_NO_REGISTERS, place);
        qemu_plugin_register_vcpu_mem_cb(instruction, note_access, CALLBACK_READS_NO_REGISTERS,
                                         MEMORY_READ_WRITE, NULL);
        before = word;
    }
}

/* ---- start ---- */

static bool add_model(const char *path) {
    struct memory_parameters parameters;
    char complaint[200] = "makes no sense";
    struct model *model = model_count < MODELS_MAX ? calloc(1, sizeof *model) : NULL;
    if (model == NULL) {
        fprintf(stderr, "memory: %s: too many models, or no memory for one\n", path);
        return false;
    }
    if (!memory_parameters_read(&parameters, path, complaint, sizeof complaint) ||
        !memory_system_create(&model->system, &parameters)) {
        fprintf(stderr, "memory: %s: %s\n", path, complaint);
        return false;
    }
    models[model_count++] = model;
    return true;
}

static bool add_models(int count, char **arguments) {
    for (int i = 0; i < count; i++) {
        if (strncmp(arguments[i], "model=", 6) == 0 && !add_model(arguments[i] + 6)) {
            return false;
        }
    }
    return model_count != 0;
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int count,
                               char **arguments) {
    const char *output = map_argument(count, arguments, "out");
    is_arm = strcmp(info->target_name, "arm") == 0;
    is_user_mode = !info->system_emulation;
    if (!map_read(map_argument(count, arguments, "map"), NULL) || output == NULL ||
        (out = fopen(output, "a")) == NULL || !add_models(count, arguments)) {
        fprintf(stderr, "memory: needs map=FILE (readable, sorted), out=FILE (writable) and "
                        "model=FILE, once or more\n");
        return 1;
    }
    measure_start = map_function_named("board_measure_start");
    measure_stop = map_function_named("board_measure_stop");
    idle = map_function_named("board_idle");
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    return 0;
}
