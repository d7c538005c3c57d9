/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Sending full segments for the first time, many in a row: the bulk of what is sent.
 *
 * What holds: all of it is what the general way of output.c would do, and what is out of
 * the ordinary (a repetition, a part, a FIN, a neighbour not known) is left to that.
 */
#include "tcp/segment.h"

#if defined(CONFIG_PLUMB_TCP_BURST) && !defined(__OPTIMIZE_SIZE__)

/* The headers that the segments of one pass have in common, as they lie in front of the
 * payload; sequence, PSH and checksum are each one's own. Made anew for each pass: as
 * nothing is received meanwhile, nothing in it changes. */
struct template {
    struct pl_front link;
    pl_header_word ipv4[PL_IPV4_HEADER / 4];
    pl_header_word tcp[PL_TCP_HEADER / 4];
    pl_header_word stamp[PL_TCP_STAMP / 4]; /* of connections that have timestamps */
    uint32_t sum; /* of all that TCP's checksum covers but the sequence and the payload */
    bool offloaded;
    uint8_t flags; /* of a packet that begins with headers */
    bool ending;   /* the last segment is another's, as a FIN goes with it */
    uint16_t size, total;
#ifdef CONFIG_PLUMB_TCP_RACK
    uint32_t now_us;
#endif
    struct plumb_netif *netif;
    struct plumb_pool *headers;
};

/* Bytes of it in front of a payload, and those of them that belong to the frame: two of the
 * link's front do not. `options` is 0 or the length of the stamp, here and in what follows. */
#define HEADERS(options) (offsetof(struct template, stamp) + (options))
#define PUSHED(options)  (unsigned)(HEADERS(options) - 2)
_Static_assert(HEADERS(PL_TCP_STAMP) == 68, "one header behind the other");

/* All that is copied, at once, as load-multiple likes it: up to the acknowledgement. */
struct __attribute__((may_alias)) copied {
    uint32_t word[12];
};
/* Where headers end in a packet of their own: with a line of the cache, so that they lie on
 * as few as can be. */
#define FRONT_END(options) ((options) ? 96U : 64U)
_Static_assert(FRONT_END(0) >= HEADERS(0) && FRONT_END(PL_TCP_STAMP) >= HEADERS(PL_TCP_STAMP) &&
                   FRONT_END(PL_TCP_STAMP) <= PLUMB_HEADER_LEAST &&
                   HEADERS(PL_TCP_STAMP) <= PL_HEADROOM,
               "room for all headers");

/* Not inline, or the compiler takes the template apart into more variables than there are
 * registers. */
static __attribute__((noinline)) void
prepare(struct plumb_tcp *connection, struct pl_neighbour *neighbour, struct template *template) {
    template->link = neighbour->front;
    neighbour->used = neighbour->solicited = true;
    const unsigned options = pl_tcp_stamp_length(connection);

    if (options)
        pl_tcp_write_stamp(connection, template->stamp);
    const uint32_t flags = PL_TCP_ACK | pl_tcp_payload_flags(connection, true);
    pl_tcp_write_headers(connection, template->tcp, 0, pl_tcp_control(flags, options),
                         options + connection->mss, pl_sum(template->stamp, options));
    if (flags & PL_TCP_CAPABLE)
        pl_ipv4_make_capable(template->ipv4);
    template->sum = (uint16_t)~pl_fold(template->tcp[4].be);
    template->offloaded = pl_tcp_is_offloaded(connection);
    template->flags = (uint8_t)(PLUMB_PACKET_RETAINED |
                                (template->offloaded ? PLUMB_PACKET_CHECKSUM_OFFLOAD : 0));
    template->ending = (connection->flags & PL_TCP_FIN_QUEUED) != 0;
    template->size = connection->mss;
    template->total = (uint16_t)(template->size + PUSHED(options));
#ifdef CONFIG_PLUMB_TCP_RACK
    template->now_us = (uint32_t)pl_tcp_stack(connection)->now_us;
#endif
    template->netif = connection->netif;
    template->headers = pl_tcp_stack(connection)->options.headers;
}

