/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Bursts of full segments against one segment at a time, to the bit and over wires with
 * faults; what a burst's prepared headers must follow; and acknowledgements that come in
 * batches against the same ones by themselves.
 */
#include <string.h>

#include <plumb_config.h>

#include "peer.h"
#include "tcp/tcp.h"

enum { MSS = 1460, TOTAL = 400000, LENT = 20 * MSS };

static uint8_t bytes[64 * MSS];

/* See CMakeLists.txt. */
bool __real_pl_tcp_send_burst(struct plumb_tcp *connection);
bool __wrap_pl_tcp_send_burst(struct plumb_tcp *connection);

void __real_pl_tcp_agree_on_timestamps(struct plumb_tcp *connection, const struct pl_segment *syn);
void __wrap_pl_tcp_agree_on_timestamps(struct plumb_tcp *connection, const struct pl_segment *syn);

static bool one_by_one, stamped;
static uint32_t in_bursts;

bool __wrap_pl_tcp_send_burst(struct plumb_tcp *connection) {
    uint32_t before = connection->segments_out;
    bool goes_on = one_by_one || __real_pl_tcp_send_burst(connection);

    in_bursts += connection->segments_out - before;
    return goes_on;
}

void __wrap_pl_tcp_agree_on_timestamps(struct plumb_tcp *connection, const struct pl_segment *syn) {
    if (stamped)
        __real_pl_tcp_agree_on_timestamps(connection, syn);
}

static void fill(uint32_t seed) {
    for (uint32_t i = 0; i < sizeof bytes; i++)
        bytes[i] = pattern_at(seed, i);
}

/* ---- the same frames, at the same times ---- */

struct run {
    bool lends;
    struct plumb_tcp *sender, *receiver;
    struct plumb_reference lent[4];
    uint32_t sent, received;
    bool closed;
    uint64_t hash; /* of every frame that either side sent, and when */
    uint32_t frames, bursts;
};

static void note(struct run *run, const uint8_t *from, unsigned length) {
    for (unsigned i = 0; i < length; i++)
        run->hash = (run->hash ^ from[i]) * 0x100000001b3;
}

static void observe(struct plumb_netif *netif, const struct plumb_packet *packet, bool sent,
                    void *context) {
    struct run *run = context;
    uint64_t now_us = plumb_now_us(netif->stack);
    uint8_t frame[FRAME_LONGEST];

    if (!sent)
        return;
    note(run, (const uint8_t *)&now_us, sizeof now_us);
    note(run, frame, (unsigned)plumb_packet_copy_out(packet, 0, frame, sizeof frame));
    run->frames++;
}

static void push(struct run *run);

static void give_back(struct plumb_reference *reference) {
    struct run *run = reference->context;

    reference->context = 0;
    push(run);
}

/* How many bytes went: any number of those copied, all or none of those lent. */
static uint32_t send_some(struct run *run, uint32_t length) {
    if (!run->lends) {
        int taken = plumb_tcp_send(run->sender, bytes, length);
        return taken > 0 ? (uint32_t)taken : 0;
    }
    for (unsigned i = 0; i < 4; i++) {
        struct plumb_reference *reference = &run->lent[i];
        if (reference->context)
            continue;
        *reference = (struct plumb_reference){
            .memory = bytes, .length = length, .release = give_back, .context = run};
        if (plumb_tcp_send_reference(run->sender, reference) == PLUMB_OK)
            return length;
        reference->context = 0;
    }
    return 0;
}

/* From the beginning of `bytes` each time, so that what arrives is known. */
static void push(struct run *run) {
    while (run->sender && run->sent < TOTAL) {
        const uint32_t lent = LENT - (stamped ? 20 * 12 : 0);
        uint32_t left = TOTAL - run->sent, length = left < lent ? left : lent;
        uint32_t taken = send_some(run, length);
        if (!taken)
            return;
        run->sent += taken;
    }
    if (run->sender && run->sent == TOTAL)
        plumb_tcp_shutdown(run->sender);
}

