/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Stacks that are put back to where they were: see live.h. */
#include "live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS_MOST = 400, FRAME_MOST = 1518, STOPS_MOST = 16 };

struct live live;

static struct queue {
    unsigned first, count;
    uint16_t length[LIVE_QUEUE];
    uint8_t bytes[LIVE_QUEUE][FRAME_LONGEST];
} queues[2]; /* to each host */

void live_expect(bool right, const char *what) {
    if (right)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

/* ---- the link ---- */

static struct live_host *host_of(const struct plumb_netif *netif) {
    return &live.host[netif == &live.host[1].netif];
}

/* A place at the end of a queue, or null. */
static uint8_t *queue_add(unsigned to, uint16_t length) {
    struct queue *queue = &queues[to];
    if (queue->count == LIVE_QUEUE)
        return NULL;
    unsigned at = (queue->first + queue->count++) % LIVE_QUEUE;
    queue->length[at] = length;
    return queue->bytes[at];
}

static unsigned queue_pop(unsigned to) {
    struct queue *queue = &queues[to];
    unsigned at = queue->first;
    queue->first = (queue->first + 1) % LIVE_QUEUE;
    queue->count--;
    return at;
}

static int start(struct plumb_netif *netif) {
    (void)netif;
    return PLUMB_OK;
}

static void release_ring(struct live_host *host) {
    for (unsigned i = 0; i < host->ring_count; i++)
        plumb_fragment_put(host->ring[i]);
    host->ring_count = 0;
}

static void stop(struct plumb_netif *netif) {
    release_ring(host_of(netif));
}

/* Whole in as many buffers as it takes, or not at all. */
static void arrive(struct live_host *host, const uint8_t *bytes, unsigned length) {
    struct plumb_packet *first = NULL, **link = &first;
    unsigned at = 0, pad = 2;

    do {
        struct plumb_packet *packet = plumb_packet_take(&host->receive, (uint16_t)pad);
        if (!packet) {
            plumb_packet_put(first);
            plumb_netif_count(&host->netif, PLUMB_NETIF_rx_no_buffer);
            return;
        }
        unsigned part = length - at < LIVE_BUFFER - pad ? length - at : LIVE_BUFFER - pad;
        memcpy(packet->data, bytes + at, part);
        packet->length = (uint16_t)part;
        packet->total = (uint16_t)length;
        *link = packet;
        link = &packet->more;
        at += part;
        pad = 0;
    } while (at < length);
    plumb_netif_count(&host->netif, PLUMB_NETIF_rx_frames);
    host->netif.input(&host->netif, first);
}

static unsigned poll(struct plumb_netif *netif, uint64_t now_us, unsigned budget) {
    struct live_host *host = host_of(netif);
    unsigned index = host == &live.host[1], count = 0;
    (void)now_us;

    release_ring(host);
    for (; count < budget && queues[index].count; count++) {
        unsigned at = queue_pop(index);
        arrive(host, queues[index].bytes[at], queues[index].length[at]);
    }
    return count;
}

static int transmit(struct plumb_netif *netif, struct plumb_packet *packet) {
    struct live_host *host = host_of(netif);
    unsigned to = host == &live.host[0], parts = 0;

    for (const struct plumb_packet *part = packet; part; part = part->more)
        parts++;
    live_expect(packet->total <= FRAME_MOST && packet->total >= 14, "a frame of a wrong length");
    uint8_t *bytes = host->ring_count + parts <= LIVE_RING ? queue_add(to, packet->total) : NULL;
    if (!bytes) {
        plumb_netif_count(netif, PLUMB_NETIF_tx_full);
        return PLUMB_ERROR_WOULD_BLOCK;
    }
    live_expect(plumb_packet_copy_out(packet, 0, bytes, FRAME_LONGEST) == packet->total,
                "a frame's parts are not its total");
    plumb_packet_hold(packet);
    for (; packet; packet = packet->more) /* they are not linked for ever */
        host->ring[host->ring_count++] = packet;
    return PLUMB_OK;
}

static const struct plumb_netif_driver driver = {
    .start = start, .stop = stop, .poll = poll, .transmit = transmit};

/* ---- hosts ---- */

static void create(unsigned index) {
    struct live_host *host = &live.host[index];
    const uint8_t address[6] = {2, 0, 0, 0, 0, (uint8_t)(index + 1)};
    struct plumb_options options = {
        .seed = {index + 1, 2}, .segments = &host->segments, .headers = &host->headers};

    memset(host, 0, sizeof *host);
    plumb_pool_create(&host->segments, host->segment, host->segment_bytes, LIVE_SEGMENTS,
                      LIVE_BUFFER, 0);
    plumb_pool_create(&host->headers, host->header, host->header_bytes, LIVE_HEADERS, LIVE_HEADER,
                      0);
    plumb_pool_create(&host->receive, host->received, host->receive_bytes, LIVE_RECEIVED,
                      LIVE_BUFFER, 0);
    host->netif = (struct plumb_netif){.driver = &driver,
                                       .name = index ? "live1" : "live0",
                                       .mtu = 1500,
                                       .address = plumb_ethernet_address(address),
                                       .landing = PLUMB_LANDING_OFFSET,
                                       .link_up = true};
    live_expect(!plumb_create(&host->stack, host->memory, sizeof host->memory, &options) &&
                    !plumb_netif_attach(host->stack, &host->netif) &&
                    !plumb_netif_set_ipv4(&host->netif,
                                          plumb_put32(FRAME_IPV4(10, 0, 0, 1) + index),
                                          plumb_put32(0xffffff00U), PLUMB_IPV4_ANY),
                "no host");
}

void live_create(unsigned hosts) {
    live.now_us = 1000000;
    live.hosts = hosts;
    queues[0].count = queues[1].count = 0;
    for (unsigned i = 0; i < hosts; i++)
        create(i);
    live_settle();
}

/* Until when nothing happens by itself. */
static uint64_t settle(void) {
    uint64_t next = 0;

    for (unsigned turns = 0; turns < TURNS_MOST; turns++) {
        bool busy = false;
        next = PLUMB_NEVER;
        for (unsigned i = 0; i < live.hosts; i++) {
            uint64_t due = plumb_poll(live.host[i].stack, live.now_us);
            next = due < next ? due : next;
        }
        for (unsigned i = 0; i < live.hosts; i++)
            busy |= queues[i].count || live.host[i].ring_count;
        if (!busy && next > live.now_us)
            return next;
    }
    live_expect(false, "there is always another turn");
    return next;
}

void live_settle(void) {
    settle();
}

void live_wait(uint32_t us) {
    uint64_t end = live.now_us + us;

    for (unsigned stops = 0; live.now_us < end; stops++) {
        uint64_t next = settle();
        live.now_us = next < end && stops < STOPS_MOST ? next : end;
        if (live.hosts == 1)
            queues[1].count = 0; /* nobody is there */
    }
    settle();
}

void live_give(const struct frame *frame) {
    uint8_t *bytes = queue_add(0, frame->length);
    if (bytes)
        memcpy(bytes, frame->bytes, frame->length);
}

bool live_take(struct frame *frame) {
    if (!queues[1].count)
        return false;
    unsigned at = queue_pop(1);
    frame->length = queues[1].length[at];
    memcpy(frame->bytes, queues[1].bytes[at], frame->length);
    live_expect(frame_checksums_good(frame), "a checksum that is sent is wrong");
    return true;
}

void live_drain(void) {
    static struct frame frame;
    while (live_take(&frame))
        ;
}

static bool is_whole(const struct plumb_pool *pool) {
    return pool->free_count == pool->count;
}

void live_end(void) {
    for (unsigned i = 0; i < live.hosts; i++) {
        struct live_host *host = &live.host[i];
        plumb_destroy(host->stack);
        live_expect(is_whole(&host->segments) && is_whole(&host->headers) &&
                        is_whole(&host->receive),
                    "a buffer is not at home");
    }
    queues[0].count = queues[1].count = 0;
}

size_t live_size(void) {
    return offsetof(struct live, host) + live.hosts * sizeof live.host[0];
}
