/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What this device makes of a receive offset, and of reading a statistics
 * register: found out by sending a frame to ourselves in the MAC's loopback,
 * into buffers so small that it takes two.
 *
 * Silicon pads a frame's first buffer only, which then holds less of the frame.
 * QEMU's model pads every buffer and still writes each one's full size, two
 * bytes into the next; with buffers that lie one behind the other those are the
 * next one's unused padding, and behind the last there is a guard. So in a pool
 * both leave the same image, but the probe's buffers do not touch.
 */
#include "internal.h"

enum {
    PROBE_BUFFER = 64, /* half of the smallest buffer of a pool, or less */
    PROBE_LENGTH = 100,
    POISON = 0xFF,
    WAIT_READS = 100000,
    ATTEMPTS = 3,
    LOCAL_EXPERIMENT = 0x88B5, /* ethertype, IEEE 802 */
};

/* To ourselves, from ourselves; behind the header each byte is its own index. */
static void write_frame(const struct plumb_gem *gem, uint8_t *bytes) {
    const uint8_t *address = (const uint8_t *)&gem->netif.address;

    for (unsigned i = 0; i < PROBE_LENGTH; i++)
        bytes[i] = i < 12 ? address[i % 6] : (uint8_t)i;
    bytes[12] = LOCAL_EXPERIMENT >> 8;
    bytes[13] = LOCAL_EXPERIMENT & 0xFF;
}

/* Hands what the processor wrote to a buffer to the device. */
static void sync(const struct plumb_gem *gem, struct plumb_packet *packet,
                 enum plumb_dma_direction direction) {
    packet->dirty = true;
    plumb_dma_sync_for_device(gem->config.dma, packet->owner.memory, PROBE_LENGTH, direction);
}

/* Queues a frame that lies in the ring's last buffer, which it does not reach,
 * and starts the device. */
static void send_frame(struct plumb_gem *gem) {
    struct plumb_gem_descriptor *tx = gem->config.tx.descriptors;
    struct plumb_packet **held = gem->config.rx.held;
    unsigned last = gem->config.rx.count - 1U;

    held[1]->owner.memory[0] = POISON;
    sync(gem, held[1], PLUMB_DMA_TO_DEVICE);
    write_frame(gem, held[last]->owner.memory);
    sync(gem, held[last], PLUMB_DMA_TO_DEVICE);
    tx->address = gem->config.rx.descriptors[last].address & ~RX_WRAP;
    tx->control = PROBE_LENGTH | TX_LAST;
    pl_gem_enable(gem, PROBE_BUFFER, NWCTRL_LOOPBACK);
    pl_gem_write(gem, NWCTRL, gem->control | NWCTRL_TX_START);
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

static const uint8_t *received(const struct plumb_gem *gem, unsigned index) {
    uint8_t *bytes = gem->config.rx.held[index]->owner.memory;

    plumb_dma_sync_for_cpu(gem->config.dma, bytes, PROBE_BUFFER, PLUMB_DMA_FROM_DEVICE);
    return bytes;
}

/* What the two buffers show; _ASSUMED: not our frame. */
static enum plumb_gem_offset judge(const struct plumb_gem *gem) {
    const uint8_t *first = received(gem, 0), *second = received(gem, 1);
    unsigned pad = gem->rx_pad;

    if (!pad)
        return PLUMB_GEM_OFFSET_UNUSED;
    if (first[20] == 20 && first[40] == 40)
        return PLUMB_GEM_OFFSET_ABSENT;
    if (first[pad + 20] != 20 || first[pad + 40] != 40)
        return PLUMB_GEM_OFFSET_ASSUMED;
    return second[0] == PROBE_BUFFER - pad ? PLUMB_GEM_OFFSET_FIRST : PLUMB_GEM_OFFSET_EVERY;
}

static int attempt(struct plumb_gem *gem, enum plumb_gem_offset *seen) {
    int result = pl_gem_rx_fill(gem);

    if (result != PLUMB_OK)
        return result;
    pl_gem_tx_clear(gem);
    send_frame(gem);
    if (wait_for_frame(gem))
        *seen = judge(gem);
    pl_gem_read(gem, RX_FRAMES);
    gem->statistics_stay = pl_gem_read(gem, RX_FRAMES) != 0;
    pl_gem_disable(gem);
    pl_gem_rx_empty(gem);
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
