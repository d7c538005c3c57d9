/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The tail of what is sent, behind which nothing comes to tell of its loss, is probed for (RFC
 * 8985 section 7); and what the retransmission deadline is set for: a segment that reordering
 * may have delayed, a probe, or the time-out.
 *
 * What holds: while PL_RACK_PROBED is set a probe is out, which ends at probe_end.
 */
#include "tcp/scoreboard.h"

#ifdef CONFIG_PLUMB_TCP_RACK

/* How long the peer may delay an acknowledgement that is wanted from a probe. */
#define LONGEST_DELAY_MS 200U

/* ---- probes ---- */

/* Section 7.4. */
void pl_tcp_tail_acknowledged(struct plumb_tcp *connection, const struct pl_news *news,
                              uint32_t acknowledgement) {
    struct pl_tcp_loss *loss = pl_tcp_own_loss(connection);
    bool again = loss->rack_flags & PL_RACK_PROBED_AGAIN;
    bool duplicate =
        news->duplicate.right == loss->probe_end && news->duplicate.left != news->duplicate.right;

    if (!(loss->rack_flags & PL_RACK_PROBED) || pl_before(acknowledgement, loss->probe_end))
        return;
    /* Only a second one of the same number, with nothing to say, tells that both arrived. */
    if (again && !duplicate && acknowledgement == loss->probe_end &&
        (news->advanced || news->has_blocks))
        return;
    /* It has mended a loss that nothing else told of. */
    if (again && !duplicate && pl_after(acknowledgement, loss->probe_end)) {
        pl_tcp_congestion_lost(connection);
        connection->congestion_window = connection->slow_start_threshold;
        pl_tcp_congestion_resume(connection);
    }
    loss->rack_flags &= (uint8_t) ~(PL_RACK_PROBED | PL_RACK_PROBED_AGAIN);
}

/* Section 7.2: may the tail be probed, before a time-out? */
static bool may_probe(const struct plumb_tcp *connection) {
    const struct pl_tcp_loss *loss = pl_tcp_loss(connection);

    return connection->srtt_us && connection->send_first && connection->send_window &&
           pl_tcp_in_flight(connection) && !connection->duplicates && !connection->retries &&
           !pl_tcp_in_episode(connection) && !(loss && loss->rack_flags & PL_RACK_PROBED) &&
           !(connection->flags & (PL_TCP_RECOVERY | PL_TCP_PROBING));
}

/* A new segment, whatever the congestion window says, or the last one once more (section 7.3). */
void pl_tcp_tail_probe(struct plumb_tcp *connection) {
    struct plumb_packet *last = connection->send_first, *fresh = connection->send_unsent;
    uint32_t out = pl_tcp_in_flight(connection);
    bool again = !fresh || out + fresh->total > connection->send_window;
    struct pl_tcp_loss *loss = may_probe(connection) ? pl_tcp_keep_loss(connection) : NULL;

    if (!loss)
        return;
    if (again)
        while (last->next && last->next != fresh)
            last = last->next;
    pl_count(pl_tcp_stack(connection), PLUMB_COUNTER_tcp_tail_probe);
    pl_tcp_send_whole(connection, again ? last : fresh);
    loss->rack_flags |= (uint8_t)(PL_RACK_PROBED | (again ? PL_RACK_PROBED_AGAIN : 0));
    loss->probe_end = connection->send_next;
    connection->flags |= PL_TCP_WATCHED;
}

/* ---- the deadline ---- */

void pl_tcp_tail_wait(struct plumb_tcp *connection, unsigned what, uint32_t delay_ms) {
    unsigned deadlines = connection->deadlines & ~(unsigned)(PL_TCP_FOR_ORDER | PL_TCP_FOR_PROBE);

    connection->deadlines = (uint8_t)(deadlines | what);
    pl_tcp_set_deadline(connection, PL_TCP_RETRANSMIT, delay_ms);
}

/* What is left of the time-out: from the last progress, or from when the oldest was sent. */
static uint32_t time_out_ms(const struct plumb_tcp *connection) {
    uint32_t rto_ms = pl_tcp_backed_off(connection);
    uint32_t waited_ms = pl_tcp_stack(connection)->now_ms - connection->progress_ms;

    if (connection->send_first && connection->send_unacked != connection->send_most) {
        uint32_t sent_ms = (pl_tcp_now_us(connection) - connection->send_first->sent_us) / 1000;
        if (sent_ms < waited_ms)
            waited_ms = sent_ms;
    } else {
        waited_ms = 0; /* a FIN by itself, or what could not be sent yet */
    }
    return waited_ms < rto_ms ? rto_ms - waited_ms : 1;
}

void pl_tcp_tail_arm(struct plumb_tcp *connection) {
    uint32_t rto_ms = time_out_ms(connection);

    if (may_probe(connection)) {
        uint32_t probe_ms = connection->srtt_us / 500 + 2;
        if (pl_tcp_in_flight(connection) <= connection->mss)
            probe_ms += LONGEST_DELAY_MS;
        if (probe_ms < rto_ms) {
            pl_tcp_tail_wait(connection, PL_TCP_FOR_PROBE, probe_ms);
            return;
        }
    }
    pl_tcp_tail_wait(connection, 0, rto_ms);
}

#endif
