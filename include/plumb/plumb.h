/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Everything public, for those who do not mind which header it stands in. */
#ifndef PLUMB_PLUMB_H
#define PLUMB_PLUMB_H

#include <plumb/address.h>
#include <plumb/byteorder.h>
#include <plumb/counters.h>
#include <plumb/dhcp.h>
#include <plumb/dma.h>
#include <plumb/error.h>
#include <plumb/netif.h>
#include <plumb/packet.h>
#include <plumb/processor.h>
#ifdef CONFIG_PLUMB_SOCKETS
#include <plumb/socket.h>
#endif
#include <plumb/stack.h>
#include <plumb/tcp.h>
#include <plumb/timer.h>
#include <plumb/udp.h>

#endif
