/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Loss recovery with a peer that selectively acknowledges: what is sent again, when, and how
 * much goes meanwhile. The peer is played by hand, a round trip of 100 ms away.
 */
#include <string.h>

#include "peer.h"

#include "tcp/tcp.h"

enum { MSS = 1460, RTT_MS = 100 };

#ifdef CONFIG_PLUMB_TCP_RACK

static uint8_t bytes[45 * MSS];

struct range {
    unsigned from, to; /* segments of MSS, behind `base` */
};

struct scene {
    struct world *world;
    struct user user;
    struct peer peer;
    uint32_t base; /* the number of the first byte */
    struct counters before;
};

/* What scoreboard.c says holds. */
static void check_scoreboard(const struct plumb_tcp *connection) {
    uint32_t left = 0, sacked = 0;
    bool counts = true;
    for (const struct plumb_packet *segment = connection->send_first; segment;
         segment = segment->next) {
        if (segment == connection->send_unsent)
            counts = false;
        bool has_left = segment->mark & PL_TCP_SACKED ||
                        (segment->mark & (PL_TCP_LOST | PL_TCP_RESENT)) == PL_TCP_LOST;
        left += counts && has_left ? segment->total : 0;
        sacked += (segment->mark & PL_TCP_SACKED) != 0;
        expect(!segment->mark || pl_before(segment->sequence, connection->send_most));
    }
    expect_equal(pl_tcp_left_network(connection), left);
    if (pl_tcp_racks(connection))
        expect_equal(connection->duplicates, sacked);
    expect(left <= pl_tcp_in_flight(connection));
    expect(!pl_after(connection->send_next, connection->send_most));
}

/* Acknowledges the first `length` bytes, and the ranges, in units of `unit`, selectively. */
static void acknowledge_bytes(struct scene *scene, unsigned length, const struct range *ranges,
                              unsigned count, unsigned unit) {
    struct frame frame;
    uint8_t options[40] = {1, 1, 5, (uint8_t)(2 + 8 * count)};
    for (unsigned i = 0; i < count; i++) {
        uint32_t ends[2] = {scene->base + ranges[i].from * unit, scene->base + ranges[i].to * unit};
        for (unsigned k = 0; k < 8; k++)
            options[4 + 8 * i + k] = (uint8_t)(ends[k / 4] >> 8 * (3 - k % 4));
    }
    frame_tcp(&frame, &scene->peer.path, scene->peer.sequence, scene->base + length, TCP_ACK,
              scene->peer.window, options, count ? 4 + 8 * count : 0, 0, 0);
    world_inject(scene->world, &frame);
    check_scoreboard(scene->user.connection);
}

static void selective(struct scene *scene, unsigned length, unsigned from, unsigned to) {
    const struct range range = {from, to};
    acknowledge_bytes(scene, length, &range, to != 0, 1);
}

/* The first `segments`, and ranges of segments. */
static void acknowledge(struct scene *scene, unsigned segments, const struct range *ranges,
                        unsigned count) {
    acknowledge_bytes(scene, segments * MSS, ranges, count, MSS);
}

#define sack(scene, segments, ...)                                                                 \
    acknowledge(scene, segments, (const struct range[]){__VA_ARGS__},                              \
                sizeof((const struct range[]){__VA_ARGS__}) / sizeof(struct range))

/* The number of the next segment that the stack sent, or -1. */
static int next_sent(struct scene *scene) {
    while (peer_take(&scene->peer))
        if (scene->peer.last.length)
            return (int)(scene->peer.last.sequence - scene->base) / MSS;
    return -1;
}

static unsigned drain_payload(struct scene *scene) {
    unsigned count = 0;
    while (next_sent(scene) >= 0)
        count++;
    return count;
}

static void send_more(struct scene *scene, unsigned segments) {
    expect_equal(plumb_tcp_send(scene->user.connection, bytes, segments * MSS), segments * MSS);
    world_settle(scene->world);
}

static unsigned moved(struct scene *scene, const char *name) {
    return counters_moved(&scene->world->a, &scene->before, name);
}

/* A connection over which a segment has gone, so that its round trip is known; then `segments`
 * go. */
