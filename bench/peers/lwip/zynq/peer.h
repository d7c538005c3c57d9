/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * lwIP as a firmware: what its files share.
 *
 *   main.c        wiring, the loop, idling
 *   gem_netif.c   the Cadence GEM as an interface of lwIP's
 *   iperf.c       TCP, over lwIP's raw interface
 *   echo.c        UDP, likewise
 *   size.c        in the place of the last two: one user of everything
 */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "lwip/netif.h"

/* iperf.c or size.c: when the interface has its address. */
void application_start(void);

/* gem_netif.c */
err_t gem_netif_init(struct netif *netif);
/* Lets go of what was sent, and passes up what has come. */
void gem_netif_poll(struct netif *netif);
/* Has the device send what was queued. */
void gem_netif_flush(void);
/* Clears what interrupts the device has raised; and then: has a poll work to do? */
void gem_netif_acknowledge(void);
bool gem_netif_pending(void);
/* Frames since the start. */
struct gem_frames {
    uint32_t received, sent;
};
extern struct gem_frames gem_frames;

/* echo.c */
void echo_start(void);

#endif
