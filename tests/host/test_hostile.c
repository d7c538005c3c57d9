/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Bad frames by the hundred thousand: each accounted for, and afterwards all is
 * well; and a transfer between two others that goes on byte by byte meanwhile.
 */
#include <stdlib.h>
#include <string.h>

#include "peer.h"
#include "trial.h"

static struct trial trial;

#define STEP(step)                                                                                 \
    do {                                                                                           \
        const char *failure_ = (step);                                                             \
        if (failure_)                                                                              \
            fail_trial(failure_);                                                                  \
    } while (0)

static void print_frame(const char *name, const struct frame *frame) {
    print_error("%s, %u bytes:", name, frame->length);
    for (unsigned i = 0; i < frame->length && i < 700; i++)
        print_error("%s%02x", i % 2 ? "" : " ", frame->bytes[i]);
    print_error("\n");
}

static void print_host(const char *name, const struct trial_host *host) {
    print_error("%s: free %u of %u received, %u of %u segments, %u of %u headers;", name,
                host->receive.free_count, host->receive.count, host->segments.free_count,
                host->segments.count, host->headers.free_count, host->headers.count);
    for (unsigned i = 0; host->stack && i < PLUMB_COUNTER_COUNT; i++)
        if (plumb_counter(host->stack, (enum plumb_counter)i))
            print_error(" %s %u", plumb_counter_info(i)->name,
                        plumb_counter(host->stack, (enum plumb_counter)i));
    for (unsigned i = 0; host->stack && i < PLUMB_NETIF_COUNTER_COUNT; i++)
        print_error(" %s %u", plumb_netif_counter_info(i)->name, host->netif->counters[i]);
    print_error("\n");
}

static void fail_trial(const char *failure) {
    const struct trial_flow *flow = &trial.flow;
    print_frame("injected last", &trial.frame);
    print_frame("collected last", &trial.reply);
    print_error("flow: sent %u, echoed %u, connected %d, closed %d, error %d\n", flow->sent,
                flow->echoed, flow->connected, flow->closed, flow->error);
    print_host("a", &trial.a);
    print_host("b", &trial.b);
    fail_msg("after %u frames: %s", trial.injected, failure);
}

static void attack(enum trial_attack kind, uint32_t count, uint16_t fragment, uint64_t seed) {
    STEP(trial_begin(&trial, TEST_LANDING, fragment, seed));
    STEP(trial_arp(&trial));
    STEP(trial_attack(&trial, kind, count));
    STEP(trial_exchange(&trial));
    STEP(trial_end(&trial));
    if (kind != TRIAL_GOOD)
        expect(trial.dropped > count / 4);
}

static void random_frames(void **state) {
    (void)state;
    attack(TRIAL_RANDOM, 100000, 0, 1);
}

static void mutated_frames(void **state) {
    (void)state;
    attack(TRIAL_MUTATED, 100000, 0, 2);
}

static void good_frames_in_wrong_order(void **state) {
    (void)state;
    attack(TRIAL_GOOD, 30000, 0, 3);
}

static void option_soup(void **state) {
    (void)state;
    STEP(trial_begin(&trial, TEST_LANDING, 0, 4));
    STEP(trial_attack(&trial, TRIAL_OPTION_SOUP, 30000));
    STEP(trial_exchange(&trial));
    STEP(trial_end(&trial));
}

static void frames_in_fragments_of_128(void **state) {
    (void)state;
    attack(TRIAL_RANDOM, 15000, 128, 5);
    attack(TRIAL_MUTATED, 15000, 128, 6);
}

static void ten_other_seeds(void **state) {
    (void)state;
    for (uint64_t seed = 10; seed < 20; seed++)
        attack(TRIAL_MUTATED, 4000, seed & 1 ? 128 : 0, seed);
}

/* ---- a victim beside the attack ---- */

enum { VICTIM_BYTES = 1000000 };

struct victim {
    struct plumb_tcp *connection;
    unsigned sent;
};

static void push(struct world *world, void *context) {
    struct victim *victim = context;
    (void)world;
    uint8_t bytes[1000];
    while (victim->connection && victim->sent < VICTIM_BYTES) {
        for (unsigned i = 0; i < sizeof bytes; i++)
            bytes[i] = pattern_at(1, victim->sent + i);
        int taken = plumb_tcp_send(victim->connection, bytes, sizeof bytes);
        if (taken <= 0)
            return;
        victim->sent += (unsigned)taken;
    }
}

static void victim_beside_the_attack(void **state) {
    (void)state;
    struct world *world = world_pair(0);
    struct user reader = {0}, writer = {0};
    struct victim victim = {0};
    struct hostile hostile = {
        .random = {77}, .path = world_path(world, 40000, 80), .open_port = 80};
    struct frame frame;
    hostile.path.from = FRAME_IPV4(10, 0, 0, 66);
    hostile.path.from_ethernet[5] = 66;
    plumb_wire_set_faults(world->b.end,
                          &(struct plumb_wire_faults){.delay_us = 1000, .rate = 50000000});
    user_listen(&reader, &world->a, 81);
    user_connect(&writer, &world->b, world->a.address, 81);
    world_run(world, 100 * MILLISECOND);
    assert_non_null(reader.connection);
    victim.connection = writer.connection;
    world->turn = push;
    world->context = &victim;
    for (unsigned i = 0; reader.length < VICTIM_BYTES; i++) {
        expect(i < 200000);
        for (unsigned k = 0; k < 5; k++) {
            (k & 1 ? hostile_mutated : hostile_random)(&hostile, &frame);
            plumb_wire_inject(world->a.end, frame.bytes, frame.length);
        }
        world_run(world, MILLISECOND);
        assert_non_null(reader.connection);
    }
    for (unsigned i = 0; i < VICTIM_BYTES; i++)
        if (reader.bytes[i] != pattern_at(1, i))
            fail_msg("byte %u is wrong", i);
    world->turn = 0;
    user_end(&writer);
    user_end(&reader);
    world_run(world, 200 * SECOND);
    world_end(world);
}

HARNESS_MAIN(cmocka_unit_test(random_frames), cmocka_unit_test(mutated_frames),
             cmocka_unit_test(good_frames_in_wrong_order), cmocka_unit_test(option_soup),
             cmocka_unit_test(frames_in_fragments_of_128), cmocka_unit_test(ten_other_seeds),
             cmocka_unit_test(victim_beside_the_attack))
