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
#include "rx_copy.h"
#include "rx_frame.h"

/* Off the path of a whole frame in one buffer. */
#define RARE __attribute__((cold, noinline))
/* And of its parts, where a buffer holds no whole one. */
#if CONFIG_PLUMB_GEM_RX_BUFFER < 1518
#define PART
#else
#define PART RARE
#endif

static inline uint32_t bus_address(const struct plumb_gem *gem, const struct plumb_packet *packet) {
    return (uint32_t)((uintptr_t)packet->owner.memory + gem->bus_offset);
}

/* A buffer that nobody wrote to since it last was the device's has no lines that could
 * overwrite what the device writes. Returns the packet, so that nobody has to keep it. */
static RARE struct plumb_packet *clean(struct plumb_gem *gem, struct plumb_packet *packet) {
    packet->dirty = false;
    plumb_dma_sync_for_device(gem->config.dma, packet->owner.memory, gem->config.rx_pool->capacity,
                              PLUMB_DMA_FROM_DEVICE);
    return packet;
}

/* Puts a clean `packet` into descriptor `index`, which is the device's from then on. */
static inline void publish_clean(struct plumb_gem *gem, struct plumb_gem_descriptor *descriptor,
                                 unsigned index, struct plumb_packet *packet, uint32_t wrap) {
    gem->config.rx.held[index] = packet;
    descriptor->control = 0;
    gem_write_barrier();
    descriptor->address = bus_address(gem, packet) | wrap;
}

static inline void publish(struct plumb_gem *gem, struct plumb_gem_descriptor *descriptor,
                           unsigned index, struct plumb_packet *packet, uint32_t wrap) {
    if (packet->dirty)
        packet = clean(gem, packet);
    publish_clean(gem, descriptor, index, packet, wrap);
}

static inline void step(struct plumb_gem *gem, unsigned index, uint32_t wrap) {
    gem->rx_next = wrap ? 0 : index + 1U;
}

/* A packet in the ring stands for its buffer, and is not even touched when it gets there; what
 * else it says is set when it leaves. Less code is to have it set when it is taken. */
#if defined(__OPTIMIZE_SIZE__) && !defined(CONFIG_PLUMB_GEM_RX_WHOLE)

static inline struct plumb_packet *take_fresh(struct plumb_pool *pool) {
    return plumb_packet_take(pool, 0);
}

static inline void leave_ring(struct plumb_packet *packet) {
    (void)packet;
}

#else

static inline struct plumb_packet *take_fresh(struct plumb_pool *pool) {
    return plumb_pool_pop(pool);
}

static inline void leave_ring(struct plumb_packet *packet) {
    packet->next = NULL;
    packet->more = NULL;
    packet->references = 1;
    packet->flags = 0;
    packet->dirty = false;
}

#endif

/* Puts `fresh` in the place of the buffer at the ring's head, which is returned
 * with `length` of its bytes the processor's, and steps on. */
