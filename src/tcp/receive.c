/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Received payload: in order, out of order, and into the user's hands.
 */
#include "tcp/tcp.h"

#include "bytes/bytes.h"

/* Payload this small is copied behind what is queued, where it fits, so that a
 * flood of tiny segments does not hold a buffer each. */
#define SMALL 256

/* ---- the window ---- */

uint32_t pl_tcp_receive_room(const struct plumb_tcp *connection) {
    uint32_t limit = pl_tcp_receive_limit(connection);

    return limit > connection->receive_queued ? limit - connection->receive_queued : 0;
}

uint32_t pl_tcp_receive_window(struct plumb_tcp *connection) {
    uint32_t room = pl_tcp_receive_room(connection);
    uint32_t open = connection->receive_edge - connection->receive_next;
    uint32_t step = pl_tcp_receive_limit(connection) / 2;

    if (step > connection->mss)
        step = connection->mss;
    /* Small steps make small segments (RFC 9293 section 3.8.6.2.2). */
    if (room < open + step)
        return open;
    connection->receive_edge = connection->receive_next + room;
    return room;
}

static void pend_window_update(struct plumb_tcp *connection) {
    if (connection->state >= PLUMB_TCP_STATE_ESTABLISHED)
        pl_tcp_pend(connection);
    pl_settle(pl_tcp_stack(connection));
}

/* ---- in order ---- */

static bool is_half_empty(const struct plumb_pool *pool) {
    return pool->free_count < pool->count / 2U;
}

/* Copies a small packet behind the last one queued, when it has room; any that
 * fits, when buffers are scarce. */
static bool merge_small(struct plumb_tcp *connection, const struct plumb_packet *packet) {
    struct plumb_packet *last = connection->receive_last;

    if (!last || last->more || last->references != 1 ||
        (packet->total > SMALL && !is_half_empty(packet->pool)))
        return false;
    uint32_t used = (uint32_t)(last->data - last->owner.memory) + last->length;
    if (packet->total > (uint32_t)last->pool->capacity - used)
        return false;
    plumb_packet_copy_out(packet, 0, last->data + last->length, packet->total);
    last->dirty = true;
    last->length = last->total = (uint16_t)(last->length + packet->total);
    return true;
}

/* Hands the next payload to the user; takes the packet. */
static void append(struct plumb_tcp *connection, struct plumb_packet *packet) {
    connection->receive_next += packet->total;
    pl_tcp_tell(connection, PLUMB_TCP_READABLE);
    if (pl_tcp_is_posting(connection) && !connection->receive_first)
        pl_tcp_poster(connection)->fill(connection, packet);
    connection->receive_queued = (pl_tcp_size)(connection->receive_queued + packet->total);
    if (packet->total == 0 || merge_small(connection, packet)) {
        plumb_packet_put(packet);
        return;
    }
    packet->next = NULL;
    if (connection->receive_first)
        connection->receive_last->next = packet;
    else
        connection->receive_first = packet;
    connection->receive_last = packet;
}

/* The peer's FIN is next in order. */
static void take_fin(struct plumb_tcp *connection) {
    /* It takes no room, and passes even a closed window. */
    if (connection->receive_edge == connection->receive_next++)
        connection->receive_edge++;
    connection->flags |= PL_TCP_FIN_RECEIVED | PL_TCP_ACK_NOW;
    pl_tcp_tell(connection, PLUMB_TCP_PEER_CLOSED);
    switch (connection->state) {
    case PLUMB_TCP_STATE_ESTABLISHED:
        connection->state = PLUMB_TCP_STATE_CLOSE_WAIT;
        break;
    case PLUMB_TCP_STATE_FIN_WAIT_1:
        connection->state = PLUMB_TCP_STATE_CLOSING;
        break;
    default:
        pl_tcp_enter_time_wait(connection);
        break;
    }
}

/* ---- out of order ---- */

/* As many packets may wait for each 64 KiB of the buffer. */
static bool has_place(const struct plumb_tcp *connection) {
    uint32_t share = pl_tcp_receive_limit(connection) / 65536U + 1;

    return connection->reordered_count < share * CONFIG_PLUMB_TCP_REORDER_PACKETS;
}

/* Puts a packet among those that wait, sorted. Of bytes that came twice, the
 * packet that begins earlier wins. False when it brings nothing; the caller still
 * has it. */
static bool reorder(struct plumb_tcp *connection, struct plumb_packet *packet) {
    struct plumb_packet **link = &connection->reordered;

    while (*link && !pl_after((*link)->sequence, packet->sequence)) {
        if (!pl_after(pl_tcp_reordered_end(packet), pl_tcp_reordered_end(*link)))
            return false;
        link = &(*link)->next;
    }
    packet->next = *link;
    *link = packet;
    connection->reordered_count++;
    return true;
}

