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

/* Puts packets from the front of a queue for as long as they fit into *length, which is
 * reduced by them; returns the first that does not. */
struct plumb_packet *pl_queue_put_front(struct plumb_packet *queue, size_t *length);

/* Tells the users of lent memory that nobody holds any more. */
void pl_references_release(struct plumb_pool *pool);

/* The sum of all bytes of a packet. */
uint32_t pl_packet_sum(const struct plumb_packet *packet);

/* Copies all bytes from `offset` on to `to`, and returns the sum of those. */
uint32_t pl_packet_copy_sum(const struct plumb_packet *packet, size_t offset, void *to);

#ifdef __OPTIMIZE_SIZE__
#define pl_packet_take  plumb_packet_take
#define pl_fragment_put plumb_fragment_put
#else

/* plumb_packet_take() of a pool of buffers. */
static inline struct plumb_packet *pl_packet_take(struct plumb_pool *pool, unsigned headroom) {
    struct plumb_packet *packet = plumb_pool_pop(pool);

    if (!packet)
        return NULL;
    packet->next = packet->more = NULL;
    packet->data = packet->owner.memory + headroom;
    packet->length = packet->total = 0;
    packet->references = 1;
    packet->flags = 0;
    return packet;
}

/* plumb_fragment_put(), inline but for the last of lent memory. */
static inline void pl_fragment_put(struct plumb_packet *fragment) {
    struct plumb_pool *pool = fragment->pool;

    if (fragment->references > 1) {
        fragment->references--;
        return;
    }
    if (!pool->capacity) {
        if (fragment->owner.reference->references == 1) {
            plumb_fragment_put(fragment);
            return;
        }
        fragment->owner.reference->references--;
    }
    plumb_pool_push(pool, fragment);
}

#endif

/* Takes the first `count` free packets, of which `last` is the last, and returns the first;
 * what the last is linked to, and all that plumb_packet_take() sets, is for the caller to set. */
static inline struct plumb_packet *
pl_packet_take_to(struct plumb_pool *pool, const struct plumb_packet *last, uint32_t count) {
    struct plumb_packet *first = pool->free;

    pool->free = last->next;
    pool->free_count = (uint16_t)(pool->free_count - count);
    if (pool->free_count < pool->low_water)
        pool->low_water = pool->free_count;
    return first;
}

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
