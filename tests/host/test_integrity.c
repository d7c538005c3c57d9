/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A pattern each way over one connection at once, checked byte by byte at both
 * ends, over wires with faults.
 */
#include <stdlib.h>
#include <string.h>

#include <plumb_config.h>

#include "peer.h"

enum style { COPY, REFERENCE, POST, STYLES };
enum { LENDINGS = 8, LENDING = 5000, LOAN = 7000 };

struct end;

struct lending {
    struct plumb_reference reference;
    struct end *end;
    bool lent;
    uint8_t bytes[LENDING];
};

/* One side of the transfer. */
struct end {
    struct plumb_tcp *connection;
    struct plumb_tcp_listener *listener;
    uint32_t seed_out, seed_in; /* of the patterns */
    uint32_t total, sent, received;
    enum style style;
    bool shut, peer_closed, closed, wrong;
    int error;
    struct lending lendings[LENDINGS];
    uint8_t loan[LOAN];
    bool loaned;
};

static void on_release(struct plumb_reference *reference) {
    struct lending *lending = reference->context;
    lending->lent = false;
    /* Whoever still reads these bytes will be found out. */
    memset(lending->bytes, 0xdd, sizeof lending->bytes);
}

static void push_copy(struct end *end) {
    uint8_t bytes[3000];
    while (end->sent < end->total) {
        uint32_t length = end->total - end->sent;
        if (length > sizeof bytes)
            length = sizeof bytes;
        for (uint32_t i = 0; i < length; i++)
            bytes[i] = pattern_at(end->seed_out, end->sent + i);
        int taken = plumb_tcp_send(end->connection, bytes, length);
        if (taken <= 0)
            return;
        end->sent += (uint32_t)taken;
    }
}

static struct lending *free_lending(struct end *end) {
    for (unsigned i = 0; i < LENDINGS; i++)
        if (!end->lendings[i].lent)
            return &end->lendings[i];
    return 0;
}

static void push_reference(struct end *end) {
    struct lending *lending;
    while (end->sent < end->total && (lending = free_lending(end))) {
        /* Odd lengths from odd places. */
        uint32_t length = 1 + end->sent % (LENDING - 3), place = end->sent % 3;
        if (length > end->total - end->sent)
            length = end->total - end->sent;
        for (uint32_t i = 0; i < length; i++)
            lending->bytes[place + i] = pattern_at(end->seed_out, end->sent + i);
        lending->reference = (struct plumb_reference){
            .memory = lending->bytes + place,
            .length = length,
            .release = on_release,
            .context = lending,
        };
        lending->lent = true;
        if (plumb_tcp_send_reference(end->connection, &lending->reference) != PLUMB_OK) {
            lending->lent = false;
            return;
        }
        end->sent += length;
    }
}

static void push(struct end *end) {
    if (end->style == REFERENCE)
        push_reference(end);
    else
        push_copy(end);
    if (end->sent == end->total && !end->shut) {
        end->shut = true;
        plumb_tcp_shutdown(end->connection);
    }
}

static void check(struct end *end, const uint8_t *bytes, size_t length) {
    for (size_t i = 0; i < length; i++)
        end->wrong |= bytes[i] != pattern_at(end->seed_in, end->received++);
}

#ifdef CONFIG_PLUMB_TCP_POST
/* Checks what a loan holds once it is worth it, and lends again. */
static void pull_posted(struct end *end) {
    do {
        size_t got = end->loaned ? plumb_tcp_posted(end->connection) : 0;
        if (end->loaned && got < LOAN / 2 && !end->peer_closed)
            return;
        check(end, end->loan, got);
        plumb_tcp_post(end->connection, end->loan, LOAN);
        end->loaned = true;
    } while (plumb_tcp_posted(end->connection));
}
#endif

static void pull(struct end *end) {
    struct plumb_iovec vectors[4];
    unsigned count;
#ifdef CONFIG_PLUMB_TCP_POST
    if (end->style == POST) {
        pull_posted(end);
        return;
    }
#endif
    while ((count = plumb_tcp_peek(end->connection, vectors, 4))) {
        size_t length = 0;
        for (unsigned i = 0; i < count; i++) {
            check(end, vectors[i].data, vectors[i].length);
            length += vectors[i].length;
        }
        plumb_tcp_consume(end->connection, length);
    }
}

static void on_event(struct plumb_tcp *connection, unsigned events, void *context) {
    struct end *end = context;
    if (events & PLUMB_TCP_PEER_CLOSED)
        end->peer_closed = true;
    if (end->connection != connection)
        end->connection = connection;
    pull(end);
    if (events & PLUMB_TCP_CLOSED) {
        end->error = plumb_tcp_error(connection);
        end->closed = true;
        end->connection = 0;
        return;
    }
    push(end);
    if (end->peer_closed && end->shut) {
        plumb_tcp_close(connection);
        end->connection = 0;
        end->closed = true;
    }
}

