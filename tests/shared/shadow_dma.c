/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The shadow of DMA memory: see shadow_dma.h. */
#include "shadow_dma.h"

#if defined __SANITIZE_ADDRESS__
#define ASAN 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define ASAN 1
#endif
#endif
#ifdef ASAN
#include <sanitizer/asan_interface.h>
#define HIDE(memory, length) __asan_poison_memory_region(memory, length)
#define SHOW(memory, length) __asan_unpoison_memory_region(memory, length)
#define UNWATCHED            __attribute__((no_sanitize_address))
#else
#define HIDE(memory, length) ((void)(memory), (void)(length))
#define SHOW(memory, length) ((void)(memory), (void)(length))
#define UNWATCHED
#endif

/* Of a line. */
enum {
    OWNER = 3,
    OWNER_CPU = 0,
    OWNER_DEVICE = 1,
    OWNER_CPU_REST = 2, /* the processor's, but not synced: nothing there to be read */
    MAPPED = 4,         /* for the device to write */
    FIRST = 8,          /* of its mapping */
};

enum { READERS_MOST = 250, DISTURBED_MOST = 8 };

typedef uint32_t __attribute__((may_alias)) word;

/* ---- lines ---- */

static void copy_line(const struct shadow_dma *shadow, uint8_t *to, const uint8_t *from) {
    word *t = (void *)to;
    const word *f = (const void *)from;

    for (size_t i = 0; i < shadow->line / sizeof(word); i++)
        t[i] = f[i];
}

static bool same_line(const struct shadow_dma *shadow, const uint8_t *a, const uint8_t *b) {
    const word *x = (const void *)a, *y = (const void *)b;

    for (size_t i = 0; i < shadow->line / sizeof(word); i++)
        if (x[i] != y[i])
            return false;
    return true;
}

static uint8_t *cpu_line(const struct shadow_dma *shadow, size_t line) {
    return shadow->memory.cpu + line * shadow->line;
}

static uint8_t *device_line(const struct shadow_dma *shadow, size_t line) {
    return shadow->memory.device + line * shadow->line;
}

static uint8_t *clean_line(const struct shadow_dma *shadow, size_t line) {
    return shadow->memory.clean + line * shadow->line;
}

static bool is_dirty(const struct shadow_dma *shadow, size_t line) {
    return !same_line(shadow, cpu_line(shadow, line), clean_line(shadow, line));
}

static void write_back(struct shadow_dma *shadow, size_t line) {
    copy_line(shadow, device_line(shadow, line), cpu_line(shadow, line));
    copy_line(shadow, clean_line(shadow, line), cpu_line(shadow, line));
}

static void fetch(struct shadow_dma *shadow, size_t line) {
    copy_line(shadow, cpu_line(shadow, line), device_line(shadow, line));
    copy_line(shadow, clean_line(shadow, line), cpu_line(shadow, line));
}

static unsigned owner_of(const struct shadow_dma *shadow, size_t line) {
    return shadow->memory.state[line] & OWNER;
}

static void set_owner(struct shadow_dma *shadow, size_t line, unsigned owner) {
    uint8_t *state = &shadow->memory.state[line];

    *state = (uint8_t)((*state & ~(unsigned)OWNER) | owner);
}

static void report(struct shadow_dma *shadow, const char *what, size_t line, const void *place) {
    shadow->fail(shadow->context, what, cpu_line(shadow, line), place);
}

/* The line becomes the device's; what the processor would find there is poison. */
static void surrender(struct shadow_dma *shadow, size_t line) {
    uint8_t *bytes = cpu_line(shadow, line), *clean = clean_line(shadow, line);

    SHOW(bytes, shadow->line);
    for (size_t i = 0; i < shadow->line; i++)
        bytes[i] = clean[i] = SHADOW_DMA_POISON;
    set_owner(shadow, line, OWNER_DEVICE);
    HIDE(bytes, shadow->line);
}

/* The line is the device's no longer. */
static void regain(struct shadow_dma *shadow, size_t line, unsigned owner, const void *place) {
    SHOW(cpu_line(shadow, line), shadow->line);
    if (is_dirty(shadow, line))
        report(shadow, "was written to while the device owned it", line, place);
    set_owner(shadow, line, owner);
}

static void check_poison(struct shadow_dma *shadow, size_t line, const void *place) {
    regain(shadow, line, OWNER_DEVICE, place);
    HIDE(cpu_line(shadow, line), shadow->line);
}

