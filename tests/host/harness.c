/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Worlds in virtual time, counters, captures and the tests' main: see harness.h. */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <plumb_config.h>

/* More turns than this without time passing are a loop that never ends. */
#define TURNS_MOST 200000

struct side_memory {
    PLUMB_STACK_MEMORY(stack);
    struct plumb_packet segments[WORLD_SEGMENTS], headers[WORLD_HEADERS],
        references[WORLD_REFERENCES], receive[WORLD_RECEIVE];
    _Alignas(PLUMB_DMA_LINE) uint8_t segment_bytes[WORLD_SEGMENTS][WORLD_BUFFER];
    _Alignas(PLUMB_DMA_LINE) uint8_t header_bytes[WORLD_HEADERS][WORLD_SMALL];
    _Alignas(PLUMB_DMA_LINE) uint8_t receive_bytes[WORLD_RECEIVE][WORLD_BUFFER];
};

struct world_memory {
    struct side_memory side[2];
    struct plumb_wire_frame frames[WORLD_FRAMES];
};

static const char *pcap_path;
static FILE *pcap_file;
static const char *test_only;
static struct world *live_worlds;
static struct world_memory *spare; /* of the last one ended: another makes no pages anew */

/* ---- capture ---- */

static void pcap_word(uint32_t value) {
    fwrite(&value, sizeof value, 1, pcap_file);
}

static void pcap_begin(void) {
    pcap_file = fopen(pcap_path, "wb");
    if (!pcap_file) {
        perror(pcap_path);
        exit(1);
    }
    static const uint32_t header[] = {0xa1b2c3d4, 2 | 4U << 16, 0, 0, 65535, 1};
    for (unsigned i = 0; i < 6; i++)
        pcap_word(header[i]);
}

static void pcap_observe(struct plumb_netif *netif, const struct plumb_packet *packet, bool sent,
                         void *context) {
    const struct world *world = context;
    (void)netif;
    (void)sent;
    pcap_word((uint32_t)(world->now_us / SECOND));
    pcap_word((uint32_t)(world->now_us % SECOND));
    pcap_word(packet->total);
    pcap_word(packet->total);
    for (const struct plumb_packet *f = packet; f; f = f->more)
        fwrite(f->data, 1, f->length, pcap_file);
    fflush(pcap_file);
}

/* ---- worlds ---- */

plumb_ipv4 ipv4_of(uint32_t address) {
    return plumb_put32(address);
}

struct plumb_endpoint endpoint_of(uint32_t address, uint16_t port) {
    return (struct plumb_endpoint){.address = ipv4_of(address), .port = port};
}

static void pools_create(struct side *side, struct side_memory *memory,
                         const struct world_options *options) {
    uint16_t receive = options->receive_count ? options->receive_count : WORLD_RECEIVE;
    uint16_t segments = options->segment_count ? options->segment_count : WORLD_SEGMENTS;
    assert_int_equal(plumb_pool_create(&side->segments, memory->segments, memory->segment_bytes,
                                       segments, WORLD_BUFFER, 0),
                     PLUMB_OK);
    assert_int_equal(plumb_pool_create(&side->headers, memory->headers, memory->header_bytes,
                                       WORLD_HEADERS, WORLD_SMALL, 0),
                     PLUMB_OK);
    assert_int_equal(
        plumb_pool_create(&side->references, memory->references, 0, WORLD_REFERENCES, 0, 0),
        PLUMB_OK);
    assert_int_equal(plumb_pool_create(&side->receive, memory->receive, memory->receive_bytes,
                                       receive, WORLD_BUFFER, 0),
                     PLUMB_OK);
}

