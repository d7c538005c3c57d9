/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The send queue: the user's bytes, cut into segments as they come in.
 */
#include "tcp/tcp.h"

#include "bytes/bytes.h"

/* The pause before asking again for a packet that was not there. */
#define RETRY_MS 10
/* What every host takes (RFC 9293 section 3.7.1). */
#define SMALLEST_SEGMENT 536

/* Payload per segment: at most half of what the peer ever had room for, so that
 * two fit (RFC 9293 section 3.8.6.2.1); but no window makes segments tiny. */
static uint32_t segment_size(const struct plumb_tcp *connection) {
    uint32_t half = pl_tcp_scaled(connection, connection->send_window_most) / 2;

    if (half < SMALLEST_SEGMENT)
        half = SMALLEST_SEGMENT;
    return half < connection->mss ? half : connection->mss;
}

static bool may_queue(const struct plumb_tcp *connection) {
    return connection->state == PLUMB_TCP_STATE_ESTABLISHED ||
           connection->state == PLUMB_TCP_STATE_CLOSE_WAIT;
}

static bool is_copied(const struct plumb_packet *segment) {
    return segment->pool->capacity != 0;
}

/* The queue was empty. What was sent last has been acknowledged a round trip later. */
static void begin_wait(struct plumb_tcp *connection) {
    uint32_t now_ms = pl_tcp_stack(connection)->now_ms;
    uint32_t silent_ms = now_ms - connection->progress_ms + connection->srtt_us / 1000;

    if (silent_ms > connection->rto_ms && connection->send_unacked == connection->send_most)
        pl_tcp_congestion_idle(connection);
    connection->progress_ms = now_ms;
}

/* Puts segments of `length` bytes in all behind the queue, to be sent. */
static inline void enqueue(struct plumb_tcp *connection, struct plumb_packet *first,
                           struct plumb_packet *last, uint32_t length) {
    struct plumb_packet *before = connection->send_last;

    last->next = NULL;
    connection->send_last = last;
    connection->send_queued = (pl_tcp_size)(connection->send_queued + length);
    if (!connection->send_unsent)
        connection->send_unsent = first;
    if (before) {
        before->next = first;
        return;
    }
    connection->send_first = first;
    begin_wait(connection);
}

/* Bytes that the last segment still takes, if it was copied, has never gone out (not even
 * before a time-out: the peer may have said that it has it), and has nothing acknowledged: then
 * it begins where a new one does. */
static uint32_t room_in_last(const struct plumb_tcp *connection, uint32_t size) {
    const struct plumb_packet *last = connection->send_last;

    return connection->send_unsent && !pl_before(last->sequence, connection->send_most) &&
                   last->total < size && is_copied(last) && last->references == 1 &&
                   last->data == last->owner.memory + PL_HEADROOM
               ? size - last->total
               : 0;
}

/* Copies behind what the last segment holds. */
static void fill_last(struct plumb_tcp *connection, const uint8_t *bytes, uint32_t length) {
    struct plumb_packet *last = connection->send_last;
    uint32_t sum = pl_copy_sum(last->data + last->length, bytes, length);

    last->sum = pl_sum_append(last->sum, last->length, sum);
    last->length = last->total = (uint16_t)(last->length + length);
    connection->send_queued = (pl_tcp_size)(connection->send_queued + length);
}

/* Where headers come from the same pool, payload leaves some for them. */
static bool is_short(const struct plumb_options *options) {
    const struct plumb_pool *pool = options->segments;

    return pool == options->headers && pool->free_count <= pool->count / 4U;
}

/* Copies into a new segment; false when there is none. */
static bool add_copy(struct plumb_tcp *connection, const uint8_t *bytes, uint32_t length) {
    const struct plumb_options *options = &pl_tcp_stack(connection)->options;
    struct plumb_packet *segment =
        is_short(options) ? NULL : pl_packet_take(options->segments, PL_HEADROOM);

    if (!segment) {
        pl_tcp_set_deadline(connection, PL_TCP_RETRY, RETRY_MS);
        return false;
    }
    segment->length = segment->total = (uint16_t)length;
    segment->flags = PLUMB_PACKET_RETAINED | PLUMB_PACKET_SUMMED;
#ifdef CONFIG_PLUMB_TCP_RACK
    segment->mark = 0;
#endif
    segment->sequence = connection->send_unacked + connection->send_queued;
    segment->sum = pl_copy_sum(segment->data, bytes, length);
    enqueue(connection, segment, segment, length);
    return true;
}

