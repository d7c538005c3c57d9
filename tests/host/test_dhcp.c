/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The DHCP client against a server played by the test. */
#include <string.h>

#include <plumb_config.h>

#include "harness.h"

enum { DISCOVER = 1, OFFER, REQUEST, DECLINE, ACK, NAK, RELEASE };

#define SERVER  FRAME_IPV4(10, 0, 0, 2)
#define LEASED  FRAME_IPV4(10, 0, 0, 77)
#define NETMASK 0xffffff00U
#define ROUTER  FRAME_IPV4(10, 0, 0, 254)

/* A message from the client. */
struct message {
    unsigned type;
    uint32_t transaction, client, requested, server;
    bool broadcast_flag, to_broadcast;
};

struct client {
    struct world *world;
    struct plumb_dhcp dhcp;
    unsigned told;
    struct message last;
};

static void on_change(struct plumb_dhcp *dhcp, void *context) {
    struct client *client = context;
    expect(dhcp == &client->dhcp);
    client->told++;
}

static uint32_t address_now(const struct client *client) {
    return plumb_get32(client->world->a.netif->ipv4);
}

static void begin(struct client *client, uint32_t fallback) {
    struct plumb_dhcp_options options = {
        .fallback = ipv4_of(fallback),
        .fallback_netmask = ipv4_of(NETMASK),
        .handler = on_change,
        .context = client,
    };
    *client = (struct client){0};
    client->world = world_single(&(struct world_options){.unconfigured = true});
    expect_equal(
        plumb_dhcp_start(&client->dhcp, client->world->a.stack, client->world->a.netif, &options),
        PLUMB_OK);
    world_settle(client->world);
}

static void end(struct client *client) {
    plumb_dhcp_stop(&client->dhcp);
    world_settle(client->world);
    expect_equal(address_now(client), 0);
    world_drain(client->world);
    world_end(client->world);
}

/* The options of a message, at 240 of its payload. */
static void take_options(struct message *message, const struct frame *frame) {
    unsigned at = FRAME_UDP_PAYLOAD + 240;
    while (at + 1 < frame->length && frame->bytes[at] != 255) {
        unsigned option = frame->bytes[at], length = frame->bytes[at + 1];
        expect(at + 2 + length < frame->length);
        if (option == 53)
            message->type = frame->bytes[at + 2];
        else if (option == 50)
            message->requested = frame_get32(frame, at + 2);
        else if (option == 54)
            message->server = frame_get32(frame, at + 2);
        at += 2 + length;
    }
    expect_equal(frame->bytes[at], 255);
}

/* The client's next message, in client->last; false when it sent none. */
static bool heard(struct client *client) {
    for (struct frame *frame; (frame = world_collect(client->world));) {
        if (frame_get16(frame, 12) != 0x0800 || frame->bytes[23] != 17 ||
            frame_get16(frame, FRAME_TRANSPORT + 2) != 67)
            continue;
        expect_equal(frame_get16(frame, FRAME_TRANSPORT), 68);
        expect(frame->length >= FRAME_UDP_PAYLOAD + 300);
        expect_equal(frame->bytes[FRAME_UDP_PAYLOAD], 1);
        expect_equal(frame_get32(frame, FRAME_UDP_PAYLOAD + 236), 0x63825363);
        assert_memory_equal(frame->bytes + FRAME_UDP_PAYLOAD + 28, client->world->a.ethernet, 6);
        client->last = (struct message){
            .transaction = frame_get32(frame, FRAME_UDP_PAYLOAD + 4),
            .client = frame_get32(frame, FRAME_UDP_PAYLOAD + 12),
            .broadcast_flag = frame->bytes[FRAME_UDP_PAYLOAD + 10] & 0x80,
            .to_broadcast = frame_get32(frame, 30) == 0xffffffffU,
        };
        take_options(&client->last, frame);
        return true;
    }
    return false;
}

/* The next message within some seconds. */
static void await_message(struct client *client, unsigned type, unsigned seconds) {
    for (unsigned i = 0; i < 2 * seconds; i++) {
        if (heard(client)) {
            expect_equal(client->last.type, type);
            return;
        }
        world_run(client->world, 500 * MILLISECOND);
    }
    fail_msg("no message of type %u within %u s", type, seconds);
}

static void expect_message(struct client *client, unsigned type) {
    if (!heard(client))
        fail_msg("the client sent nothing; expected a message of type %u", type);
    expect_equal(client->last.type, type);
}

