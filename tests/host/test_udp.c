/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* UDP. */
#include <stdio.h>
#include <string.h>

#include <plumb_config.h>

#include "harness.h"

/* What a socket was told last. */
struct inbox {
    unsigned count;
    uint16_t length;
    uint8_t bytes[1500];
    struct plumb_udp_source source;
    struct plumb_packet *kept; /* when asked to keep */
    bool keep, close, echo;
};

static void on_datagram(struct plumb_udp *socket, struct plumb_packet *payload,
                        const struct plumb_udp_source *source, void *context) {
    struct inbox *inbox = context;
    inbox->count++;
    inbox->length = payload->total;
    inbox->source = *source;
    expect_equal(plumb_packet_copy_out(payload, 0, inbox->bytes, sizeof inbox->bytes),
                 payload->total);
    if (inbox->echo)
        expect_equal(plumb_udp_send(socket, source->from, inbox->bytes, inbox->length), PLUMB_OK);
    if (inbox->keep) {
        plumb_packet_hold(payload);
        inbox->kept = payload;
    }
    if (inbox->close)
        plumb_udp_close(socket);
}

static struct plumb_udp *open_on(struct side *side, uint32_t address, uint16_t port,
                                 struct inbox *inbox) {
    struct plumb_udp *socket = 0;
    expect_equal(
        plumb_udp_open(side->stack, endpoint_of(address, port), on_datagram, inbox, &socket),
        PLUMB_OK);
    return socket;
}

static void expect_silent_drop(struct world *world, const struct frame *frame, const char *name) {
    struct counters before = counters_now(&world->a);
    world_inject(world, frame);
    counters_expect_drop(&world->a, &before, name, 1);
    assert_null(world_collect(world));
    expect_equal(side_buffers_used(&world->a), 0);
}

/* Both ways, every size, whole and in fragments, by software and by the device. */
static void every_size_both_ways(void **state) {
    (void)state;
    static const uint16_t fragments[] = {0, 128, 128};
    static const uint8_t capabilities[] = {
        0, 0, PLUMB_CAPABILITY_RX_CHECKSUM | PLUMB_CAPABILITY_TX_CHECKSUM};
    for (unsigned k = 0; k < 3; k++) {
        struct world *world = world_pair(
            &(struct world_options){.fragment = fragments[k], .capabilities = capabilities[k]});
        struct inbox a = {.echo = true}, b = {0};
        static uint8_t payload[65508];
        for (unsigned i = 0; i < sizeof payload; i++)
            payload[i] = pattern_at(k, i);
        open_on(&world->a, 0, 7, &a);
        struct plumb_udp *socket = open_on(&world->b, 0, 0, &b);
        struct counters before = counters_now(&world->a);
        for (unsigned length = 0; length <= sizeof b.bytes; length++) {
            b.count = 0;
            expect_equal(plumb_udp_send(socket, endpoint_of(world->a.address, 7), payload, length),
                         PLUMB_OK);
            world_settle(world);
            expect_equal(b.count, 1);
            expect_equal(b.length, length);
            assert_memory_equal(b.bytes, payload, length);
        }
        expect_equal(plumb_udp_send(socket, endpoint_of(world->a.address, 7), payload, 65508),
                     PLUMB_ERROR_TOO_LONG);
        expect_equal(b.source.from.port, 7);
        expect(plumb_ipv4_equal(b.source.from.address, ipv4_of(world->a.address)));
        expect(plumb_ipv4_equal(b.source.to, ipv4_of(world->b.address)));
        expect_equal(a.source.from.port, plumb_udp_port(socket));
        counters_expect_drop(&world->a, &before, 0, 0);
        world_end(world);
    }
}

static void checksum_checked_on_every_bit(void **state) {
    (void)state;
    for (unsigned offload = 0; offload < 2; offload++) {
        struct world *world = world_single(
            &(struct world_options){.capabilities = offload ? PLUMB_CAPABILITY_RX_CHECKSUM : 0});
        struct frame_path path = world_path(world, 1000, 2000);
        struct inbox inbox = {0};
        open_on(&world->a, 0, 2000, &inbox);
        for (unsigned bit = 0; bit < 8 * 4; bit++) {
            struct frame frame;
            frame_udp(&frame, &path, "1234", 4);
            frame.bytes[FRAME_UDP_PAYLOAD + bit / 8] ^= (uint8_t)(1U << bit % 8);
            expect_silent_drop(world, &frame, "udp_checksum");
        }
        expect_equal(inbox.count, 0);
        world_end(world);
    }
}

