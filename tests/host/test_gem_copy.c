/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Received frames that the driver hands up as copies, over the model of the device and its
 * caches that lie. Built once for each way (see CMakeLists.txt): as
 *   test_gem_copy           none is copied
 *   test_gem_copy_break     small frames are; _parts as where no buffer holds a whole frame
 *   test_gem_copy_linear    all are, in one piece
 *   test_gem_copy_unpadded  all are, and the device writes them on words
 */
#include "gem_rig.h"

#include <stdlib.h>

enum { RING = 32, BUFFERS = 64, COPIES = 8, PART = 128, WHOLE = 1536, FULL = 1518 };

#ifdef CONFIG_PLUMB_GEM_RX_LINEAR
#define LINEAR true
enum { COPY = 1536 };
#else
#define LINEAR false
enum { COPY = 128 };
#endif
#ifdef CONFIG_PLUMB_GEM_RX_BREAK
#define BREAKS true
#else
#define BREAKS false
#endif
#ifdef CONFIG_PLUMB_GEM_RX_LINEAR_UNPADDED
#define PADDED false
#else
#define PADDED true
#endif
#define COPIES_EXIST (LINEAR || BREAKS)

static struct plumb_packet copy_packets[COPIES];
static struct plumb_pool copies;

static void prepare(uint16_t buffer) {
    prepare_rig(RING, BUFFERS, buffer);
    expect_equal(plumb_pool_create(&copies, copy_packets, model_arena + 128 * 1024, COPIES, COPY,
                                   &model.shadow.dma),
                 PLUMB_OK);
#ifdef CONFIG_PLUMB_GEM_RX_COPIES
    config.rx_copies = &copies;
#endif
}

static void begin(uint16_t buffer, bool pad_every) {
    prepare(buffer);
    model.pad_every = model.shadow.coherent = pad_every; /* it writes into the next */
    start();
    expect_equal(gem.offset, !PADDED     ? PLUMB_GEM_OFFSET_UNUSED
                             : pad_every ? PLUMB_GEM_OFFSET_EVERY
                                         : PLUMB_GEM_OFFSET_FIRST);
    expect_equal(gem.netif.landing, PLUMB_LANDING_OFFSET);
}

static void end(void) {
    stop();
    expect_equal(copies.free_count, copies.count);
}

static bool is_copied(unsigned length) {
    return LINEAR || (BREAKS && length <= PART - 2);
}

static void expect_frame(const struct plumb_packet *packet, unsigned length, bool copied) {
    assert_ptr_equal(packet->pool, copied ? &copies : &rx_pool);
    if (copied)
        expect(!packet->more);
    expect_bytes(packet, length);
}

/* ---- tests ---- */

static void every_length(uint16_t buffer, bool pad_every) {
    begin(buffer, pad_every);
    for (unsigned length = 14; length <= FULL; length++) {
        fill(length);
        expect(model_receive(bytes, length));
        poll_all();
        expect_equal(kept_count, 1);
        expect_frame(kept[0], length, is_copied(length));
        put_kept();
    }
    expect_equal(counter(PLUMB_NETIF_rx_frames), FULL - 13);
    end();
}

static void every_length_arrives_whole(void **state) {
    (void)state;
    every_length(PART, false);
    every_length(PART, true);
    every_length(WHOLE, false);
    every_length(320, true);
}

/* Copies are held, written to and given back while the ring goes round and lines are lost. */
static void held_frames_keep_their_bytes(void **state) {
    unsigned numbers[RIG_KEPT], lengths[RIG_KEPT];

    (void)state;
    begin(PART, false);
    srand(11);
    for (unsigned frame = 0; frame < 3000; frame++) {
        unsigned length = 14 + (unsigned)rand() % (rand() % 2 ? 150 : 300), before = kept_count;
        fill(frame);
        expect(model_receive(bytes, length));
        poll_all();
        expect_equal(kept_count, before + 1);
        expect_frame(kept[before], length, is_copied(length));
        numbers[before] = frame;
        lengths[before] = length;
        shadow_dma_disturb(&model.shadow);
        put_some(numbers, lengths, 4);
    }
    expect_equal(counter(PLUMB_NETIF_rx_frames), 3000);
    end();
}

/* What was copied left its buffers in the ring. */
static void copied_frames_hold_no_receive_buffer(void **state) {
    (void)state;
    begin(PART, false);
    unsigned before = rx_pool.free_count;
    fill(1);
    expect(model_receive(bytes, 60));
    poll_all();
    expect_equal(rx_pool.free_count, COPIES_EXIST ? before : before - 1);
    put_kept();
    expect(model_receive(bytes, 1000));
    poll_all();
    expect_equal(rx_pool.free_count, LINEAR ? before : before - 8);
    end();
}

