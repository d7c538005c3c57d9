/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* TCP: bytes in transit, by hand: order, acknowledgements, windows, timers. */
#include <stdlib.h>
#include <string.h>

#include <plumb_config.h>

#include "peer.h"
#include "tcp/tcp.h"

enum { MSS = 1460 };

static uint8_t bytes[262144];

static void fill(uint32_t seed) {
    for (uint32_t i = 0; i < sizeof bytes; i++)
        bytes[i] = pattern_at(seed, i);
}

/* Segments waiting to be taken, thrown away; how many carried payload. */
static unsigned drain_payload(struct peer *peer) {
    unsigned count = 0;
    while (peer_take(peer))
        count += peer->last.length != 0;
    return count;
}

static void acknowledge(struct peer *peer, uint32_t number) {
    peer->acknowledgement = number;
    peer_send_at(peer, peer->sequence, number, TCP_ACK, 0, 0);
}

/* ---- receiving ---- */

static void in_order_bytes_arrive(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    fill(1);
    unsigned sent = 0;
    for (unsigned length = 0; length <= MSS; length += 73) {
        peer_send(&peer, TCP_ACK | TCP_PSH, bytes + sent, length);
        sent += length;
        expect_equal(user.length, sent);
    }
    assert_memory_equal(user.bytes, bytes, sent);
    disconnected(world, &user);
}

/* Every order of four segments: the bytes come out once and in order. */
static void every_order_of_four_segments(void **state) {
    (void)state;
    fill(2);
    for (unsigned order = 0; order < 256; order++) {
        unsigned at[4] = {order & 3, order >> 2 & 3, order >> 4 & 3, order >> 6 & 3};
        if ((1U << at[0] | 1U << at[1] | 1U << at[2] | 1U << at[3]) != 15)
            continue;
        struct user user = {0};
        struct peer peer;
        struct world *world = connected(&user, &peer, 0);
        struct counters before = counters_now(&world->a);
        uint32_t base = peer.sequence;
        for (unsigned i = 0; i < 4; i++)
            peer_send_at(&peer, base + at[i] * 500, peer.acknowledgement, TCP_ACK,
                         bytes + at[i] * 500, 500);
        expect_equal(user.length, 2000);
        assert_memory_equal(user.bytes, bytes, 2000);
        counters_expect_drop(&world->a, &before, 0, 0);
        disconnected(world, &user);
    }
}

/* Overlaps of every kind against what waits out of order: delivered once, and the
 * bytes are right. */
static void overlaps_deliver_once(void **state) {
    (void)state;
    struct random random = {3};
    fill(3);
    for (unsigned times = 0; times < 300; times++) {
        struct user user = {0};
        struct peer peer;
        struct world *world = connected(&user, &peer, 0);
        uint32_t base = peer.sequence;
        for (unsigned i = 0; i < 12; i++) {
            unsigned from = random_below(&random, 3000), length = random_below(&random, 900);
            if (from + length > 3000)
                length = 3000 - from;
            peer_send_at(&peer, base + from, peer.acknowledgement, TCP_ACK, bytes + from, length);
        }
        for (unsigned from = 0; from < 3000; from += 1000)
            peer_send_at(&peer, base + from, peer.acknowledgement, TCP_ACK, bytes + from, 1000);
        expect_equal(user.length, 3000);
        assert_memory_equal(user.bytes, bytes, 3000);
        world_run(world, SECOND);
        drain_payload(&peer);
        expect_equal(side_buffers_used(&world->a), 0);
        disconnected(world, &user);
    }
}

/* An overlap with other bytes: what is delivered never changes, nor twice. */
static void test_hostile_62_overlap_with_different_bytes(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    uint32_t base = peer.sequence;
    peer_send_at(&peer, base, peer.acknowledgement, TCP_ACK, "AAAA", 4);
    peer_send_at(&peer, base, peer.acknowledgement, TCP_ACK, "BBBBCCCC", 8);
    expect_equal(user.length, 8);
    assert_memory_equal(user.bytes, "AAAACCCC", 8);
    disconnected(world, &user);
}

static void out_of_order_is_acknowledged_at_once(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    uint32_t base = peer.sequence;
    for (unsigned i = 1; i <= 3; i++) {
        peer_send_at(&peer, base + 100 * i, peer.acknowledgement, TCP_ACK, bytes, 100);
        expect_equal(peer_expect(&peer, TCP_ACK)->acknowledgement, base);
        peer_expect_nothing(&peer);
    }
    peer_send_at(&peer, base, peer.acknowledgement, TCP_ACK, bytes, 100);
    expect_equal(peer_expect(&peer, TCP_ACK)->acknowledgement, base + 400);
    disconnected(world, &user);
}

static void duplicate_is_acknowledged_at_once(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    peer_send(&peer, TCP_ACK, bytes, 100);
    world_run(world, SECOND);
    drain_payload(&peer);
    struct counters before = counters_now(&world->a);
    peer_send_at(&peer, peer.sequence - 100, peer.acknowledgement, TCP_ACK, bytes, 100);
    expect_equal(peer_expect(&peer, TCP_ACK)->acknowledgement, peer.sequence);
    expect_equal(user.length, 100);
    expect_equal(counters_moved(&world->a, &before, "tcp_duplicate") +
                     counters_moved(&world->a, &before, "tcp_sequence"),
                 1);
    disconnected(world, &user);
}

static void acknowledgement_is_delayed(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    peer_send(&peer, TCP_ACK, bytes, 10);
    peer_expect_nothing(&peer);
    world_run(world, (CONFIG_PLUMB_TCP_DELAYED_ACK_MS - 5) * MILLISECOND);
    peer_expect_nothing(&peer);
    world_run(world, 10 * MILLISECOND);
    expect_equal(peer_expect(&peer, TCP_ACK)->acknowledgement, peer.sequence);
    peer_expect_nothing(&peer);
    disconnected(world, &user);
}

/* RFC 9293 section 3.8.6.3: at least every second full segment. */
static void second_full_segment_is_acknowledged(void **state) {
    (void)state;
    /* Whether read at once, which opens the window too, or not. */
    for (unsigned unread = 0; unread < 2; unread++) {
        struct user user = {.keep_unread = unread};
        struct peer peer;
        struct world *world = connected(&user, &peer, 0);
        for (unsigned i = 0; i < 3; i++) {
            peer_send(&peer, TCP_ACK, bytes, MSS);
            peer_expect_nothing(&peer);
            peer_send(&peer, TCP_ACK, bytes, MSS);
            expect_equal(peer_expect(&peer, TCP_ACK)->acknowledgement, peer.sequence);
            peer_expect_nothing(&peer);
        }
        disconnected(world, &user);
    }
}

/* A burst within one poll costs one acknowledgement. */
static void burst_costs_one_acknowledgement(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    for (unsigned i = 0; i < 20; i++) {
        struct frame frame;
        frame_tcp(&frame, &peer.path, peer.sequence, peer.acknowledgement, TCP_ACK, 65535, 0, 0,
                  bytes, MSS);
        peer.sequence += MSS;
        expect_equal(plumb_wire_inject(world->a.end, frame.bytes, frame.length), PLUMB_OK);
    }
    world_settle(world);
    expect_equal(peer_expect(&peer, TCP_ACK)->acknowledgement, peer.sequence);
    peer_expect_nothing(&peer);
    expect_equal(user.length, 20 * MSS);
    disconnected(world, &user);
}

static void acknowledgement_rides_on_data(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    peer_send(&peer, TCP_ACK, bytes, 10);
    expect_equal(plumb_tcp_send(user.connection, "reply", 5), 5);
    world_settle(world);
    struct segment *reply = peer_expect(&peer, TCP_ACK);
    expect_equal(reply->length, 5);
    expect_equal(reply->acknowledgement, peer.sequence);
    peer.acknowledgement += 5;
    peer_send(&peer, TCP_ACK, 0, 0);
    world_run(world, SECOND);
    peer_expect_nothing(&peer);
    disconnected(world, &user);
}

