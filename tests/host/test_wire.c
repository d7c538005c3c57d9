/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The wire itself: that its faults are what they say, and repeat. */
#include <string.h>

#include "harness.h"
#include "offload.h"

enum { FRAMES = 20000, LENGTH = 100, POOL = 128 };

/* A driver's end without a stack: frames are noted as they arrive. */
static struct {
    unsigned count, order_broken, wrong_bytes, fragments_wrong;
    uint32_t last;
    uint64_t hash, now_us, first_us, last_us;
    uint16_t fragment;
} seen;

static void on_frame(struct plumb_netif *netif, struct plumb_packet *packet) {
    uint8_t bytes[1600];
    unsigned length = (unsigned)plumb_packet_copy_out(packet, 0, bytes, sizeof bytes);
    uint32_t number = (uint32_t)bytes[14] << 16 | (uint32_t)bytes[15] << 8 | bytes[16];
    (void)netif;
    for (const struct plumb_packet *f = packet; f; f = f->more)
        seen.fragments_wrong += f->length > seen.fragment ||
                                (!f->more ? 0 : f->length < seen.fragment - 2) ||
                                ((uintptr_t)f->data & 3) !=
                                    (f == packet && TEST_LANDING == PLUMB_LANDING_OFFSET ? 2 : 0);
    expect_equal(length, packet->total);
    for (unsigned i = 17; i < length; i++)
        seen.wrong_bytes += bytes[i] != pattern_at(number, i);
    seen.order_broken += number < seen.last;
    seen.last = number;
    seen.count++;
    seen.hash = (seen.hash ^ number ^ seen.now_us) * 0x100000001b3U;
    seen.first_us = seen.first_us ? seen.first_us : seen.now_us;
    seen.last_us = seen.now_us;
    plumb_packet_put(packet);
}

static struct plumb_wire wire;
static struct plumb_wire_frame frames[256];
static struct plumb_packet descriptors[2][POOL];
static _Alignas(PLUMB_DMA_LINE) uint8_t memory[2][POOL * 1600];
static struct plumb_pool pools[2];

static void begin(uint16_t fragment, uint64_t seed) {
    struct plumb_wire_end_options ends[2];
    memset(&seen, 0, sizeof seen);
    seen.fragment = fragment ? fragment : 1600;
    for (unsigned i = 0; i < 2; i++) {
        expect_equal(plumb_pool_create(&pools[i], descriptors[i], memory[i], POOL, 1600, 0),
                     PLUMB_OK);
        ends[i] = (struct plumb_wire_end_options){
            .name = "end", .pool = &pools[i], .fragment = fragment, .landing = TEST_LANDING};
    }
    expect_equal(plumb_wire_create(&wire, frames, 256, seed, ends), PLUMB_OK);
    for (unsigned i = 0; i < 2; i++) {
        wire.end[i].netif.input = on_frame;
        expect_equal(wire.end[i].netif.driver->start(&wire.end[i].netif), PLUMB_OK);
    }
}

static void end(void) {
    for (unsigned i = 0; i < 2; i++)
        wire.end[i].netif.driver->stop(&wire.end[i].netif);
    for (unsigned i = 0; i < 2; i++)
        expect_equal(pools[i].free_count, POOL);
    expect_equal(wire.free_count, 256);
}

static void poll_both(uint64_t now_us) {
    seen.now_us = now_us;
    for (unsigned i = 0; i < 2; i++)
        wire.end[i].netif.driver->poll(&wire.end[i].netif, now_us, 1000);
}

static int send(uint32_t number, unsigned length) {
    struct plumb_packet *packet = plumb_packet_take(&pools[0], 0);
    assert_non_null(packet);
    for (unsigned i = 0; i < length; i++)
        packet->data[i] = pattern_at(number, i);
    packet->data[14] = (uint8_t)(number >> 16);
    packet->data[15] = (uint8_t)(number >> 8);
    packet->data[16] = (uint8_t)number;
    packet->length = packet->total = (uint16_t)length;
    int result = wire.end[0].netif.driver->transmit(&wire.end[0].netif, packet);
    plumb_packet_put(packet);
    return result;
}

