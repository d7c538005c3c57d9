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
    WAIT_READS = 100000,
    ATTEMPTS = 3,
    LOCAL_EXPERIMENT = 0x88B5, /* ethertype, IEEE 802 */
};

static uint8_t *read_buffer(const struct plumb_gem *gem, unsigned index) {
    uint8_t *bytes = gem->config.rx.held[index]->owner.memory;

    plumb_dma_sync_for_cpu(gem->config.dma, bytes, PROBE_BUFFER, PLUMB_DMA_FROM_DEVICE);
    return bytes;
}

/* To ourselves, from ourselves; in the body each byte is its own index. */
static void write_frame(const struct plumb_gem *gem, uint8_t *bytes) {
    const uint8_t *address = (const uint8_t *)&gem->netif.address;

    for (unsigned i = 0; i < PROBE_LENGTH; i++)
        bytes[i] = (uint8_t)i;
    for (unsigned i = 0; i < 6; i++)
        bytes[i] = bytes[6 + i] = address[i];
    bytes[12] = LOCAL_EXPERIMENT >> 8;
    bytes[13] = LOCAL_EXPERIMENT & 0xFF;
}

/* Queues a frame that lies in the ring's last buffer, which the device loses to it, and
 * starts the device; returns where. `marker` is what would be first in the second buffer. */
static uint8_t *send_frame(struct plumb_gem *gem, uint8_t marker) {
    struct plumb_gem_descriptor *tx = gem->config.tx.descriptors;
    unsigned last = gem->config.rx.count - 1U;
    struct plumb_packet *source = gem->config.rx.held[last];
    uint8_t *bytes = source->owner.memory;

    gem->config.rx.descriptors[last].address |= RX_USED;
    plumb_dma_sync_for_cpu(gem->config.dma, bytes, PROBE_LENGTH, PLUMB_DMA_FROM_DEVICE);
    write_frame(gem, bytes);
    bytes[PROBE_BUFFER - gem->rx_pad] = marker;
    source->dirty = true;
    tx->address =
        (uint32_t)plumb_dma_map(gem->config.dma, bytes, PROBE_LENGTH, PLUMB_DMA_TO_DEVICE);
    tx->control = PROBE_LENGTH | TX_LAST;
    pl_gem_enable(gem, PROBE_BUFFER, NWCTRL_LOOPBACK);
    pl_gem_tx_start(gem);
    return bytes;
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

/* What the two buffers show; _ASSUMED: not our frame. */
static enum plumb_gem_offset judge(const struct plumb_gem *gem, uint8_t marker) {
    const uint8_t *first = read_buffer(gem, 0), *second = read_buffer(gem, 1);
    unsigned pad = gem->rx_pad;

    if (!pad)
        return PLUMB_GEM_OFFSET_UNUSED;
    if (first[pad + 20] == pad + 20)
        return PLUMB_GEM_OFFSET_ABSENT;
    if (first[pad + 20] != 20)
        return PLUMB_GEM_OFFSET_ASSUMED;
    return second[0] == marker ? PLUMB_GEM_OFFSET_FIRST : PLUMB_GEM_OFFSET_EVERY;
}

static int attempt(struct plumb_gem *gem) {
    int result = pl_gem_rx_fill(gem);

    if (result != PLUMB_OK)
        return result;
    pl_gem_tx_clear(gem);
    uint8_t marker = (uint8_t) ~*read_buffer(gem, 1);
    uint8_t *sent = send_frame(gem, marker);
    if (wait_for_frame(gem))
        gem->offset = (uint8_t)judge(gem, marker);
    pl_gem_read(gem, RX_FRAMES);
    gem->statistics_stay = pl_gem_read(gem, RX_FRAMES) != 0;
    pl_gem_disable(gem);
    plumb_dma_unmap(gem->config.dma, sent, PROBE_LENGTH, PLUMB_DMA_TO_DEVICE);
    pl_gem_rx_empty(gem);
    return PLUMB_OK;
}

static void conclude(struct plumb_gem *gem) {
    if (gem->offset == PLUMB_GEM_OFFSET_ABSENT) {
        gem->netif.landing = PLUMB_LANDING_WORD;
        gem->rx_pad = 0;
    }
    if (gem->offset == PLUMB_GEM_OFFSET_EVERY)
        gem->rx_more_pad = gem->rx_pad;
    gem->rx_first = gem->config.rx_buffer - gem->rx_pad + gem->rx_more_pad;
    gem->rx_whole = gem->rx_first < gem->frame_limit ? gem->rx_first : gem->frame_limit;
#ifdef CONFIG_PLUMB_GEM_RX_BREAK
    uint32_t room = gem->config.rx_copies->capacity - gem->rx_pad;
    gem->rx_break = room < gem->rx_whole ? room : gem->rx_whole;
#endif
}

int pl_gem_probe(struct plumb_gem *gem) {
    unsigned attempts = ATTEMPTS;
    int result = PLUMB_OK;

    gem->offset = PLUMB_GEM_OFFSET_ASSUMED;
    if (gem->rx_pad && (pl_gem_read(gem, DESIGN_CFG6) & CFG6_COALESCING))
        gem->offset = PLUMB_GEM_OFFSET_ABSENT;
    while (gem->offset == PLUMB_GEM_OFFSET_ASSUMED && attempts-- && result == PLUMB_OK)
        result = attempt(gem);
    conclude(gem);
    return result;
}

const char *plumb_gem_offset_text(enum plumb_gem_offset offset) {
    static const char *const texts[] = {"unused", "absent", "first", "every", "assumed"};
    return (unsigned)offset < sizeof texts / sizeof texts[0] ? texts[offset] : "unknown";
}
