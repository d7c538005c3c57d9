/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* ARP, of any packet, into a table of two neighbours in any states. */
#include "link/arp.c"
#include "model.h"

static struct link_state state;

void *pl_layer_state(const struct plumb *stack, const struct pl_layer *layer) {
    (void)stack;
    (void)layer;
    return &state;
}

void plumb_timer_start(struct plumb *stack, struct plumb_timer *timer, uint32_t delay_ms,
                       void (*fire)(struct plumb *stack, struct plumb_timer *timer)) {
    (void)stack;
    (void)timer;
    (void)delay_ms;
    (void)fire;
}

int pl_ethernet_output(struct plumb_netif *netif, const struct plumb_ethernet_address *to,
                       plumb_be16 type, struct plumb_packet *packet) {
    (void)netif;
    (void)type;
    MODEL_ASSERT(__CPROVER_r_ok(to, sizeof *to), "a destination");
    model_check_packet(packet);
    return nondet_bool() ? PLUMB_OK : PLUMB_ERROR_WOULD_BLOCK;
}

int main(void) {
    model_begin();
    model_give_free();
    __CPROVER_havoc_object(&state);
    for (unsigned i = 0; i < CONFIG_PLUMB_ARP_ENTRIES; i++) {
        state.neighbours[i].netif = &model_netif;
        state.neighbours[i].waiting = NULL;
    }
    pl_arp_input(&model_stack, &state, &model_netif, model_packet(2, MODEL_BYTES));
    model_end();
}
