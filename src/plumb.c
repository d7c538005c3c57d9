/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The composition: which layers there are and who takes what from whom. The
 * only file that knows all of them.
 */
#include "inet/fragment.h"
#include "inet/ipv4.h"
#include "inet/udp.h"
#include "link/link.h"
#include "tcp/tcp.h"

enum {
    LINK,
    INET,
#ifdef CONFIG_PLUMB_IPV4_FRAGMENTS
    FRAGMENTS,
#endif
    UDP,
    TCP,
    LAYER_COUNT
};

const struct pl_layer *const pl_layers[] = {
    [LINK] = &pl_link_layer,
    [INET] = &pl_inet_layer,
#ifdef CONFIG_PLUMB_IPV4_FRAGMENTS
    [FRAGMENTS] = &pl_fragment_layer,
#endif
    [UDP] = &pl_udp_layer,
    [TCP] = &pl_tcp_layer,
};
const uint8_t pl_layer_count = LAYER_COUNT;

_Static_assert(LAYER_COUNT <= PL_LAYERS_MOST, "raise PL_LAYERS_MOST");

void pl_settle_layers(struct plumb *stack) {
    pl_tcp_settle(stack, stack->states[TCP]);
}

#ifdef CONFIG_PLUMB_TCP_EXPECT
pl_interface_taker *const pl_interface_input = pl_tcp_first_look;
#else
pl_interface_taker *const pl_interface_input = pl_interface_rest;
#endif

#ifdef CONFIG_PLUMB_UDP_EXPECT
void pl_interface_rest(struct plumb_netif *netif, struct plumb_packet *packet) {
    pl_udp_first_look(netif, packet);
}
#endif

const struct pl_ethertype pl_ethertypes[] = {
    {PLUMB_BE16(PL_ETHERTYPE_IPV4), INET, pl_ipv4_input},
    {PLUMB_BE16(PL_ETHERTYPE_ARP), LINK, pl_arp_input},
};
const uint8_t pl_ethertype_count = sizeof pl_ethertypes / sizeof *pl_ethertypes;

const struct pl_protocol pl_protocols[] = {
    {PL_PROTOCOL_TCP, TCP, pl_tcp_input, pl_tcp_icmp_error},
    {PL_PROTOCOL_UDP, UDP, pl_udp_input, pl_udp_error},
    {PL_PROTOCOL_ICMP, INET, pl_icmp_input, NULL},
};
const uint8_t pl_protocol_count = sizeof pl_protocols / sizeof *pl_protocols;