static void on_send(struct plumb_tcp *connection, unsigned events, void *context) {
    struct run *run = context;

    run->sender = connection;
    if (events & PLUMB_TCP_CLOSED)
        run->sender = 0;
    else if (events & (PLUMB_TCP_CONNECTED | PLUMB_TCP_WRITABLE))
        push(run);
}

static void on_receive(struct plumb_tcp *connection, unsigned events, void *context) {
    struct run *run = context;

    run->received += (uint32_t)plumb_tcp_readable(connection);
    plumb_tcp_consume(connection, plumb_tcp_readable(connection));
    if (events & PLUMB_TCP_PEER_CLOSED)
        plumb_tcp_close(connection);
    run->closed |= (events & (PLUMB_TCP_PEER_CLOSED | PLUMB_TCP_CLOSED)) != 0;
}

static void on_accept(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                      void *context) {
    (void)listener;
    plumb_tcp_set_handler(connection, on_receive, context);
}

static bool is_over(void *context) {
    const struct run *run = context;

    return run->closed;
}

static struct run transfer(const struct world_options *options, bool lends, bool single) {
    struct world *world = world_pair(options);
    struct run run = {.lends = lends};
    struct plumb_tcp_listener *listener;
    struct plumb_tcp *connection;

    one_by_one = single;
    in_bursts = 0;
    plumb_netif_observe(world->a.netif, observe, &run);
    plumb_netif_observe(world->b.netif, observe, &run);
    expect_equal(
        plumb_tcp_listen(world->b.stack, endpoint_of(0, 80), 1, on_accept, &run, &listener),
        PLUMB_OK);
    expect_equal(plumb_tcp_connect(world->a.stack, endpoint_of(world->b.address, 80), 4000, on_send,
                                   &run, &connection),
                 PLUMB_OK);
    if (!world_run_until(world, is_over, &run, 3000 * SECOND))
        fail_msg("seed %llu: %u sent, %u received", (unsigned long long)options->seed, run.sent,
                 run.received);
    world_run(world, 300 * SECOND);
    run.bursts = in_bursts;
    expect_equal(run.received, TOTAL);
    world_end(world);
    one_by_one = false;
    return run;
}

static void expect_the_same(const struct world_options *options, bool lends) {
    struct run fast = transfer(options, lends, false), slow = transfer(options, lends, true);

    expect_equal(slow.bursts, 0);
    expect(fast.bursts > TOTAL / MSS / 2);
    expect_equal(fast.frames, slow.frames);
    expect_equal(fast.hash, slow.hash);
}

static void expect_single_segments_to_the_bit(void) {
    fill(1);
    for (unsigned capable = 0; capable < 2; capable++)
        for (uint64_t seed = 1; seed <= 6; seed++) {
            const struct world_options options = {
                .seed = seed,
                .capabilities = capable ? PLUMB_CAPABILITY_TX_CHECKSUM : 0,
                .faults = {.loss = seed > 2 ? 200 : 0,
                           .reordering = seed > 4 ? 300 : 0,
                           .duplication = seed > 4 ? 100 : 0,
                           .delay_us = 500},
            };
            expect_the_same(&options, false);
            expect_the_same(&options, true);
        }
}

static void bursts_are_single_segments_to_the_bit(void **state) {
    (void)state;
    expect_single_segments_to_the_bit();
}

static void bursts_with_timestamps_are_single_segments_to_the_bit(void **state) {
    (void)state;
    stamped = true;
    expect_single_segments_to_the_bit();
    stamped = false;
}

/* ---- what the prepared headers follow ---- */

static const uint8_t elsewhere[6] = {2, 0, 0, 0, 0, 0x77};

