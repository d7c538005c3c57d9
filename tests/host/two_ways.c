/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Two worlds that get the same: see two_ways.h. */
#include "two_ways.h"

/* See CMakeLists.txt. */
void __real_pl_ethernet_input(struct plumb_netif *netif, struct plumb_packet *packet);
void __wrap_pl_ethernet_input(struct plumb_netif *netif, struct plumb_packet *packet);

unsigned ordinary[2];

void __wrap_pl_ethernet_input(struct plumb_netif *netif, struct plumb_packet *packet) {
    ordinary[netif->observer ? ORDINARY : EXPECTING]++;
    __real_pl_ethernet_input(netif, packet);
}

static void observe(struct plumb_netif *netif, const struct plumb_packet *packet, bool sent,
                    void *context) {
    (void)netif;
    (void)packet;
    (void)sent;
    (void)context;
}

void go_the_ordinary_way(struct world *world) {
    plumb_netif_observe(world->a.netif, observe, 0);
}

void expect_same_worlds(struct world *a, struct world *b) {
    struct frame *sent, *other;

    do {
        sent = world_collect_any(a);
        other = world_collect_any(b);
        expect_equal(sent != 0, other != 0);
        if (sent) {
            expect_equal(sent->length, other->length);
            assert_memory_equal(sent->bytes, other->bytes, sent->length);
        }
    } while (sent);
    struct counters counters[2] = {counters_now(&a->a), counters_now(&b->a)};
    assert_memory_equal(&counters[0], &counters[1], sizeof counters[0]);
    expect_equal(side_buffers_used(&a->a), side_buffers_used(&b->a));
}
