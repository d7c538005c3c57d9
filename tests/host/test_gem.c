/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The Cadence GEM driver on a model of its device: what silicon does and what
 * QEMU does, caches that lie, and a device that misbehaves.
 */
#include "gem_rig.h"

#include <stdlib.h>
#include <string.h>

enum {
    RING = 8,
    ROOM = RING - 1, /* to send: one descriptor stays free */
    BUFFERS = 24,
    SEGMENTS = 32,
    SMALL = 128,
    FULL = 1536,
};

static struct plumb_packet segment_packets[SEGMENTS];
static struct plumb_pool segments;

static void prepare(uint16_t buffer) {
    prepare_rig(RING, BUFFERS, buffer);
    assert_int_equal(plumb_pool_create(&segments, segment_packets, model_arena + 64 * 1024,
                                       SEGMENTS, FULL, &model.shadow.dma),
                     0);
}

/* QEMU has no caches, and none could do with its overrun: the last bytes of a small
 * buffer lie in a line of the next one's. */
static void begin(uint16_t buffer, bool like_qemu) {
    prepare(buffer);
    model.shadow.coherent = like_qemu && buffer == SMALL;
    model.pad_every = model.statistics_stay = model.forget_place = like_qemu;
    model.stuck_until_off = !like_qemu;
    start();
    expect_equal(gem.offset, like_qemu ? PLUMB_GEM_OFFSET_EVERY : PLUMB_GEM_OFFSET_FIRST);
}

static void end(void) {
    stop();
    expect_equal(segments.free_count, segments.count);
}

static bool arrive(unsigned frame, unsigned length) {
    fill(frame);
    return model_receive(bytes, length);
}

static void expect_frame(const struct plumb_packet *packet, unsigned frame, unsigned length) {
    fill(frame);
    expect_bytes(packet, length);
}

/* ---- creation ---- */

static void probe_tells_devices_apart(void **state) {
    (void)state;
    for (unsigned small = 0; small < 2; small++) {
        begin(small ? SMALL : FULL, false);
        expect(!gem.statistics_stay);
        expect_equal(gem.netif.landing, PLUMB_LANDING_OFFSET);
        end();
        begin(small ? SMALL : FULL, true);
        expect(gem.statistics_stay);
        end();
    }
    expect_equal(gem.phy, MODEL_PHY);
    expect_equal(gem.revision, 0x00020118);
}

static void without_an_offset_frames_land_on_words(void **state) {
    (void)state;
    for (unsigned variant = 0; variant < 3; variant++) {
        prepare(variant ? FULL : SMALL);
        model.no_pad = variant == 0;
        if (variant == 1) {
            model.no_pad = true;
            model.registers[DESIGN_CFG6 / 4] = CFG6_COALESCING;
        }
        if (variant == 2)
            config.landing = PLUMB_LANDING_WORD;
        start();
        expect_equal(gem.offset, variant == 2 ? PLUMB_GEM_OFFSET_UNUSED : PLUMB_GEM_OFFSET_ABSENT);
        expect_equal(gem.netif.landing, PLUMB_LANDING_WORD);
        expect(arrive(1, 300));
        expect_equal(poll_all(), 1);
        expect_frame(kept[0], 1, 300);
        end();
    }
}

static void silence_in_loopback_is_not_fatal(void **state) {
    (void)state;
    prepare(FULL);
    model.deaf = true;
    start();
    expect_equal(gem.offset, PLUMB_GEM_OFFSET_ASSUMED);
    expect(arrive(1, 1000));
    expect_equal(poll_all(), 1);
    expect_frame(kept[0], 1, 1000);
    end();
}

static void bad_configurations_are_refused(void **state) {
    (void)state;
    static const uint16_t buffers[] = {0, 64, 130, 1600};
    for (unsigned i = 0; i < 4; i++) {
        prepare(FULL);
        config.rx_buffer = buffers[i];
        expect_equal(plumb_gem_create(&gem, &config), PLUMB_ERROR_INVALID);
    }
    prepare(FULL);
    config.mtu = 1501;
    expect_equal(plumb_gem_create(&gem, &config), PLUMB_ERROR_INVALID);
    prepare(FULL);
    config.rx.count = 3;
    expect_equal(plumb_gem_create(&gem, &config), PLUMB_ERROR_INVALID);
    prepare(FULL);
    config.phy = 3;
    expect_equal(plumb_gem_create(&gem, &config), PLUMB_ERROR_DEVICE);
    prepare(FULL);
    while (rx_pool.free_count >= RING)
        plumb_packet_take(&rx_pool, 0);
    expect_equal(plumb_gem_create(&gem, &config), PLUMB_ERROR_NO_BUFFER);
}

