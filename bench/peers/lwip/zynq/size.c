/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What apps/size is over Plumb, over lwIP's raw interface: TCP that listens, accepts,
 * connects, receives in place, sends by copy and by reference, closes and aborts; UDP
 * that receives and sends.
 */
#include "board.h"

#include "lwip/tcp.h"
#include "lwip/udp.h"

#include "peer.h"

enum { ECHO = 7, DISCARD = 9, GREETING = 64 };

static const uint8_t words[GREETING];

static void close(struct tcp_pcb *pcb) {
    tcp_recv(pcb, NULL);
    tcp_close(pcb);
}

static err_t echo(void *context, struct tcp_pcb *pcb, struct pbuf *pbuf, err_t error) {
    (void)context;
    (void)error;
    if (!pbuf) {
        close(pcb);
        return ERR_OK;
    }
    if (tcp_write(pcb, pbuf->payload, pbuf->len, TCP_WRITE_FLAG_COPY) != ERR_OK)
        return ERR_MEM; /* it comes again */
    tcp_recved(pcb, pbuf->tot_len);
    pbuf_free(pbuf);
    return ERR_OK;
}

static err_t greet(void *context, struct tcp_pcb *pcb, err_t error) {
    (void)context;
    (void)error;
    if (tcp_write(pcb, words, GREETING, 0) != ERR_OK) {
        tcp_abort(pcb);
        return ERR_ABRT;
    }
    close(pcb);
    return ERR_OK;
}

static err_t accepted(void *context, struct tcp_pcb *pcb, err_t error) {
    (void)context;
    (void)error;
    tcp_recv(pcb, echo);
    return ERR_OK;
}

static void datagram(void *context, struct udp_pcb *pcb, struct pbuf *pbuf,
                     const ip_addr_t *address, u16_t port) {
    (void)context;
    if (port >= 1024)
        udp_sendto(pcb, pbuf, address, port);
    pbuf_free(pbuf);
}

void application_start(void) {
    struct tcp_pcb *listener = tcp_new(), *pcb = tcp_new();
    struct udp_pcb *socket = udp_new();
    ip_addr_t gateway;

    IP_ADDR4(&gateway, 10, 0, 2, 2);
    if (!listener || tcp_bind(listener, IP_ADDR_ANY, ECHO) != ERR_OK ||
        !(listener = tcp_listen(listener)))
        peer_panic("no listener");
    tcp_accept(listener, accepted);
    if (!socket || udp_bind(socket, IP_ADDR_ANY, ECHO) != ERR_OK)
        peer_panic("no socket");
    udp_recv(socket, datagram, NULL);
    if (pcb)
        tcp_connect(pcb, &gateway, DISCARD, greet);
}
