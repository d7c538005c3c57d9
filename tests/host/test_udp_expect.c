/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The first look at a datagram, and the reply in the request's own buffer, against the
 * ordinary way: two worlds get the same frames and the same calls, and in one of them the
 * interface is observed, which has every frame go the ordinary way. After each step all
 * that can be seen of both is compared: counters, what was sent to the bit, what the
 * handler was told, the buffers in use.
 */
#include <string.h>

#include "two_ways.h"

enum { PORT = 7, FROM = 4000 };

/* What the handler does. */
enum deed {
    HEAR,
    REPLY,
    REPLY_CHANGED,
    REPLY_SHORTENED,
    REPLY_CUT,
    REPLY_HELD,
    REPLY_FROM_OTHER,
    REPLY_AND_CLOSE,
    OPEN_AND_REPLY,
    RESTRICT_AND_REPLY,
    READDRESS_AND_REPLY,
    DETACH_AND_REPLY,
    DEEDS,
};

struct place {
    struct world *world;
    struct plumb_udp *socket, *other;
    struct plumb_packet *held;
    enum deed deed;
    unsigned calls;
    int result;
    bool reopened, broadcast;
    uint16_t length;
    uint8_t bytes[2000];
    struct plumb_udp_source source;
};

struct pair {
    struct place place[2];
};

static void on_datagram(struct plumb_udp *socket, struct plumb_packet *payload,
                        const struct plumb_udp_source *source, void *context);

static void open_at(struct place *place, uint32_t address) {
    expect_equal(plumb_udp_open(place->world->a.stack, endpoint_of(address, PORT), on_datagram,
                                place, &place->socket),
                 PLUMB_OK);
}

/* What the handler does before it answers. */
static void prepare(struct place *place, struct plumb_packet *payload) {
    static const uint8_t changed[] = "changed";
    struct plumb_netif *netif = place->world->a.netif;

    payload->dirty = false; /* as a device leaves what it writes by itself */
    if (place->deed == REPLY_CHANGED)
        plumb_packet_copy_in(payload, 1, changed, sizeof changed);
    if (place->deed == REPLY_SHORTENED && payload->total > 4)
        plumb_packet_trim_to(payload, payload->total - 3U);
    if (place->deed == REPLY_CUT && payload->total > 4)
        plumb_packet_trim_front(payload, 4);
    if (place->deed == OPEN_AND_REPLY && !place->reopened) {
        place->reopened = true;
        plumb_udp_close(place->socket);
        open_at(place, place->world->a.address);
    }
    if (place->deed == REPLY_HELD) {
        plumb_packet_hold(payload);
        place->held = payload;
    }
    if (place->deed == RESTRICT_AND_REPLY)
        plumb_udp_restrict(place->socket, netif);
    if (place->deed == READDRESS_AND_REPLY)
        plumb_netif_set_ipv4(netif, ipv4_of(FRAME_IPV4(10, 0, 0, 9)), netif->netmask,
                             netif->gateway);
    if (place->deed == DETACH_AND_REPLY)
        plumb_netif_detach(netif);
}

static void on_datagram(struct plumb_udp *socket, struct plumb_packet *payload,
                        const struct plumb_udp_source *source, void *context) {
    struct place *place = context;

    place->calls++;
    place->length = payload->total;
    place->source = *source;
    expect(socket == place->socket);
    place->broadcast = payload->flags & PLUMB_PACKET_BROADCAST;
    plumb_packet_copy_out(payload, 0, place->bytes, sizeof place->bytes);
    if (place->deed == HEAR)
        return;
    prepare(place, payload);
    place->result = plumb_udp_reply(place->deed == REPLY_FROM_OTHER ? place->other : place->socket,
                                    payload, source);
    expect_equal(source->from.port, place->source.from.port);
    expect_equal(source->from.address.be, place->source.from.address.be);
    if (place->deed == REPLY_AND_CLOSE)
        plumb_udp_close(socket);
}

static void expect_same(struct pair *pair) {
    struct place *a = &pair->place[0], *b = &pair->place[1];
    expect_same_worlds(a->world, b->world);
    expect_equal(a->calls, b->calls);
    expect_equal(a->result, b->result);
    expect_equal(a->length, b->length);
    expect_equal(a->broadcast, b->broadcast);
    assert_memory_equal(a->bytes, b->bytes, sizeof a->bytes);
    expect_equal(a->source.from.port, b->source.from.port);
    expect_equal(a->source.from.address.be, b->source.from.address.be);
    expect_equal(a->source.to.be, b->source.to.be);
    expect_equal(a->calls && a->source.netif != a->world->a.netif, 0);
    expect_equal(b->calls && b->source.netif != b->world->a.netif, 0);
}

