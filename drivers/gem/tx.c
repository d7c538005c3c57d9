/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Transmission. Owns the transmit ring and one hold on every fragment in it; of
 * a fragment it remembers where it began, for its fields are the sender's to change.
 *
 * What holds: every descriptor that is not part of a queued frame is marked
 * used, so that the device stops there. The device marks only the first of a
 * frame used when it has sent it; the others are marked when they are reclaimed.
 */
#include "internal.h"

static inline unsigned after(const struct plumb_gem *gem, unsigned index) {
    return index + 1U == gem->config.tx.count ? 0 : index + 1U;
}

static inline uint32_t wrap_bit(const struct plumb_gem *gem, unsigned index) {
    return index + 1U == gem->config.tx.count ? TX_WRAP : 0;
}

static inline unsigned room(const struct plumb_gem *gem) {
    return gem->config.tx.count - gem->tx_used;
}

static inline void put(struct plumb_packet *fragment) {
#ifdef CONFIG_PLUMB_GEM_TRANSMIT_STRAIGHT
    if (fragment->references > 1) {
        fragment->references--;
        return;
    }
    if (fragment->pool->capacity) {
        plumb_pool_push(fragment->pool, fragment);
        return;
    }
#endif
    plumb_fragment_put(fragment);
}

/* Not inline, as on many boards there is nothing to it. */
static __attribute__((noinline)) void unmap(const struct plumb_gem *gem, unsigned index,
                                            uint32_t control) {
    plumb_dma_unmap(gem->config.dma, gem->config.tx.mapped[index], control & TX_LENGTH,
                    PLUMB_DMA_TO_DEVICE);
}

/* Lets go of frames from the oldest on: of those sent, or, with TX_USED for `taken`, of all,
 * and then the ring is to be cleared. */
static void release_frames(struct plumb_gem *gem, uint32_t taken) {
    struct plumb_gem_descriptor *descriptors = gem->config.tx.descriptors;
    struct plumb_packet **held = gem->config.tx.held;
    unsigned index = gem->tx_oldest, used = gem->tx_used;
    bool unmapping = gem->config.dma && gem->config.dma->unmap;

    while (used) {
        uint32_t control = descriptors[index].control;
        if (!((control | taken) & TX_USED))
            break;
        for (;;) {
            struct plumb_packet *fragment = held[index];
            if (unmapping)
                unmap(gem, index, control);
            index = control & TX_WRAP ? 0 : index + 1U;
            used--;
            put(fragment);
            if (control & TX_LAST || !used)
                break;
            control = descriptors[index].control;
            descriptors[index].control = control | TX_USED;
        }
    }
    gem->tx_oldest = index;
    gem->tx_used = used;
}

/* Frames that the device has not been seen to send. */
static unsigned count_frames(const struct plumb_gem *gem) {
    unsigned index = gem->tx_oldest, frames = 0;

    for (unsigned left = gem->tx_used; left; left--, index = after(gem, index))
        frames += (gem->config.tx.descriptors[index].control & TX_LAST) != 0;
    return frames;
}

void pl_gem_tx_reclaim(struct plumb_gem *gem) {
    release_frames(gem, 0);
    if (gem->tx_waiting && gem->tx_used < gem->config.tx.count) {
        gem->tx_waiting = false;
        pl_gem_write(gem, IDR, INTERRUPT_TX_DONE);
    }
}

/* Descriptors that a packet takes: empty fragments are no buffers to the device. */
static inline unsigned count_fragments(const struct plumb_packet *packet) {
    unsigned count = 0;

    for (; packet; packet = packet->more)
        count += packet->length != 0;
    return count;
}

/* The ring is full: what the device has sent meanwhile makes room. */
static __attribute__((cold, noinline)) bool make_room(struct plumb_gem *gem, unsigned count) {
    pl_gem_flush(&gem->netif);
    pl_gem_tx_reclaim(gem);
    if (count <= room(gem))
        return true;
    plumb_netif_count(&gem->netif, PLUMB_NETIF_tx_full);
    gem->tx_waiting = true;
    pl_gem_write(gem, IER, INTERRUPT_TX_DONE);
    return false;
}

static inline uint32_t map_written(const struct plumb_gem *gem,
                                   const struct plumb_packet *fragment) {
    return (uint32_t)plumb_dma_map(gem->config.dma, fragment->data, fragment->length,
                                   PLUMB_DMA_TO_DEVICE);
}

static inline uint32_t map(const struct plumb_gem *gem, const struct plumb_packet *fragment) {
#ifdef CONFIG_PLUMB_REFERENCE_CLEAN
    if (fragment->flags & PLUMB_PACKET_CLEAN)
        return (uint32_t)plumb_dma_map_clean(gem->config.dma, fragment->data, fragment->length);
#endif
    return map_written(gem, fragment);
}

/* Fills descriptor `index`, which stays marked used, and says what belongs into its
 * control word, but for the ring's end. */
static inline uint32_t fill(struct plumb_gem *gem, unsigned index, struct plumb_packet *fragment,
                            uint32_t address) {
    const struct plumb_gem_ring *ring = &gem->config.tx;

    ring->held[index] = fragment;
    ring->mapped[index] = fragment->data;
    ring->descriptors[index].address = address;
    fragment->references++;
    return fragment->length;
}