/* RFC 768: a sum of zero goes out as all ones. */
static void checksum_of_zero(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct frame_path path = world_path(world, 1000, 2000), back = frame_path_back(&path);
    struct inbox inbox = {0};
    struct frame frame;
    struct plumb_udp *socket = open_on(&world->a, 0, 2000, &inbox);
    world_introduce(world);
    /* The payload that makes the sum come out as zero. */
    uint8_t payload[2] = {0, 0};
    frame_udp(&frame, &back, payload, 2);
    unsigned checksum = frame_get16(&frame, FRAME_TRANSPORT + 6);
    payload[0] = (uint8_t)(checksum >> 8);
    payload[1] = (uint8_t)checksum;
    expect_equal(plumb_udp_send(socket, endpoint_of(world->b.address, 1000), payload, 2), PLUMB_OK);
    world_settle(world);
    struct frame *sent = world_collect(world);
    assert_non_null(sent);
    expect_equal(frame_get16(sent, FRAME_TRANSPORT + 6), 0xffff);
    world_end(world);
}

static void closed_port_is_said_unreachable(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct frame_path path = world_path(world, 1000, 2000);
    struct frame frame;
    world_introduce(world);
    frame_udp(&frame, &path, "1234", 4);
    struct counters before = counters_now(&world->a);
    world_inject(world, &frame);
    counters_expect_drop(&world->a, &before, "udp_port", 1);
    struct frame *reply = world_collect(world);
    assert_non_null(reply);
    expect_equal(frame_get16(reply, FRAME_TRANSPORT), 0x0303);
    expect_equal(reply->length, FRAME_TRANSPORT + 8 + 28);
    assert_memory_equal(reply->bytes + FRAME_TRANSPORT + 8, frame.bytes + 14, 28);
    assert_null(world_collect(world));
    world_end(world);
}

static void sockets_are_found_and_bounded(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct frame_path path = world_path(world, 1000, 2000);
    struct inbox any = {0}, exact = {0}, others = {0};
    struct plumb_udp *socket, *list[CONFIG_PLUMB_UDP_SOCKETS];
    struct frame frame;
    list[0] = open_on(&world->a, 0, 2000, &any);
    expect_equal(plumb_udp_open(world->a.stack, endpoint_of(0, 2000), on_datagram, 0, &socket),
                 PLUMB_ERROR_IN_USE);
    list[1] = open_on(&world->a, world->a.address, 2000, &exact);
    frame_udp(&frame, &path, "x", 1);
    world_inject(world, &frame);
    expect_equal(exact.count, 1);
    expect_equal(any.count, 0);
    path.to = FRAME_IPV4(10, 0, 0, 255);
    frame_udp(&frame, &path, "x", 1);
    world_inject(world, &frame);
    expect_equal(any.count, 1);
    for (unsigned i = 2; i < CONFIG_PLUMB_UDP_SOCKETS; i++) {
        list[i] = open_on(&world->a, 0, 0, &others);
        expect(plumb_udp_port(list[i]) != 0);
        for (unsigned k = 0; k < i; k++)
            expect(k < 2 || plumb_udp_port(list[k]) != plumb_udp_port(list[i]));
    }
    expect_equal(plumb_udp_open(world->a.stack, endpoint_of(0, 0), on_datagram, 0, &socket),
                 PLUMB_ERROR_NO_CONNECTION);
    plumb_udp_close(list[3]);
    open_on(&world->a, 0, 2001, &others);
    world_end(world);
}

static void handler_keeps_closes_and_answers(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct frame_path path = world_path(world, 1000, 2000);
    struct inbox inbox = {.keep = true, .close = true};
    struct frame frame;
    open_on(&world->a, 0, 2000, &inbox);
    frame_udp(&frame, &path, "kept bytes", 10);
    world_inject(world, &frame);
    expect_equal(inbox.count, 1);
    expect_equal(side_buffers_used(&world->a), 1);
    world_inject(world, &frame);
    expect_equal(inbox.count, 1);
    uint8_t bytes[10];
    expect_equal(plumb_packet_copy_out(inbox.kept, 0, bytes, 10), 10);
    assert_memory_equal(bytes, "kept bytes", 10);
    plumb_packet_put(inbox.kept);
    world_drain(world);
    world_end(world);
}

static void nowhere_to_send(void **state) {
    (void)state;
    struct world *world = world_single(&(struct world_options){.unconfigured = true});
    struct inbox inbox = {0};
    struct plumb_udp *socket = open_on(&world->a, 0, 2000, &inbox);
    struct plumb_endpoint far = endpoint_of(FRAME_IPV4(8, 8, 8, 8), 53);
    expect_equal(plumb_udp_send(socket, far, "x", 1), PLUMB_ERROR_NO_ROUTE);
    expect_equal(plumb_netif_set_ipv4(world->a.netif, ipv4_of(world->a.address),
                                      ipv4_of(0xffffff00U), PLUMB_IPV4_ANY),
                 PLUMB_OK);
    expect_equal(plumb_udp_send(socket, far, "x", 1), PLUMB_ERROR_NO_ROUTE);
    world_settle(world);
    expect_equal(side_buffers_used(&world->a), 0);
    world_end(world);
}

