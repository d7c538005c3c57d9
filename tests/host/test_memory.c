/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The lab's memory-cost model: caches against a slower model of themselves, and a memory
 * system against cycles reckoned by hand, which stand beside each check.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arm.h"
#include "harness.h"
#include "memory_system.h"

/* ---- a cache by itself ---- */

static struct cache cache;

static void make(unsigned bytes, unsigned ways, unsigned line, enum cache_replacement replacement) {
    expect(cache_create(&cache, bytes, ways, line, replacement));
}

/* Uses a line, fills it if it is not there; returns whether it was. */
static bool touch(uint64_t address) {
    bool hit = cache_use(&cache, address, false);
    if (!hit)
        cache_fill(&cache, address, false);
    return hit;
}

static void sizes_that_make_no_cache_are_refused(void **state) {
    (void)state;
    struct cache none;
    expect(!cache_create(&none, 16384, 4, 24, CACHE_LRU));
    expect(!cache_create(&none, 16384, 0, 32, CACHE_LRU));
    expect(!cache_create(&none, 16384, 3, 32, CACHE_LRU));
    expect(!cache_create(&none, 96, 1, 32, CACHE_LRU));
}

static void a_cache_of_no_bytes_is_off(void **state) {
    (void)state;
    make(0, 4, 32, CACHE_LRU);
    expect(!touch(0) && !touch(0));
    expect(!cache_clean(&cache, 0) && !cache_drop(&cache, 0).valid);
    cache_destroy(&cache);
}

/* Two sets of two ways, 16 bytes a line: 0, 32, 64, 96 meet in set 0. */
static void the_least_recently_used_goes(void **state) {
    (void)state;
    make(64, 2, 16, CACHE_LRU);
    expect(!touch(0) && !touch(32) && touch(15));
    expect(cache_fill(&cache, 64, false).line == 32);
    expect(touch(0) && !touch(32) && touch(0) && !touch(64));
    expect(!touch(16) && touch(0)); /* the other set is another */
    cache_destroy(&cache);
}

static void first_in_first_out_takes_no_heed_of_use(void **state) {
    (void)state;
    make(64, 2, 16, CACHE_FIFO);
    expect(!touch(0) && !touch(32) && touch(0));
    expect(cache_fill(&cache, 64, false).line == 0);
    expect(touch(32) && touch(64) && !touch(0));
    cache_destroy(&cache);
}

static void three_lines_in_turn_never_meet_in_two_ways(void **state) {
    (void)state;
    make(64, 2, 16, CACHE_LRU);
    for (unsigned i = 0; i < 30; i++)
        expect(!touch(i % 3 * 32));
    cache_destroy(&cache);
}

static void what_is_dirty_is_said_when_it_goes(void **state) {
    (void)state;
    make(32, 2, 16, CACHE_LRU);
    cache_fill(&cache, 0, false);
    expect(cache_use(&cache, 4, true));
    cache_fill(&cache, 16, false);
    struct cache_way gone = cache_fill(&cache, 32, true);
    expect(gone.valid && gone.dirty && gone.line == 0);
    gone = cache_fill(&cache, 48, false);
    expect(gone.valid && !gone.dirty && gone.line == 16);
    expect(cache_clean(&cache, 32) && !cache_clean(&cache, 32));
    expect(cache_use(&cache, 32, true) && cache_drop(&cache, 47).dirty);
    expect(!cache_drop(&cache, 32).valid && !cache_use(&cache, 32, false));
    cache_destroy(&cache);
}

/* A line that was let go is the next to be taken, whatever its place. */
static void an_invalid_way_goes_first(void **state) {
    (void)state;
    make(64, 4, 16, CACHE_LRU);
    for (unsigned i = 0; i < 4; i++)
        expect(!touch(i * 16));
    cache_drop(&cache, 48); /* the newest */
    expect(!cache_fill(&cache, 64, false).valid);
    expect(touch(0) && touch(16) && touch(32) && touch(64));
    cache_destroy(&cache);
}

enum { MODEL_LINES = 64 };

