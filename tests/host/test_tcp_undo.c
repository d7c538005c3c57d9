/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Time-outs and recoveries for nothing: how they are told from others, and that the window is
 * then what it was.
 */
#include <string.h>

#include "peer.h"

#include "tcp/tcp.h"

enum { MSS = 1460 };

#ifdef CONFIG_PLUMB_TCP_UNDO

static uint8_t bytes[45 * MSS];

struct scene {
    struct world *world;
    struct user user;
    struct peer peer;
    uint32_t base;
    struct counters before;
    struct plumb_tcp_info info; /* before anything went wrong */
};

static void acknowledge(struct scene *scene, unsigned segments) {
    peer_send_at(&scene->peer, scene->peer.sequence, scene->base + segments * MSS, TCP_ACK, 0, 0);
}

static int next_sent(struct scene *scene) {
    while (peer_take(&scene->peer))
        if (scene->peer.last.length)
            return (int)(scene->peer.last.sequence - scene->base) / MSS;
    return -1;
}

static void drain_payload(struct scene *scene) {
    while (next_sent(scene) >= 0)
        ;
}

static unsigned moved(struct scene *scene, const char *name) {
    return counters_moved(&scene->world->a, &scene->before, name);
}

/* A connection over which ten of `segments` have gone. */
static void begin(struct scene *scene, unsigned segments) {
    scene->base = scene->user.connection->send_next;
    scene->before = counters_now(&scene->world->a);
    expect_equal(plumb_tcp_send(scene->user.connection, bytes, segments * MSS), segments * MSS);
    world_settle(scene->world);
    drain_payload(scene);
    scene->info = user_info(&scene->user);
}

static struct scene timed_out(unsigned segments) {
    struct scene scene = {0};
    scene.world = connected(&scene.user, &scene.peer, 0);
    begin(&scene, segments);
    while (!moved(&scene, "tcp_timeout"))
        world_run(scene.world, 50 * MILLISECOND);
    world_introduce(scene.world);
    drain_payload(&scene);
    expect_equal(user_info(&scene.user).congestion_window, MSS);
    return scene;
}

static void expect_undone(struct scene *scene, bool undone) {
    expect_equal(moved(scene, "tcp_undone"), undone);
    if (undone)
        expect(user_info(&scene->user).congestion_window >= scene->info.congestion_window);
    expect_equal(user_info(&scene->user).slow_start_threshold == scene->info.slow_start_threshold,
                 undone);
}

static void ended(struct scene *scene) {
    world_introduce(scene->world);
    disconnected(scene->world, &scene->user);
}

/* RFC 5682 section 2.1: all had only been late. */
static void a_time_out_for_nothing_is_undone(void **state) {
    (void)state;
    struct scene scene = timed_out(40);
    acknowledge(&scene, 2);
    expect_equal(next_sent(&scene), 10);
    expect_equal(next_sent(&scene), 11);
    expect_equal(next_sent(&scene), -1);
    acknowledge(&scene, 4);
    expect_undone(&scene, true);
    expect_equal(next_sent(&scene), 12);
    for (unsigned i = 5; i <= 10; i++)
        acknowledge(&scene, i);
    expect_equal(moved(&scene, "tcp_retransmitted"), 1);
    ended(&scene);
}

#ifdef CONFIG_PLUMB_TCP_CUBIC

/* RFC 9438 section 4.9: so the curve leads to where it led before. */
static void the_plateau_is_put_back(void **state) {
    (void)state;
    for (unsigned more = 1; more <= 4; more++) {
        struct scene scene = {0};
        scene.world = connected(&scene.user, &scene.peer, 0);
        pl_tcp_keep_loss(scene.user.connection)->cubic_most = more * 400000U;
        begin(&scene, 40);
        while (!moved(&scene, "tcp_timeout"))
            world_run(scene.world, 50 * MILLISECOND);
        world_introduce(scene.world);
        drain_payload(&scene);
        expect_equal(pl_tcp_loss(scene.user.connection)->cubic_most, 0);
        acknowledge(&scene, 2);
        acknowledge(&scene, 4);
        expect_undone(&scene, true);
        expect_equal(pl_tcp_loss(scene.user.connection)->cubic_most, more * 400000U / 64 * 64);
        ended(&scene);
    }
}

