/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "buffers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RANGES_MAX      32
#define NAME_CHARACTERS 64

struct range {
    uint64_t address, size, stride;
    uint64_t places;
    uint64_t *count[2]; /* loads, stores; a number for each place */
    bool *is_copied;    /* of a heap: for each byte */
    char name[NAME_CHARACTERS];
};

static struct range ranges[RANGES_MAX];
static unsigned range_count;
static uint64_t lowest = UINT64_MAX, highest; /* bytes of any of them */

bool buffers_take_line(const char *line) {
    if (range_count == RANGES_MAX) {
        return false;
    }
    struct range *range = &ranges[range_count];
    bool is_heap = sscanf(line, "heap %" SCNx64 " %" SCNx64 " %63s", &range->address, &range->size,
                          range->name) == 3;
    if (!is_heap && sscanf(line, "buffers %" SCNx64 " %" SCNx64 " %" SCNx64 " %63s",
                           &range->address, &range->size, &range->stride, range->name) != 4) {
        return false;
    }
    if (range->size == 0 ||
        (is_heap && (range->is_copied = calloc(range->size, sizeof(bool))) == NULL)) {
        return false;
    }
    range->places = range->stride != 0 ? range->stride : 1;
    for (unsigned kind = 0; kind < 2; kind++) {
        range->count[kind] = calloc(range->places, sizeof(uint64_t));
        if (range->count[kind] == NULL) {
            return false;
        }
    }
    range_count++;
    lowest = range->address < lowest ? range->address : lowest;
    uint64_t last = range->address + range->size - 1;
    highest = last > highest ? last : highest;
    return true;
}

static bool is_payload(struct range *range, uint64_t offset, bool is_store, bool is_copying) {
    if (range->is_copied == NULL) {
        return true;
    }
    if (is_store) {
        range->is_copied[offset] = is_copying;
    }
    return range->is_copied[offset];
}

static void note_byte(uint64_t address, bool is_store, bool is_copying) {
    for (struct range *range = ranges; range < ranges + range_count; range++) {
        uint64_t offset = address - range->address;
        if (offset < range->size) {
            if (!is_payload(range, offset, is_store, is_copying)) {
                return;
            }
            range->count[is_store][range->stride != 0 ? offset % range->stride : 0]++;
            return;
        }
    }
}

void buffers_note(uint64_t address, unsigned size, bool is_store, bool is_copying) {
    if (address > highest || address + size <= lowest) {
        return;
    }
    for (unsigned i = 0; i < size; i++) {
        note_byte(address + i, is_store, is_copying);
    }
}

void buffers_clear(void) {
    for (struct range *range = ranges; range < ranges + range_count; range++) {
        for (unsigned kind = 0; kind < 2; kind++) {
            memset(range->count[kind], 0, range->places * sizeof(uint64_t));
        }
    }
}

static void write_counts(FILE *out, const char *name, const uint64_t *count, uint64_t places) {
    const char *separator = "";
    fprintf(out, ",\"%s\":[", name);
    for (uint64_t first = 0, end; first < places; first = end) {
        for (end = first + 1; end < places && count[end] == count[first]; end++) {
        }
        if (count[first] != 0) {
            fprintf(out, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", separator, first, end - first,
                    count[first]);
            separator = ",";
        }
    }
    fputc(']', out);
}

void buffers_write(FILE *out) {
    fputc('[', out);
    for (const struct range *range = ranges; range < ranges + range_count; range++) {
        fprintf(out, "%s{\"name\":\"%s\"", range == ranges ? "" : ",", range->name);
        write_counts(out, "loads", range->count[0], range->places);
        write_counts(out, "stores", range->count[1], range->places);
        fputc('}', out);
    }
    fputc(']', out);
}