/* As slow as it is plain: every line has the time of its last use. */
static void like_a_model_with_times(void **state) {
    (void)state;
    struct random random = {1};
    uint64_t used[MODEL_LINES] = {0}; /* by line; 0: not held */
    make(512, 4, 32, CACHE_LRU);      /* four sets */
    for (uint64_t now = 1; now < 20000; now++) {
        unsigned line = random_below(&random, MODEL_LINES);
        if (random_below(&random, 8) == 0) {
            expect(cache_drop(&cache, line * 32).valid == (used[line] != 0));
            used[line] = 0;
            continue;
        }
        unsigned held = 0, oldest = line;
        for (unsigned other = line % 4; other < MODEL_LINES; other += 4) {
            held += used[other] != 0;
            if (used[other] && (oldest == line || used[other] < used[oldest]))
                oldest = other;
        }
        expect(cache_use(&cache, line * 32 + 5, false) == (used[line] != 0));
        if (!used[line]) {
            struct cache_way gone = cache_fill(&cache, line * 32, false);
            expect(gone.valid == (held == 4));
            if (gone.valid) {
                expect_equal(gone.line, oldest * 32);
                used[oldest] = 0;
            }
        }
        used[line] = now;
    }
    cache_destroy(&cache);
}

/* ---- a memory system ---- */

static struct memory_system memory;

/* As the AP7000's, with what these checks do not want left at nothing. */
static struct memory_parameters ordinary(void) {
    return (struct memory_parameters){
        .core = {.cycles_per_instruction = 1, .transfer_bytes = 8},
        .icache = {.bytes = 1024, .ways = 2, .line = 32},
        .dcache = {.bytes = 1024, .ways = 2, .line = 32, .write_back = true},
        .write_buffer = {.entries = 1, .entry_bytes = 32, .combines = true},
        .sdram = {.cycles_per_clock = 2,
                  .overhead_clocks = 2,
                  .cas = 3,
                  .rcd = 2,
                  .rp = 2,
                  .row_bytes = 1024,
                  .banks = 4,
                  .bus_bits = 32,
                  .keeps_rows_open = true},
        .peripheral = {.read_cycles = 10, .write_cycles = 7},
        .region_count = 2,
        .regions = {{0x10000, 0x1FFFF, MEMORY_UNCACHED}, {0x20000, 0x2FFFF, MEMORY_DEVICE}},
    };
}

static void begin(const struct memory_parameters *parameters) {
    memory_system_destroy(&memory);
    expect(memory_system_create(&memory, parameters));
}

/* What a load, a store took. */
static uint64_t load(uint64_t address, unsigned size) {
    uint64_t before = memory.now;
    memory.transferred = 0;
    memory_load(&memory, address, size);
    return memory.now - before;
}

static uint64_t store(uint64_t address, unsigned size) {
    uint64_t before = memory.now;
    memory.transferred = 0;
    memory.has_stored = false;
    memory_store(&memory, address, size);
    return memory.now - before;
}

static uint64_t fetch(uint64_t address) {
    uint64_t before = memory.now;
    memory_fetch(&memory, address, MEMORY_PLAIN);
    return memory.now - before;
}

static void a_line_takes_its_row_its_column_and_its_beats(void **state) {
    (void)state;
    struct memory_parameters p = ordinary();
    begin(&p);
    expect_equal(load(0x100, 4), 2 * (2 + 2 + 3 + 8)); /* no row was open */
    expect_equal(load(0x11C, 4), 0);
    expect_equal(load(0x11E, 2), 0);
    expect_equal(load(0x120, 4), 2 * (2 + 3 + 8));          /* the row is */
    expect_equal(load(0x1100, 4), 2 * (2 + 2 + 2 + 3 + 8)); /* another one of the bank is */
    expect_equal(load(0x500, 4), 2 * (2 + 2 + 3 + 8));      /* the next bank */
    expect_equal(memory.events[MEMORY_EVENT_row_hits], 1);
    expect_equal(memory.events[MEMORY_EVENT_load_misses], 4);
    expect_equal(load(0x13E, 4), 2 * (2 + 2 + 2 + 3 + 8)); /* half of it lies on the next line */
    p.sdram.bus_bits = 16;
    begin(&p);
    expect_equal(load(0x100, 4), 2 * (2 + 2 + 3 + 16));
    p.sdram.keeps_rows_open = false;
    begin(&p);
    expect_equal(load(0x100, 4), 2 * (2 + 2 + 3 + 16));
    expect_equal(load(0x120, 4), 2 * (2 + 2 + 2 + 3 + 16)); /* behind the precharge */
}

