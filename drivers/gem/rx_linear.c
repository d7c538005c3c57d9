/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Every frame as a copy in one piece, as drivers do whose stack takes no others: buffer by
 * buffer, as they are found in the ring. The part of a frame whose end has not come is
 * gem->rx_head, with room for the longest. To be measured against.
 *
 * Where the copy lies is the stack's choice, whatever the device does: with
 * PLUMB_GEM_RX_LINEAR_UNPADDED it writes frames on words and copies do not.
 */
#include "rx_copy.h"

#ifdef CONFIG_PLUMB_GEM_RX_LINEAR

enum { OFFSET = 2 };

static unsigned headroom(const struct plumb_gem *gem) {
    return gem->netif.landing == PLUMB_LANDING_OFFSET ? OFFSET : 0;
}

/* The frame's start: a packet to copy to, or none. */
static void begin(struct plumb_gem *gem) {
    if (gem->rx_head)
        pl_gem_rx_drop(gem, PLUMB_NETIF_rx_orphan, true);
    gem->rx_dropping = false;
    gem->rx_head = plumb_packet_take(gem->config.rx_copies, (uint16_t)headroom(gem));
    if (gem->rx_head)
        gem->rx_head->total = 0;
    else
        pl_gem_rx_drop(gem, PLUMB_NETIF_rx_no_buffer, false);
}

/* The next bytes, of a buffer with `room` for them behind `pad`. */
static void copy(struct plumb_gem *gem, uint32_t address, uint32_t control, unsigned pad,
                 unsigned room) {
    struct plumb_packet *packet = gem->rx_head;
    unsigned before = packet->total;
    unsigned left = control & RX_END ? (control & RX_LENGTH) - before : room;

    if (left - 1 >= room || before + left > gem->frame_limit) {
        pl_gem_rx_drop(gem, left - 1 >= room ? PLUMB_NETIF_rx_error : PLUMB_NETIF_rx_too_long,
                       false);
        return;
    }
    const uint8_t *bytes = pl_gem_rx_bytes(gem, address, left + pad);
    packet->length = packet->total = (uint16_t)(before + left);
    plumb_packet_copy_in(packet, before, bytes + pad, left);
}

enum pl_gem_copied pl_gem_rx_copy(struct plumb_gem *gem, uint32_t address, uint32_t control,
                                  struct plumb_packet **frame) {
    bool starts = control & RX_START, ends = control & RX_END;

    if (starts) {
        begin(gem);
    } else if (!gem->rx_head && !gem->rx_dropping) {
        plumb_netif_count(&gem->netif, PLUMB_NETIF_rx_orphan);
        gem->rx_dropping = true;
    }
    if (gem->rx_head)
        copy(gem, address, control, starts ? gem->rx_pad : gem->rx_more_pad,
             starts ? gem->rx_first : gem->config.rx_buffer);
    pl_gem_rx_again(gem, address);
    if (!ends)
        return PL_GEM_COPIED_PART;
    *frame = gem->rx_head;
    gem->rx_head = NULL;
    gem->rx_dropping = false;
    return PL_GEM_COPIED_FRAME;
}

bool pl_gem_rx_copy_fits(const struct plumb_gem_config *config) {
    unsigned mtu = config->mtu ? config->mtu : 1500U;

    return config->rx_copies &&
           config->rx_copies->capacity >= mtu + ETHERNET_TAGGED_HEADER + OFFSET;
}

#endif
