/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The IPv4 configuration of an interface. */
#include "inet/ipv4.h"

/* Ones, then zeroes (RFC 950), and not all of either. */
static bool is_netmask(plumb_ipv4 mask) {
    uint32_t hosts = ~plumb_get32(mask);

    return (hosts & (hosts + 1)) == 0 && mask.be != 0;
}

int plumb_netif_set_ipv4(struct plumb_netif *netif, plumb_ipv4 address, plumb_ipv4 netmask,
                         plumb_ipv4 gateway) {
    plumb_ipv4 old = netif->ipv4;

    if (!netif->stack)
        return PLUMB_ERROR_INVALID;
    if (address.be == 0) {
        netmask = gateway = PLUMB_IPV4_ANY;
    } else {
        uint32_t hosts = ~plumb_get32(netmask), host = plumb_get32(address) & hosts;
        if (!pl_ipv4_is_host(address) || !is_netmask(netmask))
            return PLUMB_ERROR_INVALID;
        if (hosts > 1 && (host == 0 || host == hosts))
            return PLUMB_ERROR_INVALID; /* the network's own, or its broadcast address */
        if (gateway.be != 0 && (!pl_ipv4_is_host(gateway) || gateway.be == address.be ||
                                ((gateway.be ^ address.be) & netmask.be) != 0))
            return PLUMB_ERROR_INVALID;
    }
    netif->ipv4 = address;
    netif->netmask = netmask;
    netif->gateway = gateway;
    pl_readdress(netif->stack, netif, old);
    pl_settle(netif->stack);
    return PLUMB_OK;
}
