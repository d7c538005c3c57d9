/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* TCP in every state that has broken other stacks: rows 42 to 44, 47 to 54 and 60 of
 * docs/hostile.md. */
#include <string.h>

#include <plumb_config.h>

#include "siege.h"

enum state {
    LISTEN,
    SYN_SENT,
    SYN_RECEIVED,
    ESTABLISHED,
    FIN_WAIT_1,
    FIN_WAIT_2,
    CLOSE_WAIT,
    CLOSING,
    LAST_ACK,
    TIME_WAIT,
    STATES
};

enum { PORT = 81, OUTSIDE = 100000 };

static const uint8_t mss_1460[4] = {2, 4, 0x05, 0xb4};

static struct siege siege;

/* A connection beside the flow of the siege, which is struck at in one of its states. */
struct target {
    enum state state;
    struct user user;
    struct peer peer;
};

static void begin_open(struct target *target) {
    static uint16_t port = 50000;
    struct world *world = siege.world;
    if (target->state == SYN_SENT) {
        user_connect_from(&target->user, 7000, &world->a, world->b.address, ++port);
        target->peer = peer_at(world, port, 7000);
        peer_accept(&target->peer, TCP_SYN);
        return;
    }
    user_listen(&target->user, &world->a, PORT);
    target->peer = peer_at(world, ++port, PORT);
    if (target->state == LISTEN)
        return;
    peer_send_syn(&target->peer, TCP_SYN, mss_1460, 4);
    peer_accept(&target->peer, TCP_SYN | TCP_ACK);
    if (target->state > SYN_RECEIVED)
        peer_send(&target->peer, TCP_ACK, 0, 0);
}

static void begin_end(struct target *target) {
    struct peer *peer = &target->peer;
    bool ours_first = target->state != CLOSE_WAIT && target->state != LAST_ACK;
    if (!ours_first)
        peer_send(peer, TCP_FIN | TCP_ACK, 0, 0);
    if (target->state == CLOSE_WAIT)
        return;
    plumb_tcp_shutdown(target->user.connection);
    world_settle(siege.world);
    uint32_t before = peer->acknowledgement;
    do
        expect(peer_take(peer));
    while (!(peer->last.flags & TCP_FIN));
    peer->acknowledgement = peer->last.sequence + 1;
    if (target->state == FIN_WAIT_2 || target->state == TIME_WAIT)
        peer_send(peer, TCP_ACK, 0, 0);
    else
        peer->acknowledgement = before;
    if (target->state == CLOSING || target->state == TIME_WAIT)
        peer_send(peer, TCP_FIN | TCP_ACK, 0, 0);
}

static struct target *aim(enum state state) {
    static struct target target;
    target = (struct target){.state = state};
    begin_open(&target);
    if (state > ESTABLISHED)
        begin_end(&target);
    world_drain(siege.world);
    return &target;
}

/* The state is what it was. */
static void expect_kept(struct target *target) {
    static const enum plumb_tcp_state states[STATES] = {
        [SYN_SENT] = PLUMB_TCP_STATE_SYN_SENT,     [ESTABLISHED] = PLUMB_TCP_STATE_ESTABLISHED,
        [FIN_WAIT_1] = PLUMB_TCP_STATE_FIN_WAIT_1, [FIN_WAIT_2] = PLUMB_TCP_STATE_FIN_WAIT_2,
        [CLOSE_WAIT] = PLUMB_TCP_STATE_CLOSE_WAIT, [CLOSING] = PLUMB_TCP_STATE_CLOSING,
        [LAST_ACK] = PLUMB_TCP_STATE_LAST_ACK,
    };
    struct peer *peer = &target->peer;
    world_drain(siege.world);
    switch (target->state) {
    case LISTEN:
        expect_equal(target->user.accepted, 0);
        break;
    case SYN_RECEIVED:
        expect_equal(target->user.accepted, 0);
        peer_send(peer, TCP_ACK, 0, 0);
        expect_equal(target->user.accepted, 1);
        break;
    case TIME_WAIT:
        /* Challenges are used up, perhaps. */
        world_run(siege.world, 1100 * MILLISECOND);
        world_drain(siege.world);
        peer_send_at(peer, peer->sequence - 1, peer->acknowledgement, TCP_FIN | TCP_ACK, 0, 0);
        expect_equal(peer_expect(peer, TCP_ACK)->acknowledgement, peer->sequence);
        break;
    default:
        assert_non_null(target->user.connection);
        expect_equal(user_info(&target->user).state, states[target->state]);
        break;
    }
}