static struct scene sending(unsigned segments) {
    static const uint8_t options[] = {2, 4, 5, 180, 4, 2, 1, 1};
    struct scene scene = {.world = world_single(0)};
    struct user *user = &scene.user;
    world_introduce(scene.world);
    user_listen(user, &scene.world->a, 80);
    scene.peer = peer_at(scene.world, 40000, 80);
    peer_send_syn(&scene.peer, TCP_SYN, options, sizeof options);
    world_run(scene.world, RTT_MS * MILLISECOND);
    peer_accept(&scene.peer, TCP_SYN | TCP_ACK);
    peer_send(&scene.peer, TCP_ACK, 0, 0);
    expect_equal(user->accepted, 1);
    expect(pl_tcp_racks(user->connection));
    scene.base = scene.peer.acknowledgement;
    send_more(&scene, 1);
    world_run(scene.world, RTT_MS * MILLISECOND);
    scene.base += MSS;
    acknowledge(&scene, 0, 0, 0);
    world_drain(scene.world);
    user->connection->congestion_window = 10 * MSS;
    scene.before = counters_now(&scene.world->a);
    send_more(&scene, segments);
    expect_equal(drain_payload(&scene), segments < 10 ? segments : 10);
    world_run(scene.world, RTT_MS * MILLISECOND);
    world_introduce(scene.world);
    return scene;
}

static void ended(struct scene *scene) {
    world_introduce(scene->world);
    disconnected(scene->world, &scene->user);
}

/* RFC 6675 section 5: with three behind it a hole is lost, and nothing else is sent again. */
static void a_hole_is_filled(void **state) {
    (void)state;
    struct scene scene = sending(10);
    sack(&scene, 2, {3, 4});
    sack(&scene, 2, {3, 5});
    expect_equal(next_sent(&scene), -1);
    sack(&scene, 2, {3, 6});
    expect_equal(next_sent(&scene), 2);
    expect_equal(next_sent(&scene), -1);
    sack(&scene, 2, {3, 10});
    expect_equal(next_sent(&scene), -1);
    world_run(scene.world, RTT_MS * MILLISECOND);
    acknowledge(&scene, 10, 0, 0);
    expect_equal(next_sent(&scene), -1);
    expect_equal(moved(&scene, "tcp_retransmitted"), 1);
    expect_equal(moved(&scene, "tcp_fast_retransmit"), 1);
    expect_equal(moved(&scene, "tcp_timeout"), 0);
    expect_equal(user_info(&scene.user).congestion_window,
                 user_info(&scene.user).slow_start_threshold);
    ended(&scene);
}

/* All holes within a round trip, where duplicates tell of one. */
static void all_holes_are_filled_at_once(void **state) {
    (void)state;
    struct scene scene = sending(10);
    sack(&scene, 1, {9, 10}, {4, 6}, {2, 3}, {7, 8});
    static const int holes[] = {1, 3, 6, 8};
    unsigned filled = 0;
    for (int at; (at = next_sent(&scene)) >= 0; filled++)
        expect_equal(at, holes[filled]);
    expect(filled >= 1);
    /* What the reduction held back goes with what is delivered. */
    for (unsigned i = 0; filled < 4 && i < 8; i++) {
        world_run(scene.world, 10 * MILLISECOND);
        sack(&scene, (unsigned)holes[i] + (i == 0), {9, 10}, {4, 6}, {7, 8});
        for (int at; (at = next_sent(&scene)) >= 0; filled++)
            expect_equal(at, holes[filled]);
    }
    expect_equal(filled, 4);
    expect_equal(moved(&scene, "tcp_fast_retransmit"), 1);
    ended(&scene);
}

/* RFC 9937: seven tenths of what is delivered go (a half with Reno), so that the window comes
 * down to the threshold evenly, not at once and not late. */
static void the_window_comes_down_in_proportion(void **state) {
    (void)state;
    struct scene scene = sending(40);
    expect_equal(plumb_tcp_set_option(scene.user.connection, PLUMB_TCP_CONGESTION, PLUMB_TCP_RENO),
                 PLUMB_OK);
    unsigned sent = 0;
    for (unsigned i = 2; i <= 10; i++) {
        sack(&scene, 0, {1, i});
        unsigned now = drain_payload(&scene);
        sent += now;
        /* Never faster than a half of what was delivered, and one to begin with; a whole
         * segment as soon as a part of it may go. */
        if (i >= 4)
            expect(sent <= 2 + (i - 1 + 1) / 2 + 1);
        if (i >= 4 && i < 10)
            expect_equal(now, i % 2 == 0);
    }
    /* Two by limited transmit, before the loss was known; five of ten altogether. */
    expect(sent >= 5 && sent <= 7);
    acknowledge(&scene, 10, 0, 0);
    expect(user_info(&scene.user).slow_start_threshold >= 5 * MSS);
    ended(&scene);
}

