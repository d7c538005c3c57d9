/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "memory_system.h"

#include <string.h>

#define NAME(name) #name,
const char *const memory_cause_names[MEMORY_CAUSE_COUNT] = {MEMORY_CAUSES(NAME)};
const char *const memory_event_names[MEMORY_EVENT_COUNT] = {MEMORY_EVENTS(NAME)};

static bool is_power_of_two(unsigned number) {
    return number != 0 && (number & (number - 1)) == 0;
}

static bool is_sane(const struct memory_parameters *p) {
    return p->core.transfer_bytes != 0 && p->sdram.cycles_per_clock != 0 &&
           is_power_of_two(p->sdram.row_bytes) && p->sdram.banks != 0 &&
           p->sdram.banks <= MEMORY_BANKS_MAX && is_power_of_two(p->sdram.bus_bits) &&
           p->sdram.bus_bits >= 8 && p->write_buffer.entries <= MEMORY_BUFFER_MAX &&
           is_power_of_two(p->write_buffer.entry_bytes) &&
           p->write_buffer.entry_bytes <= MEMORY_BUFFER_MAX &&
           p->region_count <= MEMORY_REGIONS_MAX;
}

static bool create_cache(struct cache *cache, const struct memory_cache_parameters *p) {
    return cache_create(cache, p->bytes, p->ways, p->line, p->replacement);
}

bool memory_system_create(struct memory_system *system,
                          const struct memory_parameters *parameters) {
    memset(system, 0, sizeof *system);
    system->parameters = *parameters;
    return is_sane(parameters) && create_cache(&system->icache, &parameters->icache) &&
           create_cache(&system->dcache, &parameters->dcache);
}

void memory_system_destroy(struct memory_system *system) {
    cache_destroy(&system->icache);
    cache_destroy(&system->dcache);
}

static void pass(struct memory_system *system, enum memory_cause cause, uint64_t cycles) {
    system->now += cycles;
    system->cycles[cause] += cycles;
}

static void wait_until(struct memory_system *system, enum memory_cause cause, uint64_t time) {
    if (time > system->now) {
        pass(system, cause, time - system->now);
    }
}

/* ---- SDRAM ---- */

/* Clocks until a column of `address` can be named. */
static unsigned open_row(struct memory_system *system, uint64_t address) {
    const struct memory_parameters *p = &system->parameters;
    uint64_t row = address / p->sdram.row_bytes;
    uint64_t *open = &system->open_row[row % p->sdram.banks];
    if (p->sdram.keeps_rows_open && *open == row + 1) {
        system->events[MEMORY_EVENT_row_hits]++;
        return 0;
    }
    system->events[MEMORY_EVENT_row_misses]++;
    unsigned clocks = p->sdram.rcd + (*open != 0 ? p->sdram.rp : 0);
    *open = p->sdram.keeps_rows_open ? row + 1 : 0;
    return clocks;
}

static unsigned beats(const struct memory_system *system, uint64_t address, unsigned size) {
    unsigned bytes = system->parameters.sdram.bus_bits / 8;
    unsigned lead = (unsigned)(address & (bytes - 1));
    return (lead + size + bytes - 1) / bytes;
}

struct transfer {
    uint64_t first; /* when the first word's last beat is over */
    uint64_t last;  /* when all are */
};

/* The next use of the bus: it begins when the bus is free, and not before now. */
static struct transfer use_bus(struct memory_system *system, uint64_t address, unsigned size,
                               unsigned latency) {
    const struct memory_parameters *p = &system->parameters;
    uint64_t begin = system->now > system->bus_free ? system->now : system->bus_free;
    unsigned clocks = p->sdram.overhead_clocks + open_row(system, address) + latency;
    unsigned word = size < 4 ? size : 4;
    struct transfer transfer = {
        begin + (uint64_t)p->sdram.cycles_per_clock * (clocks + beats(system, address, word)),
        begin + (uint64_t)p->sdram.cycles_per_clock * (clocks + beats(system, address, size)),
    };
    system->bus_free = transfer.last;
    if (!p->sdram.keeps_rows_open) {
        system->bus_free += (uint64_t)p->sdram.cycles_per_clock * p->sdram.rp;
    }
    return transfer;
}

static struct transfer bus_read(struct memory_system *system, uint64_t address, unsigned size) {
    return use_bus(system, address, size, system->parameters.sdram.cas);
}

static uint64_t bus_write(struct memory_system *system, uint64_t address, unsigned size) {
    return use_bus(system, address, size, 0).last;
}

/* ---- the write buffer ---- */

/* The newest entry goes on its way: a transfer for each run of bytes in it. */
static void close_entry(struct memory_system *system) {
    if (system->buffered == 0 || system->buffer[system->buffered - 1].finished != 0) {
        return;
    }
    struct memory_buffer_entry *entry = &system->buffer[system->buffered - 1];
    unsigned bytes = system->parameters.write_buffer.entry_bytes, at = 0;
    while (at < bytes) {
        unsigned end = at;
        while (end < bytes && (entry->written >> end & 1)) {
            end++;
        }
        if (end > at) {
            entry->finished = bus_write(system, entry->block * bytes + at, end - at);
            system->events[MEMORY_EVENT_buffer_writes]++;
        }
        at = end + 1;
    }
}

