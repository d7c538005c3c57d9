/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Explicit congestion notification (RFC 3168 section 6.1): routers mark datagrams instead of
 * dropping them, the receiver echoes the mark, and the sender slows down as after a loss.
 *
 * What holds: ECE goes with everything from the first marked payload until the peer's CWR;
 * CWR with the first new payload after each reduction. Only payload that is new says that it
 * may be marked: not what is sent again, probes, or what carries none.
 */
#include "tcp/tcp.h"

#ifdef CONFIG_PLUMB_TCP_ECN

void pl_tcp_agree_on_ecn(struct plumb_tcp *connection, const struct pl_segment *syn) {
    const uint8_t asks = PL_TCP_ECE | PL_TCP_CWR;
    const uint8_t flags = syn->flags & (asks | PL_TCP_ACK);

    /* Section 6.1.1: a SYN with both, or its answer with one. Not once we have sent a SYN
     * without (section 6.1.1.1). */
    if ((flags == asks || flags == (PL_TCP_ACK | PL_TCP_ECE)) &&
        !(connection->flags & PL_TCP_SYN_REPEATED))
        connection->agreed |= PL_TCP_ECN;
}

/* The mark is the router's; section 6.1.3. */
static void take_mark(struct plumb_tcp *connection, const struct pl_segment *segment) {
    if (segment->flags & PL_TCP_CWR)
        connection->agreed &= (uint8_t)~PL_TCP_ECHO;
    if (pl_ipv4_is_marked(segment->ip)) {
        connection->agreed |= PL_TCP_ECHO;
        pl_count(pl_tcp_stack(connection), PLUMB_COUNTER_tcp_marked);
    }
}

/* The peer's echo; section 6.1.2: once for all that was out when it came. */
static void take_echo(struct plumb_tcp *connection, uint32_t acknowledgement) {
    const struct pl_tcp_loss *loss = pl_tcp_loss(connection);
    uint32_t marked = loss ? loss->marked : connection->recover;
    uint32_t out = connection->send_most - acknowledgement;

    if (out > connection->send_most - connection->send_unacked || marked - acknowledgement <= out)
        return;
    pl_tcp_congestion_ecn(connection);
}

void pl_tcp_note_ecn(struct plumb_tcp *connection, const struct pl_segment *segment) {
    if (segment->length)
        take_mark(connection, segment);
    if (segment->flags & PL_TCP_ECE)
        take_echo(connection, segment->acknowledgement);
}

void pl_tcp_note_reduced(struct plumb_tcp *connection) {
    struct pl_tcp_loss *loss = pl_tcp_loss(connection);

    if (!pl_tcp_agreed(connection, PL_TCP_ECN))
        return;
    connection->agreed |= PL_TCP_REDUCED;
    if (loss)
        loss->marked = connection->send_most;
    else
        connection->recover = connection->send_most;
}

uint32_t pl_tcp_ecn_flags(const struct plumb_tcp *connection, uint32_t flags) {
    if (flags & PL_TCP_RST)
        return 0;
    if (!(flags & PL_TCP_SYN))
        return pl_tcp_agreed(connection, PL_TCP_ECHO) ? PL_TCP_ECE : 0;
    if (flags & PL_TCP_ACK)
        return pl_tcp_agreed(connection, PL_TCP_ECN) ? PL_TCP_ECE : 0;
    /* A SYN that was lost may have been so for its flags (section 6.1.1.1). */
    return connection->flags & PL_TCP_SYN_REPEATED ? 0 : PL_TCP_ECE | PL_TCP_CWR;
}

#endif