/* RFC 8985 section 6.2: what was sent again and lost again is found without a time-out. */
static void a_lost_repetition_is_found(void **state) {
    (void)state;
    struct scene scene = sending(40);
    sack(&scene, 0, {1, 10});
    expect_equal(next_sent(&scene), 0);
    unsigned fresh = drain_payload(&scene);
    expect(fresh > 0);
    world_run(scene.world, RTT_MS * MILLISECOND);
    /* Sent behind the repetition, and delivered before it. */
    world_run(scene.world, RTT_MS / 2 * MILLISECOND);
    sack(&scene, 0, {1, 10 + fresh});
    world_run(scene.world, RTT_MS * MILLISECOND);
    expect_equal(next_sent(&scene), 0);
    expect_equal(moved(&scene, "tcp_timeout"), 0);
    expect_equal(moved(&scene, "tcp_fast_retransmit"), 1);
    ended(&scene);
}

/* RFC 8985 section 6.2, step 4: once reordering was seen, what is late is waited for. */
static void reordering_is_waited_for(void **state) {
    (void)state;
    struct scene scene = sending(20);
    /* The first arrives behind the second. */
    sack(&scene, 0, {1, 2});
    acknowledge(&scene, 2, 0, 0);
    drain_payload(&scene);
    world_run(scene.world, RTT_MS * MILLISECOND);
    sack(&scene, 2, {3, 8});
    expect_equal(moved(&scene, "tcp_retransmitted"), 0);
    /* A quarter of the round trip, and no more. */
    world_run(scene.world, (RTT_MS / 4 - 10) * MILLISECOND);
    expect_equal(moved(&scene, "tcp_retransmitted"), 0);
    world_run(scene.world, 20 * MILLISECOND);
    expect_equal(moved(&scene, "tcp_retransmitted"), 1);
    expect_equal(moved(&scene, "tcp_timeout"), 0);
    ended(&scene);
}

/* The same when a peer says that it had a segment twice (RFC 2883): the wait is longer. */
static void a_duplicate_makes_patient(void **state) {
    (void)state;
    struct scene scene = sending(20);
    sack(&scene, 0, {1, 2});
    acknowledge(&scene, 2, 0, 0);
    drain_payload(&scene);
    world_run(scene.world, RTT_MS * MILLISECOND);
    sack(&scene, 2, {0, 1});
    sack(&scene, 2, {3, 8});
    world_run(scene.world, (RTT_MS / 4 + 10) * MILLISECOND);
    expect_equal(moved(&scene, "tcp_retransmitted"), 0);
    world_run(scene.world, RTT_MS / 4 * MILLISECOND);
    expect_equal(moved(&scene, "tcp_retransmitted"), 1);
    ended(&scene);
}

/* What was sent again and had only been late tells of reordering, though nothing that was sent
 * once came late: the next three behind a hole are no reason to fill it. */
static void what_was_sent_for_nothing_was_late(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_UNDO);
    struct scene scene = sending(20);
    sack(&scene, 0, {1, 5});
    expect_equal(next_sent(&scene), 0);
    sack(&scene, 5, {0, 1});
    expect_equal(moved(&scene, "tcp_undone"), 1);
    drain_payload(&scene);
    sack(&scene, 5, {6, 10});
    expect_equal(moved(&scene, "tcp_retransmitted"), 1);
    acknowledge(&scene, 10, 0, 0);
    ended(&scene);
}

/* A repetition that is lost too has the timer speak; the window was reduced for it already. */
static void a_time_out_in_recovery_reduces_no_further(void **state) {
    (void)state;
    struct scene scene = sending(10);
    sack(&scene, 0, {1, 5});
    expect_equal(next_sent(&scene), 0);
    uint32_t threshold = user_info(&scene.user).slow_start_threshold;
    while (!moved(&scene, "tcp_timeout"))
        world_run(scene.world, 100 * MILLISECOND);
    world_introduce(scene.world);
    /* But to half of what is out: RFC 5681 section 3.1. */
    expect(threshold > 5 * MSS);
    expect_equal(user_info(&scene.user).slow_start_threshold, 5 * MSS);
    drain_payload(&scene);
    acknowledge(&scene, 10, 0, 0);
    ended(&scene);
}

