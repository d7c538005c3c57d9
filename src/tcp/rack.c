/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What is lost, by time (RACK, RFC 8985 section 6): what was sent before something that has been
 * delivered, and is not delivered itself a while later, is lost. The while adapts to reordering.
 *
 * What holds: rack_sent_us, rack_end and rack_rtt_us are of the segment that was sent last of
 * those that were delivered, and mean something while PL_RACK_STARTED is set. Of a connection
 * that is not watched nothing was sent before what is delivered, so nobody asks for them then.
 */
#include "tcp/scoreboard.h"

#ifdef CONFIG_PLUMB_TCP_RACK

/* Recoveries without a duplicate until the reordering window shrinks (section 6.2). */
#define RECOVERIES_TO_SHRINK 16U

/* ---- what was delivered (section 6.2, steps 1 to 3) ---- */

static bool sent_after(uint32_t a_us, uint32_t a_end, uint32_t b_us, uint32_t b_end) {
    return pl_after(a_us, b_us) || (a_us == b_us && pl_after(a_end, b_end));
}

static void note_delivered(struct plumb_tcp *connection, const struct plumb_packet *segment) {
    struct pl_tcp_loss *loss = pl_tcp_own_loss(connection);
    uint32_t rtt_us = pl_tcp_now_us(connection) - segment->sent_us;
    uint32_t end = pl_tcp_end_of(segment);

    if (!(segment->mark & PL_TCP_REPEATED)) {
        if (!loss->rack_least_us || rtt_us < loss->rack_least_us)
            loss->rack_least_us = rtt_us ? rtt_us : 1;
    } else if (rtt_us < loss->rack_least_us || loss->rack_flags & PL_RACK_EARLY) {
        return; /* it is the one before that has arrived */
    }
    loss->rack_rtt_us = rtt_us;
    if (loss->rack_flags & PL_RACK_STARTED &&
        !sent_after(segment->sent_us, end, loss->rack_sent_us, loss->rack_end))
        return;
    loss->rack_flags |= PL_RACK_STARTED;
    loss->rack_sent_us = segment->sent_us;
    loss->rack_end = end;
}

/* Something arrived, as it was first sent, after what had been sent behind it (step 3). */
static void note_order(struct plumb_tcp *connection, const struct plumb_packet *segment,
                       uint32_t highest) {
    if (pl_before(pl_tcp_end_of(segment), highest) &&
        (!(segment->mark & PL_TCP_REPEATED) ||
         pl_tcp_own_loss(connection)->rack_flags & PL_RACK_EARLY))
        pl_tcp_own_loss(connection)->rack_flags |= PL_RACK_REORDERING;
}

uint32_t pl_tcp_rack_release(struct plumb_tcp *connection, uint32_t bytes) {
    struct pl_tcp_loss *loss = pl_tcp_own_loss(connection);
    uint32_t highest = pl_tcp_highest_delivered(connection), delivered = 0;
    struct plumb_packet *segment = connection->send_first;
    bool counts = true;

    for (uint32_t left = bytes; segment && left; segment = segment->next) {
        uint32_t part = left < segment->total ? left : segment->total;
        if (segment == connection->send_unsent)
            counts = false;
        if (counts && pl_tcp_has_left(segment->mark))
            loss->left_network = (pl_tcp_size)(loss->left_network - part);
        if (!(segment->mark & PL_TCP_SACKED)) {
            delivered += part;
            if (part == segment->total) {
                note_order(connection, segment, highest);
                note_delivered(connection, segment);
            }
        }
        left -= part;
    }
    return delivered;
}

uint32_t pl_tcp_rack_deliver(struct plumb_tcp *connection, const struct pl_news *news) {
    uint32_t highest = pl_tcp_highest_delivered(connection), delivered = 0;
    unsigned sacked = 0;
    bool counts = true;

    for (struct plumb_packet *segment = connection->send_first;
         segment && pl_before(segment->sequence, connection->send_most); segment = segment->next) {
        if (segment == connection->send_unsent)
            counts = false;
        if (!(segment->mark & PL_TCP_SACKED) && pl_tcp_is_covered(segment, news)) {
            note_order(connection, segment, highest);
            note_delivered(connection, segment);
            pl_tcp_set_mark(pl_tcp_own_loss(connection), segment, segment->mark | PL_TCP_SACKED,
                            counts);
            delivered += segment->total;
        }
        sacked += (segment->mark & PL_TCP_SACKED) != 0;
    }
    connection->duplicates = (uint8_t)(sacked < UINT8_MAX ? sacked : UINT8_MAX);
    return delivered;
}

/* ---- what was lost (steps 4 and 5) ---- */

/* Step 4: how much later than what was sent behind it a segment may arrive. */
static uint32_t reordering_us(const struct plumb_tcp *connection) {
    const struct pl_tcp_loss *loss = pl_tcp_own_loss(connection);
    uint32_t window_us = loss->rack_least_us / 4 * (loss->rack_widenings + 1U);

    if (!(loss->rack_flags & PL_RACK_REORDERING) &&
        (connection->flags & PL_TCP_RECOVERY || pl_tcp_in_episode(connection) ||
         connection->duplicates >= PL_TCP_DUPLICATES_TO_RETRANSMIT))
        return 0;
    return window_us < connection->srtt_us ? window_us : connection->srtt_us;
}

void pl_tcp_rack_widen(struct plumb_tcp *connection) {
    struct pl_tcp_loss *loss = pl_tcp_own_loss(connection);

    if (loss->rack_flags & PL_RACK_WIDENED)
        return;
    loss->rack_flags |= PL_RACK_WIDENED;
    if (loss->rack_widenings < UINT8_MAX)
        loss->rack_widenings++;
    loss->rack_recoveries = RECOVERIES_TO_SHRINK;
}

bool pl_tcp_rack_detect(struct plumb_tcp *connection, uint32_t *wait_us) {
    struct pl_tcp_loss *own = pl_tcp_own_loss(connection);
    uint32_t patience = own->rack_rtt_us + reordering_us(connection);
    uint32_t now = pl_tcp_now_us(connection), wait = 0;
    bool lost = false;

    if (own->rack_flags & PL_RACK_STARTED)
        for (struct plumb_packet *segment = connection->send_first;
             segment && segment != connection->send_unsent; segment = segment->next) {
            if (pl_tcp_has_left(segment->mark) ||
                !sent_after(own->rack_sent_us, own->rack_end, segment->sent_us,
                            pl_tcp_end_of(segment)))
                continue;
            uint32_t waited = now - segment->sent_us;
            if (waited >= patience) {
                lost = true;
                pl_tcp_set_mark(own, segment,
                                (segment->mark | PL_TCP_LOST) & ~(unsigned)PL_TCP_RESENT, true);
            } else if (patience - waited > wait) {
                wait = patience - waited;
            }
        }
    *wait_us = wait;
    return lost;
}

#endif