/* The window closes as bytes pile up, nothing beyond it is taken, and it opens only
 * by a good piece (RFC 9293 section 3.8.6.2.2). */
static void receive_window_closes_and_opens(void **state) {
    (void)state;
    struct user user = {.keep_unread = true};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    unsigned sent = 0, window = 65535;
    fill(4);
    while (window) {
        unsigned length = window < MSS ? window : MSS;
        peer_send(&peer, TCP_ACK, bytes + sent, length);
        sent += length;
        world_run(world, 100 * MILLISECOND);
        while (peer_take(&peer)) {
            unsigned edge = peer.last.acknowledgement + peer.last.window - peer.sequence;
            expect(edge <= window);
            window = edge;
        }
        expect(sent <= 65535);
    }
    expect(sent >= 65535 - MSS);
    expect_equal(plumb_tcp_readable(user.connection), sent);
    struct counters before = counters_now(&world->a);
    peer_send_at(&peer, peer.sequence, peer.acknowledgement, TCP_ACK, bytes, 1);
    expect_equal(counters_drops(&world->a, &before), 1);
    expect_equal(peer_expect(&peer, TCP_ACK)->acknowledgement, peer.sequence);
    expect_equal(peer.last.window, 0);

    /* A few bytes read are not worth an update; many are. */
    plumb_tcp_consume(user.connection, 100);
    world_run(world, 500 * MILLISECOND);
    peer_expect_nothing(&peer);
    peer_send_at(&peer, peer.sequence, peer.acknowledgement, TCP_ACK, bytes, 1);
    expect_equal(peer_expect(&peer, TCP_ACK)->window, 0);
    plumb_tcp_consume(user.connection, 40000);
    world_settle(world);
    expect(peer_expect(&peer, TCP_ACK)->window >= 40000);
    uint8_t rest[65535];
    expect_equal(plumb_tcp_read(user.connection, rest, sizeof rest), (int)sent - 40100);
    assert_memory_equal(rest, bytes + 40100, sent - 40100);
    disconnected(world, &user);
}

static void peek_and_consume(void **state) {
    (void)state;
    struct user user = {.keep_unread = true};
    struct peer peer;
    struct world *world = connected(&user, &peer, &(struct world_options){.fragment = 128});
    struct plumb_iovec vectors[64];
    struct random random = {5};
    unsigned sent = 0, consumed = 0;
    fill(5);
    while (consumed < 60000) {
        if (sent - consumed < 8000 && sent < 60000) {
            peer_send(&peer, TCP_ACK, bytes + sent, 1000);
            sent += 1000;
            drain_payload(&peer);
        }
        expect_equal(plumb_tcp_readable(user.connection), sent - consumed);
        unsigned count = plumb_tcp_peek(user.connection, vectors, 1 + random_below(&random, 64));
        unsigned at = consumed;
        for (unsigned i = 0; i < count; i++) {
            expect(vectors[i].length > 0);
            assert_memory_equal(vectors[i].data, bytes + at, vectors[i].length);
            at += (unsigned)vectors[i].length;
        }
        expect(at <= sent && count);
        unsigned part = random_below(&random, sent - consumed + 1);
        plumb_tcp_consume(user.connection, part);
        consumed += part;
    }
    expect_equal(plumb_tcp_readable(user.connection), 0);
    expect_equal(plumb_tcp_peek(user.connection, vectors, 64), 0);
    disconnected(world, &user);
}

#ifdef CONFIG_PLUMB_TCP_POST

/* The user's memory is filled in the same pass as the checksum. */
static void posted_memory_is_filled(void **state) {
    (void)state;
    struct user user = {.keep_unread = true};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    uint8_t loan[5000 + 16];
    unsigned sent = 0, read = 0;
    struct random random = {6};
    fill(6);
    memset(loan, 0xee, sizeof loan);
    peer_send(&peer, TCP_ACK, bytes, 300);
    sent = 300;
    plumb_tcp_post(user.connection, loan, 5000);
    expect_equal(plumb_tcp_posted(user.connection), 300);
    expect_equal(plumb_tcp_readable(user.connection), 0);
    while (sent < 40000) {
        unsigned length = 1 + random_below(&random, MSS);
        peer_send(&peer, TCP_ACK, bytes + sent, length);
        sent += length;
        drain_payload(&peer);
        size_t got = plumb_tcp_posted(user.connection);
        expect_equal(got + plumb_tcp_readable(user.connection), sent - read);
        assert_memory_equal(loan, bytes + read, got);
        expect_equal(loan[5000], 0xee);
        if (got > 3000) {
            read += (unsigned)got;
            plumb_tcp_post(user.connection, loan, 5000);
        }
    }
    plumb_tcp_post(user.connection, 0, 0);
    expect_equal(plumb_tcp_posted(user.connection), 0);
    plumb_tcp_consume(user.connection, plumb_tcp_readable(user.connection));
    disconnected(world, &user);
}

/* A segment with a wrong checksum leaves no trace in posted memory's count. */
static void posted_memory_and_a_wrong_checksum(void **state) {
    (void)state;
    struct user user = {.keep_unread = true};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    uint8_t loan[2000];
    struct frame frame;
    plumb_tcp_post(user.connection, loan, sizeof loan);
    frame_tcp(&frame, &peer.path, peer.sequence, peer.acknowledgement, TCP_ACK, 65535, 0, 0, "bad!",
              4);
    frame.bytes[frame.length - 1] ^= 1;
    struct counters before = counters_now(&world->a);
    world_inject(world, &frame);
    counters_expect_drop(&world->a, &before, "tcp_checksum", 1);
    expect_equal(plumb_tcp_posted(user.connection), 0);
    peer_send(&peer, TCP_ACK, "good", 4);
    expect_equal(plumb_tcp_posted(user.connection), 4);
    assert_memory_equal(loan, "good", 4);
    plumb_tcp_post(user.connection, 0, 0);
    disconnected(world, &user);
}

#define POSTED                                                                                     \
    cmocka_unit_test(posted_memory_is_filled), cmocka_unit_test(posted_memory_and_a_wrong_checksum),

#else
#define POSTED
#endif

static void test_hostile_63_fin_out_of_order_and_again(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    uint32_t base = peer.sequence;
    peer_send_at(&peer, base + 4, peer.acknowledgement, TCP_ACK | TCP_FIN, "5678", 4);
    expect(!(user.events & PLUMB_TCP_PEER_CLOSED));
    peer_send_at(&peer, base, peer.acknowledgement, TCP_ACK, "1234", 4);
    expect_equal(user.length, 8);
    expect(user.events & PLUMB_TCP_PEER_CLOSED);
    drain_payload(&peer);
    unsigned calls = user.calls;
    peer_send_at(&peer, base + 4, peer.acknowledgement, TCP_ACK | TCP_FIN, "5678", 4);
    expect_equal(peer_expect(&peer, TCP_ACK)->acknowledgement, base + 9);
    /* Bytes behind the FIN are none. */
    struct counters before = counters_now(&world->a);
    peer_send_at(&peer, base + 9, peer.acknowledgement, TCP_ACK, "ghost", 5);
    expect_equal(counters_drops(&world->a, &before), 1);
    expect_equal(user.length, 8);
    expect_equal(user.calls, calls);
    disconnected(world, &user);
}

