/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Small frames as copies, others where the device wrote them; part of rx_copy.h.
 *
 * A frame that lies in one buffer and has room in a packet of the copies' pool is copied.
 * That costs its bytes once more, and saves what a packet of the receive pool costs: taking
 * one, whose descriptor lies cold since the ring was last here, and putting it back.
 */
#ifndef PL_GEM_RX_BREAK_H
#define PL_GEM_RX_BREAK_H

/* Buffers of either pool begin on a boundary of these and are made of them. */
struct pl_gem_block {
    uint32_t word[8];
} __attribute__((may_alias));

static inline void pl_gem_copy_blocks(void *to, const void *from, size_t length) {
    struct pl_gem_block *out = to;
    const struct pl_gem_block *in = from, *end = in + (length + sizeof *in - 1) / sizeof *in;

    while (in < end)
        *out++ = *in++;
}

/* Not even looked at is what does not fit; without a packet for it the frame stays where it is.
 * The start is asked for first, and alone: ten of the twelve descriptors of a full frame in
 * buffers of 128 bytes are neither, and those that collect parts ask for the same. */
static inline enum pl_gem_copied pl_gem_rx_copy(struct plumb_gem *gem, uint32_t address,
                                                uint32_t control, struct plumb_packet **frame) {
    unsigned length = control & RX_LENGTH, pad = gem->rx_pad;

    if (!(control & RX_START) || length - 1 >= gem->rx_break || !(control & RX_END) || gem->rx_head)
        return PL_GEM_NOT_COPIED;
    struct plumb_packet *packet = plumb_packet_take(gem->config.rx_copies, (uint16_t)pad);
    if (!packet)
        return PL_GEM_NOT_COPIED;
    pl_gem_copy_blocks(packet->owner.memory, pl_gem_rx_bytes(gem, address, length + pad),
                       length + pad);
    packet->length = packet->total = (uint16_t)length;
    packet->dirty = true;
    pl_gem_rx_again(gem, address);
    gem->rx_dropping = false;
    *frame = packet;
    return PL_GEM_COPIED_FRAME;
}

static inline bool pl_gem_rx_copy_fits(const struct plumb_gem_config *config) {
    return config->rx_copies && config->rx_copies->capacity % sizeof(struct pl_gem_block) == 0;
}

#endif