/* Sends four segments in a burst, and has all of them go to this hardware address. */
static void expect_burst_to(struct peer *peer, struct user *user, const uint8_t hardware[6]) {
    struct world *world = peer->world;
    uint32_t before;

    before = in_bursts;
    expect_equal(plumb_tcp_send(user->connection, bytes, 4 * MSS), 4 * MSS);
    world_settle(world);
    expect_equal(in_bursts - before, 4);
    for (unsigned i = 0; i < 4; i++) {
        struct frame *frame = world_collect_any(world);
        assert_non_null(frame);
        assert_memory_equal(frame->bytes, hardware, 6);
        assert_memory_equal(frame->bytes + 6, world->a.ethernet, 6);
        expect_equal(frame_get32(frame, 30), peer->path.from);
        expect_equal(frame_get32(frame, frame->transport + 4U), peer->acknowledgement);
        /* The last one is pushed. */
        expect_equal(frame->bytes[frame->transport + 13U], i < 3 ? TCP_ACK : TCP_ACK | TCP_PSH);
        peer->acknowledgement += MSS;
    }
    peer_send(peer, TCP_ACK, 0, 0);
    world_drain(world);
}

static void introduce(struct world *world, const uint8_t hardware[6]) {
    struct frame frame;

    frame_arp(&frame, world->a.ethernet, 1, hardware, world->b.address, world->a.ethernet,
              world->a.address);
    world_inject(world, &frame);
    world_drain(world);
}

static void set_address(struct world *world, uint32_t gateway) {
    expect_equal(plumb_netif_set_ipv4(world->a.netif, ipv4_of(world->a.address),
                                      ipv4_of(0xffffff00U), ipv4_of(gateway)),
                 PLUMB_OK);
}

static void a_neighbour_that_moved_is_followed(void **state) {
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);

    (void)state;
    expect_burst_to(&peer, &user, world->b.ethernet);
    /* Everything known of the link is forgotten, and somebody else has the address. */
    set_address(world, 0);
    world_drain(world);
    introduce(world, elsewhere);
    memcpy(peer.path.from_ethernet, elsewhere, 6);
    expect_burst_to(&peer, &user, elsewhere);
    disconnected(world, &user);
}

/* Nothing is sent to a neighbour that is not known, and all of it once it is. */
static void an_unknown_neighbour_is_waited_for(void **state) {
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    unsigned to_it = 0;

    (void)state;
    set_address(world, 0);
    world_drain(world);
    expect_equal(plumb_tcp_send(user.connection, bytes, 4 * MSS), 4 * MSS);
    world_run(world, 20 * MILLISECOND);
    for (struct frame *frame; (frame = world_collect_any(world));)
        expect(frame_get16(frame, 12) == 0x0806);
    introduce(world, elsewhere);
    world_run(world, 20 * MILLISECOND);
    for (struct frame *frame; (frame = world_collect_any(world));)
        to_it += frame_get16(frame, 12) == 0x0800 && !memcmp(frame->bytes, elsewhere, 6);
    expect_equal(to_it, 4);
    disconnected(world, &user);
}

static void a_new_gateway_is_followed(void **state) {
    const uint32_t second = FRAME_IPV4(10, 0, 0, 77);
    struct user user = {0};
    struct frame answer;
    struct world *world = world_single(0);

    (void)state;
    set_address(world, world->b.address);
    world_introduce(world);
    user_listen(&user, &world->a, 80);
    struct peer peer = peer_at(world, 40000, 80);
    peer.path.from = FRAME_IPV4(8, 8, 8, 8);
    peer_connect(&peer);
    expect_burst_to(&peer, &user, world->b.ethernet);
    set_address(world, second);
    frame_arp(&answer, world->a.ethernet, 2, elsewhere, second, world->a.ethernet,
              world->a.address);
    world_inject(world, &answer);
    world_drain(world);
    memcpy(peer.path.from_ethernet, elsewhere, 6);
    expect_burst_to(&peer, &user, elsewhere);
    user_end(&user);
    world_settle(world);
    world_end(world);
}