static inline struct plumb_packet *exchange(struct plumb_gem *gem, uint32_t address,
                                            struct plumb_packet *fresh, size_t length) {
    unsigned index = gem->rx_next;
    struct plumb_packet *packet = gem->config.rx.held[index];

    publish(gem, &gem->config.rx.descriptors[index], index, fresh, address & RX_WRAP);
    /* The ring first: the packet is in no cache, and the dirty line that leaves for it would
     * keep the bus from the ring, which is not cached. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    step(gem, index, address & RX_WRAP);
    plumb_dma_sync_for_cpu(gem->config.dma, packet->owner.memory, length, PLUMB_DMA_FROM_DEVICE);
    leave_ring(packet);
    return packet;
}

/* Gives the buffer at the ring's head back to the device, unread. */
static RARE void recycle(struct plumb_gem *gem) {
    unsigned index = gem->rx_next;
    uint32_t wrap = gem->config.rx.descriptors[index].address & RX_WRAP;

    publish(gem, &gem->config.rx.descriptors[index], index, gem->config.rx.held[index], wrap);
    step(gem, index, wrap);
}

static inline void mark_checksum(const struct plumb_gem *gem, struct plumb_packet *packet,
                                 uint32_t control) {
#ifdef CONFIG_PLUMB_GEM_RX_CHECKSUM_ASSUMED
    control |= RX_CHECKSUM_ALL;
#endif
    if ((gem->netif.capabilities & PLUMB_CAPABILITY_RX_CHECKSUM) &&
        RX_CHECKSUM(control) >= RX_CHECKSUM_TCP)
        packet->flags |= PLUMB_PACKET_CHECKSUM_GOOD;
}

static inline void pass_up(struct plumb_gem *gem, struct plumb_packet *packet, uint32_t control) {
    mark_checksum(gem, packet, control);
    if (!pl_gem_rx_frame(gem, &packet))
        return;
    plumb_netif_count(&gem->netif, PLUMB_NETIF_rx_frames);
    gem->netif.input(&gem->netif, packet);
}

/* Drops the frame that is being collected; the rest of it, up to `ended`, too. */
static RARE void drop(struct plumb_gem *gem, enum plumb_netif_counter counter, bool ended) {
    plumb_netif_count(&gem->netif, counter);
    plumb_packet_put(gem->rx_head);
    gem->rx_head = NULL;
    gem->rx_dropping = !ended;
}

void pl_gem_rx_drop(struct plumb_gem *gem, enum plumb_netif_counter counter, bool ended) {
    drop(gem, counter, ended);
}

/* Adds the next buffer's `length` bytes to the frame being collected. */
static void append(struct plumb_gem *gem, struct plumb_packet *fragment, unsigned pad,
                   unsigned length) {
    fragment->data = fragment->owner.memory + pad;
    fragment->length = (uint16_t)length;
    if (gem->rx_head) {
        gem->rx_tail->more = fragment;
    } else {
        gem->rx_head = fragment;
        fragment->total = 0;
    }
    gem->rx_tail = fragment;
    gem->rx_head->total = (uint16_t)(gem->rx_head->total + length);
}

/* One buffer of a frame in several: full, but for the last, which holds what is
 * left of the frame's length. */
static void take_fragment(struct plumb_gem *gem, uint32_t address, uint32_t control) {
    bool ended = control & RX_END;
    unsigned before = 0, pad = gem->rx_pad, length = gem->rx_first;
    enum plumb_netif_counter refused = PLUMB_NETIF_rx_no_buffer;
    struct plumb_packet *fresh = NULL;

    if (gem->rx_head) {
        before = gem->rx_head->total;
        pad = gem->rx_more_pad;
        length = gem->config.rx_buffer;
    }
    unsigned left = ended ? (control & RX_LENGTH) - before : length;
    if (before + left > gem->frame_limit)
        refused = PLUMB_NETIF_rx_too_long;
    else if (left - 1 >= length)
        refused = PLUMB_NETIF_rx_error;
    else
        fresh = take_fresh(gem->config.rx_pool);
    if (!fresh) {
        recycle(gem);
        drop(gem, refused, ended);
        return;
    }
    append(gem, exchange(gem, address, fresh, left + pad), pad, left);
    if (ended) {
        struct plumb_packet *frame = gem->rx_head;
        gem->rx_head = NULL;
        pass_up(gem, frame, control);
    }
}

/* How long a frame in one buffer may be: none, while another is collected or dropped. */
static inline void set_whole(struct plumb_gem *gem) {
#ifdef CONFIG_PLUMB_GEM_RX_WHOLE
    gem->rx_whole = gem->rx_first < gem->frame_limit ? gem->rx_first : gem->frame_limit;
    if (gem->rx_head || gem->rx_dropping)
        gem->rx_whole = 0;
#else
    (void)gem;
#endif
}

static bool take_descriptor(struct plumb_gem *gem, uint32_t address, uint32_t control) {
    bool ended = control & RX_END;

    if (control & RX_START) {
        if (gem->rx_head)
            drop(gem, PLUMB_NETIF_rx_orphan, true);
        gem->rx_dropping = false;
    } else if (!gem->rx_head) {
        if (!gem->rx_dropping)
            plumb_netif_count(&gem->netif, PLUMB_NETIF_rx_orphan);
        gem->rx_dropping = !ended;
        recycle(gem);
        return ended;
    }
    take_fragment(gem, address, control);
    return ended;
}

/* A descriptor that is not a whole frame, or one that cannot be passed up. Returns
 * whether a frame ended with it. */
static PART bool take_part(struct plumb_gem *gem, uint32_t address, uint32_t control) {
    bool ended = take_descriptor(gem, address, control);

    set_whole(gem);
    return ended;
}

#ifdef CONFIG_PLUMB_GEM_RX_WHOLE

/* A frame in one buffer: nearly all are. Returns false when it cannot be passed up
 * like this. */
static inline bool take_whole(struct plumb_gem *gem, struct plumb_gem_descriptor *descriptor,
                              unsigned index, uint32_t address, uint32_t control) {
    unsigned length = control & RX_LENGTH;
    struct plumb_packet *packet, *fresh;

    /* More than any length is left where a frame does not both start and end. */
    if ((uint16_t)control - (RX_START | RX_END) - 1 >= gem->rx_whole)
        return false;
    fresh = plumb_pool_pop(gem->config.rx_pool);
    if (!fresh)
        return false;
    if (fresh->dirty) /* now, as there is least to keep across a call */
        fresh = clean(gem, fresh);
    packet = gem->config.rx.held[index];
    /* The length twice, on either side of a barrier: side by side a compiler makes them one
     * word, which takes longer to put together than to store both. */
    packet->total = (uint16_t)length;
    publish_clean(gem, descriptor, index, fresh, address & RX_WRAP);
    packet->length = (uint16_t)length;
    step(gem, index, address & RX_WRAP);
    leave_ring(packet);
    uint8_t *memory = packet->owner.memory;
    packet->data = memory + gem->rx_pad;
    plumb_dma_sync_for_cpu(gem->config.dma, memory, length + gem->rx_pad, PLUMB_DMA_FROM_DEVICE);
    pass_up(gem, packet, control);
    return true;
}

#else

static inline bool take_whole(struct plumb_gem *gem, struct plumb_gem_descriptor *descriptor,
                              unsigned index, uint32_t address, uint32_t control) {
    (void)gem;
    (void)descriptor;
    (void)index;
    (void)address;
    (void)control;
    return false;
}

#endif

/* Takes what a used descriptor stands for. Returns whether a frame ended with it. */
static inline bool take(struct plumb_gem *gem, struct plumb_gem_descriptor *descriptor,
                        unsigned index, uint32_t address, uint32_t control) {
    struct plumb_packet *copy = NULL;
    enum pl_gem_copied copied = pl_gem_rx_copy(gem, address, control, &copy);

    if (copy)
        pass_up(gem, copy, control);
    if (copied)
        return copied == PL_GEM_COPIED_FRAME;
    return take_whole(gem, descriptor, index, address, control) || take_part(gem, address, control);
}

/* Did the device run out of descriptors, or was it overrun? Then it is stopped, and the ring
 * is to be looked at again for what it wrote before. */
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
    set_whole(gem);
    gem->rx_next = 0;
    pl_gem_write(gem, RXQBASE, (uint32_t)gem->config.rx.bus);
    gem_write_barrier();
    gem->control |= NWCTRL_RX;
    pl_gem_write(gem, NWCTRL, gem->control);
    plumb_netif_count(&gem->netif, PLUMB_NETIF_rx_restart);
}

