/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "memory_system.h"

enum kind { NUMBER, FLAG, REPLACEMENT };

struct field {
    const char *name;
    enum kind kind;
    size_t offset;
};

#define FIELD(kind, section, name)                                                                 \
    { #section "." #name, kind, offsetof(struct memory_parameters, section.name) }

static const struct field fields[] = {
    FIELD(NUMBER, core, cycles_per_instruction),
    FIELD(NUMBER, core, multiply_cycles),
    FIELD(NUMBER, core, load_use_cycles),
    FIELD(NUMBER, core, store_cycles),
    FIELD(NUMBER, core, transfer_bytes),
    FIELD(NUMBER, core, maintenance_cycles),
    FIELD(NUMBER, icache, bytes),
    FIELD(NUMBER, icache, ways),
    FIELD(NUMBER, icache, line),
    FIELD(REPLACEMENT, icache, replacement),
    FIELD(FLAG, icache, streams),
    FIELD(NUMBER, dcache, bytes),
    FIELD(NUMBER, dcache, ways),
    FIELD(NUMBER, dcache, line),
    FIELD(REPLACEMENT, dcache, replacement),
    FIELD(FLAG, dcache, streams),
    FIELD(FLAG, dcache, write_back),
    FIELD(FLAG, dcache, write_allocate),
    FIELD(NUMBER, write_buffer, entries),
    FIELD(NUMBER, write_buffer, entry_bytes),
    FIELD(FLAG, write_buffer, combines),
    FIELD(FLAG, write_buffer, takes_uncached),
    FIELD(NUMBER, sdram, cycles_per_clock),
    FIELD(NUMBER, sdram, overhead_clocks),
    FIELD(NUMBER, sdram, cas),
    FIELD(NUMBER, sdram, rcd),
    FIELD(NUMBER, sdram, rp),
    FIELD(NUMBER, sdram, row_bytes),
    FIELD(NUMBER, sdram, banks),
    FIELD(NUMBER, sdram, bus_bits),
    FIELD(FLAG, sdram, keeps_rows_open),
    FIELD(NUMBER, peripheral, read_cycles),
    FIELD(NUMBER, peripheral, write_cycles),
};

enum { FIELDS = sizeof fields / sizeof fields[0] };

static bool set_number(void *place, const char *text) {
    unsigned value;
    char rest;
    if (sscanf(text, "%u%c", &value, &rest) != 1 || strchr(text, '-') != NULL) {
        return false;
    }
    memcpy(place, &value, sizeof value);
    return true;
}

static bool set_flag(void *place, const char *text) {
    bool value = strcmp(text, "true") == 0;
    memcpy(place, &value, sizeof value);
    return value || strcmp(text, "false") == 0;
}

static bool set_replacement(void *place, const char *text) {
    static const char *const names[] = {
        [CACHE_LRU] = "lru", [CACHE_FIFO] = "fifo", [CACHE_RANDOM] = "random"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, names[i]) == 0) {
            enum cache_replacement value = (enum cache_replacement)i;
            memcpy(place, &value, sizeof value);
            return true;
        }
    }
    return false;
}

static bool set(struct memory_parameters *parameters, const char *name, const char *text,
                bool *seen) {
    for (int i = 0; i < FIELDS; i++) {
        if (strcmp(name, fields[i].name) != 0) {
            continue;
        }
        void *place = (char *)parameters + fields[i].offset;
        if (seen[i]) {
            return false;
        }
        seen[i] = true;
        return fields[i].kind == NUMBER ? set_number(place, text)
               : fields[i].kind == FLAG ? set_flag(place, text)
                                        : set_replacement(place, text);
    }
    return false;
}

static bool add_region(struct memory_parameters *parameters, const char *kind, uint64_t first,
                       uint64_t last) {
    bool is_device = strcmp(kind, "device") == 0;
    if (parameters->region_count == MEMORY_REGIONS_MAX || last < first ||
        (!is_device && strcmp(kind, "uncached") != 0)) {
        return false;
    }
    parameters->regions[parameters->region_count++] =
        (struct memory_region){first, last, is_device ? MEMORY_DEVICE : MEMORY_UNCACHED};
    return true;
}

static bool take(struct memory_parameters *parameters, const char *line, bool *seen) {
    char name[64], text[32];
    uint64_t first, last;
    if (sscanf(line, "region %31s %" SCNx64 " %" SCNx64, text, &first, &last) == 3) {
        return add_region(parameters, text, first, last);
    }
    return sscanf(line, "%63s %31s", name, text) == 2 && set(parameters, name, text, seen);
}

bool memory_parameters_read(struct memory_parameters *parameters, const char *path, char *complaint,
                            unsigned complaint_size) {
    bool seen[FIELDS] = {false};
    char line[160];
    FILE *file = fopen(path, "r");
    bool is_good = file != NULL;
    memset(parameters, 0, sizeof *parameters);
    if (!is_good) {
        snprintf(complaint, complaint_size, "cannot be read");
        return false;
    }
    while (is_good && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        is_good = take(parameters, line, seen);
        if (!is_good) {
            snprintf(complaint, complaint_size, "not understood: %s", line);
        }
    }
    fclose(file);
    for (int i = 0; is_good && i < FIELDS; i++) {
        is_good = seen[i];
        if (!is_good) {
            snprintf(complaint, complaint_size, "lacks %s", fields[i].name);
        }
    }
    return is_good;
}