/* With every buffer taken, sends say so; when they are back, all goes on. */
static void pool_runs_empty(void **state) {
    (void)state;
    struct world *world = world_single(&(struct world_options){.segment_count = 8});
    struct inbox inbox = {0};
    struct plumb_udp *socket = open_on(&world->a, 0, 2000, &inbox);
    struct plumb_packet *taken[8];
    world_introduce(world);
    for (unsigned i = 0; i < 8; i++) {
        taken[i] = plumb_udp_take(socket, 100);
        assert_non_null(taken[i]);
    }
    assert_null(plumb_udp_take(socket, 100));
    expect_equal(plumb_udp_send(socket, endpoint_of(world->b.address, 1), "x", 1),
                 PLUMB_ERROR_NO_BUFFER);
    for (unsigned i = 0; i < 8; i++) {
        memset(taken[i]->data, (int)i, 100);
        expect_equal(plumb_udp_send_packet(socket, endpoint_of(world->b.address, 1), taken[i]),
                     PLUMB_OK);
    }
    world_settle(world);
    unsigned sent = 0;
    while (world_collect(world))
        sent++;
    expect_equal(sent, 8);
    expect_equal(side_buffers_used(&world->a), 0);
    world_end(world);
}

static void receive_pool_runs_empty(void **state) {
    (void)state;
    struct world *world = world_single(&(struct world_options){.receive_count = 1});
    struct frame_path path = world_path(world, 1000, 2000);
    struct inbox inbox = {.keep = true};
    struct frame frame;
    open_on(&world->a, 0, 2000, &inbox);
    frame_udp(&frame, &path, "1", 1);
    world_inject(world, &frame);
    struct counters before = counters_now(&world->a);
    world_inject(world, &frame);
    counters_expect_drop(&world->a, &before, "netif.rx_no_buffer", 1);
    plumb_packet_put(inbox.kept);
    world_inject(world, &frame);
    expect_equal(inbox.count, 2);
    plumb_packet_put(inbox.kept);
    world_end(world);
}

/* More than the ring holds at once: refused by name, nothing lost or leaked. */
static void ring_full(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct inbox inbox = {0};
    struct plumb_udp *socket = open_on(&world->a, 0, 2000, &inbox);
    unsigned taken = 0, refused = 0;
    world_introduce(world);
    plumb_wire_set_faults(world->a.end, &(struct plumb_wire_faults){.rate = 10000000});
    for (unsigned i = 0; i < 200; i++) {
        int result = plumb_udp_send(socket, endpoint_of(world->b.address, 1), "x", 1);
        taken += result == PLUMB_OK;
        refused += result == PLUMB_ERROR_WOULD_BLOCK;
    }
    expect_equal(taken, PLUMB_WIRE_RING);
    expect_equal(taken + refused, 200);
    world_run(world, SECOND);
    unsigned sent = 0;
    while (world_collect(world))
        sent++;
    expect_equal(sent, taken);
    expect_equal(side_buffers_used(&world->a), 0);
    world_end(world);
}

static void detach_once(struct plumb_udp *socket, struct plumb_packet *payload,
                        const struct plumb_udp_source *source, void *context) {
    struct inbox *inbox = context;
    (void)socket;
    (void)payload;
    inbox->count++;
    plumb_netif_detach(source->netif);
}

/* The rest of what has arrived goes nowhere, and the interface may come back. */
static void handler_detaches_the_interface(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct frame_path path = world_path(world, 1000, 2000);
    struct inbox inbox = {0};
    struct plumb_udp *socket;
    struct frame frame;
    expect_equal(plumb_udp_open(world->a.stack, endpoint_of(0, 2000), detach_once, &inbox, &socket),
                 PLUMB_OK);
    frame_udp(&frame, &path, "hello", 5);
    for (unsigned times = 1; times <= 3; times++) {
        for (unsigned i = 0; i < 3; i++)
            expect_equal(plumb_wire_inject(world->a.end, frame.bytes, frame.length), PLUMB_OK);
        world_settle(world);
        expect_equal(inbox.count, times);
        expect_equal(side_buffers_used(&world->a), 0);
        expect_equal(plumb_netif_attach(world->a.stack, world->a.netif), PLUMB_OK);
        expect_equal(plumb_netif_set_ipv4(world->a.netif, ipv4_of(world->a.address),
                                          ipv4_of(0xffffff00U), PLUMB_IPV4_ANY),
                     PLUMB_OK);
        world_drain(world);
    }
    world_drain(world);
    world_end(world);
}