/* Puts an answer together; what a test wants wrong it changes before sending. */
static void answer(struct frame *frame, const struct client *client, unsigned type,
                   uint32_t lease_s) {
    struct frame_path path = world_path(client->world, 67, 68);
    uint8_t fixed[240] = {2, 1, 6};
    path.to = 0xffffffffU;
    memset(path.to_ethernet, 0xff, 6);
    frame_udp(frame, &path, fixed, sizeof fixed);
    frame_put32(frame, FRAME_UDP_PAYLOAD + 4, client->last.transaction);
    frame_put32(frame, FRAME_UDP_PAYLOAD + 16, LEASED);
    memcpy(frame->bytes + FRAME_UDP_PAYLOAD + 28, client->world->a.ethernet, 6);
    frame_put32(frame, FRAME_UDP_PAYLOAD + 236, 0x63825363);
    frame_append(frame, (const uint8_t[]){53, 1, (uint8_t)type, 0, 0}, 5);
    const uint8_t options[] = {54, 1, 3, 6, 51};
    const uint32_t values[] = {SERVER, NETMASK, ROUTER, SERVER, lease_s};
    for (unsigned i = 0; i < 5; i++) {
        frame_append8(frame, options[i]);
        frame_append8(frame, 4);
        frame_append32(frame, values[i]);
    }
    frame_append8(frame, 255);
    frame_finish(frame);
}

static void say(struct client *client, unsigned type, uint32_t lease_s) {
    struct frame frame;
    answer(&frame, client, type, lease_s);
    world_inject(client->world, &frame);
}

static void lease(struct client *client, uint32_t lease_s) {
    expect_message(client, DISCOVER);
    expect(client->last.broadcast_flag && client->last.to_broadcast);
    say(client, OFFER, lease_s);
    expect_message(client, REQUEST);
    expect_equal(client->last.requested, LEASED);
    expect_equal(client->last.server, SERVER);
    expect(client->last.to_broadcast);
    expect_equal(address_now(client), 0);
    say(client, ACK, lease_s);
    expect_equal(address_now(client), LEASED);
    expect_equal(plumb_get32(client->world->a.netif->netmask), NETMASK);
    expect_equal(plumb_get32(client->world->a.netif->gateway), ROUTER);
    expect_equal(plumb_get32(client->dhcp.name_server), SERVER);
    expect(client->dhcp.bound);
    expect_equal(client->told, 1);
}

static void offer_request_acknowledge(void **state) {
    (void)state;
    struct client client;
    begin(&client, 0);
    lease(&client, 3600);
    expect(!heard(&client));
    world_run(client.world, 1700 * SECOND);
    expect(!heard(&client));
    end(&client);
}

static void unanswered_it_asks_with_growing_pauses(void **state) {
    (void)state;
    struct client client;
    uint64_t times[16], longest = 0;
    unsigned asked = 0;
    begin(&client, 0);
    for (unsigned i = 0; i < 3000 && asked < 12; i++) {
        while (heard(&client) && asked < 12) {
            expect_equal(client.last.type, DISCOVER);
            times[asked++] = client.world->now_us;
        }
        world_run(client.world, 100 * MILLISECOND);
    }
    expect(asked >= 8);
    for (unsigned i = 1; i < asked; i++) {
        uint64_t gap = times[i] - times[i - 1];
        expect(gap >= 400 * MILLISECOND && gap < 66 * SECOND);
        expect(i < 2 || i > 6 || gap > times[i - 1] - times[i - 2]);
        longest = gap > longest ? gap : longest;
    }
    expect(longest > 30 * SECOND);
    end(&client);
}

static void fallback_after_patience_and_lease_after_that(void **state) {
    (void)state;
    struct client client;
    uint32_t fallback = FRAME_IPV4(10, 0, 0, 15);
    begin(&client, fallback);
    world_run(client.world, (CONFIG_PLUMB_DHCP_PATIENCE_MS - 100) * MILLISECOND);
    expect_equal(address_now(&client), 0);
    world_run(client.world, 200 * MILLISECOND);
    expect_equal(address_now(&client), fallback);
    expect_equal(client.told, 1);
    expect(!client.dhcp.bound);
    while (heard(&client))
        ;
    client.told = 0;
    for (unsigned i = 0; i < 200 && !heard(&client); i++)
        world_run(client.world, SECOND);
    expect_equal(client.last.type, DISCOVER);
    say(&client, OFFER, 3600);
    expect_message(&client, REQUEST);
    say(&client, ACK, 3600);
    expect_equal(address_now(&client), LEASED);
    expect_equal(client.told, 1);
    end(&client);
}

static void renewed_by_unicast(void **state) {
    (void)state;
    struct client client;
    begin(&client, 0);
    lease(&client, 1000);
    for (unsigned times = 0; times < 5; times++) {
        world_run(client.world, 495 * SECOND);
        expect(!heard(&client));
        await_message(&client, REQUEST, 10);
        expect_equal(client.last.client, LEASED);
        expect_equal(client.last.requested, 0);
        expect_equal(client.last.server, 0);
        expect(!client.last.to_broadcast);
        say(&client, ACK, 1000);
        expect_equal(address_now(&client), LEASED);
    }
    expect_equal(client.told, 1);
    end(&client);
}

