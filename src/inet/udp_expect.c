/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The first look at a frame for UDP: is it a datagram from the port that sent the last one,
 * for the same socket? Then it is taken here, in one pass over its three headers. Any other
 * frame goes the ordinary way, from Ethernet up, and nothing has been changed.
 *
 * What holds:
 *  - A datagram taken here would have been taken by the ordinary way, with the same effect.
 *    Whatever is wrong with a frame, the ordinary way finds it and names it.
 *  - netif->expected_flow, while not null, names an open socket, and it is the one that a
 *    datagram from `source` through this interface is for, to its own address. Such a source
 *    may send to us. Nobody observes the interface. Nothing of the flow changes while the
 *    socket's handler runs.
 *
 * Only the ordinary way sets the pointer, in front of each handler's call; what else could
 * end the above clears it.
 */
#include "inet/udp.h"

#include "bytes/bytes.h"

#ifdef CONFIG_PLUMB_UDP_EXPECT

/* Where headers begin in a frame that is as expected. */
enum {
    IPV4 = PL_ETHERNET_HEADER,
    UDP = IPV4 + PL_IPV4_HEADER,
    HEADERS = UDP + PL_UDP_HEADER,
};

/* Verifies a datagram, and keeps the sum of its payload. */
static inline bool sum_passes(const struct pl_udp_flow *flow, struct plumb_packet *packet,
                              const struct pl_udp_header *header, uint32_t payload) {
    uint32_t rest = header->checksum.be;

    if (packet->flags & PLUMB_PACKET_CHECKSUM_GOOD)
        return true;
    if (!rest) /* there is none */
        return false;
    /* The length counts twice. */
    rest += flow->address_sum + PLUMB_SWAP16(PL_PROTOCOL_UDP) + 2U * header->length.be +
            pl_words_fold(flow->ports);
    uint32_t sum = pl_sum(header + 1, payload);
    if (!pl_sum_passes(rest + sum))
        return false;
    packet->flags |= PLUMB_PACKET_SUMMED;
    packet->mark = (uint16_t)payload;
    return true;
}

/* Takes the frame, or returns false. */
static inline bool take(struct plumb_netif *netif, const struct pl_udp_flow *flow,
                        struct plumb_packet *packet) {
    const uint8_t *frame = packet->data;
    const struct pl_ipv4_header *ip = (const void *)(frame + IPV4);
    const struct pl_udp_header *udp = (const void *)(frame + UDP);
    const pl_header_word *ports = (const void *)udp;

    if (packet->length < HEADERS || packet->more)
        return false;
    uint32_t total = plumb_get16(ip->total_length);
    uint32_t payload = total - (PL_IPV4_HEADER + PL_UDP_HEADER);
    if (!pl_ethernet_expected(netif, (const void *)frame) ||
        !pl_ipv4_expected(ip, PL_PROTOCOL_UDP) ||
        !pl_ipv4_between(ip, flow->source.from.address, flow->source.to) ||
        !pl_both_equal(ports->be, flow->ports, plumb_get16(udp->length), total - PL_IPV4_HEADER) ||
        payload > packet->length - (uint32_t)HEADERS ||
        !pl_ipv4_sum_passes(ip, flow->address_sum) || !sum_passes(flow, packet, udp, payload))
        return false;
    struct plumb_udp *socket = flow->socket;
    packet->total = (uint16_t)payload;
    packet->data += HEADERS;
    packet->length = (uint16_t)payload; /* not beside total: a compiler would join them */
    socket->handler(socket, packet, &flow->source, socket->context);
    if (packet->references > 1)
        packet->references--;
    else
        plumb_fragment_put(packet);
    return true;
}

void pl_udp_first_look(struct plumb_netif *netif, struct plumb_packet *packet) {
    const struct pl_udp_flow *flow = netif->expected_flow;

    if (!flow || !take(netif, flow, packet))
        pl_ethernet_input(netif, packet);
}

#endif
