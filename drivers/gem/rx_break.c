/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Small frames as copies, others where the device wrote them.
 *
 * A frame that lies in one buffer and has room in a packet of the copies' pool is copied.
 * That costs its bytes once more, and saves what a packet of the receive pool costs: taking
 * one, whose descriptor lies cold since the ring was last here, and putting it back. When
 * there is no packet for a copy the frame is handed up where it lies.
 */
#include "rx_copy.h"

#ifdef CONFIG_PLUMB_GEM_RX_BREAK

/* Buffers of either pool begin on a boundary of these and are made of them. */
struct block {
    uint32_t word[8];
} __attribute__((may_alias));

static inline void copy_blocks(void *to, const void *from, size_t length) {
    struct block *out = to;
    const struct block *in = from, *end = in + (length + sizeof *in - 1) / sizeof *in;

    while (in < end)
        *out++ = *in++;
}

enum pl_gem_copied pl_gem_rx_take_copy(struct plumb_gem *gem, uint32_t address, uint32_t control) {
    unsigned length = control & RX_LENGTH, pad = gem->rx_pad;

    if (gem->rx_head || length == 0)
        return PL_GEM_NOT_COPIED;
    struct plumb_packet *packet = plumb_packet_take(gem->config.rx_copies, (uint16_t)pad);
    if (!packet)
        return PL_GEM_NOT_COPIED;
    const uint8_t *bytes = pl_gem_rx_bytes(gem, address, length + pad);
    copy_blocks(packet->owner.memory, bytes, length + pad);
    packet->length = packet->total = (uint16_t)length;
    packet->dirty = true;
    pl_gem_rx_again(gem, address);
    gem->rx_dropping = false;
    pl_gem_rx_pass_up(gem, packet, control);
    return PL_GEM_COPIED_FRAME;
}

bool pl_gem_rx_copy_fits(const struct plumb_gem_config *config) {
    return config->rx_copies && config->rx_copies->capacity % sizeof(struct block) == 0;
}

#endif
