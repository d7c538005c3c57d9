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
    PROBE_HALF = 100, /* the frame is the same bytes twice: they fit any buffer */
    COMPARED = 8,
    WAIT_READS = 100000,
    ATTEMPTS = 3,
    LOCAL_EXPERIMENT = 0x88B5, /* ethertype, IEEE 802 */
};

/* To ourselves, from ourselves; behind the header each byte is its own index. */
static void write_half(const struct plumb_gem *gem, uint8_t *bytes) {
    const uint8_t *address = (const uint8_t *)&gem->netif.address;

    for (unsigned i = 0; i < PROBE_HALF; i++)
        bytes[i] = (uint8_t)i;
    for (unsigned i = 0; i < 6; i++)
        bytes[i] = bytes[6 + i] = address[i];
    bytes[12] = LOCAL_EXPERIMENT >> 8;
    bytes[13] = LOCAL_EXPERIMENT & 0xFF;
}

/* Queues the frame straight from a buffer of the receive ring that it does not
 * reach, and starts the device. */
static const uint8_t *send_frame(struct plumb_gem *gem) {
    struct plumb_gem_descriptor *tx = gem->config.tx.descriptors;
    unsigned last = gem->config.rx.count - 1U;
    struct plumb_packet *source = gem->config.rx.held[last];

    write_half(gem, source->owner.memory);
    source->dirty = true;
    plumb_dma_sync_for_device(gem->config.dma, source->owner.memory, PROBE_HALF,
                              PLUMB_DMA_TO_DEVICE);
    tx[0].address = tx[1].address = gem->config.rx.descriptors[last].address & ~RX_WRAP;
    tx[1].control = PROBE_HALF | TX_LAST;
    tx[0].control = PROBE_HALF;
    gem_write_barrier();
    pl_gem_enable(gem, PROBE_BUFFER, NWCTRL_LOOPBACK);
    pl_gem_write(gem, NWCTRL, gem->control | NWCTRL_TX_START);
    return source->owner.memory;
}

static bool wait_for_frame(const struct plumb_gem *gem) {
    for (unsigned i = 0; i < WAIT_READS; i++) {
        pl_gem_read(gem, RXSR); /* a read of a register takes its time on every clock */
        if (gem->config.rx.descriptors[1].address & RX_USED) {
            gem_read_barrier();
            return true;
        }
    }
    return false;
}

/* Does the frame, from its byte `from` on, lie at `at` of buffer `index`? */
static bool holds(const struct plumb_gem *gem, const uint8_t *half, unsigned index, unsigned at,
                  unsigned from) {
    uint8_t *bytes = gem->config.rx.held[index]->owner.memory;

    plumb_dma_sync_for_cpu(gem->config.dma, bytes, PROBE_BUFFER, PLUMB_DMA_FROM_DEVICE);
    for (unsigned i = 0; i < COMPARED; i++)
        if (bytes[at + i] != half[from % PROBE_HALF + i])
            return false;
    return true;
}

/* What the two buffers show; _ASSUMED: not our frame. */
static enum plumb_gem_offset judge(const struct plumb_gem *gem, const uint8_t *half) {
    unsigned pad = gem->rx_pad;

    if (!pad)
        return PLUMB_GEM_OFFSET_UNUSED;
    if (holds(gem, half, 0, 0, 0))
        return PLUMB_GEM_OFFSET_ABSENT;
    if (!holds(gem, half, 0, pad, 0))
        return PLUMB_GEM_OFFSET_ASSUMED;
    if (holds(gem, half, 1, 0, PROBE_BUFFER - pad))
        return PLUMB_GEM_OFFSET_FIRST;
    if (holds(gem, half, 1, pad, PROBE_BUFFER))
        return PLUMB_GEM_OFFSET_EVERY;
    return PLUMB_GEM_OFFSET_ASSUMED;
}

/* Makes the first two buffers lie apart: in adjacent ones a pad of the first
 * alone and a pad of both leave the same image. */
static void part_buffers(struct plumb_gem *gem) {
    struct plumb_packet **held = gem->config.rx.held;
    struct plumb_packet *second = held[1];

    pl_gem_rx_publish(gem, 1, held[2]);
    pl_gem_rx_publish(gem, 2, second);
    if (held[1]->owner.memory == held[0]->owner.memory + gem->config.rx_pool->capacity) {
        pl_gem_rx_publish(gem, 2, held[1]);
        pl_gem_rx_publish(gem, 1, second);
    }
}

static int attempt(struct plumb_gem *gem, enum plumb_gem_offset *seen) {
    int result = pl_gem_rx_fill(gem);

    if (result != PLUMB_OK)
        return result;
    part_buffers(gem);
    pl_gem_tx_clear(gem);
    const uint8_t *half = send_frame(gem);
    if (wait_for_frame(gem))
        *seen = judge(gem, half);
    pl_gem_read(gem, RX_FRAMES);
    gem->statistics_stay = pl_gem_read(gem, RX_FRAMES) != 0;
    pl_gem_disable(gem);
    pl_gem_rx_empty(gem);
    pl_gem_tx_clear(gem);
    return PLUMB_OK;
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
