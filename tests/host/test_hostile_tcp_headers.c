/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * TCP headers cut short, SACK blocks and time stamps of nobody, in every state of a
 * connection: rows 40, 41, 45, 46 and 55 of docs/hostile.md. The segments acknowledge nothing new,
 * so that none of them may move the connection; what would be next in that state still is.
 */
#include <string.h>

#include "siege.h"

enum state {
    CLOSED,
    LISTEN,
    SYN_SENT,
    SYN_RECEIVED,
    ESTABLISHED,
    CLOSE_WAIT,
    LAST_ACK,
    FIN_WAIT_1,
    FIN_WAIT_2,
    CLOSING,
    TIME_WAIT,
    STATES
};
enum { PORT = 81 };

/* MSS, and selective acknowledgements are welcome. */
static const uint8_t syn_options[8] = {2, 4, 0x05, 0xb4, 4, 2, 1, 1};

static struct siege siege;
static struct user user;
static struct peer peer; /* the attacked connection's, who is the attacker or is forged by him */

static void make_peer(uint16_t from, uint16_t to) {
    peer = peer_at(siege.world, from, to);
    peer.path.from = siege.path.from;
    memcpy(peer.path.from_ethernet, siege.path.from_ethernet, 6);
}

/* What the peer has had, without the SYN or FIN that is to be acknowledged next. */
static void take_unacknowledged(unsigned flags) {
    peer_accept(&peer, flags);
    peer.acknowledgement--;
}

static void connect_peer(enum state state) {
    make_peer(50000, PORT);
    user_listen(&user, &siege.world->a, PORT);
    if (state == LISTEN)
        return;
    peer_send_syn(&peer, TCP_SYN, syn_options, sizeof syn_options);
    take_unacknowledged(TCP_SYN | TCP_ACK);
    if (state == SYN_RECEIVED)
        return;
    peer.acknowledgement++;
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(user.accepted, 1);
}

static void close_user(void) {
    user_close(siege.world, &user);
    take_unacknowledged(TCP_FIN | TCP_ACK);
}

static void send_fin(void) {
    peer_send(&peer, TCP_FIN | TCP_ACK, 0, 0);
    peer_expect(&peer, TCP_ACK);
}

static void reach(enum state state) {
    siege_begin(&siege, 0);
    siege.flood = true; /* nothing is sent again meanwhile */
    siege.every = 32;
    if (state == CLOSED) {
        make_peer(50000, PORT);
    } else if (state == SYN_SENT) {
        user_connect_from(&user, 5000, &siege.world->a, siege.path.from, PORT);
        make_peer(PORT, 5000);
        take_unacknowledged(TCP_SYN);
    } else {
        connect_peer(state);
    }
    if (state == CLOSE_WAIT || state == LAST_ACK)
        send_fin();
    if (state >= LAST_ACK)
        close_user();
    if (state == FIN_WAIT_2 || state == TIME_WAIT) {
        peer.acknowledgement++;
        peer_send(&peer, TCP_ACK, 0, 0);
    }
    if (state == CLOSING || state == TIME_WAIT)
        send_fin();
    peer_expect_nothing(&peer);
}

/* ---- it is where it was ---- */

static void expect_opening_goes_on(enum state state) {
    if (state == LISTEN)
        peer_connect(&peer);
    if (state == SYN_SENT) {
        peer.acknowledgement++;
        peer_send_syn(&peer, TCP_SYN | TCP_ACK, syn_options, sizeof syn_options);
        peer_expect(&peer, TCP_ACK);
        expect_equal(user.events & PLUMB_TCP_CONNECTED, PLUMB_TCP_CONNECTED);
    }
    if (state == SYN_RECEIVED) {
        peer.acknowledgement++;
        peer_send(&peer, TCP_ACK, 0, 0);
    }
    if (state == LISTEN || state == SYN_RECEIVED)
        expect_equal(user.accepted, 1);
    if (state == CLOSED) {
        peer_send(&peer, TCP_SYN, 0, 0);
        peer_expect(&peer, TCP_RST | TCP_ACK);
    }
    if (state == ESTABLISHED) {
        peer_send(&peer, TCP_ACK, "hello", 5);
        expect_equal(user.length, 5);
    }
}

