/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The first look at a segment against the ordinary way: two worlds get the same frames
 * and the same calls, and in one of them the interface is observed, which has every
 * frame go the ordinary way. After each step all that can be seen of both is compared:
 * counters, what was sent to the bit, what the user read, the connection's fields.
 */
#include <string.h>

#include "peer.h"
#include "tcp/tcp.h"
#include "two_ways.h"

enum { PORT = 80, FROM = 40000, LOAN = 4000 };

/* The peer of the pairs that begin from now on has timestamps. */
static bool stamped;

struct pair {
    struct world *world[2];
    struct user user[2];
    struct peer peer[2];
    uint8_t loan[2][LOAN];
    struct random random;
    uint32_t behind; /* where the peer's stream begins */
};

static void expect_same_fields(const struct plumb_tcp *a, const struct plumb_tcp *b) {
#define SAME(field) expect_equal(a->field, b->field)
    SAME(state);
    SAME(flags);
    SAME(events);
    SAME(retries);
    SAME(duplicates);
    SAME(deadlines);
    SAME(send_unacked);
    SAME(send_next);
    SAME(send_most);
    SAME(send_window);
    SAME(send_window_most);
    SAME(window_sequence);
    SAME(send_queued);
    SAME(receive_next);
    SAME(receive_edge);
    SAME(receive_acked);
    SAME(receive_queued);
    SAME(agreed);
    SAME(timestamp_recent);
    SAME(reordered_count);
    SAME(posted_filled);
    SAME(congestion_window);
    SAME(slow_start_threshold);
    SAME(srtt_us);
    SAME(rto_ms);
    SAME(progress_ms);
    SAME(heard_ms);
    SAME(segments_in);
    SAME(segments_out);
    SAME(acks_out);
    SAME(retransmitted);
#undef SAME
}

static void expect_same(struct pair *pair) {
    expect_same_worlds(pair->world[0], pair->world[1]);
    const struct user *a = &pair->user[0], *b = &pair->user[1];
    expect_equal(a->events, b->events);
    expect_equal(a->calls, b->calls);
    expect_equal(a->error, b->error);
    expect_equal(a->length, b->length);
    assert_memory_equal(a->bytes, b->bytes, a->length);
    assert_memory_equal(pair->loan[0], pair->loan[1], LOAN);
    expect_equal(a->connection != 0, b->connection != 0);
    if (a->connection)
        expect_same_fields(a->connection, b->connection);
}

static void pair_begin(struct pair *pair, const struct world_options *options) {
    memset(pair, 0, sizeof *pair);
    for (unsigned i = 0; i < 2; i++) {
        pair->world[i] = stamped ? connected_stamped(&pair->user[i], &pair->peer[i], options)
                                 : connected(&pair->user[i], &pair->peer[i], options);
        if (i == ORDINARY)
            go_the_ordinary_way(pair->world[i]);
    }
    pair->behind = pair->peer[0].sequence;
    expect_same(pair);
}

static void pair_end(struct pair *pair) {
    for (unsigned i = 0; i < 2; i++) {
        user_end(&pair->user[i]);
        world_settle(pair->world[i]);
        world_end(pair->world[i]); /* what waits for a neighbour is put there */
    }
}

/* The same frame to both, without settling. */
static void arrive(struct pair *pair, const struct frame *frame) {
    for (unsigned i = 0; i < 2; i++)
        expect_equal(plumb_wire_inject(pair->world[i]->a.end, frame->bytes, frame->length),
                     PLUMB_OK);
}

static void settle(struct pair *pair) {
    for (unsigned i = 0; i < 2; i++)
        world_settle(pair->world[i]);
    expect_same(pair);
}

static void payload(const struct pair *pair, uint32_t sequence, uint8_t *to, unsigned length) {
    for (unsigned i = 0; i < length; i++)
        to[i] = pattern_at(1, sequence - pair->behind + i);
}

