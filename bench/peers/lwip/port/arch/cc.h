/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What lwIP asks of its port: this compiler, this processor, no C library.
 */
#ifndef PEER_CC_H
#define PEER_CC_H

#include <stddef.h>
#include <stdint.h>

#ifndef BYTE_ORDER
#define BYTE_ORDER __BYTE_ORDER__
#endif

#define LWIP_NO_INTTYPES_H 1
#define LWIP_NO_UNISTD_H   1
#define LWIP_NO_CTYPE_H    1
#define LWIP_NO_LIMITS_H   1

#define X8_F  "x"
#define U16_F "u"
#define S16_F "d"
#define X16_F "x"
#define U32_F "u"
#define S32_F "d"
#define X32_F "x"
#define SZT_F "u"

_Noreturn void peer_panic(const char *text);
#define LWIP_PLATFORM_DIAG(text)   ((void)0)
#define LWIP_PLATFORM_ASSERT(text) peer_panic(text)

/* The port has these, so that lwIP's, which take more of a C library, stay out. */
#define lwip_strnstr  strnstr
#define lwip_stricmp  strcasecmp
#define lwip_strnicmp strncasecmp
#define lwip_itoa(result, size, number)

#if PEER_LEVEL >= 2
#define lwip_htons(x) ((uint16_t)__builtin_bswap16(x))
#define lwip_htonl(x) ((uint32_t)__builtin_bswap32(x))
void pl_copy(void *to, const void *from, size_t length);

/* An Ethernet address by bytes, in line, as a compiler that may not misalign would call
 * for it. */
static inline void peer_copy_small(void *to, const void *from, size_t length) {
    uint8_t *t = (uint8_t *)to;
    const uint8_t *f = (const uint8_t *)from;

    if (__builtin_constant_p(length) && length == 6) {
        t[0] = f[0], t[1] = f[1], t[2] = f[2];
        t[3] = f[3], t[4] = f[4], t[5] = f[5];
    } else {
        __builtin_memcpy(to, from, length);
    }
}
#endif
#if PEER_LEVEL >= 3
uint32_t pl_sum(const void *bytes, size_t length);
uint32_t pl_copy_sum(void *to, const void *from, size_t length);
#endif

/* With the padding every header lies on a word, and none has a hole in it. */
#if PEER_LEVEL >= 4
#define PACK_STRUCT_BEGIN
#define PACK_STRUCT_STRUCT
#define PACK_STRUCT_END
#define PACK_STRUCT_FIELD(x) x
#endif

#endif
