/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * TCP options (RFC 9293 section 3.1): finding one in a segment, whatever the others are, and
 * those that are sent. Maximum segment size (RFC 9293 section 3.7.1) and window scale
 * (RFC 7323 section 2) are taken here; timestamps.c has its own.
 */
#include "tcp/tcp.h"

#define DEFAULT_MSS   536
#define LARGEST_SCALE 14

const uint8_t *pl_tcp_option(const struct pl_segment *segment, uint8_t kind, unsigned length) {
    const uint8_t *option = (const uint8_t *)(segment->header + 1);
    unsigned left = segment->options_length;

    while (left && *option != PL_TCP_OPTION_END) {
        unsigned size = 1;
        if (*option != PL_TCP_OPTION_NOP) {
            if (left < 2 || option[1] < 2 || option[1] > left)
                break;
            size = option[1];
            if (*option == kind && (size == length || length == 0))
                return option;
        }
        option += size;
        left -= size;
    }
    return NULL;
}

/* ---- taken from the peer's SYN ---- */

/* What to send at most: what the peer takes, the interface carries and the user allows, all
 * without the options (RFC 9293 section 3.7.1, RFC 6691), and what a buffer holds. */
static void take_mss(struct plumb_tcp *connection, const struct pl_segment *syn) {
    const uint8_t *option = pl_tcp_option(syn, PL_TCP_OPTION_MSS, 4);
    unsigned room = pl_tcp_stack(connection)->options.segments->capacity - (unsigned)PL_HEADROOM;
    unsigned offered = option ? plumb_get16_any((const void *)(option + 2)) : DEFAULT_MSS;
    unsigned mss = pl_tcp_interface_mss(connection);

    if (offered < PL_TCP_SMALLEST_MSS)
        offered = PL_TCP_SMALLEST_MSS;
#ifdef CONFIG_PLUMB_TCP_MSS_LIMIT
    if (mss > connection->mss)
        mss = connection->mss;
#endif
    if (mss > offered)
        mss = offered;
    mss -= pl_tcp_stamp_length(connection);
    connection->mss = (uint16_t)(mss < room ? mss : room);
}

#ifdef CONFIG_PLUMB_TCP_WINDOW_SCALE
void pl_tcp_agree_scale(struct plumb_tcp *connection, uint8_t scale) {
    connection->flags |= PL_TCP_SCALING;
    connection->send_scale = scale > LARGEST_SCALE ? LARGEST_SCALE : scale;
}
#endif

static void take_scale(struct plumb_tcp *connection, const struct pl_segment *syn) {
#ifdef CONFIG_PLUMB_TCP_WINDOW_SCALE
    const uint8_t *option = pl_tcp_option(syn, PL_TCP_OPTION_SCALE, 3);

    if (option)
        pl_tcp_agree_scale(connection, option[2]);
#else
    (void)connection;
    (void)syn;
#endif
}

void pl_tcp_synchronise(struct plumb_tcp *connection, const struct pl_segment *segment) {
    connection->receive_next = connection->receive_edge = connection->receive_acked =
        segment->sequence + 1;
    connection->send_window = (pl_tcp_size)segment->window;
    pl_tcp_agree_on_timestamps(connection, segment);
    pl_tcp_agree_on_ecn(connection, segment);
#ifdef CONFIG_PLUMB_TCP_SACK
    if (pl_tcp_option(segment, PL_TCP_OPTION_SACK_PERMITTED, 2))
        connection->agreed |= PL_TCP_SACK;
#endif
    take_scale(connection, segment);
    take_mss(connection, segment);
    pl_tcp_begin_path(connection);
    pl_tcp_congestion_start(connection);
}

/* ---- sent ---- */

/* What the peer is to send at most. Who listens has limited it there, as `mss` is by now what
 * was agreed on; who opens, here. */
static uint16_t wanted_mss(const struct plumb_tcp *connection) {
    uint16_t mss = pl_tcp_interface_mss(connection);

#ifdef CONFIG_PLUMB_TCP_MSS_LIMIT
    uint16_t limit =
        connection->flags & PL_TCP_LISTENED ? connection->listener->mss : connection->mss;
    if (mss > limit)
        mss = limit;
#endif
    return mss;
}

/* Those of a SYN: all that there are, or in an answer those that the peer has offered too. */
static unsigned build_syn(const struct plumb_tcp *connection, pl_header_word *to) {
    pl_header_word *word = to;
    const bool opening = connection->state == PLUMB_TCP_STATE_SYN_SENT;

    (word++)->be =
        plumb_put32((uint32_t)PL_TCP_OPTION_MSS << 24 | 4 << 16 | wanted_mss(connection)).be;
#ifdef CONFIG_PLUMB_TCP_TIMESTAMPS
    if (opening || pl_tcp_agreed(connection, PL_TCP_TIMESTAMPS)) {
        pl_tcp_write_stamp(connection, word);
        word += PL_TCP_STAMP / 4;
    }
#endif
#ifdef CONFIG_PLUMB_TCP_SACK
    if (opening || pl_tcp_agreed(connection, PL_TCP_SACK))
        (word++)->be =
            plumb_put32((uint32_t)PL_TCP_OPTION_NOP << 24 | (uint32_t)PL_TCP_OPTION_NOP << 16 |
                        (uint32_t)PL_TCP_OPTION_SACK_PERMITTED << 8 | 2)
                .be;
#endif
#ifdef CONFIG_PLUMB_TCP_WINDOW_SCALE
    if (opening || connection->flags & PL_TCP_SCALING)
        (word++)->be =
            plumb_put32((uint32_t)PL_TCP_OPTION_NOP << 24 | (uint32_t)PL_TCP_OPTION_SCALE << 16 |
                        3 << 8 | PL_TCP_RECEIVE_SCALE)
                .be;
#endif
    (void)opening;
    return (unsigned)(word - to) * 4U;
}

unsigned pl_tcp_build_options(struct plumb_tcp *connection, uint32_t flags, pl_header_word *to) {
    if (flags & PL_TCP_SYN)
        return build_syn(connection, to);
    unsigned length = pl_tcp_stamp_length(connection);
    if (length)
        pl_tcp_write_stamp(connection, to);
    if (!(flags & PL_TCP_RST) && pl_tcp_tells_blocks(connection))
        length += pl_tcp_write_blocks(connection, to + length / 4);
    return length;
}