/* The acknowledgement and the window in a burst are those of the moment. */
static void a_burst_acknowledges_what_came(void **state) {
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        peer_send(&peer, TCP_ACK, "news", 4);
        world_drain(world);
        expect_equal(plumb_tcp_send(user.connection, bytes, 2 * MSS), 2 * MSS);
        world_settle(world);
        for (unsigned k = 0; k < 2; k++)
            expect_equal(peer_accept(&peer, TCP_ACK)->acknowledgement, peer.sequence);
        expect_equal(user.connection->receive_acked, user.connection->receive_next);
    }
    disconnected(world, &user);
}

/* ---- sums of what is lent ---- */

static void on_release(struct plumb_reference *reference) {
    (void)reference;
}

/* Nobody looks at lent payload before it is sent, nor ever where a device sums; and who
 * sends it again takes the sum that there is. */
static void lent_payload_is_summed_once(void **state) {
    (void)state;
    fill(2);
    for (unsigned capable = 0; capable < 2; capable++) {
        struct plumb_reference lent = {.memory = bytes, .length = 30 * MSS, .release = on_release};
        struct world_options options = {.capabilities = capable ? PLUMB_CAPABILITY_TX_CHECKSUM : 0};
        struct user user = {0};
        struct peer peer;
        struct world *world = connected(&user, &peer, &options);

        peer.window = 20000;
        peer_send(&peer, TCP_ACK, 0, 0);
        expect_equal(plumb_tcp_send_reference(user.connection, &lent), PLUMB_OK);
        world_settle(world);
        unsigned out = 0, summed = 0, next = 0;
        for (struct plumb_packet *s = user.connection->send_first; s; s = s->next) {
            bool is_out = !next && s != user.connection->send_unsent;
            next |= !is_out;
            out += is_out;
            summed += (s->flags & PLUMB_PACKET_SUMMED) != 0;
            expect(is_out || !(s->flags & PLUMB_PACKET_SUMMED));
        }
        expect(out >= 4);
        expect_equal(summed, capable ? 0 : out);
        world_drain(world);
        /* A wrong sum that is kept makes a frame with a wrong checksum: it was not taken anew. */
        if (!capable) {
            struct frame frame = {0};
            struct plumb_packet *first = user.connection->send_first;
            first->sum ^= 1;
            world_run(world, 1500 * MILLISECOND);
            frame.length = plumb_wire_collect(&world->wire.end[1], world->now_us, frame.bytes);
            frame.network = FRAME_NETWORK;
            frame.transport = FRAME_TRANSPORT;
            expect(frame.length > FRAME_TCP_PAYLOAD);
            expect(!frame_checksums_good(&frame));
            first->sum ^= 1;
        }
        disconnected(world, &user);
    }
}

/* With so few packets for headers: what is counted and left to be done afterwards. */
static struct counters sent_with(unsigned headers, bool single, struct plumb_tcp *left) {
    static struct plumb_packet *taken[WORLD_HEADERS];
    struct plumb_reference lent = {.memory = bytes, .length = 4 * MSS, .release = on_release};
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    unsigned count = 0;

    while (world->a.headers.free_count > headers)
        taken[count++] = plumb_packet_take(&world->a.headers, 0);
    one_by_one = single;
    expect_equal(plumb_tcp_send_reference(user.connection, &lent), PLUMB_OK);
    one_by_one = false;
    struct counters counters = counters_now(&world->a);
    *left = *user.connection;
    while (count)
        plumb_packet_put(taken[--count]);
    disconnected(world, &user);
    return counters;
}

static void few_packets_for_headers(void **state) {
    (void)state;
    for (unsigned headers = 0; headers <= 4; headers++) {
        struct plumb_tcp fast, slow;
        struct counters burst = sent_with(headers, false, &fast);
        struct counters single = sent_with(headers, true, &slow);
        assert_memory_equal(&burst, &single, sizeof burst);
        expect_equal(fast.flags, slow.flags);
        expect_equal(fast.segments_out, headers);
        expect_equal(fast.segments_out, slow.segments_out);
        expect_equal(fast.acks_out, slow.acks_out);
        expect_equal(fast.deadlines, slow.deadlines);
        expect_equal(fast.deadline_ms[pl_tcp_deadline_time(PL_TCP_RETRY)],
                     slow.deadline_ms[pl_tcp_deadline_time(PL_TCP_RETRY)]);
    }
}