static void pair_begin(struct pair *pair, const struct world_options *options, enum deed deed) {
    memset(pair, 0, sizeof *pair);
    for (unsigned i = 0; i < 2; i++) {
        struct place *place = &pair->place[i];
        place->world = world_single(options);
        place->deed = deed;
        open_at(place, 0);
        expect_equal(plumb_udp_open(place->world->a.stack, endpoint_of(0, PORT + 1), on_datagram,
                                    place, &place->other),
                     PLUMB_OK);
        world_introduce(place->world);
        if (i == ORDINARY)
            go_the_ordinary_way(place->world);
    }
    expect_same(pair);
}

static void pair_end(struct pair *pair) {
    for (unsigned i = 0; i < 2; i++) {
        plumb_packet_put(pair->place[i].held);
        world_end(pair->place[i].world);
    }
}

static void arrive(struct pair *pair, const struct frame *frame) {
    for (unsigned i = 0; i < 2; i++)
        expect_equal(plumb_wire_inject(pair->place[i].world->a.end, frame->bytes, frame->length),
                     PLUMB_OK);
    for (unsigned i = 0; i < 2; i++)
        world_settle(pair->place[i].world);
    expect_same(pair);
    for (unsigned i = 0; i < 2; i++) {
        plumb_packet_put(pair->place[i].held);
        pair->place[i].held = 0;
    }
}

static void datagram(const struct pair *pair, struct frame *frame, unsigned length) {
    struct frame_path path = world_path(pair->place[0].world, FROM, PORT);
    uint8_t bytes[1472];

    for (unsigned i = 0; i < length; i++)
        bytes[i] = pattern_at(length, i);
    frame_udp(frame, &path, bytes, length);
}

static void one(struct pair *pair, unsigned length) {
    struct frame frame;

    datagram(pair, &frame, length);
    while (frame.length < 60) /* as a MAC pads it */
        frame_append8(&frame, 0xff);
    arrive(pair, &frame);
}

static bool is_expecting(const struct pair *pair) {
    return pair->place[EXPECTING].world->a.netif->expected_flow != 0;
}

/* ---- it is what it claims to be ---- */

static void test_a_flow_is_taken_at_the_first_look(void **state) {
    struct pair pair;
    (void)state;
    pair_begin(&pair, 0, HEAR);
    one(&pair, 64);
    ordinary[ORDINARY] = ordinary[EXPECTING] = 0;
    for (unsigned length = 0; length <= 1472; length += 8)
        one(&pair, length);
    expect_equal(ordinary[ORDINARY], 185);
    expect_equal(ordinary[EXPECTING], 0);
    pair_end(&pair);
}

/* ---- every bit of the headers, with checksums that show it and such that do not ---- */

static void flip_all(bool mended, unsigned length, uint8_t capabilities, enum deed deed) {
    struct world_options options = {.capabilities = capabilities};
    struct pair pair;
    struct frame frame;

    pair_begin(&pair, &options, deed);
    for (unsigned bit = 0; bit < 8 * FRAME_UDP_PAYLOAD; bit++) {
        one(&pair, length);
        expect(is_expecting(&pair));
        datagram(&pair, &frame, length);
        frame.bytes[bit / 8] = (uint8_t)(frame.bytes[bit / 8] ^ 1U << bit % 8);
        if (mended)
            frame_fix_checksums(&frame);
        arrive(&pair, &frame);
        one(&pair, length);
    }
    pair_end(&pair);
}

static void test_every_bit_flipped(void **state) {
    (void)state;
    flip_all(false, 64, 0, HEAR);
    flip_all(false, 64, PLUMB_CAPABILITY_RX_CHECKSUM, HEAR);
}

static void test_every_bit_flipped_with_checksums_mended(void **state) {
    (void)state;
    flip_all(true, 64, 0, HEAR);
    flip_all(true, 5, 0, HEAR);
    flip_all(true, 64, PLUMB_CAPABILITY_TX_WRITES_BACK, REPLY);
}

/* ---- frames unlike the last ---- */

