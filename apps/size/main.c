/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * One user of everything that a small device has of a network, so that its firmware
 * shows what that takes: TCP that listens, accepts, connects, receives in place, sends by
 * copy and by reference, closes and aborts; UDP that receives and sends. ARP, ICMP and
 * IPv4 come with them. bench/peers/lwip/zynq/size.c is the same over lwIP.
 *
 * It echoes on port 7, over both protocols, and greets whoever listens on port 9 of the
 * gateway.
 */
#include "board.h"

enum { ECHO = 7, DISCARD = 9, BACKLOG = 4, GREETING = 64 };

static const uint8_t words[GREETING];
static struct plumb_reference greeting;

/* Closes when the peer does, even if bytes still wait for room: apps/echo's, which sends them
 * first, asks for the connection's state, and that would be measured here. */
static void echo(struct plumb_tcp *connection, unsigned events, void *context) {
    struct plumb_iovec vector;
    (void)context;
    if (events & PLUMB_TCP_CLOSED)
        return;
    while (plumb_tcp_peek(connection, &vector, 1)) {
        int sent = plumb_tcp_send(connection, vector.data, vector.length);
        if (sent <= 0)
            break;
        plumb_tcp_consume(connection, (size_t)sent);
    }
    if (events & PLUMB_TCP_PEER_CLOSED)
        plumb_tcp_close(connection);
}

static void greet(struct plumb_tcp *connection, unsigned events, void *context) {
    (void)context;
    if (!(events & PLUMB_TCP_CONNECTED))
        return;
    if (plumb_tcp_send_reference(connection, &greeting))
        plumb_tcp_abort(connection);
    else
        plumb_tcp_close(connection);
}

static void accept(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                   void *context) {
    (void)listener;
    plumb_tcp_set_handler(connection, echo, context);
}

static void datagram(struct plumb_udp *socket, struct plumb_packet *payload,
                     const struct plumb_udp_source *source, void *context) {
    (void)context;
    if (source->from.port >= 1024)
        plumb_udp_send(socket, source->from, payload->data, payload->length);
}

void app_start(struct plumb *stack, struct plumb_netif *netif) {
    static struct plumb_tcp_listener *listener;
    static struct plumb_udp *socket;
    const struct plumb_endpoint here = {PLUMB_IPV4_ANY, ECHO};
    (void)netif;
    if (plumb_tcp_listen(stack, here, BACKLOG, accept, NULL, &listener) ||
        plumb_udp_open(stack, here, datagram, NULL, &socket))
        board_exit(1);
}

void app_ready(struct plumb *stack, struct plumb_netif *netif) {
    static struct plumb_tcp *connection;
    const struct plumb_endpoint there = {netif->gateway, DISCARD};
    if (greeting.length)
        return; /* another address; one greeting is enough */
    greeting = (struct plumb_reference){.memory = words, .length = GREETING};
    plumb_tcp_connect(stack, there, 0, greet, NULL, &connection);
}

bool app_poll(struct plumb *stack) {
    (void)stack;
    return false;
}
