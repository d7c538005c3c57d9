/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A stack under attack: see siege.h. */
#include "siege.h"

#include <string.h>

#include "poison.h"

enum { PIECE = 100, POISONED = 4 };

static const uint8_t attacker[6] = {2, 0, 0, 0, 0, 0x42};
static const uint8_t nobody[6];

#define ATTACKER FRAME_IPV4(10, 0, 0, 66)

static void count_turn(struct world *world, void *context) {
    struct siege *siege = context;
    (void)world;
    siege->turns++;
}

void siege_begin(struct siege *siege, const struct world_options *options) {
    struct frame frame;
    *siege = (struct siege){.every = 8, .most = 1};
    siege->world = connected(&siege->user, &siege->peer, options);
    siege->world->turn = count_turn;
    siege->world->context = siege;
    siege->path = world_path(siege->world, 40000, SIEGE_PORT);
    siege->path.from = ATTACKER;
    memcpy(siege->path.from_ethernet, attacker, 6);
    frame_arp(&frame, siege->path.to_ethernet, 1, attacker, ATTACKER, nobody, siege->path.to);
    world_inject(siege->world, &frame);
    world_drain(siege->world);
    siege_exchange(siege);
}

void siege_end(struct siege *siege) {
    siege_wait(siege, MILLISECOND);
    siege_exchange(siege);
    disconnected(siege->world, &siege->user);
}

/* ---- the flow ---- */

static void fill(uint8_t bytes[PIECE], uint32_t seed, uint32_t offset) {
    for (unsigned i = 0; i < PIECE; i++)
        bytes[i] = pattern_at(seed, offset + i);
}

static void carry_in(struct siege *siege) {
    uint8_t bytes[PIECE];
    fill(bytes, 1, siege->carried);
    peer_send(&siege->peer, TCP_ACK | TCP_PSH, bytes, PIECE);
    expect_equal(siege->user.length, siege->carried + PIECE);
    assert_memory_equal(siege->user.bytes + siege->carried, bytes, PIECE);
}

static void carry_out(struct siege *siege) {
    struct peer *peer = &siege->peer;
    uint8_t bytes[PIECE];
    fill(bytes, 2, siege->carried);
    expect_equal(plumb_tcp_send(siege->user.connection, bytes, PIECE), PIECE);
    world_settle(siege->world);
    do {
        expect(peer_take(peer));
    } while (!peer->last.length); /* an acknowledgement that was due */
    expect_equal(peer->last.sequence, peer->acknowledgement);
    expect_equal(peer->last.length, PIECE);
    assert_memory_equal(peer->last.payload, bytes, PIECE);
    peer->acknowledgement += PIECE;
    peer_send(peer, TCP_ACK, 0, 0);
}

void siege_exchange(struct siege *siege) {
    assert_non_null(siege->user.connection);
    carry_in(siege);
    carry_out(siege);
    siege->carried += PIECE;
    peer_expect_nothing(&siege->peer);
}

/* ---- time ---- */

/* Answers for the neighbours, and throws the rest away. */
static void answer_arp(struct siege *siege) {
    struct world *world = siege->world;
    const struct frame *frame;
    while ((frame = world_collect_any(world))) {
        struct frame answer;
        bool arp = frame_get16(frame, 12) == 0x0806;
        uint32_t whom = arp && frame_get16(frame, 20) == 1 ? frame_get32(frame, 38) : 0;
        siege->unasked += !arp;
        if (whom != world->b.address && whom != ATTACKER)
            continue;
        frame_arp(&answer, world->a.ethernet, 2, whom == ATTACKER ? attacker : world->b.ethernet,
                  whom, world->a.ethernet, world->a.address);
        world_inject(world, &answer);
    }
}

void siege_wait(struct siege *siege, uint64_t us) {
    const uint64_t step = 500 * MILLISECOND;
    for (; us > step; us -= step) {
        world_run(siege->world, step);
        answer_arp(siege);
    }
    world_run(siege->world, us);
    answer_arp(siege);
}

/* ---- frames ---- */

const struct frame *siege_strike(struct siege *siege, const struct frame *frame) {
    struct side *side = &siege->world->a;
    struct frame *sent;
    expect(!poison_shows(frame));
    poison(&side->receive, POISONED, WORLD_BUFFER);
    poison(&side->segments, POISONED, WORLD_BUFFER);
    poison(&side->headers, POISONED, WORLD_SMALL);
    siege->turns = 0;
    siege->struck++;
    world_inject(siege->world, frame);
    if (siege->turns > SIEGE_TURNS)
        fail_msg("%u polls for one frame", siege->turns);
    unsigned count = 0;
    while ((sent = world_collect_any(siege->world))) {
        if (poison_shows(sent))
            fail_msg("the answer has bytes that were not received");
        if (!count++)
            siege->reply = *sent;
    }
    if (count > siege->most)
        fail_msg("%u frames in answer to one", count);
    return count ? &siege->reply : 0;
}

/* Strikes, and expects `count` drops of this name; the reply. */
static const struct frame *strike(struct siege *siege, const struct frame *frame,
                                  const char *counter, unsigned count) {
    struct side *side = &siege->world->a;
    if (!siege->flood)
        siege_wait(siege, MILLISECOND);
    struct counters before = counters_now(side);
    unsigned used = side_buffers_used(side);
    const struct frame *reply = siege_strike(siege, frame);
    counters_expect_drop(side, &before, counter, count);
    expect(!count || side_buffers_used(side) <= used - (count - 1));
    if (siege->struck % siege->every == 0)
        siege_exchange(siege);
    return reply;
}

void siege_drop_all(struct siege *siege, const struct frame *frame, const char *counter,
                    unsigned count) {
    if (strike(siege, frame, counter, count))
        fail_msg("an answer to what %s should have dropped in silence", counter);
}

void siege_drop(struct siege *siege, const struct frame *frame, const char *counter) {
    siege_drop_all(siege, frame, counter, 1);
}

const struct frame *siege_refuse(struct siege *siege, const struct frame *frame,
                                 const char *counter) {
    const struct frame *reply = strike(siege, frame, counter, 1);
    if (!reply)
        fail_msg("no answer to what %s dropped", counter);
    return reply;
}

const struct frame *siege_take(struct siege *siege, const struct frame *frame) {
    return strike(siege, frame, 0, 0);
}
