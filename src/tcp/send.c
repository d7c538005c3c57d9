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
    uint32_t half = connection->send_window_most / 2;

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

/* Puts a segment behind the queue, to be sent. */
static void enqueue(struct plumb_tcp *connection, struct plumb_packet *segment) {
    segment->sequence = connection->send_unacked + connection->send_queued;
    segment->flags = PLUMB_PACKET_RETAINED;
    segment->next = NULL;
    if (connection->send_last) {
        connection->send_last->next = segment;
    } else {
        connection->send_first = segment;
        connection->progress_ms = connection->stack->now_ms; /* the wait begins */
    }
    connection->send_last = segment;
    if (!connection->send_unsent)
        connection->send_unsent = segment;
    connection->send_queued += segment->total;
}

/* Bytes that a copied segment still takes. Its payload may have moved forward in
 * its buffer as parts were acknowledged, so the buffer's end counts too. */
static uint32_t room_in(const struct plumb_tcp *connection, const struct plumb_packet *segment) {
    const uint8_t *end = segment->owner.memory + segment->pool->capacity;
    uint32_t behind = (uint32_t)(end - (segment->data + segment->length));
    uint32_t size = segment_size(connection);
    uint32_t left = segment->total < size ? size - segment->total : 0;

    return left < behind ? left : behind;
}

/* Where headers come from the same pool, payload leaves some for them. */
static bool is_short(const struct plumb_options *options) {
    const struct plumb_pool *pool = options->segments;

    return pool == options->headers && pool->free_count <= pool->count / 4U;
}

/* The last segment while it takes more bytes, or a new one; null when the pool is
 * empty. */
static struct plumb_packet *open_segment(struct plumb_tcp *connection) {
    struct plumb_packet *last = connection->send_last;

    if (connection->send_unsent && is_copied(last) && last->references == 1 &&
        room_in(connection, last))
        return last;
    if (is_short(&connection->stack->options))
        return NULL;
    last = plumb_packet_take(connection->stack->options.segments, PL_HEADROOM);
    if (last) {
        last->sum = 0;
        enqueue(connection, last);
    }
    return last;
}

/* Copies as much as a segment still takes; returns how much. */
static uint32_t fill(struct plumb_tcp *connection, struct plumb_packet *segment,
                     const uint8_t *bytes, uint32_t length) {
    uint32_t room = room_in(connection, segment);
    uint32_t part = length < room ? length : room;
    uint32_t sum = pl_copy_sum(segment->data + segment->length, bytes, part);

    segment->sum = pl_sum_append(segment->sum, segment->length, sum);
    segment->length = segment->total = (uint16_t)(segment->length + part);
    connection->send_queued += part;
    return part;
}

size_t plumb_tcp_writable(const struct plumb_tcp *connection) {
    return connection->send_limit > connection->send_queued
               ? connection->send_limit - connection->send_queued
               : 0;
}

int plumb_tcp_send(struct plumb_tcp *connection, const void *bytes, size_t length) {
    const uint8_t *from = bytes;
    size_t room = plumb_tcp_writable(connection);
    uint32_t take = (uint32_t)(length < room ? length : room), done = 0;

    if (!may_queue(connection))
        return PLUMB_ERROR_CLOSED;
    while (done < take) {
        struct plumb_packet *segment = open_segment(connection);
        if (!segment) {
            pl_tcp_set_deadline(connection, PL_TCP_RETRY, RETRY_MS);
            break;
        }
        done += fill(connection, segment, from + done, take - done);
    }
    if (done < length)
        connection->flags |= PL_TCP_WANT_WRITABLE;
    pl_tcp_pend(connection);
    pl_settle(connection->stack);
    return (int)done;
}

static void add_reference(struct plumb_tcp *connection, struct plumb_reference *reference,
                          size_t offset, uint32_t length) {
    struct plumb_packet *segment = plumb_packet_take(connection->stack->options.references, 0);

    segment->owner.reference = reference;
    segment->data = (uint8_t *)(uintptr_t)reference->memory + offset;
    segment->length = segment->total = (uint16_t)length;
    segment->sum = pl_sum(segment->data, length);
    reference->references++;
    enqueue(connection, segment);
}

int plumb_tcp_send_reference(struct plumb_tcp *connection, struct plumb_reference *reference) {
    struct plumb *stack = connection->stack;
    struct plumb_pool *pool = stack->options.references;
    uint32_t size = segment_size(connection);
    size_t length = reference->length;

    if (!may_queue(connection))
        return PLUMB_ERROR_CLOSED;
    if (!pool || !length || length > connection->send_limit)
        return PLUMB_ERROR_INVALID;
    size_t needed = (length + size - 1) / size;
    if (needed > pool->count)
        return PLUMB_ERROR_INVALID;
    if (length > plumb_tcp_writable(connection) || needed > pool->free_count) {
        connection->flags |= PL_TCP_WANT_WRITABLE;
        pl_tcp_set_deadline(connection, PL_TCP_RETRY, RETRY_MS);
        return PLUMB_ERROR_WOULD_BLOCK;
    }
    reference->references = 0;
    for (size_t offset = 0; offset < length; offset += size) {
        size_t left = length - offset;
        add_reference(connection, reference, offset, left < size ? (uint32_t)left : size);
    }
    pl_tcp_pend(connection);
    pl_settle(stack);
    return PLUMB_OK;
}

/* Moves the front of a segment forward; its sum is that of what is left. */
static void cut_front(struct plumb_packet *segment, uint32_t length) {
    pl_packet_pull(segment, length);
    segment->sequence += length;
    segment->sum = pl_sum(segment->data, segment->length);
}

void pl_tcp_release_acknowledged(struct plumb_tcp *connection, uint32_t acknowledgement) {
    struct plumb_packet *segment;

    while ((segment = connection->send_first) != NULL) {
        uint32_t acknowledged = acknowledgement - segment->sequence;
        if (pl_before(acknowledgement, segment->sequence) || acknowledged == 0)
            return;
        if (acknowledged < segment->total) {
            connection->send_queued -= acknowledged;
            cut_front(segment, acknowledged);
            return;
        }
        connection->send_queued -= segment->total;
        connection->send_first = segment->next;
        if (connection->send_unsent == segment)
            connection->send_unsent = segment->next;
        if (connection->send_last == segment)
            connection->send_last = NULL;
        plumb_packet_put(segment);
    }
}

void pl_tcp_drop_sent(struct plumb_tcp *connection) {
    struct plumb_packet *queue = connection->send_first;

    connection->send_first = connection->send_last = connection->send_unsent = NULL;
    connection->send_queued = 0;
    pl_queue_put(queue);
}
