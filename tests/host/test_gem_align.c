/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Received frames that the driver brings to a word itself, over the model of the
 * device and its caches that lie. Built once for each way (see CMakeLists.txt): as
 *   test_gem_align         the device pads; nothing is done
 *   test_gem_align_shift   the whole frame is moved
 *   test_gem_align_pull    the headers are copied in front
 */
#include "gem_rig.h"

#include <stdlib.h>

enum { RING = 8, BUFFERS = 24, FULL = 1536, FRAGMENT = 128, SMALL = 192 };

#ifdef CONFIG_PLUMB_GEM_RX_PULL
#define PULLS true
static struct plumb_packet small_packets[BUFFERS];
#else
#define PULLS false
#endif
#ifdef CONFIG_PLUMB_GEM_RX_SHIFT
#define SHIFTS true
#else
#define SHIFTS false
#endif

static struct plumb_pool small_pool;

static void prepare(uint16_t buffer) {
    prepare_rig(RING, BUFFERS, buffer);
#ifdef CONFIG_PLUMB_GEM_RX_PULL
    expect_equal(plumb_pool_create(&small_pool, small_packets, model_arena + 96 * 1024, BUFFERS,
                                   SMALL, &model.shadow.dma),
                 PLUMB_OK);
    config.rx_small = &small_pool;
#endif
}

static void begin(uint16_t buffer) {
    prepare(buffer);
    start();
    expect_equal(gem.offset, SHIFTS || PULLS ? PLUMB_GEM_OFFSET_UNUSED : PLUMB_GEM_OFFSET_FIRST);
    expect_equal(gem.netif.landing, PLUMB_LANDING_OFFSET);
}

static void end(void) {
    stop();
    expect_equal(small_pool.free_count, small_pool.count);
}

/* An IPv4 frame whose headers say how long they are; where its payload begins. */
static unsigned head(bool tagged, uint8_t protocol, unsigned ip_words, unsigned tcp_words) {
    unsigned at = tagged ? 18 : 14;

    bytes[12] = 0x81;
    bytes[13] = 0x00;
    bytes[at - 2] = 0x08;
    bytes[at - 1] = 0x00;
    bytes[at] = (uint8_t)(0x40 | ip_words);
    bytes[at + 9] = protocol;
    at += 4 * ip_words;
    bytes[at + 12] = (uint8_t)(tcp_words << 4);
    return at + (protocol == 6 ? 4 * tcp_words : 8);
}

static const struct plumb_packet *receive(unsigned length) {
    expect(model_receive(bytes, length));
    poll_all();
    expect_equal(kept_count, 1);
    expect_bytes(kept[0], length);
    return kept[0];
}

/* ---- tests ---- */

static void every_length(uint16_t buffer, unsigned longest) {
    begin(buffer);
    for (unsigned length = 14; length <= longest; length++) {
        fill(length);
        receive(length);
        put_kept();
    }
    expect_equal(counter(PLUMB_NETIF_rx_frames), longest - 13);
    end();
}

static void every_length_arrives_whole(void **state) {
    (void)state;
    every_length(FULL, 1518);
    if (!SHIFTS)
        every_length(FRAGMENT, 1000);
}

/* Frames are held for a while, written to, and given back: no line that the driver
 * wrote may end up in what the device writes later. */
static void held_frames_keep_their_bytes(void **state) {
    unsigned numbers[RIG_KEPT], lengths[RIG_KEPT];

    (void)state;
    begin(FULL);
    srand(7);
    for (unsigned frame = 0; frame < 3000; frame++) {
        unsigned length = 14 + (unsigned)rand() % 1500, before = kept_count;
        fill(frame);
        expect(model_receive(bytes, length));
        poll_all();
        expect_equal(kept_count, before + 1);
        numbers[before] = frame;
        lengths[before] = length;
        shadow_dma_disturb(&model.shadow);
        put_some(numbers, lengths, 5);
    }
    expect_equal(counter(PLUMB_NETIF_rx_frames), 3000);
    end();
}

static void expect_pulled(unsigned headers, unsigned length) {
    const struct plumb_packet *packet = receive(length);

    if (PULLS) {
        expect_equal(packet->length, headers);
        assert_ptr_equal(packet->pool, &small_pool);
        assert_ptr_equal(packet->more->pool, &rx_pool);
        assert_ptr_equal(packet->more->data, packet->more->owner.memory + headers);
    } else {
        assert_ptr_equal(packet->more, NULL);
    }
    put_kept();
}