/* The ring had nothing. Returns whether to look again. */
static RARE bool look_again(struct plumb_gem *gem) {
    if (!gem->rx_stopped)
        return stop_when_stuck(gem);
    restart(gem);
    return false;
}

/*
 * Dropped frames count as work done, or a flood into an empty pool would never
 * let go.
 *
 * Whether the device stands still is asked by a poll that finds the ring empty, not by one
 * that has drained it: reading its status takes long. When it stands still nothing more
 * comes, so the next poll is one that finds nothing; and there is a next one before anybody
 * waits, for plumb_gem_pending() asks too. Nor has anybody detached the interface in a poll
 * that passed nothing up.
 */
unsigned pl_gem_poll(struct plumb_netif *netif, uint64_t now_us, unsigned budget) {
    struct plumb_gem *gem = pl_gem_of(netif);
    unsigned left = budget;

    gem->poll_us = now_us;
    if (now_us >= gem->link_us)
        pl_gem_link_poll(gem, now_us);
    if (pl_gem_tx_busy(gem))
        pl_gem_tx_reclaim(gem);
    for (;;) {
        unsigned index = gem->rx_next;
        struct plumb_gem_descriptor *descriptor = &gem->config.rx.descriptors[index];
        uint32_t address = descriptor->address;
        if (!(address & RX_USED)) {
            if (left != budget || !look_again(gem))
                return budget - left;
            continue;
        }
        gem_read_barrier();
        if (take(gem, descriptor, index, address, descriptor->control) && --left == 0)
            return budget;
    }
}

/* Maps every buffer of the pool, which is full, once; and finds how to get from a
 * buffer's address to the device's: a constant, or the pool is refused. */
int pl_gem_rx_map(struct plumb_gem *gem) {
    const struct plumb_pool *pool = gem->config.rx_pool;
    struct plumb_packet *packet = pool->free;
    int result = PLUMB_OK;

    for (; packet; packet = packet->next) {
        uint8_t *memory = packet->owner.memory;
        uintptr_t bus =
            plumb_dma_map(gem->config.dma, memory, pool->capacity, PLUMB_DMA_FROM_DEVICE);
        if (packet == pool->free)
            gem->bus_offset = bus - (uintptr_t)memory;
        if ((uint64_t)bus >> 32 || bus - (uintptr_t)memory != gem->bus_offset)
            result = PLUMB_ERROR_INVALID;
        packet->dirty = false;
    }
    return result;
}

int pl_gem_rx_fill(struct plumb_gem *gem) {
    uint32_t count = gem->config.rx.count;

    if (gem->config.rx_pool->free_count < count)
        return PLUMB_ERROR_NO_BUFFER;
    for (unsigned i = 0; i < count; i++)
        publish(gem, &gem->config.rx.descriptors[i], i, plumb_packet_take(gem->config.rx_pool, 0),
                i + 1U == count ? RX_WRAP : 0);
    gem->rx_next = 0;
    gem->rx_stopped = gem->rx_dropping = false;
    set_whole(gem);
    return PLUMB_OK;
}

/* The device no longer receives: every buffer goes back to the pool. */
void pl_gem_rx_empty(struct plumb_gem *gem) {
    const struct plumb_gem_ring *ring = &gem->config.rx;

    plumb_packet_put(gem->rx_head);
    gem->rx_head = NULL;
    for (unsigned i = 0; i < ring->count; i++) {
        ring->descriptors[i].address = 0; /* a poll under way ends */
        ring->held[i]->references = 1;
        plumb_fragment_put(ring->held[i]);
    }
}