size_t plumb_tcp_writable(const struct plumb_tcp *connection) {
    uint32_t limit = pl_tcp_send_limit(connection);

    return limit > connection->send_queued ? limit - connection->send_queued : 0;
}

int plumb_tcp_send(struct plumb_tcp *connection, const void *bytes, size_t length) {
    const uint8_t *from = bytes;
    pl_tcp_look_at_path(connection);
    size_t room = plumb_tcp_writable(connection);
    uint32_t left = (uint32_t)(length < room ? length : room);
    uint32_t most = pl_tcp_stack(connection)->options.segments->capacity - PL_HEADROOM;
    uint32_t size = segment_size(connection);

    if (!may_queue(connection))
        return PLUMB_ERROR_CLOSED;
    if (size > most)
        size = most;
    uint32_t part = room_in_last(connection, size);
    if (part > left)
        part = left;
    if (part)
        fill_last(connection, from, part);
    for (;;) {
        from += part;
        left -= part;
        part = left < size ? left : size;
        if (!part || !add_copy(connection, from, part))
            break;
    }
    size_t done = (size_t)(from - (const uint8_t *)bytes);
    if (done < length)
        connection->flags |= PL_TCP_WANT_WRITABLE;
    pl_tcp_pend(connection);
    pl_settle(pl_tcp_stack(connection));
    return (int)done;
}

/* How the segments of a reference differ from others. */
static inline uint8_t flags_of(const struct plumb_reference *reference) {
#ifdef CONFIG_PLUMB_REFERENCE_CLEAN
    if (reference->clean)
        return PLUMB_PACKET_RETAINED | PLUMB_PACKET_CLEAN;
#else
    (void)reference;
#endif
    return PLUMB_PACKET_RETAINED;
}

/* Queues the bytes of a reference as segments of `size`, for which there are packets:
 * these are filled in before they are taken, which takes one walk along them. */
static void add_references(struct plumb_tcp *connection, struct plumb_reference *reference,
                           uint32_t size) {
    struct plumb_pool *pool = pl_tcp_stack(connection)->options.references;
    struct plumb_packet *last, *segment = pool->free;
    uint8_t *data = (uint8_t *)(uintptr_t)reference->memory;
    uint32_t sequence = connection->send_unacked + connection->send_queued;
    uint32_t left = (uint32_t)reference->length, count = 0;
    const uint8_t flags = flags_of(reference);

    do {
        last = segment;
        segment->more = NULL;
        segment->data = data;
        segment->length = segment->total = (uint16_t)size;
        segment->references = 1;
        segment->flags = flags;
        segment->owner.reference = reference;
        segment->sequence = sequence;
#ifdef CONFIG_PLUMB_TCP_RACK
        segment->mark = 0;
#endif
        segment = segment->next;
        data += size;
        sequence += size;
        count++;
        if (left <= size)
            break;
        left -= size;
    } while (true);
    last->length = last->total = (uint16_t)left;
    reference->references = count;
    enqueue(connection, pl_packet_take_to(pool, last, count), last, (uint32_t)reference->length);
}

int plumb_tcp_send_reference(struct plumb_tcp *connection, struct plumb_reference *reference) {
    struct plumb *stack = pl_tcp_stack(connection);
    struct plumb_pool *pool = stack->options.references;
    pl_tcp_look_at_path(connection);
    uint32_t size = segment_size(connection);
    size_t length = reference->length;

    if (!may_queue(connection))
        return PLUMB_ERROR_CLOSED;
    if (!pool || !length || length > pl_tcp_send_limit(connection) || length > pool->count * size)
        return PLUMB_ERROR_INVALID;
    if (length > plumb_tcp_writable(connection) || length > pool->free_count * size) {
        connection->flags |= PL_TCP_WANT_WRITABLE;
        pl_tcp_set_deadline(connection, PL_TCP_RETRY, RETRY_MS);
        return PLUMB_ERROR_WOULD_BLOCK;
    }
    add_references(connection, reference, size);
    pl_tcp_pend(connection);
    pl_settle(stack);
    return PLUMB_OK;
}

void plumb_reference_clean(struct plumb *stack, struct plumb_reference *reference) {
    plumb_dma_clean(stack->options.references->dma, reference->memory, reference->length);
    reference->clean = true;
}

void pl_tcp_drop_sent(struct plumb_tcp *connection) {
    struct plumb_packet *queue = connection->send_first;

    connection->send_first = connection->send_last = connection->send_unsent = NULL;
    connection->send_queued = 0;
    pl_queue_put(queue);
}
