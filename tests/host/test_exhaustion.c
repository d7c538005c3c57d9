/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What is missing, is missing for a while: every packet that a scene takes is refused it once,
 * pools and tables are full to any degree, and what was given up is given back. Nothing
 * crashes or waits for ever; what comes of it is counted, or told to the user; all buffers come
 * home; and the same scene, played again, goes well.
 */
#include "failing.h"
#include "scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <plumb_config.h>

enum { TAKES_MOST = 1000 };

/* ---- pools by number ---- */

static const char *const pool_names[] = {"a's segments",   "a's headers",  "a's references",
                                         "a's receive",    "b's segments", "b's headers",
                                         "b's references", "b's receive"};
enum { POOLS = sizeof pool_names / sizeof *pool_names };

static struct plumb_pool *pool_of(struct stage *stage, unsigned index) {
    struct side *side = index < POOLS / 2 ? &stage->world->a : &stage->world->b;
    struct plumb_pool *pools[] = {&side->segments, &side->headers, &side->references,
                                  &side->receive};
    return pools[index % (POOLS / 2)];
}

static unsigned buffers_used(const struct stage *stage) {
    return side_buffers_used(&stage->world->a) + side_buffers_used(&stage->world->b);
}

/* Nothing is left of what was played, and it goes well again. */
static void expect_recovered(struct stage *stage, const char *what, unsigned number) {
    const char *scene = stage->scene->name;

    if (buffers_used(stage))
        fail_msg("%s, %s %u: %u buffers are held after it", scene, what, number,
                 buffers_used(stage));
    if (!stage_play(stage))
        fail_msg("%s, %s %u: does not go well afterwards", scene, what, number);
    if (buffers_used(stage))
        fail_msg("%s, %s %u: %u buffers are held after the second play", scene, what, number,
                 buffers_used(stage));
}

/* ---- each packet that is taken is once not there ---- */

/* Plays with the n-th packet of a pool missing; false when so many were not taken. */
static bool play_without(const struct scene *scene, unsigned index, unsigned n) {
    static struct stage stage;

    stage_begin(&stage, scene);
    failing_arm(pool_of(&stage, index), n);
    bool well = stage_play(&stage);
    bool met = failing_disarm();
    if (met && !stage_missed(&stage))
        fail_msg("%s: packet %u of %s was missing, and nobody says so", scene->name, n,
                 pool_names[index]);
    if (!well && (scene->survives || !met))
        fail_msg("%s: packet %u of %s was missing, which it does not survive (told %u)",
                 scene->name, n, pool_names[index], stage.told);
    expect_recovered(&stage, pool_names[index], n);
    stage_end(&stage);
    return met;
}

static void test_every_packet_missing_once(void **state) {
    unsigned plays = 0;
    (void)state;
    for (const struct scene *scene = scenes; scene < scenes + scene_count; scene++)
        for (unsigned index = 0; index < POOLS; index++) {
            unsigned n = 1;
            /* Of fragments none is made unless there are packets for all: see below. */
            if (scene->takes_several && index % (POOLS / 2) == 0)
                continue;
            while (n < TAKES_MOST && play_without(scene, index, n))
                n++;
            expect(n < TAKES_MOST);
            plays += n;
        }
    printf("%u plays, in each but %u one packet was missing\n", plays, scene_count * POOLS);
    expect(plays > 500);
}

/* ---- pools that are full ---- */

struct hog {
    struct plumb_packet *taken;
};

static void hog_take(struct hog *hog, struct plumb_pool *pool, unsigned leave) {
    while (pool->free_count > leave) {
        struct plumb_packet *packet = plumb_packet_take(pool, 0);
        if (!pool->capacity) {
            static struct plumb_reference nothing;
            nothing.references = UINT32_MAX;
            packet->owner.reference = &nothing;
        }
        packet->next = hog->taken;
        hog->taken = packet;
    }
}

static void hog_give(struct hog *hog) {
    while (hog->taken) {
        struct plumb_packet *next = hog->taken->next;
        plumb_packet_put(hog->taken);
        hog->taken = next;
    }
}

/* In which pools, and how much is left in them. */
struct want {
    struct hog hog;
    unsigned first, last, percent, leave;
};

static void give_back(struct stage *stage) {
    struct want *want = stage->context;
    hog_give(&want->hog);
}

static void take_away(struct stage *stage) {
    struct want *want = stage->context;
    for (unsigned i = want->first; i <= want->last; i++) {
        struct plumb_pool *pool = pool_of(stage, i);
        hog_take(&want->hog, pool,
                 want->leave ? want->leave - 1 : pool->count - pool->count * want->percent / 100U);
    }
    stage->meanwhile = give_back;
    stage->meanwhile_us += 5 * SECOND;
}

