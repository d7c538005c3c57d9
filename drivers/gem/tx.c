/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Transmission. Owns the transmit ring and one hold on every fragment in it; of
 * a fragment it remembers where it began, for its fields are the sender's to change.
 *
 * What holds: every descriptor that is not part of a queued frame is marked
 * used, so that the device stops there, and there is always one. The device marks
 * only the first of a frame used when it has sent it; the others are marked when they
 * are reclaimed.
 *
 * The device's status, which takes long to read, is asked for only when a poll finds a
 * frame that has not been sent. That a frame failed is thus seen at the latest when the
 * next one does not leave, for the device has stopped and its status stays.
 */
#include "internal.h"

static inline unsigned after(const struct plumb_gem *gem, unsigned index) {
    return index + 1U == gem->config.tx.count ? 0 : index + 1U;
}

static inline uint32_t wrap_bit(const struct plumb_gem *gem, unsigned index) {
    return index + 1U == gem->config.tx.count ? TX_WRAP : 0;
}

/* One descriptor stays free, or a full ring would look like an empty one. */
static inline unsigned room(const struct plumb_gem *gem) {
    unsigned ahead = gem->tx_oldest - gem->tx_next - 1U;

    return gem->tx_oldest > gem->tx_next ? ahead : ahead + gem->config.tx.count;
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

/* Off the path of frames that the device sends. */
#define RARE __attribute__((cold, noinline))

/* Not inline, as on many boards there is nothing to it. */
static __attribute__((noinline)) void unmap(const struct plumb_gem *gem, unsigned index,
                                            uint32_t control) {
    plumb_dma_unmap(gem->config.dma, gem->config.tx.mapped[index], control & TX_LENGTH,
                    PLUMB_DMA_TO_DEVICE);
}

/* Gives up what is queued, the device standing still; returns how many frames it has not sent. */
static RARE unsigned give_up(struct plumb_gem *gem) {
    uint32_t before = TX_LAST, first = 0;
    unsigned frames = 0;

    if (!pl_gem_tx_busy(gem))
        return 0;
    for (unsigned i = gem->tx_oldest; i != gem->tx_next; i = after(gem, i)) {
        uint32_t control = gem->config.tx.descriptors[i].control;
        if (before & TX_LAST)
            first = control;
        frames += (control & TX_LAST) && !(first & TX_USED);
        gem->config.tx.descriptors[i].control = control | TX_USED;
        before = control;
    }
    pl_gem_tx_reclaim(gem);
    return frames;
}

/* A frame has not been sent: an error stops the device in the middle of the ring. Then all
 * that is queued is given up, and it begins again at the top. */
static RARE void check(struct plumb_gem *gem) {
    uint32_t status = pl_gem_read(gem, TXSR);

    if (!(status & TXSR_ERRORS))
        return;
    gem->control &= ~NWCTRL_TX;
    pl_gem_write(gem, NWCTRL, gem->control);
    pl_gem_write(gem, TXSR, TXSR_ALL);
    gem->netif.counters[PLUMB_NETIF_tx_error] += give_up(gem);
    pl_gem_tx_clear(gem);
    pl_gem_write(gem, TXQBASE, (uint32_t)gem->config.tx.bus);
    gem->control |= NWCTRL_TX;
    pl_gem_write(gem, NWCTRL, gem->control);
}

static RARE void stop_waiting(struct plumb_gem *gem) {
    if (!room(gem))
        return;
    gem->tx_waiting = false;
    pl_gem_write(gem, IDR, INTERRUPT_TX_DONE);
}

/* Lets go of the frames that have been sent, from the oldest on: there is one. */
void pl_gem_tx_reclaim(struct plumb_gem *gem) {
    struct plumb_gem_descriptor *descriptors = gem->config.tx.descriptors;
    struct plumb_packet **held = gem->config.tx.held;
    unsigned index = gem->tx_oldest, end = gem->tx_next;

    do {
        uint32_t control = descriptors[index].control;
        if (!(control & TX_USED))
            break;
        for (;;) {
            struct plumb_packet *fragment = held[index];
            if (gem->tx_unmaps)
                unmap(gem, index, control);
            index = control & TX_WRAP ? 0 : index + 1U;
            put(fragment);
            if (control & TX_LAST || index == end)
                break;
            control = descriptors[index].control;
            descriptors[index].control = control | TX_USED;
        }
    } while (index != end);
    gem->tx_oldest = index;
    if (gem->tx_waiting)
        stop_waiting(gem);
    if (index != end)
        check(gem);
}

/* Descriptors that a packet takes: empty fragments are no buffers to the device. */
static inline unsigned count_fragments(const struct plumb_packet *packet) {
    unsigned count = 0;

    for (; packet; packet = packet->more)
        count += packet->length != 0;
    return count;
}

/* The ring is full: what the device has sent meanwhile makes room. */
static RARE bool make_room(struct plumb_gem *gem, unsigned count) {
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

/* Fills the descriptor of an index, which stays marked used, and says what belongs into its
 * control word, but for the ring's end. */
static inline uint32_t fill(struct plumb_gem *gem, struct plumb_gem_descriptor *descriptor,
                            unsigned index, struct plumb_packet *fragment, uint32_t address) {
    gem->config.tx.held[index] = fragment;
    gem->config.tx.mapped[index] = fragment->data;
    descriptor->address = address;
    fragment->references++;
    return fragment->length;
}

/* A frame's first descriptor is given away last, behind a barrier: until then
 * the device stops in front of it. */
static inline int finish(struct plumb_gem *gem, struct plumb_gem_descriptor *first,
                         uint32_t control, unsigned next) {
    gem->tx_next = next;
    plumb_netif_count(&gem->netif, PLUMB_NETIF_tx_frames);
    gem_write_barrier();
    first->control = control;
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
    uint32_t first_control = 0;

    if (count - 1 >= gem->config.tx.count - 1 || packet->total > gem->frame_limit)
        return PLUMB_ERROR_TOO_LONG;
    if (count > room(gem) && !make_room(gem, count))
        return PLUMB_ERROR_WOULD_BLOCK;
    unsigned first = gem->tx_next, index = first;
    for (; count; packet = packet->more) {
        if (!packet->length)
            continue;
        uint32_t control =
            fill(gem, &descriptors[index], index, packet, map(gem, packet)) | wrap_bit(gem, index);
        if (--count == 0)
            control |= TX_LAST;
        if (index == first)
            first_control = control;
        else
            descriptors[index].control = control;
        index = after(gem, index);
    }
    return finish(gem, &descriptors[first], first_control, index);
}

#ifdef CONFIG_PLUMB_GEM_TRANSMIT_STRAIGHT

/* Headers and payload, neither at the ring's end. By itself, as it keeps more in registers
 * than the other has to save. */
static __attribute__((noinline)) int transmit_two(struct plumb_gem *gem, struct plumb_packet *front,
                                                  struct plumb_packet *second) {
    unsigned first = gem->tx_next;
    struct plumb_gem_descriptor *descriptor = &gem->config.tx.descriptors[first];

    if (front->total > gem->frame_limit || !front->length || second->more || !second->length)
        return transmit_any(gem, front);
    /* As far as the ring's end it is the distance to the oldest frame, or more than any. */
    if (first + 2 >= gem->config.tx.count || gem->tx_oldest - first - 1 < 2)
        return transmit_any(gem, front);
    uint32_t second_address = map(gem, second), address = map_written(gem, front);
    uint32_t control = fill(gem, descriptor, first, front, address);
    descriptor[1].control = fill(gem, descriptor + 1, first + 1, second, second_address) | TX_LAST;
    return finish(gem, descriptor, control, first + 2);
}

/* One fragment, or headers and payload: what nearly every frame is. */
int pl_gem_transmit(struct plumb_netif *netif, struct plumb_packet *packet) {
    struct plumb_gem *gem = pl_gem_of(netif);
    unsigned first = gem->tx_next, next = first + 1;
    struct plumb_gem_descriptor *descriptor = &gem->config.tx.descriptors[first];

    if (packet->more)
        return transmit_two(gem, packet, packet->more);
    if (packet->length - 1U >= gem->frame_limit || next == gem->config.tx.count ||
        next == gem->tx_oldest)
        return transmit_any(gem, packet);
    uint32_t address = map_written(gem, packet);
    return finish(gem, descriptor, fill(gem, descriptor, first, packet, address) | TX_LAST, next);
}

#else

int pl_gem_transmit(struct plumb_netif *netif, struct plumb_packet *packet) {
    return transmit_any(pl_gem_of(netif), packet);
}

#endif

void pl_gem_flush(struct plumb_netif *netif) {
    struct plumb_gem *gem = pl_gem_of(netif);

    if (gem->tx_told == gem->tx_next)
        return;
    gem->tx_told = gem->tx_next;
    pl_gem_tx_start(gem);
}

void pl_gem_tx_clear(struct plumb_gem *gem) {
    for (unsigned i = 0; i < gem->config.tx.count; i++)
        gem->config.tx.descriptors[i].control = TX_USED | wrap_bit(gem, i);
    gem->tx_next = gem->tx_oldest = gem->tx_told = 0;
    gem->tx_waiting = false;
}

/* The device no longer sends: every hold is given back. */
void pl_gem_tx_empty(struct plumb_gem *gem) {
    give_up(gem);
    pl_gem_tx_clear(gem);
}
