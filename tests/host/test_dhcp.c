/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The DHCP client against a server played by the test. */
#include <string.h>

#include <plumb_config.h>

#include "dhcp_server.h"

static void offer_request_acknowledge(void **state) {
    (void)state;
    struct client client;
    client_begin(&client, 0);
    server_lease(&client, 3600);
    expect(!client_heard(&client));
    world_run(client.world, 1700 * SECOND);
    expect(!client_heard(&client));
    client_end(&client);
}

static void unanswered_it_asks_with_growing_pauses(void **state) {
    (void)state;
    struct client client;
    uint64_t times[16], longest = 0;
    unsigned asked = 0;
    client_begin(&client, 0);
    for (unsigned i = 0; i < 3000 && asked < 12; i++) {
        while (client_heard(&client) && asked < 12) {
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
    client_end(&client);
}

static void fallback_after_patience_and_lease_after_that(void **state) {
    (void)state;
    struct client client;
    uint32_t fallback = FRAME_IPV4(10, 0, 0, 15);
    client_begin(&client, fallback);
    world_run(client.world, (CONFIG_PLUMB_DHCP_PATIENCE_MS - 100) * MILLISECOND);
    expect_equal(client_address(&client), 0);
    world_run(client.world, 200 * MILLISECOND);
    expect_equal(client_address(&client), fallback);
    expect_equal(client.told, 1);
    expect(!client.dhcp.bound);
    while (client_heard(&client))
        ;
    client.told = 0;
    for (unsigned i = 0; i < 200 && !client_heard(&client); i++)
        world_run(client.world, SECOND);
    expect_equal(client.last.type, DISCOVER);
    server_say(&client, OFFER, 3600);
    client_expect(&client, REQUEST);
    server_say(&client, ACK, 3600);
    expect_equal(client_address(&client), LEASED);
    expect_equal(client.told, 1);
    client_end(&client);
}

static void renewed_by_unicast(void **state) {
    (void)state;
    struct client client;
    client_begin(&client, 0);
    server_lease(&client, 1000);
    for (unsigned times = 0; times < 5; times++) {
        world_run(client.world, 495 * SECOND);
        expect(!client_heard(&client));
        client_await(&client, REQUEST, 10);
        expect_equal(client.last.client, LEASED);
        expect_equal(client.last.requested, 0);
        expect_equal(client.last.server, 0);
        expect(!client.last.to_broadcast);
        server_say(&client, ACK, 1000);
        expect_equal(client_address(&client), LEASED);
    }
    expect_equal(client.told, 1);
    client_end(&client);
}

/* Nobody answers: by broadcast from seven eighths on, and at the end it is given up. */
static void rebound_and_lost(void **state) {
    (void)state;
    struct client client;
    bool broadcast = false, anew = false;
    client_begin(&client, 0);
    server_lease(&client, 1000);
    for (unsigned i = 0; i < 1100; i++) {
        world_run(client.world, SECOND);
        while (client_heard(&client)) {
            broadcast |= client.last.type == REQUEST && client.last.to_broadcast;
            anew |= client.last.type == DISCOVER;
        }
        expect_equal(client_address(&client), i < 998    ? LEASED
                                              : i > 1002 ? 0
                                                         : client_address(&client));
    }
    expect(broadcast);
    expect(anew);
    expect_equal(client.told, 2);
    expect(!client.dhcp.bound);
    client_end(&client);
}

static void refused_at_renewal(void **state) {
    (void)state;
    struct client client;
    client_begin(&client, 0);
    server_lease(&client, 1000);
    world_run(client.world, 495 * SECOND);
    client_await(&client, REQUEST, 10);
    server_say(&client, NAK, 0);
    expect_equal(client_address(&client), 0);
    expect_equal(client.told, 2);
    world_run(client.world, 3 * SECOND);
    client_expect(&client, DISCOVER);
    client_end(&client);
}

static void refused_at_request(void **state) {
    (void)state;
    struct client client;
    client_begin(&client, 0);
    client_expect(&client, DISCOVER);
    server_say(&client, OFFER, 1000);
    client_expect(&client, REQUEST);
    server_say(&client, NAK, 0);
    expect_equal(client_address(&client), 0);
    world_run(client.world, 3 * SECOND);
    client_expect(&client, DISCOVER);
    client_end(&client);
}

/* RELEASE goes to the server that gave the lease. */
static void released_when_stopped(void **state) {
    (void)state;
    struct client client;
    client_begin(&client, 0);
    server_lease(&client, 1000);
    world_introduce(client.world);
    /* Ours is another address than the harness thinks. */
    struct frame frame;
    frame_arp(&frame, client.world->a.ethernet, 1, client.world->b.ethernet, SERVER,
              client.world->a.ethernet, LEASED);
    world_inject(client.world, &frame);
    world_drain(client.world);
    plumb_dhcp_stop(&client.dhcp);
    world_settle(client.world);
    client_expect(&client, RELEASE);
    expect_equal(client.last.client, LEASED);
    expect_equal(client.last.server, SERVER);
    expect(!client.last.to_broadcast);
    expect_equal(client_address(&client), 0);
    world_run(client.world, 3000 * SECOND);
    expect(!client_heard(&client));
    world_end(client.world);
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
    while (client_heard(client))
        expect_equal(client->last.type, DISCOVER); /* sent before */
    world_run(client->world, 200 * SECOND);
    expect(!client_heard(client));
    for (size_t i = 0; i < sizeof client->dhcp; i++)
        expect_equal(((const uint8_t *)&client->dhcp)[i], 0xa5);
    expect_equal(client_address(client), 0);
    expect_equal(side_buffers_used(&client->world->a), 0);
    world_end(client->world);
}

/* Refused at renewal, or never answered until it ends. */
static void stopped_when_told_of_the_loss(void **state) {
    (void)state;
    for (unsigned refused = 0; refused < 2; refused++) {
        struct client client;
        client_begin(&client, 0);
        client.dhcp.options.handler = on_change_stop;
        server_lease(&client, 1000);
        if (refused) {
            world_run(client.world, 495 * SECOND);
            client_await(&client, REQUEST, 10);
            server_say(&client, NAK, 0);
        } else {
            for (unsigned i = 0; i < 1010; i++) {
                world_run(client.world, SECOND);
                while (client_heard(&client))
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
    client_begin(&client, FRAME_IPV4(10, 0, 0, 15));
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
             cmocka_unit_test(released_when_stopped),
             cmocka_unit_test(stopped_when_told_of_the_loss),
             cmocka_unit_test(stopped_when_told_of_the_fallback))