#define PLATEAU cmocka_unit_test(the_plateau_is_put_back),
#else
#define PLATEAU
#endif

/* Step 3a: the first had been lost, and the rest as well. */
static void a_time_out_for_a_loss_is_not(void **state) {
    (void)state;
    struct scene scene = timed_out(40);
    acknowledge(&scene, 1);
    expect_equal(next_sent(&scene), 10);
    drain_payload(&scene);
    acknowledge(&scene, 1);
    expect_equal(next_sent(&scene), 1);
    expect_equal(next_sent(&scene), 2);
    expect_equal(next_sent(&scene), 3);
    expect_equal(next_sent(&scene), -1);
    expect_undone(&scene, false);
    ended(&scene);
}

/* Step 2: a duplicate at first, or all of it at once, tells nothing. */
static void what_tells_nothing_undoes_nothing(void **state) {
    (void)state;
    struct scene scene = timed_out(40);
    acknowledge(&scene, 0);
    acknowledge(&scene, 2);
    expect_equal(next_sent(&scene), 2);
    acknowledge(&scene, 4);
    expect_undone(&scene, false);
    ended(&scene);
    scene = timed_out(40);
    acknowledge(&scene, 10);
    acknowledge(&scene, 11);
    expect_undone(&scene, false);
    ended(&scene);
}

/* Step 2b: nothing new to send, or no room for it, so it goes on as ever. */
static void nothing_new_to_send(void **state) {
    (void)state;
    struct scene scene = timed_out(10);
    acknowledge(&scene, 2);
    expect_equal(next_sent(&scene), 2);
    acknowledge(&scene, 4);
    expect_undone(&scene, false);
    ended(&scene);
}

/* Step 1: of time-outs in a row only the first. */
static void a_second_time_out_is_not_undone(void **state) {
    (void)state;
    struct scene scene = timed_out(40);
    while (moved(&scene, "tcp_timeout") < 2)
        world_run(scene.world, 50 * MILLISECOND);
    world_introduce(scene.world);
    drain_payload(&scene);
    acknowledge(&scene, 2);
    expect_equal(next_sent(&scene), 2);
    acknowledge(&scene, 4);
    expect_undone(&scene, false);
    ended(&scene);
}

/* What goes back goes back to the FIN too. */
static void a_fin_is_not_sent_again(void **state) {
    (void)state;
    struct scene scene = {0};
    scene.world = connected(&scene.user, &scene.peer, 0);
    begin(&scene, 9);
    plumb_tcp_shutdown(scene.user.connection);
    while (!moved(&scene, "tcp_timeout"))
        world_run(scene.world, 50 * MILLISECOND);
    world_introduce(scene.world);
    drain_payload(&scene);
    acknowledge(&scene, 9);
    scene.base++;
    acknowledge(&scene, 9);
    expect_equal(user_info(&scene.user).state, PLUMB_TCP_STATE_FIN_WAIT_2);
    ended(&scene);
}

#ifdef CONFIG_PLUMB_TCP_RACK

/* With a block: segments `from` to before `to`. */
static void sack(struct scene *scene, unsigned segments, unsigned from, unsigned to) {
    uint8_t options[12] = {1, 1, 5, 10};
    uint32_t ends[2] = {scene->base + from * MSS, scene->base + to * MSS};
    struct frame frame;
    for (unsigned k = 0; k < 8; k++)
        options[4 + k] = (uint8_t)(ends[k / 4] >> 8 * (3 - k % 4));
    frame_tcp(&frame, &scene->peer.path, scene->peer.sequence, scene->base + segments * MSS,
              TCP_ACK, scene->peer.window, options, sizeof options, 0, 0);
    world_inject(scene->world, &frame);
}

static void agree(struct scene *scene, const uint8_t *options, unsigned length) {
    scene->world = world_single(0);
    world_introduce(scene->world);
    user_listen(&scene->user, &scene->world->a, 80);
    scene->peer = peer_at(scene->world, 40000, 80);
    peer_send_syn(&scene->peer, TCP_SYN, options, length);
    peer_accept(&scene->peer, TCP_SYN | TCP_ACK);
}

