/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * TCP options of a SYN: maximum segment size (RFC 9293 section 3.7.1) and
 * window scale (RFC 7323 section 2). Others are stepped over.
 */
#include "tcp/tcp.h"

enum { KIND_END = 0, KIND_NOP = 1, KIND_MSS = 2, KIND_SCALE = 3 };

#define DEFAULT_MSS 536
/* Smaller ones make a sender spend more on headers than on bytes; Linux's floor. */
#define SMALLEST_MSS  48
#define LARGEST_SCALE 14
/* What we offer: enough for the largest buffer, 1 MiB, that a user may ask for once
 * the connection stands; a window then counts in units of 32 bytes. */
#define RECEIVE_SCALE 5

static uint16_t interface_mss(const struct plumb_tcp *connection) {
    return (uint16_t)(connection->netif->mtu - PL_IPV4_HEADER - PL_TCP_HEADER);
}

/* What to send at most: what the peer takes, the interface carries and a buffer
 * holds. */
static void take_mss(struct plumb_tcp *connection, unsigned offered) {
    unsigned room = pl_tcp_stack(connection)->options.segments->capacity - (unsigned)PL_HEADROOM;
    unsigned mss = interface_mss(connection);

    if (offered < SMALLEST_MSS)
        offered = SMALLEST_MSS;
    if (mss > offered)
        mss = offered;
    connection->mss = (uint16_t)(mss < room ? mss : room);
}

#ifdef CONFIG_PLUMB_TCP_WINDOW_SCALE
void pl_tcp_agree_scale(struct plumb_tcp *connection, uint8_t scale) {
    connection->flags |= PL_TCP_SCALING;
    connection->send_scale = scale > LARGEST_SCALE ? LARGEST_SCALE : scale;
    connection->receive_scale = RECEIVE_SCALE;
}
#endif

static void take_option(struct plumb_tcp *connection, const uint8_t *option) {
    if (option[0] == KIND_MSS && option[1] == 4) {
        take_mss(connection, plumb_get16_any((const void *)(option + 2)));
    }
#ifdef CONFIG_PLUMB_TCP_WINDOW_SCALE
    if (option[0] == KIND_SCALE && option[1] == 3)
        pl_tcp_agree_scale(connection, option[2]);
#endif
}

void pl_tcp_synchronise(struct plumb_tcp *connection, const struct pl_segment *segment) {
    const uint8_t *option = (const uint8_t *)(segment->header + 1);
    unsigned left = segment->options_length;

    connection->receive_next = connection->receive_edge = connection->receive_acked =
        segment->sequence + 1;
    connection->send_window = (pl_tcp_size)segment->window;
    take_mss(connection, DEFAULT_MSS);
    while (left && *option != KIND_END) {
        unsigned length = 1;
        if (*option != KIND_NOP) {
            if (left < 2 || option[1] < 2 || option[1] > left)
                break;
            length = option[1];
            take_option(connection, option);
        }
        option += length;
        left -= length;
    }
    pl_tcp_congestion_start(connection);
}

unsigned pl_tcp_build_options(const struct plumb_tcp *connection, pl_header_word *to) {
    to[0].be = plumb_put32(KIND_MSS << 24 | 4 << 16 | (uint32_t)interface_mss(connection)).be;
#ifdef CONFIG_PLUMB_TCP_WINDOW_SCALE
    bool answering = connection->state == PLUMB_TCP_STATE_SYN_RECEIVED;
    if (!answering || connection->flags & PL_TCP_SCALING) {
        to[1].be = plumb_put32(KIND_NOP << 24 | KIND_SCALE << 16 | 3 << 8 | RECEIVE_SCALE).be;
        return 8;
    }
#endif
    return 4;
}
