/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * iperf 2 over TCP on lwIP's raw interface: what an unmodified client asks for with no
 * option and with -R, a stream at a time.
 *
 * On the first port what is received is counted where it lies and what is sent is copied;
 * on the second it is the other way round: received by copy, sent by reference. Between
 * the marks for measuring nothing is printed.
 */
#include "board.h"

#include "lwip/tcp.h"

#include "peer.h"

enum {
    PORT = 5001,
    OTHER_PORT = 5002,
    HEADER = 36, /* of the client's: as far as its second flags */
    AMOUNT_AT = 20,
    FLAGS2_AT = 32,
    ASKS_REVERSE = 0x0400,
    CHUNK = (PEER_LEVEL >= 2 ? 8
             : PEER_LEVEL    ? 2
                             : 1) *
            TCP_MSS, /* whole segments */
};

static struct stream {
    struct tcp_pcb *pcb; /* null: none */
    bool other;          /* came by the second port */
    bool begun, sending, over;
    uint32_t left; /* to be sent */
    uint64_t bytes, begun_us;
    struct peer_frames before;
} stream;

static uint32_t pattern[CHUNK / 4];
static uint32_t application[TCP_MSS / 4 + 1]; /* where received bytes are copied to */

static uint32_t load32(const uint8_t *b) {
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void report(struct stream *s) {
    uint64_t time = board_now_us() - s->begun_us;
    uint32_t in = peer_frames.received - s->before.received,
             out = peer_frames.sent - s->before.sent;

    board_print("transfer: case=%s bytes=%llu packets=%u datagrams_lost=0 acks=%u time_us=%llu\n",
                s->sending ? "tcp_tx" : "tcp_rx", (unsigned long long)s->bytes,
                s->sending ? (unsigned)out : (unsigned)in, s->sending ? 0 : (unsigned)out,
                (unsigned long long)time);
}

/* The stream is over, whatever has become of its connection. */
static void leave(struct stream *s) {
    if (s->begun && !s->over) {
        board_measure_stop();
        report(s);
    }
    s->over = true;
    s->pcb = NULL;
}

static err_t close(struct stream *s) {
    struct tcp_pcb *pcb = s->pcb;

    leave(s);
    tcp_arg(pcb, NULL);
    tcp_recv(pcb, NULL);
    tcp_sent(pcb, NULL);
    tcp_err(pcb, NULL);
    if (tcp_close(pcb) == ERR_OK)
        return ERR_OK;
    tcp_abort(pcb);
    return ERR_ABRT;
}

/* As many whole chunks as there is room for; lwIP sends them when its input is done. */
static void send_more(struct stream *s) {
    while (s->left) {
        uint16_t length = s->left < CHUNK ? (uint16_t)s->left : CHUNK;
        uint8_t flags = (s->other ? 0 : TCP_WRITE_FLAG_COPY) | TCP_WRITE_FLAG_MORE;
        if (tcp_sndbuf(s->pcb) < length || tcp_write(s->pcb, pattern, length, flags) != ERR_OK)
            return;
        s->left -= length;
        s->bytes += length;
    }
}

static err_t sent(void *context, struct tcp_pcb *pcb, u16_t length) {
    struct stream *s = context;

    (void)length;
    send_more(s);
    return s->left || tcp_sndqueuelen(pcb) ? ERR_OK : close(s);
}

static void begin(struct stream *s, const struct pbuf *pbuf) {
    uint8_t header[HEADER] = {0};
    uint16_t length = pbuf_copy_partial(pbuf, header, HEADER, 0);

    s->begun = true;
    s->sending = length == HEADER && load32(header + FLAGS2_AT) >> 16 & ASKS_REVERSE;
    s->before = peer_frames;
    board_measure_start();
    s->begun_us = board_now_us();
    if (!s->sending)
        return;
    s->left = load32(header + AMOUNT_AT); /* an amount of time would be a negative one */
    send_more(s);
}

static err_t received(void *context, struct tcp_pcb *pcb, struct pbuf *pbuf, err_t error) {
    struct stream *s = context;

    (void)error;
    if (!pbuf)
        return s->sending ? ERR_OK : close(s);
    if (!s->begun)
        begin(s, pbuf);
    if (!s->sending) {
        if (s->other)
            pbuf_copy_partial(pbuf, application, pbuf->tot_len, 0);
        s->bytes += pbuf->tot_len;
    }
    tcp_recved(pcb, pbuf->tot_len);
    pbuf_free(pbuf);
    return ERR_OK;
}

/* The connection is gone already. */
static void failed(void *context, err_t error) {
    (void)error;
    leave(context);
}

/* A new stream takes the place of one whose client never came to its end. */
static err_t accepted(void *context, struct tcp_pcb *pcb, err_t error) {
    if (error != ERR_OK || !pcb)
        return ERR_VAL;
    if (stream.pcb)
        tcp_abort(stream.pcb);
    stream = (struct stream){.pcb = pcb, .other = context != NULL};
    tcp_arg(pcb, &stream);
    tcp_recv(pcb, received);
    tcp_sent(pcb, sent);
    tcp_err(pcb, failed);
    return ERR_OK;
}

static void listen(uint16_t port, void *context) {
    struct tcp_pcb *pcb = tcp_new();

    if (!pcb || tcp_bind(pcb, IP_ADDR_ANY, port) != ERR_OK || !(pcb = tcp_listen(pcb)))
        peer_panic("no listener");
    tcp_arg(pcb, context);
    tcp_accept(pcb, accepted);
}

void application_start(void) {
    for (unsigned i = 0; i < sizeof pattern; i++)
        ((uint8_t *)pattern)[i] = (uint8_t)('0' + i % 10);
    listen(PORT, NULL);
    listen(OTHER_PORT, &stream);
    echo_start();
}
