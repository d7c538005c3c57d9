/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Timestamps (RFC 7323): both sides' clocks in each segment, against old duplicates (PAWS)
 * and to measure the round trip.
 *
 * Ours counts the stack's milliseconds from an offset of the connection's own. TS.Recent is
 * kept as section 4.3 has it, whose Last.ACK.sent is receive_acked; it ages with heard_ms, as
 * nothing newer can have been taken since.
 *
 * All of it is asked for by connections that agreed on timestamps, and by no other.
 */
#include "tcp/tcp.h"

#ifdef CONFIG_PLUMB_TCP_TIMESTAMPS

#define OPTION_LENGTH 10
/* Section 5.5. A peer's clock that ticks in milliseconds passes half its range in 24.8 days. */
#define OUTDATED_MS (24U * 24 * 3600 * 1000)
/* An echo from further back is none of ours; one from now says less than a tick. */
#define LONGEST_ECHO_MS 120000U

static bool read(struct pl_segment *segment) {
    const uint8_t *option = pl_tcp_option(segment, PL_TCP_OPTION_TIMESTAMPS, OPTION_LENGTH);

    if (!option)
        return false;
    segment->timestamp = plumb_get32_any((const void *)(option + 2));
    segment->timestamp_echo = plumb_get32_any((const void *)(option + 6));
    return true;
}

/* One more keyed hash: the initial number's must not be known in full. Of connections of the
 * same addresses and ports, one after the other, it is the same clock. */
void pl_tcp_start_clock(struct plumb_tcp *connection) {
    const uint64_t addresses = (uint64_t)pl_tcp_local(connection).be << 32 | connection->remote.be;

    connection->timestamp_offset = (uint32_t)pl_keyed_hash(pl_tcp_stack(connection), addresses,
                                                           (uint64_t)1 << 32 | connection->ports);
}

void pl_tcp_agree_on_timestamps(struct plumb_tcp *connection, const struct pl_segment *syn) {
    struct pl_segment copy = *syn;

    if (!read(&copy))
        return;
    connection->agreed |= PL_TCP_TIMESTAMPS;
    connection->timestamp_recent = copy.timestamp;
    if (connection->state != PLUMB_TCP_STATE_SYN_SENT)
        pl_tcp_start_clock(connection);
}

/* Not from before the last one, unless that says nothing any more (sections 5.2, 5.5). */
static bool is_recent(const struct plumb_tcp *connection, const struct pl_segment *segment) {
    return !pl_before(segment->timestamp, connection->timestamp_recent) ||
           pl_tcp_stack(connection)->now_ms - connection->heard_ms > OUTDATED_MS;
}

bool pl_tcp_check_timestamps(struct plumb_tcp *connection, struct pl_segment *segment) {
    if (!read(segment)) {
        /* Section 3.2: dropped without an answer. */
        pl_tcp_drop(segment, PLUMB_COUNTER_tcp_timestamp_missing);
        return false;
    }
    if (is_recent(connection, segment))
        return true;
    /* Section 5.3, R1. What carries nothing is answered only so often, or two such peers
     * would never stop. */
    if (segment->length)
        pl_tcp_acknowledge_now(connection);
    else
        pl_tcp_challenge(connection);
    pl_tcp_drop(segment, PLUMB_COUNTER_tcp_timestamp_old);
    return false;
}

/* Appendix G: about so many samples come in a round, as a power of two that is not less. */
static unsigned samples_in_a_round(const struct plumb_tcp *connection) {
    uint32_t flight = pl_tcp_in_flight(connection);
    unsigned shift = 0;

    for (uint32_t step = 2U * connection->mss; step < flight && shift < 16; step *= 2)
        shift++;
    return shift;
}

/* Section 4.1: good for what was sent again too, as each time is told from the others. */
void pl_tcp_measure_echo(struct plumb_tcp *connection, uint32_t echo) {
    uint32_t now = pl_tcp_stack(connection)->now_ms + connection->timestamp_offset;
    uint32_t ms = now - echo;

    if (ms - 1 >= LONGEST_ECHO_MS)
        return;
    /* Where a segment is timed, and finer, that is better. A cookie's clock is not exact. */
    if (connection->srtt_us ? ms < PL_TCP_COARSE_MS && !pl_tcp_echoes_measure(connection)
                            : connection->flags & PL_TCP_TIMING || pl_tcp_from_cookie(connection))
        return;
    pl_tcp_round_trip_of_many(connection, ms * 1000U, samples_in_a_round(connection));
}

void pl_tcp_note_timestamps(struct plumb_tcp *connection, const struct pl_segment *segment) {
    /* Section 4.3: what was not acknowledged yet keeps the first of its timestamps. */
    if (!pl_after(segment->sequence, connection->receive_acked) && is_recent(connection, segment))
        connection->timestamp_recent = segment->timestamp;
    if (pl_tcp_advances(connection, segment->acknowledgement))
        pl_tcp_measure_echo(connection, segment->timestamp_echo);
}

#endif
