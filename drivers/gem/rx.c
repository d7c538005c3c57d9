/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Reception. Owns the receive ring and the buffers it stands for, and the part
 * of a frame whose end has not come.
 *
 * What holds:
 *  - While started, every descriptor has a buffer, and every one not marked used
 *    is the device's. A buffer leaves the ring only against another: the
 *    replacement is taken first, and when there is none the frame is dropped,
 *    counted, and its buffers stay. So an empty pool costs frames, never the ring.
 *  - Descriptors are taken one by one in ring order, whatever they say. A frame
 *    that lost its end or its start is dropped and counted once.
 *  - A descriptor is published as control = 0, barrier, address.
 *
 * When the device has met a used descriptor it may stand still: silicon because
 * of a known hang, QEMU because it looks again only when reception is enabled
 * anew. Reception is then switched off, the ring drained, the queue's base set
 * again and reception switched on; that is right for a device that keeps its
 * place in the ring meanwhile and for one that begins again.
 */
#include "internal.h"

/* Off the path of a whole frame in one buffer. */
#define RARE __attribute__((cold, noinline))

static inline uint32_t bus_address(const struct plumb_gem *gem, const struct plumb_packet *packet) {
    return (uint32_t)((uintptr_t)packet->owner.memory + (uintptr_t)gem->bus_offset);
}

/* Lets the device have a buffer that was the processor's. One that nobody wrote
 * to has no lines that could overwrite what the device writes. */
static inline void give(const struct plumb_gem *gem, struct plumb_packet *packet) {
    if (packet->dirty) {
        packet->dirty = false;
        plumb_dma_sync_for_device(gem->config.dma, packet->owner.memory,
                                  gem->config.rx_pool->capacity, PLUMB_DMA_FROM_DEVICE);
    }
}

/* Puts `packet` into descriptor `index`, which is the device's from then on. */
static inline void publish(struct plumb_gem *gem, unsigned index, struct plumb_packet *packet,
                           uint32_t wrap) {
    struct plumb_gem_descriptor *descriptor = &gem->config.rx.descriptors[index];

    gem->config.rx.held[index] = packet;
    descriptor->control = 0;
    gem_write_barrier();
    descriptor->address = bus_address(gem, packet) | wrap;
}

static inline void step(struct plumb_gem *gem, unsigned index, uint32_t wrap) {
    gem->rx_next = (uint16_t)(wrap ? 0 : index + 1U);
}

/* Puts `fresh` in the place of the buffer at the ring's head, which is returned
 * with `length` of its bytes the processor's, and steps on. */
static inline struct plumb_packet *exchange(struct plumb_gem *gem, uint32_t address,
                                            struct plumb_packet *fresh, size_t length) {
    unsigned index = gem->rx_next;
    struct plumb_packet *packet = gem->config.rx.held[index];

    give(gem, fresh);
    publish(gem, index, fresh, address & RX_WRAP);
    step(gem, index, address & RX_WRAP);
    plumb_dma_sync_for_cpu(gem->config.dma, packet->owner.memory, length, PLUMB_DMA_FROM_DEVICE);
    return packet;
}

/* Gives the buffer at the ring's head back to the device, unread. */
static RARE void recycle(struct plumb_gem *gem) {
    unsigned index = gem->rx_next;
    uint32_t wrap = gem->config.rx.descriptors[index].address & RX_WRAP;

    publish(gem, index, gem->config.rx.held[index], wrap);
    step(gem, index, wrap);
}

static inline void mark_checksum(const struct plumb_gem *gem, struct plumb_packet *packet,
                                 uint32_t control) {
    if ((gem->netif.capabilities & PLUMB_CAPABILITY_RX_CHECKSUM) &&
        RX_CHECKSUM(control) >= RX_CHECKSUM_TCP)
        packet->flags |= PLUMB_PACKET_CHECKSUM_GOOD;
}

static inline void pass_up(struct plumb_gem *gem, struct plumb_packet *packet, uint32_t control) {
    mark_checksum(gem, packet, control);
    plumb_netif_count(&gem->netif, PLUMB_NETIF_rx_frames);
    gem->netif.input(&gem->netif, packet);
}

/* Drops the frame that is being collected; the rest of it, up to `ended`, too. */
static RARE void drop(struct plumb_gem *gem, enum plumb_netif_counter counter, bool ended) {
    plumb_netif_count(&gem->netif, counter);
    plumb_packet_put(gem->rx_head);
    gem->rx_head = gem->rx_tail = NULL;
    gem->rx_dropping = !ended;
}