static void unused_queues_are_parked(void **state) {
    (void)state;
    prepare(FULL);
    model.registers[DESIGN_CFG6 / 4] = 1U << 1;
    start();
    expect_equal(model.registers[RXQ1BASE / 4], MODEL_RX_RING + 8 * RING);
    expect_equal(model.registers[TXQ1BASE / 4], MODEL_TX_RING + 8 * RING);
    expect_equal(model.registers[RXQ1BASE / 4 + 1], 0);
    expect_equal(rx_ring[RING].address, RX_USED | RX_WRAP);
    expect_equal(tx_ring[RING].control, TX_USED | TX_WRAP);
    end();
}

/* ---- reception ---- */

static void every_length_arrives_whole(uint16_t buffer, bool like_qemu) {
    begin(buffer, like_qemu);
    /* A ring of 8 buffers of 128 bytes holds frames of up to 1022. */
    unsigned longest = buffer == SMALL ? 1000 : 1518;
    for (unsigned length = 14; length <= longest; length++) {
        expect(arrive(length, length));
        expect_equal(poll_all(), 1);
        expect_frame(kept[0], length, length);
        put_kept();
    }
    expect_equal(counter(PLUMB_NETIF_rx_frames), longest - 13);
    end();
}

static void every_length_on_silicon(void **state) {
    (void)state;
    every_length_arrives_whole(FULL, false);
    every_length_arrives_whole(SMALL, false);
}

static void every_length_on_qemu(void **state) {
    (void)state;
    every_length_arrives_whole(FULL, true);
    every_length_arrives_whole(SMALL, true);
}

static void budget_bounds_a_poll(void **state) {
    (void)state;
    begin(FULL, false);
    for (unsigned i = 0; i < 6; i++)
        expect(arrive(i, 60 + i));
    expect_equal(poll_with(4), 4);
    expect(plumb_gem_pending(&gem));
    expect_equal(poll_with(4), 2);
    expect(!plumb_gem_pending(&gem));
    for (unsigned i = 0; i < 6; i++)
        expect_frame(kept[i], i, 60 + i);
    end();
}

/* The stack keeps frames, writes to some and gives them back in any order. */
static void held_frames_keep_their_bytes(uint16_t buffer, bool like_qemu) {
    static unsigned numbers[RIG_KEPT], lengths[RIG_KEPT];
    begin(buffer, like_qemu);
    srand(7);
    for (unsigned frame = 0; frame < 3000; frame++) {
        unsigned length = 14 + (unsigned)rand() % (buffer == SMALL ? 300 : 1500);
        unsigned before = kept_count;
        expect(arrive(frame, length));
        poll_all();
        if (kept_count > before) {
            numbers[before] = frame;
            lengths[before] = length;
        }
        put_some(numbers, lengths, 5);
    }
    expect_equal(counter(PLUMB_NETIF_rx_frames) + counter(PLUMB_NETIF_rx_no_buffer), 3000);
    expect(counter(PLUMB_NETIF_rx_frames) > 2500);
    end();
}

static void frames_are_kept_and_written_to(void **state) {
    (void)state;
    held_frames_keep_their_bytes(FULL, false);
    held_frames_keep_their_bytes(FULL, true);
    held_frames_keep_their_bytes(SMALL, false);
}