/* Nobody answers: by broadcast from seven eighths on, and at the end it is given up. */
static void rebound_and_lost(void **state) {
    (void)state;
    struct client client;
    bool broadcast = false, anew = false;
    begin(&client, 0);
    lease(&client, 1000);
    for (unsigned i = 0; i < 1100; i++) {
        world_run(client.world, SECOND);
        while (heard(&client)) {
            broadcast |= client.last.type == REQUEST && client.last.to_broadcast;
            anew |= client.last.type == DISCOVER;
        }
        expect_equal(address_now(&client), i < 998 ? LEASED : i > 1002 ? 0 : address_now(&client));
    }
    expect(broadcast);
    expect(anew);
    expect_equal(client.told, 2);
    expect(!client.dhcp.bound);
    end(&client);
}

static void refused_at_renewal(void **state) {
    (void)state;
    struct client client;
    begin(&client, 0);
    lease(&client, 1000);
    world_run(client.world, 495 * SECOND);
    await_message(&client, REQUEST, 10);
    say(&client, NAK, 0);
    expect_equal(address_now(&client), 0);
    expect_equal(client.told, 2);
    world_run(client.world, 3 * SECOND);
    expect_message(&client, DISCOVER);
    end(&client);
}

static void refused_at_request(void **state) {
    (void)state;
    struct client client;
    begin(&client, 0);
    expect_message(&client, DISCOVER);
    say(&client, OFFER, 1000);
    expect_message(&client, REQUEST);
    say(&client, NAK, 0);
    expect_equal(address_now(&client), 0);
    world_run(client.world, 3 * SECOND);
    expect_message(&client, DISCOVER);
    end(&client);
}

/* RELEASE goes to the server that gave the lease. */
static void released_when_stopped(void **state) {
    (void)state;
    struct client client;
    begin(&client, 0);
    lease(&client, 1000);
    world_introduce(client.world);
    /* Ours is another address than the harness thinks. */
    struct frame frame;
    frame_arp(&frame, client.world->a.ethernet, 1, client.world->b.ethernet, SERVER,
              client.world->a.ethernet, LEASED);
    world_inject(client.world, &frame);
    world_drain(client.world);
    plumb_dhcp_stop(&client.dhcp);
    world_settle(client.world);
    expect_message(&client, RELEASE);
    expect_equal(client.last.client, LEASED);
    expect_equal(client.last.server, SERVER);
    expect(!client.last.to_broadcast);
    expect_equal(address_now(&client), 0);
    world_run(client.world, 3000 * SECOND);
    expect(!heard(&client));
    world_end(client.world);
}

/* ---- answers that are not what they seem ---- */

/* After each of these the client is where it was, and a good answer still works. */
static void answers_of_strangers(void **state) {
    (void)state;
    /* Direction, hardware type and length, transaction, client's hardware, cookie. */
    static const uint16_t offsets[] = {0, 1, 2, 4, 7, 28, 33, 236, 239};
    for (unsigned i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        struct client client;
        struct frame frame;
        begin(&client, 0);
        expect_message(&client, DISCOVER);
        answer(&frame, &client, OFFER, 1000);
        frame.bytes[FRAME_UDP_PAYLOAD + offsets[i]] ^= 0x55;
        frame_fix_checksums(&frame);
        world_inject(client.world, &frame);
        expect(!heard(&client));
        say(&client, OFFER, 1000);
        expect_message(&client, REQUEST);
        end(&client);
    }
}

static void answers_from_another_port(void **state) {
    (void)state;
    struct client client;
    struct frame frame;
    begin(&client, 0);
    expect_message(&client, DISCOVER);
    answer(&frame, &client, OFFER, 1000);
    frame_put16(&frame, FRAME_TRANSPORT, 1067);
    frame_fix_checksums(&frame);
    world_inject(client.world, &frame);
    expect(!heard(&client));
    say(&client, ACK, 1000);
    expect_equal(address_now(&client), 0);
    end(&client);
}

static void answers_cut_and_garbled(void **state) {
    (void)state;
    struct client client;
    struct random random = {1};
    struct frame good, frame;
    begin(&client, 0);
    expect_message(&client, DISCOVER);
    answer(&good, &client, OFFER, 1000);
    for (uint16_t length = FRAME_UDP_PAYLOAD; length < good.length - 1; length++) {
        frame = good;
        frame.length = length;
        frame.bytes[FRAME_UDP_PAYLOAD + 240] = 0x77; /* not even a type */
        frame_finish(&frame);
        world_inject(client.world, &frame);
        expect(!heard(&client));
    }
    for (unsigned i = 0; i < 20000; i++) {
        frame = good;
        for (unsigned k = 1 + random_below(&random, 5); k--;)
            frame.bytes[FRAME_UDP_PAYLOAD + 240 + random_below(&random, 36)] =
                (uint8_t)random_next(&random);
        frame.length = (uint16_t)(frame.length - random_below(&random, 20));
        frame_finish(&frame);
        world_inject(client.world, &frame);
        world_drain(client.world);
        if (i % 100 == 0)
            world_run(client.world, SECOND);
    }
    expect_equal(address_now(&client), 0);
    end(&client);
}