static void test_tags_broadcasts_and_lengths(void **state) {
    struct pair pair;
    struct frame frame;
    (void)state;
    pair_begin(&pair, &(struct world_options){.capabilities = PLUMB_CAPABILITY_TX_WRITES_BACK},
               REPLY);
    for (unsigned length = 0; length < 70; length++) {
        one(&pair, length);
        datagram(&pair, &frame, length);
        frame_tag(&frame, 0);
        arrive(&pair, &frame);
        one(&pair, length);
        datagram(&pair, &frame, length);
        memset(frame.bytes, 0xff, 6);
        arrive(&pair, &frame);
        frame_put32(&frame, 30, 0xffffffff);
        frame_fix_checksums(&frame);
        arrive(&pair, &frame);
        one(&pair, length);
        datagram(&pair, &frame, length);
        frame_put16(&frame, 40, 0); /* no checksum */
        arrive(&pair, &frame);
        for (unsigned by = 0; by < 12; by++) {
            one(&pair, length);
            datagram(&pair, &frame, length);
            frame.length = (uint16_t)(frame.length - by);
            arrive(&pair, &frame);
            datagram(&pair, &frame, length);
            frame_put16(&frame, 38, 8 + length - by);
            frame_put16(&frame, 40, 0);
            arrive(&pair, &frame);
        }
    }
    pair_end(&pair);
}

/* ---- whatever a handler does ---- */

static void test_replies_are_the_same(void **state) {
    static const uint8_t capabilities[] = {
        PLUMB_CAPABILITY_TX_WRITES_BACK,
        0,
        PLUMB_CAPABILITY_TX_WRITES_BACK | PLUMB_CAPABILITY_TX_CHECKSUM,
        PLUMB_CAPABILITY_TX_WRITES_BACK | PLUMB_CAPABILITY_RX_CHECKSUM,
    };
    (void)state;
    for (unsigned k = 0; k < 8 * DEEDS; k++) {
        struct world_options options = {.capabilities = capabilities[k % 4],
                                        .fragment = k / 4 % 2 ? 128 : 0};
        enum deed deed = (enum deed)(k / 8);
        struct pair pair;
        if (deed == HEAR)
            continue;
        pair_begin(&pair, &options, REPLY);
        for (unsigned length = 0; length < 1472; length += 61) {
            one(&pair, length);
            one(&pair, length);
            pair.place[0].deed = pair.place[1].deed = deed;
            one(&pair, length);
            expect_equal(pair.place[0].result == PLUMB_OK, deed != DETACH_AND_REPLY);
            if (deed == REPLY_AND_CLOSE || deed >= READDRESS_AND_REPLY) {
                if (deed == DETACH_AND_REPLY)
                    break;
                one(&pair, length); /* to nobody */
                break;
            }
            one(&pair, length);
            pair.place[0].deed = pair.place[1].deed = REPLY;
        }
        pair_end(&pair);
    }
}

/* ---- what ends an expectation ---- */

static void test_what_ends_it(void **state) {
    static const char *const ends[] = {"observe", "close", "open", "restrict", "address"};
    (void)state;
    for (unsigned k = 0; k < sizeof ends / sizeof *ends; k++) {
        struct pair pair;
        pair_begin(&pair, 0, REPLY);
        one(&pair, 64);
        expect(is_expecting(&pair));
        for (unsigned i = 0; i < 2; i++) {
            struct place *place = &pair.place[i];
            struct plumb_netif *netif = place->world->a.netif;
            if (k == 0 && i == EXPECTING)
                go_the_ordinary_way(pair.place[EXPECTING].world);
            if (k == 1)
                plumb_udp_close(place->socket);
            if (k == 2)
                open_at(place, place->world->a.address);
            if (k == 3)
                plumb_udp_restrict(place->socket, netif);
            if (k == 4)
                plumb_netif_set_ipv4(netif, netif->ipv4, ipv4_of(FRAME_IPV4(255, 255, 255, 254)),
                                     netif->gateway);
        }
        expect(!is_expecting(&pair));
        one(&pair, 64);
        one(&pair, 64);
        pair_end(&pair);
    }
}