/* ---- acknowledgements in batches ---- */

static void arrive(struct peer *peer, uint32_t acknowledgement, unsigned flags, const void *payload,
                   unsigned length) {
    struct frame frame;

    frame_tcp(&frame, &peer->path, peer->sequence, acknowledgement, flags, peer->window, 0, 0,
              payload, length);
    peer->sequence += length;
    expect_equal(plumb_wire_inject(peer->world->a.end, frame.bytes, frame.length), PLUMB_OK);
}

static void acknowledge(struct peer *peer, uint32_t number) {
    arrive(peer, number, TCP_ACK, 0, 0);
}

/* Sends so many segments, and returns where they begin. */
static uint32_t send_segments(struct peer *peer, struct user *user, unsigned count) {
    uint32_t base = user->connection->send_next;

    expect_equal(plumb_tcp_send(user->connection, bytes, count * MSS), count * MSS);
    world_settle(peer->world);
    world_drain(peer->world);
    return base;
}

/* Ten segments, acknowledged by two, in one batch or one at a time, while more wait, so that
 * the window is made use of. */
static struct plumb_tcp_info acknowledged(bool in_a_batch, uint32_t threshold) {
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    uint32_t base = send_segments(&peer, &user, 40);

    /* CUBIC rounds each step. */
    expect_equal(plumb_tcp_set_option(user.connection, PLUMB_TCP_CONGESTION, PLUMB_TCP_RENO), 0);
    if (threshold) {
        user.connection->slow_start_threshold = threshold;
        user.connection->congestion_acked = 0;
    }
    for (unsigned i = 1; i <= 5; i++) {
        acknowledge(&peer, base + i * 2 * MSS);
        if (!in_a_batch)
            world_settle(world);
    }
    world_settle(world);
    expect_equal(user.connection->send_queued, 30 * MSS);
    expect_equal(user.connection->send_unacked, base + 10 * MSS);
    expect_equal(side_buffers_used(&world->a), 30);
    struct plumb_tcp_info info = user_info(&user);
    disconnected(world, &user);
    return info;
}

static void a_batch_grows_the_window_as_its_parts(void **state) {
    /* Nowhere near, in the midst of the batch at an acknowledgement's end, and at its end. */
    static const uint32_t thresholds[] = {0, 14600 + 4 * MSS, 14600 + 10 * MSS, 14600};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct plumb_tcp_info all = acknowledged(true, thresholds[i]);
        struct plumb_tcp_info each = acknowledged(false, thresholds[i]);
        expect_equal(all.congestion_window, each.congestion_window);
        expect_equal(all.srtt_us, each.srtt_us);
        expect_equal(all.rto_ms, each.rto_ms);
    }
}

/* Duplicates behind what is only noted count from there. */
static void duplicates_behind_a_batch_count(void **state) {
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    uint32_t base = send_segments(&peer, &user, 8);
    struct counters before = counters_now(&world->a);

    (void)state;
    for (unsigned i = 1; i <= 3; i++)
        acknowledge(&peer, base + i * MSS);
    for (unsigned i = 0; i < 3; i++)
        acknowledge(&peer, base + 3 * MSS);
    world_settle(world);
    expect_equal(counters_moved(&world->a, &before, "tcp_fast_retransmit"), 1);
    expect_equal(user.connection->send_unacked, base + 3 * MSS);
    expect_equal(peer_expect(&peer, TCP_ACK)->sequence, base + 3 * MSS);
    disconnected(world, &user);
}

