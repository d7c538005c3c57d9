/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * RFC 862 over UDP, port 7, as Plumb's echo application has it: what came goes back in
 * the buffer that it came in, and every thousand datagrams are a measured transfer.
 */
#include "board.h"

#include "lwip/udp.h"

#include "peer.h"

enum { PORT = 7, RUN = 1000 };

static unsigned count;
static uint64_t bytes, begun_us;

/* From one run's first datagram to the one behind its last, which counts for none. */
static void measure(uint16_t length) {
    if (count == RUN) {
        board_measure_stop();
        board_print("transfer: case=udp_echo bytes=%llu packets=%u time_us=%llu\n",
                    (unsigned long long)bytes, count,
                    (unsigned long long)(board_now_us() - begun_us));
        count = 0;
        return;
    }
    if (!count) {
        bytes = 0;
        begun_us = board_now_us();
        board_measure_start();
    }
    count++;
    bytes += length;
}

static void datagram(void *context, struct udp_pcb *pcb, struct pbuf *pbuf,
                     const ip_addr_t *address, u16_t port) {
    (void)context;
    measure(pbuf->tot_len);
    udp_sendto(pcb, pbuf, address, port);
    pbuf_free(pbuf);
}

void echo_start(void) {
    struct udp_pcb *pcb = udp_new();

    if (!pcb || udp_bind(pcb, IP_ADDR_ANY, PORT) != ERR_OK)
        peer_panic("no socket");
    udp_recv(pcb, datagram, NULL);
}