/* What waits out of order reaches past a FIN that comes then: its bytes are none either. */
static void test_hostile_63_fin_before_what_waits(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    uint32_t base = peer.sequence;
    peer_send_at(&peer, base + 2, peer.acknowledgement, TCP_ACK, "3456ghost", 9);
    struct counters before = counters_now(&world->a);
    peer_send_at(&peer, base, peer.acknowledgement, TCP_ACK | TCP_FIN, "1234", 4);
    expect_equal(user.length, 4);
    assert_memory_equal(user.bytes, "1234", 4);
    expect(user.events & PLUMB_TCP_PEER_CLOSED);
    counters_expect_drop(&world->a, &before, "tcp_window", 1);
    expect(peer_take(&peer));
    expect_equal(peer.last.acknowledgement, base);
    expect_equal(peer_expect(&peer, TCP_ACK)->acknowledgement, base + 5);
    disconnected(world, &user);
}

static void test_hostile_61_receive_across_the_wrap(void **state) {
    (void)state;
    static const uint32_t starts[] = {0xffffffffU, 0xfffffff0U, 0x7fffffffU, 0x7ffffff0U, 0};
    fill(7);
    for (unsigned i = 0; i < 5; i++) {
        struct user user = {0};
        struct world *world = world_single(0);
        struct peer peer = peer_at(world, 40000, 80);
        world_introduce(world);
        user_listen(&user, &world->a, 80);
        peer.sequence = starts[i] - 3000;
        peer_connect(&peer);
        uint32_t base = peer.sequence;
        for (unsigned k = 0; k < 10; k++) {
            /* Pairs swapped, so that the queue meets the wrap too. */
            unsigned at = (k ^ 1) * 700;
            peer_send_at(&peer, base + at, peer.acknowledgement, TCP_ACK, bytes + at, 700);
        }
        expect_equal(user.length, 7000);
        assert_memory_equal(user.bytes, bytes, 7000);
        peer.sequence = base + 7000;
        drain_payload(&peer);
        disconnected(world, &user);
    }
}

/* ---- sending ---- */

static void small_and_large_sends_arrive(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    static uint8_t got[100000];
    fill(8);
    unsigned queued = 0, read = 0;
    struct random random = {8};
    while (read < 100000) {
        unsigned length = random_below(&random, random_below(&random, 2) ? 50 : 9000);
        if (length > 100000 - queued)
            length = 100000 - queued;
        int taken = plumb_tcp_send(user.connection, bytes + queued, length);
        expect(taken >= 0);
        queued += (unsigned)taken;
        world_settle(world);
        peer_read(&peer, got + read, queued - read);
        read = queued;
    }
    assert_memory_equal(got, bytes, 100000);
    disconnected(world, &user);
}

/* Our own numbers wrap: the clock that they follow (RFC 6528) is set so that they do. */
static void test_hostile_61_send_across_the_wrap(void **state) {
    (void)state;
    static const uint32_t starts[] = {0xffffffffU, 0xffffff00U, 0xfffff000U, 0x7fffff00U};
    static uint8_t got[20000];
    fill(18);
    for (unsigned i = 0; i < 4; i++) {
        struct user user = {0};
        struct peer peer;
        struct world *world = connected(&user, &peer, 0);
        uint32_t initial = peer.acknowledgement - 1;
        plumb_tcp_abort(user.connection);
        user.connection = 0;
        world_drain(world);
        world_run(world, 4ULL * (starts[i] - initial));
        peer.sequence += 100000;
        peer_connect(&peer);
        expect_equal(peer.acknowledgement, starts[i] + 1);
        expect_equal(plumb_tcp_send(user.connection, bytes, sizeof got), sizeof got);
        world_settle(world);
        /* A loss right at the wrap, and what is acknowledged in part. */
        expect(drain_payload(&peer) > 5);
        world_run(world, 250 * MILLISECOND);
        peer_read(&peer, got, sizeof got);
        assert_memory_equal(got, bytes, sizeof got);
        user_close(world, &user);
        peer_accept(&peer, TCP_FIN | TCP_ACK);
        peer_send(&peer, TCP_FIN | TCP_ACK, 0, 0);
        world_drain(world);
        expect_equal(side_buffers_used(&world->a), 0);
        disconnected(world, &user);
    }
}

static void nagle_holds_small_segments(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    plumb_tcp_send(user.connection, "a", 1);
    world_settle(world);
    expect_equal(peer_accept(&peer, TCP_ACK)->length, 1);
    for (unsigned i = 0; i < 5; i++)
        plumb_tcp_send(user.connection, "b", 1);
    world_settle(world);
    peer_expect_nothing(&peer);
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(peer_accept(&peer, TCP_ACK)->length, 5);
    peer_send(&peer, TCP_ACK, 0, 0);

    expect_equal(plumb_tcp_set_option(user.connection, PLUMB_TCP_NODELAY, 1), PLUMB_OK);
    for (unsigned i = 0; i < 3; i++) {
        plumb_tcp_send(user.connection, "c", 1);
        world_settle(world);
        expect_equal(peer_accept(&peer, TCP_ACK)->length, 1);
    }
    disconnected(world, &user);
}

/* A full segment and a tail: the tail waits for an acknowledgement, or for company. */
static void nagle_lets_full_segments_go(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    fill(9);
    plumb_tcp_send(user.connection, bytes, 3 * MSS + 10);
    world_settle(world);
    for (unsigned i = 0; i < 3; i++)
        expect_equal(peer_accept(&peer, TCP_ACK)->length, MSS);
    peer_expect_nothing(&peer);
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(peer_accept(&peer, TCP_ACK)->length, 10);
    disconnected(world, &user);
}

/* RFC 6298: the time-out doubles up to a minute, a new acknowledgement ends that. */
static void time_out_backs_off(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    uint64_t times[64] = {world->now_us};
    unsigned sent = 0;
    plumb_tcp_send(user.connection, "again", 5);
    for (unsigned i = 0; i < 900000 && !(user.events & PLUMB_TCP_CLOSED); i++) {
        world_settle(world);
        while (peer_take(&peer)) {
            expect(sent < 64);
            expect_equal(peer.last.length, 5);
            times[sent++] = world->now_us;
        }
        world_run(world, MILLISECOND);
    }
    expect_equal(user.error, PLUMB_ERROR_TIMED_OUT);
    expect_equal(sent, 1 + CONFIG_PLUMB_TCP_RETRIES);
    uint64_t expected = CONFIG_PLUMB_TCP_MIN_RTO_MS * MILLISECOND;
    for (unsigned i = 1; i < sent; i++) {
        uint64_t gap = times[i] - times[i - 1];
        expect(gap >= expected && gap <= expected + 5 * MILLISECOND);
        expected = 2 * expected < 60 * SECOND ? 2 * expected : 60 * SECOND;
    }
    disconnected(world, &user);
}

/* Sent again while the device still reads it the first time: other headers go in front
 * then (world_end() finds a packet that was changed meanwhile). */
static void sent_again_while_still_in_the_ring(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    static uint8_t got[3 * MSS];
    fill(19);
    plumb_wire_set_faults(world->a.end, &(struct plumb_wire_faults){.rate = 50000});
    expect_equal(plumb_tcp_send(user.connection, bytes, sizeof got), sizeof got);
    world_run(world, 100 * MILLISECOND);
    /* So that the headers would be others now. */
    peer_send(&peer, TCP_ACK, "news", 4);
    struct counters before = counters_now(&world->a);
    world_run(world, 130 * MILLISECOND);
    expect(counters_moved(&world->a, &before, "tcp_retransmitted") > 0);
    peer_read(&peer, got, sizeof got);
    assert_memory_equal(got, bytes, sizeof got);
    user_end(&user);
    world_run(world, 10 * SECOND);
    expect_equal(side_buffers_used(&world->a), 0);
    world_end(world);
}

