/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The options of a TCP segment, which end where memory does: each is found where a plain
 * reading finds it, and what a SYN agrees on stays within its bounds.
 *
 * The input is two bytes, the MTU of the interface in steps of 8 and whether we opened, and
 * options: the first 40, cut to whole words as a header holds them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sanitizer/asan_interface.h>

#include "stack/stack.h"
#include "tcp/tcp.h"

enum { MOST = 40, HEAD = 2 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A header and its options, and nothing that may be read behind them. */
static struct {
    struct pl_tcp_header header;
    uint8_t options[MOST + 8];
} wire __attribute__((aligned(8)));

static void expect_that(bool right, const char *what) {
    if (right)
        return;
    fprintf(stderr, "tcp_options: %s\n", what);
    abort();
}

/* Where the first option of this kind, and (unless 0) of this length, begins; or -1. As RFC
 * 9293 section 3.1 has it, and nothing behind one that is malformed. */
static int plain_search(unsigned size, unsigned kind, unsigned length) {
    for (unsigned at = 0; at < size;) {
        unsigned here = wire.options[at];
        if (here == 0)
            return -1;
        if (here == 1) {
            at++;
            continue;
        }
        if (at + 1 >= size)
            return -1;
        unsigned said = wire.options[at + 1];
        if (said < 2 || at + said > size)
            return -1;
        if (here == kind && (said == length || !length))
            return (int)at;
        at += said;
    }
    return -1;
}

static const uint8_t *found_at(int at) {
    return at < 0 ? NULL : wire.options + at;
}

static void check_search(const struct pl_segment *segment) {
    static const uint8_t asked[][2] = {{PL_TCP_OPTION_MSS, 4},
                                       {PL_TCP_OPTION_SCALE, 3},
                                       {PL_TCP_OPTION_SACK, 0},
                                       {PL_TCP_OPTION_SACK_PERMITTED, 2},
                                       {PL_TCP_OPTION_TIMESTAMPS, 10}};

    for (unsigned i = 0; i < sizeof asked / sizeof *asked; i++)
        expect_that(pl_tcp_option(segment, asked[i][0], asked[i][1]) ==
                        found_at(plain_search(segment->options_length, asked[i][0], asked[i][1])),
                    "an option was found elsewhere, or not");
}

static void check_agreed(const struct pl_segment *segment, const struct plumb_tcp *connection) {
    const uint8_t *mss = found_at(plain_search(segment->options_length, PL_TCP_OPTION_MSS, 4));
    const uint8_t *scale = found_at(plain_search(segment->options_length, PL_TCP_OPTION_SCALE, 3));
    const uint8_t *stamp =
        found_at(plain_search(segment->options_length, PL_TCP_OPTION_TIMESTAMPS, 10));
    unsigned stamped = pl_tcp_stamp_length(connection);
    unsigned offered = mss ? (unsigned)(mss[2] << 8 | mss[3]) : 536;

    expect_that(!stamped == !stamp, "timestamps are agreed on without the option");
    expect_that(connection->mss + stamped <= connection->netif->mtu - 40U,
                "the MSS passes the MTU");
    expect_that(connection->mss + stamped <= (offered > 48 ? offered : 48), "the MSS passes both");
    expect_that(connection->mss >= 48 - PL_TCP_STAMP || connection->netif->mtu < 88,
                "the MSS is below the floor");
    expect_that(connection->send_scale == (scale ? (scale[2] < 14 ? scale[2] : 14) : 0),
                "the scale is not the peer's, or above 14");
    expect_that(!(connection->flags & PL_TCP_SCALING) == !scale, "a scale that nobody offered");
    expect_that(connection->congestion_window >= connection->mss, "no window to begin with");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct plumb_pool pool = {.capacity = 1536};
    static struct plumb stack = {.options = {.segments = &pool, .headers = &pool}};
    static struct pl_tcp_state tcp = {.stack = &stack};
    static struct plumb_netif netif;
    struct plumb_tcp connection;

    if (size < HEAD)
        return 0;
    netif.mtu = (uint16_t)(68 + data[0] * 8);
    unsigned length = size - HEAD < MOST ? (unsigned)(size - HEAD) & ~3U : MOST;
    struct pl_segment segment = {.tcp = &tcp,
                                 .netif = &netif,
                                 .header = &wire.header,
                                 .flags = PL_TCP_SYN,
                                 .window = 1000,
                                 .options_length = (uint8_t)length};
    memcpy(wire.options, data + HEAD, length);
    ASAN_POISON_MEMORY_REGION(wire.options + length, sizeof wire.options - length);
    check_search(&segment);
    pl_tcp_begin(&connection, &tcp, &netif, PLUMB_IPV4_ANY, 0);
    connection.state = data[1] & 1 ? PLUMB_TCP_STATE_SYN_SENT : PLUMB_TCP_STATE_SYN_RECEIVED;
    pl_tcp_synchronise(&connection, &segment);
    check_agreed(&segment, &connection);
    ASAN_UNPOISON_MEMORY_REGION(wire.options, sizeof wire.options);
    return 0;
}
