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

struct options {
    uint16_t mss;  /* clamped; the default when not given */
    uint8_t scale; /* clamped */
    bool has_scale;
};

static void take_option(const uint8_t *option, unsigned length, struct options *options) {
    if (option[0] == KIND_MSS && length == 4) {
        options->mss = (uint16_t)(option[2] << 8 | option[3]);
        if (options->mss < SMALLEST_MSS)
            options->mss = SMALLEST_MSS;
    } else if (option[0] == KIND_SCALE && length == 3) {
        options->has_scale = true;
        options->scale = option[2] > LARGEST_SCALE ? LARGEST_SCALE : option[2];
    }
}

static void parse(const struct pl_segment *segment, struct options *options) {
    const uint8_t *option = (const uint8_t *)(segment->header + 1);
    unsigned left = segment->options_length;

    *options = (struct options){.mss = DEFAULT_MSS};
    while (left && *option != KIND_END) {
        unsigned length = 1;
        if (*option != KIND_NOP) {
            if (left < 2 || option[1] < 2 || option[1] > left)
                return;
            length = option[1];
            take_option(option, length, options);
        }
        option += length;
        left -= length;
    }
}

static uint16_t interface_mss(const struct plumb_tcp *connection) {
    return (uint16_t)(connection->netif->mtu - PL_IPV4_HEADER - PL_TCP_HEADER);
}

unsigned pl_tcp_build_options(const struct plumb_tcp *connection, pl_header_word *to) {
    bool answering = connection->state == PLUMB_TCP_STATE_SYN_RECEIVED;

    to[0].be = plumb_put32(KIND_MSS << 24 | 4 << 16 | (uint32_t)interface_mss(connection)).be;
    if (answering && !(connection->flags & PL_TCP_SCALING))
        return 4;
    to[1].be = plumb_put32(KIND_NOP << 24 | KIND_SCALE << 16 | 3 << 8 | RECEIVE_SCALE).be;
    return 8;
}

static void apply(struct plumb_tcp *connection, const struct options *options) {
    size_t room = connection->stack->options.segments->capacity - (size_t)PL_HEADROOM;
    uint16_t mss = interface_mss(connection);

    if (mss > room)
        mss = (uint16_t)room;
    connection->mss = options->mss < mss ? options->mss : mss;
    if (options->has_scale) {
        connection->flags |= PL_TCP_SCALING;
        connection->send_scale = options->scale;
        connection->receive_scale = RECEIVE_SCALE;
    }
    pl_tcp_congestion_start(connection);
}

void pl_tcp_synchronise(struct plumb_tcp *connection, const struct pl_segment *segment) {
    struct options options;

    connection->receive_next = connection->receive_edge = connection->receive_acked =
        segment->sequence + 1;
    connection->send_window = segment->window;
    parse(segment, &options);
    apply(connection, &options);
}
