/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What this device makes of a receive offset, and of reading a statistics
 * register: found out by sending a frame to ourselves in the MAC's loopback,
 * through 128-byte buffers, so that it takes two.
 *
 * Silicon pads a frame's first buffer only, which then holds less of the frame.
 * QEMU's model pads every buffer and still writes each one's full size, two
 * bytes into the next; with buffers that lie one behind the other those are the
 * next one's unused padding, and behind the last there is a guard.
 */
#include "internal.h"

enum {
    PROBE_BUFFER = 128,
    PROBE_LENGTH = 200, /* in two fragments, each shorter than the smallest buffer */
    PROBE_HALF = PROBE_LENGTH / 2,
    ETHERNET_HEADER = 14,
    COMPARED = 8,
    WAIT_READS = 100000,
    ATTEMPTS = 3,
    LOCAL_EXPERIMENT = 0x88B5, /* ethertype, IEEE 802 */
};

static uint8_t pattern(const struct plumb_gem *gem, unsigned index) {
    const uint8_t *address = (const uint8_t *)&gem->netif.address;

    if (index < 12)
        return address[index % 6];
    if (index < ETHERNET_HEADER)
        return (uint8_t)(index == 12 ? LOCAL_EXPERIMENT >> 8 : LOCAL_EXPERIMENT & 0xFF);
    return (uint8_t)index;
}

static struct plumb_packet *make_half(const struct plumb_gem *gem, unsigned from) {
    struct plumb_packet *half = plumb_packet_take(gem->config.rx_pool, 0);

    if (!half)
        return NULL;
    for (unsigned i = 0; i < PROBE_HALF; i++)
        half->data[i] = pattern(gem, from + i);
    half->dirty = true;
    half->length = PROBE_HALF;
    half->total = PROBE_LENGTH;
    return half;
}

static struct plumb_packet *make_frame(const struct plumb_gem *gem) {
    struct plumb_packet *frame = make_half(gem, 0);
    struct plumb_packet *rest = make_half(gem, PROBE_HALF);

    if (frame && rest) {
        frame->more = rest;
        return frame;
    }
    plumb_packet_put(frame);
    plumb_packet_put(rest);
    return NULL;
}

static bool wait_for_frame(const struct plumb_gem *gem) {
    const struct plumb_gem_descriptor *second = &gem->config.rx.descriptors[1];

    for (unsigned i = 0; i < WAIT_READS; i++) {
        pl_gem_read(gem, RXSR); /* a read of a register takes its time on every clock */
        if (second->address & RX_USED) {
            gem_read_barrier();
            return true;
        }
    }
    return false;
}

static bool holds(const struct plumb_gem *gem, unsigned buffer, unsigned at, unsigned from) {
    const uint8_t *bytes = gem->config.rx.held[buffer]->owner.memory + at;

    for (unsigned i = 0; i < COMPARED; i++)
        if (bytes[i] != pattern(gem, from + i))
            return false;
    return true;
}

/* What the two buffers show; _ASSUMED: not our frame. */
static enum plumb_gem_offset judge(const struct plumb_gem *gem) {
    unsigned pad = gem->rx_pad;

    for (unsigned i = 0; i < 2; i++)
        plumb_dma_sync_for_cpu(gem->config.dma, gem->config.rx.held[i]->owner.memory, PROBE_BUFFER,
                               PLUMB_DMA_FROM_DEVICE);
    if (!pad)
        return PLUMB_GEM_OFFSET_UNUSED;
    if (holds(gem, 0, pad, 0) && holds(gem, 1, 0, PROBE_BUFFER - pad))
        return PLUMB_GEM_OFFSET_FIRST;
    if (holds(gem, 0, pad, 0) && holds(gem, 1, pad, PROBE_BUFFER))
        return PLUMB_GEM_OFFSET_EVERY;
    if (holds(gem, 0, 0, 0))
        return PLUMB_GEM_OFFSET_ABSENT;
    return PLUMB_GEM_OFFSET_ASSUMED;
}

static enum plumb_gem_offset send_and_judge(struct plumb_gem *gem, struct plumb_packet *frame) {
    enum plumb_gem_offset seen = PLUMB_GEM_OFFSET_ASSUMED;

    pl_gem_tx_clear(gem);
    pl_gem_enable(gem, PROBE_BUFFER, NWCTRL_LOOPBACK);
    if (pl_gem_transmit(&gem->netif, frame) == PLUMB_OK) {
        pl_gem_flush(&gem->netif);
        if (wait_for_frame(gem))
            seen = judge(gem);
    }
    pl_gem_read(gem, RX_FRAMES);
    gem->statistics_stay = pl_gem_read(gem, RX_FRAMES) != 0;
    pl_gem_disable(gem);
    pl_gem_tx_empty(gem);
    return seen;
}

/* Makes the first two buffers lie apart: in adjacent ones a pad of the first
 * alone and a pad of both leave the same image. */
static void part_buffers(struct plumb_gem *gem) {
    struct plumb_packet **held = gem->config.rx.held;
    struct plumb_packet *second = held[1];

    if (second->owner.memory == held[0]->owner.memory + gem->config.rx_pool->capacity) {
        pl_gem_rx_publish(gem, 1, held[2]);
        pl_gem_rx_publish(gem, 2, second);
    }
}

static int attempt(struct plumb_gem *gem, enum plumb_gem_offset *seen) {
    struct plumb_packet *frame = make_frame(gem);
    int result = frame ? pl_gem_rx_fill(gem) : PLUMB_ERROR_NO_BUFFER;

    if (result == PLUMB_OK) {
        part_buffers(gem);
        *seen = send_and_judge(gem, frame);
        pl_gem_rx_empty(gem);
    }
    plumb_packet_put(frame);
    return result;
}

static void conclude(struct plumb_gem *gem, enum plumb_gem_offset seen) {
    gem->offset = (uint8_t)seen;
    if (seen == PLUMB_GEM_OFFSET_ABSENT) {
        gem->netif.landing = PLUMB_LANDING_WORD;
        gem->rx_pad = 0;
    }
    gem->rx_more_pad = seen == PLUMB_GEM_OFFSET_EVERY ? gem->rx_pad : 0;
    gem->rx_first = (uint16_t)(gem->config.rx_buffer - gem->rx_pad + gem->rx_more_pad);
    gem->rx_whole = gem->rx_first < gem->rx_limit ? gem->rx_first : gem->rx_limit;
    gem->netif.counters[PLUMB_NETIF_tx_frames] = 0;
}

int pl_gem_probe(struct plumb_gem *gem) {
    enum plumb_gem_offset seen = PLUMB_GEM_OFFSET_ASSUMED;
    int result = PLUMB_OK;

    if (gem->rx_pad && (pl_gem_read(gem, DESIGN_CFG6) & CFG6_COALESCING)) {
        conclude(gem, PLUMB_GEM_OFFSET_ABSENT);
        return PLUMB_OK;
    }
    for (unsigned i = 0; i < ATTEMPTS && seen == PLUMB_GEM_OFFSET_ASSUMED && !result; i++)
        result = attempt(gem, &seen);
    conclude(gem, seen);
    return result;
}

const char *plumb_gem_offset_text(enum plumb_gem_offset offset) {
    static const char *const texts[] = {"unused", "absent", "first", "every", "assumed"};
    return (unsigned)offset < sizeof texts / sizeof texts[0] ? texts[offset] : "unknown";
}