/* RFC 2018 section 8: what was selectively acknowledged may be taken back. */
static void a_peer_may_take_back(void **state) {
    (void)state;
    struct scene scene = sending(10);
    sack(&scene, 0, {1, 10});
    expect_equal(next_sent(&scene), 0);
    while (!moved(&scene, "tcp_timeout"))
        world_run(scene.world, 100 * MILLISECOND);
    world_introduce(scene.world);
    drain_payload(&scene);
    bool again[10] = {true};
    for (unsigned i = 1; i < 10;) {
        acknowledge(&scene, i, 0, 0);
        for (int at; (at = next_sent(&scene)) >= 0;)
            again[at] = true;
        expect(again[i]);
        while (i < 10 && again[i])
            i++;
    }
    acknowledge(&scene, 10, 0, 0);
    expect_equal(side_buffers_used(&scene.world->a), 0);
    ended(&scene);
}

/* After a time-out what the peer still has is passed over. */
static void after_a_time_out_holes_alone_are_sent(void **state) {
    (void)state;
    struct scene scene = sending(10);
    while (!moved(&scene, "tcp_timeout"))
        world_run(scene.world, 100 * MILLISECOND);
    world_introduce(scene.world);
    drain_payload(&scene);
    sack(&scene, 1, {2, 4}, {5, 10});
    static const int holes[] = {1, 4};
    for (unsigned i = 0; i < 2; i++) {
        expect_equal(next_sent(&scene), holes[i]);
        world_run(scene.world, 10 * MILLISECOND);
        sack(&scene, i ? 10 : 4, {5, 10});
    }
    expect_equal(next_sent(&scene), -1);
    expect_equal(side_buffers_used(&scene.world->a), 0);
    ended(&scene);
}

/* After a time-out a short last segment is unsent, but the peer may have said that it has it. */
static void what_the_peer_has_is_not_added_to(void **state) {
    enum { TAIL = 100, MORE = 50, ALL = 5 * MSS + TAIL };
    (void)state;
    struct scene scene = sending(5);
    struct plumb_tcp *connection = scene.user.connection;
    plumb_tcp_set_option(connection, PLUMB_TCP_NODELAY, 1);
    expect_equal(plumb_tcp_send(connection, bytes, TAIL), TAIL);
    world_settle(scene.world);
    while (!moved(&scene, "tcp_timeout"))
        world_run(scene.world, 100 * MILLISECOND);
    world_introduce(scene.world);
    drain_payload(&scene);
    selective(&scene, MSS, 5 * MSS, ALL);
    expect_equal(plumb_tcp_send(connection, bytes, MORE), MORE);
    world_settle(scene.world);
    selective(&scene, 3 * MSS, 5 * MSS, ALL);
    selective(&scene, 5 * MSS, 5 * MSS, ALL);
    selective(&scene, ALL, 0, 0);
    world_run(scene.world, SECOND);
    bool sent = false;
    while (peer_take(&scene.peer))
        sent |= scene.peer.last.length == MORE && scene.peer.last.sequence == scene.base + ALL;
    expect(sent);
    ended(&scene);
}

/* RFC 8985 section 7.2 and 7.3: two round trips without a word, and the last is sent again. */
static void a_lost_tail_is_probed_for(void **state) {
    (void)state;
    struct scene scene = sending(5);
    expect_equal(next_sent(&scene), -1);
    world_run(scene.world, (RTT_MS + 20) * MILLISECOND);
    expect_equal(next_sent(&scene), 4);
    expect_equal(moved(&scene, "tcp_tail_probe"), 1);
    /* The rest is lost too: that takes no time-out. */
    world_run(scene.world, RTT_MS * MILLISECOND);
    sack(&scene, 0, {4, 5});
    world_run(scene.world, (RTT_MS / 4 + 10) * MILLISECOND);
    expect(drain_payload(&scene) >= 1);
    expect_equal(moved(&scene, "tcp_timeout"), 0);
    expect_equal(moved(&scene, "tcp_fast_retransmit"), 1);
    ended(&scene);
}