/* ---- ranges ---- */

/* The lines of some bytes; none if they are not all within the memory, or no line matters. */
static struct shadow_dma_range lines_of(struct shadow_dma *shadow, size_t from, size_t length,
                                        const void *place) {
    if (shadow->coherent)
        return (struct shadow_dma_range){0, 0};
    if (!length || from >= shadow->memory.size || length > shadow->memory.size - from) {
        shadow->fail(shadow->context, "lies outside of what the device reaches",
                     shadow->memory.cpu + from, place);
        return (struct shadow_dma_range){0, 0};
    }
    return (struct shadow_dma_range){from / shadow->line,
                                     (from + length + shadow->line - 1) / shadow->line};
}

static size_t offset_of(const struct shadow_dma *shadow, const void *memory) {
    return (size_t)((uintptr_t)memory - (uintptr_t)shadow->memory.cpu);
}

static uint32_t random_number(struct shadow_dma *shadow) {
    shadow->random = shadow->random * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(shadow->random >> 33);
}

/* What a cache may do with one line that a device may write. */
static void disturb_line(struct shadow_dma *shadow, size_t line) {
    if (!(shadow->memory.state[line] & MAPPED) || shadow->memory.readers[line])
        return;
    if (owner_of(shadow, line) == OWNER_DEVICE) {
        check_poison(shadow, line, NULL);
    } else if (is_dirty(shadow, line)) {
        write_back(shadow, line);
        shadow->written_back++;
    } else {
        fetch(shadow, line);
        shadow->fetched++;
    }
}

void shadow_dma_disturb(struct shadow_dma *shadow) {
    unsigned known = shadow->recent_count < SHADOW_DMA_RECENT ? shadow->recent_count
                                                              : (unsigned)SHADOW_DMA_RECENT;

    if (!known)
        return;
    for (unsigned i = random_number(shadow) % DISTURBED_MOST; i--;) {
        const struct shadow_dma_range *range = &shadow->recent[random_number(shadow) % known];
        disturb_line(shadow, range->first + random_number(shadow) % (range->end - range->first));
    }
}

/* What every call begins with. */
static struct shadow_dma_range begin(struct shadow_dma *shadow, const void *memory, size_t length,
                                     const void *place) {
    if (shadow->look)
        shadow->look(shadow->context);
    struct shadow_dma_range range = lines_of(shadow, offset_of(shadow, memory), length, place);
    if (range.end)
        shadow->recent[shadow->recent_count++ % SHADOW_DMA_RECENT] = range;
    shadow_dma_disturb(shadow);
    return range;
}

/* ---- memory that the device reads ---- */

static void map_to(struct shadow_dma *shadow, struct shadow_dma_range range, bool clean,
                   const void *place) {
    for (size_t line = range.first; line < range.end; line++) {
        if (owner_of(shadow, line) == OWNER_DEVICE)
            report(shadow, "is given to be read while the device writes it", line, place);
        else if (!clean)
            write_back(shadow, line);
        shadow->reading++;
        if (shadow->memory.readers[line]++ == READERS_MOST)
            report(shadow, "is mapped again and again, and never unmapped", line, place);
    }
}

/* By bytes, for lines may be shared with others'. */
UNWATCHED static bool bytes_agree(const struct shadow_dma *shadow, size_t from, size_t length) {
    for (size_t i = from; i < from + length; i++)
        if (shadow->memory.cpu[i] != shadow->memory.device[i])
            return false;
    return true;
}

static void unmap_to(struct shadow_dma *shadow, struct shadow_dma_range range, const void *place) {
    for (size_t line = range.first; line < range.end; line++) {
        if (!shadow->memory.readers[line]) {
            report(shadow, "is not mapped for the device to read", line, place);
        } else {
            shadow->memory.readers[line]--;
            shadow->reading--;
        }
    }
}

static void sync_to(struct shadow_dma *shadow, struct shadow_dma_range range, bool for_device,
                    const void *place) {
    for (size_t line = range.first; line < range.end; line++) {
        if (!shadow->memory.readers[line])
            report(shadow, "is not mapped for the device to read", line, place);
        else if (for_device)
            write_back(shadow, line);
    }
}

/* ---- memory that the device writes ---- */

