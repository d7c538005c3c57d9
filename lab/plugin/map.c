/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "map.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "qemu.h"

struct map_function map_functions[MAP_FUNCTIONS_MAX] = {{0, 0, false, "(outside)"}};
unsigned map_function_count = 1;

static uint64_t linked_code; /* 0 is a place like any other */
static bool has_linked_code;

uint64_t map_displacement(bool is_user_mode) {
    return is_user_mode && has_linked_code ? qemu_plugin_start_code() - linked_code : 0;
}

unsigned map_function_at(uint64_t address) {
    unsigned low = 1, high = map_function_count;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (map_functions[middle].address + map_functions[middle].size <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < map_function_count && map_functions[low].address <= address ? low : 0;
}

unsigned map_function_named(const char *name) {
    for (unsigned i = 1; i < map_function_count; i++) {
        if (strcmp(map_functions[i].name, name) == 0) {
            return i;
        }
    }
    return 0;
}

static bool add_function(uint64_t address, uint64_t size, const char *name, bool is_thumb) {
    const struct map_function *last = &map_functions[map_function_count - 1];
    if (map_function_count == MAP_FUNCTIONS_MAX || address < last->address + last->size) {
        return false;
    }
    struct map_function *next = &map_functions[map_function_count++];
    next->address = address;
    next->size = size;
    next->is_thumb = is_thumb;
    strcpy(next->name, name);
    return true;
}

static bool take_line(const char *line, map_other_line other) {
    uint64_t address, size;
    char name[MAP_NAME_CHARACTERS], state[8];
    int found =
        sscanf(line, "function %" SCNx64 " %" SCNx64 " %127s %7s", &address, &size, name, state);
    if (found >= 3) {
        return add_function(address, size, name, found == 4 && strcmp(state, "thumb") == 0);
    }
    if (sscanf(line, "code %" SCNx64, &linked_code) == 1) {
        has_linked_code = true;
        return true;
    }
    return other != NULL && other(line);
}

bool map_read(const char *path, map_other_line other) {
    FILE *map = path != NULL ? fopen(path, "r") : NULL;
    char line[MAP_NAME_CHARACTERS + 64];
    bool is_good = map != NULL;
    while (is_good && fgets(line, sizeof line, map) != NULL) {
        is_good = take_line(line, other);
    }
    if (map != NULL) {
        fclose(map);
    }
    return is_good;
}

const char *map_argument(int count, char **arguments, const char *key) {
    const char *found = NULL;
    size_t length = strlen(key);
    for (int i = 0; i < count; i++) {
        if (strncmp(arguments[i], key, length) == 0 && arguments[i][length] == '=') {
            found = arguments[i] + length + 1;
        }
    }
    return found;
}