/* Sends two datagrams, the second of which may go as the first did, to this hardware address. */
static void expect_sent_to(struct world *world, struct plumb_udp *socket, uint32_t to,
                           const uint8_t hardware[6]) {
    for (unsigned i = 0; i < 2; i++) {
        expect_equal(plumb_udp_send(socket, endpoint_of(to, 9), "datagram", 8), PLUMB_OK);
        struct frame *frame = world_collect(world);
        assert_non_null(frame);
        assert_memory_equal(frame->bytes, hardware, 6);
        assert_memory_equal(frame->bytes + 6, world->a.ethernet, 6);
        expect_equal(frame_get32(frame, 26), plumb_get32(world->a.netif->ipv4));
        expect_equal(frame_get32(frame, 30), to);
        expect_equal(frame_get16(frame, FRAME_TRANSPORT + 2), 9);
        assert_memory_equal(frame->bytes + FRAME_UDP_PAYLOAD, "datagram", 8);
    }
}

/* A neighbour speaks from this hardware address. */
static void introduce(struct world *world, uint32_t address, const uint8_t hardware[6]) {
    struct frame frame;
    frame_arp(&frame, world->a.ethernet, 1, hardware, address, world->a.ethernet,
              plumb_get32(world->a.netif->ipv4));
    world_inject(world, &frame);
    world_drain(world);
}

/* Whatever a socket remembers of the way is not followed when it is another. */
static void the_way_of_the_moment(void **state) {
    (void)state;
    const uint8_t elsewhere[6] = {2, 0, 0, 0, 0, 0x77}, second[6] = {2, 0, 0, 0, 0, 0x78};
    const uint32_t far = FRAME_IPV4(8, 8, 8, 8), router = FRAME_IPV4(10, 0, 0, 77);
    struct inbox inbox = {0};
    struct world *world = world_single(0);
    struct plumb_udp *socket = open_on(&world->a, 0, 2000, &inbox);
    const plumb_ipv4 mask = ipv4_of(0xffffff00U);
    world_introduce(world);
    expect_sent_to(world, socket, world->b.address, world->b.ethernet);
    /* Another neighbour between, who answers from elsewhere. */
    introduce(world, router, elsewhere);
    expect_sent_to(world, socket, router, elsewhere);
    expect_sent_to(world, socket, world->b.address, world->b.ethernet);
    /* Another hardware address, and one of our own. */
    world->a.address++;
    world->a.address += world->a.address == world->b.address;
    plumb_netif_set_ipv4(world->a.netif, ipv4_of(world->a.address), mask, ipv4_of(0));
    world_drain(world);
    introduce(world, world->b.address, elsewhere);
    expect_sent_to(world, socket, world->b.address, elsewhere);
    /* A gateway, and then another. */
    plumb_netif_set_ipv4(world->a.netif, ipv4_of(world->a.address), mask,
                         ipv4_of(world->b.address));
    world_drain(world);
    introduce(world, world->b.address, world->b.ethernet);
    expect_sent_to(world, socket, far, world->b.ethernet);
    /* It is a neighbour still, but no longer the way. */
    plumb_netif_set_ipv4(world->a.netif, ipv4_of(world->a.address), mask, ipv4_of(0));
    world_drain(world);
    introduce(world, world->b.address, world->b.ethernet);
    expect_equal(plumb_udp_send(socket, endpoint_of(far, 9), "x", 1), PLUMB_ERROR_NO_ROUTE);
    plumb_netif_set_ipv4(world->a.netif, ipv4_of(world->a.address), mask, ipv4_of(router));
    world_drain(world);
    introduce(world, router, second);
    expect_sent_to(world, socket, far, second);
    world_end(world);
}

HARNESS_MAIN(cmocka_unit_test(every_size_both_ways),
             cmocka_unit_test(checksum_checked_on_every_bit), cmocka_unit_test(checksum_of_zero),
             cmocka_unit_test(closed_port_is_said_unreachable),
             cmocka_unit_test(sockets_are_found_and_bounded),
             cmocka_unit_test(handler_keeps_closes_and_answers), cmocka_unit_test(nowhere_to_send),
             cmocka_unit_test(pool_runs_empty), cmocka_unit_test(receive_pool_runs_empty),
             cmocka_unit_test(ring_full), cmocka_unit_test(the_way_of_the_moment),
             cmocka_unit_test(handler_detaches_the_interface))