static void memory_off_the_cache_is_read_each_time(void **state) {
    (void)state;
    struct memory_parameters p = ordinary();
    begin(&p);
    expect_equal(load(0x10000, 4), 2 * (2 + 2 + 3 + 1));
    expect_equal(load(0x10000, 4), 2 * (2 + 3 + 1));
    expect_equal(load(0x10001, 1), 2 * (2 + 3 + 1));
    expect_equal(store(0x10000, 4), 2 * (2 + 1));
    expect_equal(load(0x20000, 4), 10);
    expect_equal(store(0x20000, 4), 7);
    p.sdram.bus_bits = 16;
    p.write_buffer.takes_uncached = true;
    begin(&p);
    expect_equal(load(0x10000, 4), 2 * (2 + 2 + 3 + 2));
    expect_equal(store(0x10000, 4), 0);
    expect_equal(load(0x10000, 4), 2 * (2 + 2) + 2 * (2 + 3 + 2)); /* it has to leave first */
    expect_equal(load(0x20000, 4), 10);
}

static void a_write_buffer_takes_a_run_and_holds_up_the_next(void **state) {
    (void)state;
    struct memory_parameters p = ordinary();
    begin(&p);
    expect_equal(store(0x100, 4), 0);
    expect_equal(store(0x104, 4), 0);
    expect_equal(store(0x200, 4), 2 * (2 + 2 + 2)); /* two words leave, nobody helps them */
    expect_equal(memory.events[MEMORY_EVENT_buffer_writes], 1);
    for (unsigned i = 1; i < 8; i++)
        expect_equal(store(0x200 + 4 * i, 4), 0); /* and goes when it is full */
    expect_equal(memory.events[MEMORY_EVENT_buffer_writes], 2);
    memory.now += 2 * (2 + 8); /* it has left meanwhile */
    expect_equal(store(0x300, 4), 0);
}

static void a_second_entry_lets_one_leave_while_one_is_filled(void **state) {
    (void)state;
    struct memory_parameters p = ordinary();
    p.write_buffer.entries = 2;
    begin(&p);
    expect_equal(store(0x100, 4), 0);
    expect_equal(store(0x200, 4), 0);               /* the first leaves: 2 * (2 + 2 + 1) */
    expect_equal(store(0x300, 4), 2 * (2 + 2 + 1)); /* now two would be behind it */
    memory.now += 3;
    expect_equal(store(0x400, 4), 2 * (2 + 1) - 3); /* 0x200 left from then on, its row open */
}

static void bytes_apart_in_one_entry_are_transfers_apart(void **state) {
    (void)state;
    struct memory_parameters p = ordinary();
    begin(&p);
    expect_equal(store(0x100, 1), 0);
    expect_equal(store(0x110, 2), 0);
    expect_equal(store(0x200, 4), 2 * (2 + 2 + 1) + 2 * (2 + 1));
    expect_equal(memory.events[MEMORY_EVENT_buffer_writes], 2);
}

static void what_does_not_combine_leaves_at_once(void **state) {
    (void)state;
    struct memory_parameters p = ordinary();
    p.write_buffer.combines = false;
    begin(&p);
    expect_equal(store(0x100, 4), 0);
    expect_equal(store(0x104, 4), 2 * (2 + 2 + 1));
    p.write_buffer.entries = 0;
    begin(&p);
    expect_equal(store(0x100, 4), 2 * (2 + 2 + 1));
}

static void what_is_in_the_buffer_leaves_before_it_is_read(void **state) {
    (void)state;
    struct memory_parameters p = ordinary();
    begin(&p);
    expect_equal(store(0x100, 4), 0);
    expect_equal(load(0x11C, 4), 2 * (2 + 2 + 1) + 2 * (2 + 3 + 8));
    expect_equal(store(0x900, 4), 0);
    expect_equal(load(0x140, 4), 2 * (2 + 3 + 8)); /* it is of another line */
}

