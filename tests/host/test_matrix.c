/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The matrix: a transfer each way over one connection through every impairment, by many seeds.
 * What arrives hashes to what was sent, every pool is at its baseline afterwards, and a seed
 * gives the same frames at the same times when it is run again.
 *
 * MATRIX_SEEDS says how many seeds each impairment gets (a few); MATRIX_PAGE names a file that
 * a table of the outcome is written to.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <plumb_config.h>

#include "harness.h"

enum { SEEDS = 6, FORTH = 40000, BACK = 25000, CHUNK = 1700 };
#define LIMIT (4000 * SECOND)
/* What a connection is given before it ends for want of an answer: the time-outs of data last
 * about 13 minutes, those of a SYN three. */
#define LEAST_PATIENCE (120 * SECOND)

#define FNV_START 14695981039346656037U

static uint64_t fnv(uint64_t hash, const uint8_t *bytes, size_t length) {
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ bytes[i]) * 1099511628211U;
    return hash;
}

/* One end of the connection. */
struct party {
    struct world *world;
    struct plumb_tcp *connection;
    struct random random;
    uint32_t total, sent, received;
    uint64_t sent_hash, received_hash;
    uint64_t progress_us;
    bool shut, over;
    int error;
};

struct meeting {
    struct world *world;
    struct party a, b;
    uint64_t trace;
};

static void push(struct party *party) {
    uint8_t bytes[CHUNK];
    while (party->sent < party->total) {
        uint32_t length = 1 + random_below(&party->random, CHUNK);
        if (length > party->total - party->sent)
            length = party->total - party->sent;
        for (uint32_t i = 0; i < length; i++)
            bytes[i] = (uint8_t)random_next(&party->random);
        int taken = plumb_tcp_send(party->connection, bytes, length);
        if (taken <= 0)
            return;
        party->sent_hash = fnv(party->sent_hash, bytes, (size_t)taken);
        party->sent += (uint32_t)taken;
    }
    if (!party->shut)
        plumb_tcp_shutdown(party->connection);
    party->shut = true;
}

static void pull(struct party *party) {
    uint8_t bytes[CHUNK];
    int got;
    while ((got = plumb_tcp_read(party->connection, bytes, sizeof bytes)) > 0) {
        party->received_hash = fnv(party->received_hash, bytes, (size_t)got);
        party->received += (uint32_t)got;
    }
}

static void on_event(struct plumb_tcp *connection, unsigned events, void *context) {
    struct party *party = context;
    party->connection = connection;
    party->progress_us = events & PLUMB_TCP_CLOSED ? party->progress_us : party->world->now_us;
    pull(party);
    if (events & PLUMB_TCP_CLOSED) {
        party->error = plumb_tcp_error(connection);
        party->over = true;
        return;
    }
    push(party); /* and stays until all of it is acknowledged, to hear of a time-out */
}

static void on_accept(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                      void *context) {
    struct party *party = context;
    (void)listener;
    party->connection = connection;
    party->progress_us = party->world->now_us;
    plumb_tcp_set_handler(connection, on_event, party);
    push(party);
}

/* Either end's frames, before anything happens to them, and when. */
static bool trace(void *context, uint8_t *frame, uint16_t length) {
    struct meeting *meeting = context;
    const uint64_t now = meeting->world->now_us;
    meeting->trace = fnv(meeting->trace, (const uint8_t *)&now, sizeof now);
    meeting->trace = fnv(meeting->trace, frame, length);
    return true;
}

static bool is_over(void *context) {
    const struct meeting *meeting = context;
    return meeting->a.over && (meeting->b.over || meeting->a.error);
}

static struct party party_of(struct world *world, uint64_t seed, uint32_t total) {
    return (struct party){.world = world,
                          .random = {seed},
                          .total = total,
                          .sent_hash = FNV_START,
                          .received_hash = FNV_START};
}

/* Who has waited in vain for one that timed out is told by nobody. */
static void part(struct meeting *meeting, struct plumb_tcp_listener *listener) {
    struct party *parties[] = {&meeting->a, &meeting->b};
    for (unsigned i = 0; i < 2; i++)
        if (parties[i]->connection && !parties[i]->over)
            plumb_tcp_abort(parties[i]->connection);
    world_run(meeting->world, LIMIT);
    plumb_tcp_unlisten(listener);
    world_run(meeting->world, SECOND);
    expect_equal(side_buffers_used(&meeting->world->a), 0);
    expect_equal(side_buffers_used(&meeting->world->b), 0);
    world_end(meeting->world);
}

static bool arrived(const struct party *from, const struct party *to) {
    return from->sent == from->total && to->received == from->total &&
           to->received_hash == from->sent_hash;
}

struct impairment {
    const char *name;
    bool may_time_out; /* above a loss of 10 % */
    struct plumb_wire_faults faults;
};

