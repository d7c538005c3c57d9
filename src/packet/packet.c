/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Pools and packets; what holds is said in plumb/packet.h.
 */
#include <plumb/error.h>
#include <plumb/packet.h>

#include "bytes/bytes.h"
#include "packet/packet.h"

int plumb_pool_create(struct plumb_pool *pool, struct plumb_packet *descriptors, void *memory,
                      uint16_t count, uint16_t capacity, const struct plumb_dma *dma) {
    uint8_t *buffer = memory;

    if (!count || (memory == NULL) != (capacity == 0))
        return PLUMB_ERROR_INVALID;
    if (((uintptr_t)memory | capacity) % PLUMB_DMA_LINE)
        return PLUMB_ERROR_INVALID;
    *pool = (struct plumb_pool){
        .count = count, .free_count = count, .low_water = count, .capacity = capacity, .dma = dma};
    for (uint16_t i = count; i--;) {
        struct plumb_packet *packet = &descriptors[i];
        *packet = (struct plumb_packet){.pool = pool, .next = pool->free};
        packet->owner.memory = memory ? buffer + (size_t)i * capacity : NULL;
        pool->free = packet;
    }
    return PLUMB_OK;
}

struct plumb_packet *plumb_packet_take(struct plumb_pool *pool, uint16_t headroom) {
    struct plumb_packet *packet = plumb_pool_pop(pool);

    if (!packet)
        return NULL;
    packet->next = NULL;
    packet->more = NULL;
    packet->data = pool->capacity ? packet->owner.memory + headroom : NULL;
    packet->length = 0;
    packet->total = 0;
    packet->references = 1;
    packet->flags = 0;
    return packet;
}

/* One fragment less of lent memory. Its user is told when no function of the stack
 * or of a driver is at work: see pl_references_release. */
static void reference_put(struct plumb_pool *pool, struct plumb_reference *reference) {
    if (--reference->references)
        return;
    reference->next = pool->released;
    pool->released = reference;
}

void pl_references_release(struct plumb_pool *pool) {
    struct plumb_reference *reference = pool->released;

    /* What they lead to waits for the next time. */
    pool->released = NULL;
    while (reference) {
        struct plumb_reference *next = reference->next;
        reference->release(reference);
        reference = next;
    }
}

void plumb_fragment_put(struct plumb_packet *fragment) {
    struct plumb_pool *pool = fragment->pool;

    if (--fragment->references)
        return;
    struct plumb_reference *reference = pool->capacity ? NULL : fragment->owner.reference;
    fragment->next = pool->free;
    pool->free = fragment;
    pool->free_count++;
    if (reference) {
        fragment->owner.reference = NULL;
        reference_put(pool, reference);
    }
}

void plumb_packet_hold(struct plumb_packet *packet) {
    for (; packet; packet = packet->more)
        packet->references++;
}

void plumb_packet_put(struct plumb_packet *packet) {
    while (packet) {
        struct plumb_packet *more = packet->more;
        plumb_fragment_put(packet);
        packet = more;
    }
}

void pl_queue_put(struct plumb_packet *queue) {
    while (queue) {
        struct plumb_packet *next = queue->next;
        plumb_packet_put(queue);
        queue = next;
    }
}

#ifdef __OPTIMIZE_SIZE__

static bool begins_run(const struct plumb_packet *packet) {
    (void)packet;
    return false;
}

#define put_run(first, length) (first)

#else

static inline bool begins_run(const struct plumb_packet *packet) {
    return packet->pool->capacity && !packet->more && packet->references == 1;
}

/* Puts the first packet, and those behind it that are alike: one fragment, of the same
 * pool, nobody else's. They are linked already, and go back at once. */
static struct plumb_packet *put_run(struct plumb_packet *first, size_t *length) {
    struct plumb_pool *pool = first->pool;
    struct plumb_packet *last, *packet = first;
    size_t left = *length;
    unsigned count = 0;

