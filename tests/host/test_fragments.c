/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* IPv4 fragments, put together and sent. */
#include <stdlib.h>
#include <string.h>

#include <plumb_config.h>

#include "harness.h"
#include "stack/stack.h"

enum { ICMP = 1, UDP = 17, MORE = 0x2000, LONGEST = 65507, PIECES = 64, PORT = 2000 };
enum { SOURCE_PACKETS = CONFIG_PLUMB_IPV4_REASSEMBLY_PACKETS * 3 / 4 };

/* A datagram's payload, and how it is cut. */
struct whole {
    struct frame_path path;
    unsigned protocol, identification;
    unsigned length, piece;
    uint8_t bytes[LONGEST + 8];
};

static void fill(uint8_t *bytes, unsigned length, uint32_t seed) {
    for (unsigned i = 0; i < length; i++)
        bytes[i] = pattern_at(seed, i);
}

static unsigned pieces_of(const struct whole *whole) {
    return (whole->length + whole->piece - 1) / whole->piece;
}

static struct frame piece_at(const struct whole *whole, unsigned index) {
    struct frame frame;
    unsigned offset = index * whole->piece, left = whole->length - offset;
    bool last = left <= whole->piece;
    frame_fragment(&frame, &whole->path, whole->protocol, whole->identification,
                   offset / 8 | (last ? 0 : MORE), whole->bytes + offset,
                   last ? left : whole->piece);
    return frame;
}

static void inject_piece(struct world *world, const struct whole *whole, unsigned index) {
    struct frame frame = piece_at(whole, index);
    world_inject(world, &frame);
}

static void inject_whole(struct world *world, const struct whole *whole) {
    for (unsigned i = 0; i < pieces_of(whole); i++)
        inject_piece(world, whole, i);
}

/* Eight bytes of a datagram that is never whole. */
static void inject_eight(struct world *world, const struct frame_path *path,
                         unsigned identification, unsigned offset) {
    static const uint8_t bytes[8];
    struct frame frame;
    frame_fragment(&frame, path, UDP, identification, MORE | offset, bytes, 8);
    world_inject(world, &frame);
}

/* Long enough that nobody waits for a missing part any more, and ICMP may answer again. */
static void wait_for_no_more(struct world *world) {
    world_run(world, (CONFIG_PLUMB_IPV4_REASSEMBLY_MS + 20000) * MILLISECOND);
}

static void make_echo(struct whole *whole, const struct world *world, unsigned payload,
                      unsigned piece) {
    whole->path = world_path(world, 0, 0);
    whole->protocol = ICMP;
    whole->identification++;
    whole->length = 8 + payload;
    whole->piece = piece;
    memcpy(whole->bytes, "\x08\0\0\0\0\x07\0\x01", 8);
    fill(whole->bytes + 8, payload, payload);
    uint32_t sum = ~frame_sum(whole->bytes, whole->length, 0);
    whole->bytes[2] = (uint8_t)(sum >> 8);
    whole->bytes[3] = (uint8_t)sum;
}

static void make_udp(struct whole *whole, const struct world *world, unsigned payload,
                     unsigned piece) {
    whole->path = world_path(world, 1000, PORT);
    whole->protocol = UDP;
    whole->identification++;
    whole->length = 8 + payload;
    whole->piece = piece;
    memcpy(whole->bytes, "\x03\xe8\x07\xd0\0\0\0\0", 8); /* no checksum */
    whole->bytes[4] = (uint8_t)(whole->length >> 8);
    whole->bytes[5] = (uint8_t)whole->length;
    fill(whole->bytes + 8, payload, payload);
}

static uint8_t answer[65536];

/* Puts the stack's answer together; every part must be in order and fit the MTU. Returns its
 * length, 0 when there was none. */
static unsigned collect_answer(struct world *world) {
    unsigned length = 0, identification = 0;
    struct frame *frame;
    while ((frame = world_collect(world))) {
        unsigned field = frame_get16(frame, FRAME_NETWORK + 6);
        unsigned bytes = frame_get16(frame, FRAME_NETWORK + 2) - 20U;
        expect(bytes + 20 <= 1500);
        expect_equal((field & 0x1fff) * 8, length);
        if (length)
            expect_equal(frame_get16(frame, FRAME_NETWORK + 4), identification);
        identification = frame_get16(frame, FRAME_NETWORK + 4);
        memcpy(answer + length, frame->bytes + frame->transport, bytes);
        length += bytes;
        if (!(field & MORE))
            return length;
        expect_equal(bytes % 8, 0);
    }
    expect_equal(length, 0);
    return 0;
}

