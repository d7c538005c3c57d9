/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The exchange over lwIP's raw interface. */
#include "exchange.h"

#include "lwip/tcp.h"

#include "peer.h"

static struct exchange exchange;
static bool shut, peer_closed, told;

static void send_more(struct tcp_pcb *pcb) {
    while (!shut) {
        if (!exchange_fill(&exchange)) {
            shut = true;
            tcp_shutdown(pcb, 0, 1);
            return;
        }
        unsigned room = tcp_sndbuf(pcb), length = exchange.end - exchange.begin;
        if (length > room)
            length = room;
        if (!length || tcp_write(pcb, exchange.bytes + exchange.begin, (u16_t)length,
                                 TCP_WRITE_FLAG_COPY) != ERR_OK)
            break;
        exchange.begin += length;
    }
    tcp_output(pcb);
}

static void look_whether_done(void) {
    if (!shut || !peer_closed || told)
        return;
    told = true;
    exchange_tell(&exchange);
}

static err_t sent(void *context, struct tcp_pcb *pcb, u16_t length) {
    (void)context;
    (void)length;
    send_more(pcb);
    look_whether_done();
    return ERR_OK;
}

static err_t received(void *context, struct tcp_pcb *pcb, struct pbuf *pbuf, err_t error) {
    (void)context;
    (void)error;
    if (!pbuf) {
        peer_closed = true;
        look_whether_done();
        return ERR_OK;
    }
    for (struct pbuf *p = pbuf; p; p = p->next)
        exchange_add(&exchange.received, p->payload, p->len);
    tcp_recved(pcb, pbuf->tot_len);
    pbuf_free(pbuf);
    return ERR_OK;
}

static void failed(void *context, err_t error) {
    (void)context;
    (void)error;
    if (!told)
        exchange_fail("the connection was reset, or gave up");
}

/* A connection that has given up before its other end had everything tells nothing. */
static err_t begin(void *context, struct tcp_pcb *pcb, err_t error) {
    (void)context;
    if (error != ERR_OK || !pcb)
        return ERR_VAL;
    tcp_recv(pcb, received);
    tcp_sent(pcb, sent);
    tcp_err(pcb, failed);
    send_more(pcb);
    return ERR_OK;
}

void application_start(void) {
    struct tcp_pcb *pcb = tcp_new();
    ip_addr_t remote = {0};

    exchange_begin(&exchange);
    remote.addr = exchange.address;
    if (exchange.connects) {
        tcp_err(pcb, failed);
        if (tcp_connect(pcb, &remote, exchange.port, begin) != ERR_OK)
            exchange_fail("connect");
        return;
    }
    if (tcp_bind(pcb, IP_ADDR_ANY, exchange.port) != ERR_OK || !(pcb = tcp_listen(pcb)))
        exchange_fail("listen");
    tcp_accept(pcb, begin);
}