/* Addresses that no host could have, and leases of no length, of all time. */
static void absurd_leases(void **state) {
    (void)state;
    static const uint32_t addresses[] = {0, 0xffffffffU, FRAME_IPV4(127, 0, 0, 1),
                                         FRAME_IPV4(224, 0, 0, 1)};
    for (unsigned i = 0; i < 4; i++) {
        struct client client;
        struct frame frame;
        begin(&client, 0);
        for (unsigned type = OFFER; type <= ACK; type += ACK - OFFER) {
            if (!heard(&client))
                break;
            answer(&frame, &client, type, 1000);
            frame_put32(&frame, FRAME_UDP_PAYLOAD + 16, addresses[i]);
            frame_fix_checksums(&frame);
            world_inject(client.world, &frame);
        }
        expect_equal(address_now(&client), 0);
        expect(!client.dhcp.bound);
        end(&client);
    }
    static const uint32_t leases[] = {0, 1, 0x7fffffff, 0xffffffffU};
    for (unsigned i = 0; i < 4; i++) {
        struct client client;
        begin(&client, 0);
        lease(&client, leases[i]);
        unsigned asked = 0;
        for (unsigned k = 0; k < 60; k++) {
            world_run(client.world, SECOND);
            while (heard(&client))
                asked++;
        }
        expect(asked <= 2);
        end(&client);
    }
}

/* Stops the client when told that there is no lease, and lets its memory go. */
static void on_change_stop(struct plumb_dhcp *dhcp, void *context) {
    struct client *client = context;
    client->told++;
    if (dhcp->bound)
        return;
    plumb_dhcp_stop(dhcp);
    memset(dhcp, 0xa5, sizeof *dhcp);
}

/* Nothing is heard of a client any more, and none of its memory is touched. */
static void expect_gone(struct client *client) {
    world_run(client->world, 200 * SECOND);
    while (heard(client))
        expect_equal(client->last.type, DISCOVER); /* sent before */
    world_run(client->world, 200 * SECOND);
    expect(!heard(client));
    for (size_t i = 0; i < sizeof client->dhcp; i++)
        expect_equal(((const uint8_t *)&client->dhcp)[i], 0xa5);
    expect_equal(address_now(client), 0);
    expect_equal(side_buffers_used(&client->world->a), 0);
    world_end(client->world);
}

/* Refused at renewal, or never answered until it ends. */
static void stopped_when_told_of_the_loss(void **state) {
    (void)state;
    for (unsigned refused = 0; refused < 2; refused++) {
        struct client client;
        begin(&client, 0);
        client.dhcp.options.handler = on_change_stop;
        lease(&client, 1000);
        if (refused) {
            world_run(client.world, 495 * SECOND);
            await_message(&client, REQUEST, 10);
            say(&client, NAK, 0);
        } else {
            for (unsigned i = 0; i < 1010; i++) {
                world_run(client.world, SECOND);
                while (heard(&client))
                    ;
            }
        }
        expect_equal(client.told, 2);
        expect_gone(&client);
    }
}

static void stopped_when_told_of_the_fallback(void **state) {
    (void)state;
    struct client client;
    begin(&client, FRAME_IPV4(10, 0, 0, 15));
    client.dhcp.options.handler = on_change_stop;
    world_run(client.world, (CONFIG_PLUMB_DHCP_PATIENCE_MS + 100) * MILLISECOND);
    expect_equal(client.told, 1);
    expect_gone(&client);
}

HARNESS_MAIN(cmocka_unit_test(offer_request_acknowledge),
             cmocka_unit_test(unanswered_it_asks_with_growing_pauses),
             cmocka_unit_test(fallback_after_patience_and_lease_after_that),
             cmocka_unit_test(renewed_by_unicast), cmocka_unit_test(rebound_and_lost),
             cmocka_unit_test(refused_at_renewal), cmocka_unit_test(refused_at_request),
             cmocka_unit_test(released_when_stopped), cmocka_unit_test(answers_of_strangers),
             cmocka_unit_test(answers_from_another_port), cmocka_unit_test(answers_cut_and_garbled),
             cmocka_unit_test(absurd_leases), cmocka_unit_test(stopped_when_told_of_the_loss),
             cmocka_unit_test(stopped_when_told_of_the_fallback))