    do {
        left -= packet->total;
        last = packet;
        packet = packet->next;
        count++;
    } while (packet && packet->total <= left && packet->pool == pool && !packet->more &&
             packet->references == 1);
    last->next = pool->free;
    pool->free = first;
    pool->free_count = (uint16_t)(pool->free_count + count);
    *length = left;
    return packet;
}

#endif

struct plumb_packet *pl_queue_put_front(struct plumb_packet *queue, size_t *length) {
    while (queue && queue->total <= *length) {
        struct plumb_packet *next = queue->next;
        if (begins_run(queue)) {
            next = put_run(queue, length);
        } else {
            *length -= queue->total;
            plumb_packet_put(queue);
        }
        queue = next;
    }
    return queue;
}

/* Where the bytes of a fragment begin that lie from *offset of its chain on, and how
 * many they are, at most `most`; *offset becomes that in the rest of the chain. */
static uint8_t *part_of(const struct plumb_packet *fragment, size_t *offset, size_t most,
                        size_t *part) {
    size_t skip = *offset < fragment->length ? *offset : fragment->length;

    *offset -= skip;
    *part = fragment->length - skip < most ? fragment->length - skip : most;
    return fragment->data + skip;
}

size_t plumb_packet_copy_out(const struct plumb_packet *packet, size_t offset, void *to,
                             size_t length) {
    uint8_t *out = to;
    size_t copied = 0;

    for (; packet && copied < length; packet = packet->more) {
        size_t part;
        const uint8_t *bytes = part_of(packet, &offset, length - copied, &part);
        pl_copy(out + copied, bytes, part);
        copied += part;
    }
    return copied;
}

size_t plumb_packet_copy_in(struct plumb_packet *packet, size_t offset, const void *from,
                            size_t length) {
    const uint8_t *in = from;
    size_t copied = 0;

    for (; packet && copied < length; packet = packet->more) {
        size_t part;
        uint8_t *bytes = part_of(packet, &offset, length - copied, &part);
        pl_copy(bytes, in + copied, part);
        packet->dirty |= part != 0;
        copied += part;
    }
    return copied;
}

void plumb_packet_trim_front(struct plumb_packet *packet, size_t count) {
    packet->total = (uint16_t)(packet->total - count);
    if (count <= packet->length) {
        packet->data += count;
        packet->length = (uint16_t)(packet->length - count);
        return;
    }
    count -= packet->length;
    packet->data += packet->length;
    packet->length = 0;
    while (packet->more && count >= packet->more->length) {
        struct plumb_packet *emptied = packet->more;
        count -= emptied->length;
        packet->more = emptied->more;
        plumb_fragment_put(emptied);
    }
    if (count) {
        packet->more->data += count;
        packet->more->length = (uint16_t)(packet->more->length - count);
    }
}

void plumb_packet_trim_to(struct plumb_packet *packet, size_t length) {
    packet->total = (uint16_t)length;
    while (length > packet->length) {
        length -= packet->length;
        packet = packet->more;
    }
    packet->length = (uint16_t)length;
    plumb_packet_put(packet->more);
    packet->more = NULL;
}

uint32_t pl_packet_sum(const struct plumb_packet *packet) {
    uint32_t sum = pl_sum(packet->data, packet->length);
    size_t length = packet->length;

    for (packet = packet->more; packet; packet = packet->more) {
        sum = pl_sum_append(sum, length, pl_sum(packet->data, packet->length));
        length += packet->length;
    }
    return sum;
}

uint32_t pl_packet_copy_sum(const struct plumb_packet *packet, size_t offset, void *to) {
    uint8_t *out = to;
    uint32_t sum = 0;
    size_t length = 0;

    for (; packet; packet = packet->more) {
        size_t part;
        const uint8_t *bytes = part_of(packet, &offset, SIZE_MAX, &part);
        sum = pl_sum_append(sum, length, pl_copy_sum(out + length, bytes, part));
        length += part;
    }
    return sum;
}
