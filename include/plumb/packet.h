/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Packets: small descriptors over reference-counted DMA buffers.
 *
 *   packet ──more──> packet ──more──> null      one frame in three fragments
 *     │data,length     │
 *     v                v
 *   [buffer memory]  [buffer memory]            or memory that a user lent
 *
 * What holds:
 *  - A frame is a chain of descriptors, a fragment each, linked by `more`.
 *    Only the first one's `next`, `total`, `sequence` and `mark` mean anything.
 *  - `total` is the sum of `length` along the chain.
 *  - Each descriptor counts its own holders. To hold a frame is to hold every
 *    fragment of it; each holder puts what it holds exactly once.
 *  - The bytes of a packet with one holder may be changed by that holder; with
 *    more, they are read-only to all of them. The fields stay with who queued the
 *    packet: a driver that holds it copies what it needs and does not look again.
 *  - A descriptor of a buffer pool is bound to the same memory for ever; one of
 *    a reference pool points into a struct plumb_reference.
 *  - Nothing here allocates, locks or blocks.
 */
#ifndef PLUMB_PACKET_H
#define PLUMB_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <plumb/dma.h>
#include <plumb_config.h>

#ifdef __cplusplus
extern "C" {
#endif

struct plumb_pool;
struct plumb_reference;

enum plumb_packet_flag {
    PLUMB_PACKET_CHECKSUM_GOOD = 1,    /* the device verified the transport checksum */
    PLUMB_PACKET_CHECKSUM_OFFLOAD = 2, /* the device is to fill in the transport checksum */
    PLUMB_PACKET_BROADCAST = 4,        /* the frame's destination was not unicast */
    PLUMB_PACKET_RETAINED = 8,         /* the sender keeps the packet for sending again */
    PLUMB_PACKET_SUMMED = 16,          /* `sum` is that of the payload */
    PLUMB_PACKET_CLEAN = 32,           /* no cache has anything newer of it than memory */
    PLUMB_PACKET_SEGMENTS = 64,        /* the device is to make TCP segments of it, with `mark`
                                          bytes of payload each */
};

/* What is asked of a fragment lies on one line of a cache, or wherever it fits. */
#ifdef CONFIG_PLUMB_PACKET_LINE
#define PLUMB_PACKET_PLACE __attribute__((aligned(32)))
#else
#define PLUMB_PACKET_PLACE
#endif

struct plumb_packet {
    struct plumb_packet *next; /* the next packet of a queue */
    struct plumb_packet *more; /* the next fragment of this packet, or null */
    uint8_t *data;             /* the fragment's first byte */
    uint16_t length;           /* bytes at data */
    uint16_t total;            /* bytes in all fragments */
    uint16_t references;
    uint8_t flags; /* enum plumb_packet_flag */
    uint8_t dirty; /* the processor has written to the buffer since a device last owned it;
                      whoever writes sets it, the driver that hands it over clears it */
    struct plumb_pool *pool;
    union {
        uint8_t *memory;                   /* buffer pools: the first byte of the buffer */
        struct plumb_reference *reference; /* reference pools: whose bytes these are */
    } owner;
    uint32_t sequence; /* for the protocol that queues the packet */
    uint32_t sum;      /* partial checksum of the payload, for the same */
#ifdef CONFIG_PLUMB_TCP_RACK
    uint32_t sent_us; /* when it was last sent, for the same */
#endif
    uint16_t mark; /* for the same */
} PLUMB_PACKET_PLACE;

/* A fixed number of descriptors, with a buffer each or without (a reference pool). */
struct plumb_pool {
    struct plumb_packet *free;
    uint16_t free_count;
    uint16_t count;
    uint16_t low_water;               /* the smallest free_count since creation */
    uint16_t capacity;                /* bytes per buffer; 0 in a reference pool */
    const struct plumb_dma *dma;      /* how the buffers reach a device; null: coherent */
    struct plumb_reference *released; /* nobody holds them, and the user is still to be told */
};

/* Memory that a user lends for sending. The user fills in the first five fields
 * and keeps the object and the memory unchanged until `release` was called, which
 * happens in plumb_poll() or plumb_destroy(), never in the midst of anything.
 *
 * `clean` promises that nobody has written to the memory since it was last written back
 * from the caches, by plumb_reference_clean() or at the start: of pages in flash, or of
 * what is made once and sent often. Then nothing is written back for sending. */
struct plumb_reference {
    const void *memory;
    size_t length; /* bytes */
    void (*release)(struct plumb_reference *reference);
    void *context;
    bool clean;
    uint32_t references; /* the stack's own, and the next */
    struct plumb_reference *next;
};

/* One contiguous run of received bytes. */
struct plumb_iovec {
    const uint8_t *data;
    size_t length;
};

/* Makes a pool of `count` descriptors. `memory` holds count x capacity bytes and
 * is aligned to PLUMB_DMA_LINE, capacity a multiple of it; or null with capacity
 * 0 for a reference pool. Returns PLUMB_OK or PLUMB_ERROR_INVALID. */
int plumb_pool_create(struct plumb_pool *pool, struct plumb_packet *descriptors, void *memory,
                      uint16_t count, uint16_t capacity, const struct plumb_dma *dma);

/* Takes a packet of one fragment and length 0, held once, its data `headroom`
 * bytes into the buffer (at most the capacity). Null when the pool is empty. */
struct plumb_packet *plumb_packet_take(struct plumb_pool *pool, uint16_t headroom);

/* Unlinks the next free packet of a pool, its fields as whoever put it left them: for a
 * driver that says itself what a packet holds. Null when the pool is empty. */
static inline struct plumb_packet *plumb_pool_pop(struct plumb_pool *pool) {
    struct plumb_packet *packet = pool->free;

    if (packet) {
        const unsigned left = pool->free_count - 1U;
        pool->free = packet->next;
        pool->free_count = (uint16_t)left;
        if (left < pool->low_water)
            pool->low_water = (uint16_t)left;
    }
    return packet;
}

/* Links a packet of a pool of buffers to the free ones: its last holder's to do. */
static inline void plumb_pool_push(struct plumb_pool *pool, struct plumb_packet *packet) {
    packet->references = 0;
    packet->next = pool->free;
    pool->free = packet;
    pool->free_count++;
}

/* Adds one holder to every fragment of a packet. */
void plumb_packet_hold(struct plumb_packet *packet);

/* Removes one holder from every fragment; those that nobody holds go back to
 * their pools, or their reference is released. Null is allowed. */
void plumb_packet_put(struct plumb_packet *packet);

/* The same for one fragment only, whatever it is linked to: for a driver, which
 * holds what its descriptors point at, one by one. */
void plumb_fragment_put(struct plumb_packet *fragment);

/* Copies up to `length` bytes from `offset` on out of a packet; returns how many. */
size_t plumb_packet_copy_out(const struct plumb_packet *packet, size_t offset, void *to,
                             size_t length);

/* Copies up to `length` bytes into a packet from `offset` on; returns how many fitted
 * between there and its end. Needs to be sole holder. */
size_t plumb_packet_copy_in(struct plumb_packet *packet, size_t offset, const void *from,
                            size_t length);

/* Drops `count` bytes (at most total) from the front; emptied fragments behind
 * the first are put, the first is kept even when empty. Needs to be sole holder. */
void plumb_packet_trim_front(struct plumb_packet *packet, size_t count);

/* Shortens the packet to `length` bytes (at most total). Needs to be sole holder. */
void plumb_packet_trim_to(struct plumb_packet *packet, size_t length);

#ifdef __cplusplus
}
#endif

#endif