static void on_accept(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                      void *context) {
    struct end *end = context;
    (void)listener;
    end->connection = connection;
    plumb_tcp_set_handler(connection, on_event, end);
    push(end);
}

struct transfer {
    struct world *world;
    struct end *a, *b;
};

static bool both_closed(void *context) {
    const struct transfer *transfer = context;
    return transfer->a->closed && transfer->b->closed;
}

/* Handlers run on events; a lending that comes back is none. */
static void turn(struct world *world, void *context) {
    struct transfer *transfer = context;
    (void)world;
    if (transfer->a->connection && !transfer->a->shut && transfer->a->sent)
        push(transfer->a);
    if (transfer->b->connection && !transfer->b->shut && transfer->b->sent)
        push(transfer->b);
}

static struct end *end_create(uint32_t total, enum style style, uint32_t seed_out,
                              uint32_t seed_in) {
    struct end *end = calloc(1, sizeof *end);
    assert_non_null(end);
    end->total = total;
    end->style = style;
    end->seed_out = seed_out;
    end->seed_in = seed_in;
    return end;
}

/* Both directions at once; returns how long it took in virtual time. */
static uint64_t transfer_both_ways(const struct world_options *options, uint32_t total,
                                   enum style style, uint64_t limit_us) {
    struct world *world = world_pair(options);
    struct transfer transfer = {.world = world,
                                .a = end_create(total, style, 1, 2),
                                .b = end_create(total / 2 + 1, style, 2, 1)};
    struct end *a = transfer.a, *b = transfer.b;
    world->turn = turn;
    world->context = &transfer;
    expect_equal(
        plumb_tcp_listen(world->b.stack, endpoint_of(0, 80), 4, on_accept, b, &b->listener),
        PLUMB_OK);
    uint64_t began_us = world->now_us;
    expect_equal(plumb_tcp_connect(world->a.stack, endpoint_of(world->b.address, 80), 0, on_event,
                                   a, &a->connection),
                 PLUMB_OK);
    bool done = world_run_until(world, both_closed, &transfer, limit_us);
    uint64_t took_us = world->now_us - began_us;
    if (!done || a->wrong || b->wrong || a->received != b->total || b->received != a->total ||
        a->error || b->error)
        fail_msg("seed %llu, style %d: %s, %u of %u and %u of %u bytes, errors %d %d%s",
                 (unsigned long long)(options ? options->seed : 0), style,
                 done ? "done" : "not done", b->received, a->total, a->received, b->total, a->error,
                 b->error, a->wrong || b->wrong ? ", wrong bytes" : "");
    world->turn = 0;
    world_run(world, 300 * SECOND);
    expect_equal(side_buffers_used(&world->a), 0);
    expect_equal(side_buffers_used(&world->b), 0);
    for (unsigned i = 0; i < LENDINGS; i++)
        expect(!a->lendings[i].lent && !b->lendings[i].lent);
    world_end(world);
    free(a);
    free(b);
    return took_us;
}

/* What the project promises: these faults, these bytes, twenty seeds. */
static const struct plumb_wire_faults promised = {
    .loss = 500, .reordering = 500, .duplication = 200, .corruption = 100, .delay_us = 500};

enum { PROMISED_BYTES = 200000, PROMISED_SEEDS = 20 };

static void promised_faults(uint16_t fragment, enum style style, uint8_t capabilities) {
    for (uint64_t seed = 1; seed <= PROMISED_SEEDS; seed++) {
        struct world_options options = {
            .seed = seed, .fragment = fragment, .capabilities = capabilities, .faults = promised};
        transfer_both_ways(&options, PROMISED_BYTES, style, 4000 * SECOND);
    }
}

static void perfect_wire(void **state) {
    (void)state;
    for (unsigned style = 0; style < STYLES; style++)
        transfer_both_ways(0, 3000000, (enum style)style, 60 * SECOND);
}

static void faults_in_whole_buffers(void **state) {
    (void)state;
    promised_faults(0, COPY, 0);
}

static void faults_in_fragments_of_128(void **state) {
    (void)state;
    promised_faults(128, COPY, 0);
}

static void faults_by_reference(void **state) {
    (void)state;
    promised_faults(0, REFERENCE, 0);
}

static void faults_by_post(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_POST);
    promised_faults(128, POST, 0);
}

static void faults_with_offload(void **state) {
    (void)state;
    promised_faults(0, REFERENCE, PLUMB_CAPABILITY_RX_CHECKSUM | PLUMB_CAPABILITY_TX_CHECKSUM);
}