static void map_from(struct shadow_dma *shadow, struct shadow_dma_range range, const void *place) {
    for (size_t line = range.first; line < range.end; line++) {
        if (shadow->memory.state[line] || shadow->memory.readers[line])
            report(shadow, "is mapped already", line, place);
        shadow->memory.state[line] = line == range.first ? MAPPED | FIRST : MAPPED;
        surrender(shadow, line);
    }
}

/* The rest of the mapping comes back with a part of it. */
static void regain_rest(struct shadow_dma *shadow, struct shadow_dma_range range,
                        const void *place) {
    const uint8_t *state = shadow->memory.state;
    size_t first = range.first, end = range.end, all = shadow->memory.size / shadow->line;

    while (first && !(state[first] & FIRST) && (state[first] & MAPPED))
        first--;
    while (end < all && (state[end] & (MAPPED | FIRST)) == MAPPED)
        end++;
    for (size_t line = first; line < end; line++)
        if (owner_of(shadow, line) == OWNER_DEVICE)
            regain(shadow, line, OWNER_CPU_REST, place);
}

static void regain_synced(struct shadow_dma *shadow, size_t line, const void *place) {
    if (owner_of(shadow, line) == OWNER_DEVICE)
        regain(shadow, line, OWNER_CPU, place);
    else if (is_dirty(shadow, line))
        report(shadow, "is taken from the device though it holds the processor's bytes", line,
               place);
    else if (shadow->exact)
        report(shadow, "is taken from the device, which does not own it", line, place);
    fetch(shadow, line);
    set_owner(shadow, line, OWNER_CPU);
}

static void sync_from_for_cpu(struct shadow_dma *shadow, struct shadow_dma_range range,
                              const void *place) {
    for (size_t line = range.first; line < range.end; line++) {
        if (!(shadow->memory.state[line] & MAPPED))
            report(shadow, "is not mapped for the device to write", line, place);
        else
            regain_synced(shadow, line, place);
    }
    if (range.end)
        regain_rest(shadow, range, place);
}

static void sync_from_for_device(struct shadow_dma *shadow, struct shadow_dma_range range,
                                 const void *place) {
    for (size_t line = range.first; line < range.end; line++) {
        if (!(shadow->memory.state[line] & MAPPED))
            report(shadow, "is not mapped for the device to write", line, place);
        else if (owner_of(shadow, line) == OWNER_DEVICE)
            report(shadow, "is given to the device, which owns it", line, place);
        else if (shadow->memory.readers[line])
            report(shadow, "is given to be written while the device reads it", line, place);
        else
            surrender(shadow, line);
    }
}

/* A whole mapping, and for good. */
static void unmap_from(struct shadow_dma *shadow, struct shadow_dma_range range,
                       const void *place) {
    if (range.end && !(shadow->memory.state[range.first] & FIRST))
        report(shadow, "is not the beginning of a mapping", range.first, place);
    sync_from_for_cpu(shadow, range, place);
    for (size_t line = range.first; line < range.end; line++)
        shadow->memory.state[line] = OWNER_CPU;
}

/* ---- struct plumb_dma ---- */

static struct shadow_dma *shadow_of(const struct plumb_dma *dma) {
    return dma->context;
}

/* What a device writes shares no line with anything. */
static bool whole_lines(const struct shadow_dma *shadow, const void *memory, size_t length) {
    return (offset_of(shadow, memory) | length) % shadow->line == 0;
}

static uintptr_t map(const struct plumb_dma *dma, void *memory, size_t length,
                     enum plumb_dma_direction direction) {
    struct shadow_dma *shadow = shadow_of(dma);
    const void *place = __builtin_return_address(0);
    struct shadow_dma_range range = begin(shadow, memory, length, place);

    if (direction == PLUMB_DMA_TO_DEVICE)
        map_to(shadow, range, false, place);
    else if (!range.end || whole_lines(shadow, memory, length))
        map_from(shadow, range, place);
    else
        report(shadow, "is mapped to be written, and shares a line", range.first, place);
    return shadow_dma_bus(shadow, memory);
}

static uintptr_t map_clean(const struct plumb_dma *dma, void *memory, size_t length) {
    struct shadow_dma *shadow = shadow_of(dma);
    const void *place = __builtin_return_address(0);
    struct shadow_dma_range range = begin(shadow, memory, length, place);

    map_to(shadow, range, true, place);
    if (range.end && !bytes_agree(shadow, offset_of(shadow, memory), length))
        report(shadow, "is called clean, and is dirty", range.first, place);
    return shadow_dma_bus(shadow, memory);
}

