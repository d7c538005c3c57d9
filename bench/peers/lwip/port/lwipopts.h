/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * lwIP's options, by PEER_LEVEL; what is not here is lwIP's own default.
 *
 *   0 stock       the defaults: MSS 536, windows of 4 and 2 segments, assertions on
 *   1             the same at MSS 1460 with windows of 8 segments, and the memory for it
 *   2 tuned       what lwIP's documentation advises: padding that puts headers on words,
 *                 buffers passed up without a copy, checksum algorithm 3, byte order by one
 *                 instruction, the neighbour remembered by each connection, no statistics and no
 *                 assertions, windows and buffers as large as Plumb's
 *   3             and Plumb's assembly for its checksum, alone and with its copy, as any
 *                 user's own could be
 *   4 best        and headers that are not packed, pools for all memory, one interface
 *
 * What every level has, as there is no operating system: NO_SYS, no sockets, no locks.
 */
#ifndef PEER_LWIPOPTS_H
#define PEER_LWIPOPTS_H

#include <plumb_config.h>

#define NO_SYS               1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_NETCONN         0
#define LWIP_SOCKET          0
#define MEM_ALIGNMENT        4 /* the processor's */

#if !PEER_ASSERTS || PEER_LEVEL >= 2
#define LWIP_NOASSERT 1
#endif
#if !PEER_FRAGMENTS
#define IP_FRAG                  0
#define IP_REASSEMBLY            0
#define LWIP_SUPPORT_CUSTOM_PBUF 1 /* as fragments bring it */
#endif

#if PEER_HARDWARE_CHECKSUM
#define CHECKSUM_GEN_IP    0
#define CHECKSUM_GEN_UDP   0
#define CHECKSUM_GEN_TCP   0
#define CHECKSUM_CHECK_IP  0
#define CHECKSUM_CHECK_UDP 0
#define CHECKSUM_CHECK_TCP 0
#endif

#if PEER_LEVEL >= 1
#define TCP_MSS 1460
#endif

#if PEER_LEVEL == 1
#define TCP_WND          (8 * TCP_MSS)
#define TCP_SND_BUF      (8 * TCP_MSS)
#define MEMP_NUM_TCP_SEG 32
#define MEMP_NUM_PBUF    32
#define MEM_SIZE         (24 * 1024)
#endif

#if PEER_LEVEL >= 2
#define ETH_PAD_SIZE          2
#define LWIP_CHKSUM_ALGORITHM 3
#define LWIP_STATS            0
#define LWIP_NETIF_HWADDRHINT 1
#define LWIP_WND_SCALE        1
#define TCP_RCV_SCALE         0
#define TCP_WND               CONFIG_PLUMB_TCP_RECEIVE_BUFFER
#define TCP_SND_BUF           CONFIG_PLUMB_TCP_SEND_BUFFER
#define TCP_SND_QUEUELEN      128
#define MEMP_NUM_TCP_SEG      160
#define MEMP_NUM_PBUF         128
#define MEMP_NUM_TCP_PCB      CONFIG_PLUMB_TCP_CONNECTIONS
#define MEMP_NUM_UDP_PCB      CONFIG_PLUMB_UDP_SOCKETS
#define ARP_TABLE_SIZE        CONFIG_PLUMB_ARP_ENTRIES
#define MEM_SIZE              (256 * 1024)
/* Received frames are not in the pool, which lwIP would compare with the window. */
#define PBUF_POOL_SIZE                 4
#define LWIP_DISABLE_TCP_SANITY_CHECKS 1
#define SMEMCPY(to, from, length)      peer_copy_small(to, from, length)
#define MEMCPY(to, from, length)       pl_copy(to, from, length)
#endif

#if PEER_LEVEL >= 3 && !PEER_HARDWARE_CHECKSUM
#define LWIP_CHECKSUM_ON_COPY              1
#define LWIP_CHKSUM(bytes, length)         ((u16_t)pl_sum(bytes, (size_t)(length)))
#define LWIP_CHKSUM_COPY(to, from, length) ((u16_t)pl_copy_sum(to, from, length))
#elif PEER_LEVEL >= 3
#define LWIP_CHKSUM(bytes, length) ((u16_t)pl_sum(bytes, (size_t)(length)))
#endif

#if PEER_LEVEL >= 4
#define LWIP_SINGLE_NETIF     1
#define MEM_USE_POOLS         1
#define MEMP_USE_CUSTOM_POOLS 1
#endif

#endif