static void expect_echoed(struct world *world, struct whole *whole) {
    expect_equal(collect_answer(world), whole->length);
    expect_equal(answer[0], 0);
    expect_equal(frame_sum(answer, whole->length, 0), 0xffff);
    assert_memory_equal(answer + 8, whole->bytes + 8, whole->length - 8);
    expect_equal(side_buffers_used(&world->a), 0);
}

static struct whole *whole_new(void) {
    struct whole *whole = calloc(1, sizeof *whole);
    assert_non_null(whole);
    return whole;
}

struct inbox {
    unsigned count, length;
    uint8_t bytes[LONGEST];
};

static void on_datagram(struct plumb_udp *socket, struct plumb_packet *payload,
                        const struct plumb_udp_source *source, void *context) {
    struct inbox *inbox = context;
    (void)socket;
    (void)source;
    inbox->count++;
    inbox->length = payload->total;
    expect_equal(plumb_packet_copy_out(payload, 0, inbox->bytes, LONGEST), payload->total);
}

/* ---- whole again ---- */

static void every_size_is_echoed(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct whole *whole = whole_new();
    world_introduce(world);
    for (unsigned payload = 0; payload <= LONGEST;
         payload += payload < 4600 || payload > LONGEST - 20 ? 1 : 977) {
        make_echo(whole, world, payload, 1480);
        inject_whole(world, whole);
        expect_echoed(world, whole);
        world_run(world, 2 * MILLISECOND); /* as many as ICMP sends */
    }
    free(whole);
    world_end(world);
}

