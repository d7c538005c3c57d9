/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The link layer: Ethernet II with 802.1Q tags on receive, and the neighbours'
 * addresses by ARP.
 */
#ifndef PL_LINK_H
#define PL_LINK_H

#include <plumb/address.h>
#include <plumb/byteorder.h>

#include "bytes/bytes.h"
#include "packet/alignment.h"
#include "stack/stack.h"

#define PL_ETHERTYPE_IPV4 0x0800
#define PL_ETHERTYPE_ARP  0x0806
#define PL_ETHERTYPE_VLAN 0x8100

#define PL_ETHERNET_HEADER 14

/* IEEE 802.3; every field on a halfword wherever an Ethernet frame lands. */
struct pl_ethernet_header {
    struct plumb_ethernet_address destination;
    struct plumb_ethernet_address source;
    plumb_be16 type;
};

/* May a host have this address (RFC 1122 section 3.2.1.3)? Not 0/8, 127/8, nor
 * multicast and above. */
bool pl_ipv4_is_host(plumb_ipv4 address);

/* Who takes which ethertype. The packet, now the taker's, begins behind the
 * Ethernet header, which still lies in front of it. */
struct pl_ethertype {
    plumb_be16 type;
    uint8_t layer; /* whose state is passed, an index into pl_layers */
    void (*input)(struct plumb *stack, void *state, struct plumb_netif *netif,
                  struct plumb_packet *packet);
};

extern const struct pl_ethertype pl_ethertypes[];
extern const uint8_t pl_ethertype_count;

extern const struct pl_layer pl_link_layer;

/* Every frame, but for those taken at a first look. */
void pl_ethernet_input(struct plumb_netif *netif, struct plumb_packet *packet);

/* Every frame that whoever looks first does not take. */
#ifdef CONFIG_PLUMB_UDP_EXPECT
void pl_interface_rest(struct plumb_netif *netif, struct plumb_packet *packet);
#else
#define pl_interface_rest pl_ethernet_input
#endif

/* Is a frame untagged IPv4, from a station to the interface's own address? For whoever
 * looks at all of its headers at once. */
PL_INLINE bool pl_ethernet_expected(const struct plumb_netif *netif,
                                    const struct pl_ethernet_header *header) {
    const struct plumb_ethernet_address *to = &header->destination, *own = &netif->address;
    /* Behind the first halfword both lie on words. */
    const pl_header_word *to_rest = (const void *)&to->half[1];
    const pl_word *own_rest = (const void *)&own->half[1];

    return pl_both_equal(to->half[0], own->half[0], to_rest->be, *own_rest) &&
           ((uint32_t)(header->type.be ^ PLUMB_SWAP16(PL_ETHERTYPE_IPV4)) |
            (*(const uint8_t *)&header->source & 1U)) == 0;
}
_Static_assert(offsetof(struct plumb_netif, address) % 4 == 2, "address of an interface");

/* For the table of ethertypes. */
void pl_arp_input(struct plumb *stack, void *state, struct plumb_netif *netif,
                  struct plumb_packet *packet);

/* Gives a frame to the driver. */
static inline int pl_interface_output(struct plumb_netif *netif, struct plumb_packet *packet) {
    int result = netif->driver->transmit(netif, packet);

    if (netif->observer && result == PLUMB_OK)
        netif->observer(netif, packet, true, netif->observer_context);
    return result;
}

enum pl_neighbour_state {
    PL_NEIGHBOUR_FREE,
    PL_NEIGHBOUR_INCOMPLETE, /* asked, no answer yet */
    PL_NEIGHBOUR_REACHABLE,  /* confirmed within the reachable time */
    PL_NEIGHBOUR_STALE,      /* known, to be confirmed when next used */
    PL_NEIGHBOUR_PROBE,      /* known, and being asked whether still so */
};

/* An Ethernet header as it lies in front of a network header that is on a word: four
 * words, of which the first two bytes belong to nobody. */
struct pl_front {
    _Alignas(4) uint16_t unused;
    struct pl_ethernet_header header;
};
_Static_assert(sizeof(struct pl_front) == 16, "four words");

struct pl_neighbour {
    plumb_ipv4 address;
    struct plumb_netif *netif;
    struct plumb_packet *waiting; /* at most one, while INCOMPLETE */
    uint32_t changed_ms;          /* when the state began, or was confirmed */
    struct pl_front front;        /* of IPv4 to this neighbour, once it is known */
    uint8_t state;
    uint8_t asked;  /* requests sent in this state */
    bool used;      /* sent to since the last look */
    bool solicited; /* we had a packet for it: no stranger's ARP can displace it */
};

static inline bool pl_neighbour_known(const struct pl_neighbour *neighbour) {
    return neighbour->state >= PL_NEIGHBOUR_REACHABLE;
}

/* Finds the neighbour, or makes an entry and asks for it; there is always one that
 * gives way. */
struct pl_neighbour *pl_neighbour_resolve(struct plumb *stack, struct plumb_netif *netif,
                                          plumb_ipv4 address);

/* Sends an IPv4 packet to a neighbour. The caller keeps its hold. Unresolved, a
 * packet that its sender does not retain waits, alone, displacing an earlier
 * one, and the result is PLUMB_OK; a retained one gets PLUMB_ERROR_WOULD_BLOCK. */
int pl_link_send(struct plumb *stack, struct pl_neighbour *neighbour, struct plumb_packet *packet);

/* Is there a front to write for whoever sends to it? Where space counts there is none, and
 * pl_link_send() writes each field. */
static inline bool pl_neighbour_has_front(const struct pl_neighbour *neighbour) {
#ifdef __OPTIMIZE_SIZE__
    (void)neighbour;
    return false;
#else
    return pl_neighbour_known(neighbour);
#endif
}

/* Four words moved at once, where a processor can. */
struct __attribute__((may_alias)) pl_front_words {
    uint32_t word[4];
};

/* Writes the front of what is sent to a neighbour that has one, before a network header on
 * a word. */
static inline void pl_link_write_front(struct pl_neighbour *neighbour, void *network_header) {
    struct pl_front_words *to = (struct pl_front_words *)network_header - 1;

    *to = *(const struct pl_front_words *)&neighbour->front;
    neighbour->used = neighbour->solicited = true;
}

/* Sends a packet to such a neighbour; the packet already counts the front. */
static inline int pl_link_send_front(struct pl_neighbour *neighbour, struct plumb_packet *packet,
                                     void *network_header) {
    pl_link_write_front(neighbour, network_header);
    return pl_interface_output(neighbour->netif, packet);
}

/* Sends to everyone on the link. */
int pl_link_broadcast(struct plumb_netif *netif, struct plumb_packet *packet);

/* Writes the Ethernet header and gives the frame to the driver. */
int pl_ethernet_output(struct plumb_netif *netif, const struct plumb_ethernet_address *to,
                       plumb_be16 type, struct plumb_packet *packet);

#endif