static void a_dirty_line_leaves_behind_the_fill(void **state) {
    (void)state;
    struct memory_parameters p = ordinary();
    begin(&p); /* 16 sets: 0, 0x200, 0x400 meet */
    load(0, 4);
    expect_equal(store(0, 4), 0);
    load(0x200, 4);
    expect_equal(load(0x400, 4), 2 * (2 + 2 + 3 + 8)); /* another bank */
    expect_equal(memory.events[MEMORY_EVENT_write_backs], 1);
    /* The write of line 0, its row open, is still on the bus. */
    expect_equal(load(0x420, 4), 2 * (2 + 8) + 2 * (2 + 3 + 8));
    expect_equal(load(0x200, 4), 0);
}

static void maintenance_writes_what_is_dirty_and_forgets_the_rest(void **state) {
    (void)state;
    struct memory_parameters p = ordinary();
    p.core.maintenance_cycles = 3;
    begin(&p);
    load(0, 4);
    store(4, 4);
    uint64_t before = memory.now;
    memory_maintain(&memory, 8, MEMORY_CLEAN);
    expect_equal(memory.now - before, 3);
    memory_barrier(&memory);
    expect_equal(memory.now - before, 3 + 2 * (2 + 8));
    before = memory.now;
    memory_maintain(&memory, 8, MEMORY_CLEAN); /* no longer dirty */
    memory_barrier(&memory);
    expect_equal(memory.now - before, 3);
    expect_equal(load(0, 4), 0);
    store(0, 4);
    memory_maintain(&memory, 0, MEMORY_INVALIDATE); /* what was written is lost */
    expect_equal(memory.events[MEMORY_EVENT_write_backs], 1);
    expect_equal(load(0, 4), 2 * (2 + 3 + 8));
}

static void a_barrier_waits_for_the_buffer(void **state) {
    (void)state;
    struct memory_parameters p = ordinary();
    begin(&p);
    store(0, 4);
    memory_barrier(&memory);
    expect_equal(memory.cycles[MEMORY_CAUSE_maintenance], 2 * (2 + 2 + 1));
}

static void a_cache_written_through_is_never_dirty(void **state) {
    (void)state;
    struct memory_parameters p = ordinary();
    p.dcache.write_back = false;
    begin(&p);
    load(0, 4);
    expect_equal(store(0, 4), 0);
    expect_equal(memory.events[MEMORY_EVENT_store_hits], 1);
    expect_equal(store(0x100, 4), 2 * (2 + 1)); /* behind the first, whose row is open */
    load(0x200, 4);
    load(0x400, 4);
    expect_equal(memory.events[MEMORY_EVENT_write_backs], 0);
}

static void a_store_that_misses_takes_a_line_only_where_it_is_to(void **state) {
    (void)state;
    struct memory_parameters p = ordinary();
    begin(&p);
    store(0, 4);
    expect(!cache_use(&memory.dcache, 0, false));
    p.dcache.write_allocate = true;
    begin(&p);
    expect_equal(store(0, 4), 2 * (2 + 2 + 3 + 8));
    expect(cache_clean(&memory.dcache, 0));
}

static void instructions_come_by_line(void **state) {
    (void)state;
    struct memory_parameters p = ordinary();
    begin(&p);
    expect_equal(fetch(0), 2 * (2 + 2 + 3 + 8) + 1);
    for (unsigned i = 1; i < 8; i++)
        expect_equal(fetch(4 * i), 1);
    expect_equal(fetch(0x20), 2 * (2 + 3 + 8) + 1);
    expect_equal(fetch(0), 1);
    expect_equal(memory.events[MEMORY_EVENT_fetch_misses], 2);
    p.icache.streams = true;
    begin(&p);
    expect_equal(fetch(0), 2 * (2 + 2 + 3 + 1) + 1);
    expect_equal(load(0x40, 4), 2 * 7 - 1 + 2 * (2 + 3 + 8)); /* the rest of the line first */
    p.icache.bytes = 0;
    begin(&p);
    expect_equal(fetch(0), 2 * (2 + 2 + 3 + 1) + 1);
    expect_equal(fetch(4), 2 * (2 + 3 + 1) + 1);
    expect_equal(fetch(4), 2 * (2 + 3 + 1) + 1);
}

