/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The DHCP client on a single stack, and a server that a test plays by hand. */
#ifndef PLUMB_TEST_DHCP_SERVER_H
#define PLUMB_TEST_DHCP_SERVER_H

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

/* A client that has sent its first message, on a stack without an address. */
void client_begin(struct client *client, uint32_t fallback);
void client_end(struct client *client);

uint32_t client_address(const struct client *client);

/* The client's next message, in client->last; false when it sent none. */
bool client_heard(struct client *client);

/* The next message, now or within some seconds; fails unless it is of this type. */
void client_expect(struct client *client, unsigned type);
void client_await(struct client *client, unsigned type, unsigned seconds);

/* Puts an answer to the client's last message together; what a test wants wrong it changes
 * before sending. */
void server_answer(struct frame *frame, const struct client *client, unsigned type,
                   uint32_t lease_s);
void server_say(struct client *client, unsigned type, uint32_t lease_s);

/* From DISCOVER to the lease. */
void server_lease(struct client *client, uint32_t lease_s);

#endif
