/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The first look at a frame for UDP, of any frame and any flow that is looked for. */
#include "inet/udp_expect.c"
#include "model.h"

static struct pl_udp_flow flow;
static struct plumb_udp socket;

static void on_datagram(struct plumb_udp *taker, struct plumb_packet *payload,
                        const struct plumb_udp_source *source, void *context) {
    (void)taker;
    (void)source;
    (void)context;
    model_check_packet(payload);
}

void pl_ethernet_input(struct plumb_netif *netif, struct plumb_packet *packet) {
    (void)netif;
    model_check_packet(packet);
    plumb_packet_put(packet);
}

int main(void) {
    model_begin();
    __CPROVER_havoc_object(&flow);
    socket.handler = on_datagram;
    flow.socket = &socket;
    model_netif.expected_flow = nondet_bool() ? &flow : NULL;
    pl_udp_first_look(&model_netif, model_packet(2, MODEL_BYTES));
    model_end();
}
