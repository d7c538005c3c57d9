/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The path's MTU (RFC 1191). All that TCP sends carries "don't fragment", so a router that
 * cannot pass it on says so, or (a black hole, RFC 2923) does not.
 *
 * What holds: `mss` is what the path is thought to take, and never more than `mss_most`, what
 * the handshake has agreed on; nor less than 536 because of anything the path has said, so
 * that a forged message cannot make a connection send crumbs (RFC 5927 section 7).
 *
 * Segments that were cut larger are cut again when their turn comes to be sent.
 */
#include "tcp/tcp.h"

#include "bytes/bytes.h"
#include "tcp/segment.h"

#ifdef CONFIG_PLUMB_TCP_PMTUD

#define SMALLEST_SIZE 536
/* Retransmissions of a segment above that, before its size is suspected: R1 of RFC 9293 section
 * 3.8.3, where 3 is the least. At a loss of 10 % so many in a row happen to one segment in ten
 * thousand, which then halves all that follow; six to one in a million. */
#define SUSPICIOUS 5
/* When a larger size is tried again (RFC 1191 section 6.3), ten minutes of periods of 8192 ms. */
#define PERIODS_TO_RAISE 74U

/* What a router that does not say probably means (RFC 1191 section 7, as far as Ethernet). */
static uint32_t plateau_below(uint32_t total) {
    static const uint16_t plateaus[] = {1492, 1006};

    for (unsigned i = 0; i < sizeof plateaus / sizeof *plateaus; i++)
        if (plateaus[i] < total)
            return plateaus[i];
    return 0;
}

static uint8_t period_of(const struct plumb_tcp *connection) {
    return (uint8_t)(pl_tcp_stack(connection)->now_ms >> 13);
}

static void lower(struct plumb_tcp *connection, uint32_t size) {
    connection->mss = (uint16_t)(size > SMALLEST_SIZE ? size : SMALLEST_SIZE);
    connection->path_period = period_of(connection);
    pl_count(pl_tcp_stack(connection), PLUMB_COUNTER_tcp_path_mtu);
}

bool pl_tcp_path_too_small(struct plumb_tcp *connection, uint32_t total, uint32_t mtu) {
    const uint32_t headers = PL_IPV4_HEADER + PL_TCP_HEADER + pl_tcp_stamp_length(connection);

    if (mtu == 0)
        mtu = plateau_below(total);
    if (mtu >= total || total <= SMALLEST_SIZE + headers)
        return false; /* it would have passed, or cannot get smaller */
    uint32_t size = mtu > headers ? mtu - headers : 0;
    if (connection->mss <= SMALLEST_SIZE || size >= connection->mss)
        return true;
    lower(connection, size);
    /* Section 6.4: sent again at once. It tells of no congestion. */
    pl_tcp_settle_deferred(connection);
    pl_tcp_rewind(connection);
    connection->recover = connection->send_most;
    pl_tcp_pend(connection);
    return true;
}

void pl_tcp_suspect_path(struct plumb_tcp *connection) {
    const struct plumb_packet *oldest = connection->send_first;

    if (connection->retries >= SUSPICIOUS && oldest && oldest->total > SMALLEST_SIZE &&
        connection->mss > SMALLEST_SIZE)
        lower(connection, connection->mss / 2U);
}

void pl_tcp_raise_size(struct plumb_tcp *connection) {
    if ((uint8_t)(period_of(connection) - connection->path_period) >= PERIODS_TO_RAISE)
        connection->mss = connection->mss_most;
}

bool pl_tcp_split(struct plumb_tcp *connection, struct plumb_packet *segment) {
    struct plumb_packet *rest =
        pl_packet_take(pl_tcp_stack(connection)->options.segments, PL_HEADROOM);
    uint32_t length = connection->mss, left = segment->total - length;

    if (!rest) {
        pl_tcp_no_header(connection);
        return false;
    }
    rest->length = rest->total = (uint16_t)left;
    rest->flags = PLUMB_PACKET_RETAINED | PLUMB_PACKET_SUMMED;
    rest->sequence = segment->sequence + length;
#ifdef CONFIG_PLUMB_TCP_RACK
    rest->mark = segment->mark;
    rest->sent_us = segment->sent_us;
#endif
    rest->sum = pl_copy_sum(rest->data, segment->data + length, left);
    rest->next = segment->next;
    segment->next = rest;
    segment->length = segment->total = (uint16_t)length;
    segment->flags &= (uint8_t)~PLUMB_PACKET_SUMMED;
    if (connection->send_last == segment)
        connection->send_last = rest;
    return true;
}

#endif