/* The pool is empty when the `position`th of 8 buffers would be replaced. */
static void refill_fails_at(uint16_t buffer, unsigned position) {
    struct plumb_packet *taken[BUFFERS];
    unsigned count = 0, length = buffer == SMALL ? 400 : 1000;
    unsigned frames = buffer == SMALL ? 2 : RING; /* 400 bytes take 4 small buffers */
    begin(buffer, false);
    while (rx_pool.free_count > position)
        taken[count++] = plumb_packet_take(&rx_pool, 0);
    for (unsigned i = 0; i < frames; i++)
        expect(arrive(i, length));
    expect_equal(poll_all(), frames);
    unsigned per_frame = RING / frames, whole = position / per_frame;
    expect_equal(counter(PLUMB_NETIF_rx_frames), whole);
    expect_equal(counter(PLUMB_NETIF_rx_no_buffer), frames - whole);
    for (unsigned i = 0; i < whole; i++)
        expect_frame(kept[i], i, length);
    put_kept();
    while (count)
        plumb_packet_put(taken[--count]);
    for (unsigned i = 0; i < 20; i++) {
        expect(arrive(i, length));
        expect_equal(poll_all(), 1);
        expect_frame(kept[0], i, length);
        put_kept();
    }
    end();
}

static void refill_failure_costs_frames_only(void **state) {
    (void)state;
    for (unsigned position = 0; position < RING; position++) {
        refill_fails_at(FULL, position);
        refill_fails_at(SMALL, position);
    }
}

/* A frame can be taken only when the ring still works. */
static void expect_next_frame(void) {
    unsigned before = kept_count;
    expect(arrive(200, 100));
    poll_all();
    expect_equal(kept_count, before + 1);
    expect_frame(kept[before], 200, 100);
    put_kept();
}

static void expect_one(enum plumb_netif_counter which, const uint32_t *controls, unsigned count) {
    uint32_t before[PLUMB_NETIF_COUNTER_COUNT];
    memcpy(before, gem.netif.counters, sizeof before);
    for (unsigned i = 0; i < count; i++)
        expect(model_write_descriptor(controls[i]));
    poll_all();
    expect_equal(kept_count, 0);
    for (unsigned i = 0; i < PLUMB_NETIF_COUNTER_COUNT; i++)
        expect_equal(gem.netif.counters[i], before[i] + (i == which));
    expect_next_frame();
}

static void impossible_descriptors_cost_one_frame_each(void **state) {
    (void)state;
    const uint32_t s = RX_START, e = RX_END;
    for (unsigned like_qemu = 0; like_qemu < 2; like_qemu++) {
        begin(SMALL, like_qemu);
        expect_one(PLUMB_NETIF_rx_orphan, (const uint32_t[]){e | 100}, 1);
        expect_one(PLUMB_NETIF_rx_orphan, (const uint32_t[]){0, 0, e | 300}, 3);
        expect_one(PLUMB_NETIF_rx_error, (const uint32_t[]){s | e}, 1);
        expect_one(PLUMB_NETIF_rx_error, (const uint32_t[]){s | e | 1000}, 1);
        expect_one(PLUMB_NETIF_rx_error, (const uint32_t[]){s, e | 100}, 2);
        expect_one(PLUMB_NETIF_rx_error, (const uint32_t[]){s, e | 1000}, 2);
        expect_one(PLUMB_NETIF_rx_too_long, (const uint32_t[]){s | e | 1519}, 1);
        end();
        begin(FULL, like_qemu);
        expect_one(PLUMB_NETIF_rx_too_long, (const uint32_t[]){s | e | 1519}, 1);
        expect_one(PLUMB_NETIF_rx_too_long, (const uint32_t[]){s, 0, e | 4000}, 3);
        expect_one(PLUMB_NETIF_rx_error, (const uint32_t[]){s | e}, 1);
        end();
    }
}

static void a_lost_end_is_counted_when_the_next_frame_starts(void **state) {
    (void)state;
    for (unsigned parts = 1; parts < RING; parts++) {
        begin(SMALL, false);
        for (unsigned i = 0; i < parts; i++)
            expect(model_write_descriptor(i ? 0 : RX_START));
        poll_all();
        expect_equal(counter(PLUMB_NETIF_rx_orphan), 0);
        expect(arrive(3, 300));
        poll_all();
        expect_equal(counter(PLUMB_NETIF_rx_orphan), 1);
        expect_frame(kept[0], 3, 300);
        end();
    }
    begin(SMALL, false);
    expect(model_write_descriptor(RX_START));
    poll_all();
    end(); /* stopped in the middle of a frame, nothing leaks */
}

