/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What lwIP asks of its port, for building its checksum alone: it has defaults for
 * everything but the byte order and how to complain.
 */
#ifndef PEERS_LWIP_CC_H
#define PEERS_LWIP_CC_H

#define BYTE_ORDER __BYTE_ORDER__

#define LWIP_NO_INTTYPES_H 1
#define LWIP_NO_UNISTD_H   1
#define LWIP_NO_CTYPE_H    1
#define LWIP_NO_LIMITS_H   1

/* The port has these, so that lwIP's, which take more of a C library, stay out. */
#define lwip_strnstr  strnstr
#define lwip_stricmp  strcasecmp
#define lwip_strnicmp strncasecmp
#define lwip_itoa(result, size, number)

#define LWIP_PLATFORM_DIAG(text)   ((void)0)
#define LWIP_PLATFORM_ASSERT(text) ((void)0)

#endif