/* Writes the headers of a segment in front of `data`. */
PL_INLINE void write_headers(uint8_t *data, const struct template *template,
                             struct plumb_packet *segment, const unsigned options) {
    const uint32_t push = plumb_put32((uint32_t)PL_TCP_PSH << 16).be;
    const uint32_t sequence = plumb_put32(segment->sequence).be;
    pl_header_word *tcp = (void *)(data - PL_TCP_HEADER - options);
    struct copied *to = (void *)(data - HEADERS(options));
    const struct copied *from = (const void *)template;
    const uint32_t control = template->tcp[3].be | (segment->next ? 0 : push);
    uint32_t checksum = 0;

    if (!template->offloaded) {
        uint32_t sum = template->sum + pl_tcp_sum_kept(segment) + (control & push);
        sum += (sequence >> 16) + (sequence & 0xffff);
        checksum = pl_first_half((uint16_t)~pl_fold(sum));
    }
    *to = *from;
    tcp[1].be = sequence;
    tcp[3].be = control;
    tcp[4].be = checksum;
    if (options) {
        tcp[5].be = template->stamp[0].be;
        tcp[6].be = template->stamp[1].be;
        tcp[7].be = template->stamp[2].be;
    }
}

/* Sends one segment of the pass, with the headers in front of it. */
PL_INLINE int send_in_one(const struct template *template, struct plumb_packet *segment,
                          const unsigned options) {
    uint8_t *data = segment->data;

    write_headers(data, template, segment, options);
    segment->data = data - PUSHED(options);
    segment->length = segment->total = (uint16_t)(template->size + PUSHED(options));
    segment->flags |= template->flags;
    int result = pl_interface_output(template->netif, segment);
    segment->data = data;
    segment->length = segment->total = template->size;
    return result;
}

/* The same with the headers in a packet of their own. */
PL_INLINE int send_in_two(const struct template *template, struct plumb_packet *segment,
                          const unsigned options) {
    struct plumb_pool *pool = template->headers;
    struct plumb_packet *front = plumb_pool_pop(pool);

    if (!front)
        return PLUMB_ERROR_NO_BUFFER;
    uint8_t *data = front->owner.memory + FRONT_END(options);
    write_headers(data, template, segment, options);
    front->next = NULL;
    front->more = segment;
    front->data = data - PUSHED(options);
    front->length = (uint16_t)PUSHED(options);
    front->total = template->total;
    front->references = 1;
    front->flags = template->flags;
    int result = pl_interface_output(template->netif, front);
    front->more = NULL;
    if (front->references > 1)
        front->references--;
    else
        plumb_pool_push(pool, front);
    return result;
}

#ifdef CONFIG_PLUMB_TCP_SEGMENTATION_OFFLOAD

/* How many segments go to the device as one, of `left` bytes that may go; 1 where it takes no
 * more. */
static uint32_t count_together(const struct template *template, const struct plumb_packet *segment,
                               uint32_t left, const unsigned options) {
    const struct plumb_netif *netif = template->netif;
    const unsigned headers = PL_IPV4_HEADER + PL_TCP_HEADER + options;
    uint32_t count = 0, size = headers;

    do {
        if (segment->more || count + 1U >= netif->segments_fragments)
            break;
        count++;
        left -= template->size;
        size += template->size;
        segment = segment->next;
    } while (segment && segment->total == template->size && left >= template->size &&
             size + template->size <= netif->segments_size && (segment->next || !template->ending));
    return count ? count : 1;
}

/* Makes one chain of `count` segments, or takes it apart again; returns the last. */
static struct plumb_packet *chain(struct plumb_packet *segment, uint32_t count, bool joined) {
    while (--count) {
        segment->more = joined ? segment->next : NULL;
        segment = segment->next;
    }
    return segment;
}

/* Sends `count` segments, of one fragment each, as one: the device makes the rest of their
 * headers. */
static int send_together(const struct template *template, struct plumb_packet *first,
                         uint32_t count, const unsigned options) {
    const uint32_t length = PUSHED(options) + count * template->size;
    struct plumb_packet *front = plumb_pool_pop(template->headers);

    if (!front)
        return PLUMB_ERROR_NO_BUFFER;
    uint8_t *data = front->owner.memory + FRONT_END(options);
    struct plumb_packet *last = chain(first, count, true);
    pl_header_word *tcp = (void *)(data - PL_TCP_HEADER - options);
    write_headers(data, template, first, options);
    pl_ipv4_replace_length(tcp - PL_IPV4_HEADER / 4, (uint16_t)(length - PL_ETHERNET_HEADER));
    if (!last->next)
        tcp[3].be |= plumb_put32((uint32_t)PL_TCP_PSH << 16).be;
    front->next = NULL;
    front->more = first;
    front->data = data - PUSHED(options);
    front->length = (uint16_t)PUSHED(options);
    front->total = (uint16_t)length;
    front->references = 1;
    front->flags = template->flags | PLUMB_PACKET_SEGMENTS;
    front->mark = template->size;
    int result = pl_interface_output(template->netif, front);
    chain(first, count, false);
    front->more = NULL;
    pl_fragment_put(front);
    return result;
}