/* A segment of `length` bytes at the peer's numbers. */
static void next_segment(const struct pair *pair, struct frame *frame, unsigned flags,
                         unsigned length) {
    const struct peer *peer = &pair->peer[0];
    uint8_t bytes[1460];

    payload(pair, peer->sequence, bytes, length);
    peer_frame(peer, frame, peer->sequence, peer->acknowledgement, flags, bytes, length);
}

/* The peer's clock goes on from what the stack took of it last. */
static void tick(struct pair *pair) {
    const struct plumb_tcp *connection = pair->user[0].connection;

    if (connection)
        pair->peer[0].stamp = connection->timestamp_recent + 1;
}

static void take_one(struct pair *pair, unsigned length) {
    struct frame frame;

    tick(pair);
    next_segment(pair, &frame, TCP_ACK | TCP_PSH, length);
    pair->peer[0].sequence += length;
    arrive(pair, &frame);
    settle(pair);
}

/* ---- it is what it claims to be ---- */

static void test_bulk_is_taken_at_the_first_look(void **state) {
    struct pair pair;
    (void)state;
    pair_begin(&pair, 0);
    take_one(&pair, 1000);
    ordinary[ORDINARY] = ordinary[EXPECTING] = 0;
    for (unsigned i = 0; i < 100; i++)
        take_one(&pair, 1 + i * 14);
    expect_equal(pair.user[0].length, 1000 + 100 + 14 * 4950);
    expect_equal(ordinary[ORDINARY], 100);
    expect_equal(ordinary[EXPECTING], 0);
    pair_end(&pair);
}

static void test_acknowledgements_are_taken_at_the_first_look(void **state) {
    static const uint8_t bytes[1000];
    struct pair pair;
    struct frame frame;
    (void)state;
    pair_begin(&pair, 0);
    take_one(&pair, 1000);
    for (unsigned i = 0; i < 50; i++) {
        for (unsigned k = 0; k < 2; k++)
            expect_equal(plumb_tcp_send(pair.user[k].connection, bytes, sizeof bytes), 1000);
        settle(&pair);
        ordinary[EXPECTING] = 0;
        pair.peer[0].acknowledgement += 1000;
        pair.peer[0].window ^= 4;
        next_segment(&pair, &frame, TCP_ACK, 0);
        while (frame.length < 60) /* as a MAC pads it */
            frame_append8(&frame, 0xff);
        arrive(&pair, &frame);
        settle(&pair);
        expect_equal(ordinary[EXPECTING], 0);
        expect_equal(pair.user[0].connection->send_unacked, pair.peer[0].acknowledgement);
    }
    pair_end(&pair);
}

/* ---- every bit of the headers, with checksums that show it and such that do not ---- */

static void flip(struct pair *pair, unsigned bit, bool mended, unsigned length) {
    struct frame frame;

    take_one(pair, 700);
    expect(pair->world[EXPECTING]->a.netif->expected == pair->user[EXPECTING].connection);
    next_segment(pair, &frame, TCP_ACK, length);
    frame.bytes[bit / 8] = (uint8_t)(frame.bytes[bit / 8] ^ 1U << bit % 8);
    if (mended)
        frame_fix_checksums(&frame);
    arrive(pair, &frame);
    settle(pair);
    /* And what comes behind it. */
    next_segment(pair, &frame, TCP_ACK, length);
    arrive(pair, &frame);
    settle(pair);
}

static void flip_all(bool mended, unsigned length) {
    struct pair pair;

    pair_begin(&pair, 0);
    for (unsigned bit = 0; bit < 8U * (FRAME_TCP_PAYLOAD + (stamped ? 12U : 0)); bit++) {
        if (bit && !pair.world[EXPECTING]->a.netif->expected) { /* the last one was grave */
            pair_end(&pair);
            pair_begin(&pair, 0);
        }
        flip(&pair, bit, mended, length);
        pair.peer[0].sequence = pair.user[0].connection ? pair.user[0].connection->receive_next : 0;
    }
    pair_end(&pair);
}

static void test_every_bit_flipped(void **state) {
    (void)state;
    flip_all(false, 600);
}

