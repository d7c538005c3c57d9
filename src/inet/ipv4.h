/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * IPv4 (RFC 791, RFC 1122 section 3): the header, who takes which protocol,
 * routes, and sending.
 */
#ifndef PL_IPV4_H
#define PL_IPV4_H

#include <plumb/address.h>

#include "link/link.h"
#include "packet/alignment.h"
#include "stack/stack.h"

#define PL_PROTOCOL_ICMP 1
#define PL_PROTOCOL_TCP  6
#define PL_PROTOCOL_UDP  17

#define PL_IPV4_HEADER         20
#define PL_IPV4_DONT_FRAGMENT  0x4000
#define PL_IPV4_MORE_FRAGMENTS 0x2000
#define PL_IPV4_FRAGMENT_MASK  0x3fff /* more-fragments flag and offset */

struct pl_ipv4_header {
    uint8_t version_length; /* version 4, header length in words 4 */
    uint8_t service;        /* DSCP 6, ECN 2 */
    plumb_be16 total_length;
    plumb_be16 identification;
    plumb_be16 fragment; /* flags 3, offset 13 */
    uint8_t time_to_live;
    uint8_t protocol;
    plumb_be16 checksum;
    pl_net32 source;
    pl_net32 destination;
};
_Static_assert(sizeof(struct pl_ipv4_header) == PL_IPV4_HEADER, "IPv4 header");

/* Who takes which protocol. The packet begins behind the IPv4 header `header`
 * (which lies in front, options between), trimmed to the datagram. */
struct pl_protocol {
    uint8_t number;
    uint8_t layer; /* whose state is passed, an index into pl_layers */
    void (*input)(struct plumb *stack, void *state, struct plumb_netif *netif,
                  const struct pl_ipv4_header *header, struct plumb_packet *packet);
    /* An ICMP error about a packet of ours: its header and the first 8 bytes of
     * its payload; true when it concerned one of this protocol's. With
     * PLUMB_ERROR_TOO_LONG, `mtu` is what a router on the way passes on, or 0. Or null. */
    bool (*error)(struct plumb *stack, void *state, const struct pl_ipv4_header *quoted,
                  const void *payload, int error, unsigned mtu);
};

extern const struct pl_protocol pl_protocols[];
extern const uint8_t pl_protocol_count;

extern const struct pl_layer pl_inet_layer;

/* Is a header without options, of a whole datagram, for this protocol? */
PL_INLINE bool pl_ipv4_expected(const struct pl_ipv4_header *header, uint8_t protocol) {
    const uint32_t fragment = header->fragment.be;

    return pl_both_equal(header->version_length, 0x45, header->protocol, protocol) &&
           (fragment & ~(uint32_t)PLUMB_SWAP16(0xffff ^ PL_IPV4_FRAGMENT_MASK)) == 0;
}

PL_INLINE bool pl_ipv4_between(const struct pl_ipv4_header *header, plumb_ipv4 source,
                               plumb_ipv4 destination) {
    return pl_both_equal(header->source.be, source.be, header->destination.be, destination.be);
}

/* Verifies such a header; `address_sum` is that of its two addresses. */
PL_INLINE bool pl_ipv4_sum_passes(const struct pl_ipv4_header *header, uint32_t address_sum) {
    const pl_header_word *word = (const void *)header;
    const uint32_t a = word[0].be, b = word[1].be, c = word[2].be;

    /* By halves: so few never carry out of a word. */
    return pl_sum_passes((a & 0xffff) + (a >> 16) + (b & 0xffff) + (b >> 16) + (c & 0xffff) +
                         (c >> 16) + address_sum);
}

/* For the table of ethertypes. */
void pl_ipv4_input(struct plumb *stack, void *state, struct plumb_netif *netif,
                   struct plumb_packet *packet);

/* For the table of protocols. */
void pl_icmp_input(struct plumb *stack, void *state, struct plumb_netif *netif,
                   const struct pl_ipv4_header *header, struct plumb_packet *packet);

/* The protocol's entry, or null. */
const struct pl_protocol *pl_protocol_find(uint8_t number);

/* Which way to a destination. */
struct pl_route {
    struct plumb_netif *netif;
    plumb_ipv4 next_hop;
    bool broadcast;
};

/* Finds the way, through one interface or (null) any; false when there is none. */
bool pl_route_find(struct plumb *stack, struct plumb_netif *only, plumb_ipv4 destination,
                   struct pl_route *route);

/* Who is sent to for a destination beyond an interface that has a way to it. */
static inline plumb_ipv4 pl_next_hop(const struct plumb_netif *netif, plumb_ipv4 destination) {
    const bool is_far = ((destination.be ^ netif->ipv4.be) & netif->netmask.be) != 0;

    return is_far && netif->gateway.be ? netif->gateway : destination;
}

/* Is this address the limited broadcast, or the directed one of the interface? */
bool pl_ipv4_is_broadcast(const struct plumb_netif *netif, plumb_ipv4 address);

/* Writes the 20-byte header of a datagram of `total` bytes, whose identification and fragment
 * fields are the halves of `fragment`. `address_sum` is that of the two addresses. */
