/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* UDP's entries for the tables of layers and protocols. */
#ifndef PL_UDP_H
#define PL_UDP_H

#include <plumb/udp.h>

#include "inet/ipv4.h"

struct pl_udp_header {
    plumb_be16 source;
    plumb_be16 destination;
    plumb_be16 length;
    plumb_be16 checksum;
};

#define PL_UDP_HEADER 8

/* Where space counts nothing is gained: see pl_neighbour_has_front(). */
#if defined(CONFIG_PLUMB_UDP_REMEMBER) && !defined(__OPTIMIZE_SIZE__)
#define PL_UDP_REMEMBERS_WAY
#endif
_Static_assert(sizeof(struct pl_udp_header) == PL_UDP_HEADER, "UDP header");

struct plumb_udp {
    struct plumb *stack;
    plumb_udp_handler *handler; /* null: the slot is free */
    void *context;
    plumb_udp_error_handler *failed; /* null: nobody wants to know */
    struct plumb_netif *only;        /* null: any interface */
    struct plumb_endpoint local;
#ifdef PL_UDP_REMEMBERS_WAY
    plumb_ipv4 remote, next_hop;    /* where the last datagram went, and by whom */
    struct pl_neighbour *neighbour; /* a guess, checked before each use; null: none */
    struct plumb_netif *netif;
#endif
};

extern const struct pl_layer pl_udp_layer;

void pl_udp_input(struct plumb *stack, void *state, struct plumb_netif *netif,
                  const struct pl_ipv4_header *ip, struct plumb_packet *packet);

bool pl_udp_error(struct plumb *stack, void *state, const struct pl_ipv4_header *quoted,
                  const void *payload, int error, unsigned mtu);

#ifdef CONFIG_PLUMB_UDP_EXPECT

/* The second to the fifth word of a reply's IPv4 header, and the ports. */
struct __attribute__((may_alias)) pl_udp_reply_words {
    uint32_t word[5];
};

/* Which datagrams are looked for: those like the last one, and how they are answered. */
struct pl_udp_flow {
    struct plumb_udp_source source; /* from one port of one host, to the interface's address;
                                       first, so that it is told by its own address */
    struct plumb_udp *socket;       /* that they are for */
    uint32_t ip[3];                 /* the IPv4 header's first words but for length,
                                       identification and checksum, which are 0 */
    uint32_t ip_sum;                /* of those and the addresses */
    uint32_t ports;                 /* the UDP header's first word */
    uint32_t pseudo_sum;            /* of the ports, the addresses and the protocol */
#ifdef PL_UDP_REMEMBERS_WAY
    uint32_t turn_below; /* shorter payloads are turned round; 0: not before the way is known */
    struct pl_neighbour *neighbour; /* the way back */
    struct pl_udp_reply_words reply;
    uint32_t reply_sum; /* of the reply's IPv4 header, its length left out */
#endif
};

/* Whoever looks first at frames that nobody else was looking for: takes the datagram that
 * may come next, and gives any other frame to pl_ethernet_input(). */
void pl_udp_first_look(struct plumb_netif *netif, struct plumb_packet *packet);

#endif

#endif