/* One transfer; returns the hash of its trace, and counts it if it timed out. */
static uint64_t transfer(const struct impairment *impairment, uint64_t seed, unsigned *timed_out) {
    struct world *world =
        world_pair(&(struct world_options){.seed = seed, .faults = impairment->faults});
    struct meeting meeting = {.world = world, .trace = FNV_START};
    struct plumb_tcp_listener *listener;
    struct party *a = &meeting.a, *b = &meeting.b;
    *a = party_of(world, seed, FORTH);
    *b = party_of(world, ~seed, BACK);
    for (unsigned i = 0; i < 2; i++)
        plumb_wire_set_filter(&world->wire.end[i], trace, &meeting);
    expect_equal(plumb_tcp_listen(world->b.stack, endpoint_of(0, 80), 4, on_accept, b, &listener),
                 PLUMB_OK);
    a->progress_us = world->now_us;
    expect_equal(plumb_tcp_connect(world->a.stack, endpoint_of(world->b.address, 80), 0, on_event,
                                   a, &a->connection),
                 PLUMB_OK);
    bool done = world_run_until(world, is_over, &meeting, LIMIT);
    uint64_t waited_us = world->now_us - a->progress_us;
    part(&meeting, listener);
    bool whole = done && arrived(a, b) && arrived(b, a);
    const struct party *ended = a->error == PLUMB_ERROR_TIMED_OUT ? a : b;
    if (whole && impairment->may_time_out) {
        /* Whose last acknowledgements were all lost hears of it late, or that nobody is there. */
    } else if (ended->error == PLUMB_ERROR_TIMED_OUT && impairment->may_time_out) {
        expect(waited_us >= LEAST_PATIENCE || ended == b);
        ++*timed_out;
    } else if (!whole || a->error || b->error) {
        fail_msg("%s, seed %llu: %s, errors %d %d, %u of %u and %u of %u bytes, hashes %s %s",
                 impairment->name, (unsigned long long)seed, done ? "over" : "no end", a->error,
                 b->error, b->received, a->total, a->received, b->total,
                 b->received_hash == a->sent_hash ? "equal" : "differ",
                 a->received_hash == b->sent_hash ? "equal" : "differ");
    }
    return meeting.trace;
}

#define DELAY .delay_us = 2000
static const struct impairment matrix[] = {
    {"nothing", false, {DELAY}},
    {"loss of 1 %", false, {DELAY, .loss = 100}},
    {"loss of 5 %", false, {DELAY, .loss = 500}},
    {"loss of 10 %", false, {DELAY, .loss = 1000}},
    {"loss of 20 %", true, {DELAY, .loss = 2000}},
    {"loss of 30 %", true, {DELAY, .loss = 3000}},
    {"reordering of 10 %, by 5 ms", false, {DELAY, .reordering = 1000, .reordering_us = 5000}},
    {"duplication of 20 %", false, {DELAY, .duplication = 2000}},
    {"corruption of 5 %", false, {DELAY, .corruption = 500}},
    {"jitter of 30 ms", false, {DELAY, .jitter_us = 30000}},
    {"5 % of each, jitter of 10 ms",
     false,
     {DELAY, .loss = 500, .reordering = 500, .duplication = 500, .corruption = 500,
      .jitter_us = 10000}},
};

static unsigned seeds(void) {
    const char *text = getenv("MATRIX_SEEDS");
    long count = text ? strtol(text, 0, 10) : SEEDS;
    expect(count > 0 && count <= 1000000);
    return (unsigned)count;
}

static void write_row(const struct impairment *impairment, unsigned count, unsigned timed_out) {
    const char *path = getenv("MATRIX_PAGE");
    FILE *page = path ? fopen(path, "a") : 0;
    if (!page)
        return;
    fprintf(page, "| %s | %u | %u | %u | %u |\n", impairment->name, count, count - timed_out,
            timed_out, count);
    fclose(page);
}

static void run_row(unsigned index) {
    const struct impairment *impairment = &matrix[index];
    unsigned count = seeds(), timed_out = 0, ignored = 0;
    uint64_t before = 0;
    for (uint64_t seed = 1; seed <= count; seed++) {
        uint64_t first = transfer(impairment, seed, &timed_out);
        uint64_t again = transfer(impairment, seed, &ignored);
        if (first != again)
            fail_msg("%s: two runs of seed %llu differ", impairment->name,
                     (unsigned long long)seed);
        expect(first != before);
        before = first;
    }
    expect_equal(timed_out, ignored);
    write_row(impairment, count, timed_out);
}

#define ROW(name, index)                                                                           \
    static void name(void **state) {                                                               \
        (void)state;                                                                               \
        run_row(index);                                                                            \
    }
ROW(nothing, 0)
ROW(loss_of_1, 1)
ROW(loss_of_5, 2)
ROW(loss_of_10, 3)
ROW(loss_of_20, 4)
ROW(loss_of_30, 5)
ROW(reordering, 6)
ROW(duplication, 7)
ROW(corruption, 8)
ROW(jitter, 9)
ROW(all_of_them, 10)

HARNESS_MAIN(cmocka_unit_test(nothing), cmocka_unit_test(loss_of_1), cmocka_unit_test(loss_of_5),
             cmocka_unit_test(loss_of_10), cmocka_unit_test(loss_of_20),
             cmocka_unit_test(loss_of_30), cmocka_unit_test(reordering),
             cmocka_unit_test(duplication), cmocka_unit_test(corruption), cmocka_unit_test(jitter),
             cmocka_unit_test(all_of_them))
