/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Neighbours played by hand: see neighbours.h. */
#include "neighbours.h"

#include <string.h>

static const uint8_t zeroes[6];

bool is_arp(const struct frame *frame, unsigned operation) {
    return frame->length >= 42 && frame_get16(frame, 12) == 0x0806 &&
           frame_get16(frame, 20) == operation;
}

uint32_t arp_target(const struct frame *frame) {
    return frame_get32(frame, 38);
}

unsigned requests_sent(struct world *world, uint32_t address) {
    unsigned count = 0;
    for (struct frame *frame; (frame = world_collect_any(world));)
        count += is_arp(frame, 1) && arp_target(frame) == address;
    return count;
}

struct frame arp_frame(const struct world *world, unsigned operation, const uint8_t sender[6],
                       uint32_t sender_ipv4, uint32_t target_ipv4) {
    struct frame frame;
    bool request = operation == 1;
    frame_arp(&frame, request ? everyone : world->a.ethernet, operation, sender, sender_ipv4,
              request ? zeroes : world->a.ethernet, target_ipv4);
    return frame;
}

void arp_from(struct world *world, unsigned operation, const uint8_t sender[6],
              uint32_t sender_ipv4, uint32_t target_ipv4) {
    struct frame frame = arp_frame(world, operation, sender, sender_ipv4, target_ipv4);
    world_inject(world, &frame);
}

static void ignore(struct plumb_udp *socket, struct plumb_packet *payload,
                   const struct plumb_udp_source *source, void *context) {
    (void)socket;
    (void)payload;
    (void)source;
    (void)context;
}

struct plumb_udp *open_socket(struct world *world) {
    struct plumb_udp *socket;
    assert_int_equal(plumb_udp_open(world->a.stack, endpoint_of(0, 7000), ignore, 0, &socket),
                     PLUMB_OK);
    return socket;
}

void meet_neighbour(struct world *world, struct plumb_udp *socket) {
    plumb_udp_send(socket, endpoint_of(world->b.address, 9), "x", 1);
    arp_from(world, 2, world->b.ethernet, world->b.address, world->a.address);
    world_drain(world);
}

bool datagram_reaches(struct world *world, struct plumb_udp *socket, uint32_t address,
                      const uint8_t hardware[6]) {
    bool reached = false;
    plumb_udp_send(socket, endpoint_of(address, 9), "ping", 4);
    world_settle(world);
    for (struct frame *frame; (frame = world_collect_any(world));)
        reached |= frame_get16(frame, 12) == 0x0800 && !memcmp(frame->bytes, hardware, 6) &&
                   frame_get32(frame, 30) == address;
    return reached;
}