static void round_trip_sets_the_time_out(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    for (unsigned i = 0; i < 60; i++) {
        plumb_tcp_send(user.connection, "x", 1);
        world_settle(world);
        peer_accept(&peer, TCP_ACK);
        world_run(world, 150 * MILLISECOND);
        peer_send(&peer, TCP_ACK, 0, 0);
    }
    struct plumb_tcp_info info = user_info(&user);
    expect(info.srtt_us > 130000 && info.srtt_us < 170000);
    expect(info.rto_ms >= 150 && info.rto_ms < 400);
    expect_equal(info.retransmitted, 0);
    disconnected(world, &user);
}

/* Karn: what was sent twice is not timed. */
static void a_retransmitted_segment_is_not_timed(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    uint32_t before = user_info(&user).srtt_us;
    plumb_tcp_send(user.connection, "x", 1);
    world_run(world, 250 * MILLISECOND);
    expect_equal(drain_payload(&peer), 2);
    acknowledge(&peer, peer.acknowledgement + 1);
    expect_equal(user_info(&user).srtt_us, before);
    disconnected(world, &user);
}

static void a_fast_retransmitted_segment_is_not_timed(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    uint32_t before = user_info(&user).srtt_us, base = peer.acknowledgement;
    plumb_tcp_send(user.connection, bytes, 5 * MSS);
    world_run(world, 50 * MILLISECOND);
    expect_equal(drain_payload(&peer), 5);
    for (unsigned i = 0; i < 3; i++)
        acknowledge(&peer, base);
    expect_equal(drain_payload(&peer), 1);
    world_run(world, 100 * MILLISECOND);
    acknowledge(&peer, base + 5 * MSS);
    expect_equal(user_info(&user).srtt_us, before);
    disconnected(world, &user);
}

static void fast_retransmit_and_partial_acknowledgements(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    fill(10);
    uint32_t base = peer.acknowledgement;
    plumb_tcp_send(user.connection, bytes, 10 * MSS);
    world_settle(world);
    expect_equal(drain_payload(&peer), 10);
    struct counters before = counters_now(&world->a);
    /* Segments 1 and 4 were lost; those behind make duplicates. */
    acknowledge(&peer, base + MSS);
    drain_payload(&peer);
    for (unsigned i = 0; i < 2; i++) {
        acknowledge(&peer, base + MSS);
        peer_expect_nothing(&peer);
    }
    acknowledge(&peer, base + MSS);
    expect_equal(peer_expect(&peer, TCP_ACK)->sequence, base + MSS);
    expect_equal(peer.last.length, MSS);
    expect_equal(counters_moved(&world->a, &before, "tcp_fast_retransmit"), 1);
    drain_payload(&peer);
    /* A partial acknowledgement: the next hole at once, without a time-out. */
    acknowledge(&peer, base + 4 * MSS);
    expect_equal(peer_expect(&peer, TCP_ACK)->sequence, base + 4 * MSS);
    drain_payload(&peer);
    acknowledge(&peer, base + 10 * MSS);
    expect_equal(drain_payload(&peer), 0);
    expect_equal(counters_moved(&world->a, &before, "tcp_timeout"), 0);
    expect_equal(counters_moved(&world->a, &before, "tcp_fast_retransmit"), 1);
    expect_equal(side_buffers_used(&world->a), 0);
    disconnected(world, &user);
}

/* As if so many bytes had been sent, and the last of them acknowledged by itself. */
static void move_sequence(struct user *user, struct peer *peer, uint32_t by) {
    struct plumb_tcp *connection = user->connection;
    expect_equal(connection->send_queued, 0);
    connection->send_unacked += by;
    connection->send_next += by;
    connection->send_most += by;
    peer->acknowledgement += by;
    plumb_tcp_send(connection, "x", 1);
    world_settle(peer->world);
    peer_accept(peer, TCP_ACK);
    peer_send(peer, TCP_ACK, 0, 0);
    expect_equal(connection->send_queued, 0);
}

/* Where the last recovery ended must not come to lie ahead. */
static void fast_retransmit_after_two_gigabytes(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    for (unsigned i = 0; i < 3; i++)
        move_sequence(&user, &peer, 0x40000000);
    plumb_tcp_send(user.connection, bytes, 4 * MSS);
    world_settle(world);
    expect_equal(drain_payload(&peer), 4);
    struct counters before = counters_now(&world->a);
    for (unsigned i = 0; i < 3; i++)
        peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(counters_moved(&world->a, &before, "tcp_fast_retransmit"), 1);
    expect_equal(peer_expect(&peer, TCP_ACK)->sequence, peer.acknowledgement);
    disconnected(world, &user);
}

/* An acknowledgement that also carries data or a window is no duplicate. */
static void only_true_duplicates_count(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    fill(11);
    plumb_tcp_send(user.connection, bytes, 5 * MSS);
    world_settle(world);
    drain_payload(&peer);
    struct counters before = counters_now(&world->a);
    for (unsigned i = 0; i < 5; i++) {
        peer_send(&peer, TCP_ACK, "data", 4);
        peer.window = (uint16_t)(peer.window - 100);
        peer_send(&peer, TCP_ACK, 0, 0);
    }
    expect_equal(counters_moved(&world->a, &before, "tcp_fast_retransmit"), 0);
    disconnected(world, &user);
}

static void test_hostile_59_peer_window_that_shrinks(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    fill(12);
    peer.window = 3000;
    peer_send(&peer, TCP_ACK, 0, 0);
    plumb_tcp_send(user.connection, bytes, 20000);
    world_run(world, 150 * MILLISECOND);
    unsigned got = 0;
    while (peer_take(&peer))
        got += peer.last.length;
    expect(got >= 2 * MSS && got <= 3000);
    /* The window shrinks behind what was sent: nothing breaks (RFC 9293 section 3.8.6). */
    peer.window = 0;
    peer_send_at(&peer, peer.sequence, peer.acknowledgement + MSS, TCP_ACK, 0, 0);
    peer.acknowledgement += MSS;
    peer_send_at(&peer, peer.sequence, peer.acknowledgement + MSS, TCP_ACK, 0, 0);
    peer.acknowledgement += MSS;
    world_run(world, 100 * MILLISECOND);
    drain_payload(&peer);
    /* And it opens again: all the rest arrives. */
    peer.window = 65535;
    static uint8_t rest[20000];
    peer_send(&peer, TCP_ACK, 0, 0);
    peer_read(&peer, rest, 20000 - 2 * MSS);
    assert_memory_equal(rest, bytes + 2 * MSS, 20000 - 2 * MSS);
    disconnected(world, &user);
}

/* Sender's silly window avoidance: a window of a few bytes tempts nobody. */
static void tiny_window_is_not_filled_at_once(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    fill(13);
    peer.window = 65535;
    peer_send(&peer, TCP_ACK, 0, 0);
    plumb_tcp_send(user.connection, bytes, MSS);
    world_settle(world);
    expect_equal(peer_accept(&peer, TCP_ACK)->length, MSS);
    peer.window = 10;
    peer_send(&peer, TCP_ACK, 0, 0);
    plumb_tcp_send(user.connection, bytes, 4000);
    world_run(world, 50 * MILLISECOND);
    peer_expect_nothing(&peer);
    peer.window = 65535;
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(peer_expect(&peer, TCP_ACK)->length, MSS);
    disconnected(world, &user);
}

