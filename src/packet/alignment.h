/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The one place where it is decided what may be loaded from a network header.
 *
 * Every header structure names its 32-bit fields pl_net32. With network headers
 * on a word that is one load; without, the same structure is packed to halfwords
 * and each such field costs two loads and an or on a strict target, at every
 * even placement. Nothing is moved in either case. ARP is the exception: its
 * addresses are misaligned wherever it lies, and always plumb_be32_half.
 */
#ifndef PL_ALIGNMENT_H
#define PL_ALIGNMENT_H

#include <plumb/byteorder.h>
#include <plumb/netif.h>
#include <plumb_config.h>

#include "bytes/bytes.h"

#ifdef CONFIG_PLUMB_NETWORK_HEADER_ALIGNED
typedef plumb_be32 pl_net32;
#define PL_HEADER_WORD may_alias
#else
typedef plumb_be32_half pl_net32;
#define PL_HEADER_WORD may_alias, packed, aligned(2)
#endif

/* Headers are written by whole words, which takes fewer stores than fields; the
 * type may alias the structures that read them back. */
typedef struct __attribute__((PL_HEADER_WORD)) {
    uint32_t be;
} pl_header_word;

/* Of a field, where it lies: a copy of it could become a call. */
#define pl_net32_get(field) ((plumb_be32){(field).be})

/* The sum of an IPv4 header without options. */
PL_INLINE uint32_t pl_network_header_sum(const void *header) {
#ifdef CONFIG_PLUMB_NETWORK_HEADER_ALIGNED
    return pl_sum_header_on_word(header);
#else
    return pl_sum_header(header);
#endif
}

/* A halfword, as it lies in memory, as the first or second half of a word. */
static inline uint32_t pl_first_half(uint32_t halfword) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return halfword << 16;
#else
    return halfword;
#endif
}

static inline uint32_t pl_second_half(uint32_t halfword) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return halfword;
#else
    return halfword << 16;
#endif
}

/* And back. */
static inline uint32_t pl_first_half_of(uint32_t word) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return word >> 16;
#else
    return word & 0xffff;
#endif
}

static inline uint32_t pl_second_half_of(uint32_t word) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return word & 0xffff;
#else
    return word >> 16;
#endif
}

/* May an interface whose frames land like this be attached to this build? */
static inline bool pl_landing_fits(enum plumb_landing landing) {
#ifdef CONFIG_PLUMB_NETWORK_HEADER_ALIGNED
    return landing == PLUMB_LANDING_OFFSET;
#else
    (void)landing;
    return true;
#endif
}

#endif
