/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The timer wheel against a model that looks at every timer at every millisecond. */
#include <string.h>

#include "harness.h"
#include "stack/wheel.h"

enum { TIMERS = 60 };

/* ---- the wheel by itself ---- */

static struct pl_wheel wheel;
static struct plumb_timer timers[TIMERS];

/* Turns the wheel on from *now to `until`, as a stack does; each expiry must be due. */
static unsigned turn_to(uint32_t *now, uint32_t until) {
    unsigned expired = 0;
    while (*now != until) {
        uint32_t step = pl_wheel_distance(&wheel, *now);
        if (step > until - *now) {
            *now = until;
            break;
        }
        expect(step > 0);
        *now += step;
        struct plumb_timer *due;
        pl_wheel_turn(&wheel, *now, &due);
        while (due) {
            struct plumb_timer *timer = due;
            plumb_timer_stop(timer);
            expect_equal(timer->expires_ms, *now);
            expired++;
        }
    }
    return expired;
}

static void add(uint32_t now, struct plumb_timer *timer, uint32_t delay) {
    timer->expires_ms = now + delay;
    pl_wheel_add(&wheel, now, timer);
}

static void one_timer_at_every_delay(void **state) {
    (void)state;
    static const uint32_t starts[] = {0, 1, 31, 32, 1000, 0xffffff00U, 0x7fffffffU};
    for (unsigned s = 0; s < sizeof starts / sizeof *starts; s++)
        for (unsigned bit = 0; bit < 31; bit++)
            for (int around = -2; around <= 2; around++) {
                uint32_t delay = (1U << bit) + (uint32_t)around, now = starts[s];
                if (delay == 0 || delay > 0x7fffffff)
                    continue;
                memset(&wheel, 0, sizeof wheel);
                memset(timers, 0, sizeof timers);
                add(now, &timers[0], delay);
                expect_equal(turn_to(&now, starts[s] + delay - 1), 0);
                expect(plumb_timer_running(&timers[0]));
                expect_equal(turn_to(&now, starts[s] + delay), 1);
                expect(!plumb_timer_running(&timers[0]));
                expect_equal(pl_wheel_distance(&wheel, now), UINT32_MAX);
            }
}

static uint32_t random_delay(struct random *random) {
    static const uint32_t reach[] = {4, 40, 2000, 70000, 3000000, 50000000};
    return 1 + random_below(random, reach[random_below(random, 6)]);
}

/* Starts and stops at random while time jumps at random, across the wrap. */
static void many_timers_like_the_model(void **state) {
    (void)state;
    for (unsigned seed = 0; seed < 20; seed++) {
        struct random random = {seed};
        uint32_t now = 0xffffffffU - 100000U * seed;
        memset(&wheel, 0, sizeof wheel);
        memset(timers, 0, sizeof timers);
        for (unsigned times = 0; times < 2000; times++) {
            struct plumb_timer *timer = &timers[random_below(&random, TIMERS)];
            plumb_timer_stop(timer);
            if (random_below(&random, 4))
                add(now, timer, random_delay(&random));
            uint32_t until = now + random_below(&random, 2) * random_delay(&random);
            unsigned expected = 0;
            for (unsigned i = 0; i < TIMERS; i++)
                if (plumb_timer_running(&timers[i]) && timers[i].expires_ms - now <= until - now)
                    expected++;
            expect_equal(turn_to(&now, until), expected);
            for (unsigned i = 0; i < TIMERS; i++)
                if (plumb_timer_running(&timers[i]))
                    expect((int32_t)(timers[i].expires_ms - now) > 0);
        }
    }
}

/* ---- timers of a stack ---- */

struct user_timer {
    struct plumb_timer timer; /* first */
    struct world *world;
    uint64_t started_us;
    uint32_t delay_ms;
    unsigned expired;
    struct user_timer *stops;
};

static void on_timer(struct plumb *stack, struct plumb_timer *timer) {
    struct user_timer *user = (struct user_timer *)timer;
    uint64_t after = plumb_now_us(stack) - user->started_us;
    user->expired++;
    expect(after >= user->delay_ms * MILLISECOND);
    expect(after <= (user->delay_ms + 2) * MILLISECOND);
    if (user->stops)
        plumb_timer_stop(&user->stops->timer);
}

static void start(struct user_timer *user, struct world *world, uint32_t delay_ms) {
    user->started_us = plumb_now_us(world->a.stack);
    user->delay_ms = delay_ms;
    plumb_timer_start(world->a.stack, &user->timer, delay_ms, on_timer);
}

static void never_early_and_at_most_two_ms_late(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct user_timer user = {.world = world};
    struct random random = {1};
    for (unsigned i = 1; i <= 500; i++) {
        world_run(world, random_below(&random, 1500));
        start(&user, world, random_below(&random, 300));
        world_run(world, 310 * MILLISECOND);
        expect_equal(user.expired, i);
    }
    world_end(world);
}

static void no_delay_is_the_next_millisecond(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct user_timer user = {.world = world};
    for (unsigned i = 1; i <= 50; i++) {
        start(&user, world, 0);
        expect_equal(user.expired, i - 1);
        world_run(world, 2 * MILLISECOND);
        expect_equal(user.expired, i);
        world_run(world, i % 3 * 500);
    }
    world_end(world);
}

static void stopped_moved_and_stopped_by_another(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct user_timer a = {0}, b = {0}, c = {0};
    start(&a, world, 50);
    plumb_timer_stop(&a.timer);
    plumb_timer_stop(&a.timer);
    start(&b, world, 10);
    start(&b, world, 90);
    world_run(world, 80 * MILLISECOND);
    expect_equal(a.expired, 0);
    expect_equal(b.expired, 0);
    world_run(world, 20 * MILLISECOND);
    expect_equal(b.expired, 1);

    /* Two that are due together: whichever comes first stops the other. */
    a.stops = &c;
    c.stops = &a;
    start(&a, world, 20);
    start(&c, world, 20);
    world_run(world, 100 * MILLISECOND);
    expect_equal(a.expired + c.expired, 1);
    world_end(world);
}

static void poll_says_when_to_come_back(void **state) {
    (void)state;
    struct world *world = world_single(&(struct world_options){.unconfigured = true});
    struct user_timer user = {0};
    world_run(world, 10 * SECOND);
    expect(plumb_poll(world->a.stack, world->now_us) == PLUMB_NEVER);
    start(&user, world, 100000);
    unsigned polls = 0;
    while (!user.expired) {
        uint64_t next = plumb_poll(world->a.stack, world->now_us);
        expect(user.expired || next > world->now_us);
        if (next != PLUMB_NEVER)
            world->now_us = next;
        expect(++polls < 10);
    }
    world_end(world);
}

HARNESS_MAIN(cmocka_unit_test(one_timer_at_every_delay),
             cmocka_unit_test(many_timers_like_the_model),
             cmocka_unit_test(never_early_and_at_most_two_ms_late),
             cmocka_unit_test(no_delay_is_the_next_millisecond),
             cmocka_unit_test(stopped_moved_and_stopped_by_another),
             cmocka_unit_test(poll_says_when_to_come_back))
