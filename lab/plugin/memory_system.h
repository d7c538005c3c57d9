/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What a stream of fetches, loads and stores takes on a processor with caches, a write
 * buffer and SDRAM: the memory-cost model (docs/memory-model.md).
 *
 * What holds:
 * - Time is in the processor's cycles and only goes forward. A call takes what it takes and
 *   charges it to a cause; the sum of the causes is the time.
 * - There is one bus to one SDRAM. A read is waited for; a write is handed over, and holds up
 *   only who needs the bus, or a place in the write buffer, before it is done. Victims and
 *   cleaned lines are such writes, behind the fill that displaced them.
 * - A row of each bank stays open, or none does, by the parameters.
 * - The newest entry of a write buffer that combines is open, until it is full, a store
 *   elsewhere comes, what it holds is read, or a barrier wants it gone.
 * - No data is kept: what a device writes to memory needs no call, what the processor does
 *   about it (maintenance) does.
 *
 * Not in the model: the translation of addresses, refresh, the device's own use of the bus.
 */
#ifndef LAB_PLUGIN_MEMORY_SYSTEM_H
#define LAB_PLUGIN_MEMORY_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#include "cache.h"

#define MEMORY_REGIONS_MAX 8
#define MEMORY_BANKS_MAX   16
#define MEMORY_BUFFER_MAX  64 /* entries of a write buffer, and bytes of one */

/* Named as in lab/cores/; a dot there is an underscore here. */
struct memory_cache_parameters {
    unsigned bytes, ways, line;
    enum cache_replacement replacement;
    bool streams;
    bool write_back, write_allocate; /* of a data cache */
};

enum memory_region_kind { MEMORY_UNCACHED, MEMORY_DEVICE };

struct memory_region {
    uint64_t first, last;
    enum memory_region_kind kind;
};

struct memory_parameters {
    struct {
        unsigned cycles_per_instruction, multiply_cycles, load_use_cycles, store_cycles;
        unsigned transfer_bytes, maintenance_cycles;
    } core;
    struct memory_cache_parameters icache, dcache;
    struct {
        unsigned entries, entry_bytes;
        bool combines, takes_uncached;
    } write_buffer;
    struct {
        unsigned cycles_per_clock, overhead_clocks, cas, rcd, rp, row_bytes, banks, bus_bits;
        bool keeps_rows_open;
    } sdram;
    struct {
        unsigned read_cycles, write_cycles;
    } peripheral;
    unsigned region_count; /* the rest is cached */
    struct memory_region regions[MEMORY_REGIONS_MAX];
};

/* Where cycles go. */
#define MEMORY_CAUSES(X)                                                                           \
    X(base)        /* instructions, and registers beyond the first of one */                       \
    X(fetch)       /* waiting for instructions */                                                  \
    X(load)        /* waiting for a line, or a word of memory that is off the cache */             \
    X(uncached)    /* reading, and writing unbuffered, what is not cached */                       \
    X(store)       /* waiting for a place in the write buffer */                                   \
    X(maintenance) /* cleaning and dropping lines, barriers */                                     \
    X(device)      /* registers of devices */

/* What happens how often. */
#define MEMORY_EVENTS(X)                                                                           \
    X(instructions)                                                                                \
    X(fetch_misses)                                                                                \
    X(load_hits)                                                                                   \
    X(load_misses)                                                                                 \
    X(store_hits)                                                                                  \
    X(store_misses)                                                                                \
    X(write_backs)                                                                                 \
    X(buffer_writes)                                                                               \
    X(uncached_accesses)                                                                           \
    X(device_accesses)                                                                             \
    X(row_hits)                                                                                    \
    X(row_misses)

#define MEMORY_ENUM_CAUSE(name) MEMORY_CAUSE_##name,
#define MEMORY_ENUM_EVENT(name) MEMORY_EVENT_##name,
enum memory_cause { MEMORY_CAUSES(MEMORY_ENUM_CAUSE) MEMORY_CAUSE_COUNT };
enum memory_event { MEMORY_EVENTS(MEMORY_ENUM_EVENT) MEMORY_EVENT_COUNT };

struct memory_buffer_entry {
    uint64_t block;    /* address / entry_bytes */
    uint64_t written;  /* a bit for each byte */
    uint64_t finished; /* when it has left; of an open one, 0 */
};

struct memory_system {
    struct memory_parameters parameters;
    struct cache icache, dcache;
    uint64_t now;
    uint64_t bus_free;
    uint64_t fetched_line;               /* the last one, +1; 0: none */
    unsigned transferred;                /* bytes that the present instruction has moved */
    bool has_stored;                     /* the present instruction has */
    uint64_t open_row[MEMORY_BANKS_MAX]; /* +1; 0: none */
    unsigned buffered;                   /* entries, the oldest first */
    struct memory_buffer_entry buffer[MEMORY_BUFFER_MAX];
    uint64_t cycles[MEMORY_CAUSE_COUNT];
    uint64_t events[MEMORY_EVENT_COUNT];
};

/* False: parameters that make no sense. */
bool memory_system_create(struct memory_system *system, const struct memory_parameters *parameters);
void memory_system_destroy(struct memory_system *system);

enum memory_extra { MEMORY_PLAIN = 0, MEMORY_MULTIPLIES = 1, MEMORY_USES_LOADED = 2 };

/* An instruction begins; `extra` is a set of enum memory_extra. */
void memory_fetch(struct memory_system *system, uint64_t address, unsigned extra);

/* What it loads and stores. */
void memory_load(struct memory_system *system, uint64_t address, unsigned size);
void memory_store(struct memory_system *system, uint64_t address, unsigned size);

/* Maintenance of the data cache's line, and a wait until all that was written has left. */
enum memory_maintenance { MEMORY_CLEAN = 1, MEMORY_INVALIDATE = 2 };
void memory_maintain(struct memory_system *system, uint64_t address, unsigned what);
void memory_barrier(struct memory_system *system);

extern const char *const memory_cause_names[MEMORY_CAUSE_COUNT];
extern const char *const memory_event_names[MEMORY_EVENT_COUNT];

/* memory_parameters.c: reads `SECTION.NAME VALUE` a line, and `region KIND FIRST LAST` (KIND:
 * uncached or device; hexadecimal). Each parameter must be there once. On failure, false, and
 * the line or the name that is to blame in `complaint`. */
bool memory_parameters_read(struct memory_parameters *parameters, const char *path, char *complaint,
                            unsigned complaint_size);

#endif
