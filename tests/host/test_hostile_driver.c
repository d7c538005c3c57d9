/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What devices, pools and links do to a driver: rows 65 to 68 of docs/hostile.md.
 *
 * A stack over the GEM driver, on the model of its device, and another over the wire, with
 * a transfer each way between them. Whatever is done to the driver meanwhile, both
 * transfers go on, byte by byte, and in the end each buffer is at home.
 */
#include <stdlib.h>
#include <string.h>

#include "gem_rig.h"
#include "peer.h"

enum { RING = 16, SMALL_RING = 32, BUFFERS = 60, SEGMENTS = 60, FULL = 1536, SMALL = 128 };
enum { STEPS_MOST = 60000, PIECE = 4000, PORT = 80, UDP_PORT = 7 };

struct transfer {
    struct user *from, *to;
    uint32_t seed, sent;
};

static PLUMB_STACK_MEMORY(stack_memory);
static struct plumb_packet segment_packets[SEGMENTS];
static struct plumb_pool segments;
static struct side here;    /* the stack over the driver */
static struct world *world; /* the other one */
static unsigned passed_on;  /* of what the device sent */
static bool busy;           /* the stack over the driver is not polled */
static struct plumb_udp *datagrams;
static unsigned datagrams_taken;
static struct user server, client;
static struct transfer in, out;

/* ---- between the two ---- */

/* Frames go to and fro, as long as there is a link. */
static void cross(struct world *other, void *context) {
    struct frame *frame;
    (void)context;
    if (!busy)
        plumb_poll(here.stack, other->now_us);
    while ((frame = world_collect_any(other)))
        if (!model.no_link)
            model_receive(frame->bytes, frame->length);
    if (!busy)
        plumb_poll(here.stack, other->now_us);
    for (; passed_on < model.sent_count; passed_on++) {
        unsigned index = passed_on % MODEL_SENT;
        if (!model.no_link)
            expect_equal(
                plumb_wire_inject(other->a.end, model.sent[index], model.sent_length[index]),
                PLUMB_OK);
    }
}

static void on_datagram(struct plumb_udp *socket, struct plumb_packet *payload,
                        const struct plumb_udp_source *source, void *context) {
    (void)socket;
    (void)payload;
    (void)source;
    (void)context;
    datagrams_taken++;
}

static void attach(uint16_t buffer) {
    prepare_rig(buffer == SMALL ? SMALL_RING : RING, BUFFERS, buffer);
    expect_equal(plumb_pool_create(&segments, segment_packets, model_arena + 128 * 1024, SEGMENTS,
                                   FULL, &model.shadow.dma),
                 PLUMB_OK);
    config.address = plumb_ethernet_address(world->b.ethernet);
    expect_equal(plumb_gem_create(&gem, &config), PLUMB_OK);
    struct plumb_options options = {.seed = {1, 2}, .segments = &segments, .headers = &segments};
    expect_equal(plumb_create(&here.stack, stack_memory, sizeof stack_memory, &options), PLUMB_OK);
    plumb_poll(here.stack, world->now_us);
    expect_equal(plumb_netif_attach(here.stack, &gem.netif), PLUMB_OK);
    expect_equal(plumb_netif_set_ipv4(&gem.netif, ipv4_of(world->b.address), ipv4_of(0xffffff00U),
                                      PLUMB_IPV4_ANY),
                 PLUMB_OK);
}

static void begin(uint16_t buffer) {
    struct plumb_udp *taker;
    world = world_single(0);
    attach(buffer);
    passed_on = datagrams_taken = 0;
    busy = false;
    world->turn = cross;
    expect_equal(plumb_udp_open(here.stack, endpoint_of(0, UDP_PORT), on_datagram, 0, &taker),
                 PLUMB_OK);
    expect_equal(plumb_udp_open(world->a.stack, endpoint_of(0, 0), on_datagram, 0, &datagrams),
                 PLUMB_OK);
    user_listen(&server, &here, PORT);
    user_connect(&client, &world->a, world->b.address, PORT);
    world_run(world, 10 * MILLISECOND);
    assert_non_null(server.connection);
    in = (struct transfer){&client, &server, 1, 0};
    out = (struct transfer){&server, &client, 2, 0};
}

static void end(void) {
    user_end(&client);
    user_end(&server);
    world_run(world, SECOND);
    world_end(world);
    plumb_destroy(here.stack);
    expect_equal(rx_pool.free_count, rx_pool.count);
    expect_equal(segments.free_count, segments.count);
}

/* ---- transfers ---- */