static void headers_are_pulled_whole(void **state) {
    (void)state;
    begin(FULL);
    for (unsigned tagged = 0; tagged < 2; tagged++)
        for (unsigned ip_words = 5; ip_words <= 15; ip_words++) {
            fill(ip_words);
            expect_pulled(head(tagged, 17, ip_words, 0), 1000);
            for (unsigned tcp_words = 5; tcp_words <= 15; tcp_words++) {
                fill(ip_words * tcp_words);
                expect_pulled(head(tagged, 6, ip_words, tcp_words), 1514);
            }
        }
    end();
}

/* What says nothing of its length, or something absurd, arrives as it is. */
static void odd_headers_do_no_harm(void **state) {
    (void)state;
    begin(FULL);
    for (unsigned first = 0; first < 256; first++)
        for (unsigned length = 14; length < 160; length += 5) {
            fill(first);
            head(first & 1, 6, 5, 0);
            bytes[14] = bytes[18] = bytes[26] = (uint8_t)first;
            receive(length);
            put_kept();
        }
    end();
}

/* What is not needed for a small frame is free while it is held. */
static void small_frames_hold_small_buffers(void **state) {
    (void)state;
    begin(FULL);
    unsigned before = rx_pool.free_count;
    fill(1);
    receive(60);
    expect_equal(rx_pool.free_count, PULLS ? before : before - 1);
    end();
}

static void a_verdict_is_passed_on(void **state) {
    (void)state;
    prepare(FULL);
    config.checksum_offload = true;
    start();
    expect(model_write_descriptor(RX_START | RX_END | 2U << 22 | 300));
    poll_all();
    expect_equal(kept_count, 1);
    expect(kept[0]->flags & PLUMB_PACKET_CHECKSUM_GOOD);
    end();
}

#ifdef CONFIG_PLUMB_GEM_RX_PULL

static void without_small_buffers_frames_are_dropped(void **state) {
    struct plumb_packet *taken[BUFFERS];
    unsigned count = 0;

    (void)state;
    begin(FULL);
    while (small_pool.free_count)
        taken[count++] = plumb_packet_take(&small_pool, 0);
    fill(1);
    for (unsigned i = 0; i < 40; i++) {
        expect(model_receive(bytes, 700));
        poll_all();
    }
    expect_equal(kept_count, 0);
    expect_equal(counter(PLUMB_NETIF_rx_no_buffer), 40);
    expect_equal(rx_pool.free_count, rx_pool.count - RING);
    while (count)
        plumb_packet_put(taken[--count]);
    receive(700);
    end();
}

#endif

static void bad_configurations_are_refused(void **state) {
    (void)state;
#if defined(CONFIG_PLUMB_GEM_RX_SHIFT) || defined(CONFIG_PLUMB_GEM_RX_PULL)
    prepare(FULL);
    config.landing = PLUMB_LANDING_WORD;
    expect_equal(plumb_gem_create(&gem, &config), PLUMB_ERROR_INVALID);
#endif
#ifdef CONFIG_PLUMB_GEM_RX_SHIFT
    prepare(1472); /* a frame of 1518 bytes has no room to be moved in */
    expect_equal(plumb_gem_create(&gem, &config), PLUMB_ERROR_INVALID);
#endif
#ifdef CONFIG_PLUMB_GEM_RX_PULL
    prepare(FULL);
    config.rx_small = NULL;
    expect_equal(plumb_gem_create(&gem, &config), PLUMB_ERROR_INVALID);
    small_pool.capacity = 128;
    config.rx_small = &small_pool;
    expect_equal(plumb_gem_create(&gem, &config), PLUMB_ERROR_INVALID);
#endif
    prepare(FULL);
    expect_equal(plumb_gem_create(&gem, &config), PLUMB_OK);
}

HARNESS_MAIN(cmocka_unit_test(every_length_arrives_whole),
             cmocka_unit_test(held_frames_keep_their_bytes),
             cmocka_unit_test(headers_are_pulled_whole), cmocka_unit_test(odd_headers_do_no_harm),
             cmocka_unit_test(small_frames_hold_small_buffers),
             cmocka_unit_test(a_verdict_is_passed_on),
#ifdef CONFIG_PLUMB_GEM_RX_PULL
             cmocka_unit_test(without_small_buffers_frames_are_dropped),
#endif
             cmocka_unit_test(bad_configurations_are_refused))