static void side_create(struct world *world, unsigned index, struct side_memory *memory,
                        const struct world_options *options) {
    struct side *side = index ? &world->b : &world->a;
    struct plumb_options create = {
        .seed = {options->seed * 2 + index + 1, 0x0123456789abcdefU},
        .segments = &side->segments,
        .headers = &side->headers,
        .references = &side->references,
    };
    assert_int_equal(plumb_create(&side->stack, memory->stack, sizeof memory->stack, &create),
                     PLUMB_OK);
    side->end = &world->wire.end[index];
    side->netif = &side->end->netif;
    assert_int_equal(plumb_netif_attach(side->stack, side->netif), PLUMB_OK);
    if (pcap_path && !index) {
        if (!pcap_file)
            pcap_begin();
        plumb_netif_observe(side->netif, pcap_observe, world);
    }
    if (!options->unconfigured)
        assert_int_equal(plumb_netif_set_ipv4(side->netif, ipv4_of(side->address),
                                              ipv4_of(0xffffff00U),
                                              options->gateway ? ipv4_of(FRAME_IPV4(10, 0, 0, 254))
                                                               : PLUMB_IPV4_ANY),
                         PLUMB_OK);
}

static struct world *world_create(const struct world_options *given, bool single) {
    struct world_options options = {0};
    if (given)
        options = *given;
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->next = live_worlds;
    live_worlds = world;
    world->memory =
        spare ? spare : aligned_alloc(PLUMB_DMA_LINE, PLUMB_DMA_WHOLE_LINES(sizeof *world->memory));
    spare = NULL;
    assert_non_null(world->memory);
    world->single = single;
    world->now_us = options.start_us ? options.start_us : SECOND;
    struct plumb_wire_end_options ends[2];
    for (unsigned i = 0; i < 2; i++) {
        struct side *side = i ? &world->b : &world->a;
        uint8_t ethernet[6] = {2, 0, 0, 0, 0, (uint8_t)(1 + i)};
        memcpy(side->ethernet, ethernet, 6);
        side->address = FRAME_IPV4(10, 0, 0, 1 + i);
        pools_create(side, &world->memory->side[i], &options);
        ends[i] = (struct plumb_wire_end_options){
            .name = i ? "wire1" : "wire0",
            .address = plumb_ethernet_address(ethernet),
            .pool = &side->receive,
            .mtu = options.mtu,
            .fragment = options.fragment,
            .landing = TEST_LANDING, /* how this program was built */
            .capabilities = options.capabilities,
        };
    }
    assert_int_equal(plumb_wire_create(&world->wire, world->memory->frames, WORLD_FRAMES,
                                       options.seed + 7, ends),
                     PLUMB_OK);
    for (unsigned i = 0; i < (single ? 1U : 2U); i++) {
        side_create(world, i, &world->memory->side[i], &options);
        plumb_wire_set_faults(&world->wire.end[i], &options.faults);
    }
    return world;
}

struct world *world_pair(const struct world_options *options) {
    struct world *world = world_create(options, false);
    world_settle(world);
    return world;
}

struct world *world_single(const struct world_options *options) {
    struct world *world = world_create(options, true);
    world_settle(world);
    world_drain(world);
    return world;
}

static void pool_expect_full(const struct plumb_pool *pool, const char *name) {
    if (pool->free_count != pool->count)
        fail_msg("pool %s leaks %d of %d packets", name, pool->count - pool->free_count,
                 pool->count);
}

static void side_end(struct side *side) {
    if (!side->stack)
        return;
    plumb_destroy(side->stack);
    pool_expect_full(&side->segments, "segments");
    pool_expect_full(&side->headers, "headers");
    pool_expect_full(&side->references, "references");
    pool_expect_full(&side->receive, "receive");
    expect_equal(side->end->statistics.changed, 0);
}

static void world_free(struct world *world) {
    struct world **link = &live_worlds;
    while (*link != world)
        link = &(*link)->next;
    *link = world->next;
    free(spare);
    spare = world->memory;
    free(world);
}

void world_end(struct world *world) {
    side_end(&world->a);
    side_end(&world->b);
    world_free(world);
}

static uint64_t next_time(const struct world *world) {
    uint64_t next = world->a.deadline;
    if (!world->single) {
        uint64_t due = plumb_wire_due(&world->wire);
        if (world->b.deadline < next)
            next = world->b.deadline;
        if (due < next)
            next = due;
    } else if (world->a.end->arrives && world->a.end->arrives->due_us < next) {
        next = world->a.end->arrives->due_us;
    }
    return next;
}

