/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Ethernet and 802.1Q, of any frame: what is passed on is a sound packet. */
#include "link/ethernet.c"
#include "model.h"

void pl_ipv4_input(struct plumb *stack, void *state, struct plumb_netif *netif,
                   struct plumb_packet *packet) {
    (void)stack;
    (void)state;
    (void)netif;
    model_check_packet(packet);
    plumb_packet_put(packet);
}

void pl_arp_input(struct plumb *stack, void *state, struct plumb_netif *netif,
                  struct plumb_packet *packet) {
    pl_ipv4_input(stack, state, netif, packet);
}

int main(void) {
    model_begin();
    pl_ethernet_input(&model_netif, model_packet(MODEL_FRAGMENTS, MODEL_BYTES));
    model_end();
}
