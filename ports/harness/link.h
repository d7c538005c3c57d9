/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The harness's interface: two queues of frames. At the level of IP it puts Ethernet headers on
 * and takes them off, and answers ARP itself, while the question is being sent: so no packet
 * ever waits for a neighbour.
 */
#ifndef PLUMB_HARNESS_LINK_H
#define PLUMB_HARNESS_LINK_H

#include <stdbool.h>
#include <stddef.h>

#include <plumb/netif.h>
#include <plumb/packet.h>

struct link_frame {
    struct link_frame *next;
    size_t length;
    uint8_t bytes[];
};

struct link_queue {
    struct link_frame *first, **last;
};

struct link {
    struct plumb_netif netif; /* first: a driver is reached through it */
    struct plumb_pool *pool;  /* received frames */
    struct link_queue in, out;
    bool ip; /* what is outside has no Ethernet header */
};

enum { LINK_HEADROOM = 2, LINK_HEADER = 14 };

void link_create(struct link *link, struct plumb_pool *pool, const uint8_t ethernet[6],
                 uint16_t mtu, bool ip);

/* Frees what nobody has taken. */
void link_destroy(struct link *link);

/* As plumb_harness_..._in() and _out(), of packets or frames. */
int link_put(struct link *link, const void *bytes, size_t length);
int link_take(struct link *link, void *bytes, size_t room);

#endif