static void test_every_bit_flipped_with_checksums_mended(void **state) {
    (void)state;
    flip_all(true, 600);
}

static void test_every_bit_of_an_acknowledgement_flipped(void **state) {
    (void)state;
    flip_all(true, 0);
}

/* A frame cut anywhere, and one whose payload was spoiled. */
static void test_frames_cut_and_spoiled(void **state) {
    struct pair pair;
    struct frame frame;
    (void)state;
    pair_begin(&pair, 0);
    for (unsigned length = 1; length < 160; length++) {
        take_one(&pair, 300);
        next_segment(&pair, &frame, TCP_ACK, 100);
        if (length < frame.length)
            frame.length = (uint16_t)length;
        else
            frame.bytes[FRAME_TCP_PAYLOAD + length % 100] ^= 1;
        arrive(&pair, &frame);
        settle(&pair);
    }
    pair_end(&pair);
}

/* ---- the same with timestamps ---- */

static void test_with_timestamps_bulk_is_taken_at_the_first_look(void **state) {
    stamped = true;
    test_bulk_is_taken_at_the_first_look(state);
    test_acknowledgements_are_taken_at_the_first_look(state);
    stamped = false;
}

static void test_with_timestamps_every_bit_flipped(void **state) {
    stamped = true;
    test_every_bit_flipped(state);
    test_every_bit_flipped_with_checksums_mended(state);
    test_every_bit_of_an_acknowledgement_flipped(state);
    test_frames_cut_and_spoiled(state);
    stamped = false;
}

/* ---- what ends the expectation ---- */

static void test_other_address_or_mask_ends_it(void **state) {
    struct pair pair;
    (void)state;
    pair_begin(&pair, 0);
    take_one(&pair, 1000);
    for (unsigned i = 0; i < 2; i++)
        /* The peer's address becomes the network's broadcast one. */
        expect_equal(plumb_netif_set_ipv4(pair.world[i]->a.netif, ipv4_of(0x0a000001),
                                          ipv4_of(0xfffffffc), ipv4_of(0)),
                     PLUMB_OK);
    expect(!pair.world[EXPECTING]->a.netif->expected);
    settle(&pair);
    take_one(&pair, 1000);
    pair_end(&pair);
}

static void test_observer_sees_every_frame(void **state) {
    struct pair pair;
    (void)state;
    pair_begin(&pair, 0);
    take_one(&pair, 1000);
    go_the_ordinary_way(pair.world[EXPECTING]);
    ordinary[ORDINARY] = 0;
    take_one(&pair, 1000);
    take_one(&pair, 1000);
    expect_equal(ordinary[ORDINARY], 4);
    plumb_netif_observe(pair.world[EXPECTING]->a.netif, 0, 0);
    take_one(&pair, 1000);
    ordinary[EXPECTING] = 0;
    take_one(&pair, 1000);
    expect_equal(ordinary[EXPECTING], 0);
    pair_end(&pair);
}

static void test_shut_down_and_closed_ends_it(void **state) {
    struct pair pair;
    (void)state;
    pair_begin(&pair, 0);
    take_one(&pair, 1000);
    for (unsigned i = 0; i < 2; i++)
        plumb_tcp_shutdown(pair.user[i].connection);
    expect(!pair.world[EXPECTING]->a.netif->expected);
    settle(&pair);
    take_one(&pair, 1000);
    for (unsigned i = 0; i < 2; i++) {
        plumb_tcp_close(pair.user[i].connection);
        pair.user[i].connection = 0;
    }
    settle(&pair);
    take_one(&pair, 1000); /* nobody reads it: answered with RST */
    pair_end(&pair);
}

/* Before the first window was taken nothing is known of the flags: no frame without any, and
 * without a header's length, is what is expected. */
