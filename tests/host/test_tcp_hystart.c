/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * How the first slow start ends (RFC 9406): by round trips that grow longer, and not by chance.
 */
#include <string.h>

#include "peer.h"

#include "tcp/congestion.h"

#ifdef CONFIG_PLUMB_TCP_HYSTART

enum { MSS = 100 };

static uint8_t bytes[60000];

struct scene {
    struct world *world;
    struct user user;
    struct peer peer;
    uint32_t window; /* before the last round */
};

static uint32_t window(struct scene *scene) {
    return user_info(&scene->user).congestion_window;
}

static bool has_ended(struct scene *scene) {
    return user_info(&scene->user).slow_start_threshold != UINT32_MAX;
}

/* A user who has always more to send, in segments so small that many are out. */
static void begin(struct scene *scene) {
    *scene = (struct scene){0};
    scene->world = connected_stamped(&scene->user, &scene->peer, 0);
    struct plumb_tcp *connection = scene->user.connection;
    connection->mss = MSS;
    pl_tcp_begin_path(connection);
    connection->congestion_window = 10 * MSS;
    /* The handshake took no time, which is no round trip for a round to compare with. */
    connection->srtt_us = 0;
    connection->rto_ms = 1000;
    pl_tcp_hystart_begin(connection);
    plumb_tcp_send(connection, bytes, sizeof bytes);
    world_settle(scene->world);
}

static void end(struct scene *scene) {
    world_introduce(scene->world);
    disconnected(scene->world, &scene->user);
}

/* What is out is acknowledged so much later, in steps of so many segments. */
static void round_in_steps(struct scene *scene, unsigned ms, unsigned step) {
    struct peer *peer = &scene->peer;
    uint32_t first = peer->acknowledgement, out = 0;
    while (peer_take(peer))
        out += peer->last.length;
    uint32_t echo = peer->echo;
    scene->window = window(scene);
    world_run(scene->world, ms * MILLISECOND);
    for (uint32_t acknowledged = 0; acknowledged < out;) {
        acknowledged += step * MSS < out - acknowledged ? step * MSS : out - acknowledged;
        peer->echo = echo;
        peer->acknowledgement = first + acknowledged;
        peer_send(peer, TCP_ACK, 0, 0);
    }
    plumb_tcp_send(scene->user.connection, bytes, sizeof bytes);
    world_settle(scene->world);
}

static void go_round(struct scene *scene, unsigned ms) {
    round_in_steps(scene, ms, 1);
}

static void expect_growth(struct scene *scene, double least, double most) {
    double growth = (double)window(scene) / scene->window;
    if (growth < least || growth > most)
        fail_msg("grew %.3f times, not %.3f to %.3f", growth, least, most);
}

/* Section 4.2: twice as much while the round trips are as they were, or longer by less than an
 * eighth. */
static void steady_round_trips_change_nothing(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    for (unsigned i = 0; i < 5; i++) {
        go_round(&scene, 50 + i * 5);
        expect_growth(&scene, 1.99, 2.01);
    }
    expect(!has_ended(&scene));
    end(&scene);
}

/* A round of longer ones begins before the last of the shorter ones are acknowledged: it is told
 * from them a round later. */
static void go_longer(struct scene *scene, unsigned ms) {
    go_round(scene, ms);
    expect_growth(scene, 1.99, 2.01);
    go_round(scene, ms);
}

/* Longer by more: from the eighth sample on by a quarter as much, for five rounds; then the
 * threshold is where the window has come to. */
static void longer_round_trips_end_it(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    unsigned rounds = 0;
    go_round(&scene, 50);
    go_round(&scene, 50);
    go_longer(&scene, 60);
    expect_growth(&scene, 1.25, 1.40);
    while (!has_ended(&scene)) {
        expect(++rounds < 8);
        go_round(&scene, 60);
        expect_growth(&scene, has_ended(&scene) ? 1.05 : 1.24, 1.26);
    }
    expect_equal(rounds, 4); /* and the one in which it began */
    uint32_t threshold = user_info(&scene.user).slow_start_threshold;
    expect(threshold <= window(&scene) && threshold > scene.window);
    go_round(&scene, 60);
    expect_growth(&scene, 1, 1.05);
    expect_equal(user_info(&scene.user).slow_start_threshold, threshold);
    end(&scene);
}

/* Section 4.2, RttThresh: 4 ms at least, 16 ms at most. */
static void the_threshold_is_bounded(void **state) {
    (void)state;
    static const struct {
        unsigned before, after;
        bool longer;
    } cases[] = {{16, 19, false}, {16, 21, true},    {60, 66, false},
                 {60, 69, true},  {300, 314, false}, {300, 318, true}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene scene;
        begin(&scene);
        go_round(&scene, cases[i].before);
        go_round(&scene, cases[i].before);
        go_longer(&scene, cases[i].after);
        if (cases[i].longer)
            expect_growth(&scene, 1.25, 1.40);
        else
            expect_growth(&scene, 1.99, 2.01);
        end(&scene);
    }
}