static void small_mtu(void **state) {
    (void)state;
    static const uint16_t mtus[] = {68 + 40, 296, 576, 1006};
    for (unsigned i = 0; i < 4; i++) {
        struct world_options options = {.seed = i, .mtu = mtus[i], .faults = {.loss = 100}};
        transfer_both_ways(&options, 60000, COPY, 2000 * SECOND);
    }
}

static void few_buffers(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct world_options options = {.seed = seed,
                                        .receive_count = 16,
                                        .segment_count = 12,
                                        .faults = {.loss = 50, .delay_us = 200}};
        transfer_both_ways(&options, 200000, COPY, 4000 * SECOND);
    }
}

/* A slow, jittery path with a short queue, as between countries. */
static void slow_path(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++) {
        struct world_options options = {.seed = seed,
                                        .faults = {.delay_us = 40000,
                                                   .jitter_us = 10000,
                                                   .rate = 2000000,
                                                   .queue_limit = 20,
                                                   .loss = 20}};
        transfer_both_ways(&options, 400000, COPY, 1000 * SECOND);
    }
}

static void link_goes_down_and_up(void **state) {
    (void)state;
    struct world *world =
        world_pair(&(struct world_options){.faults = {.delay_us = 1000, .rate = 10000000}});
    struct transfer transfer = {
        .world = world, .a = end_create(2000000, COPY, 1, 2), .b = end_create(1000, COPY, 2, 1)};
    expect_equal(plumb_tcp_listen(world->b.stack, endpoint_of(0, 80), 4, on_accept, transfer.b,
                                  &transfer.b->listener),
                 PLUMB_OK);
    expect_equal(plumb_tcp_connect(world->a.stack, endpoint_of(world->b.address, 80), 0, on_event,
                                   transfer.a, &transfer.a->connection),
                 PLUMB_OK);
    for (unsigned i = 0; i < 5; i++) {
        world_run(world, 100 * MILLISECOND);
        plumb_wire_set_link(&world->wire, false);
        world_run(world, 700 * MILLISECOND);
        plumb_wire_set_link(&world->wire, true);
    }
    expect(world_run_until(world, both_closed, &transfer, 200 * SECOND));
    expect_equal(transfer.b->received, 2000000);
    expect(!transfer.b->wrong && !transfer.a->wrong);
    world_run(world, 300 * SECOND);
    world_end(world);
    free(transfer.a);
    free(transfer.b);
}

/* The same seed gives the same run, to the microsecond. */
static void runs_repeat(void **state) {
    (void)state;
    struct world_options options = {.seed = 99, .faults = promised};
    uint64_t first = transfer_both_ways(&options, 100000, COPY, 1000 * SECOND);
    uint64_t second = transfer_both_ways(&options, 100000, COPY, 1000 * SECOND);
    expect(first == second);
    options.seed = 98;
    expect(first != transfer_both_ways(&options, 100000, COPY, 1000 * SECOND));
}

/* Microseconds and milliseconds in 32 bits wrap after 72 minutes and 50 days. */
static void across_the_wraps_of_time(void **state) {
    (void)state;
    static const uint64_t wraps[] = {1ULL << 32, (1ULL << 31) * 1000, (1ULL << 32) * 1000};
    for (unsigned i = 0; i < 3; i++) {
        struct world_options options = {.seed = i,
                                        .start_us = wraps[i] - 400 * MILLISECOND,
                                        .faults = {.loss = 100, .delay_us = 20000}};
        transfer_both_ways(&options, 300000, COPY, 1000 * SECOND);
    }
}

/* A long thin wire needs the whole window: 100 Mbit/s and 60 ms take 750 000 bytes. */
static void large_window_fills_a_long_path(void **state) {
    (void)state;
    struct world_options options = {
        .faults = {.delay_us = 30000, .rate = 100000000, .queue_limit = 1000}};
    uint64_t took_us = transfer_both_ways(&options, 30000000, COPY, 1000 * SECOND);
    uint64_t mbit = 30000000ULL * 8 / took_us;
    bool large = CONFIG_PLUMB_TCP_RECEIVE_BUFFER >= 1000000;
    print_message("%llu Mbit/s\n", (unsigned long long)mbit);
    expect(large ? mbit > 60 : mbit > 6 && mbit < 10);
}

HARNESS_MAIN(cmocka_unit_test(perfect_wire), cmocka_unit_test(faults_in_whole_buffers),
             cmocka_unit_test(faults_in_fragments_of_128), cmocka_unit_test(faults_by_reference),
             cmocka_unit_test(faults_by_post), cmocka_unit_test(faults_with_offload),
             cmocka_unit_test(small_mtu), cmocka_unit_test(few_buffers),
             cmocka_unit_test(slow_path), cmocka_unit_test(link_goes_down_and_up),
             cmocka_unit_test(runs_repeat), cmocka_unit_test(across_the_wraps_of_time),
             cmocka_unit_test(large_window_fills_a_long_path))