/* The frame bytes in the next buffer of the frame being collected, which `control`
 * describes: all that fit, but in the last what is left. 0: the length is impossible. */
static unsigned fragment_length(const struct plumb_gem *gem, uint32_t control) {
    unsigned total = control & RX_LENGTH;
    unsigned before = gem->rx_head ? gem->rx_head->total : 0;
    unsigned room = gem->config.rx_buffer;

    if (!gem->rx_head)
        room = gem->rx_first;
    else if (gem->offset != PLUMB_GEM_OFFSET_EVERY)
        room -= gem->rx_more_pad;
    if (!(control & RX_END))
        return room;
    return total > before && total - before <= room ? total - before : 0;
}

static void append(struct plumb_gem *gem, struct plumb_packet *fragment, unsigned length) {
    bool first = !gem->rx_head;

    fragment->data = fragment->owner.memory + (first ? gem->rx_pad : gem->rx_more_pad);
    fragment->length = (uint16_t)length;
    if (first) {
        gem->rx_head = fragment;
        fragment->total = 0;
    } else {
        gem->rx_tail->more = fragment;
    }
    gem->rx_tail = fragment;
    gem->rx_head->total = (uint16_t)(gem->rx_head->total + length);
}

/* One buffer of a frame in several. Returns whether it was the frame's last. */
static bool take_fragment(struct plumb_gem *gem, uint32_t address, uint32_t control) {
    bool ended = control & RX_END;
    unsigned length = fragment_length(gem, control);
    unsigned before = gem->rx_head ? gem->rx_head->total : 0;

    if (before + length > gem->rx_limit || !length) {
        recycle(gem);
        drop(gem, length ? PLUMB_NETIF_rx_too_long : PLUMB_NETIF_rx_error, ended);
        return ended;
    }
    struct plumb_packet *fresh = plumb_packet_take(gem->config.rx_pool, 0);
    if (!fresh) {
        recycle(gem);
        drop(gem, PLUMB_NETIF_rx_no_buffer, ended);
        return ended;
    }
    append(gem, exchange(gem, address, fresh, length + gem->rx_pad), length);
    if (ended) {
        struct plumb_packet *frame = gem->rx_head;
        gem->rx_head = gem->rx_tail = NULL;
        pass_up(gem, frame, control);
    }
    return ended;
}

/* A descriptor that is not a whole frame. Returns whether a frame ended with it. */
static RARE bool take_part(struct plumb_gem *gem, uint32_t address, uint32_t control) {
    bool ended = control & RX_END;

    if (control & RX_START) {
        if (gem->rx_head)
            drop(gem, PLUMB_NETIF_rx_orphan, true);
        gem->rx_dropping = false;
    } else if (gem->rx_dropping) {
        gem->rx_dropping = !ended;
        recycle(gem);
        return ended;
    } else if (!gem->rx_head) {
        recycle(gem);
        drop(gem, PLUMB_NETIF_rx_orphan, ended);
        return ended;
    }
    return take_fragment(gem, address, control);
}

/* A frame of impossible length, or without a replacement for its buffer. */
static RARE void refuse(struct plumb_gem *gem, unsigned length) {
    enum plumb_netif_counter counter = PLUMB_NETIF_rx_no_buffer;

    if (length > gem->rx_limit)
        counter = PLUMB_NETIF_rx_too_long;
    else if (!length || length > gem->rx_first)
        counter = PLUMB_NETIF_rx_error;
    recycle(gem);
    plumb_netif_count(&gem->netif, counter);
}

/* A frame in one buffer: nearly all are. */
static inline void take_whole(struct plumb_gem *gem, uint32_t address, uint32_t control) {
    unsigned length = control & RX_LENGTH;
    struct plumb_packet *fresh = NULL, *packet;

    if (length - 1 < gem->rx_whole)
        fresh = plumb_packet_take(gem->config.rx_pool, 0);
    if (!fresh) {
        refuse(gem, length);
        return;
    }
    packet = exchange(gem, address, fresh, length + gem->rx_pad);
    packet->data = packet->owner.memory + gem->rx_pad;
    packet->length = packet->total = (uint16_t)length;
    pass_up(gem, packet, control);
}

static inline bool take_next(struct plumb_gem *gem, uint32_t address, uint32_t control) {
    if ((control & (RX_START | RX_END)) != (RX_START | RX_END) || gem->rx_head)
        return take_part(gem, address, control);
    gem->rx_dropping = false;
    take_whole(gem, address, control);
    return true;
}

