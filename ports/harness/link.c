/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "link.h"

#include <plumb/error.h>
#include <plumb/socket.h>

#include <stdlib.h>
#include <string.h>

/* Every other host's, at the level of IP. */
static const uint8_t peer[6] = {2, 0, 0, 0, 0, 2};
static const uint8_t broadcast[6] = {255, 255, 255, 255, 255, 255};

enum {
    TYPE_IPV4 = 0x0800,
    TYPE_ARP = 0x0806,
    TYPE_IPV6 = 0x86dd,
    ARP_LENGTH = 28,
    IPV4_HEADER = 20,
    IPV4_DESTINATION = 16,
};

/* By way of void: what has a netif as its first member needs more alignment than one. */
static struct link *link_of(struct plumb_netif *netif) {
    void *link = netif;
    return link;
}

/* ---- queues ---- */

static struct link_frame *frame_add(struct link_queue *queue, size_t length) {
    struct link_frame *frame = malloc(sizeof *frame + length);

    if (!frame)
        return NULL;
    frame->next = NULL;
    frame->length = length;
    *queue->last = frame;
    queue->last = &frame->next;
    return frame;
}

static void frame_drop(struct link_queue *queue) {
    struct link_frame *frame = queue->first;

    queue->first = frame->next;
    if (!queue->first)
        queue->last = &queue->first;
    free(frame);
}

/* ---- Ethernet and ARP ---- */

static void put16(uint8_t *to, unsigned value) {
    to[0] = (uint8_t)(value >> 8);
    to[1] = (uint8_t)value;
}

static unsigned get16(const uint8_t *from) {
    return (unsigned)from[0] << 8 | from[1];
}

static bool is_broadcast(const struct link *link, const uint8_t *ip) {
    uint32_t address, hosts = ~link->netif.netmask.be;

    if (ip[0] >> 4 != 4)
        return false;
    memcpy(&address, ip + IPV4_DESTINATION, sizeof address);
    return address == UINT32_MAX ||
           (hosts && (address & hosts) == hosts &&
            ((address ^ link->netif.ipv4.be) & link->netif.netmask.be) == 0);
}

static void write_header(const struct link *link, uint8_t *frame, const uint8_t *ip) {
    memcpy(frame, is_broadcast(link, ip) ? broadcast : (const uint8_t *)&link->netif.address, 6);
    memcpy(frame + 6, peer, 6);
    put16(frame + 12, ip[0] >> 4 == 4 ? TYPE_IPV4 : TYPE_IPV6);
}

/* A frame of the pool's, handed to the stack. */
static void pass_up(struct link *link, const void *bytes, size_t length) {
    struct plumb_packet *packet = plumb_packet_take(link->pool, LINK_HEADROOM);

    if (!packet) {
        plumb_netif_count(&link->netif, PLUMB_NETIF_rx_no_buffer);
        return;
    }
    memcpy(packet->data, bytes, length);
    packet->length = packet->total = (uint16_t)length;
    plumb_netif_count(&link->netif, PLUMB_NETIF_rx_frames);
    link->netif.input(&link->netif, packet);
}

/* Somebody is asked for: it is the peer, which answers. An announcement wants no answer. */
static void answer_arp(struct link *link, const uint8_t *question) {
    const uint8_t *arp = question + LINK_HEADER;
    uint8_t frame[LINK_HEADER + ARP_LENGTH];

    if (get16(arp + 6) != 1 || !memcmp(arp + 14, arp + 24, 4))
        return;
    memcpy(frame, question, sizeof frame);
    memcpy(frame, question + 6, 6);
    memcpy(frame + 6, peer, 6);
    put16(frame + LINK_HEADER + 6, 2);
    memcpy(frame + LINK_HEADER + 8, peer, 6);
    memcpy(frame + LINK_HEADER + 14, arp + 24, 4);
    memcpy(frame + LINK_HEADER + 18, arp + 8, 10);
    pass_up(link, frame, sizeof frame);
}

/* ---- the driver ---- */

static int start(struct plumb_netif *netif) {
    netif->link_up = true;
    plumb_netif_count(netif, PLUMB_NETIF_link_up);
    return PLUMB_OK;
}

static void stop(struct plumb_netif *netif) {
    netif->link_up = false;
}

static unsigned poll(struct plumb_netif *netif, uint64_t now_us, unsigned budget) {
    struct link *link = link_of(netif);
    unsigned passed = 0;

    (void)now_us;
    for (; passed < budget && link->in.first; passed++) {
        pass_up(link, link->in.first->bytes, link->in.first->length);
        frame_drop(&link->in);
    }
    return passed;
}

static int transmit(struct plumb_netif *netif, struct plumb_packet *packet) {
    struct link *link = link_of(netif);
    size_t front = link->ip ? (size_t)LINK_HEADER : 0;
    uint8_t head[LINK_HEADER + ARP_LENGTH] = {0};

    plumb_packet_copy_out(packet, 0, head, sizeof head);
    if (link->ip && get16(head + 12) == TYPE_ARP) {
        answer_arp(link, head);
        return PLUMB_OK;
    }
    struct link_frame *frame = frame_add(&link->out, packet->total - front);
    if (!frame)
        return PLUMB_ERROR_WOULD_BLOCK;
    plumb_packet_copy_out(packet, front, frame->bytes, frame->length);
    plumb_netif_count(netif, PLUMB_NETIF_tx_frames);
    return PLUMB_OK;
}

/* ---- outside ---- */

void link_create(struct link *link, struct plumb_pool *pool, const uint8_t ethernet[6],
                 uint16_t mtu, bool ip) {
    static const struct plumb_netif_driver driver = {
        .start = start, .stop = stop, .poll = poll, .transmit = transmit};

    *link = (struct link){.pool = pool, .ip = ip};
    link->in.last = &link->in.first;
    link->out.last = &link->out.first;
    link->netif.driver = &driver;
    link->netif.name = "harness";
    link->netif.mtu = mtu;
    link->netif.landing = PLUMB_LANDING_OFFSET;
    link->netif.address = plumb_ethernet_address(ethernet);
}

void link_destroy(struct link *link) {
    while (link->in.first)
        frame_drop(&link->in);
    while (link->out.first)
        frame_drop(&link->out);
}

static int put_fault(const struct link *link, const uint8_t *bytes, size_t length) {
    size_t most = (size_t)link->netif.mtu + (link->ip ? 0 : LINK_HEADER + 4);

    if (length > most)
        return -PLUMB_EMSGSIZE;
    if (!link->ip)
        return 0;
    unsigned version = length >= IPV4_HEADER ? bytes[0] >> 4 : 0;
    return version == 4 || version == 6 ? 0 : -PLUMB_EINVAL;
}

int link_put(struct link *link, const void *bytes, size_t length) {
    size_t front = link->ip ? (size_t)LINK_HEADER : 0;
    int fault = put_fault(link, bytes, length);

    if (fault)
        return fault;
    struct link_frame *frame = frame_add(&link->in, front + length);
    if (!frame)
        return -PLUMB_ENOBUFS;
    if (link->ip)
        write_header(link, frame->bytes, bytes);
    if (length)
        memcpy(frame->bytes + front, bytes, length);
    return 0;
}

int link_take(struct link *link, void *bytes, size_t room) {
    struct link_frame *frame = link->out.first;

    if (!frame)
        return 0;
    if (frame->length > room)
        return -PLUMB_EMSGSIZE;
    int length = (int)frame->length;
    memcpy(bytes, frame->bytes, frame->length);
    frame_drop(&link->out);
    return length;
}
