/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * lwIP as a firmware of the zynq board: main.c is the wiring, the loop and idling, gem_netif.c the
 * Cadence GEM as an interface of lwIP's, size.c in the place of port/'s applications one user of
 * everything.
 */
#ifndef GEM_NETIF_H
#define GEM_NETIF_H

#include <stdbool.h>

#include "lwip/netif.h"

#include "peer.h"

err_t gem_netif_init(struct netif *netif);
/* Lets go of what was sent, and passes up what has come. */
void gem_netif_poll(struct netif *netif);
/* Has the device send what was queued. */
void gem_netif_flush(void);
/* Clears what interrupts the device has raised; and then: has a poll work to do? */
void gem_netif_acknowledge(void);
bool gem_netif_pending(void);

#endif