static void an_instruction_that_moves_much_takes_more_cycles(void **state) {
    (void)state;
    struct memory_parameters p = ordinary();
    p.core.store_cycles = 1;
    p.core.multiply_cycles = 2;
    p.core.load_use_cycles = 1;
    begin(&p);
    load(0, 4);
    fetch(0);
    uint64_t before = memory.now;
    memory_fetch(&memory, 0, MEMORY_PLAIN);
    for (unsigned i = 0; i < 8; i++)
        memory_load(&memory, 4 * i, 4);
    expect_equal(memory.now - before, 1 + 3); /* 32 bytes, 8 a cycle */
    before = memory.now;
    memory_fetch(&memory, 4, MEMORY_MULTIPLIES | MEMORY_USES_LOADED);
    expect_equal(memory.now - before, 1 + 2 + 1);
    before = memory.now;
    memory_fetch(&memory, 4, MEMORY_PLAIN);
    memory_store(&memory, 0, 4);
    memory_store(&memory, 4, 4);
    memory_store(&memory, 8, 4);
    expect_equal(memory.now - before, 1 + 1 + 1);
}

static void without_a_data_cache_each_load_is_the_buss(void **state) {
    (void)state;
    struct memory_parameters p = ordinary();
    p.dcache.bytes = 0;
    begin(&p);
    expect_equal(load(0, 4), 2 * (2 + 2 + 3 + 1));
    expect_equal(load(0, 4), 2 * (2 + 3 + 1));
    expect_equal(store(0, 4), 0);
    expect_equal(memory.events[MEMORY_EVENT_write_backs], 0);
}

/* Whatever happens, time is the sum of what it went to. */
static void time_is_the_sum_of_its_causes(void **state) {
    (void)state;
    struct random random = {2};
    for (unsigned trial = 0; trial < 40; trial++) {
        struct memory_parameters p = ordinary();
        p.sdram.bus_bits = trial & 1 ? 16 : 32;
        p.dcache.write_back = trial & 2;
        p.dcache.write_allocate = trial & 4;
        p.sdram.keeps_rows_open = trial & 8;
        p.write_buffer.combines = trial & 16;
        p.write_buffer.entries = trial % 3;
        p.write_buffer.entry_bytes = trial & 32 ? 64 : 8;
        p.dcache.replacement = (enum cache_replacement)(trial % 3);
        begin(&p);
        for (unsigned i = 0; i < 3000; i++) {
            uint64_t before = memory.now, address = random_below(&random, 0x22000);
            unsigned what = random_below(&random, 16), size = 1U << random_below(&random, 4);
            address &= ~(uint64_t)(size - 1);
            if (what < 6)
                memory_fetch(&memory, address, MEMORY_PLAIN);
            else if (what < 10)
                memory_load(&memory, address, size);
            else if (what < 14)
                memory_store(&memory, address, size);
            else if (what == 14)
                memory_maintain(&memory, address, random_below(&random, 4));
            else
                memory_barrier(&memory);
            uint64_t sum = 0;
            for (unsigned cause = 0; cause < MEMORY_CAUSE_COUNT; cause++)
                sum += memory.cycles[cause];
            expect(memory.now >= before && sum == memory.now);
            expect(memory.buffered <= p.write_buffer.entries);
        }
    }
}

/* ---- instructions ---- */

#define R(number) (1U << (number))