/* RFC 9293 section 3.8.6.1: probes for as long as they are answered. */
static void test_hostile_58_closed_window_is_probed_for_ever(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    fill(14);
    peer.window = 0;
    peer_send(&peer, TCP_ACK, 0, 0);
    plumb_tcp_send(user.connection, bytes, 5000);
    world_settle(world);
    peer_expect_nothing(&peer);
    struct counters before = counters_now(&world->a);
    unsigned probes = 0;
    uint64_t last = world->now_us, longest = 0;
    for (unsigned i = 0; i < 3600 * 2; i++) {
        world_run(world, 500 * MILLISECOND);
        while (peer_take(&peer)) {
            uint64_t gap = world->now_us - last;
            longest = gap > longest ? gap : longest;
            last = world->now_us;
            expect(peer.last.length <= 1);
            probes++;
            peer_send(&peer, TCP_ACK, 0, 0);
        }
        expect(user.connection != 0);
    }
    expect(probes > 55 && probes < 200);
    expect(longest <= 61 * SECOND);
    expect(counters_moved(&world->a, &before, "tcp_probe") >= probes - 1);
    static uint8_t got[5000];
    peer.window = 65535;
    peer_send(&peer, TCP_ACK, 0, 0);
    peer_read(&peer, got, 5000);
    assert_memory_equal(got, bytes, 5000);
    disconnected(world, &user);
}

static void unanswered_probes_end_the_connection(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    peer.window = 0;
    peer_send(&peer, TCP_ACK, 0, 0);
    plumb_tcp_send(user.connection, "x", 1);
    for (unsigned i = 0; i < 1800 && user.connection; i++) {
        world_run(world, SECOND);
        drain_payload(&peer);
    }
    expect_equal(user.error, PLUMB_ERROR_TIMED_OUT);
    disconnected(world, &user);
}

static void keepalive_finds_the_dead(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_KEEPALIVE);
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    expect_equal(plumb_tcp_set_option(user.connection, PLUMB_TCP_KEEPALIVE, 5000), PLUMB_OK);
    /* While the peer answers, all is well. */
    for (unsigned i = 0; i < 10; i++) {
        world_run(world, 5100 * MILLISECOND);
        struct segment *probe = peer_expect(&peer, TCP_ACK);
        expect_equal(probe->sequence + probe->length, peer.acknowledgement - 1 + probe->length);
        peer_send(&peer, TCP_ACK, 0, 0);
        expect(user.connection != 0);
    }
    unsigned probes = 0;
    for (unsigned i = 0; i < 1000 && user.connection; i++) {
        world_run(world, SECOND);
        while (peer_take(&peer))
            probes += !(peer.last.flags & TCP_RST);
    }
    expect_equal(user.error, PLUMB_ERROR_TIMED_OUT);
    expect_equal(probes, CONFIG_PLUMB_TCP_KEEPALIVE_PROBES);
    disconnected(world, &user);
}

static void user_timeout(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_USER_TIMEOUT);
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    expect_equal(plumb_tcp_set_option(user.connection, PLUMB_TCP_USER_TIMEOUT, 3000), PLUMB_OK);
    plumb_tcp_send(user.connection, "x", 1);
    world_run(world, 2500 * MILLISECOND);
    expect(user.connection != 0);
    world_run(world, 6 * SECOND);
    expect_equal(user.error, PLUMB_ERROR_TIMED_OUT);
    disconnected(world, &user);
}

/* An option is taken where the build has it, and refused where it has not. */
static void what_is_left_out_is_refused(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    const struct {
        enum plumb_tcp_option option;
        uint32_t value;
        bool taken;
    } cases[] = {
        {PLUMB_TCP_NODELAY, 1, true},
        {PLUMB_TCP_KEEPALIVE, 5000, PLUMB_IS_SET_(CONFIG_PLUMB_TCP_KEEPALIVE)},
        {PLUMB_TCP_USER_TIMEOUT, 5000, PLUMB_IS_SET_(CONFIG_PLUMB_TCP_USER_TIMEOUT)},
        {PLUMB_TCP_SEND_BUFFER, 65535, PLUMB_IS_SET_(CONFIG_PLUMB_TCP_BUFFER_LIMITS)},
        {PLUMB_TCP_RECEIVE_BUFFER, 65535, PLUMB_IS_SET_(CONFIG_PLUMB_TCP_BUFFER_LIMITS)},
        {PLUMB_TCP_RECEIVE_BUFFER, 65536,
         PLUMB_IS_SET_(CONFIG_PLUMB_TCP_BUFFER_LIMITS) &&
             PLUMB_IS_SET_(CONFIG_PLUMB_TCP_WINDOW_SCALE)},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_equal(plumb_tcp_set_option(user.connection, cases[i].option, cases[i].value),
                     cases[i].taken ? PLUMB_OK : PLUMB_ERROR_INVALID);
    disconnected(world, &user);
}

/* Receives for a while and sends nothing but acknowledgements. */
static void be_idle(struct peer *peer, unsigned seconds) {
    for (unsigned i = 0; i < seconds; i++) {
        peer_send(peer, TCP_ACK, bytes, 100);
        world_run(peer->world, SECOND);
        expect_equal(drain_payload(peer), 0);
    }
}

/* The time that counts is since sending began, not since the last acknowledgement. */
static void last_bytes_after_a_long_silence_are_sent_again(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    be_idle(&peer, 200);
    plumb_tcp_send(user.connection, "last words", 10);
    user_close(world, &user);
    expect(drain_payload(&peer) >= 1);
    world_run(world, 2 * SECOND);
    struct segment *again = peer_expect(&peer, TCP_ACK | TCP_FIN);
    expect_equal(again->sequence, peer.acknowledgement);
    expect_equal(again->length, 10);
    assert_memory_equal(again->payload, "last words", 10);
    peer_send(&peer, TCP_RST, 0, 0);
    disconnected(world, &user);
}

static void user_timeout_begins_with_sending(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_USER_TIMEOUT);
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    expect_equal(plumb_tcp_set_option(user.connection, PLUMB_TCP_USER_TIMEOUT, 10000), PLUMB_OK);
    be_idle(&peer, 60);
    plumb_tcp_send(user.connection, "x", 1);
    world_run(world, 9 * SECOND);
    expect(user.connection != 0);
    world_run(world, 20 * SECOND);
    expect_equal(user.error, PLUMB_ERROR_TIMED_OUT);
    disconnected(world, &user);
}

/* ---- by reference ---- */

static unsigned released;

static void on_release(struct plumb_reference *reference) {
    expect_equal(reference->references, 0);
    released++;
}

static void reference_is_released_when_acknowledged(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    struct plumb_reference lent = {.memory = bytes, .length = 4001, .release = on_release};
    static uint8_t got[4001 + 7];
    fill(15);
    released = 0;
    expect_equal(plumb_tcp_send(user.connection, bytes + 5000, 3), 3);
    expect_equal(plumb_tcp_send_reference(user.connection, &lent), PLUMB_OK);
    expect_equal(plumb_tcp_send(user.connection, bytes + 6000, 4), 4);
    world_settle(world);
    expect_equal(released, 0);
    world_run(world, 450 * MILLISECOND);
    expect_equal(released, 0);
    peer_read(&peer, got, sizeof got);
    world_settle(world);
    expect_equal(released, 1);
    assert_memory_equal(got, bytes + 5000, 3);
    assert_memory_equal(got + 3, bytes, 4001);
    assert_memory_equal(got + 4004, bytes + 6000, 4);
    expect_equal(side_buffers_used(&world->a), 0);
    disconnected(world, &user);
}

static void reference_is_released_at_every_end(void **state) {
    (void)state;
    for (unsigned how = 0; how < 4; how++) {
        struct user user = {0};
        struct peer peer;
        struct world *world = connected(&user, &peer, 0);
        struct plumb_reference lent = {.memory = bytes + 1, .length = 9000, .release = on_release};
        released = 0;
        expect_equal(plumb_tcp_send_reference(user.connection, &lent), PLUMB_OK);
        world_settle(world);
        drain_payload(&peer);
        expect_equal(released, 0);
        if (how == 0) {
            plumb_tcp_abort(user.connection);
            user.connection = 0;
        } else if (how == 1) {
            peer_send(&peer, TCP_RST, 0, 0);
            expect_equal(user.error, PLUMB_ERROR_RESET);
        } else if (how == 2) {
            for (unsigned i = 0; i < 900; i++) {
                world_run(world, SECOND);
                world_drain(world);
            }
            expect_equal(user.error, PLUMB_ERROR_TIMED_OUT);
        }
        if (how < 3) {
            world_settle(world);
            expect_equal(released, 1);
            disconnected(world, &user);
        } else {
            /* The stack is destroyed over it. */
            user.connection = 0;
            user_end(&user);
            world_end(world);
        }
        expect_equal(released, 1);
    }
}