/* From the beginning for 5 seconds, or from a moment on when it is under way. */
static void play_in_want(const struct scene *scene, struct want want, uint64_t after_us) {
    static struct stage stage;
    char what[80];

    snprintf(what, sizeof what, "%s to %s, left %d, after %llu us, full to %%",
             pool_names[want.first], pool_names[want.last], (int)want.leave - 1,
             (unsigned long long)after_us);
    stage_begin(&stage, scene);
    stage.context = &want;
    stage.meanwhile_us = after_us;
    if (after_us)
        stage.meanwhile = take_away;
    else
        take_away(&stage);
    bool well = stage_play(&stage);
    if (stage.meanwhile)
        stage.meanwhile(&stage); /* it was over before */
    hog_give(&want.hog);
    if (!well && (scene->survives || !stage_missed(&stage)) && !stage.told)
        fail_msg("%s, %s %u: not survived, missed %u", scene->name, what, want.percent,
                 stage_missed(&stage));
    expect_recovered(&stage, what, want.percent);
    stage_end(&stage);
}

static const uint64_t moments[] = {0, 7 * MILLISECOND};

/* Each pool, and all of them (`last` of the last), to 0, 10 ... 100 %. */
static void test_pools_filled(void **state) {
    (void)state;
    for (const struct scene *scene = scenes; scene < scenes + scene_count; scene++)
        for (unsigned index = 0; index <= POOLS; index++)
            for (unsigned percent = 0; percent <= 100; percent += 10)
                for (unsigned m = 0; m < 2; m++)
                    play_in_want(scene,
                                 (struct want){.first = index % POOLS,
                                               .last = index < POOLS ? index : POOLS - 1,
                                               .percent = percent},
                                 moments[m]);
}

/* The last packets of each, one by one: what takes several at once meets too few. */
static void test_pools_with_a_few_left(void **state) {
    (void)state;
    for (const struct scene *scene = scenes; scene < scenes + scene_count; scene++)
        for (unsigned index = 0; index < POOLS; index++)
            for (unsigned left = 0; left < 6; left++)
                play_in_want(scene, (struct want){.first = index, .last = index, .leave = left + 1},
                             moments[left % 2]);
}

/* ---- tables that are full ---- */

enum { HELD_MOST = 64 };

struct held {
    struct stage *stage;
    bool at_b;
    unsigned count;
    void *things[HELD_MOST];
    int fds[HELD_MOST];
};

static struct side *side_of(const struct held *held) {
    return held->at_b ? &held->stage->world->b : &held->stage->world->a;
}

static void on_nothing(struct plumb_tcp *connection, unsigned events, void *context) {
    struct held *held = context;
    if (events & PLUMB_TCP_CLOSED)
        for (unsigned i = 0; i < HELD_MOST; i++)
            if (held->things[i] == connection)
                held->things[i] = NULL;
}

static void on_no_accept(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                         void *context) {
    (void)listener;
    (void)connection;
    (void)context;
}

static void on_no_datagram(struct plumb_udp *socket, struct plumb_packet *payload,
                           const struct plumb_udp_source *source, void *context) {
    (void)socket;
    (void)payload;
    (void)source;
    (void)context;
}

/* Takes `count` of something, as far as there is so much; gives all of it back. */
struct table {
    const char *name;
    unsigned most; /* taken: more than there are */
    void (*take)(struct held *held, unsigned index);
    void (*give)(struct held *held, unsigned index);
};

static void take_connection(struct held *held, unsigned i) {
    struct plumb_tcp *connection = NULL;
    plumb_tcp_connect(side_of(held)->stack, endpoint_of(FRAME_IPV4(10, 0, 0, 99), 9), 0, on_nothing,
                      held, &connection);
    held->things[i] = connection;
}

static void give_connection(struct held *held, unsigned i) {
    if (held->things[i])
        plumb_tcp_abort(held->things[i]);
}

static void take_listener(struct held *held, unsigned i) {
    struct plumb_tcp_listener *listener = NULL;
    plumb_tcp_listen(side_of(held)->stack, endpoint_of(0, (uint16_t)(100 + i)), 1, on_no_accept,
                     NULL, &listener);
    held->things[i] = listener;
}

static void give_listener(struct held *held, unsigned i) {
    if (held->things[i])
        plumb_tcp_unlisten(held->things[i]);
}

static void take_udp(struct held *held, unsigned i) {
    struct plumb_udp *socket = NULL;
    plumb_udp_open(side_of(held)->stack, endpoint_of(0, (uint16_t)(100 + i)), on_no_datagram, NULL,
                   &socket);
    held->things[i] = socket;
}

static void give_udp(struct held *held, unsigned i) {
    if (held->things[i])
        plumb_udp_close(held->things[i]);
}

static void take_socket(struct held *held, unsigned i) {
    held->fds[i] = plumb_socket(held->stage->sockets[held->at_b], PLUMB_AF_INET,
                                i & 1 ? PLUMB_SOCK_STREAM : PLUMB_SOCK_DGRAM, 0);
}

static void give_socket(struct held *held, unsigned i) {
    if (held->fds[i] >= 0)
        plumb_close(held->stage->sockets[held->at_b], held->fds[i]);
}

/* A frame from a stranger of that number. */
static struct frame_path path_from(const struct held *held, unsigned i) {
    struct frame_path path = world_path(held->stage->world, 4000, 98);
    memcpy(path.to_ethernet, side_of(held)->ethernet, 6);
    path.to = side_of(held)->address;
    path.from = FRAME_IPV4(10, 0, 0, 100 + i);
    path.from_ethernet[5] = (uint8_t)(100 + i);
    return path;
}