void world_settle(struct world *world) {
    unsigned turns = 0;
    do {
        world->a.deadline = plumb_poll(world->a.stack, world->now_us);
        if (!world->single)
            world->b.deadline = plumb_poll(world->b.stack, world->now_us);
        if (world->turn)
            world->turn(world, world->context);
        if (++turns > TURNS_MOST)
            fail_msg("%d turns at %llu us: no end", TURNS_MOST, (unsigned long long)world->now_us);
    } while (next_time(world) <= world->now_us);
}

void world_run(struct world *world, uint64_t us) {
    uint64_t end = world->now_us + us;
    world_settle(world);
    while (world->now_us < end) {
        uint64_t next = next_time(world);
        world->now_us = next < end ? next : end;
        world_settle(world);
    }
}

bool world_run_until(struct world *world, bool (*done)(void *context), void *context,
                     uint64_t limit_us) {
    uint64_t end = world->now_us + limit_us;
    world_settle(world);
    while (!done(context)) {
        uint64_t next = next_time(world);
        if (world->now_us >= end)
            return false;
        world->now_us = next < end ? next : end;
        world_settle(world);
    }
    return true;
}

struct frame_path world_path(const struct world *world, uint16_t from_port, uint16_t to_port) {
    struct frame_path path = {
        .from = world->b.address,
        .to = world->a.address,
        .from_port = from_port,
        .to_port = to_port,
    };
    memcpy(path.from_ethernet, world->b.ethernet, 6);
    memcpy(path.to_ethernet, world->a.ethernet, 6);
    return path;
}

void world_inject(struct world *world, const struct frame *frame) {
    assert_int_equal(plumb_wire_inject(world->a.end, frame->bytes, frame->length), PLUMB_OK);
    world_settle(world);
}

struct frame *world_collect_any(struct world *world) {
    struct frame *frame = &world->collected;
    frame->length = plumb_wire_collect(&world->wire.end[1], world->now_us, frame->bytes);
    if (!frame->length)
        return 0;
    frame->network = FRAME_NETWORK;
    frame->transport = (uint16_t)(FRAME_NETWORK + (frame->bytes[FRAME_NETWORK] & 15) * 4);
    if (!frame_checksums_good(frame))
        fail_msg("a frame with a wrong checksum was sent");
    return frame;
}

struct frame *world_collect(struct world *world) {
    struct frame *frame;
    while ((frame = world_collect_any(world))) {
        bool request = frame_get16(frame, 12) == 0x0806 && frame_get16(frame, 20) == 1;
        if (!request || frame_get32(frame, 38) != world->b.address)
            return frame;
        struct frame reply;
        frame_arp(&reply, world->a.ethernet, 2, world->b.ethernet, world->b.address,
                  world->a.ethernet, world->a.address);
        world_inject(world, &reply);
    }
    return 0;
}

void world_drain(struct world *world) {
    while (world_collect_any(world))
        ;
}

void world_introduce(struct world *world) {
    struct frame frame;
    frame_arp(&frame, world->a.ethernet, 1, world->b.ethernet, world->b.address, world->a.ethernet,
              world->a.address);
    world_inject(world, &frame);
    world_drain(world);
}

/* ---- counters ---- */

struct counters counters_now(const struct side *side) {
    struct counters now;
    for (unsigned i = 0; i < PLUMB_COUNTER_COUNT; i++)
        now.stack[i] = plumb_counter(side->stack, (enum plumb_counter)i);
    memcpy(now.netif, side->netif->counters, sizeof now.netif);
    return now;
}

struct walk {
    const struct side *side;
    const struct counters *before;
    struct counters now;
    unsigned index;
    char name[64];
    bool drop;
    uint32_t moved;
};