/* Section 7.3: with something new, that; section 7.4: nothing was lost then. */
static void a_probe_is_rather_new(void **state) {
    (void)state;
    struct scene scene = sending(20);
    world_run(scene.world, (RTT_MS + 20) * MILLISECOND);
    expect_equal(next_sent(&scene), 10);
    expect_equal(next_sent(&scene), -1);
    uint32_t threshold = user_info(&scene.user).slow_start_threshold;
    acknowledge(&scene, 11, 0, 0);
    expect_equal(user_info(&scene.user).slow_start_threshold, threshold);
    expect_equal(moved(&scene, "tcp_retransmitted"), 0);
    ended(&scene);
}

/* Section 7.4: the probe has mended a loss, which counts; or has not, which does not. */
static void a_probe_tells_of_a_loss(void **state) {
    (void)state;
    /* The peer had it twice, and says so at once, or with what came next. */
    for (unsigned duplicate = 0; duplicate < 3; duplicate++) {
        struct scene scene = sending(5);
        world_run(scene.world, (RTT_MS + 20) * MILLISECOND);
        expect_equal(next_sent(&scene), 4);
        acknowledge(&scene, 5, 0, 0);
        if (duplicate == 1)
            sack(&scene, 5, {4, 5});
        send_more(&scene, 2);
        drain_payload(&scene);
        uint32_t threshold = user_info(&scene.user).slow_start_threshold;
        if (duplicate == 2)
            sack(&scene, 7, {4, 5});
        else
            acknowledge(&scene, 7, 0, 0);
        expect_equal(user_info(&scene.user).slow_start_threshold < threshold, !duplicate);
        ended(&scene);
    }
}

/* Blocks that cannot be: backwards, of what was never sent, of odd length. */
static void test_hostile_45_blocks_that_cannot_be(void **state) {
    (void)state;
    struct scene scene = sending(10);
    sack(&scene, 0, {6, 3});
    sack(&scene, 0, {3, 3}, {3, 3});
    sack(&scene, 0, {9, 4000});
    sack(&scene, 0, {11, 12}, {10, 11});
    sack(&scene, 0, {0x200000, 0x200001});
    sack(&scene, 0, {(unsigned)-3, (unsigned)-1});
    for (unsigned length = 0; length < 40; length++) {
        struct frame frame;
        uint8_t options[40] = {5, (uint8_t)length};
        memset(options + 2, 0xff, sizeof options - 2);
        frame_tcp(&frame, &scene.peer.path, scene.peer.sequence, scene.base, TCP_ACK,
                  scene.peer.window, options, 40, 0, 0);
        world_inject(scene.world, &frame);
        check_scoreboard(scene.user.connection);
    }
    expect_equal(scene.user.connection->duplicates, 0);
    expect_equal(pl_tcp_left_network(scene.user.connection), 0);
    expect_equal(next_sent(&scene), -1);
    acknowledge(&scene, 10, 0, 0);
    ended(&scene);
}

/* Selective acknowledgements of bytes, not segments, mark nothing they do not cover. */
static void parts_of_segments_are_not_marked(void **state) {
    (void)state;
    struct scene scene = sending(10);
    scene.base += 10;
    sack(&scene, 0, {2, 5});
    expect_equal(scene.user.connection->duplicates, 2);
    scene.base -= 10;
    ended(&scene);
}

/* ACK division, optimistic acknowledgements and duplicates that carry no block. */
static void test_hostile_57_nothing_inflates_the_window(void **state) {
    (void)state;
    struct scene scene = sending(40);
    uint32_t window = user_info(&scene.user).congestion_window;
    for (unsigned i = 0; i < 50; i++)
        acknowledge(&scene, 0, 0, 0);
    for (unsigned i = 0; i < 50; i++)
        sack(&scene, 0, {1, 2});
    expect_equal(user_info(&scene.user).congestion_window, window);
    expect(drain_payload(&scene) <= 1);
    /* One byte at a time grows it by bytes. */
    for (unsigned i = 0; i < 100; i++) {
        scene.base++;
        acknowledge(&scene, 0, 0, 0);
    }
    expect(user_info(&scene.user).congestion_window <= window + 100);
    ended(&scene);
}

/* ---- records of losses (loss.c) ---- */

/* Others that have all the records, each last heard of a millisecond after the one before. */
static void take_records(struct pl_tcp_state *tcp, struct plumb_tcp *others, uint16_t flags) {
    for (unsigned i = 0; i < CONFIG_PLUMB_TCP_LOSSES; i++) {
        others[i] = (struct plumb_tcp){
            .tcp = tcp, .flags = flags, .loss = (uint8_t)(i + 1), .progress_ms = i};
        tcp->losses[i] = (struct pl_tcp_loss){.owner = &others[i]};
    }
}

