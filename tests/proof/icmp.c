/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* ICMP, of any datagram: messages, and what they quote of ours. */
#include "inet/icmp.c"
#include "model.h"

static struct inet_state state;

void *pl_layer_state(const struct plumb *stack, const struct pl_layer *layer) {
    (void)stack;
    (void)layer;
    return &state;
}

bool pl_route_find(struct plumb *stack, struct plumb_netif *only, plumb_ipv4 destination,
                   struct pl_route *route) {
    (void)stack;
    *route = (struct pl_route){only, destination, nondet_bool()};
    return nondet_bool();
}

int pl_ipv4_send(struct plumb *stack, const struct pl_route *route, struct plumb_packet *packet,
                 uint8_t protocol, plumb_ipv4 source, plumb_ipv4 destination) {
    (void)stack;
    (void)route;
    (void)protocol;
    (void)source;
    (void)destination;
    model_check_packet(packet);
    return nondet_bool() ? PLUMB_OK : PLUMB_ERROR_WOULD_BLOCK;
}

/* What pl_tcp_icmp_error() and pl_udp_error() may rely on. */
static bool take_quoted(struct plumb *stack, void *layer, const struct pl_ipv4_header *quoted,
                        const void *payload, int error, unsigned mtu) {
    (void)stack;
    (void)layer;
    (void)error;
    (void)mtu;
    MODEL_ASSERT(__CPROVER_r_ok(quoted, PL_IPV4_HEADER), "a quoted header");
    MODEL_ASSERT(__CPROVER_r_ok(payload, QUOTED_PAYLOAD), "and 8 bytes behind it");
    return nondet_bool();
}

static const struct pl_protocol known = {.number = PL_PROTOCOL_TCP, .error = take_quoted};

const struct pl_protocol *pl_protocol_find(uint8_t number) {
    return number == PL_PROTOCOL_TCP ? &known : NULL;
}

int main(void) {
    const struct pl_ipv4_header *header;

    model_begin();
    model_give_free();
    __CPROVER_havoc_object(&state);
    struct plumb_packet *packet = model_datagram(&header, PL_PROTOCOL_ICMP, 2, MODEL_BYTES);
    if (nondet_bool()) {
        pl_icmp_input(&model_stack, NULL, &model_netif, header, packet);
    } else {
        pl_icmp_unreachable(&model_stack, &model_netif, nondet_u8(), header, packet);
        plumb_packet_put(packet);
    }
    model_end();
}
