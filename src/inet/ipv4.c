/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * IPv4 datagrams, in and out.
 *
 * Input checks once, from the front to the back of the header; what is passed on
 * has a sound header, ends where the datagram ends, and is meant for us.
 * Nothing is forwarded.
 */
#include "inet/ipv4.h"

#include "bytes/bytes.h"
#include "inet/fragment.h"
#include "packet/packet.h"

#define OPTION_END          0
#define OPTION_NOP          1
#define OPTION_LOOSE_ROUTE  131
#define OPTION_STRICT_ROUTE 137

static uint8_t first_byte(plumb_ipv4 address) {
    return *(const uint8_t *)&address;
}

bool pl_ipv4_is_broadcast(const struct plumb_netif *netif, plumb_ipv4 address) {
    if (address.be == 0xffffffffU)
        return true;
    plumb_ipv4 hosts = {~netif->netmask.be};

    /* A network of two hosts has none (RFC 3021). */
    return netif->ipv4.be != 0 && address.be == (netif->ipv4.be | hosts.be) &&
           plumb_get32(hosts) > 1;
}

/* Well formed, and no source route (RFC 7126 sections 4.3 and 4.4). */
static bool options_pass(const uint8_t *option, unsigned length) {
    while (length) {
        if (*option == OPTION_END)
            return true;
        unsigned size = 1;
        if (*option != OPTION_NOP) {
            if (length < 2 || option[1] < 2 || option[1] > length)
                return false;
            if (*option == OPTION_LOOSE_ROUTE || *option == OPTION_STRICT_ROUTE)
                return false;
            size = option[1];
        }
        option += size;
        length -= size;
    }
    return true;
}

/* No host sends from these (RFC 1122 section 3.2.1.3, RFC 6890). */
static bool source_passes(const struct plumb_netif *netif, plumb_ipv4 source) {
    return pl_ipv4_is_host(source) && source.be != netif->ipv4.be &&
           !pl_ipv4_is_broadcast(netif, source);
}

/* The first wrong thing about the header and what it says, or -1. */
static int header_fault(const struct plumb_packet *packet, const struct pl_ipv4_header *header) {
    if (packet->length < PL_IPV4_HEADER)
        return PLUMB_COUNTER_ipv4_short;
    if (header->version_length >> 4 != 4)
        return PLUMB_COUNTER_ipv4_version;
    unsigned header_length = (header->version_length & 15U) * 4;
    if (header_length < PL_IPV4_HEADER || header_length > packet->length)
        return PLUMB_COUNTER_ipv4_header_length;
    unsigned total = plumb_get16(header->total_length);
    if (total < header_length || total > packet->total)
        return PLUMB_COUNTER_ipv4_length;
    if (header_length == PL_IPV4_HEADER)
        return pl_network_header_sum(header) == 0xffff ? -1 : PLUMB_COUNTER_ipv4_checksum;
    if (pl_sum(header, header_length) != 0xffff)
        return PLUMB_COUNTER_ipv4_checksum;
    if (!options_pass((const uint8_t *)(header + 1), header_length - PL_IPV4_HEADER))
        return PLUMB_COUNTER_ipv4_option;
    return -1;
}

static bool is_fragment(const struct pl_ipv4_header *header) {
    return plumb_get16(header->fragment) & PL_IPV4_FRAGMENT_MASK;
}

/* The first reason not to take a datagram with a sound header, or -1. */
static int address_fault(const struct plumb_netif *netif, const struct pl_ipv4_header *header,
                         struct plumb_packet *packet) {
    plumb_ipv4 destination = pl_net32_get(header->destination);

    if (!source_passes(netif, pl_net32_get(header->source)))
        return PLUMB_COUNTER_ipv4_source;
    if (destination.be != netif->ipv4.be || destination.be == 0) {
        if (!pl_ipv4_is_broadcast(netif, destination))
            return PLUMB_COUNTER_ipv4_not_for_us;
        packet->flags |= PLUMB_PACKET_BROADCAST;
    }
#ifndef CONFIG_PLUMB_IPV4_FRAGMENTS
    if (is_fragment(header))
        return PLUMB_COUNTER_ipv4_fragment;
#endif
    return -1;
}