/* Did the device run out of descriptors, or was it overrun? Then it is stopped. */
static bool stop_when_stuck(struct plumb_gem *gem) {
    uint32_t status = pl_gem_read(gem, RXSR) & RXSR_STOPS;

    if (!status)
        return false;
    pl_gem_write(gem, RXSR, RXSR_ALL);
    plumb_netif_count(&gem->netif,
                      status & RXSR_BUS_ERROR ? PLUMB_NETIF_rx_error : PLUMB_NETIF_rx_overrun);
    gem->rx_stopped = true;
    gem->control &= ~NWCTRL_RX;
    pl_gem_write(gem, NWCTRL, gem->control);
    return true;
}

/* The ring is drained: from its top again. */
static void restart(struct plumb_gem *gem) {
    if (gem->rx_head)
        drop(gem, PLUMB_NETIF_rx_orphan, true);
    gem->rx_dropping = false;
    gem->rx_stopped = false;
    gem->rx_next = 0;
    pl_gem_write(gem, RXQBASE, (uint32_t)gem->config.rx.bus);
    gem_write_barrier();
    gem->control |= NWCTRL_RX;
    pl_gem_write(gem, NWCTRL, gem->control);
    plumb_netif_count(&gem->netif, PLUMB_NETIF_rx_restart);
}

/* The ring looks drained. Returns whether to look again: once after the device
 * was stopped, for what it wrote before, and once after it was started. */
static RARE bool look_again(struct plumb_gem *gem, bool *restarted) {
    if (*restarted)
        return false;
    if (!gem->rx_stopped)
        return stop_when_stuck(gem);
    restart(gem);
    *restarted = true;
    return true;
}

/* Dropped frames count as work done, or a flood into an empty pool would never
 * let go. The device's status is read after the ring was drained: a ring that
 * filled up meanwhile shows by its descriptors. */
unsigned pl_gem_rx_poll(struct plumb_gem *gem, unsigned budget) {
    unsigned done = 0;
    bool restarted = false;

    while (done < budget) {
        const struct plumb_gem_descriptor *descriptor = &gem->config.rx.descriptors[gem->rx_next];
        uint32_t address = descriptor->address;
        if (address & RX_USED) {
            gem_read_barrier();
            done += take_next(gem, address, descriptor->control);
        } else if (!look_again(gem, &restarted)) {
            break;
        }
    }
    return done;
}

/* Maps every buffer of the pool once, and finds how to get from a buffer's
 * address to the device's: a constant, or the pool is refused. */
int pl_gem_rx_map(struct plumb_gem *gem) {
    struct plumb_pool *pool = gem->config.rx_pool;
    struct plumb_packet *all = NULL, *packet;
    int result = PLUMB_OK;

    while ((packet = plumb_packet_take(pool, 0)) != NULL) {
        uint8_t *memory = packet->owner.memory;
        uintptr_t bus =
            plumb_dma_map(gem->config.dma, memory, pool->capacity, PLUMB_DMA_FROM_DEVICE);
        if (!all)
            gem->bus_offset = (intptr_t)(bus - (uintptr_t)memory);
        if ((uint64_t)bus >> 32 || bus - (uintptr_t)memory != (uintptr_t)gem->bus_offset)
            result = PLUMB_ERROR_INVALID;
        packet->dirty = false;
        packet->next = all;
        all = packet;
    }
    while (all) {
        packet = all;
        all = all->next;
        plumb_packet_put(packet);
    }
    return result;
}

int pl_gem_rx_fill(struct plumb_gem *gem) {
    const struct plumb_gem_ring *ring = &gem->config.rx;

    for (unsigned i = 0; i < ring->count; i++)
        ring->held[i] = NULL;
    for (unsigned i = 0; i < ring->count; i++) {
        struct plumb_packet *packet = plumb_packet_take(gem->config.rx_pool, 0);
        if (!packet) {
            pl_gem_rx_empty(gem);
            return PLUMB_ERROR_NO_BUFFER;
        }
        give(gem, packet);
        publish(gem, i, packet, i + 1U == ring->count ? RX_WRAP : 0);
    }
    gem->rx_next = 0;
    gem->rx_stopped = gem->rx_dropping = false;
    return PLUMB_OK;
}

/* The device no longer receives: every buffer goes back to the pool. */
void pl_gem_rx_empty(struct plumb_gem *gem) {
    const struct plumb_gem_ring *ring = &gem->config.rx;

    plumb_packet_put(gem->rx_head);
    gem->rx_head = gem->rx_tail = NULL;
    for (unsigned i = 0; i < ring->count; i++) {
        ring->descriptors[i].address = RX_USED | (i + 1U == ring->count ? RX_WRAP : 0);
        plumb_packet_put(ring->held[i]);
        ring->held[i] = NULL;
    }
}