static void leave(struct target *target) {
    user_end(&target->user);
    world_drain(siege.world);
}

static const struct frame *strike(struct target *target, uint32_t ahead, uint32_t acknowledged,
                                  unsigned flags, unsigned length) {
    struct frame frame;
    const struct peer *peer = &target->peer;
    frame_tcp(&frame, &peer->path, peer->sequence + ahead,
              flags & TCP_ACK ? peer->acknowledgement + acknowledged : 0, flags, 65535, 0, 0,
              "0123456789", length);
    return siege_strike(&siege, &frame);
}

static unsigned flags_of(const struct frame *frame) {
    return frame->bytes[FRAME_TRANSPORT + 13];
}

/* ---- options ---- */

static void test_hostile_42_options_in_every_state(void **state) {
    (void)state;
    static const uint8_t options[][12] = {
        {2},
        {1, 1, 1, 2},
        {1, 1, 1, 8},
        {1, 1, 1, 3},
        {1, 1, 8, 10},
        {2, 0, 5, 0xb4},
        {8, 1, 0, 0},
        {8, 0, 0, 0},
        {5, 255, 0, 0},
        {8, 10, 255, 255},
        {5, 2, 5, 2, 5, 2, 5, 2, 5, 2, 5, 2},
        {254, 0, 254, 1, 254, 13, 0, 0, 0, 0, 0, 5},
        {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 5},
        {1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8},
    };
    static const unsigned flags[] = {TCP_ACK, TCP_SYN, TCP_SYN | TCP_ACK, TCP_RST, TCP_FIN};
    siege_begin(&siege, 0);
    for (enum state s = LISTEN; s < STATES; s++)
        for (unsigned f = 0; f < sizeof flags / sizeof *flags; f++) {
            struct target *target = aim(s);
            for (unsigned i = 0; i < sizeof options / sizeof *options; i++) {
                struct frame frame;
                const struct peer *peer = &target->peer;
                frame_tcp(&frame, &peer->path, peer->sequence, peer->acknowledgement, flags[f],
                          1000, options[i], i < 10 ? 4 : 12, 0, 0);
                siege_strike(&siege, &frame);
            }
            leave(target);
            siege_exchange(&siege);
        }
    siege_end(&siege);
}

static void open_with(struct target *target, const uint8_t *options, unsigned length) {
    *target = (struct target){.state = SYN_SENT};
    begin_open(target);
    peer_send_syn(&target->peer, TCP_SYN | TCP_ACK, options, length);
    expect_equal(user_info(&target->user).state, PLUMB_TCP_STATE_ESTABLISHED);
    peer_expect(&target->peer, TCP_ACK);
}

/* In an answer to our SYN; in a SYN it is test_tcp_open's `mss_is_clamped`. */
static void test_hostile_43_mss_of_an_answer(void **state) {
    (void)state;
    static const struct {
        uint16_t offered, used;
    } cases[] = {{0, 48}, {1, 48}, {47, 48}, {65535, 1460}};
    static uint8_t bytes[3000];
    siege_begin(&siege, 0);
    for (unsigned i = 0; i < 4; i++) {
        struct target target;
        uint8_t option[4] = {2, 4, (uint8_t)(cases[i].offered >> 8), (uint8_t)cases[i].offered};
        open_with(&target, option, 4);
        expect_equal(user_info(&target.user).mss, cases[i].used);
        expect_equal(plumb_tcp_send(target.user.connection, bytes, sizeof bytes), sizeof bytes);
        world_settle(siege.world);
        unsigned segments = 0;
        while (peer_take(&target.peer)) {
            expect(target.peer.last.length <= cases[i].used);
            segments++;
        }
        expect(segments >= 1 && segments <= sizeof bytes / 48 + 1);
        leave(&target);
    }
    siege_end(&siege);
}