static void what_loads_last_and_what_is_read(void **state) {
    (void)state;
    static const struct {
        uint32_t word, loaded, read;
        const char *text;
    } known[] = {
        {0xE5901000, R(1), R(0), "ldr r1, [r0]"},
        {0xE7D21003, R(1), R(2) | R(3), "ldrb r1, [r2, r3]"},
        {0xE1D430B2, R(3), R(4), "ldrh r3, [r4, #2]"},
        {0xE19430D5, R(3), R(4) | R(5), "ldrsb r3, [r4, r5]"},
        {0xE1C040D8, R(5), R(0), "ldrd r4, r5, [r0, #8]"},
        {0xE1C040F8, 0, R(0) | R(4) | R(5), "strd r4, r5, [r0, #8]"},
        {0xE8900C1E, R(11), R(0), "ldm r0, {r1-r4, sl, fp}"},
        {0xE880000E, 0, R(0) | R(1) | R(2) | R(3), "stm r0, {r1-r3}"},
        {0xE5821000, 0, R(1) | R(2), "str r1, [r2]"},
        {0xE1C210B0, 0, R(1) | R(2), "strh r1, [r2]"},
        {0xE0812003, 0, R(1) | R(3), "add r2, r1, r3"},
        {0xE0812413, 0, R(1) | R(3) | R(4), "add r2, r1, r3, lsl r4"},
        {0xE2812001, 0, R(1), "add r2, r1, #1"},
        {0xE1A02001, 0, R(1), "mov r2, r1"},
        {0xE3A02001, 0, 0, "mov r2, #1"},
        {0xE0020391, 0, R(1) | R(3), "mul r2, r1, r3"},
        {0xE12FFF1E, 0, R(14), "bx lr"},
        {0xE6FF1070, 0, 0, "uxth r1, r0"},
        {0xEAFFFFFE, 0, 0, "b ."},
        {0xF5D0F000, 0, 0, "pld [r0]"},
    };
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++)
        if (arm_loaded(known[i].word) != known[i].loaded ||
            arm_read(known[i].word) != known[i].read)
            fail_msg("%s: loads %x, reads %x", known[i].text, arm_loaded(known[i].word),
                     arm_read(known[i].word));
    expect(arm_is_multiplication(0xE0020391) && arm_is_multiplication(0xE0843291)); /* umull */
    expect(!arm_is_multiplication(0xE0812003) && !arm_is_multiplication(0xE1D430B2));
}

static void maintenance_barriers_and_witnesses(void **state) {
    (void)state;
    expect_equal(arm_maintenance(0xEE073F36), ARM_INVALIDATE);
    expect_equal(arm_maintenance(0xEE070F3A), ARM_CLEAN);
    expect_equal(arm_maintenance(0xEE072F3E), ARM_CLEAN | ARM_INVALIDATE);
    expect_equal(arm_maintenance(0xEE073F56), ARM_NO_MAINTENANCE); /* by set and way */
    expect(arm_is_write_barrier(0xF57FF04F) && arm_is_write_barrier(0xF57FF05E)); /* dsb, dmb st */
    expect(!arm_is_write_barrier(0xF57FF05F) && !arm_is_write_barrier(0xF57FF06F)); /* dmb, isb */
    expect(arm_is_witness(0xE4F3C000) && !arm_is_witness(0xE4D3C001)); /* ldrbt, ldrb */
}

/* ---- parameters from a file ---- */

static const char good[] = "core.cycles_per_instruction 1\ncore.multiply_cycles 0\n"
                           "core.load_use_cycles 0\ncore.store_cycles 0\ncore.transfer_bytes 8\n"
                           "core.maintenance_cycles 0\n"
                           "icache.bytes 16384\nicache.ways 4\nicache.line 32\n"
                           "icache.replacement lru\nicache.streams true\n"
                           "dcache.bytes 8192\ndcache.ways 2\ndcache.line 16\n"
                           "dcache.replacement random\ndcache.streams false\n"
                           "dcache.write_back true\ndcache.write_allocate false\n"
                           "write_buffer.entries 1\nwrite_buffer.entry_bytes 32\n"
                           "write_buffer.combines true\nwrite_buffer.takes_uncached false\n"
                           "sdram.cycles_per_clock 2\nsdram.overhead_clocks 2\nsdram.cas 3\n"
                           "sdram.rcd 2\nsdram.rp 2\nsdram.row_bytes 1024\nsdram.banks 4\n"
                           "sdram.bus_bits 16\nsdram.keeps_rows_open true\n"
                           "peripheral.read_cycles 10\nperipheral.write_cycles 9\n"
                           "region uncached 1000000 10fffff\n";

