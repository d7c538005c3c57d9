/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* DHCP messages that have broken other stacks: row 64 of docs/hostile.md. */
#include <string.h>

#include <plumb_config.h>

#include "dhcp_server.h"
#include "siege.h"

enum { OPTIONS = FRAME_UDP_PAYLOAD + 240 };

static struct siege siege;
static struct client client;

static void on_change(struct plumb_dhcp *dhcp, void *context) {
    (void)dhcp;
    (void)context;
    fail_msg("the address has changed");
}

/* A client that asks for an address beside the flow, which has one already. */
static void begin(void) {
    struct plumb_dhcp_options options = {.handler = on_change, .patience_ms = 100000000};
    siege_begin(&siege, 0);
    client = (struct client){.world = siege.world};
    expect_equal(
        plumb_dhcp_start(&client.dhcp, siege.world->a.stack, siege.world->a.netif, &options),
        PLUMB_OK);
    world_settle(siege.world);
    client_expect(&client, DISCOVER);
}

/* It is where it was: a good answer still works. */
static void end(void) {
    client.last.transaction = client.dhcp.transaction;
    server_say(&client, OFFER, 1000);
    client_expect(&client, REQUEST);
    siege_end(&siege);
}

static void ignored(struct frame *frame) {
    uint32_t before = client.dhcp.ignored;
    frame_fix_checksums(frame);
    if (siege_take(&siege, frame))
        fail_msg("an answer to what should have been ignored");
    expect_equal(client.dhcp.ignored, before + 1);
}

static struct frame offer(void) {
    struct frame frame;
    server_answer(&frame, &client, OFFER, 1000);
    return frame;
}

/* Direction, hardware type and length, transaction, client's hardware, cookie: every bit. */
static void test_hostile_64_dhcp_answers_of_strangers(void **state) {
    (void)state;
    static const uint8_t offsets[] = {0,  1,  2,  4,  5,   6,   7,   28, 29,
                                      30, 31, 32, 33, 236, 237, 238, 239};
    begin();
    for (unsigned i = 0; i < sizeof offsets; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            struct frame frame = offer();
            frame.bytes[FRAME_UDP_PAYLOAD + offsets[i]] ^= (uint8_t)(1U << bit);
            ignored(&frame);
        }
    end();
}

static void test_hostile_64_dhcp_answers_from_another_port(void **state) {
    (void)state;
    static const uint16_t ports[] = {0, 66, 68, 69, 1067, 67 << 8, 0xffff};
    begin();
    for (unsigned i = 0; i < sizeof ports / sizeof *ports; i++) {
        struct frame frame = offer();
        frame_put16(&frame, FRAME_TRANSPORT, ports[i]);
        ignored(&frame);
    }
    end();
}

/* Everything but an offer, and an offer that names no server. */
static void test_hostile_64_dhcp_messages_nobody_asked_for(void **state) {
    (void)state;
    begin();
    for (unsigned type = 0; type < 256; type++) {
        struct frame frame = offer();
        frame.bytes[OPTIONS + 2] = (uint8_t)type;
        if (type != OFFER)
            ignored(&frame);
    }
    struct frame frame = offer();
    frame_put32(&frame, OPTIONS + 7, 0);
    ignored(&frame);
    frame = offer();
    frame_put32(&frame, FRAME_UDP_PAYLOAD + 16, 0);
    ignored(&frame);
    end();
}

/* Where each option of the answer begins, behind the type and two of no length. */
enum { FIRST = 5, EACH = 6, COUNT = 5, END = FIRST + EACH * COUNT };

static void test_hostile_64_dhcp_cut_and_overrun(void **state) {
    (void)state;
    begin();
    /* Cut anywhere but between two options. */
    for (unsigned length = 0; length < 240 + END; length++) {
        struct frame frame = offer();
        frame.length = (uint16_t)(FRAME_UDP_PAYLOAD + length);
        frame_finish(&frame);
        if (length < 240 + FIRST + EACH || (length - 240 - FIRST) % EACH)
            ignored(&frame);
    }
    /* Each length too long by one and more, to the greatest. */
    for (unsigned option = 0; option < COUNT; option++) {
        unsigned at = FIRST + EACH * option;
        for (unsigned length = END + 1 - at - 1; length < 256; length++) {
            struct frame frame = offer();
            frame.bytes[OPTIONS + at + 1] = (uint8_t)length;
            ignored(&frame);
        }
    }
    end();
}