static void shuffle(unsigned *order, unsigned count, struct random *random) {
    for (unsigned i = 0; i < count; i++)
        order[i] = i;
    for (unsigned i = count; i > 1; i--) {
        unsigned j = random_below(random, i), kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
}

static void any_order_with_duplicates(void **state) {
    (void)state;
    struct world *world = world_single(&(struct world_options){.fragment = 512});
    struct whole *whole = whole_new();
    struct random random = {1};
    world_introduce(world);
    for (unsigned round = 0; round < 500; round++) {
        unsigned order[PIECES], repeated = 0;
        make_echo(whole, world, 100 + random_below(&random, 8000),
                  8 * (40 + random_below(&random, 140)));
        unsigned count = pieces_of(whole);
        shuffle(order, count, &random);
        struct counters before = counters_now(&world->a);
        for (unsigned i = 0; i < count; i++) {
            inject_piece(world, whole, order[i]);
            if (i + 1 < count && random_below(&random, 4) == 0) {
                inject_piece(world, whole, order[random_below(&random, i + 1)]);
                repeated++;
            }
        }
        counters_expect_drop(&world->a, &before, "ipv4_fragment", repeated);
        expect_echoed(world, whole);
    }
    free(whole);
    world_end(world);
}

/* Options of the first fragment do not shift the payload. */
static void options_in_the_first(void **state) {
    (void)state;
    static const uint8_t nops[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    struct world *world = world_single(0);
    struct whole *whole = whole_new();
    struct frame first;
    world_introduce(world);
    make_echo(whole, world, 100, 64);
    frame_ipv4(&first, &whole->path, ICMP, nops, sizeof nops);
    frame_put16(&first, FRAME_NETWORK + 4, whole->identification);
    frame_put16(&first, FRAME_NETWORK + 6, MORE);
    frame_append(&first, whole->bytes, 64);
    frame_put16(&first, FRAME_NETWORK + 2, first.length - 14U);
    frame_fix_checksums(&first);
    inject_piece(world, whole, 1);
    world_inject(world, &first);
    expect_echoed(world, whole);
    free(whole);
    world_end(world);
}

/* ---- what no honest sender makes: test_hostile_fragments, and ---- */

/* Whatever comes in whatever order: what is delivered is what was sent, and where parts
 * disagree nothing is. The model keeps, for each byte, whether it came. */
static void random_cuts(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct whole *whole = whole_new();
    struct random random = {7};
    unsigned echoed = 0;
    world_introduce(world);
    for (unsigned round = 0; round < 4000; round++) {
        bool given_up = false, came[32] = {0}, first_of[32] = {0};
        unsigned size_of[32] = {0}, units = 2 + random_below(&random, 5);
        make_echo(whole, world, units * 8 - 8, 8);
        for (unsigned step = 0; step < 12 && !given_up; step++) {
            unsigned at = random_below(&random, units);
            unsigned size = 1 + random_below(&random, random_below(&random, 4) ? 1 : units - at);
            if (size == units)
                continue; /* that would be no fragment */
            bool duplicate = first_of[at] && size_of[at] == size, overlap = false, all = true;
            for (unsigned i = at; i < at + size; i++)
                overlap |= came[i];
            struct frame frame;
            frame_fragment(&frame, &whole->path, ICMP, whole->identification,
                           at | (at + size < units ? MORE : 0), whole->bytes + 8 * at, 8 * size);
            world_inject(world, &frame);
            if (duplicate)
                continue;
            given_up = overlap;
            for (unsigned i = at; i < at + size; i++)
                came[i] = true;
            first_of[at] = true;
            size_of[at] = size;
            for (unsigned i = 0; i < units; i++)
                all &= came[i];
            if (given_up || !all)
                continue;
            expect_echoed(world, whole);
            echoed++;
            break;
        }
        assert_null(world_collect(world));
        if (!given_up)
            wait_for_no_more(world);
        world_drain(world);
        expect_equal(side_buffers_used(&world->a), 0);
    }
    expect(echoed > 500);
    free(whole);
    world_end(world);
}

/* ---- time and shares ---- */

static void too_late(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct whole *whole = whole_new();
    world_introduce(world);
    for (unsigned missing = 0; missing < 3; missing++) {
        make_udp(whole, world, 600, 208);
        for (unsigned i = 0; i < 3; i++)
            if (i != missing)
                inject_piece(world, whole, i);
        struct counters before = counters_now(&world->a);
        world_run(world, (CONFIG_PLUMB_IPV4_REASSEMBLY_MS - 1000) * MILLISECOND);
        counters_expect_drop(&world->a, &before, 0, 0);
        expect_equal(side_buffers_used(&world->a), 2);
        world_run(world, 3 * SECOND);
        counters_expect_drop(&world->a, &before, "ipv4_fragment_timeout", 2);
        struct frame *told = world_collect(world);
        /* Of a datagram without its first fragment nothing is said. */
        if (missing == 0) {
            assert_null(told);
        } else {
            assert_non_null(told);
            expect_equal(told->bytes[FRAME_TRANSPORT], 11);
            expect_equal(told->bytes[FRAME_TRANSPORT + 1], 1);
            expect_equal(frame_get16(told, FRAME_TRANSPORT + 8 + 4), whole->identification);
            assert_memory_equal(told->bytes + FRAME_TRANSPORT + 28, whole->bytes, 8);
        }
        assert_null(world_collect(world));
        expect_equal(side_buffers_used(&world->a), 0);
    }
    /* Nor about a message of ICMP. */
    make_echo(whole, world, 600, 208);
    inject_piece(world, whole, 0);
    wait_for_no_more(world);
    assert_null(world_collect(world));
    free(whole);
    world_end(world);
}

/* A source that fills its share loses what it sent, and others still get through. */
static void one_source_cannot_take_all(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct whole *whole = whole_new();
    world_introduce(world);
    struct frame_path flood = world_path(world, 0, 0);
    flood.from = FRAME_IPV4(10, 0, 0, 99);
    for (unsigned round = 0; round < 2000; round++) {
        inject_eight(world, &flood, round / 30, 2 * round % 8000);
        expect(side_buffers_used(&world->a) <= SOURCE_PACKETS);
        if (round % 50)
            continue;
        make_echo(whole, world, 1000, 400);
        inject_whole(world, whole);
        unsigned held = side_buffers_used(&world->a);
        expect_equal(collect_answer(world), 1008);
        expect(held <= SOURCE_PACKETS);
    }
    wait_for_no_more(world);
    expect_equal(side_buffers_used(&world->a), 0);
    free(whole);
    world_end(world);
}

/* One that begins datagram after datagram displaces its own, not another's. */
static void a_flood_displaces_its_own(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct whole *whole = whole_new();
    world_introduce(world);
    struct frame_path flood = world_path(world, 0, 0);
    flood.from = FRAME_IPV4(10, 0, 0, 99);
    make_echo(whole, world, 1000, 504);
    inject_piece(world, whole, 1);
    world_run(world, 5 * MILLISECOND); /* the oldest */
    struct counters before = counters_now(&world->a);
    for (unsigned i = 0; i < 100; i++)
        inject_eight(world, &flood, i, 0);
    counters_expect_drop(&world->a, &before, "ipv4_fragment_quota",
                         100 - (CONFIG_PLUMB_IPV4_REASSEMBLIES * 3 + 3) / 4);
    unsigned held = side_buffers_used(&world->a);
    inject_piece(world, whole, 0);
    expect_equal(collect_answer(world), 1008);
    expect_equal(side_buffers_used(&world->a), held - 1);
    wait_for_no_more(world);
    free(whole);
    world_end(world);
}

/* Parts with the same identification belong together only when the rest agrees. */
static void strangers_are_not_mixed(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct whole *whole = whole_new();
    world_introduce(world);
    for (unsigned k = 0; k < 4; k++) {
        make_echo(whole, world, 200, 104);
        struct whole *other = whole_new();
        *other = *whole;
        if (k == 0)
            other->protocol = UDP;
        if (k == 1)
            other->path.from = FRAME_IPV4(10, 0, 0, 99);
        if (k == 2)
            other->path.to = FRAME_IPV4(255, 255, 255, 255);
        if (k == 3)
            other->identification += 0x100;
        inject_piece(world, other, 0);
        inject_piece(world, whole, 1);
        assert_null(world_collect(world));
        inject_piece(world, whole, 0);
        expect_equal(collect_answer(world), whole->length);
        wait_for_no_more(world);
        world_drain(world);
        expect_equal(side_buffers_used(&world->a), 0);
        free(other);
    }
    free(whole);
    world_end(world);
}

static void (*input_of_the_stack)(struct plumb_netif *netif, struct plumb_packet *packet);

/* As a device that found nothing wrong. */
static void mark_good(struct plumb_netif *netif, struct plumb_packet *packet) {
    packet->flags |= PLUMB_PACKET_CHECKSUM_GOOD;
    input_of_the_stack(netif, packet);
}

/* What the device says of a part's checksum says nothing of the whole. */
static void checksum_of_the_whole(void **state) {
    (void)state;
    static struct inbox inbox;
    struct world *world = world_single(0);
    struct whole *whole = whole_new();
    struct plumb_udp *socket;
    world_introduce(world);
    expect_equal(plumb_udp_open(world->a.stack, endpoint_of(0, PORT), on_datagram, &inbox, &socket),
                 PLUMB_OK);
    make_udp(whole, world, 600, 304);
    whole->bytes[6] = 1; /* a wrong one */
    input_of_the_stack = world->a.netif->input;
    world->a.netif->input = mark_good;
    inject_piece(world, whole, 1);
    struct counters before = counters_now(&world->a);
    inject_piece(world, whole, 0);
    counters_expect_drop(&world->a, &before, "udp_checksum", 1);
    free(whole);
    world_end(world);
}

/* A datagram of more parts than a source may have waiting ends as one. */
static void more_than_a_share(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct frame_path path = world_path(world, 0, 0);
    world_introduce(world);
    for (unsigned i = 0; i < SOURCE_PACKETS; i++)
        inject_eight(world, &path, 5, i);
    expect_equal(side_buffers_used(&world->a), SOURCE_PACKETS);
    struct counters before = counters_now(&world->a);
    inject_eight(world, &path, 5, SOURCE_PACKETS);
    counters_expect_drop(&world->a, &before, "ipv4_fragment_quota", SOURCE_PACKETS + 1);
    expect_equal(side_buffers_used(&world->a), 0);
    world_end(world);
}

/* Many sources together stay within the whole, the oldest giving way, and leave the pool's
 * last quarter alone. */
static void many_sources(void **state) {
    (void)state;
    for (unsigned small = 0; small < 2; small++) {
        struct world *world =
            world_single(&(struct world_options){.receive_count = small ? 40 : 0});
        unsigned limit = small ? 30 : CONFIG_PLUMB_IPV4_REASSEMBLY_PACKETS;
        struct frame_path path = world_path(world, 0, 0);
        struct random random = {3};
        world_introduce(world);
        struct counters before = counters_now(&world->a);
        unsigned sent = 0;
        for (; sent < 3000; sent++) {
            path.from = FRAME_IPV4(10, 0, 0, 50) + random_below(&random, 6);
            inject_eight(world, &path, random_below(&random, 2), 2 * sent);
            expect(side_buffers_used(&world->a) <= limit);
        }
        unsigned held = side_buffers_used(&world->a);
        expect_equal(counters_drops(&world->a, &before), sent - held);
        wait_for_no_more(world);
        expect_equal(counters_drops(&world->a, &before), sent);
        expect_equal(side_buffers_used(&world->a), 0);
        world_end(world);
    }
}

static void interface_goes(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct whole *whole = whole_new();
    world_introduce(world);
    make_udp(whole, world, 600, 208);
    inject_piece(world, whole, 0);
    inject_piece(world, whole, 2);
    expect_equal(side_buffers_used(&world->a), 2);
    plumb_netif_detach(world->a.netif);
    expect_equal(side_buffers_used(&world->a), 0);
    free(whole);
    world_end(world);
}

/* ---- both ways over the wire ---- */

/* Returns a socket of `b`, of which `a` keeps what comes to PORT. */
static struct plumb_udp *open_both(struct world *world, struct inbox *inbox) {
    struct plumb_udp *from, *to;
    expect_equal(plumb_udp_open(world->a.stack, endpoint_of(0, PORT), on_datagram, inbox, &to),
                 PLUMB_OK);
    expect_equal(plumb_udp_open(world->b.stack, endpoint_of(0, 0), on_datagram, inbox, &from),
                 PLUMB_OK);
    return from;
}

static void expect_received(const struct inbox *inbox, const uint8_t *payload, unsigned length) {
    expect_equal(inbox->count, 1);
    expect_equal(inbox->length, length);
    assert_memory_equal(inbox->bytes, payload, length);
}

static void long_datagrams(void **state) {
    (void)state;
    static uint8_t payload[LONGEST];
    static struct inbox inbox;
    for (unsigned k = 0; k < 3; k++) {
        struct world *world = world_pair(&(struct world_options){
            .capabilities =
                k == 1 ? PLUMB_CAPABILITY_TX_CHECKSUM | PLUMB_CAPABILITY_RX_CHECKSUM : 0,
            .mtu = k == 2 ? 576 : 1500,
        });
        struct plumb_udp *from = open_both(world, &inbox);
        struct plumb_endpoint at = endpoint_of(world->a.address, PORT);
        unsigned longest = k == 2 ? 20000 : LONGEST;
        struct counters before = counters_now(&world->a);
        expect_equal(plumb_udp_send(from, at, payload, 1), PLUMB_OK); /* neighbours meet */
        world_settle(world);
        for (unsigned length = 540; length <= longest; length += length < 1600 ? 1 : 907) {
            fill(payload, length, length);
            inbox.count = 0;
            expect_equal(plumb_udp_send(from, at, payload, length), PLUMB_OK);
            world_settle(world);
            expect_received(&inbox, payload, length);
        }
        expect_equal(plumb_udp_send(from, at, payload, LONGEST + 1), PLUMB_ERROR_TOO_LONG);
        counters_expect_drop(&world->a, &before, 0, 0);
        world_end(world);
    }
}

/* With frames lost, doubled and out of order: what arrives is right, and in the end nothing
 * is kept. */
static void long_datagrams_over_a_bad_wire(void **state) {
    (void)state;
    static uint8_t payload[8000];
    static struct inbox inbox;
    struct world *world = world_pair(&(struct world_options){
        .seed = 9, .faults = {.loss = 300, .duplication = 300, .reordering = 1000}});
    struct plumb_udp *from = open_both(world, &inbox);
    struct plumb_endpoint at = endpoint_of(world->a.address, PORT);
    unsigned arrived = 0;
    fill(payload, sizeof payload, 1);
    for (unsigned i = 0; i < 400; i++) {
        inbox.count = 0;
        plumb_udp_send(from, at, payload, sizeof payload);
        world_run(world, 20 * MILLISECOND);
        arrived += inbox.count != 0;
        if (inbox.count) {
            expect_equal(inbox.length, sizeof payload);
            assert_memory_equal(inbox.bytes, payload, sizeof payload);
        }
    }
    expect(arrived > 200);
    wait_for_no_more(world);
    world_end(world);
}

/* All or nothing when packets are short. */
static void no_packets_to_send_with(void **state) {
    (void)state;
    static uint8_t payload[20000];
    static struct inbox inbox;
    struct world *world = world_pair(&(struct world_options){.segment_count = 8});
    struct plumb_udp *from = open_both(world, &inbox);
    struct plumb_endpoint at = endpoint_of(world->a.address, PORT);
    expect_equal(plumb_udp_send(from, at, payload, 1), PLUMB_OK); /* neighbours meet */
    world_settle(world);
    expect_equal(plumb_udp_send(from, at, payload, sizeof payload), PLUMB_ERROR_NO_BUFFER);
    expect_equal(side_buffers_used(&world->b), 0);
    expect_equal(plumb_udp_send(from, at, payload, 8 * 1480 - 8), PLUMB_OK);
    world_end(world);
}

/* Where headers come from the same pool, what is left is counted behind them, and behind
 * the request for the neighbour's address. */
static void headers_from_the_same_pool(void **state) {
    (void)state;
    static uint8_t payload[5000];
    static struct plumb_packet *taken[WORLD_SEGMENTS];
    static struct inbox inbox;
    for (unsigned left = 0; left <= 6; left++) {
        struct world *world = world_single(0);
        struct plumb_pool *pool = &world->a.segments;
        struct plumb_udp *from;
        unsigned count = 0;
        world->a.stack->options.headers = pool;
        expect_equal(plumb_udp_open(world->a.stack, endpoint_of(0, 0), on_datagram, &inbox, &from),
                     PLUMB_OK);
        while (pool->free_count > left)
            taken[count++] = plumb_packet_take(pool, 0);
        expect_equal(plumb_udp_send(from, endpoint_of(world->b.address, PORT), payload, 5000),
                     left ? PLUMB_ERROR_WOULD_BLOCK : PLUMB_ERROR_NO_BUFFER);
        world_introduce(world);
        int result = plumb_udp_send(from, endpoint_of(world->b.address, PORT), payload, 5000);
        expect_equal(result, left >= 5 ? PLUMB_OK : PLUMB_ERROR_NO_BUFFER);
        world_drain(world);
        world_settle(world);
        int shorter = plumb_udp_send(from, endpoint_of(world->b.address, PORT), payload, 1500);
        expect_equal(shorter, left >= 3 ? PLUMB_OK : PLUMB_ERROR_NO_BUFFER);
        while (count)
            plumb_packet_put(taken[--count]);
        world_end(world);
    }
}

/* The first datagram to a neighbour is not sent in part: it is asked for first. */
static void an_unknown_neighbour(void **state) {
    (void)state;
    static uint8_t payload[5000];
    static struct inbox inbox;
    struct world *world = world_pair(0);
    struct plumb_udp *from = open_both(world, &inbox);
    struct plumb_endpoint at = endpoint_of(world->a.address, PORT);
    inbox.count = 0;
    struct counters before = counters_now(&world->b);
    expect_equal(plumb_udp_send(from, at, payload, sizeof payload), PLUMB_ERROR_WOULD_BLOCK);
    world_settle(world);
    expect_equal(plumb_udp_send(from, at, payload, sizeof payload), PLUMB_OK);
    world_settle(world);
    expect_received(&inbox, payload, sizeof payload);
    counters_expect_drop(&world->b, &before, 0, 0);
    world_end(world);
}

/* Identifications of one destination do not repeat soon. */
static void identifications(void **state) {
    (void)state;
    static bool seen[65536];
    struct world *world = world_single(0);
    struct whole *whole = whole_new();
    world_introduce(world);
    memset(seen, 0, sizeof seen);
    for (unsigned i = 0; i < 5000; i++) {
        make_echo(whole, world, 1500, 1480);
        inject_piece(world, whole, 0);
        inject_piece(world, whole, 1);
        struct frame *frame = world_collect(world);
        if (!frame) { /* the limit of ICMP */
            world_run(world, SECOND);
            continue;
        }
        unsigned identification = frame_get16(frame, FRAME_NETWORK + 4);
        expect(!seen[identification]);
        seen[identification] = true;
        assert_non_null(world_collect(world));
    }
    free(whole);
    world_end(world);
}

HARNESS_MAIN(cmocka_unit_test(every_size_is_echoed), cmocka_unit_test(any_order_with_duplicates),
             cmocka_unit_test(options_in_the_first), cmocka_unit_test(random_cuts),
             cmocka_unit_test(too_late), cmocka_unit_test(one_source_cannot_take_all),
             cmocka_unit_test(a_flood_displaces_its_own), cmocka_unit_test(strangers_are_not_mixed),
             cmocka_unit_test(checksum_of_the_whole), cmocka_unit_test(more_than_a_share),
             cmocka_unit_test(many_sources), cmocka_unit_test(interface_goes),
             cmocka_unit_test(long_datagrams), cmocka_unit_test(long_datagrams_over_a_bad_wire),
             cmocka_unit_test(no_packets_to_send_with),
             cmocka_unit_test(headers_from_the_same_pool), cmocka_unit_test(an_unknown_neighbour),
             cmocka_unit_test(identifications))
