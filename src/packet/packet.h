/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the layers need of packets beside the public functions: queues, sums
 * along the fragments, and headers pushed and pulled.
 */
#ifndef PL_PACKET_H
#define PL_PACKET_H

#include <stdbool.h>

#include <plumb/packet.h>

/* Bytes in front of a transport payload that we send: Ethernet 14, 802.1Q 4,
 * IPv4 20 and TCP 20 with up to 12 of options, and 2 so that with a buffer on a
 * cache line the network header lies on a word. */
#define PL_HEADROOM 72

/* Puts every packet of a queue linked by `next`. */
void pl_queue_put(struct plumb_packet *queue);

/* Tells the users of lent memory that nobody holds any more. */
void pl_references_release(struct plumb_pool *pool);

/* The sum of all bytes of a packet. */
uint32_t pl_packet_sum(const struct plumb_packet *packet);

/* Copies all bytes from `offset` on to `to`, and returns the sum of those. */
uint32_t pl_packet_copy_sum(const struct plumb_packet *packet, size_t offset, void *to);

/* Makes room for a header in front; the headroom must be there. */
static inline void *pl_packet_push(struct plumb_packet *packet, unsigned length) {
    packet->data -= length;
    packet->length = (uint16_t)(packet->length + length);
    packet->total = (uint16_t)(packet->total + length);
    return packet->data;
}

/* Steps over a header that lies in the first fragment. */
static inline void pl_packet_pull(struct plumb_packet *packet, unsigned length) {
    packet->data += length;
    packet->length = (uint16_t)(packet->length - length);
    packet->total = (uint16_t)(packet->total - length);
}

#endif
