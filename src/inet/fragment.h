/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * IPv4 fragments, in and out. A layer of its own, so that a build without it
 * carries nothing of it; only ipv4.c calls it.
 */
#ifndef PL_FRAGMENT_H
#define PL_FRAGMENT_H

#include "inet/ipv4.h"

/* The longest payload of a datagram, bytes. */
#define PL_IPV4_PAYLOAD_MOST (65535 - PL_IPV4_HEADER)

extern const struct pl_layer pl_fragment_layer;

/* Takes a fragment, which begins behind its header and ends where its datagram does.
 * Returns the whole datagram when this was its last missing part, `*header` then being that
 * of its first fragment; null otherwise. */
struct plumb_packet *pl_fragment_input(struct plumb *stack, struct plumb_netif *netif,
                                       const struct pl_ipv4_header **header,
                                       struct plumb_packet *packet);

/* Sends a payload that does not fit one frame. The caller keeps its hold; nothing of the
 * packet is held afterwards. Returns PLUMB_OK, PLUMB_ERROR_NO_BUFFER when there are not
 * packets for all parts and none was sent, or PLUMB_ERROR_WOULD_BLOCK: the neighbour has just
 * been asked for and nothing was sent, or the ring filled up and what follows is not. */
int pl_fragment_send(struct plumb *stack, const struct pl_route *route,
                     const struct plumb_packet *packet, uint8_t protocol, plumb_ipv4 source,
                     plumb_ipv4 destination);

/* The part of the layer's state that sending has (fragment.c), set up on first use. */
struct pl_identifications {
    uint16_t next[8];
    bool chosen;
};

struct pl_identifications *pl_identifications_of(struct plumb *stack);

#endif