/* Where all records are with connections that recover, the next one does so as NewReno does,
 * until what was out is acknowledged. */
static void without_a_record(void **state) {
    (void)state;
    struct scene scene = sending(10);
    struct plumb_tcp others[CONFIG_PLUMB_TCP_LOSSES], *connection = scene.user.connection;
    take_records(connection->tcp, others, PL_TCP_RECOVERY);
    sack(&scene, 0, {1, 2});
    sack(&scene, 0, {1, 3});
    expect_equal(next_sent(&scene), -1);
    sack(&scene, 0, {1, 4});
    expect_equal(next_sent(&scene), 0);
    expect_equal(next_sent(&scene), -1);
    expect(!pl_tcp_racks(connection) && !connection->loss);
    expect(moved(&scene, "tcp_loss_unkept") >= 1);
    expect_equal(moved(&scene, "tcp_fast_retransmit"), 1);
    /* A partial acknowledgement tells of the next hole, and blocks tell nothing. */
    sack(&scene, 6, {7, 10});
    expect_equal(next_sent(&scene), 6);
    acknowledge(&scene, 10, 0, 0);
    send_more(&scene, 1);
    drain_payload(&scene);
    acknowledge(&scene, 11, 0, 0);
    expect(pl_tcp_racks(connection));
    for (unsigned i = 0; i < CONFIG_PLUMB_TCP_LOSSES; i++) {
        expect_equal(others[i].loss, i + 1);
        connection->tcp->losses[i].owner = 0;
    }
    send_more(&scene, 2);
    expect_equal(drain_payload(&scene), 2);
    sack(&scene, 11, {12, 13});
    expect(connection->loss);
    expect_equal(connection->duplicates, 1);
    acknowledge(&scene, 13, 0, 0);
    ended(&scene);
}

/* A time-out without a record goes back to the oldest, and is over when all is acknowledged. */
static void a_time_out_without_a_record(void **state) {
    (void)state;
    struct scene scene = sending(5);
    struct plumb_tcp others[CONFIG_PLUMB_TCP_LOSSES], *connection = scene.user.connection;
    take_records(connection->tcp, others, PL_TCP_WATCHED);
    world_run(scene.world, 2 * SECOND);
    expect_equal(next_sent(&scene), 0);
    expect(moved(&scene, "tcp_timeout") >= 1);
    expect_equal(moved(&scene, "tcp_tail_probe"), 0);
    expect(!connection->loss);
    expect(!pl_tcp_racks(connection));
    world_introduce(scene.world);
    drain_payload(&scene);
    acknowledge(&scene, 5, 0, 0);
    send_more(&scene, 1);
    drain_payload(&scene);
    acknowledge(&scene, 6, 0, 0);
    expect(pl_tcp_racks(connection));
    memset(connection->tcp->losses, 0, sizeof connection->tcp->losses);
    ended(&scene);
}

/* Of connections that are quiet the one that has been so for longest gives its record away; a
 * connection that ends leaves its own. */
static void the_quietest_gives_its_record(void **state) {
    (void)state;
    struct scene scene = sending(10);
    struct plumb_tcp others[CONFIG_PLUMB_TCP_LOSSES], *connection = scene.user.connection;
    struct pl_tcp_loss *losses = connection->tcp->losses;
    take_records(connection->tcp, others, 0);
    others[0].flags = PL_TCP_RECOVERY;
    others[1].duplicates = 1;
    losses[2].undo_step = PL_TCP_UNDO_SENT_OLDEST;
    sack(&scene, 0, {1, 2});
    for (unsigned i = 0; i < CONFIG_PLUMB_TCP_LOSSES; i++)
        expect_equal(others[i].loss, i == 3 ? 0 : i + 1);
    expect_equal(connection->loss, 4);
    expect_equal(moved(&scene, "tcp_loss_unkept"), 0);
    acknowledge(&scene, 10, 0, 0);
    expect(losses[3].owner == connection);
    plumb_tcp_abort(connection);
    expect(!losses[3].owner);
    memset(losses, 0, sizeof connection->tcp->losses);
    ended(&scene);
}

/* ---- two stacks, over wires that lose and reorder ---- */

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

