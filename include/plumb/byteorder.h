/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Big-endian integers with a type of their own, so that a forgotten byte swap
 * does not compile.
 *
 * The name states what may be loaded with one instruction:
 *   plumb_be16, plumb_be32   naturally aligned
 *   plumb_be32_half          aligned to 2 only: two halfword loads on a strict
 *                            target, at every even placement
 *   plumb_be16_any, plumb_be32_any
 *                            at any address: by bytes on a strict target
 *
 * A value of the first two may be copied; the others are reached by their address, as
 * a copy of a structure that misses its alignment can become a call.
 */
#ifndef PLUMB_BYTEORDER_H
#define PLUMB_BYTEORDER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    uint16_t be;
} plumb_be16;

typedef struct {
    uint32_t be;
} plumb_be32;

typedef struct __attribute__((packed, aligned(2))) {
    uint32_t be;
} plumb_be32_half;

typedef struct {
    uint8_t byte[2];
} plumb_be16_any;

typedef struct {
    uint8_t byte[4];
} plumb_be32_any;

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define PLUMB_SWAP16(x) ((uint16_t)(x))
#define PLUMB_SWAP32(x) ((uint32_t)(x))
#else
#define PLUMB_SWAP16(x) ((uint16_t)((uint16_t)(x) << 8 | (uint16_t)(x) >> 8))
#define PLUMB_SWAP32(x)                                                                            \
    ((uint32_t)(x) << 24 | ((uint32_t)(x)&0xff00U) << 8 | ((uint32_t)(x) >> 8 & 0xff00U) |         \
     (uint32_t)(x) >> 24)
#endif

/* Initialisers for constants: `static const plumb_be16 ipv4 = PLUMB_BE16(0x0800);` */
#define PLUMB_BE16(x)                                                                              \
    { PLUMB_SWAP16(x) }
#define PLUMB_BE32(x)                                                                              \
    { PLUMB_SWAP32(x) }

/* Always inline: where a processor has an instruction that reverses bytes, each of
 * these is that instruction, and a compiler told to save space may not see it. */
#define PLUMB_INLINE static inline __attribute__((always_inline))

PLUMB_INLINE uint16_t plumb_get16(plumb_be16 v) {
    return PLUMB_SWAP16(v.be);
}

PLUMB_INLINE uint32_t plumb_get32(plumb_be32 v) {
    return PLUMB_SWAP32(v.be);
}

PLUMB_INLINE plumb_be16 plumb_put16(uint16_t v) {
    plumb_be16 r = PLUMB_BE16(v);
    return r;
}

PLUMB_INLINE plumb_be32 plumb_put32(uint32_t v) {
    plumb_be32 r = PLUMB_BE32(v);
    return r;
}

/* From the weaker alignment to the stronger, and back. */
PLUMB_INLINE plumb_be32 plumb_from_half(const plumb_be32_half *from) {
    plumb_be32 r = {from->be};
    return r;
}

PLUMB_INLINE void plumb_to_half(plumb_be32_half *to, plumb_be32 v) {
    to->be = v.be;
}

PLUMB_INLINE uint16_t plumb_get16_any(const plumb_be16_any *from) {
    return (uint16_t)(from->byte[0] << 8 | from->byte[1]);
}

PLUMB_INLINE uint32_t plumb_get32_any(const plumb_be32_any *from) {
    return (uint32_t)from->byte[0] << 24 | (uint32_t)from->byte[1] << 16 |
           (uint32_t)from->byte[2] << 8 | from->byte[3];
}

PLUMB_INLINE void plumb_put16_any(plumb_be16_any *to, uint16_t v) {
    to->byte[0] = (uint8_t)(v >> 8);
    to->byte[1] = (uint8_t)v;
}

PLUMB_INLINE void plumb_put32_any(plumb_be32_any *to, uint32_t v) {
    to->byte[0] = (uint8_t)(v >> 24);
    to->byte[1] = (uint8_t)(v >> 16);
    to->byte[2] = (uint8_t)(v >> 8);
    to->byte[3] = (uint8_t)v;
}

#ifdef __cplusplus
}
#endif

#endif
