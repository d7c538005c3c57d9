/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* UDP's entries for the tables of layers and protocols. */
#ifndef PL_UDP_H
#define PL_UDP_H

#include "inet/ipv4.h"

extern const struct pl_layer pl_udp_layer;

void pl_udp_input(struct plumb *stack, void *state, struct plumb_netif *netif,
                  const struct pl_ipv4_header *ip, struct plumb_packet *packet);

bool pl_udp_error(struct plumb *stack, void *state, const struct pl_ipv4_header *quoted,
                  const void *payload, int error);

#endif