/* A frame's first descriptor is given away last, behind a barrier: until then
 * the device stops in front of it. */
static inline int finish(struct plumb_gem *gem, unsigned first, uint32_t control, unsigned next) {
    gem->tx_next = next;
    gem->tx_queued = true;
    plumb_netif_count(&gem->netif, PLUMB_NETIF_tx_frames);
    gem_write_barrier();
    gem->config.tx.descriptors[first].control = control;
    return PLUMB_OK;
}

#ifdef CONFIG_PLUMB_GEM_TRANSMIT_STRAIGHT
#define TRANSMIT_ANY __attribute__((noinline))
#else
#define TRANSMIT_ANY inline
#endif

/* Any number of fragments, some of them empty; or no room for them. */
static TRANSMIT_ANY int transmit_any(struct plumb_gem *gem, struct plumb_packet *packet) {
    struct plumb_gem_descriptor *descriptors = gem->config.tx.descriptors;
    unsigned count = count_fragments(packet);
    unsigned first = gem->tx_next, index = first;
    uint32_t first_control = 0;

    if (count - 1 >= gem->config.tx.count || packet->total > gem->frame_limit)
        return PLUMB_ERROR_TOO_LONG;
    if (count > room(gem) && !make_room(gem, count))
        return PLUMB_ERROR_WOULD_BLOCK;
    gem->tx_used += count;
    for (; count; packet = packet->more) {
        if (!packet->length)
            continue;
        uint32_t control = fill(gem, index, packet, map(gem, packet)) | wrap_bit(gem, index);
        if (--count == 0)
            control |= TX_LAST;
        if (index == first)
            first_control = control;
        else
            descriptors[index].control = control;
        index = after(gem, index);
    }
    return finish(gem, first, first_control, index);
}

#ifdef CONFIG_PLUMB_GEM_TRANSMIT_STRAIGHT

/* Headers and payload, neither at the ring's end. */
static inline int transmit_two(struct plumb_gem *gem, struct plumb_packet *front,
                               struct plumb_packet *second) {
    unsigned first = gem->tx_next;

    if (first + 2 >= gem->config.tx.count || room(gem) < 2 || second->more || !second->length)
        return transmit_any(gem, front);
    uint32_t second_address = map(gem, second), address = map_written(gem, front);
    gem->tx_used += 2;
    uint32_t control = fill(gem, first, front, address);
    gem->config.tx.descriptors[first + 1].control =
        fill(gem, first + 1, second, second_address) | TX_LAST;
    return finish(gem, first, control, first + 2);
}

/* One fragment, or headers and payload: what nearly every frame is. */
int pl_gem_transmit(struct plumb_netif *netif, struct plumb_packet *packet) {
    struct plumb_gem *gem = pl_gem_of(netif);
    unsigned first = gem->tx_next;

    if (packet->total > gem->frame_limit || !packet->length)
        return transmit_any(gem, packet);
    if (packet->more)
        return transmit_two(gem, packet, packet->more);
    if (first + 1 == gem->config.tx.count || !room(gem))
        return transmit_any(gem, packet);
    uint32_t address = map_written(gem, packet);
    gem->tx_used++;
    return finish(gem, first, fill(gem, first, packet, address) | TX_LAST, first + 1);
}

#else

int pl_gem_transmit(struct plumb_netif *netif, struct plumb_packet *packet) {
    return transmit_any(pl_gem_of(netif), packet);
}

#endif

void pl_gem_flush(struct plumb_netif *netif) {
    struct plumb_gem *gem = pl_gem_of(netif);

    if (!gem->tx_queued)
        return;
    gem->tx_queued = false;
    gem_write_barrier();
    pl_gem_write(gem, NWCTRL, gem->control | NWCTRL_TX_START);
}

/* An error stops the device in the middle of the ring: all that is queued is
 * given up, and it begins again at the top. */
void pl_gem_tx_check(struct plumb_gem *gem) {
    uint32_t status = pl_gem_read(gem, TXSR);

    if (!(status & TXSR_ERRORS))
        return;
    gem->control &= ~NWCTRL_TX;
    pl_gem_write(gem, NWCTRL, gem->control);
    pl_gem_write(gem, TXSR, TXSR_ALL);
    pl_gem_tx_reclaim(gem);
    gem->netif.counters[PLUMB_NETIF_tx_error] += count_frames(gem);
    release_frames(gem, TX_USED);
    pl_gem_tx_clear(gem);
    pl_gem_write(gem, TXQBASE, (uint32_t)gem->config.tx.bus);
    gem->control |= NWCTRL_TX;
    pl_gem_write(gem, NWCTRL, gem->control);
}

void pl_gem_tx_clear(struct plumb_gem *gem) {
    for (unsigned i = 0; i < gem->config.tx.count; i++)
        gem->config.tx.descriptors[i].control = TX_USED | wrap_bit(gem, i);
    gem->tx_next = gem->tx_oldest = gem->tx_used = 0;
    gem->tx_queued = gem->tx_waiting = false;
}

/* The device no longer sends: every hold is given back. */
void pl_gem_tx_empty(struct plumb_gem *gem) {
    release_frames(gem, TX_USED);
    pl_gem_tx_clear(gem);
}
