/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The driver on the model of its device: see gem_rig.h. */
#include "gem_rig.h"

#include <stdlib.h>
#include <string.h>

struct plumb_gem_descriptor rx_ring[RIG_RING + 1], tx_ring[RIG_RING + 1];
struct plumb_pool rx_pool;
struct plumb_gem gem;
struct plumb_gem_config config;
struct plumb_packet *kept[RIG_KEPT];
unsigned kept_count;
uint64_t now_us;
uint8_t bytes[2048];

static struct plumb_packet *rx_held[RIG_RING], *tx_held[RIG_RING];
static uint8_t *tx_mapped[RIG_RING];
static struct plumb_packet rx_packets[RIG_BUFFERS];

void prepare_rig(unsigned ring, uint16_t buffers, uint16_t buffer) {
    model_reset(rx_ring, tx_ring);
    kept_count = 0;
    now_us = 0;
    expect_equal(
        plumb_pool_create(&rx_pool, rx_packets, model_arena, buffers, buffer, &model.shadow.dma),
        PLUMB_OK);
    config = (struct plumb_gem_config){
        .name = "gem0",
        .registers = MODEL_BASE,
        .address = plumb_ethernet_address((const uint8_t[6]){2, 0, 0, 0, 0, 9}),
        .phy = PLUMB_GEM_PHY_ANY,
        .landing = PLUMB_LANDING_OFFSET,
        .dma = &model.shadow.dma,
        .rx_pool = &rx_pool,
        .rx_buffer = buffer,
        .rx = {rx_ring, MODEL_RX_RING, rx_held, NULL, ring},
        .tx = {tx_ring, MODEL_TX_RING, tx_held, tx_mapped, ring},
    };
}

static void keep(struct plumb_netif *netif, struct plumb_packet *packet) {
    (void)netif;
    assert_in_range(kept_count, 0, RIG_KEPT - 1);
    kept[kept_count++] = packet;
}

void start(void) {
    expect_equal(plumb_gem_create(&gem, &config), PLUMB_OK);
    expect_equal(rx_pool.free_count, rx_pool.count);
    gem.netif.input = keep;
    expect_equal(gem.netif.driver->start(&gem.netif), PLUMB_OK);
    expect_equal(rx_pool.free_count, rx_pool.count - config.rx.count);
}

void stop(void) {
    put_kept();
    gem.netif.driver->stop(&gem.netif);
    expect_equal(rx_pool.free_count, rx_pool.count);
}

void put_kept(void) {
    while (kept_count)
        plumb_packet_put(kept[--kept_count]);
}

unsigned poll_with(unsigned budget) {
    return gem.netif.driver->poll(&gem.netif, now_us += 10, budget);
}

unsigned poll_all(void) {
    unsigned all = 0, done;

    for (unsigned turns = 0; turns < 100; turns++) {
        all += done = poll_with(4);
        if (!done && !plumb_gem_pending(&gem))
            return all;
    }
    fail_msg("the driver never comes to rest");
    return 0;
}

uint32_t counter(enum plumb_netif_counter which) {
    return gem.netif.counters[which];
}

uint8_t byte_of(unsigned frame, unsigned index) {
    return (uint8_t)(frame * 31 + index * 7 + (index >> 8));
}

void fill(unsigned frame) {
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = byte_of(frame, i);
}

void expect_bytes(const struct plumb_packet *packet, unsigned length) {
    uint8_t found[2048];
    unsigned sum = 0;

    expect_equal((uintptr_t)packet->data % 4, gem.netif.landing == PLUMB_LANDING_OFFSET ? 2 : 0);
    expect_equal(packet->total, length);
    for (const struct plumb_packet *f = packet; f; f = f->more) {
        sum += f->length;
        expect(f->length || f == packet);
    }
    expect_equal(sum, length);
    expect_equal(plumb_packet_copy_out(packet, 0, found, sizeof found), length);
    for (unsigned i = 0; i < length; i++)
        if (found[i] != bytes[i])
            fail_msg("a frame of %u bytes differs at %u", length, i);
}

void put_some(unsigned *frames, unsigned *lengths, unsigned most) {
    while (kept_count > most || (kept_count && rand() % 3 == 0)) {
        unsigned i = (unsigned)rand() % kept_count;
        fill(frames[i]);
        expect_bytes(kept[i], lengths[i]);
        memset(kept[i]->data, 0xEE, kept[i]->length);
        kept[i]->dirty = true;
        plumb_packet_put(kept[i]);
        kept[i] = kept[--kept_count];
        frames[i] = frames[kept_count];
        lengths[i] = lengths[kept_count];
    }
}