/* It was jitter: in the conservative rounds they are shorter again. */
static void shorter_round_trips_take_it_back(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    go_round(&scene, 50);
    go_round(&scene, 50);
    go_longer(&scene, 60);
    go_round(&scene, 60);
    expect_growth(&scene, 1.24, 1.26);
    go_round(&scene, 52);
    go_round(&scene, 52);
    expect_growth(&scene, 1.99, 2.01);
    for (unsigned i = 0; i < 6; i++)
        go_round(&scene, 52);
    expect(!has_ended(&scene));
    end(&scene);
}

/* Seven samples in a round say nothing. */
static void few_samples_change_nothing(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    for (unsigned i = 0; i < 4; i++) {
        unsigned out = window(&scene) / MSS;
        round_in_steps(&scene, 50 + i * 20, (out + 6) / 7);
    }
    expect_growth(&scene, 1.01, 2.01);
    expect(!has_ended(&scene));
    expect_equal(scene.user.connection->slow_start_threshold >> 24 & 7, 0);
    end(&scene);
}

/* A loss ends it, and it does not come again; one that was none has it begin anew. */
static void after_a_loss(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    struct plumb_tcp *connection = scene.user.connection;
    go_round(&scene, 50);
    go_round(&scene, 50);
    pl_tcp_congestion_lost(connection);
    expect(has_ended(&scene));
    uint32_t threshold = connection->slow_start_threshold;
    connection->congestion_window = 4 * MSS;
    connection->slow_start_threshold = 100 * MSS;
    pl_tcp_congestion_resume(connection);
    world_drain(scene.world);
    for (unsigned i = 0; i < 3; i++) {
        uint32_t before = window(&scene);
        for (unsigned k = 0; k < 10; k++)
            pl_tcp_round_trip(connection, 50000 + i * 50000);
        pl_tcp_congestion_acked(connection, before, 64);
        expect_equal(window(&scene), 2 * before);
    }
    expect(threshold < PL_TCP_NO_THRESHOLD);
    /* As undo.c does. */
    connection->slow_start_threshold = (pl_tcp_size)UINT32_MAX;
    pl_tcp_congestion_resume(connection);
    expect(!has_ended(&scene));
    expect_equal(connection->congestion_acked, connection->send_next);
    end(&scene);
}

/* ---- two stacks, and a queue between them ---- */

struct flow {
    struct plumb_tcp *sender;
    uint64_t received;
};

static void feed(struct plumb_tcp *connection, unsigned events, void *context) {
    (void)context;
    if (events & (PLUMB_TCP_CONNECTED | PLUMB_TCP_WRITABLE))
        while (plumb_tcp_send(connection, bytes, sizeof bytes) == (int)sizeof bytes)
            ;
}

static void swallow(struct plumb_tcp *connection, unsigned events, void *context) {
    struct flow *flow = context;
    (void)events;
    flow->received += plumb_tcp_readable(connection);
    plumb_tcp_consume(connection, plumb_tcp_readable(connection));
}

static void accept(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                   void *context) {
    (void)listener;
    plumb_tcp_set_option(connection, PLUMB_TCP_RECEIVE_BUFFER, 1 << 20);
    plumb_tcp_set_handler(connection, swallow, context);
}

/* 20 Mbit/s, a round trip of 40 ms (67 segments) and a queue of 400: where slow start would lose
 * 259 segments, and stand still for them, it loses half as many, and later. */
static void the_queue_loses_less(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_BUFFER_LIMITS);
    struct world_options options = {
        .faults = {.rate = 20000000, .delay_us = 20000, .queue_limit = 400}};
    for (enum plumb_tcp_congestion i = PLUMB_TCP_RENO; i <= PLUMB_TCP_CUBIC; i++) {
        struct world *world = world_pair(&options);
        struct plumb_tcp_listener *listener;
        struct flow flow = {0};
        expect_equal(
            plumb_tcp_listen(world->b.stack, endpoint_of(0, 80), 1, accept, &flow, &listener),
            PLUMB_OK);
        expect_equal(plumb_tcp_connect(world->a.stack, endpoint_of(world->b.address, 80), 0, feed,
                                       &flow, &flow.sender),
                     PLUMB_OK);
        plumb_tcp_set_option(flow.sender, PLUMB_TCP_SEND_BUFFER, 1 << 20);
        if (plumb_tcp_set_option(flow.sender, PLUMB_TCP_CONGESTION, i) == PLUMB_OK) {
            world_run(world, SECOND);
            expect(flow.received > 1800000);
            world_run(world, 7 * SECOND);
            expect(world->a.end->statistics.overflowed < 180);
        }
        plumb_tcp_abort(flow.sender);
        world_run(world, SECOND);
        world_end(world);
    }
}

HARNESS_MAIN(cmocka_unit_test(steady_round_trips_change_nothing),
             cmocka_unit_test(longer_round_trips_end_it),
             cmocka_unit_test(the_threshold_is_bounded),
             cmocka_unit_test(shorter_round_trips_take_it_back),
             cmocka_unit_test(few_samples_change_nothing), cmocka_unit_test(after_a_loss),
             cmocka_unit_test(the_queue_loses_less))
#else
int main(void) {
    return 0;
}
#endif