const struct pl_protocol *pl_protocol_find(uint8_t number) {
    for (unsigned i = 0; i < pl_protocol_count; i++)
        if (pl_protocols[i].number == number)
            return &pl_protocols[i];
    return NULL;
}

void pl_ipv4_input(struct plumb *stack, void *state, struct plumb_netif *netif,
                   struct plumb_packet *packet) {
    const struct pl_ipv4_header *header = (const void *)packet->data;
    int fault = header_fault(packet, header);

    (void)state;
    if (fault < 0)
        fault = address_fault(netif, header, packet);
    if (fault >= 0) {
        pl_drop(stack, (enum plumb_counter)fault, packet);
        return;
    }
    unsigned total = plumb_get16(header->total_length);
    if (total < packet->total)
        plumb_packet_trim_to(packet, total);
    pl_packet_pull(packet, (header->version_length & 15U) * 4);
#ifdef CONFIG_PLUMB_IPV4_FRAGMENTS
    if (is_fragment(header)) {
        packet = pl_fragment_input(stack, netif, &header, packet);
        if (!packet)
            return;
    }
#endif
    const struct pl_protocol *protocol = pl_protocol_find(header->protocol);
    if (!protocol) {
        pl_icmp_unreachable(stack, netif, PL_ICMP_UNREACHABLE_PROTOCOL, header, packet);
        pl_drop(stack, PLUMB_COUNTER_ipv4_protocol, packet);
        return;
    }
    protocol->input(stack, stack->states[protocol->layer], netif, header, packet);
}

bool pl_route_find(struct plumb *stack, struct plumb_netif *only, plumb_ipv4 destination,
                   struct pl_route *route) {
    struct plumb_netif *gateway = NULL;

    for (struct plumb_netif *netif = stack->netifs; netif; netif = netif->next) {
        bool broadcast = pl_ipv4_is_broadcast(netif, destination);
        if (only && netif != only)
            continue;
        if (broadcast ||
            (netif->ipv4.be != 0 && ((destination.be ^ netif->ipv4.be) & netif->netmask.be) == 0)) {
            *route = (struct pl_route){netif, destination, broadcast};
            return true;
        }
        if (!gateway && netif->ipv4.be != 0 && netif->gateway.be != 0)
            gateway = netif;
    }
    if (!gateway || first_byte(destination) >= 224)
        return false;
    *route = (struct pl_route){gateway, gateway->gateway, false};
    return true;
}

#ifdef __OPTIMIZE_SIZE__
void pl_ipv4_write_header(pl_header_word *word, uint32_t total, uint8_t protocol, plumb_ipv4 source,
                          plumb_ipv4 destination, uint32_t address_sum) {
    pl_ipv4_write_header_inline(word, total, protocol, source, destination, address_sum);
}
#endif

int pl_ipv4_route(struct plumb *stack, const struct pl_route *route, struct plumb_packet *packet) {
    if (route->broadcast)
        return pl_link_broadcast(route->netif, packet);
    return pl_link_send(stack, pl_neighbour_resolve(stack, route->netif, route->next_hop), packet);
}

int pl_ipv4_send(struct plumb *stack, const struct pl_route *route, struct plumb_packet *packet,
                 uint8_t protocol, plumb_ipv4 source, plumb_ipv4 destination) {
    if (!pl_ipv4_fits(route, packet->total))
#ifdef CONFIG_PLUMB_IPV4_FRAGMENTS
        return pl_fragment_send(stack, route, packet, protocol, source, destination);
#else
        return PLUMB_ERROR_TOO_LONG;
#endif
    pl_header_word *word = pl_packet_push(packet, PL_IPV4_HEADER);
    pl_ipv4_write_header(word, packet->total, protocol, source, destination,
                         pl_sum_addresses(source.be, destination.be));
    return pl_ipv4_route(stack, route, packet);
}