/* The ring fills up, the device stands still; the driver gets it going again. */
static void overrun(uint16_t buffer, bool like_qemu) {
    begin(buffer, like_qemu);
    for (unsigned round = 0; round < 50; round++) {
        unsigned taken = 0, got = kept_count;
        unsigned length = buffer == SMALL ? 300 : 200 + round;
        while (taken < 100 && arrive(taken, length))
            taken++;
        expect(model.stuck);
        expect(taken >= 2);
        poll_all();
        expect_equal(kept_count - got, taken);
        for (unsigned i = 0; i < taken; i++)
            expect_frame(kept[i], i, length);
        put_kept();
        expect_equal(counter(PLUMB_NETIF_rx_overrun), round + 1);
        expect_equal(counter(PLUMB_NETIF_rx_restart), round + 1);
        for (unsigned i = 0; i < round % RING; i++) /* the next time at another place */
            expect_next_frame();
    }
    end();
}

static void overrun_is_recovered_from(void **state) {
    (void)state;
    for (unsigned like_qemu = 0; like_qemu < 2; like_qemu++) {
        overrun(FULL, like_qemu);
        overrun(SMALL, like_qemu);
    }
}

static void a_stuck_device_does_not_sleep(void **state) {
    (void)state;
    begin(FULL, false);
    while (arrive(1, 100))
        ;
    while (poll_with(32))
        put_kept();
    /* Drained and started again; then it meets a used descriptor behind our back. */
    model.registers[RXSR / 4] |= RXSR_NO_BUFFER;
    model.stuck = true;
    plumb_gem_acknowledge(&gem);
    expect(plumb_gem_pending(&gem));
    poll_all();
    expect_next_frame();
    end();
}

/* A poll that takes frames does not ask; then nobody may wait before the one that does. */
static void a_device_stuck_behind_frames_is_seen_before_a_wait(void **state) {
    (void)state;
    begin(FULL, false);
    for (unsigned round = 1; round < 20; round++) {
        while (arrive(1, 100))
            ;
        expect_equal(poll_with(32), RING);
        put_kept();
        plumb_gem_acknowledge(&gem);
        expect(plumb_gem_pending(&gem));
        expect_equal(poll_with(32), 0);
        expect_equal(counter(PLUMB_NETIF_rx_restart), round);
        expect(!plumb_gem_pending(&gem));
        expect_next_frame();
    }
    end();
}

static void checksum_verdicts_are_passed_on(void **state) {
    (void)state;
    prepare(FULL);
    config.checksum_offload = true;
    start();
    expect_equal(gem.netif.capabilities, PLUMB_CAPABILITY_RX_CHECKSUM |
                                             PLUMB_CAPABILITY_TX_CHECKSUM |
                                             PLUMB_CAPABILITY_TX_WRITES_BACK);
    expect(model.registers[DMACR / 4] & DMACR_TX_CHECKSUM);
    expect(model.registers[NWCFG / 4] & NWCFG_RX_CHECKSUM);
    for (uint32_t verdict = 0; verdict < 4; verdict++) {
        expect(model_write_descriptor(RX_START | RX_END | 60 | verdict << 22));
        poll_all();
        expect_equal(kept[0]->flags, verdict >= 2 ? PLUMB_PACKET_CHECKSUM_GOOD : 0);
        put_kept();
    }
    end();
    prepare(FULL);
    start();
    expect_equal(gem.netif.capabilities, PLUMB_CAPABILITY_TX_WRITES_BACK);
    expect(model_write_descriptor(RX_START | RX_END | 60 | 3U << 22));
    poll_all();
    expect_equal(kept[0]->flags, 0);
    end();
}

/* ---- transmission ---- */

/* A packet of `count` fragments, `length` bytes in all, some fragments empty. */
static struct plumb_packet *make(unsigned frame, unsigned count, unsigned length) {
    struct plumb_packet *first = NULL, **link = &first;
    unsigned done = 0;
    for (unsigned i = 0; i < count; i++) {
        struct plumb_packet *f = plumb_packet_take(&segments, (uint16_t)(rand() % 64));
        unsigned part = i + 1 == count ? length - done : (unsigned)rand() % (length - done);
        assert_non_null(f);
        if (i + 1 < count && rand() % 5 == 0)
            part = 0;
        for (unsigned k = 0; k < part; k++)
            f->data[k] = byte_of(frame, done + k);
        f->dirty = true;
        f->length = (uint16_t)part;
        f->total = (uint16_t)length;
        done += part;
        *link = f;
        link = &f->more;
    }
    return first;
}

