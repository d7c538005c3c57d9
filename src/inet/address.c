/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The IPv4 configuration of an interface. */
#include "inet/ipv4.h"

/* May a host of a network have this address? The netmask is ones, then zeroes (RFC
 * 950), and the host's part not all of either, but where there are only two (RFC
 * 3021). */
static bool fits(plumb_ipv4 address, plumb_ipv4 netmask) {
    uint32_t hosts = ~plumb_get32(netmask), host = plumb_get32(address) & hosts;

    return pl_ipv4_is_host(address) && (hosts & (hosts + 1)) == 0 && hosts + 1 != 0 &&
           (hosts <= 1 || (host != 0 && host != hosts));
}

int plumb_netif_set_ipv4(struct plumb_netif *netif, plumb_ipv4 address, plumb_ipv4 netmask,
                         plumb_ipv4 gateway) {
    const plumb_ipv4 before = netif->ipv4;

    if (!netif->stack)
        return PLUMB_ERROR_INVALID;
    if (address.be == 0) {
        netmask = gateway = PLUMB_IPV4_ANY;
    } else {
        if (!fits(address, netmask))
            return PLUMB_ERROR_INVALID;
        if (gateway.be != 0 && (!fits(gateway, netmask) || gateway.be == address.be ||
                                ((gateway.be ^ address.be) & netmask.be) != 0))
            return PLUMB_ERROR_INVALID;
    }
    netif->ipv4 = address;
    netif->netmask = netmask;
    netif->gateway = gateway;
    pl_readdress(netif->stack, netif, before);
    pl_settle(netif->stack);
    return PLUMB_OK;
}
