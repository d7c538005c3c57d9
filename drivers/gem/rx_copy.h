/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Received frames that are handed up as copies: all of them, in one piece, or small ones
 * alone. By default none is, and nothing is what this compiles to; the choice is
 * PLUMB_GEM_RX_COPY of drivers/Kconfig.
 *
 * What is copied leaves its buffers in the ring: they are the device's again before the
 * stack sees the frame, no packet of theirs is touched, and none is ever dirty.
 */
#ifndef PL_GEM_RX_COPY_H
#define PL_GEM_RX_COPY_H

#include "internal.h"

enum pl_gem_copied {
    PL_GEM_NOT_COPIED, /* the descriptor is still there, for somebody else */
    PL_GEM_COPIED_PART,
    PL_GEM_COPIED_FRAME, /* a frame ended with it, handed up or dropped */
};

#ifdef CONFIG_PLUMB_GEM_RX_COPIES

/* Where the processor finds the buffer of a descriptor, `length` bytes of which are its own
 * from then on. */
static inline const uint8_t *pl_gem_rx_bytes(const struct plumb_gem *gem, uint32_t address,
                                             size_t length) {
    void *bytes = (void *)((uintptr_t)(address & ~(RX_USED | RX_WRAP)) - gem->bus_offset);

    plumb_dma_sync_for_cpu(gem->config.dma, bytes, length, PLUMB_DMA_FROM_DEVICE);
    return bytes;
}

/* Puts the buffer at the ring's head back where it is. */
static inline void pl_gem_rx_again(struct plumb_gem *gem, uint32_t address) {
    struct plumb_gem_descriptor *descriptor = &gem->config.rx.descriptors[gem->rx_next];

    descriptor->control = 0;
    gem_write_barrier();
    descriptor->address = address & ~RX_USED;
    gem->rx_next = address & RX_WRAP ? 0 : gem->rx_next + 1U;
}

#endif

/* Takes the descriptor at the ring's head, which the device has filled; a copy that is whole
 * with it is the caller's to hand up. */
#if defined(CONFIG_PLUMB_GEM_RX_BREAK)

#include "rx_break.h"

#elif defined(CONFIG_PLUMB_GEM_RX_LINEAR)

enum pl_gem_copied pl_gem_rx_copy(struct plumb_gem *gem, uint32_t address, uint32_t control,
                                  struct plumb_packet **frame);

/* Whether a configuration has what that needs. */
bool pl_gem_rx_copy_fits(const struct plumb_gem_config *config);

#else

static inline enum pl_gem_copied pl_gem_rx_copy(struct plumb_gem *gem, uint32_t address,
                                                uint32_t control, struct plumb_packet **frame) {
    (void)gem;
    (void)address;
    (void)control;
    (void)frame;
    return PL_GEM_NOT_COPIED;
}

static inline bool pl_gem_rx_copy_fits(const struct plumb_gem_config *config) {
    (void)config;
    return true;
}

#endif
#endif