/* The next counter of the stack, then of the interface. */
static bool walk_next(struct walk *walk) {
    unsigned i = walk->index++;
    const struct plumb_counter_info *info = plumb_counter_info(i);
    if (i < PLUMB_COUNTER_COUNT) {
        snprintf(walk->name, sizeof walk->name, "%s", info->name);
        walk->moved = walk->now.stack[i] - walk->before->stack[i];
    } else if (i - PLUMB_COUNTER_COUNT < PLUMB_NETIF_COUNTER_COUNT) {
        i -= PLUMB_COUNTER_COUNT;
        info = plumb_netif_counter_info(i);
        snprintf(walk->name, sizeof walk->name, "netif.%s", info->name);
        walk->moved = walk->now.netif[i] - walk->before->netif[i];
    } else {
        return false;
    }
    walk->drop = info->drop;
    return true;
}

static struct walk walk_begin(const struct side *side, const struct counters *before) {
    return (struct walk){.side = side, .before = before, .now = counters_now(side)};
}

void counters_expect_drop(const struct side *side, const struct counters *before, const char *name,
                          uint32_t by) {
    char moved[512] = "";
    bool right = true, known = !name;
    for (struct walk walk = walk_begin(side, before); walk_next(&walk);) {
        bool named = name && !strcmp(walk.name, name);
        known |= named;
        if (!walk.drop && !named)
            continue;
        right &= walk.moved == (named ? by : 0);
        size_t used = strlen(moved);
        if (walk.moved)
            snprintf(moved + used, sizeof moved - used, " %s by %u", walk.name, walk.moved);
    }
    if (!known)
        fail_msg("no counter is called %s", name);
    if (!right)
        fail_msg("expected only %s to move, by %u; moved:%s", name ? name : "nothing", by,
                 *moved ? moved : " nothing");
}

uint32_t counters_moved(const struct side *side, const struct counters *before, const char *name) {
    for (struct walk walk = walk_begin(side, before); walk_next(&walk);)
        if (!strcmp(walk.name, name))
            return walk.moved;
    fail_msg("no counter is called %s", name);
    return 0;
}

uint32_t counters_drops(const struct side *side, const struct counters *before) {
    uint32_t drops = 0;
    for (struct walk walk = walk_begin(side, before); walk_next(&walk);)
        if (walk.drop)
            drops += walk.moved;
    return drops;
}

static unsigned pool_used(const struct plumb_pool *pool) {
    return (unsigned)(pool->count - pool->free_count);
}

unsigned side_buffers_used(const struct side *side) {
    return pool_used(&side->segments) + pool_used(&side->headers) + pool_used(&side->references) +
           pool_used(&side->receive);
}

uint8_t pattern_at(uint32_t seed, uint32_t offset) {
    uint32_t x = (offset >> 2) * 0x9e3779b1U + seed * 0x85ebca6bU;
    x ^= x >> 15;
    x *= 0x2c1b3c6dU;
    x ^= x >> 12;
    return (uint8_t)(x >> 8 * (offset & 3));
}

/* ---- main ---- */

static int list(const struct CMUnitTest *tests, size_t count) {
    for (size_t i = 0; i < count; i++)
        printf("%s\n", tests[i].name);
    return 0;
}

static int run(const struct CMUnitTest *tests, size_t count) {
    int failed = 0, found = 0;
    for (size_t i = 0; i < count; i++) {
        if (test_only && strcmp(test_only, tests[i].name))
            continue;
        found++;
        failed += _cmocka_run_group_tests(tests[i].name, &tests[i], 1, 0, 0) != 0;
        /* What a failed test left behind. */
        while (live_worlds)
            world_free(live_worlds);
    }
    if (!found)
        fprintf(stderr, "no test is called %s\n", test_only);
    if (pcap_file)
        fclose(pcap_file);
    return failed || !found;
}

int harness_main(int argc, char **argv, const struct CMUnitTest *tests, size_t count) {
    setvbuf(stdout, 0, _IOLBF, 0);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--list"))
            return list(tests, count);
        if (!strcmp(argv[i], "--run") && i + 1 < argc) {
            test_only = argv[++i];
        } else if (!strcmp(argv[i], "--pcap") && i + 1 < argc) {
            pcap_path = argv[++i];
        } else {
            fprintf(stderr, "usage: %s [--list | --run NAME [--pcap FILE]]\n", argv[0]);
            return 2;
        }
    }
    return run(tests, count);
}