static void push(struct transfer *transfer, uint32_t until) {
    uint8_t bytes_out[500];
    while (transfer->sent < until) {
        unsigned length = until - transfer->sent;
        if (length > sizeof bytes_out)
            length = sizeof bytes_out;
        for (unsigned i = 0; i < length; i++)
            bytes_out[i] = pattern_at(transfer->seed, transfer->sent + i);
        assert_non_null(transfer->from->connection);
        int taken = plumb_tcp_send(transfer->from->connection, bytes_out, length);
        if (taken <= 0)
            return;
        transfer->sent += (uint32_t)taken;
    }
}

static void step(uint32_t until) {
    push(&in, until);
    if (!busy)
        push(&out, until);
    world_run(world, MILLISECOND);
}

/* So many bytes more go each way, and all are right. */
static void expect_transfers(unsigned more) {
    uint32_t until = in.sent > out.sent ? in.sent + more : out.sent + more;
    for (unsigned steps = 0; server.length < until || client.length < until; steps++) {
        if (steps > STEPS_MOST)
            fail_msg("after %u ms %u of %u bytes came in, %u went out", steps,
                     (unsigned)server.length, until, (unsigned)client.length);
        step(until);
    }
    for (uint32_t i = until - more; i < until; i++)
        if (server.bytes[i] != pattern_at(1, i) || client.bytes[i] != pattern_at(2, i))
            fail_msg("byte %u is wrong", i);
}

/* ---- descriptors that no device should write ---- */

static void expect_one(enum plumb_netif_counter which, const uint32_t *controls, unsigned count) {
    uint32_t before[PLUMB_NETIF_COUNTER_COUNT];
    memcpy(before, gem.netif.counters, sizeof before);
    for (unsigned i = 0; i < count; i++)
        expect(model_write_descriptor(controls[i]));
    plumb_poll(here.stack, world->now_us);
    for (unsigned i = 0; i < PLUMB_NETIF_COUNTER_COUNT; i++)
        expect_equal(gem.netif.counters[i], before[i] + (i == which));
    expect_transfers(PIECE);
}

