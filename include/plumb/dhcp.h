/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A DHCP client (RFC 2131, 2132), with a static address to fall back on.
 *
 * It configures one interface: until a server answers it asks again with
 * growing pauses; after `patience_ms` without an answer it sets the fallback
 * and goes on asking. A lease is renewed, rebound and, when it ends, given up.
 */
#ifndef PLUMB_DHCP_H
#define PLUMB_DHCP_H

#include <stdbool.h>
#include <stdint.h>

#include <plumb/netif.h>
#include <plumb/timer.h>
#include <plumb/udp.h>

#ifdef __cplusplus
extern "C" {
#endif

struct plumb_dhcp;

/* The interface's configuration changed; netif->ipv4 is PLUMB_IPV4_ANY when a
 * lease was lost. */
typedef void plumb_dhcp_handler(struct plumb_dhcp *dhcp, void *context);

struct plumb_dhcp_options {
    plumb_ipv4 fallback; /* PLUMB_IPV4_ANY: none */
    plumb_ipv4 fallback_netmask;
    plumb_ipv4 fallback_gateway;
    uint32_t patience_ms;        /* 0: CONFIG_PLUMB_DHCP_PATIENCE_MS */
    plumb_dhcp_handler *handler; /* or null */
    void *context;
};

/* Owned by the user, zeroed before the first start; the fields are the client's. */
struct plumb_dhcp {
    struct plumb *stack;
    struct plumb_netif *netif;
    struct plumb_udp *socket;
    struct plumb_timer timer;
    struct plumb_dhcp_options options;
    uint32_t transaction;
    uint32_t started_ms; /* of the present exchange */
    uint32_t leased_ms;  /* when the lease was granted */
    uint32_t lease_s, renew_s, rebind_s;
    plumb_ipv4 offered, server;
    plumb_ipv4 name_server; /* PLUMB_IPV4_ANY: none given */
    uint32_t ignored;       /* datagrams that were no answer to what was asked */
    uint32_t unsent;        /* messages for which there was no packet */
    uint8_t state;
    uint8_t tries;
    bool bound; /* the address is a server's lease, not the fallback */
};

/* Begins. `options` is copied. Returns PLUMB_OK or what plumb_udp_open returns. */
int plumb_dhcp_start(struct plumb_dhcp *dhcp, struct plumb *stack, struct plumb_netif *netif,
                     const struct plumb_dhcp_options *options);

/* Gives a lease back (DHCPRELEASE) and ends; the interface keeps no address. */
void plumb_dhcp_stop(struct plumb_dhcp *dhcp);

#ifdef __cplusplus
}
#endif

#endif