/* Sends the frames a tenth of a millisecond apart. */
static void run(const struct plumb_wire_faults *faults, uint64_t seed) {
    begin(0, seed);
    plumb_wire_set_faults(&wire.end[0], faults);
    uint64_t now_us = 1000;
    for (uint32_t i = 1; i <= FRAMES; i++, now_us += 100) {
        expect_equal(send(i, LENGTH), PLUMB_OK);
        poll_both(now_us);
    }
    poll_both(now_us + SECOND);
    poll_both(now_us + SECOND);
    end();
}

/* Within a tenth of what was asked for. */
static void expect_about(unsigned count, unsigned in_10000) {
    unsigned expected = FRAMES / 10000 * in_10000;
    expect(count > expected * 9 / 10 && count < expected * 11 / 10);
}

static void perfect_wire_loses_nothing(void **state) {
    (void)state;
    run(&(struct plumb_wire_faults){0}, 1);
    expect_equal(seen.count, FRAMES);
    expect_equal(seen.order_broken + seen.wrong_bytes, 0);
}

static void each_fault_at_its_rate(void **state) {
    (void)state;
    const struct plumb_wire_statistics *s = &wire.end[0].statistics;
    run(&(struct plumb_wire_faults){.loss = 500}, 2);
    expect_about(s->lost, 500);
    expect_equal(seen.count + s->lost, FRAMES);
    expect_equal(seen.order_broken + seen.wrong_bytes, 0);
    run(&(struct plumb_wire_faults){.duplication = 1000}, 3);
    expect_about(s->duplicated, 1000);
    expect_equal(seen.count, FRAMES + s->duplicated);
    expect_equal(seen.order_broken + seen.wrong_bytes, 0);
    run(&(struct plumb_wire_faults){.corruption = 1000}, 4);
    expect_about(s->corrupted, 1000);
    expect_equal(seen.count, FRAMES);
    expect(seen.wrong_bytes > s->corrupted / 2);
    run(&(struct plumb_wire_faults){.reordering = 1000}, 5);
    expect_about(s->reordered, 1000);
    expect_equal(seen.count, FRAMES);
    expect(seen.order_broken > s->reordered / 2);
    run(&(struct plumb_wire_faults){.delay_us = 3000, .jitter_us = 5000}, 6);
    expect_equal(seen.count, FRAMES);
    expect_equal(seen.order_broken + seen.wrong_bytes, 0);
    expect(seen.first_us >= 4000);
}

static void seeds_repeat_and_differ(void **state) {
    (void)state;
    const struct plumb_wire_faults faults = {
        .loss = 500, .reordering = 500, .duplication = 200, .corruption = 100, .jitter_us = 1000};
    run(&faults, 7);
    uint64_t first = seen.hash;
    run(&faults, 7);
    expect(seen.hash == first);
    run(&faults, 8);
    expect(seen.hash != first);
}

/* 100 frames of 100 bytes and 24 of framing at 1 Mbit/s take 99.2 ms. */
static void rate_is_exact(void **state) {
    (void)state;
    begin(0, 9);
    plumb_wire_set_faults(&wire.end[0], &(struct plumb_wire_faults){.rate = 1000000});
    uint64_t now_us = 1000;
    unsigned sent = 0, refused = 0;
    poll_both(now_us);
    while (seen.count < 100) {
        while (sent < 100 && send(sent + 1, LENGTH) == PLUMB_OK)
            sent++;
        refused += sent < 100;
        uint64_t next = wire.end[0].netif.driver->deadline(&wire.end[0].netif);
        uint64_t due = plumb_wire_due(&wire);
        next = due < next ? due : next;
        expect(next != PLUMB_NEVER);
        now_us = next > now_us ? next : now_us;
        poll_both(now_us);
    }
    expect(refused > 0);
    expect_equal(seen.last_us - 1000, 99200);
    expect_equal(wire.end[0].netif.counters[PLUMB_NETIF_tx_full], refused);
    end();
}

/* Ten of full length, or what is shorter as long as there is room for one that is not. */
static void queue_limit_drops_the_tail(void **state) {
    (void)state;
    const unsigned full = 1514, most = (10 * (full + 24)) / (LENGTH + 24);
    for (unsigned length = LENGTH; length <= full; length += full - LENGTH) {
        unsigned least = length == full ? 10 : most;
        begin(0, 10);
        plumb_wire_set_faults(&wire.end[0],
                              &(struct plumb_wire_faults){.rate = 1000000, .queue_limit = 10});
        poll_both(1000);
        for (unsigned i = 1; i <= 50 + most; i++) {
            expect_equal(send(i, length), PLUMB_OK);
            poll_both(1000);
        }
        poll_both(10 * SECOND);
        expect(seen.count >= least && seen.count <= least + 2);
        expect_equal(wire.end[0].statistics.overflowed, 50 + most - seen.count);
        end();
    }
}

