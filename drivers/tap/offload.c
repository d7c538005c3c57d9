/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Checksums and segmentation over TAP: a frame's virtio header is judged or made here.
 *
 * What holds: nothing in a received header is believed before it fits the frame. A checksum
 * counts as good only where the header speaks of the very field that the stack would look at;
 * anything else that is asked for is filled in, and left to the stack to judge.
 */
#include "offload.h"

#include "bytes/bytes.h"

#include <string.h>

enum {
    ETHERNET = 14,
    TAG = 4,
    TYPE_AT = 12,
    TYPE_VLAN = 0x8100,
    TYPE_IPV4 = 0x0800,
    IPV4 = 20,
    FRAGMENT_AT = 6,
    FRAGMENT_MASK = 0x3fff, /* more of them, or not the first */
    PROTOCOL_AT = 9,
    ADDRESSES_AT = 12,
    TCP = 6,
    TCP_HEADER = 20,
    TCP_OFFSET_AT = 12,
    TCP_CHECKSUM_AT = 16,
    UDP = 17,
    UDP_HEADER = 8,
    UDP_CHECKSUM_AT = 6,
};

static unsigned half(const uint8_t *bytes) {
    return (unsigned)bytes[0] << 8 | bytes[1];
}

/* A sum is in the order that bytes lie in. */
static void put_sum(uint8_t *to, uint16_t sum) {
    const uint8_t *from = (const uint8_t *)&sum;

    to[0] = from[0];
    to[1] = from[1];
}

/* Where the IPv4 header begins in a frame's first bytes, or 0. */
static unsigned network_at(const uint8_t *frame, unsigned length) {
    unsigned at = ETHERNET;

    if (length < ETHERNET + TAG + IPV4)
        return 0;
    unsigned type = half(frame + TYPE_AT);
    if (type == TYPE_VLAN) {
        type = half(frame + TYPE_AT + TAG);
        at += TAG;
    }
    return type == TYPE_IPV4 && frame[at] >> 4 == 4 ? at : 0;
}

/* Where the transport header begins, of a whole datagram of this protocol; or 0. */
static unsigned transport_at(const struct plumb_packet *frame, unsigned protocol) {
    const unsigned at = network_at(frame->data, frame->length);

    if (!at)
        return 0;
    const uint8_t *ip = frame->data + at;
    const unsigned length = (ip[0] & 15U) * 4, least = protocol == TCP ? TCP_HEADER : UDP_HEADER;
    if (length < IPV4 || at + length + least > frame->length || ip[PROTOCOL_AT] != protocol ||
        half(ip + FRAGMENT_AT) & FRAGMENT_MASK)
        return 0;
    return at + length;
}

/* ---- received ---- */

/* Fills in the checksum that the sender left to its device. */
static bool complete(struct plumb_packet *frame, const struct virtio_net_hdr *header) {
    const unsigned field = (unsigned)header->csum_start + header->csum_offset;

    if (frame->more || field + 2 > frame->length)
        return false;
    uint8_t *from = frame->data + header->csum_start, *to = frame->data + field;
    uint16_t sum = (uint16_t)~pl_fold(pl_sum(from, frame->length - header->csum_start));
    /* A UDP checksum of zero would say that there is none (RFC 768). */
    if (!sum && header->csum_offset == UDP_CHECKSUM_AT)
        sum = UINT16_MAX;
    put_sum(to, sum);
    frame->dirty = true;
    return true;
}

/* Of a frame whose checksum is not all there yet. */
static bool take_partial(struct plumb_packet *frame, const struct virtio_net_hdr *header) {
    const unsigned tcp = transport_at(frame, TCP);

    if ((unsigned)header->csum_start + header->csum_offset + 2 > frame->total)
        return false;
    if (tcp && header->csum_start == tcp && header->csum_offset == TCP_CHECKSUM_AT) {
        frame->flags |= PLUMB_PACKET_CHECKSUM_GOOD;
        return true;
    }
    return complete(frame, header);
}

bool tap_offload_take(struct plumb_packet *frame, const struct virtio_net_hdr *header) {
    const uint8_t known = VIRTIO_NET_HDR_F_NEEDS_CSUM | VIRTIO_NET_HDR_F_DATA_VALID;
    const unsigned type = header->gso_type & (unsigned)~VIRTIO_NET_HDR_GSO_ECN;

    if (header->flags & ~known || header->hdr_len > frame->total)
        return false;
    if (type == VIRTIO_NET_HDR_GSO_TCPV4) {
        if (!header->gso_size || !header->flags || !transport_at(frame, TCP))
            return false;
    } else if (header->gso_type != VIRTIO_NET_HDR_GSO_NONE) {
        return false;
    }
    if (header->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
        return take_partial(frame, header);
    if (header->flags & VIRTIO_NET_HDR_F_DATA_VALID &&
        (transport_at(frame, TCP) || transport_at(frame, UDP)))
        frame->flags |= PLUMB_PACKET_CHECKSUM_GOOD;
    return true;
}

/* ---- sent ---- */

/* The sum of the pseudo header (RFC 9293 section 3.1), as it lies in memory. */
static uint16_t pseudo_sum(const uint8_t *ip, unsigned length) {
    const uint8_t rest[4] = {0, ip[PROTOCOL_AT], (uint8_t)(length >> 8), (uint8_t)length};

    return (uint16_t)pl_fold(pl_sum(ip + ADDRESSES_AT, 8) + pl_sum(rest, sizeof rest));
}

/* Where the headers of a frame end whose transport header begins there; 0: not in its first
 * fragment. */
static unsigned headers_end(const struct plumb_packet *frame, unsigned transport, bool is_tcp) {
    unsigned length = UDP_HEADER;

    if (is_tcp)
        length = (frame->data[transport + TCP_OFFSET_AT] >> 4) * 4U;
    const unsigned end = transport + length;
    return (is_tcp && length < TCP_HEADER) || end > frame->length || end > TAP_HEADERS_MOST ? 0
                                                                                            : end;
}

unsigned tap_offload_make(struct virtio_net_hdr *header, uint8_t copy[TAP_HEADERS_MOST],
                          const struct plumb_packet *frame) {
    const unsigned tcp = transport_at(frame, TCP);
    const unsigned transport = tcp ? tcp : transport_at(frame, UDP);
    const unsigned end = transport ? headers_end(frame, transport, tcp != 0) : 0;
    const uint16_t checksum_at = tcp ? TCP_CHECKSUM_AT : UDP_CHECKSUM_AT;
    const bool segments = frame->flags & PLUMB_PACKET_SEGMENTS;

    if (!end || (segments && (!tcp || !frame->mark)))
        return 0;
    memcpy(copy, frame->data, end);
    put_sum(
        copy + transport + checksum_at,
        pseudo_sum(frame->data + network_at(frame->data, frame->length), frame->total - transport));
    *header = (struct virtio_net_hdr){.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
                                      .csum_start = (uint16_t)transport,
                                      .csum_offset = checksum_at};
    if (segments) {
        header->gso_type = VIRTIO_NET_HDR_GSO_TCPV4;
        header->gso_size = frame->mark;
        header->hdr_len = (uint16_t)end;
    }
    return end;
}