static bool reads(const char *text, struct memory_parameters *parameters, char *complaint) {
    char path[] = "/tmp/plumb-memory-XXXXXX";
    int file = mkstemp(path);
    expect(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    close(file);
    bool is_good = memory_parameters_read(parameters, path, complaint, 80);
    unlink(path);
    return is_good;
}

static void parameters_are_all_there_once_and_understood(void **state) {
    (void)state;
    struct memory_parameters p;
    char complaint[80] = "", text[sizeof good + 80];
    expect(reads(good, &p, complaint));
    expect(p.icache.streams && !p.dcache.streams && p.dcache.replacement == CACHE_RANDOM);
    expect(p.sdram.bus_bits == 16 && p.peripheral.write_cycles == 9 && p.dcache.ways == 2);
    expect(p.region_count == 1 && p.regions[0].last == 0x10FFFFF);

    static const char *const bad[] = {"sdram.cas 3\n", "sdram.cheap 1\n", "region warm 0 1\n",
                                      "region uncached 2 1\n", "nonsense\n"};
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        snprintf(text, sizeof text, "%s%s", good, bad[i]);
        expect(!reads(text, &p, complaint) && strncmp(complaint, "not understood: ", 16) == 0);
    }
    expect(!reads(good + sizeof "core.cycles_per_instruction 1\n" - 1, &p, complaint));
    assert_string_equal(complaint, "lacks core.cycles_per_instruction");
    expect(!reads("core.multiply_cycles -1\n", &p, complaint));
    expect(!reads("icache.streams maybe\n", &p, complaint));
    expect(!memory_parameters_read(&p, "/nonexistent", complaint, 80));
}

static void parameters_that_make_no_sense_are_refused(void **state) {
    (void)state;
    struct memory_parameters p = ordinary();
    p.sdram.bus_bits = 24;
    expect(!memory_system_create(&memory, &p));
    p = ordinary();
    p.sdram.banks = MEMORY_BANKS_MAX + 1;
    expect(!memory_system_create(&memory, &p));
    p = ordinary();
    p.write_buffer.entry_bytes = 2 * MEMORY_BUFFER_MAX;
    expect(!memory_system_create(&memory, &p));
    p = ordinary();
    p.dcache.ways = 3;
    expect(!memory_system_create(&memory, &p));
    memory_system_destroy(&memory);
}

static int end(void **state) {
    (void)state;
    memory_system_destroy(&memory);
    return 0;
}

#define SYSTEM_TEST(name) cmocka_unit_test_teardown(name, end)

HARNESS_MAIN(cmocka_unit_test(sizes_that_make_no_cache_are_refused),
             cmocka_unit_test(a_cache_of_no_bytes_is_off),
             cmocka_unit_test(the_least_recently_used_goes),
             cmocka_unit_test(first_in_first_out_takes_no_heed_of_use),
             cmocka_unit_test(three_lines_in_turn_never_meet_in_two_ways),
             cmocka_unit_test(what_is_dirty_is_said_when_it_goes),
             cmocka_unit_test(an_invalid_way_goes_first), cmocka_unit_test(like_a_model_with_times),
             SYSTEM_TEST(a_line_takes_its_row_its_column_and_its_beats),
             SYSTEM_TEST(memory_off_the_cache_is_read_each_time),
             SYSTEM_TEST(a_write_buffer_takes_a_run_and_holds_up_the_next),
             SYSTEM_TEST(a_second_entry_lets_one_leave_while_one_is_filled),
             SYSTEM_TEST(bytes_apart_in_one_entry_are_transfers_apart),
             SYSTEM_TEST(what_does_not_combine_leaves_at_once),
             SYSTEM_TEST(what_is_in_the_buffer_leaves_before_it_is_read),
             SYSTEM_TEST(a_dirty_line_leaves_behind_the_fill),
             SYSTEM_TEST(maintenance_writes_what_is_dirty_and_forgets_the_rest),
             SYSTEM_TEST(a_barrier_waits_for_the_buffer),
             SYSTEM_TEST(a_cache_written_through_is_never_dirty),
             SYSTEM_TEST(a_store_that_misses_takes_a_line_only_where_it_is_to),
             SYSTEM_TEST(instructions_come_by_line),
             SYSTEM_TEST(an_instruction_that_moves_much_takes_more_cycles),
             SYSTEM_TEST(without_a_data_cache_each_load_is_the_buss),
             SYSTEM_TEST(time_is_the_sum_of_its_causes),
             cmocka_unit_test(what_loads_last_and_what_is_read),
             cmocka_unit_test(maintenance_barriers_and_witnesses),
             cmocka_unit_test(parameters_are_all_there_once_and_understood),
             SYSTEM_TEST(parameters_that_make_no_sense_are_refused))
