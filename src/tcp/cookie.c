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
 * easier.
 *
 * Where the SYN carries timestamps, ours in the answer says what else was agreed on, and the peer
 * echoes it (RFC 7323 lets the clock be any):
 *
 *     31                        6     5      4    3      0
 *     | our clock, rounded down    | ECN | SACK | scale |      scale 15: windows are not scaled
 *
 * These six bits are covered by the hash, and so is that there are any: a forged echo opens
 * nothing. The clock is never ahead of what later segments say. Without timestamps other options
 * are given up.
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

/* `said` is what a timestamp says beside the time, or 0 without one. */
static uint32_t hash_of(const struct plumb *stack, plumb_ipv4 local, plumb_ipv4 remote,
                        uint32_t ports, uint32_t peer_initial, uint32_t period, uint32_t said) {
    uint64_t secret = pl_keyed_hash(stack, period, said);
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

#ifdef CONFIG_PLUMB_TCP_TIMESTAMPS

enum { SAID_SCALE = 15, SAID_SACK = 16, SAID_ECN = 32, SAID = 63, STAMPED = 64 };

/* Has the timestamp of the answer say what was agreed on. */
static uint32_t say(struct plumb_tcp *stranger) {
    const uint32_t now_ms = pl_tcp_stack(stranger)->now_ms;
    uint32_t clock = now_ms + stranger->timestamp_offset;
    uint32_t said = SAID_SCALE;

#ifdef CONFIG_PLUMB_TCP_WINDOW_SCALE
    if (stranger->flags & PL_TCP_SCALING)
        said = stranger->send_scale;
#endif
    if (pl_tcp_agreed(stranger, PL_TCP_SACK))
        said |= SAID_SACK;
    if (pl_tcp_agreed(stranger, PL_TCP_ECN))
        said |= SAID_ECN;
    clock = (clock & SAID) < said ? clock - SAID - 1 : clock;
    stranger->timestamp_offset = ((clock & ~(uint32_t)SAID) | said) - now_ms;
    return said | STAMPED;
}

/* What a segment echoes of that, which is set in `entry`; 0 without timestamps. */
static uint32_t hear(const struct pl_segment *segment, struct pl_tcp_handshake *entry) {
    const uint8_t *option = pl_tcp_option(segment, PL_TCP_OPTION_TIMESTAMPS, 10);

    if (!option)
        return 0;
    uint32_t said = option[9] & SAID;
    entry->timestamp_recent = plumb_get32_any((const void *)(option + 2));
    entry->agreed = PL_TCP_TIMESTAMPS;
    if (said & SAID_SACK)
        entry->agreed |= PL_TCP_SACK;
    if (said & SAID_ECN)
        entry->agreed |= PL_TCP_ECN;
    if ((said & SAID_SCALE) != SAID_SCALE)
        entry->agreed |= PL_TCP_SCALED;
    entry->send_scale = said & SAID_SCALE;
    return said | STAMPED;
}

#else

static uint32_t say(const struct plumb_tcp *stranger) {
    (void)stranger;
    return 0;
}

static uint32_t hear(const struct pl_segment *segment, const struct pl_tcp_handshake *entry) {
    (void)segment;
    (void)entry;
    return 0;
}

#endif

/* What nobody would remember. */
static void give_up_options(struct plumb_tcp *stranger) {
    stranger->agreed = 0;
#ifdef CONFIG_PLUMB_TCP_WINDOW_SCALE
    stranger->flags &= (uint16_t)~PL_TCP_SCALING;
#endif
}

uint32_t pl_tcp_make_cookie(struct plumb_tcp *stranger) {
    struct pl_tcp_state *tcp = stranger->tcp;
    struct plumb *stack = tcp->stack;
    uint32_t period = period_of(stack), stamp = pl_tcp_stamp_length(stranger), said = 0;

    pl_count(stack, PLUMB_COUNTER_tcp_cookie);
    tcp->cookies = true;
    tcp->cookie_ms = stack->now_ms;
    if (stamp)
        said = say(stranger);
    else
        give_up_options(stranger);
    return hash_of(stack, pl_tcp_local(stranger), stranger->remote, stranger->ports,
                   stranger->receive_next - 1, period, said) |
           rounded_down((uint16_t)(stranger->mss + stamp)) << 1 | (period & 1);
}

bool pl_tcp_read_cookie(const struct pl_segment *segment, struct pl_tcp_handshake *entry) {
    struct pl_tcp_state *tcp = segment->tcp;
    uint32_t period = period_of(tcp->stack), said;

    if (!tcp->cookies || (segment->flags & (PL_TCP_SYN | PL_TCP_RST | PL_TCP_ACK)) != PL_TCP_ACK)
        return false;
    if (tcp->stack->now_ms - tcp->cookie_ms > LIFETIME_MS) {
        tcp->cookies = false;
        return false;
    }
    period -= (entry->initial ^ period) & 1;
    said = hear(segment, entry);
    entry->mss = (uint16_t)(sizes[entry->initial >> 1 & 7] - (said ? PL_TCP_STAMP : 0));
    return hash_of(tcp->stack, entry->netif->ipv4, entry->remote, entry->ports, entry->peer_initial,
                   period, said) == (entry->initial & HASHED);
}

#endif