PL_INLINE void pl_ipv4_write_fragment_header(pl_header_word *word, uint32_t total,
                                             uint32_t fragment, uint8_t protocol, plumb_ipv4 source,
                                             plumb_ipv4 destination, uint32_t address_sum) {
    const uint32_t protocol_word =
        plumb_put32((uint32_t)CONFIG_PLUMB_IPV4_TTL << 24 | (uint32_t)protocol << 16).be;
    const uint32_t fixed = (uint32_t)PLUMB_SWAP16(0x4500) + PLUMB_SWAP16(fragment >> 16) +
                           PLUMB_SWAP16(fragment & 0xffff) +
                           PLUMB_SWAP16(CONFIG_PLUMB_IPV4_TTL << 8 | protocol);
    const uint32_t sum = address_sum + fixed + PLUMB_SWAP16(total);

    word[0].be = plumb_put32(0x45000000 | total).be;
    word[1].be = plumb_put32(fragment).be;
    word[2].be = protocol_word | pl_second_half((uint16_t)~pl_fold(sum));
    word[3].be = source.be;
    word[4].be = destination.be;
}

/* The same for a datagram that nobody may fragment: it needs no identification (RFC 6864
 * section 4.1), and nobody can count by it how much we send. */
#ifdef __OPTIMIZE_SIZE__
void pl_ipv4_write_header(pl_header_word *word, uint32_t total, uint8_t protocol, plumb_ipv4 source,
                          plumb_ipv4 destination, uint32_t address_sum);
#else
#define pl_ipv4_write_header pl_ipv4_write_header_inline
#endif

static inline void pl_ipv4_write_header_inline(pl_header_word *word, uint32_t total,
                                               uint8_t protocol, plumb_ipv4 source,
                                               plumb_ipv4 destination, uint32_t address_sum) {
    pl_ipv4_write_fragment_header(word, total, PL_IPV4_DONT_FRAGMENT, protocol, source, destination,
                                  address_sum);
}

/* Explicit congestion notification (RFC 3168 section 5): the two lower bits of `service`. */
enum { PL_ECN_CAPABLE = 2, PL_ECN_MARKED = 3 };

static inline bool pl_ipv4_is_marked(const struct pl_ipv4_header *header) {
    return (header->service & PL_ECN_MARKED) == PL_ECN_MARKED;
}

/* Says of a header written as above that its sender understands marks. */
static inline void pl_ipv4_make_capable(pl_header_word *word) {
    uint16_t checksum = (uint16_t)pl_second_half_of(word[2].be);

    checksum =
        pl_checksum_replace(checksum, PLUMB_SWAP16(0x4500), PLUMB_SWAP16(0x4500 | PL_ECN_CAPABLE));
    word[0].be |= plumb_put32((uint32_t)PL_ECN_CAPABLE << 16).be;
    word[2].be = pl_first_half(pl_first_half_of(word[2].be)) | pl_second_half(checksum);
}

/* Gives a header written as above another length. */
static inline void pl_ipv4_replace_length(pl_header_word *word, uint16_t total) {
    const uint16_t length = PLUMB_SWAP16(total);
    uint16_t checksum = (uint16_t)pl_second_half_of(word[2].be);

    checksum = pl_checksum_replace(checksum, (uint16_t)pl_second_half_of(word[0].be), length);
    word[0].be = pl_first_half(pl_first_half_of(word[0].be)) | pl_second_half(length);
    word[2].be = pl_first_half(pl_first_half_of(word[2].be)) | pl_second_half(checksum);
}

/* Sends a packet, complete with its header, along a route. The caller keeps its hold.
 * Returns PLUMB_OK or PLUMB_ERROR_WOULD_BLOCK. */
int pl_ipv4_route(struct plumb *stack, const struct pl_route *route, struct plumb_packet *packet);

/* Whether a payload goes out along a route in one piece. */
static inline bool pl_ipv4_fits(const struct pl_route *route, unsigned length) {
    return length + PL_IPV4_HEADER <= route->netif->mtu;
}

/* Adds the header and sends along a route, in fragments when it does not fit. The caller
 * keeps its hold. Returns PLUMB_OK, PLUMB_ERROR_WOULD_BLOCK, PLUMB_ERROR_NO_BUFFER (only
 * of fragments) or PLUMB_ERROR_TOO_LONG. */
int pl_ipv4_send(struct plumb *stack, const struct pl_route *route, struct plumb_packet *packet,
                 uint8_t protocol, plumb_ipv4 source, plumb_ipv4 destination);

enum {
    PL_ICMP_UNREACHABLE = 3,
    PL_ICMP_UNREACHABLE_PROTOCOL = 2,
    PL_ICMP_UNREACHABLE_PORT = 3,
};

/* Sends an unreachable message about a received packet, if one may be sent
 * (RFC 1122 section 3.2.2, rate limit). The packet stays the caller's. */
void pl_icmp_unreachable(struct plumb *stack, struct plumb_netif *netif, uint8_t code,
                         const struct pl_ipv4_header *header, const struct plumb_packet *packet);

/* The same for a datagram that was not complete in time. */
void pl_icmp_time_exceeded(struct plumb *stack, struct plumb_netif *netif,
                           const struct pl_ipv4_header *header, const struct plumb_packet *packet);

#endif