/* Without a packet for the copy a small frame is handed up where it lies; one that has to be
 * copied is dropped and counted, and the next arrives. */
static void without_copies_nothing_is_lost_that_need_not_be(void **state) {
    struct plumb_packet *taken[COPIES];
    unsigned count = 0;

    (void)state;
    begin(PART, false);
    while (copies.free_count)
        taken[count++] = plumb_packet_take(&copies, 0);
    fill(3);
    for (unsigned i = 0; i < 100; i++) {
        unsigned length = i % 2 ? 100 : 700;
        expect(model_receive(bytes, length));
        poll_all();
        expect_equal(kept_count, LINEAR ? 0 : 1);
        if (!LINEAR)
            expect_frame(kept[0], length, false);
        put_kept();
    }
    expect_equal(counter(PLUMB_NETIF_rx_no_buffer), LINEAR ? 100 : 0);
    while (count)
        plumb_packet_put(taken[--count]);
    expect(model_receive(bytes, 700));
    poll_all();
    expect_frame(kept[0], 700, is_copied(700));
    end();
}

/* Descriptors as a device should not write them: each frame that is lost is counted, and what
 * comes after it arrives. */
static void broken_frames_are_dropped_once(void **state) {
    (void)state;
    begin(PART, false);
    fill(5);
    const struct {
        uint32_t controls[3];
        enum plumb_netif_counter counted;
    } broken[] = {
        {{RX_START, RX_END | 60}, PLUMB_NETIF_rx_error},             /* ends before it began */
        {{RX_START, RX_END | 1000}, PLUMB_NETIF_rx_error},           /* longer than its buffers */
        {{RX_END | 60}, PLUMB_NETIF_rx_orphan},                      /* no start */
        {{RX_START, RX_START, RX_END | 200}, PLUMB_NETIF_rx_orphan}, /* the first has no end */
        {{RX_START, RX_START | RX_END | 60}, PLUMB_NETIF_rx_orphan}, /* nor before a small one */
        {{RX_START | RX_END}, PLUMB_NETIF_rx_error},                 /* nothing in it */
    };
    for (unsigned i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        unsigned before = gem.netif.counters[broken[i].counted];
        for (unsigned k = 0; k < 3 && broken[i].controls[k]; k++)
            expect(model_write_descriptor(broken[i].controls[k]));
        poll_all();
        expect_equal(gem.netif.counters[broken[i].counted], before + 1);
        put_kept();
        expect(model_receive(bytes, 300));
        poll_all();
        expect_equal(kept_count, 1);
        expect_frame(kept[0], 300, is_copied(300));
        put_kept();
    }
    for (unsigned i = 0; i < 20; i++) /* a frame that never ends */
        expect(model_write_descriptor(i ? 0 : RX_START));
    poll_all();
    expect_equal(counter(PLUMB_NETIF_rx_too_long), 1);
    expect(model_receive(bytes, 300));
    poll_all();
    expect_equal(kept_count, 1);
    end();
}

static void a_stop_gives_back_what_was_being_collected(void **state) {
    (void)state;
    begin(PART, false);
    expect(model_write_descriptor(RX_START));
    poll_all();
    end();
}

static void a_verdict_is_passed_on(void **state) {
    (void)state;
    prepare(PART);
    config.checksum_offload = true;
    start();
    expect(model_write_descriptor(RX_START | RX_END | 2U << 22 | 100));
    poll_all();
    expect_equal(kept_count, 1);
    expect(kept[0]->flags & PLUMB_PACKET_CHECKSUM_GOOD);
    end();
}

static void bad_configurations_are_refused(void **state) {
    (void)state;
    prepare(PART);
#ifdef CONFIG_PLUMB_GEM_RX_COPIES
    config.rx_copies = NULL;
    expect_equal(plumb_gem_create(&gem, &config), PLUMB_ERROR_INVALID);
    config.rx_copies = &copies;
    copies.capacity = LINEAR ? 1518 : 120;
    expect_equal(plumb_gem_create(&gem, &config), PLUMB_ERROR_INVALID);
    copies.capacity = COPY;
#endif
    expect_equal(plumb_gem_create(&gem, &config), PLUMB_OK);
}

HARNESS_MAIN(cmocka_unit_test(every_length_arrives_whole),
             cmocka_unit_test(held_frames_keep_their_bytes),
             cmocka_unit_test(copied_frames_hold_no_receive_buffer),
             cmocka_unit_test(without_copies_nothing_is_lost_that_need_not_be),
             cmocka_unit_test(broken_frames_are_dropped_once),
             cmocka_unit_test(a_stop_gives_back_what_was_being_collected),
             cmocka_unit_test(a_verdict_is_passed_on),
             cmocka_unit_test(bad_configurations_are_refused))