static void test_a_neighbour_given_up_ends_it(void **state) {
    struct pair pair;
    (void)state;
    pair_begin(&pair, &(struct world_options){.capabilities = PLUMB_CAPABILITY_TX_WRITES_BACK},
               REPLY);
    for (unsigned k = 0; k < 3; k++)
        one(&pair, 64);
    expect(is_expecting(&pair));
    for (unsigned i = 0; i < 2; i++)
        world_run(pair.place[i].world, 10000000); /* asked three times, and does not answer */
    expect_same(&pair);
    expect(!is_expecting(&pair));
    for (unsigned k = 0; k < 3; k++)
        one(&pair, 64);
    for (unsigned i = 0; i < 2; i++)
        world_introduce(pair.place[i].world);
    for (unsigned k = 0; k < 3; k++)
        one(&pair, 64);
    pair_end(&pair);
}

static void test_replies_keep_a_neighbour_asked_for(void **state) {
    struct pair pair;
    (void)state;
    pair_begin(&pair, &(struct world_options){.capabilities = PLUMB_CAPABILITY_TX_WRITES_BACK},
               REPLY);
    for (unsigned second = 0; second < 10; second++) {
        one(&pair, 64);
        for (unsigned i = 0; i < 2; i++)
            world_run(pair.place[i].world, 500000);
        expect_same(&pair);
        if (second == 2)
            for (unsigned i = 0; i < 2; i++)
                world_introduce(pair.place[i].world);
    }
    pair_end(&pair);
}

static void test_replies_around_the_mtu(void **state) {
    struct pair pair;
    (void)state;
    pair_begin(&pair, &(struct world_options){.capabilities = PLUMB_CAPABILITY_TX_WRITES_BACK},
               REPLY);
    for (unsigned i = 0; i < 2; i++)
        pair.place[i].world->a.netif->mtu = 500;
    for (unsigned length = 460; length < 484; length++) {
        one(&pair, 64);
        one(&pair, length);
    }
    pair_end(&pair);
}

/* ---- where the reply lies ---- */

static void expect_taken(struct plumb_pool *pool, unsigned before, unsigned taken) {
    expect_equal(before - pool->free_count, taken);
}

static void test_a_reply_takes_no_buffer_but_when_it_must(void **state) {
    struct pair pair;
    (void)state;
    pair_begin(&pair, &(struct world_options){.capabilities = PLUMB_CAPABILITY_TX_WRITES_BACK},
               REPLY);
    struct side *side = &pair.place[EXPECTING].world->a;
    one(&pair, 64);
    side->segments.low_water = side->segments.free_count;
    unsigned before = side->segments.free_count;
    one(&pair, 64);
    one(&pair, 1472);
    expect_taken(&side->segments, before, 0);
    expect_equal(side->segments.low_water, before);
    for (unsigned i = 0; i < 2; i++)
        pair.place[i].deed = REPLY_HELD;
    one(&pair, 64);
    expect_equal(side->segments.low_water, before - 1);
    /* An empty pool: none to copy into, and none needed where it need not be copied. */
    struct plumb_packet *taken[2] = {0, 0};
    for (unsigned i = 0; i < 2; i++) {
        struct plumb_packet *packet;
        while ((packet = plumb_packet_take(&pair.place[i].world->a.segments, 0)) != 0) {
            packet->next = taken[i];
            taken[i] = packet;
        }
    }
    one(&pair, 64);
    expect_equal(pair.place[0].result, PLUMB_ERROR_NO_BUFFER);
    for (unsigned i = 0; i < 2; i++)
        pair.place[i].deed = REPLY;
    one(&pair, 64);
    expect_equal(pair.place[0].result, PLUMB_OK);
    for (unsigned i = 0; i < 2; i++)
        while (taken[i]) {
            struct plumb_packet *next = taken[i]->next;
            plumb_packet_put(taken[i]);
            taken[i] = next;
        }
    pair_end(&pair);
}

HARNESS_MAIN(cmocka_unit_test(test_a_flow_is_taken_at_the_first_look),
             cmocka_unit_test(test_every_bit_flipped),
             cmocka_unit_test(test_every_bit_flipped_with_checksums_mended),
             cmocka_unit_test(test_tags_broadcasts_and_lengths),
             cmocka_unit_test(test_replies_are_the_same), cmocka_unit_test(test_what_ends_it),
             cmocka_unit_test(test_a_neighbour_given_up_ends_it),
             cmocka_unit_test(test_replies_keep_a_neighbour_asked_for),
             cmocka_unit_test(test_replies_around_the_mtu),
             cmocka_unit_test(test_a_reply_takes_no_buffer_but_when_it_must))