static void check_turn(struct world *world, void *context) {
    const struct flow *flow = context;
    (void)world;
    check_scoreboard(flow->sender);
}

/* What ten seconds bring, kbit/s; the scoreboard is looked at after every turn. */
static unsigned goodput(uint64_t seed, struct plumb_wire_faults faults) {
    struct world_options options = {.seed = seed, .faults = faults};
    struct world *world = world_pair(&options);
    struct plumb_tcp_listener *listener;
    struct flow flow = {0};
    expect_equal(plumb_tcp_listen(world->b.stack, endpoint_of(0, 80), 1, accept, &flow, &listener),
                 PLUMB_OK);
    expect_equal(plumb_tcp_connect(world->a.stack, endpoint_of(world->b.address, 80), 0, feed,
                                   &flow, &flow.sender),
                 PLUMB_OK);
    expect_equal(plumb_tcp_set_option(flow.sender, PLUMB_TCP_SEND_BUFFER, 1 << 20), PLUMB_OK);
    expect_equal(plumb_tcp_set_option(flow.sender, PLUMB_TCP_CONGESTION, PLUMB_TCP_RENO), PLUMB_OK);
    world->turn = check_turn;
    world->context = &flow;
    world_run(world, 10 * SECOND);
    world->turn = 0;
    plumb_tcp_abort(flow.sender);
    world_run(world, SECOND);
    world_end(world);
    return (unsigned)(flow.received * 8 / 10000);
}

/* 100 Mbit/s and a round trip of 20 ms, with as much loss both ways; nine tenths of what Linux's
 * Reno was seen to make of it, of a few runs. */
static void goodput_under_loss(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_BUFFER_LIMITS);
    static const struct {
        uint16_t loss; /* of 10000 */
        unsigned least;
    } rows[] = {{0, 85500}, {100, 5500}, {500, 2000}, {1000, 750}};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned sum = 0, runs = rows[i].loss ? 3 : 1;
        for (unsigned seed = 0; seed < runs; seed++)
            sum += goodput(seed, (struct plumb_wire_faults){
                                     .rate = 100000000, .delay_us = 10000, .loss = rows[i].loss});
        if (sum / runs < rows[i].least)
            fail_msg("%u kbit/s at a loss of %u / 10000", sum / runs, rows[i].loss);
    }
}

/* The same with frames that come late, or twice. */
static void goodput_under_reordering(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_BUFFER_LIMITS);
    expect(goodput(1, (struct plumb_wire_faults){
                          .rate = 100000000, .delay_us = 10000, .reordering = 1000}) > 60000);
    expect(goodput(1, (struct plumb_wire_faults){
                          .rate = 100000000, .delay_us = 10000, .duplication = 5000}) > 80000);
}

#define RACK                                                                                       \
    cmocka_unit_test(goodput_under_loss), cmocka_unit_test(goodput_under_reordering),              \
        cmocka_unit_test(a_hole_is_filled), cmocka_unit_test(all_holes_are_filled_at_once),        \
        cmocka_unit_test(the_window_comes_down_in_proportion),                                     \
        cmocka_unit_test(a_lost_repetition_is_found), cmocka_unit_test(reordering_is_waited_for),  \
        cmocka_unit_test(a_duplicate_makes_patient), cmocka_unit_test(a_peer_may_take_back),       \
        cmocka_unit_test(after_a_time_out_holes_alone_are_sent),                                   \
        cmocka_unit_test(what_the_peer_has_is_not_added_to),                                       \
        cmocka_unit_test(what_was_sent_for_nothing_was_late),                                      \
        cmocka_unit_test(a_time_out_in_recovery_reduces_no_further),                               \
        cmocka_unit_test(a_lost_tail_is_probed_for), cmocka_unit_test(a_probe_is_rather_new),      \
        cmocka_unit_test(a_probe_tells_of_a_loss),                                                 \
        cmocka_unit_test(test_hostile_45_blocks_that_cannot_be),                                   \
        cmocka_unit_test(parts_of_segments_are_not_marked), cmocka_unit_test(without_a_record),    \
        cmocka_unit_test(a_time_out_without_a_record),                                             \
        cmocka_unit_test(the_quietest_gives_its_record),                                           \
        cmocka_unit_test(test_hostile_57_nothing_inflates_the_window)
#endif

HARNESS_MAIN(RACK)