/* Entries that have left make room. */
static void retire(struct memory_system *system) {
    unsigned gone = 0;
    while (gone < system->buffered && system->buffer[gone].finished != 0 &&
           system->buffer[gone].finished <= system->now) {
        gone++;
    }
    system->buffered -= gone;
    memmove(system->buffer, system->buffer + gone, system->buffered * sizeof system->buffer[0]);
}

static void drain(struct memory_system *system, enum memory_cause cause) {
    close_entry(system);
    if (system->buffered != 0) {
        wait_until(system, cause, system->buffer[system->buffered - 1].finished);
    }
    retire(system);
}

/* What is read must not be on its way to memory. */
static void settle(struct memory_system *system, uint64_t address, unsigned size,
                   enum memory_cause cause) {
    unsigned bytes = system->parameters.write_buffer.entry_bytes;
    for (unsigned i = 0; i < system->buffered; i++) {
        uint64_t first = system->buffer[i].block * bytes;
        if (address < first + bytes && first < address + size) {
            drain(system, cause);
            return;
        }
    }
}

static uint64_t mask_of(unsigned at, unsigned size) {
    return (size >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << size) - 1) << at;
}

/* Bytes of one entry's block. */
static void buffer_block(struct memory_system *system, uint64_t block, unsigned at, unsigned size) {
    const struct memory_parameters *p = &system->parameters;
    uint64_t full = mask_of(0, p->write_buffer.entry_bytes);
    struct memory_buffer_entry *newest =
        system->buffered != 0 ? &system->buffer[system->buffered - 1] : NULL;
    if (newest == NULL || newest->finished != 0 || newest->block != block) {
        close_entry(system);
        retire(system);
        if (system->buffered == p->write_buffer.entries) {
            wait_until(system, MEMORY_CAUSE_store, system->buffer[0].finished);
            retire(system);
        }
        newest = &system->buffer[system->buffered++];
        *newest = (struct memory_buffer_entry){block, 0, 0};
    }
    newest->written |= mask_of(at, size);
    if (!p->write_buffer.combines || newest->written == full) {
        close_entry(system);
    }
}

static void buffer_write(struct memory_system *system, uint64_t address, unsigned size) {
    unsigned bytes = system->parameters.write_buffer.entry_bytes;
    if (system->parameters.write_buffer.entries == 0) {
        wait_until(system, MEMORY_CAUSE_store, bus_write(system, address, size));
        return;
    }
    while (size != 0) {
        unsigned at = (unsigned)(address & (bytes - 1));
        unsigned part = size < bytes - at ? size : bytes - at;
        buffer_block(system, address / bytes, at, part);
        address += part;
        size -= part;
    }
}

/* ---- lines ---- */

/* A dirty line leaves: the bus takes it as soon as it can, and nobody waits for the rest. */
static void write_back(struct memory_system *system, uint64_t line, enum memory_cause cause) {
    wait_until(system, cause, system->bus_free);
    bus_write(system, line, system->parameters.dcache.line);
    system->events[MEMORY_EVENT_write_backs]++;
}

static void fill(struct memory_system *system, struct cache *cache, uint64_t address, bool streams,
                 bool dirty, enum memory_cause cause) {
    uint64_t line = cache_line_of(cache, address);
    settle(system, line, cache->line, cause);
    struct transfer transfer = bus_read(system, line, cache->line);
    struct cache_way gone = cache_fill(cache, line, dirty);
    wait_until(system, cause, streams ? transfer.first : transfer.last);
    if (gone.valid && gone.dirty) {
        bus_write(system, gone.line, cache->line);
        system->events[MEMORY_EVENT_write_backs]++;
    }
}

/* ---- what a processor does ---- */

static bool in_region(const struct memory_system *system, uint64_t address,
                      enum memory_region_kind *kind) {
    for (unsigned i = 0; i < system->parameters.region_count; i++) {
        const struct memory_region *region = &system->parameters.regions[i];
        if (address >= region->first && address <= region->last) {
            *kind = region->kind;
            return true;
        }
    }
    return false;
}

void memory_fetch(struct memory_system *system, uint64_t address, unsigned extra) {
    const struct memory_parameters *p = &system->parameters;
    unsigned cycles = p->core.cycles_per_instruction;
    cycles += (extra & MEMORY_MULTIPLIES) ? p->core.multiply_cycles : 0;
    cycles += (extra & MEMORY_USES_LOADED) ? p->core.load_use_cycles : 0;
    system->events[MEMORY_EVENT_instructions]++;
    system->transferred = 0;
    system->has_stored = false;
    uint64_t line = cache_line_of(&system->icache, address) + 1;
    if (p->icache.bytes == 0) {
        settle(system, address, 4, MEMORY_CAUSE_fetch);
        wait_until(system, MEMORY_CAUSE_fetch, bus_read(system, address, 4).last);
    } else if (system->fetched_line != line && !cache_use(&system->icache, address, false)) {
        system->events[MEMORY_EVENT_fetch_misses]++;
        fill(system, &system->icache, address, p->icache.streams, false, MEMORY_CAUSE_fetch);
    }
    system->fetched_line = line;
    pass(system, MEMORY_CAUSE_base, cycles);
}