static void test_hostile_44_scale_of_an_answer(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_WINDOW_SCALE);
    siege_begin(&siege, 0);
    for (unsigned length = 0; length < 6; length++)
        for (unsigned scale = 13; scale < 256; scale += scale < 16 ? 1 : 60) {
            struct target target;
            uint8_t options[8] = {2, 4, 0x05, 0xb4, 3, (uint8_t)length, (uint8_t)scale};
            open_with(&target, options, 8);
            target.peer.window = 3;
            peer_send(&target.peer, TCP_ACK, 0, 0);
            expect_equal(user_info(&target.user).send_window,
                         length != 3 ? 3U : 3U << (scale < 14 ? scale : 14));
            leave(&target);
        }
    siege_end(&siege);
}

/* ---- urgent ---- */

static void test_hostile_47_urgent_in_every_state(void **state) {
    (void)state;
    static const uint16_t pointers[] = {0, 1, 4, 5, 0x7fff, 0x8000, 65535};
    siege_begin(&siege, 0);
    for (enum state s = LISTEN; s < STATES; s++) {
        struct target *target = aim(s);
        bool takes = s >= SYN_RECEIVED && s <= FIN_WAIT_2;
        for (unsigned i = 0; i < sizeof pointers / sizeof *pointers; i++) {
            struct frame frame;
            struct peer *peer = &target->peer;
            frame_tcp(&frame, &peer->path, peer->sequence, peer->acknowledgement, TCP_ACK | TCP_URG,
                      65535, 0, 0, "urgent", 6);
            frame_put16(&frame, FRAME_TRANSPORT + 18, pointers[i]);
            frame_fix_checksums(&frame);
            siege_strike(&siege, &frame);
            peer->sequence += takes ? 6 : 0;
            expect_equal(target->user.length, takes ? 6 * (i + 1) : 0);
        }
        leave(target);
        siege_exchange(&siege);
    }
    siege_end(&siege);
}

/* ---- flags ---- */

/* Outside the window nothing makes a transition; inside, nothing without ACK does. */
static void test_hostile_48_flags_in_every_state(void **state) {
    (void)state;
    siege_begin(&siege, 0);
    for (enum state s = SYN_SENT; s < STATES; s++)
        for (unsigned flags = 0; flags < 64; flags++) {
            struct target *target = aim(s);
            if (s > SYN_SENT && s != TIME_WAIT)
                strike(target, OUTSIDE, 0, flags, 0);
            if (!(flags & (TCP_ACK | TCP_RST | TCP_SYN)))
                strike(target, 0, 0, flags, 0);
            if ((flags & (TCP_SYN | TCP_FIN | TCP_ACK | TCP_RST)) == (TCP_SYN | TCP_FIN))
                strike(target, 0, 0, flags, 0);
            if (flags & TCP_SYN && flags & TCP_RST && !(flags & TCP_ACK))
                strike(target, 1, 0, flags, 0);
            expect_kept(target);
            leave(target);
        }
    siege_end(&siege);
}

/* ---- blind attacks, RFC 5961 ---- */

static void test_hostile_49_resets_in_every_state(void **state) {
    (void)state;
    static const uint32_t inside[] = {1, 1000, 60000};
    static const uint32_t outside[] = {OUTSIDE, 0x7fffffff, (uint32_t)-1, (uint32_t)-70000};
    siege_begin(&siege, 0);
    for (enum state s = SYN_RECEIVED; s < STATES; s++) {
        struct target *target = aim(s);
        bool challenged = s < CLOSE_WAIT || s == LAST_ACK || s == CLOSE_WAIT || s == CLOSING;
        for (unsigned i = 0; i < 3; i++) {
            struct counters before = counters_now(&siege.world->a);
            const struct frame *answer = strike(target, inside[i], 0, TCP_RST, 0);
            counters_expect_drop(&siege.world->a, &before, "tcp_reset", 1);
            expect_equal(answer != 0, challenged);
            expect(!answer || flags_of(answer) == TCP_ACK);
        }
        for (unsigned i = 0; i < 4; i++) {
            struct counters before = counters_now(&siege.world->a);
            assert_null(strike(target, outside[i], 0, TCP_RST, 0));
            counters_expect_drop(&siege.world->a, &before, "tcp_reset", 1);
        }
        expect_kept(target);
        leave(target);
        siege_exchange(&siege);
    }
    siege_end(&siege);
}

