/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * SYN cookies (RFC 4987 section 3.6): the number of a SYN's answer says all that the stack
 * needs to open the connection when it is acknowledged.
 *
 *     31                            4 3     1      0
 *     | keyed hash, 28 bits          |  MSS  | period |
 *
 * The hash is over both addresses, both ports, the peer's initial number and a secret of the
 * period, 67 s long, in which the cookie was made; it holds in that period and the next. One
 * guess in 2^28 is right, and none is looked at unless a cookie was sent not long ago.
 *
 * The MSS is not covered: whoever has a cookie may have any of the eight, and a guess is no
 * easier. Other options are given up.
 */
#include "tcp/tcp.h"

#ifdef CONFIG_PLUMB_TCP_SYN_COOKIES

#define PERIOD_BITS 26 /* of microseconds */
#define LIFETIME_MS (2 * (1U << PERIOD_BITS) / 1000)
#define HASHED      0xfffffff0U

/* The payload sizes worth telling apart: what is offered is rounded down. */
static const uint16_t sizes[8] = {48, 256, 536, 1200, 1360, 1400, 1440, 1460};

static uint32_t period_of(const struct plumb *stack) {
    return (uint32_t)(stack->now_us >> PERIOD_BITS);
}

static uint32_t hash_of(const struct plumb *stack, plumb_ipv4 local, plumb_ipv4 remote,
                        uint32_t ports, uint32_t peer_initial, uint32_t period) {
    uint64_t secret = pl_keyed_hash(stack, period, 0);
    uint64_t hash = pl_keyed_hash(stack, ((uint64_t)local.be << 32 | remote.be) ^ secret,
                                  (uint64_t)ports << 32 | peer_initial);

    return (uint32_t)hash & HASHED;
}

static unsigned rounded_down(uint16_t mss) {
    unsigned index = 7;

    while (index && sizes[index] > mss)
        index--;
    return index;
}

uint32_t pl_tcp_make_cookie(struct plumb_tcp *stranger) {
    struct pl_tcp_state *tcp = stranger->tcp;
    struct plumb *stack = tcp->stack;
    uint32_t period = period_of(stack);

    pl_count(stack, PLUMB_COUNTER_tcp_cookie);
    tcp->cookies = true;
    tcp->cookie_ms = stack->now_ms;
    stranger->mss = (uint16_t)(stranger->mss + pl_tcp_stamp_length(stranger));
    stranger->agreed = 0;
#ifdef CONFIG_PLUMB_TCP_WINDOW_SCALE
    stranger->flags &= (uint16_t)~PL_TCP_SCALING;
#endif
    return hash_of(stack, stranger->local, stranger->remote, stranger->ports,
                   stranger->receive_next - 1, period) |
           rounded_down(stranger->mss) << 1 | (period & 1);
}

bool pl_tcp_read_cookie(const struct pl_segment *segment, struct pl_tcp_handshake *entry) {
    struct pl_tcp_state *tcp = segment->tcp;
    uint32_t period = period_of(tcp->stack);

    if (!tcp->cookies || (segment->flags & (PL_TCP_SYN | PL_TCP_RST | PL_TCP_ACK)) != PL_TCP_ACK)
        return false;
    if (tcp->stack->now_ms - tcp->cookie_ms > LIFETIME_MS) {
        tcp->cookies = false;
        return false;
    }
    period -= (entry->initial ^ period) & 1;
    entry->mss = sizes[entry->initial >> 1 & 7];
    return hash_of(tcp->stack, entry->local, entry->remote, entry->ports, entry->peer_initial,
                   period) == (entry->initial & HASHED);
}

#endif