/* Cycles beyond an instruction's own that moving so many bytes takes. */
static unsigned moving(const struct memory_system *system, unsigned bytes) {
    return bytes == 0 ? 0 : (bytes - 1) / system->parameters.core.transfer_bytes;
}

static void move(struct memory_system *system, unsigned size) {
    unsigned before = moving(system, system->transferred);
    system->transferred += size;
    pass(system, MEMORY_CAUSE_base, moving(system, system->transferred) - before);
}

static void load_from_device(struct memory_system *system) {
    drain(system, MEMORY_CAUSE_device);
    system->events[MEMORY_EVENT_device_accesses]++;
    pass(system, MEMORY_CAUSE_device, system->parameters.peripheral.read_cycles);
}

static void load_uncached(struct memory_system *system, uint64_t address, unsigned size) {
    system->events[MEMORY_EVENT_uncached_accesses]++;
    settle(system, address, size, MEMORY_CAUSE_uncached);
    wait_until(system, MEMORY_CAUSE_uncached, bus_read(system, address, size).last);
}

static void load_line(struct memory_system *system, uint64_t address, unsigned size) {
    const struct memory_parameters *p = &system->parameters;
    if (p->dcache.bytes == 0) {
        settle(system, address, size, MEMORY_CAUSE_load);
        wait_until(system, MEMORY_CAUSE_load, bus_read(system, address, size).last);
        system->events[MEMORY_EVENT_load_misses]++;
    } else if (cache_use(&system->dcache, address, false)) {
        system->events[MEMORY_EVENT_load_hits]++;
    } else {
        system->events[MEMORY_EVENT_load_misses]++;
        fill(system, &system->dcache, address, p->dcache.streams, false, MEMORY_CAUSE_load);
    }
}

void memory_load(struct memory_system *system, uint64_t address, unsigned size) {
    enum memory_region_kind kind;
    move(system, size);
    if (in_region(system, address, &kind)) {
        if (kind == MEMORY_DEVICE) {
            load_from_device(system);
        } else {
            load_uncached(system, address, size);
        }
        return;
    }
    uint64_t next = cache_line_of(&system->dcache, address) + system->dcache.line;
    load_line(system, address, size);
    if (address + size > next && system->parameters.dcache.bytes != 0) {
        load_line(system, next, size);
    }
}

static void store_uncached(struct memory_system *system, uint64_t address, unsigned size) {
    system->events[MEMORY_EVENT_uncached_accesses]++;
    if (system->parameters.write_buffer.takes_uncached) {
        buffer_write(system, address, size);
        return;
    }
    drain(system, MEMORY_CAUSE_uncached);
    wait_until(system, MEMORY_CAUSE_uncached, bus_write(system, address, size));
}

static void store_line(struct memory_system *system, uint64_t address, unsigned size) {
    const struct memory_cache_parameters *p = &system->parameters.dcache;
    if (cache_use(&system->dcache, address, p->write_back)) {
        system->events[MEMORY_EVENT_store_hits]++;
        if (!p->write_back) {
            buffer_write(system, address, size);
        }
        return;
    }
    system->events[MEMORY_EVENT_store_misses]++;
    if (p->write_allocate && p->bytes != 0) {
        fill(system, &system->dcache, address, p->streams, p->write_back, MEMORY_CAUSE_store);
    }
    if (!p->write_allocate || !p->write_back || p->bytes == 0) {
        buffer_write(system, address, size);
    }
}

void memory_store(struct memory_system *system, uint64_t address, unsigned size) {
    enum memory_region_kind kind;
    move(system, size);
    if (!system->has_stored) {
        system->has_stored = true;
        pass(system, MEMORY_CAUSE_base, system->parameters.core.store_cycles);
    }
    if (!in_region(system, address, &kind)) {
        store_line(system, address, size);
    } else if (kind == MEMORY_DEVICE) {
        drain(system, MEMORY_CAUSE_device);
        system->events[MEMORY_EVENT_device_accesses]++;
        pass(system, MEMORY_CAUSE_device, system->parameters.peripheral.write_cycles);
    } else {
        store_uncached(system, address, size);
    }
}

void memory_maintain(struct memory_system *system, uint64_t address, unsigned what) {
    uint64_t line = cache_line_of(&system->dcache, address);
    pass(system, MEMORY_CAUSE_maintenance, system->parameters.core.maintenance_cycles);
    if ((what & MEMORY_CLEAN) && cache_clean(&system->dcache, line)) {
        write_back(system, line, MEMORY_CAUSE_maintenance);
    }
    if (what & MEMORY_INVALIDATE) {
        cache_drop(&system->dcache, line);
    }
}

void memory_barrier(struct memory_system *system) {
    drain(system, MEMORY_CAUSE_maintenance);
    wait_until(system, MEMORY_CAUSE_maintenance, system->bus_free);
}