#define EXPECT_ONE(counter, ...)                                                                   \
    do {                                                                                           \
        const uint32_t controls_[] = {__VA_ARGS__};                                                \
        expect_one(PLUMB_NETIF_##counter, controls_, sizeof controls_ / sizeof *controls_);        \
    } while (0)

static void test_hostile_65_descriptors_that_make_no_frame(void **state) {
    (void)state;
    const uint32_t s = RX_START, e = RX_END;
    begin(FULL);
    expect_transfers(PIECE);
    for (unsigned round = 0; round < RING; round++) { /* so that the ring's end is met */
        EXPECT_ONE(rx_orphan, e | 100);
        EXPECT_ONE(rx_orphan, 0, 0, e | 300);
        EXPECT_ONE(rx_error, s | e);
        EXPECT_ONE(rx_too_long, s | e | 1519);
        EXPECT_ONE(rx_too_long, s | e | 8191);
        EXPECT_ONE(rx_too_long, s, 0, e | 4000);
    }
    end();
    begin(SMALL);
    expect_transfers(PIECE);
    for (unsigned round = 0; round < 3; round++) {
        EXPECT_ONE(rx_orphan, e | 100);
        EXPECT_ONE(rx_orphan, 0, 0, e | 300);
        EXPECT_ONE(rx_error, s | e);
        EXPECT_ONE(rx_error, s | e | 1000);
        EXPECT_ONE(rx_error, s, e | 100);
        EXPECT_ONE(rx_error, s, e | 1000);
        EXPECT_ONE(rx_too_long, s | e | 1519);
    }
    end();
}

/* A start without an end shows when the next frame starts; that one is taken. */
static void test_hostile_65_start_without_end(void **state) {
    (void)state;
    begin(SMALL);
    for (unsigned parts = 1; parts < 10; parts++) {
        uint32_t before = counter(PLUMB_NETIF_rx_orphan), frames = counter(PLUMB_NETIF_rx_frames);
        expect_transfers(PIECE);
        expect_equal(counter(PLUMB_NETIF_rx_orphan), before);
        for (unsigned i = 0; i < parts; i++)
            expect(model_write_descriptor(i ? 0 : RX_START));
        plumb_poll(here.stack, world->now_us);
        expect_equal(counter(PLUMB_NETIF_rx_orphan), before);
        expect_transfers(PIECE);
        expect_equal(counter(PLUMB_NETIF_rx_orphan), before + 1);
        expect(counter(PLUMB_NETIF_rx_frames) > frames);
    }
    expect(model_write_descriptor(RX_START)); /* and ended in the middle of one */
    end();
}

/* ---- buffers ---- */

/* All but `left` of the receive pool are away for some time, and come home in any order. */
static void starve(unsigned left) {
    struct plumb_packet *taken[BUFFERS];
    unsigned count = 0;
    while (rx_pool.free_count > left)
        taken[count++] = plumb_packet_take(&rx_pool, 0);
    for (unsigned i = 0; i < 20; i++)
        step(in.sent + 2 * PIECE);
    while (count) {
        unsigned which = (unsigned)rand() % count;
        plumb_packet_put(taken[which]);
        taken[which] = taken[--count];
    }
    expect_transfers(PIECE);
}

static void test_hostile_66_pool_empty_at_every_position(void **state) {
    (void)state;
    srand(1);
    for (unsigned small = 0; small < 2; small++) {
        begin(small ? SMALL : FULL);
        unsigned most = small ? SMALL_RING : RING;
        for (unsigned left = 0; left < most; left++) {
            expect_transfers(PIECE);
            uint32_t before = counter(PLUMB_NETIF_rx_no_buffer);
            starve(left);
            expect(left || counter(PLUMB_NETIF_rx_no_buffer) > before);
        }
        expect(counter(PLUMB_NETIF_rx_no_buffer) >= 1);
        end();
    }
}

/* ---- used-bit-read ---- */

static void send_datagrams(unsigned count) {
    for (unsigned i = 0; i < count; i++)
        expect_equal(plumb_udp_send(datagrams, endpoint_of(world->b.address, UDP_PORT), "x", 1),
                     PLUMB_OK);
    world_run(world, 0);
}

/* The device stands still in the middle of a burst; the driver has it going again, and in
 * the middle of what is left it does so a second time. */
static void test_hostile_67_used_bit_read_twice_in_a_burst(void **state) {
    (void)state;
    for (unsigned like_qemu = 0; like_qemu < 2; like_qemu++) {
        begin(FULL);
        model.stuck_until_off = !like_qemu;
        model.forget_place = like_qemu;
        expect_transfers(PIECE);
        send_datagrams(1); /* neighbours have met */
        for (unsigned round = 0; round < 2 * RING; round++) {
            uint32_t overruns = counter(PLUMB_NETIF_rx_overrun);
            unsigned taken = datagrams_taken;
            for (unsigned times = 0; times < 2; times++) {
                busy = true;
                send_datagrams(RING + 5);
                expect(model.stuck);
                busy = false;
                world_run(world, 0);
            }
            expect_equal(datagrams_taken, taken + 2 * RING);
            expect_equal(counter(PLUMB_NETIF_rx_overrun), overruns + 2);
            expect(!model.stuck);
            send_datagrams(1 + round % RING); /* the next time at another place */
            expect_equal(datagrams_taken, taken + 2 * RING + 1 + round % RING);
            expect_transfers(PIECE);
        }
        end();
    }
}

/* ---- the link ---- */

static void test_hostile_68_link_down_in_the_middle_of_a_transfer(void **state) {
    (void)state;
    begin(FULL);
    for (unsigned round = 1; round < 6; round++) {
        expect_transfers(PIECE);
        for (unsigned i = 0; i < round; i++)
            step(in.sent + 2 * PIECE);
        model.no_link = true;
        for (unsigned ms = 0; ms < 1000 * round; ms++)
            step(in.sent + 2 * PIECE);
        expect(round < 3 || !gem.netif.link_up);
        model.no_link = false;
        model.phy[10] = round % 2 ? 0 : 1 << 11; /* 100 or 1000 Mbit/s */
        expect_transfers(20 * PIECE);
        world_run(world, 2 * SECOND);
        expect(gem.netif.link_up);
    }
    expect(counter(PLUMB_NETIF_link_down) >= 3);
    expect_equal(counter(PLUMB_NETIF_link_up), counter(PLUMB_NETIF_link_down) + 1);
    end();
}

HARNESS_MAIN(cmocka_unit_test(test_hostile_65_descriptors_that_make_no_frame),
             cmocka_unit_test(test_hostile_65_start_without_end),
             cmocka_unit_test(test_hostile_66_pool_empty_at_every_position),
             cmocka_unit_test(test_hostile_67_used_bit_read_twice_in_a_burst),
             cmocka_unit_test(test_hostile_68_link_down_in_the_middle_of_a_transfer))