/* Old ones, and those for what was never sent, are told from new ones by the noted ones. */
static void a_batch_takes_no_step_back(void **state) {
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    uint32_t base = send_segments(&peer, &user, 6);
    struct counters before = counters_now(&world->a);

    (void)state;
    acknowledge(&peer, base + 4 * MSS);
    acknowledge(&peer, base + 2 * MSS);
    world_settle(world);
    expect_equal(user.connection->send_unacked, base + 4 * MSS);
    expect_equal(user.connection->send_queued, 2 * MSS);
    expect_equal(counters_drops(&world->a, &before), 0);
    acknowledge(&peer, base + 5 * MSS);
    acknowledge(&peer, base + 7 * MSS);
    world_settle(world);
    counters_expect_drop(&world->a, &before, "tcp_acknowledgement", 1);
    expect_equal(user.connection->send_unacked, base + 5 * MSS);
    disconnected(world, &user);
}

/* What is not a plain acknowledgement finds all before it done: data, a part of a segment, a
 * reset. */
static void a_batch_is_done_before_anything_else(void **state) {
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    uint32_t base = send_segments(&peer, &user, 6);

    (void)state;
    acknowledge(&peer, base + MSS);
    acknowledge(&peer, base + 2 * MSS + 100);
    arrive(&peer, base + 2 * MSS + 100, TCP_ACK, "data", 4);
    world_settle(world);
    expect_equal(user.length, 4);
    expect_equal(user.connection->send_unacked, base + 2 * MSS + 100);
    expect_equal(user.connection->send_first->sequence, base + 2 * MSS + 100);
    expect_equal(user.connection->send_queued, 4 * MSS - 100);
    world_drain(world);
    acknowledge(&peer, base + 4 * MSS);
    arrive(&peer, 0, TCP_RST, 0, 0);
    world_settle(world);
    expect_equal(user.error, PLUMB_ERROR_RESET);
    expect_equal(side_buffers_used(&world->a), 0);
    disconnected(world, &user);
}

/* A window that changes goes with the acknowledgement that brought it. */
static void a_batch_ends_at_another_window(void **state) {
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    uint32_t base = send_segments(&peer, &user, 6);

    (void)state;
    acknowledge(&peer, base + MSS);
    peer.window = 3 * MSS;
    acknowledge(&peer, base + 2 * MSS);
    acknowledge(&peer, base + 3 * MSS);
    world_settle(world);
    expect_equal(user.connection->send_window, 3 * MSS);
    expect_equal(user.connection->send_unacked, base + 3 * MSS);
    disconnected(world, &user);
}

/* After a time-out what was sent is sent again, unless it is acknowledged meanwhile. */
static void a_late_batch_spares_sending_again(void **state) {
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    uint32_t base = send_segments(&peer, &user, 6);

    (void)state;
    world_run(world, 300 * MILLISECOND);
    expect(user.connection->retransmitted >= 1);
    expect(user.connection->send_next != user.connection->send_most);
    world_drain(world);
    acknowledge(&peer, base + 3 * MSS);
    acknowledge(&peer, base + 5 * MSS);
    world_settle(world);
    expect_equal(peer_expect(&peer, TCP_ACK)->sequence, base + 5 * MSS);
    peer_expect_nothing(&peer);
    peer.acknowledgement = base + 6 * MSS;
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(side_buffers_used(&world->a), 0);
    disconnected(world, &user);
}

HARNESS_MAIN(cmocka_unit_test(bursts_are_single_segments_to_the_bit),
             cmocka_unit_test(bursts_with_timestamps_are_single_segments_to_the_bit),
             cmocka_unit_test(a_neighbour_that_moved_is_followed),
             cmocka_unit_test(an_unknown_neighbour_is_waited_for),
             cmocka_unit_test(a_new_gateway_is_followed),
             cmocka_unit_test(a_burst_acknowledges_what_came),
             cmocka_unit_test(lent_payload_is_summed_once),
             cmocka_unit_test(few_packets_for_headers),
             cmocka_unit_test(a_batch_grows_the_window_as_its_parts),
             cmocka_unit_test(duplicates_behind_a_batch_count),
             cmocka_unit_test(a_batch_takes_no_step_back),
             cmocka_unit_test(a_batch_is_done_before_anything_else),
             cmocka_unit_test(a_batch_ends_at_another_window),
             cmocka_unit_test(a_late_batch_spares_sending_again))