static int transmit(struct plumb_packet *packet) {
    return gem.netif.driver->transmit(&gem.netif, packet);
}

static void flush(void) {
    gem.netif.driver->flush(&gem.netif);
}

static void expect_sent(unsigned index, unsigned frame, unsigned length) {
    expect(index < model.sent_count);
    expect_equal(model.sent_length[index % MODEL_SENT], length);
    for (unsigned i = 0; i < length; i++)
        if (model.sent[index % MODEL_SENT][i] != byte_of(frame, i))
            fail_msg("sent frame %u differs at %u", frame, i);
}

static void fragments_are_gathered(void **state) {
    (void)state;
    begin(FULL, true);
    srand(3);
    for (unsigned frame = 0; frame < 2000; frame++) {
        unsigned length = 14 + (unsigned)rand() % 1504;
        struct plumb_packet *packet = make(frame, 1 + (unsigned)rand() % 4, length);
        expect_equal(transmit(packet), PLUMB_OK);
        plumb_packet_put(packet);
        flush();
        expect_sent(frame, frame, length);
        poll_all();
        expect_equal(segments.free_count, SEGMENTS);
    }
    expect_equal(counter(PLUMB_NETIF_tx_frames), 2000);
    end();
}

static void nothing_is_sent_before_the_flush(void **state) {
    (void)state;
    begin(FULL, true);
    struct plumb_packet *packet = make(1, 2, 500);
    expect_equal(transmit(packet), PLUMB_OK);
    expect_equal(model.sent_count, 0);
    flush();
    expect_equal(model.sent_count, 1);
    flush();
    plumb_packet_put(packet);
    end();
}

static void what_is_not_flushed_survives_a_poll(void **state) {
    (void)state;
    begin(FULL, true);
    for (unsigned frame = 0; frame < 20; frame++) {
        struct plumb_packet *packet = make(frame, 2, 300);
        expect_equal(transmit(packet), PLUMB_OK);
        plumb_packet_put(packet);
        poll_all();
        expect_equal(model.sent_count, frame);
        flush();
        expect_sent(frame, frame, 300);
    }
    expect_equal(counter(PLUMB_NETIF_tx_error), 0);
    end();
}

static void a_full_ring_refuses_and_wakes(void **state) {
    (void)state;
    unsigned sent = 0, accepted = 0;
    begin(FULL, false);
    model.send_later = true;
    srand(5);
    for (unsigned round = 0; round < 300; round++) {
        struct plumb_packet *packet = make(accepted, 1 + (unsigned)rand() % 3, 200);
        int result = transmit(packet);
        plumb_packet_put(packet);
        if (result == PLUMB_OK) {
            accepted++;
            continue;
        }
        expect_equal(result, PLUMB_ERROR_WOULD_BLOCK);
        expect(model.registers[IER / 4] & INTERRUPT_TX_DONE);
        expect(!plumb_gem_pending(&gem));
        model_send();
        expect(plumb_gem_pending(&gem));
        poll_all();
        expect(!(model.registers[IER / 4] & INTERRUPT_TX_DONE));
        for (; sent < model.sent_count; sent++)
            expect_sent(sent, sent, 200);
        expect_equal(sent, accepted);
    }
    expect(counter(PLUMB_NETIF_tx_full) > 20);
    end();
}

static void impossible_packets_are_refused(void **state) {
    (void)state;
    begin(FULL, false);
    struct plumb_packet *packet = make(1, 1, 1519);
    expect_equal(transmit(packet), PLUMB_ERROR_TOO_LONG);
    plumb_packet_put(packet);
    packet = make(1, 9, 900);
    for (struct plumb_packet *f = packet; f; f = f->more)
        f->length = 100;
    expect_equal(transmit(packet), PLUMB_ERROR_TOO_LONG);
    plumb_packet_put(packet);
    packet = plumb_packet_take(&segments, 0);
    expect_equal(transmit(packet), PLUMB_ERROR_TOO_LONG);
    plumb_packet_put(packet);
    end();
}