/* An acknowledgement in the midst of a segment of one lent piece: what is left is sent again
 * with the sum of what it is now, and the piece comes back with its last byte only. */
static void reference_is_acknowledged_in_the_midst(void **state) {
    (void)state;
    for (unsigned clean = 0; clean < 2; clean++) {
        enum { LENT = 10 * 1460 + 100, BEHIND = 300, CUT = 2 * 1460 + 333 };
        struct user user = {0};
        struct peer peer;
        struct world *world = connected(&user, &peer, 0);
        struct plumb_reference lent = {.memory = bytes + 1, .length = LENT, .release = on_release};
        struct plumb_reference behind = {.memory = bytes, .length = BEHIND, .release = on_release};
        static uint8_t got[LENT + BEHIND];
        fill(23);
        released = 0;
        if (clean)
            plumb_reference_clean(world->a.stack, &lent);
        expect_equal(lent.clean, clean);
        expect_equal(plumb_tcp_send_reference(user.connection, &lent), PLUMB_OK);
        expect_equal(lent.references, 11);
        expect_equal(plumb_tcp_send_reference(user.connection, &behind), PLUMB_OK);
        world_settle(world);
        drain_payload(&peer);
        peer.acknowledgement += CUT;
        peer_send(&peer, TCP_ACK, 0, 0);
        world_settle(world);
        expect_equal(lent.references, 9);
        struct plumb_packet *first = user.connection->send_first;
        expect_equal(first->length, 1460 - 333);
        expect(!(first->flags & PLUMB_PACKET_SUMMED));
        expect_equal((first->flags & PLUMB_PACKET_CLEAN) != 0, clean);
        drain_payload(&peer);
        /* All that is out is lost, and comes again, first what was cut. */
        world_run(world, 1500 * MILLISECOND);
        peer_read(&peer, got, LENT - CUT);
        assert_memory_equal(got, bytes + 1 + CUT, LENT - CUT);
        world_settle(world);
        expect_equal(released, 1);
        expect_equal(lent.references, 0);
        peer_read(&peer, got, BEHIND);
        world_settle(world);
        assert_memory_equal(got, bytes, BEHIND);
        expect_equal(released, 2);
        expect_equal(side_buffers_used(&world->a), 0);
        disconnected(world, &user);
    }
}

/* A piece of which some was acknowledged, some is out and some was never sent comes back
 * once, when the connection is given up. */
static void reference_partly_sent_is_released_by_an_abort(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    struct plumb_reference lent = {.memory = bytes, .length = 40 * 1460, .release = on_release};
    static uint8_t got[3 * 1460];
    fill(24);
    released = 0;
    peer.window = 12000;
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(plumb_tcp_send_reference(user.connection, &lent), PLUMB_OK);
    peer_read(&peer, got, sizeof got);
    world_settle(world);
    expect_equal(lent.references, 37);
    expect(user.connection->send_unsent != NULL);
    expect(user.connection->send_unsent != user.connection->send_first);
    plumb_tcp_abort(user.connection);
    user.connection = 0;
    world_settle(world);
    expect_equal(released, 1);
    expect_equal(lent.references, 0);
    disconnected(world, &user);
}

/* Sends more whenever its memory comes back. */
struct lender {
    struct plumb_reference lent;
    struct plumb_tcp *connection;
    unsigned released, more, refused;
    bool by_copy;
};

static void send_more(struct plumb_reference *reference) {
    struct lender *lender = reference->context;
    const uint8_t *next = bytes + 100 * ++lender->released;
    expect_equal(reference->references, 0);
    if (!lender->more)
        return;
    lender->more--;
    if (lender->by_copy) {
        expect_equal(plumb_tcp_send(lender->connection, next, 100), 100);
        return;
    }
    reference->memory = next;
    if (plumb_tcp_send_reference(lender->connection, reference) != PLUMB_OK)
        lender->refused++;
}

static struct lender lend(struct user *user) {
    return (struct lender){
        .lent = {.memory = bytes, .length = 100, .release = send_more},
        .connection = user->connection,
    };
}

static void release_may_send_more(void **state) {
    (void)state;
    for (unsigned by_copy = 0; by_copy < 2; by_copy++) {
        struct user user = {0};
        struct peer peer;
        struct world *world = connected(&user, &peer, 0);
        struct lender lender = lend(&user);
        unsigned more = by_copy ? 1 : 5;
        static uint8_t got[600];
        fill(20);
        lender.lent.context = &lender;
        lender.more = more;
        lender.by_copy = by_copy;
        expect_equal(plumb_tcp_send_reference(user.connection, &lender.lent), PLUMB_OK);
        peer_read(&peer, got, 100 * (more + 1));
        assert_memory_equal(got, bytes, 100 * (more + 1));
        expect_equal(lender.released, by_copy ? 1 : 6);
        expect_equal(lender.refused, 0);
        expect_equal(side_buffers_used(&world->a), 0);
        disconnected(world, &user);
    }
}

/* Whoever lends again at once, for ever, is told once a poll, and at the end of the
 * connection once more. */
static void release_that_always_sends_keeps_no_poll(void **state) {
    (void)state;
    enum { MANY = 1000 };
    for (unsigned how = 0; how < 3; how++) {
        struct user user = {0};
        struct peer peer;
        struct world *world = connected(&user, &peer, 0);
        struct lender lender = lend(&user);
        static uint8_t got[300];
        lender.lent.context = &lender;
        lender.more = MANY;
        expect_equal(plumb_tcp_send_reference(user.connection, &lender.lent), PLUMB_OK);
        peer_read(&peer, got, sizeof got);
        expect_equal(lender.released, 3);
        if (how == 0)
            peer_send(&peer, TCP_RST, 0, 0);
        else if (how == 1)
            plumb_netif_detach(world->a.netif);
        else
            plumb_tcp_abort(user.connection);
        if (how == 2)
            user.connection = 0;
        world_settle(world);
        expect_equal(lender.released, 4);
        expect_equal(lender.refused, 1);
        expect_equal(lender.lent.references, 0);
        disconnected(world, &user);
    }
}

static void reference_is_refused_whole(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    struct plumb_reference empty = {.memory = bytes, .length = 0, .release = on_release};
    struct plumb_reference vast = {.memory = bytes, .length = 200000, .release = on_release};
    struct plumb_reference first = {.memory = bytes, .length = 40000, .release = on_release};
    struct plumb_reference second = {.memory = bytes, .length = 40000, .release = on_release};
    released = 0;
    fill(16);
    expect_equal(plumb_tcp_send_reference(user.connection, &empty), PLUMB_ERROR_INVALID);
    expect_equal(plumb_tcp_send_reference(user.connection, &vast), PLUMB_ERROR_INVALID);
    expect_equal(plumb_tcp_send_reference(user.connection, &first), PLUMB_OK);
    expect_equal(plumb_tcp_send_reference(user.connection, &second), PLUMB_ERROR_WOULD_BLOCK);
    user.events = 0;
    static uint8_t got[40000];
    peer_read(&peer, got, 40000);
    world_settle(world);
    assert_memory_equal(got, bytes, 40000);
    expect_equal(released, 1);
    expect(user.events & PLUMB_TCP_WRITABLE);
    expect_equal(plumb_tcp_send_reference(user.connection, &second), PLUMB_OK);
    peer_read(&peer, got, 40000);
    world_settle(world);
    expect_equal(released, 2);
    plumb_tcp_shutdown(user.connection);
    expect_equal(plumb_tcp_send_reference(user.connection, &second), PLUMB_ERROR_CLOSED);
    disconnected(world, &user);
}

