/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the driver does with a received frame between the ring and the stack. By
 * default nothing, and nothing is what this compiles to: the device has padded the
 * frame, which stays where it was written. What other drivers do instead is here to be
 * measured; the choice is PLUMB_GEM_RX_FRAME of drivers/Kconfig.
 */
#ifndef PL_GEM_RX_FRAME_H
#define PL_GEM_RX_FRAME_H

#include "gem.h"

/* Does the device pad frames that are to land at an offset? */
#if defined(CONFIG_PLUMB_GEM_RX_SHIFT) || defined(CONFIG_PLUMB_GEM_RX_PULL) ||                     \
    defined(CONFIG_PLUMB_GEM_RX_TRAP) || defined(CONFIG_PLUMB_GEM_RX_LINEAR_UNPADDED)
#define PL_GEM_RX_PADDED false
#else
#define PL_GEM_RX_PADDED true
#endif

#if defined(CONFIG_PLUMB_GEM_RX_SHIFT) || defined(CONFIG_PLUMB_GEM_RX_PULL)

/* Prepares a whole frame for the stack; *frame may become another packet. False: it
 * was dropped and counted. */
bool pl_gem_rx_frame(struct plumb_gem *gem, struct plumb_packet **frame);

/* Whether a configuration has what that needs. */
bool pl_gem_rx_frame_fits(const struct plumb_gem_config *config);

#else

static inline bool pl_gem_rx_frame(struct plumb_gem *gem, struct plumb_packet **frame) {
    (void)gem;
    (void)frame;
    return true;
}

static inline bool pl_gem_rx_frame_fits(const struct plumb_gem_config *config) {
    return PL_GEM_RX_PADDED || config->landing == PLUMB_LANDING_OFFSET;
}

#endif
#endif