/* Nothing comes after a FIN: what waits past it was never sent by who sent that. */
static void drop_past_fin(struct plumb_tcp *connection) {
    struct plumb_packet *packet;

    while ((packet = connection->reordered) != NULL) {
        connection->reordered = packet->next;
        if (pl_after(pl_tcp_reordered_end(packet), connection->receive_next))
            pl_drop(pl_tcp_stack(connection), PLUMB_COUNTER_tcp_window, packet);
        else
            plumb_packet_put(packet);
    }
    connection->reordered_count = 0;
}

/* Moves what has become next in order out of the waiting list. */
static void drain(struct plumb_tcp *connection) {
    struct plumb_packet *packet;

    while (!(connection->flags & PL_TCP_FIN_RECEIVED) && (packet = connection->reordered) != NULL &&
           !pl_after(packet->sequence, connection->receive_next)) {
        uint32_t known = connection->receive_next - packet->sequence;
        bool fin = packet->mark;
        connection->reordered = packet->next;
        connection->reordered_count--;
        connection->flags |= PL_TCP_ACK_NOW;
        if (!pl_after(pl_tcp_reordered_end(packet), connection->receive_next)) {
            plumb_packet_put(packet);
            continue;
        }
        plumb_packet_trim_front(packet, known);
        append(connection, packet);
        if (fin)
            take_fin(connection);
    }
    if (connection->flags & PL_TCP_FIN_RECEIVED)
        drop_past_fin(connection);
}

/* ---- a segment's payload ---- */

/* Takes what lies outside the window off the packet; false when nothing is left. */
static bool trim_to_window(struct plumb_tcp *connection, struct pl_segment *segment) {
    struct plumb_packet *packet = segment->packet;
    uint32_t open = connection->receive_edge - connection->receive_next;
    bool fin = segment->flags & PL_TCP_FIN;

    if (pl_before(segment->sequence, connection->receive_next)) {
        uint32_t known = connection->receive_next - segment->sequence;
        pl_tcp_note_duplicate(connection, segment->sequence,
                              segment->sequence +
                                  (known < segment->length ? known : segment->length));
        if (known >= segment->length + fin)
            return false;
        plumb_packet_trim_front(packet, known);
        segment->sequence += known;
        segment->length -= known;
    }
    uint32_t offset = segment->sequence - connection->receive_next;
    if (offset + segment->length > open) {
        if (offset >= open)
            return false;
        segment->length = open - offset;
        segment->flags &= (uint8_t)~PL_TCP_FIN;
        plumb_packet_trim_to(packet, segment->length);
    }
    return true;
}

static void take_in_order(struct plumb_tcp *connection, struct pl_segment *segment) {
    struct plumb_packet *packet = segment->packet;

    segment->packet = NULL;
    pl_tcp_tally(connection, segments_in, 1);
    append(connection, packet);
    if (segment->flags & PL_TCP_FIN)
        take_fin(connection);
    if (connection->reordered) {
        /* It fills a gap, or a part of one (RFC 5681 section 4.2). */
        connection->flags |= PL_TCP_ACK_NOW;
        drain(connection);
    }
}

static void take_out_of_order(struct plumb_tcp *connection, struct pl_segment *segment) {
    struct plumb *stack = pl_tcp_stack(connection);
    struct plumb_packet *packet = segment->packet;

    connection->flags |= PL_TCP_ACK_NOW;
    packet->sequence = segment->sequence;
    packet->mark = segment->flags & PL_TCP_FIN;
    if (!has_place(connection)) {
        pl_tcp_drop(segment, PLUMB_COUNTER_tcp_reordered_full);
    } else if (reorder(connection, packet)) {
        segment->packet = NULL;
        pl_tcp_note_arrival(connection, packet);
        pl_tcp_tally(connection, segments_in, 1);
        pl_count(stack, PLUMB_COUNTER_tcp_reordered);
    } else {
        pl_tcp_note_duplicate(connection, segment->sequence, segment->sequence + segment->length);
        pl_count(stack, PLUMB_COUNTER_tcp_duplicate);
    }
}

/* Each connection may have a few buffers' worth unread as long as there are any
 * beside the last sixteenth, which is for acknowledgements; more, and what is out of
 * order, only while a quarter of the pool is free. So users who do not read cannot
 * shut out those who do. Buffers are at least half full when they are scarce: see
 * merge_small. */
static bool pool_allows(const struct plumb_tcp *connection, const struct plumb_packet *packet,
                        bool in_order) {
    const struct plumb_pool *pool = packet->pool;
    uint32_t share = pool->count / (4U * CONFIG_PLUMB_TCP_CONNECTIONS) + 2;
    bool within = in_order && connection->receive_queued < share * pool->capacity / 2;

    return pool->free_count >= pool->count / (within ? 16U : 4U);
}