static void test_hostile_50_syns_in_every_state(void **state) {
    (void)state;
    static const uint32_t numbers[] = {0, (uint32_t)-1, (uint32_t)-5000};
    siege_begin(&siege, 0);
    for (enum state s = ESTABLISHED; s < STATES; s++) {
        struct target *target = aim(s);
        for (unsigned i = 0; i < 3; i++) {
            struct counters before = counters_now(&siege.world->a);
            const struct frame *answer = strike(target, numbers[i], 0, TCP_SYN, 0);
            counters_expect_drop(&siege.world->a, &before, "tcp_syn", 1);
            expect(answer && flags_of(answer) == TCP_ACK);
        }
        if (s < TIME_WAIT)
            expect(strike(target, 1000, 0, TCP_SYN, 0) != 0);
        expect_kept(target);
        leave(target);
        siege_exchange(&siege);
    }
    siege_end(&siege);
}

static void test_hostile_51_acknowledgements_in_every_state(void **state) {
    (void)state;
    static const uint32_t ahead[] = {10, 100000, 0x7ffffff0, (uint32_t)-200000};
    siege_begin(&siege, 0);
    for (enum state s = ESTABLISHED; s < STATES; s++) {
        struct target *target = aim(s);
        for (unsigned i = 0; i < 4; i++) {
            struct counters before = counters_now(&siege.world->a);
            const struct frame *answer = strike(target, 0, ahead[i], TCP_ACK, 5);
            expect_equal(counters_drops(&siege.world->a, &before), 1);
            expect(answer && flags_of(answer) == TCP_ACK);
            expect_equal(target->user.length, 0);
        }
        expect_kept(target);
        leave(target);
        siege_exchange(&siege);
    }
    siege_end(&siege);
}

static void test_hostile_52_challenges_in_every_state(void **state) {
    (void)state;
    unsigned least = 1000, most = 0;
    siege_begin(&siege, 0);
    for (enum state s = SYN_RECEIVED; s < STATES; s++) {
        struct target *target = aim(s);
        unsigned challenges = 0;
        for (unsigned i = 0; i < 300; i++)
            challenges += strike(target, (uint32_t)-1000, 0, TCP_ACK, 0) != 0;
        expect(challenges >= 1 && challenges <= 20);
        if (s > SYN_RECEIVED) { /* which has a number of its own */
            least = challenges < least ? challenges : least;
            most = challenges > most ? challenges : most;
        }
        expect_kept(target);
        leave(target);
        siege_exchange(&siege);
    }
    expect(least < most); /* nobody can count on how many there are */
    siege_end(&siege);
}

/* ---- floods ---- */

static void test_hostile_53_flood_of_syns(void **state) {
    (void)state;
    siege_begin(&siege, 0);
    siege.flood = true;
    for (unsigned i = 0; i < 100000; i++) {
        struct frame frame;
        struct frame_path path = siege.path;
        path.from_port = (uint16_t)(1024 + i % 60000);
        frame_tcp(&frame, &path, i * 7919, 0, TCP_SYN, 65535, mss_1460, 4, 0, 0);
        struct counters before = counters_now(&siege.world->a);
        siege_strike(&siege, &frame);
        expect(counters_drops(&siege.world->a, &before) <= 1);
        if (i % 10000)
            continue;
        siege_exchange(&siege);
        struct target *target = aim(ESTABLISHED);
        peer_send(&target->peer, TCP_ACK | TCP_PSH, "hello", 5);
        expect_equal(target->user.length, 5);
        leave(target);
        /* At the very port of the flood too. */
        struct peer peer = peer_at(siege.world, (uint16_t)(30000 + i / 10000), SIEGE_PORT);
        struct plumb_tcp *flow = siege.user.connection;
        peer_connect(&peer);
        expect(siege.user.connection != flow);
        plumb_tcp_abort(siege.user.connection);
        siege.user.connection = flow;
        world_drain(siege.world);
    }
    siege_end(&siege);
}