static void test_nothing_is_expected_before_a_window_was_taken(void **state) {
    struct pair pair;
    struct frame frame;
    (void)state;
    for (unsigned length = 0; length <= 600; length += 300)
        for (unsigned window = 0; window < 2; window++)
            for (unsigned flags = 0; flags <= TCP_PSH; flags += TCP_PSH) {
                pair_begin(&pair, 0);
                next_segment(&pair, &frame, flags, length);
                frame.bytes[FRAME_TRANSPORT + 12] = 0;
                if (!window)
                    memset(&frame.bytes[FRAME_TRANSPORT + 14], 0, 2);
                frame_fix_checksums(&frame);
                arrive(&pair, &frame);
                settle(&pair);
                pair_end(&pair);
            }
}

/* ---- seeded streams ---- */

/* What the peer does next, mostly what is expected. */
static void random_frame(struct pair *pair, struct frame *frame) {
    /* As nobody lays them out, and of no connection without timestamps. */
    uint8_t options[12] = {8, 10, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1};
    struct peer *peer = &pair->peer[0];
    struct random *random = &pair->random;
    uint32_t kind = random_below(random, 60), sequence = peer->sequence;
    unsigned length = random_below(random, 4) ? 1 + random_below(random, 1460) : 0;
    unsigned flags = TCP_ACK | (random_below(random, 3) ? 0 : TCP_PSH);
    uint8_t bytes[1460];

    peer->stamp += random_below(random, 3);
    peer->echo = plumb_now_ms(pair->world[0]->a.stack) - random_below(random, 30);
    if (pair->user[0].connection)
        peer->echo += pair->user[0].connection->timestamp_offset;
    switch (kind) {
    case 0: /* ahead, perhaps beyond the window */
        sequence += random_below(random, 4) ? 1 + random_below(random, 3000) : 70000;
        break;
    case 1: /* seen before, in part or all of it */
        sequence -= random_below(random, 3000);
        break;
    case 3:
        flags |= 1U << random_below(random, 8);
        break;
    case 4:
        peer->window = (uint16_t)random_next(random);
        break;
    default:
        break;
    }
    if (length > 1448)
        length = 1448;
    payload(pair, sequence, bytes, length);
    peer->stamp -= kind == 8 ? 5 : 0;
    for (unsigned i = 0; i < 4; i++)
        options[2 + i] = (uint8_t)(peer->stamp >> (24 - 8 * i));
    if (kind == 2)
        frame_tcp(frame, &peer->path, sequence, peer->acknowledgement, flags, peer->window, options,
                  sizeof options, bytes, length);
    else
        peer_frame(peer, frame, sequence, peer->acknowledgement - (kind == 5 ? 1500 : 0), flags,
                   bytes, length);
    peer->stamp += kind == 8 ? 5 : 0;
    if (kind == 6)
        frame->bytes[random_below(random, frame->length)] ^= 0x10;
    if (kind == 7)
        frame_tag(frame, 0);
    while (frame->length < 60)
        frame_append8(frame, 0xff);
}

/* What the stack's user does next, in both worlds. */
static void random_call(struct pair *pair) {
    static const uint8_t bytes[5000];
    uint32_t kind = random_below(&pair->random, 30);
    unsigned length = random_below(&pair->random, sizeof bytes);

    for (unsigned i = 0; i < 2; i++) {
        struct user *user = &pair->user[i];
        if (!user->connection)
            return;
        if (kind < 4)
            plumb_tcp_send(user->connection, bytes, length);
        else if (kind == 4)
            plumb_tcp_post(user->connection, pair->loan[i], LOAN);
        else if (kind == 5)
            plumb_tcp_post(user->connection, 0, 0);
        else if (kind == 6)
            user->keep_unread = !user->keep_unread;
        else if (kind == 7)
            plumb_tcp_consume(user->connection, length);
    }
}

/* The peer acknowledges what the stack sent, now and then, and goes on from where the
 * stack is. */
static void follow(struct pair *pair) {
    const struct plumb_tcp *connection = pair->user[0].connection;

    if (!connection)
        return;
    pair->peer[0].sequence = connection->receive_next;
    if (pl_after(connection->timestamp_recent, pair->peer[0].stamp))
        tick(pair);
    if (random_below(&pair->random, 3) == 0)
        pair->peer[0].acknowledgement = connection->send_most;
}