static void expect_closing_goes_on(enum state state) {
    if (state == CLOSE_WAIT) {
        expect_equal(plumb_tcp_send(user.connection, "hello", 5), 5);
        world_settle(siege.world);
        expect_equal(peer_expect(&peer, TCP_ACK)->length, 5);
    }
    if (state == FIN_WAIT_1 || state == LAST_ACK || state == CLOSING)
        peer.acknowledgement++;
    if (state == FIN_WAIT_1 || state == FIN_WAIT_2)
        send_fin();
    if (state == LAST_ACK || state == CLOSING) {
        peer_send(&peer, TCP_ACK, 0, 0);
        peer_expect_nothing(&peer);
    }
    if (state == LAST_ACK) { /* there is none any more */
        peer_send(&peer, TCP_ACK, 0, 0);
        peer_expect(&peer, TCP_RST);
    }
    if (state == CLOSING || state == TIME_WAIT) { /* the FIN again */
        peer_send_at(&peer, peer.sequence - 1, peer.acknowledgement, TCP_FIN | TCP_ACK, 0, 0);
        peer_expect(&peer, TCP_ACK);
    }
}

/* Answers to what is refused are limited by the second. */
static void leave(enum state state) {
    siege_wait(&siege, 1100 * MILLISECOND);
    expect_opening_goes_on(state);
    expect_closing_goes_on(state);
    world_drain(siege.world);
    user_end(&user);
    siege_wait(&siege, MILLISECOND);
    siege_end(&siege);
}

/* ---- segments ---- */

/* One that is neither of the connection's future nor of its past. At a listener it is
 * another's, so that the connection to come is not disturbed. */
static struct frame segment(enum state state, const uint8_t *options, unsigned length) {
    struct frame frame;
    struct frame_path path = peer.path;
    if (state == LISTEN)
        path.from_port++;
    frame_tcp(&frame, &path, peer.sequence, peer.acknowledgement, TCP_ACK, 65535, options, length,
              0, 0);
    return frame;
}

/* One of those that are judged by what they are in: dropped once at most. */
static void strike(const struct frame *frame) {
    struct counters before = counters_now(&siege.world->a);
    siege_strike(&siege, frame);
    expect(counters_drops(&siege.world->a, &before) <= 1);
    /* There are none to be missed, and none to be older than. */
    expect_equal(counters_moved(&siege.world->a, &before, "tcp_timestamp_missing"), 0);
    expect_equal(counters_moved(&siege.world->a, &before, "tcp_timestamp_old"), 0);
}

static void test_hostile_40_data_offset_in_every_state(void **state) {
    (void)state;
    for (enum state at = 0; at < STATES; at++) {
        reach(at);
        for (unsigned words = 0; words < 16; words++) {
            struct frame frame = segment(at, 0, 0);
            frame.bytes[FRAME_TRANSPORT + 12] = (uint8_t)(words << 4);
            frame_fix_checksums(&frame);
            if (words != 5)
                siege_drop(&siege, &frame, "tcp_offset");
        }
        leave(at);
    }
}

static void test_hostile_41_header_cut_in_every_state(void **state) {
    (void)state;
    for (enum state at = 0; at < STATES; at++) {
        reach(at);
        for (uint16_t length = 0; length < 20; length++) {
            struct frame frame = segment(at, 0, 0);
            frame.length = (uint16_t)(FRAME_TRANSPORT + length);
            frame_put16(&frame, 16, 20U + length);
            frame_fix_checksums(&frame);
            siege_drop(&siege, &frame, "tcp_short");
        }
        leave(at);
    }
}

struct options {
    uint8_t length, bytes[40];
};

static void strike_with(const struct options *options, unsigned count) {
    for (enum state at = 0; at < STATES; at++) {
        reach(at);
        for (unsigned i = 0; i < count; i++) {
            struct frame frame = segment(at, options[i].bytes, options[i].length);
            strike(&frame);
            /* The last bytes of a full header, which nothing follows. */
            struct options last = {.length = 40};
            memset(last.bytes, 1, sizeof last.bytes);
            memcpy(last.bytes + 40 - options[i].length, options[i].bytes, options[i].length);
            frame = segment(at, last.bytes, 40);
            strike(&frame);
        }
        leave(at);
    }
}

#define STRIKE_WITH(...)                                                                           \
    do {                                                                                           \
        static const struct options options_[] = {__VA_ARGS__};                                    \
        strike_with(options_, sizeof options_ / sizeof *options_);                                 \
    } while (0)