/* Nothing that is in an offer's options makes it take an address, or lose the flow's. */
static void test_hostile_64_dhcp_garbled_options(void **state) {
    (void)state;
    struct random random = {1};
    begin();
    siege.flood = true;
    for (unsigned i = 0; i < 20000; i++) {
        client.last.transaction = client.dhcp.transaction;
        struct frame frame = offer();
        for (unsigned k = 1 + random_below(&random, 5); k--;)
            frame.bytes[OPTIONS + random_below(&random, END + 1)] = (uint8_t)random_next(&random);
        frame.bytes[OPTIONS + 2] = OFFER;
        frame.length = (uint16_t)(frame.length - random_below(&random, 20));
        frame_finish(&frame);
        siege_take(&siege, &frame);
        if (i % 100 == 0)
            siege_wait(&siege, SECOND);
    }
    expect(client.dhcp.ignored > 10000);
    expect_equal(client.dhcp.bound, false);
    siege_end(&siege);
}

/* ---- with a lease ---- */

/* The client has what it wants: whoever says something now is not heard. */
static void test_hostile_64_dhcp_messages_to_a_client_with_a_lease(void **state) {
    (void)state;
    client_begin(&client, 0);
    server_lease(&client, 3600);
    for (unsigned type = 0; type < 256; type++)
        server_say(&client, type, 1);
    expect_equal(client.dhcp.ignored, 256);
    expect_equal(client_address(&client), LEASED);
    expect_equal(client.told, 1);
    expect(!client_heard(&client));
    world_run(client.world, 1700 * SECOND);
    expect(!client_heard(&client));
    client_end(&client);
}

/* Addresses that no host could have, and leases of no length, of all time. */
static void test_hostile_64_dhcp_absurd_leases(void **state) {
    (void)state;
    static const uint32_t addresses[] = {0, 0xffffffffU, FRAME_IPV4(127, 0, 0, 1),
                                         FRAME_IPV4(224, 0, 0, 1)};
    for (unsigned i = 0; i < 4; i++) {
        struct frame frame;
        client_begin(&client, 0);
        for (unsigned type = OFFER; type <= ACK; type += ACK - OFFER) {
            if (!client_heard(&client))
                break;
            server_answer(&frame, &client, type, 1000);
            frame_put32(&frame, FRAME_UDP_PAYLOAD + 16, addresses[i]);
            frame_fix_checksums(&frame);
            world_inject(client.world, &frame);
        }
        expect_equal(client_address(&client), 0);
        expect(!client.dhcp.bound);
        client_end(&client);
    }
    static const uint32_t leases[] = {0, 1, 0x7fffffff, 0xffffffffU};
    for (unsigned i = 0; i < 4; i++) {
        client_begin(&client, 0);
        server_lease(&client, leases[i]);
        unsigned asked = 0;
        for (unsigned k = 0; k < 60; k++) {
            world_run(client.world, SECOND);
            while (client_heard(&client))
                asked++;
        }
        expect(asked <= 2);
        client_end(&client);
    }
}

HARNESS_MAIN(cmocka_unit_test(test_hostile_64_dhcp_answers_of_strangers),
             cmocka_unit_test(test_hostile_64_dhcp_answers_from_another_port),
             cmocka_unit_test(test_hostile_64_dhcp_messages_nobody_asked_for),
             cmocka_unit_test(test_hostile_64_dhcp_cut_and_overrun),
             cmocka_unit_test(test_hostile_64_dhcp_garbled_options),
             cmocka_unit_test(test_hostile_64_dhcp_messages_to_a_client_with_a_lease),
             cmocka_unit_test(test_hostile_64_dhcp_absurd_leases))