static void stream(uint64_t seed, const struct world_options *options) {
    struct pair pair;
    struct frame frame;

    pair_begin(&pair, options);
    pair.random.state = seed;
    for (unsigned step = 0; step < 400 && pair.user[0].connection; step++) {
        for (unsigned burst = random_below(&pair.random, 4); burst--;) {
            random_frame(&pair, &frame);
            arrive(&pair, &frame);
            /* In a burst the next one follows only when this one was in order. */
            pair.peer[0].sequence += frame_get16(&frame, frame.network + 2U) - 40U -
                                     (frame.bytes[frame.transport + 12U] == 0x80 ? 12U : 0);
        }
        settle(&pair);
        random_call(&pair);
        settle(&pair);
        follow(&pair);
        if (random_below(&pair.random, 10) == 0)
            for (unsigned i = 0; i < 2; i++)
                world_run(pair.world[i], 20 * MILLISECOND + seed);
    }
    pair_end(&pair);
}

static void test_streams(void **state) {
    (void)state;
    ordinary[ORDINARY] = ordinary[EXPECTING] = 0;
    for (uint64_t seed = 1; seed <= 60; seed++)
        stream(seed, 0);
    /* Enough of both kinds for the comparison to mean something. */
    expect(ordinary[EXPECTING] > 3000);
    expect(ordinary[ORDINARY] - ordinary[EXPECTING] > 3000);
}

static void test_streams_with_timestamps(void **state) {
    (void)state;
    stamped = true;
    ordinary[ORDINARY] = ordinary[EXPECTING] = 0;
    for (uint64_t seed = 401; seed <= 440; seed++)
        stream(seed, 0);
    expect(ordinary[EXPECTING] > 2000);
    expect(ordinary[ORDINARY] - ordinary[EXPECTING] > 2000);
    for (uint64_t seed = 501; seed <= 510; seed++)
        stream(seed, &(struct world_options){.receive_count = 24});
    for (uint64_t seed = 601; seed <= 605; seed++)
        stream(seed, &(struct world_options){.capabilities = PLUMB_CAPABILITY_RX_CHECKSUM});
    stamped = false;
}

static void test_streams_with_few_buffers(void **state) {
    (void)state;
    for (uint64_t seed = 101; seed <= 130; seed++)
        stream(seed, &(struct world_options){.receive_count = 24});
}

static void test_streams_whose_sums_the_device_verified(void **state) {
    (void)state;
    for (uint64_t seed = 201; seed <= 220; seed++)
        stream(seed, &(struct world_options){.capabilities = PLUMB_CAPABILITY_RX_CHECKSUM});
}

static void test_streams_in_fragments(void **state) {
    (void)state;
    for (uint64_t seed = 301; seed <= 310; seed++)
        stream(seed, &(struct world_options){.fragment = 128});
}

HARNESS_MAIN(cmocka_unit_test(test_bulk_is_taken_at_the_first_look),
             cmocka_unit_test(test_acknowledgements_are_taken_at_the_first_look),
             cmocka_unit_test(test_every_bit_flipped),
             cmocka_unit_test(test_every_bit_flipped_with_checksums_mended),
             cmocka_unit_test(test_every_bit_of_an_acknowledgement_flipped),
             cmocka_unit_test(test_frames_cut_and_spoiled),
             cmocka_unit_test(test_with_timestamps_bulk_is_taken_at_the_first_look),
             cmocka_unit_test(test_with_timestamps_every_bit_flipped),
             cmocka_unit_test(test_streams_with_timestamps),
             cmocka_unit_test(test_other_address_or_mask_ends_it),
             cmocka_unit_test(test_observer_sees_every_frame),
             cmocka_unit_test(test_shut_down_and_closed_ends_it),
             cmocka_unit_test(test_nothing_is_expected_before_a_window_was_taken),
             cmocka_unit_test(test_streams), cmocka_unit_test(test_streams_with_few_buffers),
             cmocka_unit_test(test_streams_whose_sums_the_device_verified),
             cmocka_unit_test(test_streams_in_fragments))