static void test_hostile_45_sack_blocks_in_every_state(void **state) {
    (void)state;
    STRIKE_WITH({4, {5, 2, 1, 1}}, {4, {5, 3, 0, 1}}, {12, {1, 1, 5, 9, 0, 0, 0, 2}},
                {12, {1, 1, 5, 11, 0, 0, 0, 2}}, {12, {1, 1, 5, 10, 0, 0, 0, 9, 0, 0, 0, 1}},
                {12, {1, 1, 5, 10, 0x7f, 0, 0, 0, 0xff, 0, 0, 0}},
                {12, {1, 1, 5, 10, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}},
                {12, {1, 1, 5, 34, 0, 0, 0, 1, 0, 0, 0, 2}},
                {36, {1, 1, 5, 34, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}});
}

static void test_hostile_46_timestamps_of_nobody_in_every_state(void **state) {
    (void)state;
    STRIKE_WITH({12, {1, 1, 8, 10}}, {12, {1, 1, 8, 10, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1}},
                {12, {1, 1, 8, 10, 0x80, 0, 0, 0, 0x80, 0, 0, 0}}, {12, {8, 9}}, {12, {8, 11}},
                {12, {8, 2}}, {20, {8, 10, 0, 0, 0, 9, 0, 0, 0, 0, 8, 10, 0, 0, 0, 1}});
}

/* An acknowledgement of nothing new that says to have four parts of what is under way. */
static void strike_with_blocks(struct random *random, uint32_t behind) {
    uint8_t options[36] = {1, 1, 5, 34};
    struct frame frame;
    for (unsigned i = 0; i < 4; i++) {
        uint32_t left = peer.acknowledgement + random_below(random, behind);
        uint32_t ends[2] = {left, left + 1 + random_below(random, 100)};
        for (unsigned k = 0; k < 8; k++)
            options[4 + 8 * i + k] = (uint8_t)(ends[k / 4] >> (24 - 8 * (k % 4)));
    }
    frame_tcp(&frame, &peer.path, peer.sequence, peer.acknowledgement, TCP_ACK, 65535, options,
              sizeof options, 0, 0);
    siege_strike(&siege, &frame);
}

/* As small as segments get, of which a peer has every other byte, and then nothing: what is
 * sent for each acknowledgement is bounded, and in the end all arrives. */
static void test_hostile_55_smallest_mss_and_sack(void **state) {
    (void)state;
    enum { BYTES = 20000, ROUNDS = 3000 };
    static const uint8_t options[8] = {2, 4, 0, 48, 4, 2, 1, 1};
    static uint8_t bytes[BYTES], got[BYTES];
    struct random random = {55};
    siege_begin(&siege, 0);
    make_peer(50000, PORT);
    user_listen(&user, &siege.world->a, PORT);
    peer_send_syn(&peer, TCP_SYN, options, sizeof options);
    peer_accept(&peer, TCP_SYN | TCP_ACK);
    peer_send(&peer, TCP_ACK, 0, 0);
    for (unsigned i = 0; i < BYTES; i++)
        bytes[i] = pattern_at(55, i);
    expect_equal(plumb_tcp_send(user.connection, bytes, BYTES), BYTES);
    world_settle(siege.world);
    expect_equal(user_info(&user).mss, 48);
    unsigned held = side_buffers_used(&siege.world->a);
    siege.most = 16;
    for (unsigned i = 0; i < ROUNDS; i++) {
        strike_with_blocks(&random, BYTES);
        expect(side_buffers_used(&siege.world->a) <= held);
        if (i % 100 == 0)
            siege_wait(&siege, MILLISECOND);
    }
    siege_exchange(&siege);
    peer_read(&peer, got, BYTES);
    assert_memory_equal(got, bytes, BYTES);
    user_end(&user);
    siege_wait(&siege, MILLISECOND);
    siege_end(&siege);
}

HARNESS_MAIN(cmocka_unit_test(test_hostile_40_data_offset_in_every_state),
             cmocka_unit_test(test_hostile_41_header_cut_in_every_state),
             cmocka_unit_test(test_hostile_45_sack_blocks_in_every_state),
             cmocka_unit_test(test_hostile_46_timestamps_of_nobody_in_every_state),
             cmocka_unit_test(test_hostile_55_smallest_mss_and_sack))