static void full_send_buffer_and_writable(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_BUFFER_LIMITS);
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    fill(17);
    expect_equal(plumb_tcp_set_option(user.connection, PLUMB_TCP_SEND_BUFFER, 10000), PLUMB_OK);
    expect_equal(plumb_tcp_set_option(user.connection, PLUMB_TCP_SEND_BUFFER, 0),
                 PLUMB_ERROR_INVALID);
    expect_equal(plumb_tcp_set_option(user.connection, PLUMB_TCP_SEND_BUFFER, (1 << 20) + 1),
                 PLUMB_ERROR_INVALID);
    int taken = plumb_tcp_send(user.connection, bytes, 20000);
    expect_equal(taken, 10000);
    expect_equal(plumb_tcp_writable(user.connection), 0);
    expect_equal(plumb_tcp_send(user.connection, bytes, 1), 0);
    world_settle(world);
    expect(!(user.events & PLUMB_TCP_WRITABLE));
    static uint8_t got[10000];
    peer_read(&peer, got, 10000);
    world_settle(world);
    expect(user.events & PLUMB_TCP_WRITABLE);
    expect_equal(plumb_tcp_writable(user.connection), 10000);
    assert_memory_equal(got, bytes, 10000);
    disconnected(world, &user);
}

/* ---- what a peer or a user can do to starve the other side ---- */

/* A window never goes back, and all that was offered is taken, to the byte, though it
 * is told in units of the scale. */
static void window_offered_is_taken_to_its_edge(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_WINDOW_SCALE);
    static const uint8_t mss_and_scale[8] = {2, 4, 0x05, 0xb4, 1, 3, 3, 7};
    enum { SCALE = 5 };
    struct user user = {.keep_unread = true};
    struct world *world = world_single(0);
    struct peer peer = peer_at(world, 40000, 80);
    world_introduce(world);
    user_listen(&user, &world->a, 80);
    fill(18);
    peer_send_syn(&peer, TCP_SYN, mss_and_scale, sizeof mss_and_scale);
    struct segment *answer = peer_accept(&peer, TCP_SYN | TCP_ACK);
    expect_equal(answer->options[answer->options_length - 1], SCALE);
    peer_send(&peer, TCP_ACK, 0, 0);
    /* What no multiple of the unit is free behind. */
    uint32_t base = peer.sequence;
    peer_send(&peer, TCP_ACK, bytes, 1001);
    world_run(world, SECOND);
    uint32_t edge = peer_expect(&peer, TCP_ACK)->window;
    edge = (edge << SCALE) + 1001;
    expect(edge <= CONFIG_PLUMB_TCP_RECEIVE_BUFFER);
    for (uint32_t at = 1001; at < edge; at = peer.sequence - base)
        peer_send(&peer, TCP_ACK, bytes + at, edge - at < MSS ? edge - at : MSS);
    world_run(world, SECOND);
    while (peer_take(&peer))
        expect(peer.last.acknowledgement - base + ((uint32_t)peer.last.window << SCALE) <=
               CONFIG_PLUMB_TCP_RECEIVE_BUFFER);
    expect_equal(peer.last.acknowledgement, base + edge);
    expect_equal(plumb_tcp_readable(user.connection), edge);
    disconnected(world, &user);
}

/* A user who leaves a pool full of segments unread, small ones or whole ones, does
 * not stop the others. */
static void one_who_does_not_read_starves_nobody(void **state) {
    (void)state;
    static const struct {
        uint16_t buffers, length, count;
    } floods[] = {{256, 257, 255}, {40, MSS, 44}};
    for (unsigned k = 0; k < 2; k++) {
        struct user idle = {.keep_unread = true}, other = {0};
        struct peer flood, peer;
        struct world *world =
            connected(&idle, &flood, &(struct world_options){.receive_count = floods[k].buffers});
        user_listen(&other, &world->a, 81);
        peer = peer_at(world, 41000, 81);
        peer_connect(&peer);
        for (unsigned i = 0; i < floods[k].count; i++) {
            peer_send(&flood, TCP_ACK, bytes, floods[k].length);
            drain_payload(&flood);
        }
        for (unsigned i = 1; i <= 50; i++) {
            peer_send(&peer, TCP_ACK, "hello", 5);
            expect_equal(other.length, 5 * i);
            world_run(world, 100 * MILLISECOND);
            drain_payload(&peer);
        }
        user_end(&other);
        world_settle(world);
        disconnected(world, &idle);
    }
}

/* Probes and parts of segments need no packet of the pool that the queue emptied. */
static void small_windows_pass_a_queue_that_emptied_the_pool(void **state) {
    (void)state;
    for (unsigned window = 0; window <= 1000; window += 500) {
        struct user user = {0};
        struct peer peer;
        struct world *world = connected(&user, &peer, &(struct world_options){.segment_count = 8});
        static uint8_t got[65536];
        fill(19);
        peer.window = (uint16_t)window;
        peer_send(&peer, TCP_ACK, 0, 0);
        unsigned queued = (unsigned)plumb_tcp_send(user.connection, bytes, 60000);
        expect(queued > MSS && queued <= 60000);
        expect_equal(world->a.segments.free_count, 0);
        unsigned arrived = 0, probes = 0;
        for (unsigned i = 0; i < 60; i++) {
            world_run(world, SECOND);
            while (peer_take(&peer)) {
                probes++;
                if (window && peer.last.sequence == peer.acknowledgement) {
                    expect(peer.last.length <= window);
                    memcpy(got + arrived, peer.last.payload, peer.last.length);
                    arrived += peer.last.length;
                    peer.acknowledgement += peer.last.length;
                }
                peer_send(&peer, TCP_ACK, 0, 0);
            }
        }
        expect(probes >= 4);
        expect(arrived >= window);
        peer.window = 65535;
        peer_send(&peer, TCP_ACK, 0, 0);
        peer_read(&peer, got + arrived, queued - arrived);
        assert_memory_equal(got, bytes, queued);
        expect_equal(side_buffers_used(&world->a), 0);
        disconnected(world, &user);
    }
}

/* A window of two bytes in the SYN does not cut what is sent later into crumbs. */
static void tiny_window_at_first_makes_no_tiny_segments(void **state) {
    (void)state;
    static const uint8_t mss[4] = {2, 4, 0x05, 0xb4};
    struct user user = {0};
    struct world *world = world_single(0);
    struct peer peer = peer_at(world, 40000, 80);
    world_introduce(world);
    user_listen(&user, &world->a, 80);
    peer.window = 2;
    peer_send_syn(&peer, TCP_SYN, mss, sizeof mss);
    peer_accept(&peer, TCP_SYN | TCP_ACK);
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(plumb_tcp_send(user.connection, bytes, 20000), 20000);
    expect(WORLD_SEGMENTS - world->a.segments.free_count <= 20000 / 536 + 1);
    peer.window = 65535;
    peer_send(&peer, TCP_ACK, 0, 0);
    static uint8_t got[20000];
    peer_read(&peer, got, sizeof got);
    disconnected(world, &user);
}