static int send_one(unsigned frame) {
    struct plumb_packet *packet = make(frame, 1, 100);
    int result = transmit(packet);
    plumb_packet_put(packet);
    return result;
}

static void a_transmit_error_costs_what_was_queued(void **state) {
    (void)state;
    static const uint32_t errors[] = {1U << 2, 1U << 4, 1U << 6, 1U << 8};
    begin(FULL, false);
    model.send_later = true;
    srand(9);
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned k = 0; k < 3; k++) {
            struct plumb_packet *packet = make(k, 1 + k % 2, 100);
            expect_equal(transmit(packet), PLUMB_OK);
            plumb_packet_put(packet);
        }
        flush();
        model.fail_status = errors[i];
        model_send();
        poll_all();
        expect_equal(counter(PLUMB_NETIF_tx_error), 3 * (i + 1));
        expect_equal(segments.free_count, SEGMENTS);
        struct plumb_packet *packet = make(77, 2, 333);
        expect_equal(transmit(packet), PLUMB_OK);
        plumb_packet_put(packet);
        flush();
        model_send();
        expect_sent(i, 77, 333);
        poll_all();
    }
    end();
}

/* Nothing is left in the ring by which to tell; the next frame does not leave, and that tells. */
static void a_transmit_error_of_a_frame_marked_sent_shows_with_the_next(void **state) {
    (void)state;
    begin(FULL, false);
    model.send_later = true;
    model.fail_marked = true;
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned k = 0; k < 2; k++) {
            struct plumb_packet *packet = make(k, 1 + i, 100);
            expect_equal(transmit(packet), PLUMB_OK);
            plumb_packet_put(packet);
            flush();
            if (k == 0)
                model.fail_status = TXSR_ERRORS;
            model_send();
            poll_all();
            expect_equal(counter(PLUMB_NETIF_tx_error), i + k);
            expect_equal(segments.free_count, SEGMENTS);
        }
        struct plumb_packet *packet = make(55, 2, 200);
        expect_equal(transmit(packet), PLUMB_OK);
        plumb_packet_put(packet);
        flush();
        model_send();
        expect_sent(i, 55, 200);
        poll_all();
    }
    end();
}

/* Whoever makes room in the ring comes upon it: then the ring begins anew beneath the frame
 * that is to be queued. */
static void a_transmit_error_shows_to_who_needs_room(void **state) {
    (void)state;
    begin(FULL, false);
    model.send_later = true;
    for (unsigned k = 0; k < 3; k++) /* so that the ring's top is elsewhere */
        expect_equal(send_one(k), PLUMB_OK);
    flush();
    model_send();
    poll_all();
    for (unsigned k = 0; k < ROOM; k++)
        expect_equal(send_one(k), PLUMB_OK);
    flush();
    model.fail_status = TXSR_ERRORS;
    model_send();
    expect_equal(send_one(99), PLUMB_OK);
    expect_equal(counter(PLUMB_NETIF_tx_error), ROOM);
    flush();
    model_send();
    expect_equal(model.sent_count, 4);
    expect_sent(3, 99, 100);
    poll_all();
    expect_equal(segments.free_count, SEGMENTS);
    end();
}

static void stop_gives_back_what_was_queued(void **state) {
    (void)state;
    begin(FULL, false);
    model.send_later = true;
    struct plumb_packet *packet = make(1, 3, 900);
    expect_equal(transmit(packet), PLUMB_OK);
    plumb_packet_put(packet);
    expect(segments.free_count < SEGMENTS);
    end();
    expect_equal(gem.netif.driver->start(&gem.netif), PLUMB_OK);
    expect_next_frame();
    end();
}

/* ---- link ---- */

static void let_seconds_pass(unsigned seconds) {
    for (unsigned i = 0; i < seconds * 4; i++) {
        expect(gem.netif.driver->deadline(&gem.netif) <= now_us + 1000000);
        now_us += 250000;
        poll_with(4);
    }
}

