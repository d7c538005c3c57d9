/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * lwIP as a process over TAP: main.c is the command line, the loop and idling, tap_netif.c the
 * TAP device as an interface of lwIP's.
 */
#ifndef TAP_NETIF_H
#define TAP_NETIF_H

#include "lwip/netif.h"

#include "peer.h"

/* Of the device named by netif->state. ERR_IF, and errno, when there is none. */
err_t tap_netif_init(struct netif *netif);
/* Passes up to `budget` frames up; how many there were. */
unsigned tap_netif_poll(struct netif *netif, unsigned budget);
/* For poll(2). */
int tap_netif_descriptor(void);

#endif
