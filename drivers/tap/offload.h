/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What goes beside each frame over a TAP device that does checksums and segmentation: the header
 * of virtio's network device (Virtual I/O Device 1.2, section 5.1.6), in the processor's byte
 * order, as TUNSETIFF with IFF_VNET_HDR has it.
 */
#ifndef TAP_OFFLOAD_H
#define TAP_OFFLOAD_H

#include <linux/virtio_net.h>

#include <plumb/packet.h>

enum {
    /* The headers of a frame that is sent: Ethernet, IPv4 and TCP with all their options. */
    TAP_HEADERS_MOST = 14 + 60 + 60,
};

/* Whether a received frame can be as its header says: false for a frame to be dropped. What the
 * kernel knows to be good is marked so, and a checksum that is still to be filled in is. */
bool tap_offload_take(struct plumb_packet *frame, const struct virtio_net_hdr *header);

/* Whether it is said to be several segments, which alone may be longer than the MTU. */
static inline bool tap_offload_is_long(const struct virtio_net_hdr *header) {
    return header->gso_type != VIRTIO_NET_HDR_GSO_NONE;
}

/* Fills in what is to be said of a TCP segment or UDP datagram whose checksum is left to the
 * device, or of several segments as one; `copy` gets the frame's headers, with the sum that the
 * device goes on from. Returns their length, or 0 when the frame is none of these. */
unsigned tap_offload_make(struct virtio_net_hdr *header, uint8_t copy[TAP_HEADERS_MOST],
                          const struct plumb_packet *frame);

#endif