static void the_link_is_followed(void **state) {
    (void)state;
    begin(FULL, false);
    expect(gem.netif.link_up);
    expect_equal(gem.mbits, 1000);
    model.no_link = true;
    let_seconds_pass(3);
    expect(!gem.netif.link_up);
    expect_equal(counter(PLUMB_NETIF_link_down), 1);
    model.no_link = false;
    model.phy[10] = 0;
    let_seconds_pass(3);
    expect(gem.netif.link_up);
    expect_equal(gem.mbits, 100);
    expect_equal(model.registers[NWCFG / 4] & (NWCFG_100 | NWCFG_1000 | NWCFG_FULL_DUPLEX),
                 NWCFG_100 | NWCFG_FULL_DUPLEX);
    expect_equal(model.registers[NWCFG / 4] >> 14 & 3, 2);
    expect_equal(counter(PLUMB_NETIF_link_up), 2);
    expect_next_frame();
    end();
}

static void statistics_add_up(void **state) {
    (void)state;
    for (unsigned like_qemu = 0; like_qemu < 2; like_qemu++) {
        struct plumb_gem_statistics before, after;
        begin(FULL, like_qemu);
        plumb_gem_statistics(&gem, &before);
        for (unsigned round = 0; round < 3; round++) {
            expect_next_frame();
            expect_next_frame();
            plumb_gem_statistics(&gem, &after);
            expect_equal(after.rx_frames - before.rx_frames, 2 * (round + 1));
        }
        end();
    }
}

/* ---- under a stack ---- */

static PLUMB_STACK_MEMORY(stack_memory);
static struct plumb *stack;
static struct plumb_packet reference_packets[2];
static struct plumb_pool references;
static struct plumb_udp *udp;
static unsigned told;

#define HERE  FRAME_IPV4(10, 0, 0, 1)
#define THERE FRAME_IPV4(10, 0, 0, 2)
static const uint8_t here[6] = {2, 0, 0, 0, 0, 9}, there[6] = {2, 0, 0, 0, 0, 2};

static void stack_begin(plumb_udp_handler *handler) {
    prepare(FULL);
    expect_equal(plumb_gem_create(&gem, &config), PLUMB_OK);
    expect_equal(plumb_pool_create(&references, reference_packets, 0, 2, 0, &model.shadow.dma),
                 PLUMB_OK);
    struct plumb_options options = {
        .seed = {1, 2}, .segments = &segments, .headers = &segments, .references = &references};
    expect_equal(plumb_create(&stack, stack_memory, sizeof stack_memory, &options), PLUMB_OK);
    plumb_poll(stack, now_us);
    expect_equal(plumb_netif_attach(stack, &gem.netif), PLUMB_OK);
    expect_equal(
        plumb_netif_set_ipv4(&gem.netif, ipv4_of(HERE), ipv4_of(0xffffff00U), PLUMB_IPV4_ANY),
        PLUMB_OK);
    expect_equal(plumb_udp_open(stack, endpoint_of(0, 7), handler, 0, &udp), PLUMB_OK);
    told = 0;
}

static void stack_end(void) {
    plumb_destroy(stack);
    expect_equal(rx_pool.free_count, rx_pool.count);
    expect_equal(segments.free_count, segments.count);
    expect_equal(references.free_count, references.count);
}

static void detach_first(struct plumb_udp *socket, struct plumb_packet *payload,
                         const struct plumb_udp_source *source, void *context) {
    (void)socket;
    (void)payload;
    (void)context;
    told++;
    plumb_netif_detach(source->netif);
}

/* What else has arrived goes nowhere, and every buffer comes home. */
static void handler_detaches_the_interface(void **state) {
    (void)state;
    stack_begin(detach_first);
    struct frame frame;
    struct frame_path path = {.from = THERE, .to = HERE, .from_port = 9, .to_port = 7};
    memcpy(path.from_ethernet, there, 6);
    memcpy(path.to_ethernet, here, 6);
    frame_udp(&frame, &path, "hello", 5);
    for (unsigned i = 0; i < 3; i++)
        expect(model_receive(frame.bytes, frame.length));
    for (unsigned i = 0; i < 3; i++)
        plumb_poll(stack, now_us += 1000);
    expect_equal(told, 1);
    expect_equal(rx_pool.free_count, rx_pool.count);
    stack_end();
}

static void ignore(struct plumb_udp *socket, struct plumb_packet *payload,
                   const struct plumb_udp_source *source, void *context) {
    (void)socket;
    (void)payload;
    (void)source;
    (void)context;
}