static void fragments_and_landing(void **state) {
    (void)state;
    static const uint16_t sizes[] = {0, 64, 128, 256, 1536};
    for (unsigned k = 0; k < 5; k++) {
        begin(sizes[k], 11);
        for (unsigned length = 17; length <= 1514; length += 7) {
            expect_equal(send(length, length), PLUMB_OK);
            poll_both(1000 + length);
        }
        poll_both(SECOND);
        expect_equal(seen.count, (1514 - 17) / 7 + 1);
        expect_equal(seen.wrong_bytes + seen.fragments_wrong, 0);
        end();
    }
}

/* Whoever changes a packet that the wire still reads is found. */
static void changed_packet_is_found(void **state) {
    (void)state;
    begin(0, 12);
    struct plumb_packet *packet = plumb_packet_take(&pools[0], 0);
    assert_non_null(packet);
    packet->length = packet->total = 60;
    memset(packet->data, 1, 60);
    wire.end[0].netif.driver->transmit(&wire.end[0].netif, packet);
    expect_equal(packet->references, 2);
    packet->data[30] ^= 1;
    poll_both(1000);
    expect_equal(wire.end[0].statistics.changed, 1);
    expect_equal(packet->references, 1);
    plumb_packet_put(packet);
    end();
}

static void pool_runs_empty(void **state) {
    (void)state;
    begin(0, 13);
    for (unsigned i = 0; i < 40; i++)
        expect_equal(send(i, LENGTH), PLUMB_OK);
    struct plumb_packet *held[POOL + 1];
    unsigned count = 0;
    while ((held[count] = plumb_packet_take(&pools[1], 0)))
        count++;
    poll_both(1000);
    expect_equal(seen.count, 0);
    expect_equal(wire.end[1].netif.counters[PLUMB_NETIF_rx_no_buffer], 40);
    while (count)
        plumb_packet_put(held[--count]);
    end();
}

static void offload_agrees_with_the_frames(void **state) {
    (void)state;
    struct frame_path path = {.from = 0x0a000001, .to = 0x0a000002, .from_port = 1, .to_port = 2};
    struct random random = {14};
    uint8_t payload[1400];
    for (unsigned i = 0; i < sizeof payload; i++)
        payload[i] = (uint8_t)random_next(&random);
    for (unsigned i = 0; i < 2000; i++) {
        struct frame frame, filled;
        unsigned length = random_below(&random, sizeof payload);
        if (i & 1)
            frame_udp(&frame, &path, payload, length);
        else
            frame_tcp(&frame, &path, i, i, TCP_ACK, 1000, 0, 0, payload, length);
        filled = frame;
        frame_put16(&filled, FRAME_TRANSPORT + (i & 1 ? 6 : 16), 0);
        frame_put16(&filled, FRAME_NETWORK + 10, 0);
        expect(!pl_wire_checksums_good(filled.bytes, filled.length));
        pl_wire_fill_checksums(filled.bytes, filled.length);
        assert_memory_equal(filled.bytes, frame.bytes, frame.length);
        expect(pl_wire_checksums_good(filled.bytes, filled.length));
        filled.bytes[FRAME_NETWORK + 12 + random_below(&random, filled.length - 26U)] ^= 0x10;
        expect(!pl_wire_checksums_good(filled.bytes, filled.length));
    }
}

HARNESS_MAIN(cmocka_unit_test(perfect_wire_loses_nothing), cmocka_unit_test(each_fault_at_its_rate),
             cmocka_unit_test(seeds_repeat_and_differ), cmocka_unit_test(rate_is_exact),
             cmocka_unit_test(queue_limit_drops_the_tail), cmocka_unit_test(fragments_and_landing),
             cmocka_unit_test(changed_packet_is_found), cmocka_unit_test(pool_runs_empty),
             cmocka_unit_test(offload_agrees_with_the_frames))