/* ---- itself ---- */

static void test_hostile_54_from_itself_in_every_state(void **state) {
    (void)state;
    static const unsigned flags[] = {TCP_SYN, TCP_SYN | TCP_ACK, TCP_ACK, TCP_RST, TCP_FIN};
    siege_begin(&siege, 0);
    for (enum state s = LISTEN; s < STATES; s++) {
        struct target *target = aim(s);
        for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++) {
            struct frame frame;
            struct frame_path path = target->peer.path;
            path.from = path.to;
            path.from_port = path.to_port;
            frame_tcp(&frame, &path, target->peer.sequence, target->peer.acknowledgement, flags[i],
                      65535, 0, 0, 0, 0);
            siege_drop(&siege, &frame, "ipv4_source");
        }
        leave(target);
    }
    siege_end(&siege);
}

/* Nobody answers, and that is all: there is no loopback. */
static void test_hostile_54_a_connection_to_itself(void **state) {
    (void)state;
    siege_begin(&siege, 0);
    struct user user = {0};
    user.side = &siege.world->a;
    struct plumb_tcp *connection;
    int error =
        plumb_tcp_connect(siege.world->a.stack, endpoint_of(siege.world->a.address, SIEGE_PORT),
                          SIEGE_PORT, (plumb_tcp_handler *)0, 0, &connection);
    expect_equal(error, PLUMB_ERROR_INVALID);
    user_connect_from(&user, 7001, &siege.world->a, siege.world->a.address, SIEGE_PORT);
    siege_wait(&siege, 10 * SECOND);
    expect_equal(siege.user.accepted, 1); /* the flow of the siege */
    siege_exchange(&siege);
    user_end(&user);
    siege_end(&siege);
}

/* ---- TIME_WAIT ---- */

static void test_hostile_60_time_wait_is_not_assassinated(void **state) {
    (void)state;
    siege_begin(&siege, 0);
    struct target *target = aim(TIME_WAIT);
    for (uint32_t offset = (uint32_t)-3; offset != 4; offset++) {
        strike(target, offset, 0, TCP_RST, 0);
        strike(target, offset, 0, TCP_RST | TCP_ACK, 0);
        strike(target, offset, 0, TCP_ACK, 4);
    }
    strike(target, (uint32_t)-1000, 0, TCP_SYN, 0);
    expect_kept(target);
    /* And a new connection may follow at once. */
    target->peer.sequence += 1000;
    peer_connect(&target->peer);
    expect_equal(target->user.accepted, 2);
    leave(target);
    siege_end(&siege);
}

HARNESS_MAIN(cmocka_unit_test(test_hostile_42_options_in_every_state),
             cmocka_unit_test(test_hostile_43_mss_of_an_answer),
             cmocka_unit_test(test_hostile_44_scale_of_an_answer),
             cmocka_unit_test(test_hostile_47_urgent_in_every_state),
             cmocka_unit_test(test_hostile_48_flags_in_every_state),
             cmocka_unit_test(test_hostile_49_resets_in_every_state),
             cmocka_unit_test(test_hostile_50_syns_in_every_state),
             cmocka_unit_test(test_hostile_51_acknowledgements_in_every_state),
             cmocka_unit_test(test_hostile_52_challenges_in_every_state),
             cmocka_unit_test(test_hostile_53_flood_of_syns),
             cmocka_unit_test(test_hostile_54_from_itself_in_every_state),
             cmocka_unit_test(test_hostile_54_a_connection_to_itself),
             cmocka_unit_test(test_hostile_60_time_wait_is_not_assassinated))
