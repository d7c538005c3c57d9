/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Ethernet II frames, in and out.
 */
#include "link/link.h"

#include "packet/packet.h"

/* 802.1Q, behind the type 0x8100. */
struct vlan_tag {
    plumb_be16 control; /* priority 3, drop eligible 1, VLAN 12 */
    plumb_be16 type;
};

static bool is_group(const struct plumb_ethernet_address *a) {
    return *(const uint8_t *)a & 1;
}

static bool is_broadcast(const struct plumb_ethernet_address *a) {
    return (a->half[0] & a->half[1] & a->half[2]) == 0xffff;
}

/* Steps over a tag that we accept: the configured VLAN's, or one that carries
 * only a priority. */
static bool strip_tag(const struct plumb_netif *netif, struct plumb_packet *packet,
                      plumb_be16 *type) {
    const struct vlan_tag *tag = (const void *)packet->data;
    uint16_t vlan = plumb_get16(tag->control) & 0xfff;

    if (vlan != 0 && vlan != netif->vlan)
        return false;
    *type = tag->type;
    pl_packet_pull(packet, sizeof *tag);
    return true;
}

static void dispatch(struct plumb_netif *netif, plumb_be16 type, struct plumb_packet *packet) {
    struct plumb *stack = netif->stack;

    for (unsigned i = 0; i < pl_ethertype_count; i++) {
        const struct pl_ethertype *taker = &pl_ethertypes[i];
        if (taker->type.be == type.be) {
            taker->input(stack, stack->states[taker->layer], netif, packet);
            return;
        }
    }
    pl_drop(stack, PLUMB_COUNTER_ethernet_type, packet);
}

void pl_ethernet_input(struct plumb_netif *netif, struct plumb_packet *packet) {
    struct plumb *stack = netif->stack;
    const struct pl_ethernet_header *header = (const void *)packet->data;

    if (netif->observer)
        netif->observer(netif, packet, false, netif->observer_context);
    if (packet->length < PL_ETHERNET_HEADER) {
        pl_drop(stack, PLUMB_COUNTER_ethernet_short, packet);
        return;
    }
    if (!plumb_ethernet_equal(&header->destination, &netif->address)) {
        if (!is_broadcast(&header->destination)) {
            pl_drop(stack, PLUMB_COUNTER_ethernet_not_for_us, packet);
            return;
        }
        packet->flags |= PLUMB_PACKET_BROADCAST;
    }
    if (is_group(&header->source)) {
        pl_drop(stack, PLUMB_COUNTER_ethernet_source, packet);
        return;
    }
    plumb_be16 type;
    PLUMB_HALF_MOVE(type.be, header->type.be);
    pl_packet_pull(packet, PL_ETHERNET_HEADER);
    if (type.be == PLUMB_SWAP16(PL_ETHERTYPE_VLAN)) {
        if (packet->length < sizeof(struct vlan_tag)) {
            pl_drop(stack, PLUMB_COUNTER_ethernet_short, packet);
            return;
        }
        if (!strip_tag(netif, packet, &type)) {
            pl_drop(stack, PLUMB_COUNTER_ethernet_vlan, packet);
            return;
        }
    }
    dispatch(netif, type, packet);
}

int pl_ethernet_output(struct plumb_netif *netif, const struct plumb_ethernet_address *to,
                       plumb_be16 type, struct plumb_packet *packet) {
    struct pl_ethernet_header *header = pl_packet_push(packet, PL_ETHERNET_HEADER);

    plumb_ethernet_copy(&header->destination, to);
    plumb_ethernet_copy(&header->source, &netif->address);
    PLUMB_HALF_MOVE(header->type.be, type.be);
    return pl_interface_output(netif, packet);
}