/* What waits out of order is worth less than what is next: the farthest goes first. */
static void make_room(struct plumb_tcp *connection, const struct plumb_packet *packet) {
    while (connection->reordered && !pool_allows(connection, packet, true)) {
        struct plumb_packet **link = &connection->reordered;
        while ((*link)->next)
            link = &(*link)->next;
        pl_drop(pl_tcp_stack(connection), PLUMB_COUNTER_tcp_reordered_full, *link);
        *link = NULL;
        connection->reordered_count--;
    }
}

void pl_tcp_take_payload(struct plumb_tcp *connection, struct pl_segment *segment) {
    struct pl_tcp_state *tcp = connection->tcp;
    bool old = pl_before(segment->sequence, connection->receive_next);
    bool in_order = !pl_after(segment->sequence, connection->receive_next);

    pl_tcp_pend(connection);
    if (segment->delivered) {
        pl_tcp_tally(connection, segments_in, 1);
        pl_tcp_count_posted(connection, segment->length);
        connection->receive_next += segment->length;
        pl_tcp_tell(connection, PLUMB_TCP_READABLE);
        if (segment->flags & PL_TCP_FIN)
            take_fin(connection);
        return;
    }
    if (!trim_to_window(connection, segment)) {
        connection->flags |= PL_TCP_ACK_NOW;
        if (old)
            pl_count(tcp->stack, PLUMB_COUNTER_tcp_duplicate);
        else
            pl_tcp_drop(segment, PLUMB_COUNTER_tcp_window);
        return;
    }
    if (in_order)
        make_room(connection, segment->packet);
    if (segment->length && !pool_allows(connection, segment->packet, in_order))
        pl_tcp_drop(segment, PLUMB_COUNTER_tcp_no_buffer);
    else if (in_order)
        take_in_order(connection, segment);
    else
        take_out_of_order(connection, segment);
}

void pl_tcp_drop_received(struct plumb_tcp *connection) {
    pl_queue_put(connection->receive_first);
    pl_queue_put(connection->reordered);
    connection->receive_first = connection->receive_last = connection->reordered = NULL;
    connection->receive_queued = 0;
    connection->reordered_count = 0;
    pl_tcp_unpost(connection);
}

struct plumb_packet *pl_tcp_take_received(struct plumb_tcp *connection,
                                          struct plumb_packet **last) {
    struct plumb_packet *first = connection->receive_first;

    *last = connection->receive_last;
    connection->receive_first = connection->receive_last = NULL;
    connection->receive_queued = 0;
    return first;
}

/* ---- the user's side ---- */

size_t plumb_tcp_readable(const struct plumb_tcp *connection) {
    return connection->receive_queued;
}

unsigned plumb_tcp_peek(const struct plumb_tcp *connection, struct plumb_iovec *vectors,
                        unsigned count) {
    struct plumb_iovec *vector = vectors, *const end = vectors + count;

    for (const struct plumb_packet *packet = connection->receive_first; packet;
         packet = packet->next) {
        const struct plumb_packet *part = packet;
        do {
            const size_t length = part->length;
            if (vector == end)
                return count;
            vector->data = part->data;
            vector->length = length;
            if (length)
                vector++;
        } while ((part = part->more) != NULL);
    }
    return (unsigned)(vector - vectors);
}

void plumb_tcp_consume(struct plumb_tcp *connection, size_t length) {
    struct plumb_packet *first;

    if (length > connection->receive_queued)
        length = connection->receive_queued;
    connection->receive_queued = (pl_tcp_size)(connection->receive_queued - length);
    connection->receive_first = first = pl_queue_put_front(connection->receive_first, &length);
    if (!first)
        connection->receive_last = NULL;
    else if (length)
        plumb_packet_trim_front(first, length);
    pend_window_update(connection);
}

size_t pl_tcp_copy_queued(const struct plumb_tcp *connection, void *to, size_t length) {
    uint8_t *out = to;
    size_t done = 0;

    for (const struct plumb_packet *packet = connection->receive_first; packet && done < length;
         packet = packet->next)
        done += plumb_packet_copy_out(packet, 0, out + done, length - done);
    return done;
}

int plumb_tcp_read(struct plumb_tcp *connection, void *to, size_t length) {
    size_t done = pl_tcp_copy_queued(connection, to, length < INT32_MAX ? length : INT32_MAX);

    if (done)
        plumb_tcp_consume(connection, done);
    else if (length && (connection->flags & PL_TCP_FIN_RECEIVED ||
                        connection->state == PLUMB_TCP_STATE_CLOSED))
        return PLUMB_ERROR_CLOSED;
    return (int)done;
}
