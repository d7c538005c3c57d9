/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The exchange over Plumb's native interface, an application of the linux board's. */
#include "exchange.h"

enum { VECTORS = 8 };

static struct exchange exchange;
static bool shut, peer_closed, told;

static void send_more(struct plumb_tcp *connection) {
    while (!shut) {
        if (!exchange_fill(&exchange)) {
            shut = true;
            plumb_tcp_shutdown(connection);
            return;
        }
        int sent = plumb_tcp_send(connection, exchange.bytes + exchange.begin,
                                  exchange.end - exchange.begin);
        if (sent <= 0)
            return;
        exchange.begin += (unsigned)sent;
    }
}

static void read_all(struct plumb_tcp *connection) {
    struct plumb_iovec vectors[VECTORS];
    unsigned count;

    while ((count = plumb_tcp_peek(connection, vectors, VECTORS)) > 0) {
        size_t length = 0;
        for (unsigned i = 0; i < count; i++) {
            exchange_add(&exchange.received, vectors[i].data, vectors[i].length);
            length += vectors[i].length;
        }
        plumb_tcp_consume(connection, length);
    }
}

static void handle(struct plumb_tcp *connection, unsigned events, void *context) {
    (void)context;
    if (events & (PLUMB_TCP_CONNECTED | PLUMB_TCP_WRITABLE))
        send_more(connection);
    if (events & PLUMB_TCP_READABLE)
        read_all(connection);
    peer_closed |= (events & PLUMB_TCP_PEER_CLOSED) != 0;
    if (events & PLUMB_TCP_CLOSED && plumb_tcp_error(connection) != PLUMB_OK && !told)
        exchange_fail(plumb_error_text(plumb_tcp_error(connection)));
    if (shut && peer_closed && !told) {
        told = true;
        exchange_tell(&exchange);
    }
}

static void accepted(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                     void *context) {
    (void)listener;
    (void)context;
    plumb_tcp_set_handler(connection, handle, NULL);
    send_more(connection);
}

void app_start(struct plumb *stack, struct plumb_netif *netif) {
    static struct plumb_tcp_listener *listener;

    (void)netif;
    exchange_begin(&exchange);
    if (!exchange.connects &&
        plumb_tcp_listen(stack, (struct plumb_endpoint){.port = exchange.port}, 4, accepted, NULL,
                         &listener) != PLUMB_OK)
        exchange_fail("listen");
}

void app_ready(struct plumb *stack, struct plumb_netif *netif) {
    const struct plumb_endpoint remote = {{exchange.address}, exchange.port};
    static struct plumb_tcp *connection;

    (void)netif;
    if (exchange.connects)
        if (plumb_tcp_connect(stack, remote, 0, handle, NULL, &connection) != PLUMB_OK)
            exchange_fail("connect");
}

bool app_poll(struct plumb *stack) {
    (void)stack;
    return false;
}