static void unmap(const struct plumb_dma *dma, void *memory, size_t length,
                  enum plumb_dma_direction direction) {
    struct shadow_dma *shadow = shadow_of(dma);
    const void *place = __builtin_return_address(0);
    struct shadow_dma_range range = begin(shadow, memory, length, place);

    if (direction == PLUMB_DMA_FROM_DEVICE) {
        unmap_from(shadow, range, place);
        return;
    }
    unmap_to(shadow, range, place);
    if (range.end && !bytes_agree(shadow, offset_of(shadow, memory), length))
        report(shadow, "was written to while the device could read it", range.first, place);
}

static void sync_for_cpu(const struct plumb_dma *dma, void *memory, size_t length,
                         enum plumb_dma_direction direction) {
    struct shadow_dma *shadow = shadow_of(dma);
    const void *place = __builtin_return_address(0);
    struct shadow_dma_range range = begin(shadow, memory, length, place);

    if (direction == PLUMB_DMA_TO_DEVICE)
        sync_to(shadow, range, false, place);
    else
        sync_from_for_cpu(shadow, range, place);
}

static void sync_for_device(const struct plumb_dma *dma, void *memory, size_t length,
                            enum plumb_dma_direction direction) {
    struct shadow_dma *shadow = shadow_of(dma);
    const void *place = __builtin_return_address(0);
    struct shadow_dma_range range = begin(shadow, memory, length, place);

    if (direction == PLUMB_DMA_TO_DEVICE)
        sync_to(shadow, range, true, place);
    else
        sync_from_for_device(shadow, range, place);
}

void shadow_dma_create(struct shadow_dma *shadow, const struct shadow_dma_memory *memory,
                       size_t line, uint64_t seed) {
    shadow->memory = *memory;
    shadow->line = line;
    shadow->random = seed;
    shadow->recent_count = shadow->written_back = shadow->fetched = 0;
    shadow->reading = 0;
    shadow->dma = (struct plumb_dma){map, unmap, sync_for_cpu, sync_for_device, map_clean, shadow};
    for (size_t i = 0; i < memory->size / line; i++)
        memory->state[i] = memory->readers[i] = 0;
    SHOW(memory->cpu, memory->size);
}

void shadow_dma_expect_idle(struct shadow_dma *shadow) {
    for (size_t line = 0; line < shadow->memory.size / shadow->line; line++)
        if (shadow->memory.readers[line])
            report(shadow, "is still mapped for the device to read", line, NULL);
}

uintptr_t shadow_dma_bus(const struct shadow_dma *shadow, const void *memory) {
    return shadow->memory.bus + offset_of(shadow, memory);
}

/* ---- the device ---- */

static uint8_t *device_view(const struct shadow_dma *shadow) {
    return shadow->coherent ? shadow->memory.cpu : shadow->memory.device;
}

void shadow_dma_give(struct shadow_dma *shadow, uintptr_t bus, size_t length) {
    struct shadow_dma_range range = lines_of(shadow, bus - shadow->memory.bus, length, NULL);

    for (size_t line = range.first; line < range.end; line++) {
        if (owner_of(shadow, line) == OWNER_DEVICE)
            continue;
        if (!(shadow->memory.state[line] & MAPPED))
            report(shadow, "is given to be written, and is not mapped", line, NULL);
        else if (is_dirty(shadow, line))
            report(shadow, "is given to be written, and is dirty", line, NULL);
        else if (shadow->memory.readers[line])
            report(shadow, "is given to be written while the device reads it", line, NULL);
        else
            surrender(shadow, line);
    }
}

uint8_t *shadow_dma_write(struct shadow_dma *shadow, uintptr_t bus, size_t length) {
    shadow_dma_give(shadow, bus, length);
    return device_view(shadow) + (bus - shadow->memory.bus);
}

const uint8_t *shadow_dma_read(struct shadow_dma *shadow, uintptr_t bus, size_t length) {
    size_t from = bus - shadow->memory.bus;
    struct shadow_dma_range range = lines_of(shadow, from, length, NULL);
    bool mapped = true;

    for (size_t line = range.first; line < range.end; line++)
        if (!shadow->memory.readers[line]) {
            report(shadow, "is given to be read, and is not mapped", line, NULL);
            mapped = false;
        }
    if (mapped && range.end && !bytes_agree(shadow, from, length))
        report(shadow, "is given to be read, and was written to", range.first, NULL);
    return device_view(shadow) + from;
}
