/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Big-endian integers with a type of their own, so that a forgotten byte swap
 * does not compile.
 *
 * The name states what may be loaded with one instruction:
 *   plumb_be16, plumb_be32   naturally aligned
 *   plumb_be32_half          aligned to 2 only: two halfword loads on a strict
 *                            target, at every even placement
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

/* The same value with the stronger or the weaker alignment. */
PLUMB_INLINE plumb_be32 plumb_from_half(plumb_be32_half v) {
    plumb_be32 r = {v.be};
    return r;
}

PLUMB_INLINE plumb_be32_half plumb_to_half(plumb_be32 v) {
    plumb_be32_half r = {v.be};
    return r;
}

#ifdef __cplusplus
}
#endif

#endif