static void give_frame(const struct held *held, const struct frame *frame) {
    plumb_wire_inject(side_of(held)->end, frame->bytes, frame->length);
    world_settle(held->stage->world);
}

/* A peer that is not there, and is sent to. */
static void take_neighbour(struct held *held, unsigned i) {
    struct plumb_udp *socket;
    if (plumb_udp_open(side_of(held)->stack, endpoint_of(0, 0), on_no_datagram, NULL, &socket) !=
        PLUMB_OK)
        return;
    plumb_udp_send(socket, endpoint_of(path_from(held, i).from, 9), "?", 1);
    plumb_udp_close(socket);
}

static void take_reassembly(struct held *held, unsigned i) {
    struct frame_path path = path_from(held, i);
    struct frame frame;
    frame_fragment(&frame, &path, 17, i, 0x2000, "first of two: 24 bytes..", 24);
    give_frame(held, &frame);
}

/* A handshake that stays half open; the first one has a listener made for it. */
static void take_handshake(struct held *held, unsigned i) {
    struct frame_path path = path_from(held, i);
    struct plumb_tcp_listener *listener = NULL;
    struct frame frame;
    if (i == 0)
        plumb_tcp_listen(side_of(held)->stack, endpoint_of(0, 98), HELD_MOST, on_no_accept, NULL,
                         &listener);
    held->things[i] = listener;
    frame_tcp(&frame, &path, i, 0, TCP_SYN, 1000, 0, 0, 0, 0);
    give_frame(held, &frame);
}

static void give_nothing(struct held *held, unsigned i) {
    (void)held;
    (void)i;
}

static const struct table tables[] = {
    {"connections", CONFIG_PLUMB_TCP_CONNECTIONS, take_connection, give_connection},
    {"listeners", CONFIG_PLUMB_TCP_LISTENERS, take_listener, give_listener},
    {"datagram sockets", 16, take_udp, give_udp},
    {"sockets", CONFIG_PLUMB_SOCKETS_MOST, take_socket, give_socket},
    {"neighbours", CONFIG_PLUMB_ARP_ENTRIES + 2, take_neighbour, give_nothing},
    {"reassemblies", CONFIG_PLUMB_IPV4_REASSEMBLIES + 2, take_reassembly, give_nothing},
    {"handshakes", 40, take_handshake, give_listener},
};

struct shortage {
    const struct table *table;
    struct held held;
};

static void end_shortage(struct stage *stage) {
    struct shortage *shortage = stage->context;
    while (shortage->held.count)
        shortage->table->give(&shortage->held, --shortage->held.count);
}

/* All but `left` places of a table are taken for 5 seconds. */
static void play_short(const struct scene *scene, const struct table *table, unsigned taken,
                       bool at_b) {
    static struct stage stage;
    static struct shortage shortage;

    stage_begin(&stage, scene);
    shortage = (struct shortage){.table = table, .held = {.stage = &stage, .at_b = at_b}};
    for (unsigned i = 0; i < HELD_MOST; i++)
        shortage.held.fds[i] = -1;
    while (shortage.held.count < taken)
        table->take(&shortage.held, shortage.held.count++);
    stage.context = &shortage;
    stage.meanwhile = end_shortage;
    stage.meanwhile_us = 5 * SECOND;
    bool well = stage_play(&stage);
    if (stage.meanwhile)
        end_shortage(&stage);
    if (!well && !stage_missed(&stage))
        fail_msg("%s, %u of the %s of %c taken: went wrong, and nobody says so", scene->name, taken,
                 table->name, at_b ? 'b' : 'a');
    if (!well && scene->survives && !stage.told)
        fail_msg("%s, %u of the %s of %c taken: not survived, and nobody was told", scene->name,
                 taken, table->name, at_b ? 'b' : 'a');
    world_run(stage.world, 200 * SECOND);
    expect_recovered(&stage, table->name, taken);
    stage_end(&stage);
}

static void test_tables_filled(void **state) {
    (void)state;
    for (const struct scene *scene = scenes; scene < scenes + scene_count; scene++)
        for (const struct table *table = tables; table < tables + sizeof tables / sizeof *tables;
             table++)
            for (unsigned taken = 1; taken <= table->most; taken++)
                for (unsigned side = 0; side < 2; side++)
                    play_short(scene, table, taken, side);
}

/* ---- nothing missing ---- */

static void test_scenes_go_well(void **state) {
    static struct stage stage;
    (void)state;
    for (const struct scene *scene = scenes; scene < scenes + scene_count; scene++) {
        stage_begin(&stage, scene);
        for (unsigned times = 0; times < 3; times++)
            expect_recovered(&stage, "play", times);
        stage_end(&stage);
    }
}

HARNESS_MAIN(cmocka_unit_test(test_scenes_go_well),
             cmocka_unit_test(test_every_packet_missing_once), cmocka_unit_test(test_pools_filled),
             cmocka_unit_test(test_pools_with_a_few_left), cmocka_unit_test(test_tables_filled))