static int say(const char *word) {
    return plumb_udp_send(udp, endpoint_of(THERE, 9), word, 5);
}

static void say_inner(struct plumb_reference *reference) {
    expect_equal(reference->references, 0);
    told++;
    expect_equal(say("inner"), PLUMB_OK);
}

static void expect_said(unsigned index, const char *word) {
    expect(index < model.sent_count);
    assert_memory_equal(model.sent[index % MODEL_SENT] + FRAME_UDP_PAYLOAD, word, 5);
}

/* The first in a full ring is lent memory whose user answers its return by sending:
 * a frame that is just being queued stays whole, and both go out, once. */
static void release_sends_while_a_full_ring_is_swept(void **state) {
    (void)state;
    stack_begin(ignore);
    static uint8_t lent_bytes[64];
    struct plumb_reference lent = {
        .memory = lent_bytes, .length = 60, .release = say_inner, .references = 1};
    struct frame frame;
    frame_arp(&frame, here, 1, there, THERE, (const uint8_t[6]){0}, HERE);
    expect(model_receive(frame.bytes, frame.length));
    plumb_poll(stack, now_us += 1000);
    plumb_poll(stack, now_us += 1000);
    model.send_later = true;
    unsigned first = model.sent_count;
    struct plumb_packet *packet = plumb_packet_take(&references, 0);
    packet->owner.reference = &lent;
    packet->data = model_arena + 150 * 1024;
    packet->length = packet->total = 60;
    expect_equal(transmit(packet), PLUMB_OK);
    plumb_packet_put(packet);
    for (unsigned i = 1; i < ROOM; i++)
        expect_equal(say("fills"), PLUMB_OK);
    flush();
    model_send();
    expect_equal(say("outer"), PLUMB_OK);
    for (unsigned i = 0; i < 5; i++) {
        flush();
        model_send();
        plumb_poll(stack, now_us += 1000);
    }
    expect_equal(told, 1);
    expect_equal(model.sent_count, first + ROOM + 2);
    for (unsigned i = 1; i < ROOM; i++)
        expect_said(first + i, "fills");
    expect_said(first + ROOM, "outer");
    expect_said(first + ROOM + 1, "inner");
    expect(!pl_gem_tx_busy(&gem));
    stack_end();
}

HARNESS_MAIN(
    cmocka_unit_test(probe_tells_devices_apart),
    cmocka_unit_test(without_an_offset_frames_land_on_words),
    cmocka_unit_test(silence_in_loopback_is_not_fatal),
    cmocka_unit_test(bad_configurations_are_refused), cmocka_unit_test(unused_queues_are_parked),
    cmocka_unit_test(every_length_on_silicon), cmocka_unit_test(every_length_on_qemu),
    cmocka_unit_test(budget_bounds_a_poll), cmocka_unit_test(frames_are_kept_and_written_to),
    cmocka_unit_test(refill_failure_costs_frames_only),
    cmocka_unit_test(impossible_descriptors_cost_one_frame_each),
    cmocka_unit_test(a_lost_end_is_counted_when_the_next_frame_starts),
    cmocka_unit_test(overrun_is_recovered_from), cmocka_unit_test(a_stuck_device_does_not_sleep),
    cmocka_unit_test(a_device_stuck_behind_frames_is_seen_before_a_wait),
    cmocka_unit_test(checksum_verdicts_are_passed_on), cmocka_unit_test(fragments_are_gathered),
    cmocka_unit_test(nothing_is_sent_before_the_flush),
    cmocka_unit_test(what_is_not_flushed_survives_a_poll),
    cmocka_unit_test(a_full_ring_refuses_and_wakes),
    cmocka_unit_test(impossible_packets_are_refused),
    cmocka_unit_test(a_transmit_error_costs_what_was_queued),
    cmocka_unit_test(a_transmit_error_shows_to_who_needs_room),
    cmocka_unit_test(a_transmit_error_of_a_frame_marked_sent_shows_with_the_next),
    cmocka_unit_test(stop_gives_back_what_was_queued), cmocka_unit_test(the_link_is_followed),
    cmocka_unit_test(statistics_add_up), cmocka_unit_test(handler_detaches_the_interface),
    cmocka_unit_test(release_sends_while_a_full_ring_is_swept))
