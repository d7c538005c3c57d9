/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The DHCP client and its server: see dhcp_server.h. */
#include "dhcp_server.h"

#include <string.h>

static void on_change(struct plumb_dhcp *dhcp, void *context) {
    struct client *client = context;
    expect(dhcp == &client->dhcp);
    client->told++;
}

uint32_t client_address(const struct client *client) {
    return plumb_get32(client->world->a.netif->ipv4);
}

void client_begin(struct client *client, uint32_t fallback) {
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

void client_end(struct client *client) {
    plumb_dhcp_stop(&client->dhcp);
    world_settle(client->world);
    expect_equal(client_address(client), 0);
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
bool client_heard(struct client *client) {
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
void client_await(struct client *client, unsigned type, unsigned seconds) {
    for (unsigned i = 0; i < 2 * seconds; i++) {
        if (client_heard(client)) {
            expect_equal(client->last.type, type);
            return;
        }
        world_run(client->world, 500 * MILLISECOND);
    }
    fail_msg("no message of type %u within %u s", type, seconds);
}

void client_expect(struct client *client, unsigned type) {
    if (!client_heard(client))
        fail_msg("the client sent nothing; expected a message of type %u", type);
    expect_equal(client->last.type, type);
}

/* Puts an answer together; what a test wants wrong it changes before sending. */
void server_answer(struct frame *frame, const struct client *client, unsigned type,
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

void server_say(struct client *client, unsigned type, uint32_t lease_s) {
    struct frame frame;
    server_answer(&frame, client, type, lease_s);
    world_inject(client->world, &frame);
}

void server_lease(struct client *client, uint32_t lease_s) {
    client_expect(client, DISCOVER);
    expect(client->last.broadcast_flag && client->last.to_broadcast);
    server_say(client, OFFER, lease_s);
    client_expect(client, REQUEST);
    expect_equal(client->last.requested, LEASED);
    expect_equal(client->last.server, SERVER);
    expect(client->last.to_broadcast);
    expect_equal(client_address(client), 0);
    server_say(client, ACK, lease_s);
    expect_equal(client_address(client), LEASED);
    expect_equal(plumb_get32(client->world->a.netif->netmask), NETMASK);
    expect_equal(plumb_get32(client->world->a.netif->gateway), ROUTER);
    expect_equal(plumb_get32(client->dhcp.name_server), SERVER);
    expect(client->dhcp.bound);
    expect_equal(client->told, 1);
}
