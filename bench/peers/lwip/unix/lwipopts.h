/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * lwIP's options in a process of this host: as on the zynq board, but for what the processor and
 * the C library do better here.
 */
#ifndef PEER_UNIX_LWIPOPTS_H
#define PEER_UNIX_LWIPOPTS_H

#include "../port/lwipopts.h"

#undef MEM_ALIGNMENT
#define MEM_ALIGNMENT 8
/* The C library's, which knows the processor. */
#undef MEMCPY
#undef SMEMCPY
#if PEER_LEVEL >= 3
#undef LWIP_CHKSUM
#undef LWIP_CHKSUM_COPY
#define LWIP_CHKSUM(bytes, length)         ((u16_t)peer_sum(bytes, (size_t)(length)))
#define LWIP_CHKSUM_COPY(to, from, length) ((u16_t)peer_copy_sum(to, from, length))
#endif

#endif
