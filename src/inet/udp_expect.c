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
 *    may send to us. Nobody observes the interface. While the socket's handler runs, nothing
 *    of the flow changes but that the first reply adds how the next ones are made.
 *  - Its `neighbour`, once there is a `turn_below`, is known, and the one that a reply goes to.
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

/* Verifies a datagram, whose UDP header's second word is `word`, and keeps the sum of its
 * payload. */
static inline bool sum_passes(const struct pl_udp_flow *flow, struct plumb_packet *packet,
                              const uint8_t *bytes, uint32_t word, uint32_t payload) {
    const uint32_t checksum = pl_second_half_of(word), flags = packet->flags;

    if (flags & PLUMB_PACKET_CHECKSUM_GOOD)
        return true;
    if (!checksum) /* there is none */
        return false;
    /* The length counts twice. */
    const uint32_t rest = flow->pseudo_sum + checksum + 2U * pl_first_half_of(word);
    if (!pl_sum_passes(rest + pl_sum(bytes, payload)))
        return false;
    packet->flags = (uint8_t)(flags | PLUMB_PACKET_SUMMED);
    packet->mark = (uint16_t)payload;
    return true;
}

/* Takes the frame, or returns false. */
static inline bool take(struct plumb_netif *netif, const struct pl_udp_flow *flow,
                        struct plumb_packet *packet) {
    uint8_t *const frame = packet->data, *const bytes = frame + HEADERS;
    const pl_header_word *ip = (const void *)(frame + IPV4);
    const pl_header_word *udp = (const void *)(frame + UDP);

    if (packet->length < HEADERS || packet->more)
        return false;
    /* What is left of three words but for what may be other than before. */
    const uint32_t length = ip[0].be ^ flow->ip[0];
    const uint32_t identification = ip[1].be ^ flow->ip[1];
    const uint32_t checksum = ip[2].be ^ flow->ip[2];
    const uint32_t total = plumb_get32((plumb_be32){length});
    const uint32_t payload = total - (PL_IPV4_HEADER + PL_UDP_HEADER);

    if (!pl_ethernet_expected(netif, (const void *)frame) ||
        (pl_first_half_of(length | checksum) | pl_second_half_of(identification)) != 0 ||
        !pl_both_equal(ip[3].be, flow->source.from.address.be, ip[4].be, flow->source.to.be) ||
        !pl_both_equal(udp[0].be, flow->ports, plumb_get32((plumb_be32){udp[1].be}) >> 16,
                       total - PL_IPV4_HEADER) ||
        payload > packet->length - (uint32_t)HEADERS ||
        !pl_sum_passes(flow->ip_sum + pl_second_half_of(length) + pl_first_half_of(identification) +
                       pl_second_half_of(checksum)) ||
        !sum_passes(flow, packet, bytes, udp[1].be, payload))
        return false;
    struct plumb_udp *socket = flow->socket;
    packet->total = (uint16_t)payload;
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* a compiler would join both, and take longer */
    packet->length = (uint16_t)payload;
    packet->data = bytes;
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