/* Payload leaves some of a pool that is the headers', too. */
static void one_pool_for_all_still_answers_arp(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, &(struct world_options){.segment_count = 16});
    struct frame request, *frame;
    world->a.stack->options.headers = &world->a.segments;
    frame_arp(&request, world->a.ethernet, 1, world->b.ethernet, world->b.address,
              world->b.ethernet, world->a.address);
    peer.window = 0;
    peer_send(&peer, TCP_ACK, 0, 0);
    expect(plumb_tcp_send(user.connection, bytes, 60000) > 0);
    expect_equal(plumb_tcp_send(user.connection, bytes, 60000), 0);
    for (unsigned i = 0; i < 20; i++) {
        world_run(world, SECOND);
        while (peer_take(&peer))
            peer_send(&peer, TCP_ACK, 0, 0);
        world_inject(world, &request);
        unsigned answers = 0;
        while ((frame = world_collect_any(world)))
            answers += frame_get16(frame, 12) == 0x0806 && frame_get16(frame, 20) == 2;
        expect_equal(answers, 1);
    }
    disconnected(world, &user);
}

/* Bytes that a closed window keeps back have waited for as long as they have been
 * there, not since the last acknowledgement. */
static void user_timeout_begins_with_queueing(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_USER_TIMEOUT);
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    plumb_tcp_set_option(user.connection, PLUMB_TCP_USER_TIMEOUT, 5000);
    peer.window = 0;
    peer_send(&peer, TCP_ACK, 0, 0);
    for (unsigned i = 0; i < 20; i++) {
        world_run(world, SECOND);
        while (world_collect(world))
            ;
    }
    expect_equal(plumb_tcp_send(user.connection, "hello", 5), 5);
    world_run(world, 1100 * MILLISECOND);
    assert_non_null(user.connection);
    disconnected(world, &user);
}

/* A FIN takes no room: the window it meets closed is closed behind it too. */
static void fin_passes_a_closed_window(void **state) {
    (void)state;
    static uint8_t full[1460];
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    user.keep_unread = true;
    while (user_info(&user).receive_window) {
        uint32_t open = user_info(&user).receive_window;
        peer_send(&peer, TCP_ACK, full, open < sizeof full ? open : sizeof full);
        world_drain(world);
    }
    world_run(world, SECOND);
    world_drain(world);
    peer_send(&peer, TCP_ACK | TCP_FIN, 0, 0);
    expect(peer_take(&peer));
    expect_equal(peer.last.window, 0);
    expect_equal(user_info(&user).receive_window, 0);
    disconnected(world, &user);
}

static struct plumb_tcp *taken;

static void ignore(struct plumb_tcp *connection, unsigned events, void *context) {
    (void)connection;
    (void)events;
    (void)context;
}

static void take_and_ignore(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                            void *context) {
    (void)listener;
    (void)context;
    taken = connection;
    plumb_tcp_set_handler(connection, ignore, 0);
}

/* A share is of buffers, however small they are: a full frame takes 12 of 128 bytes. */
static void idle_users_of_small_buffers_starve_nobody(void **state) {
    (void)state;
    enum { IDLE = 4, LENGTH = 1448 };
    static uint8_t full[LENGTH];
    struct world *world =
        world_single(&(struct world_options){.receive_count = 512, .fragment = 128});
    struct user reader = {0};
    struct peer idle[IDLE], peer = peer_at(world, 41000, 81);
    struct plumb_tcp *connections[IDLE];
    struct plumb_tcp_listener *listener;
    world_introduce(world);
    user_listen(&reader, &world->a, 81);
    peer_connect(&peer);
    expect_equal(
        plumb_tcp_listen(world->a.stack, endpoint_of(0, 80), 8, take_and_ignore, 0, &listener),
        PLUMB_OK);
    for (unsigned i = 0; i < IDLE; i++) {
        idle[i] = peer_at(world, (uint16_t)(40000 + i), 80);
        peer_connect(&idle[i]);
        connections[i] = taken;
    }
    for (unsigned n = 0; n < 44 * IDLE; n++) {
        struct peer *sender = &idle[n % IDLE];
        uint32_t next = connections[n % IDLE]->receive_next;
        peer_send(sender, TCP_ACK, full, LENGTH);
        world_drain(world);
        if (connections[n % IDLE]->receive_next == next)
            sender->sequence -= LENGTH; /* refused: the same again */
    }
    peer_send(&peer, TCP_ACK, full, LENGTH);
    world_drain(world);
    expect_equal(reader.length, LENGTH);
    for (unsigned i = 0; i < IDLE; i++)
        plumb_tcp_abort(connections[i]);
    world_drain(world);
    disconnected(world, &reader);
}

HARNESS_MAIN(cmocka_unit_test(user_timeout_begins_with_queueing),
             cmocka_unit_test(fin_passes_a_closed_window),
             cmocka_unit_test(idle_users_of_small_buffers_starve_nobody),

             cmocka_unit_test(in_order_bytes_arrive),
             cmocka_unit_test(every_order_of_four_segments),
             cmocka_unit_test(overlaps_deliver_once),
             cmocka_unit_test(test_hostile_62_overlap_with_different_bytes),
             cmocka_unit_test(out_of_order_is_acknowledged_at_once),
             cmocka_unit_test(duplicate_is_acknowledged_at_once),
             cmocka_unit_test(acknowledgement_is_delayed),
             cmocka_unit_test(second_full_segment_is_acknowledged),
             cmocka_unit_test(burst_costs_one_acknowledgement),
             cmocka_unit_test(acknowledgement_rides_on_data),
             cmocka_unit_test(receive_window_closes_and_opens), cmocka_unit_test(peek_and_consume),
             POSTED cmocka_unit_test(test_hostile_63_fin_out_of_order_and_again),
             cmocka_unit_test(test_hostile_63_fin_before_what_waits),
             cmocka_unit_test(test_hostile_61_receive_across_the_wrap),
             cmocka_unit_test(small_and_large_sends_arrive),
             cmocka_unit_test(test_hostile_61_send_across_the_wrap),
             cmocka_unit_test(nagle_holds_small_segments),
             cmocka_unit_test(nagle_lets_full_segments_go), cmocka_unit_test(time_out_backs_off),
             cmocka_unit_test(sent_again_while_still_in_the_ring),
             cmocka_unit_test(round_trip_sets_the_time_out),
             cmocka_unit_test(a_retransmitted_segment_is_not_timed),
             cmocka_unit_test(a_fast_retransmitted_segment_is_not_timed),
             cmocka_unit_test(fast_retransmit_and_partial_acknowledgements),
             cmocka_unit_test(only_true_duplicates_count),
             cmocka_unit_test(test_hostile_59_peer_window_that_shrinks),
             cmocka_unit_test(tiny_window_is_not_filled_at_once),
             cmocka_unit_test(test_hostile_58_closed_window_is_probed_for_ever),
             cmocka_unit_test(unanswered_probes_end_the_connection),
             cmocka_unit_test(keepalive_finds_the_dead), cmocka_unit_test(user_timeout),
             cmocka_unit_test(what_is_left_out_is_refused),
             cmocka_unit_test(reference_is_released_when_acknowledged),
             cmocka_unit_test(reference_is_released_at_every_end),
             cmocka_unit_test(reference_is_refused_whole),
             cmocka_unit_test(full_send_buffer_and_writable),
             cmocka_unit_test(last_bytes_after_a_long_silence_are_sent_again),
             cmocka_unit_test(user_timeout_begins_with_sending),
             cmocka_unit_test(fast_retransmit_after_two_gigabytes),
             cmocka_unit_test(window_offered_is_taken_to_its_edge),
             cmocka_unit_test(one_who_does_not_read_starves_nobody),
             cmocka_unit_test(small_windows_pass_a_queue_that_emptied_the_pool),
             cmocka_unit_test(tiny_window_at_first_makes_no_tiny_segments),
             cmocka_unit_test(one_pool_for_all_still_answers_arp),
             cmocka_unit_test(reference_is_acknowledged_in_the_midst),
             cmocka_unit_test(reference_partly_sent_is_released_by_an_abort),
             cmocka_unit_test(release_may_send_more),
             cmocka_unit_test(release_that_always_sends_keeps_no_poll))
