/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Addresses: Ethernet (IEEE 802), IPv4 (RFC 791), and an endpoint of a
 * transport protocol. All are values; none owns memory.
 */
#ifndef PLUMB_ADDRESS_H
#define PLUMB_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include <plumb/byteorder.h>
#include <plumb_config.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Six bytes in transmission order, held as three halfwords so that a copy is
 * three moves and never a call. half[i] is in memory order, not a number. */
struct plumb_ethernet_address {
    uint16_t half[3];
};

/* Moves a part of an address, or an Ethernet type: once, unless the configuration wants
 * to see what others do. Both are halfwords, not pointers. */
#if defined(CONFIG_PLUMB_ETHERNET_COPY_CALL)
#define PLUMB_HALF_MOVE(to, from) ((void)__builtin_memcpy(&(to), &(from), 2))
#elif defined(CONFIG_PLUMB_ETHERNET_COPY_BYTES)
#define PLUMB_HALF_MOVE(to, from)                                                                  \
    ((void)(((uint8_t *)&(to))[0] = ((const uint8_t *)&(from))[0]),                                \
     (void)(((uint8_t *)&(to))[1] = ((const uint8_t *)&(from))[1]))
#else
#define PLUMB_HALF_MOVE(to, from) ((void)((to) = (from)))
#endif

/* Three moves; the assignment of a whole structure can become a call. */
PLUMB_INLINE void plumb_ethernet_copy(struct plumb_ethernet_address *to,
                                      const struct plumb_ethernet_address *from) {
#ifdef CONFIG_PLUMB_ETHERNET_COPY_CALL
    __builtin_memcpy((uint8_t *)to, (const uint8_t *)from, sizeof *to);
#else
    PLUMB_HALF_MOVE(to->half[0], from->half[0]);
    PLUMB_HALF_MOVE(to->half[1], from->half[1]);
    PLUMB_HALF_MOVE(to->half[2], from->half[2]);
#endif
}

PLUMB_INLINE bool plumb_ethernet_equal(const struct plumb_ethernet_address *a,
                                       const struct plumb_ethernet_address *b) {
    return ((a->half[0] ^ b->half[0]) | (a->half[1] ^ b->half[1]) | (a->half[2] ^ b->half[2])) == 0;
}

/* An IPv4 address in network byte order. */
typedef plumb_be32 plumb_ipv4;

#define PLUMB_IPV4(a, b, c, d)                                                                     \
    PLUMB_BE32((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))

#define PLUMB_IPV4_ANY       ((plumb_ipv4){0})
#define PLUMB_IPV4_BROADCAST ((plumb_ipv4){0xffffffffU})

static inline bool plumb_ipv4_equal(plumb_ipv4 a, plumb_ipv4 b) {
    return a.be == b.be;
}

/* An IPv4 address and a port in host byte order. */
struct plumb_endpoint {
    plumb_ipv4 address;
    uint16_t port;
};

/* Builds an Ethernet address from six bytes in transmission order. */
static inline struct plumb_ethernet_address plumb_ethernet_address(const uint8_t bytes[6]) {
    struct plumb_ethernet_address a;
    for (unsigned i = 0; i < 3; i++) {
        plumb_be16 half = plumb_put16((uint16_t)(bytes[2 * i] << 8 | bytes[2 * i + 1]));
        a.half[i] = half.be;
    }
    return a;
}

#ifdef __cplusplus
}
#endif

#endif
