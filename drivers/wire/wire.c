/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The wire: frames under way, and the two ends as network interfaces.
 *
 * A frame under way lies in one place of the user's array, in the list of the end
 * it goes to, sorted by the time it is due; frames due at one time keep the order
 * in which they were sent. Each end draws its faults from its own generator, in a
 * fixed number of draws per frame, so that what one direction meets does not
 * depend on the other, nor one fault on another's rate.
 */
#include "wire.h"

#include "offload.h"
#include <plumb/error.h>

#define ETHERNET_HEADER   14
#define TAG               4
#define FRAMING           24 /* preamble, FCS and gap, bytes */
#define PROBABILITY_WHOLE 10000
#define NO_FLIP           PLUMB_WIRE_LONGEST

/* By way of void: what has a netif as its first member needs more alignment than one. */
static struct plumb_wire_end *end_of(struct plumb_netif *netif) {
    void *end = netif;
    return end;
}

/* splitmix64 */
static uint64_t draw(struct plumb_wire_end *end) {
    uint64_t z = end->random += 0x9e3779b97f4a7c15U;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return z ^ z >> 31;
}

/* A number below `limit` (at most 2^32) without division. */
static uint32_t draw_below(struct plumb_wire_end *end, uint64_t limit) {
    return (uint32_t)((draw(end) >> 32) * limit >> 32);
}

static uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint64_t sooner(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* ---- frames under way ---- */

static struct plumb_wire_frame *frame_take(struct plumb_wire *wire) {
    struct plumb_wire_frame *frame = wire->free;
    if (frame) {
        wire->free = frame->next;
        wire->free_count--;
        frame->flip = NO_FLIP;
    }
    return frame;
}

static void frame_put(struct plumb_wire *wire, struct plumb_wire_frame *frame) {
    frame->next = wire->free;
    wire->free = frame;
    wire->free_count++;
}

static void frame_schedule(struct plumb_wire_end *to, struct plumb_wire_frame *frame,
                           uint64_t due_us) {
    struct plumb_wire_frame **link = &to->arrives;
    while (*link && (*link)->due_us <= due_us)
        link = &(*link)->next;
    frame->due_us = due_us;
    frame->next = *link;
    *link = frame;
}

static struct plumb_wire_frame *frame_next_due(struct plumb_wire_end *end, uint64_t now_us) {
    struct plumb_wire_frame *frame = end->arrives;
    if (!frame || frame->due_us > now_us)
        return 0;
    end->arrives = frame->next;
    if (frame->flip != NO_FLIP)
        frame->bytes[frame->flip] ^= (uint8_t)(1U << frame->flip_bit);
    return frame;
}

static void frames_discard(struct plumb_wire_end *end) {
    while (end->arrives) {
        struct plumb_wire_frame *frame = end->arrives;
        end->arrives = frame->next;
        frame_put(end->wire, frame);
    }
}

/* ---- sending ---- */

/* FNV-1a over all fragments. */
static uint32_t hash_bytes(const struct plumb_wire_sent *sent) {
    uint32_t hash = 2166136261U;
    for (unsigned i = 0; i < sent->count; i++)
        for (unsigned k = 0; k < sent->length[i]; k++)
            hash = (hash ^ sent->data[i][k]) * 16777619U;
    return hash;
}

/* The packet was read out: hold each fragment until it departs. */
static void ring_add(struct plumb_wire_end *end, struct plumb_packet *packet, uint64_t departs_us) {
    unsigned place = (end->ring_first + end->ring_count) % PLUMB_WIRE_RING;
    struct plumb_wire_sent *sent = &end->ring[place];
    sent->count = 0;
    for (struct plumb_packet *f = packet; f; f = f->more) {
        sent->data[sent->count] = f->data;
        sent->length[sent->count] = f->length;
        sent->fragments[sent->count++] = f;
    }
    plumb_packet_hold(packet);
    sent->hash = hash_bytes(sent);
    sent->departs_us = departs_us;
    end->ring_count++;
}

static void ring_release(struct plumb_wire_end *end, uint64_t now_us) {
    while (end->ring_count) {
        struct plumb_wire_sent *sent = &end->ring[end->ring_first];
        if (sent->departs_us > now_us)
            return;
        if (hash_bytes(sent) != sent->hash)
            end->statistics.changed++;
        for (unsigned i = 0; i < sent->count; i++)
            plumb_fragment_put(sent->fragments[i]);
        end->ring_first = (uint16_t)((end->ring_first + 1U) % PLUMB_WIRE_RING);
        end->ring_count--;
    }
}

/* When a frame sent now has left at the rate. */
static uint64_t departure(struct plumb_wire_end *end, unsigned length) {
    uint64_t start = later(end->now_us, end->busy_until_us);
    if (!end->faults.rate)
        return start;
    return start +
           ((uint64_t)(length + FRAMING) * 8 * 1000000 + end->faults.rate - 1) / end->faults.rate;
}

/* A queue of bytes, as many as the frames have at most: by a short frame's own measure there
 * would be no room for it where a long one still finds some. */
static bool queue_full(const struct plumb_wire_end *end) {
    const struct plumb_wire_faults *faults = &end->faults;
    const unsigned longest = end->netif.mtu + ETHERNET_HEADER + FRAMING;
    if (!faults->rate || !faults->queue_limit || end->busy_until_us <= end->now_us)
        return false;
    uint64_t waiting_bits = (end->busy_until_us - end->now_us) * faults->rate / 1000000;
    return waiting_bits > (uint64_t)faults->queue_limit * longest * 8;
}

static void duplicate(struct plumb_wire_end *end, const struct plumb_wire_frame *frame) {
    struct plumb_wire_frame *copy = frame_take(end->wire);
    if (!copy) {
        end->statistics.overflowed++;
        return;
    }
    for (unsigned i = 0; i < frame->length; i++)
        copy->bytes[i] = frame->bytes[i];
    copy->length = frame->length;
    end->statistics.duplicated++;
    frame_schedule(end->peer, copy, frame->due_us);
}

/* What becomes of a frame that departs: all draws are made for every frame. */
static void meet_faults(struct plumb_wire_end *end, struct plumb_wire_frame *frame,
                        uint64_t departs_us) {
    const struct plumb_wire_faults *faults = &end->faults;
    bool lost = draw_below(end, PROBABILITY_WHOLE) < faults->loss;
    bool twice = draw_below(end, PROBABILITY_WHOLE) < faults->duplication;
    bool behind = draw_below(end, PROBABILITY_WHOLE) < faults->reordering;
    bool corrupt = draw_below(end, PROBABILITY_WHOLE) < faults->corruption;
    uint32_t jitter = draw_below(end, (uint64_t)faults->jitter_us + 1);
    uint32_t bit = draw_below(end, frame->length * 8U);

    if (lost) {
        end->statistics.lost++;
        frame_put(end->wire, frame);
        return;
    }
    uint64_t due = later(departs_us + faults->delay_us + jitter, end->last_due_us);
    if (behind) {
        end->statistics.reordered++;
        due += faults->reordering_us ? faults->reordering_us : 2000;
    } else {
        end->last_due_us = due;
    }
    frame_schedule(end->peer, frame, due);
    if (twice)
        duplicate(end, frame);
    if (corrupt) {
        end->statistics.corrupted++;
        frame->flip = (uint16_t)(bit / 8);
        frame->flip_bit = bit % 8;
    }
}

static void read_out(const struct plumb_packet *packet, struct plumb_wire_frame *frame) {
    uint16_t at = 0;
    for (const struct plumb_packet *f = packet; f; f = f->more)
        for (unsigned i = 0; i < f->length; i++)
            frame->bytes[at++] = f->data[i];
    frame->length = at;
}

static bool fits(const struct plumb_wire_end *end, const struct plumb_packet *packet) {
    unsigned count = 0;
    for (const struct plumb_packet *f = packet; f; f = f->more)
        count++;
    return count <= PLUMB_WIRE_FRAGMENTS && packet->total >= ETHERNET_HEADER &&
           packet->total <= end->netif.mtu + ETHERNET_HEADER + TAG;
}

static void send_frame(struct plumb_wire_end *end, struct plumb_wire_frame *frame,
                       uint64_t departs_us) {
    end->statistics.sent++;
    if (end->filter && !end->filter(end->filter_context, frame->bytes, frame->length)) {
        end->statistics.filtered++;
        frame_put(end->wire, frame);
    } else if (!end->netif.link_up) {
        end->statistics.lost++;
        frame_put(end->wire, frame);
    } else if (queue_full(end)) {
        end->statistics.overflowed++;
        frame_put(end->wire, frame);
    } else {
        end->busy_until_us = departs_us;
        meet_faults(end, frame, departs_us);
    }
}

static int wire_transmit(struct plumb_netif *netif, struct plumb_packet *packet) {
    struct plumb_wire_end *end = end_of(netif);
    if (!fits(end, packet)) {
        plumb_netif_count(netif, PLUMB_NETIF_tx_error);
        return PLUMB_OK;
    }
    struct plumb_wire_frame *frame = end->ring_count < PLUMB_WIRE_RING ? frame_take(end->wire) : 0;
    if (!frame) {
        end->blocked = true;
        plumb_netif_count(netif, PLUMB_NETIF_tx_full);
        return PLUMB_ERROR_WOULD_BLOCK;
    }
    read_out(packet, frame);
    if (packet->flags & PLUMB_PACKET_CHECKSUM_OFFLOAD)
        pl_wire_fill_checksums(frame->bytes, frame->length);
    uint64_t departs = departure(end, frame->length);
    ring_add(end, packet, end->faults.queue_limit ? end->now_us : departs);
    plumb_netif_count(netif, PLUMB_NETIF_tx_frames);
    send_frame(end, frame, departs);
    return PLUMB_OK;
}

/* ---- receiving ---- */

/* As many buffers of the pool as the frame needs, or null. The device's pad before
 * the first byte takes its room from the first buffer only. */
static struct plumb_packet *land(struct plumb_wire_end *end, const struct plumb_wire_frame *frame) {
    struct plumb_packet *packet = 0, **link = &packet;
    uint16_t pad = end->netif.landing == PLUMB_LANDING_OFFSET ? 2 : 0;
    unsigned at = 0;
    do {
        struct plumb_packet *fragment = plumb_packet_take(end->pool, pad);
        if (!fragment) {
            plumb_packet_put(packet);
            return 0;
        }
        unsigned room = (unsigned)end->fragment - pad, left = frame->length - at;
        fragment->length = (uint16_t)(left < room ? left : room);
        for (unsigned i = 0; i < fragment->length; i++)
            fragment->data[i] = frame->bytes[at++];
        fragment->total = frame->length;
        *link = fragment;
        link = &fragment->more;
        pad = 0;
    } while (at < frame->length);
    return packet;
}

static void arrive(struct plumb_wire_end *end, struct plumb_wire_frame *frame) {
    struct plumb_netif *netif = &end->netif;
    struct plumb_packet *packet = 0;
    bool too_long = frame->length > netif->mtu + ETHERNET_HEADER + TAG;
    if (!too_long)
        packet = land(end, frame);
    if (packet && netif->capabilities & PLUMB_CAPABILITY_RX_CHECKSUM &&
        pl_wire_checksums_good(frame->bytes, frame->length))
        packet->flags |= PLUMB_PACKET_CHECKSUM_GOOD;
    frame_put(end->wire, frame);
    if (packet) {
        plumb_netif_count(netif, PLUMB_NETIF_rx_frames);
        end->peer->statistics.delivered++;
        netif->input(netif, packet);
    } else {
        plumb_netif_count(netif, too_long ? PLUMB_NETIF_rx_too_long : PLUMB_NETIF_rx_no_buffer);
    }
}

static unsigned wire_poll(struct plumb_netif *netif, uint64_t now_us, unsigned budget) {
    struct plumb_wire_end *end = end_of(netif);
    unsigned count = 0;
    end->now_us = now_us;
    end->blocked = false;
    ring_release(end, now_us);
    while (count < budget) {
        struct plumb_wire_frame *frame = frame_next_due(end, now_us);
        if (!frame)
            break;
        arrive(end, frame);
        count++;
    }
    return count;
}

static uint64_t wire_deadline(const struct plumb_netif *netif) {
    const void *self = netif;
    const struct plumb_wire_end *end = self;
    uint64_t deadline = PLUMB_NEVER;
    if (end->arrives)
        deadline = end->arrives->due_us;
    if (end->ring_count)
        deadline = sooner(deadline, end->ring[end->ring_first].departs_us);
    if (end->blocked && end->peer->arrives)
        deadline = sooner(deadline, end->peer->arrives->due_us);
    return deadline;
}

/* ---- the interface ---- */

static int wire_start(struct plumb_netif *netif) {
    netif->link_up = true;
    plumb_netif_count(netif, PLUMB_NETIF_link_up);
    return PLUMB_OK;
}

static void wire_stop(struct plumb_netif *netif) {
    struct plumb_wire_end *end = end_of(netif);
    ring_release(end, PLUMB_NEVER);
    frames_discard(end);
    netif->link_up = false;
}

static const struct plumb_netif_driver wire_driver = {
    .start = wire_start,
    .stop = wire_stop,
    .poll = wire_poll,
    .transmit = wire_transmit,
    .deadline = wire_deadline,
};

static bool options_valid(const struct plumb_wire_end_options *options) {
    if (options->mtu && (options->mtu < 68 || options->mtu > 1500))
        return false;
    if (!options->pool)
        return true;
    uint16_t used = options->fragment ? options->fragment : options->pool->capacity;
    return used >= 32 && used <= options->pool->capacity;
}

static void end_create(struct plumb_wire *wire, unsigned index, uint64_t seed,
                       const struct plumb_wire_end_options *options) {
    struct plumb_wire_end *end = &wire->end[index];
    *end = (struct plumb_wire_end){
        .wire = wire,
        .peer = &wire->end[1 - index],
        .pool = options->pool,
        .fragment = options->fragment,
        .random = seed ^ (index ? 0xd1b54a32d192ed03U : 0),
    };
    if (options->pool && !options->fragment)
        end->fragment = options->pool->capacity;
    end->netif.driver = &wire_driver;
    end->netif.name = options->name;
    end->netif.address = options->address;
    end->netif.mtu = options->mtu ? options->mtu : 1500;
    end->netif.landing = options->landing;
    end->netif.capabilities = options->capabilities;
}

int plumb_wire_create(struct plumb_wire *wire, struct plumb_wire_frame *frames, uint16_t count,
                      uint64_t seed, const struct plumb_wire_end_options options[2]) {
    if (!count || !options_valid(&options[0]) || !options_valid(&options[1]))
        return PLUMB_ERROR_INVALID;
    wire->free = 0;
    wire->free_count = 0;
    end_create(wire, 0, seed, &options[0]);
    end_create(wire, 1, seed, &options[1]);
    for (unsigned i = count; i-- > 0;)
        frame_put(wire, &frames[i]);
    return PLUMB_OK;
}

void plumb_wire_set_faults(struct plumb_wire_end *end, const struct plumb_wire_faults *faults) {
    end->faults = *faults;
}

void plumb_wire_set_filter(struct plumb_wire_end *end, plumb_wire_filter *filter, void *context) {
    end->filter = filter;
    end->filter_context = context;
}

void plumb_wire_set_link(struct plumb_wire *wire, bool up) {
    for (unsigned i = 0; i < 2; i++) {
        struct plumb_wire_end *end = &wire->end[i];
        if (end->netif.link_up == up)
            continue;
        end->netif.link_up = up;
        plumb_netif_count(&end->netif, up ? PLUMB_NETIF_link_up : PLUMB_NETIF_link_down);
        frames_discard(end);
    }
}

int plumb_wire_inject(struct plumb_wire_end *end, const uint8_t *bytes, uint16_t length) {
    if (length > PLUMB_WIRE_LONGEST)
        return PLUMB_ERROR_TOO_LONG;
    struct plumb_wire_frame *frame = frame_take(end->wire);
    if (!frame)
        return PLUMB_ERROR_NO_BUFFER;
    for (unsigned i = 0; i < length; i++)
        frame->bytes[i] = bytes[i];
    frame->length = length;
    frame_schedule(end, frame, end->now_us);
    return PLUMB_OK;
}

uint16_t plumb_wire_collect(struct plumb_wire_end *end, uint64_t now_us, uint8_t *to) {
    struct plumb_wire_frame *frame = frame_next_due(end, now_us);
    if (!frame)
        return 0;
    uint16_t length = frame->length;
    for (unsigned i = 0; i < length; i++)
        to[i] = frame->bytes[i];
    frame_put(end->wire, frame);
    end->peer->statistics.delivered++;
    return length;
}

uint64_t plumb_wire_due(const struct plumb_wire *wire) {
    uint64_t due = PLUMB_NEVER;
    for (unsigned i = 0; i < 2; i++)
        if (wire->end[i].arrives)
            due = sooner(due, wire->end[i].arrives->due_us);
    return due;
}

unsigned plumb_wire_waiting(const struct plumb_wire_end *end) {
    unsigned count = 0;
    for (const struct plumb_wire_frame *f = end->arrives; f; f = f->next)
        count++;
    return count;
}