#else

static inline uint32_t count_together(const struct template *template,
                                      const struct plumb_packet *segment, uint32_t left,
                                      const unsigned options) {
    (void)template, (void)segment, (void)left, (void)options;
    return 1;
}

static inline int send_together(const struct template *template, struct plumb_packet *first,
                                uint32_t count, const unsigned options) {
    (void)template, (void)first, (void)count, (void)options;
    return PLUMB_OK;
}

#endif

/* A full segment, and none that carries the FIN? */
static inline bool is_ordinary(const struct plumb_packet *segment, uint32_t size, bool ending) {
    return segment && segment->total == size && (segment->next || !ending);
}

/* Notes when `count` segments went; returns the next. */
PL_INLINE struct plumb_packet *note_sent(const struct template *template,
                                         struct plumb_packet *segment, uint32_t count) {
    do {
#ifdef CONFIG_PLUMB_TCP_RACK
        segment->sent_us = template->now_us;
#else
        (void)template;
#endif
        segment = segment->next;
    } while (--count);
    return segment;
}

/* Sends segments from the first unsent one on, up to `left` bytes, which is one at least.
 * Returns how many went, and in *result what stopped it. */
PL_INLINE uint32_t send_alike(struct plumb_tcp *connection, struct pl_neighbour *neighbour,
                              uint32_t left, int *result, const unsigned options) {
    struct plumb_packet *segment = connection->send_unsent;
    struct template template;
    uint32_t count = 0;

    prepare(connection, neighbour, &template);
    do {
        const uint32_t together = count_together(&template, segment, left, options);
        int outcome = together > 1 ? send_together(&template, segment, together, options)
                      : pl_tcp_takes_headers(segment) ? send_in_one(&template, segment, options)
                                                      : send_in_two(&template, segment, options);
        if (outcome != PLUMB_OK) {
            *result = outcome;
            break;
        }
        count += together;
        left -= together * template.size;
        segment = note_sent(&template, segment, together);
        if (!segment || (template.ending && !segment->next))
            break;
    } while (segment->total == template.size && left >= template.size);
    connection->send_unsent = segment;
    return count;
}

/* For connections with timestamps and for those without, so that neither asks again. */
static uint32_t send_plain(struct plumb_tcp *connection, struct pl_neighbour *neighbour,
                           uint32_t left, int *result) {
    return send_alike(connection, neighbour, left, result, 0);
}

static __attribute__((noinline)) uint32_t send_stamped(struct plumb_tcp *connection,
                                                       struct pl_neighbour *neighbour,
                                                       uint32_t left, int *result) {
    return send_alike(connection, neighbour, left, result, PL_TCP_STAMP);
}

bool pl_tcp_send_burst(struct plumb_tcp *connection) {
    const struct plumb_packet *segment = connection->send_unsent;
    const uint32_t size = connection->mss, begin = connection->send_most;
    uint32_t out = pl_tcp_in_flight(connection), window = pl_tcp_usable_window(connection);
    int result = PLUMB_OK;

    if (!is_ordinary(segment, size, connection->flags & PL_TCP_FIN_QUEUED) ||
        pl_tcp_agreed(connection, PL_TCP_REDUCED) || segment->sequence != begin ||
        connection->send_next != begin || out + size > window)
        return true;
    struct pl_neighbour *neighbour = pl_tcp_neighbour(connection);
    if (!pl_neighbour_has_front(neighbour) ||
        (!pl_tcp_stack(connection)->options.headers->free && !pl_tcp_takes_headers(segment)))
        return true;
    uint32_t count = pl_tcp_agreed(connection, PL_TCP_TIMESTAMPS)
                         ? send_stamped(connection, neighbour, window - out, &result)
                         : send_plain(connection, neighbour, window - out, &result);
    if (count) {
        pl_tcp_begin_timing(connection, begin + size);
        connection->send_next = connection->send_most = begin + count * size;
        pl_tcp_tally(connection, segments_out, count);
        pl_tcp_count_out(connection, count * size);
    }
    if (result == PLUMB_ERROR_NO_BUFFER)
        pl_tcp_no_header(connection); /* the first was there, and acknowledged what came */
    else if (result != PLUMB_OK)
        pl_tcp_not_sent(connection);
    return result == PLUMB_OK;
}

#endif