/* RFC 3708: all that a recovery has sent again the peer had twice. */
static void a_recovery_for_nothing_is_undone(void **state) {
    (void)state;
    for (unsigned late = 0; late < 2; late++) {
        static const uint8_t options[] = {2, 4, 5, 180, 4, 2, 1, 1};
        struct scene scene = {0};
        agree(&scene, options, sizeof options);
        peer_send(&scene.peer, TCP_ACK, 0, 0);
        begin(&scene, 40);
        world_run(scene.world, 50 * MILLISECOND);
        drain_payload(&scene);
        sack(&scene, 0, 1, 5);
        expect_equal(next_sent(&scene), 0);
        expect_equal(moved(&scene, "tcp_retransmitted"), 1);
        expect(user_info(&scene.user).slow_start_threshold < 0x10000);
        if (late)
            acknowledge(&scene, 10);
        sack(&scene, late ? 10 : 5, 0, 1);
        expect_equal(moved(&scene, "tcp_undone"), 1);
        expect(user_info(&scene.user).congestion_window >= scene.info.congestion_window);
        expect_equal(user_info(&scene.user).slow_start_threshold, scene.info.slow_start_threshold);
        ended(&scene);
    }
}

#define DUPLICATES cmocka_unit_test(a_recovery_for_nothing_is_undone),

#ifdef CONFIG_PLUMB_TCP_TIMESTAMPS

static void put32(uint8_t *to, uint32_t value) {
    for (unsigned i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> 8 * (3 - i));
}

static uint32_t get32(const uint8_t *from) {
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

static void acknowledge_stamped(struct scene *scene, unsigned segments, uint32_t echo) {
    uint8_t options[12] = {1, 1, 8, 10, 0, 0, 0, 9};
    struct frame frame;
    put32(options + 8, echo);
    frame_tcp(&frame, &scene->peer.path, scene->peer.sequence, scene->base + segments * MSS,
              TCP_ACK, scene->peer.window, options, sizeof options, 0, 0);
    world_inject(scene->world, &frame);
}

/* RFC 3522 section 3.2: the echo is of before the time-out, or of after it. */
static void an_early_echo_undoes(void **state) {
    (void)state;
    for (unsigned early = 0; early < 2; early++) {
        static const uint8_t options[] = {2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 9, 0, 0, 0, 0};
        struct scene scene = {0};
        agree(&scene, options, sizeof options);
        scene.base = scene.peer.acknowledgement;
        acknowledge_stamped(&scene, 0, 0);
        expect_equal(scene.user.accepted, 1);
        scene.base = scene.user.connection->send_next;
        scene.before = counters_now(&scene.world->a);
        plumb_tcp_send(scene.user.connection, bytes, sizeof bytes);
        world_settle(scene.world);
        expect(peer_take(&scene.peer));
        uint32_t sent = get32(scene.peer.last.options + 4);
        drain_payload(&scene);
        scene.info = user_info(&scene.user);
        while (!moved(&scene, "tcp_timeout"))
            world_run(scene.world, 50 * MILLISECOND);
        while (next_sent(&scene) != 0)
            ;
        uint32_t again = get32(scene.peer.last.options + 4);
        world_introduce(scene.world);
        world_run(scene.world, 20 * MILLISECOND);
        acknowledge_stamped(&scene, 1, early ? sent : again);
        expect_undone(&scene, early);
        if (early)
            expect_equal(moved(&scene, "tcp_retransmitted"), 1);
        ended(&scene);
    }
}

#define ECHOES cmocka_unit_test(an_early_echo_undoes),
#endif
#endif

#ifndef DUPLICATES
#define DUPLICATES
#endif
#ifndef ECHOES
#define ECHOES
#endif

HARNESS_MAIN(DUPLICATES ECHOES PLATEAU cmocka_unit_test(a_time_out_for_nothing_is_undone),
             cmocka_unit_test(a_time_out_for_a_loss_is_not),
             cmocka_unit_test(what_tells_nothing_undoes_nothing),
             cmocka_unit_test(nothing_new_to_send),
             cmocka_unit_test(a_second_time_out_is_not_undone),
             cmocka_unit_test(a_fin_is_not_sent_again))
#else
int main(void) {
    return 0;
}
#endif
