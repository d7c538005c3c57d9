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

enum pl_gem_copied pl_gem_rx_copy(struct plumb_gem *gem, uint32_t address, uint32_t control) {
    unsigned length = control & RX_LENGTH, pad = gem->rx_pad;
    struct plumb_pool *pool = gem->config.rx_copies;

    if ((control & (RX_START | RX_END)) != (RX_START | RX_END) || gem->rx_head ||
        length - 1 >= gem->rx_whole || length + pad > pool->capacity)
        return PL_GEM_NOT_COPIED;
    struct plumb_packet *packet = plumb_packet_take(pool, (uint16_t)pad);
    if (!packet)
        return PL_GEM_NOT_COPIED;
    uint8_t *bytes = pl_gem_rx_bytes(gem, address);
    plumb_dma_sync_for_cpu(gem->config.dma, bytes, length + pad, PLUMB_DMA_FROM_DEVICE);
    packet->length = packet->total = (uint16_t)length;
    plumb_packet_copy_in(packet, 0, bytes + pad, length);
    pl_gem_rx_again(gem, address);
    gem->rx_dropping = false;
    pl_gem_rx_pass_up(gem, packet, control);
    return PL_GEM_COPIED_FRAME;
}

bool pl_gem_rx_copy_fits(const struct plumb_gem_config *config) {
    return config->rx_copies;
}

#endif
