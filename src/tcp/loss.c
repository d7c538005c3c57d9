/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Records of losses. What a connection needs to remember only once something of its was lost,
 * marked or reordered lies in a record of a table that all share, so that one of which nothing
 * ever was pays a byte: the scoreboard's sums, RACK's times, the window on its way down (PRR),
 * what to go back to (undo), the curve of CUBIC.
 *
 * What holds:
 *  - A connection gets its record with the first sign of a loss, and keeps it to its end unless
 *    another needs one while it is quiet itself: neither watched nor recovering.
 *  - Without one, as all are taken, a connection recovers as NewReno does (PL_TCP_BLIND until
 *    what was out is acknowledged), its window grows as Reno's, and nothing is undone. That is
 *    counted.
 */
#include "tcp/tcp.h"

#ifdef CONFIG_PLUMB_TCP_LOSSES

static bool is_quiet(const struct pl_tcp_loss *loss) {
    const struct plumb_tcp *owner = loss->owner;

#ifdef CONFIG_PLUMB_TCP_UNDO
    if (loss->undo_step != PL_TCP_UNDO_NONE)
        return false;
#endif
    return !(owner->flags & (PL_TCP_RECOVERY | PL_TCP_WATCHED)) && !owner->duplicates;
}

/* A free one, or that of the connection which has been quiet for longest, or null. */
static struct pl_tcp_loss *find(struct pl_tcp_state *tcp) {
    struct pl_tcp_loss *found = NULL;

    for (struct pl_tcp_loss *loss = tcp->losses; loss < tcp->losses + CONFIG_PLUMB_TCP_LOSSES;
         loss++) {
        if (!loss->owner)
            return loss;
        if (is_quiet(loss) &&
            (!found || pl_before(loss->owner->progress_ms, found->owner->progress_ms)))
            found = loss;
    }
    return found;
}

struct pl_tcp_loss *pl_tcp_keep_loss(struct plumb_tcp *connection) {
    struct pl_tcp_state *tcp = connection->tcp;
    struct pl_tcp_loss *loss = pl_tcp_loss(connection);

    if (loss)
        return loss;
    loss = find(tcp);
    if (!loss) {
        pl_count(tcp->stack, PLUMB_COUNTER_tcp_loss_unkept);
        return NULL;
    }
    if (loss->owner)
        loss->owner->loss = 0;
    *loss = (struct pl_tcp_loss){.owner = connection};
    connection->loss = (uint8_t)(loss - tcp->losses + 1);
#ifdef CONFIG_PLUMB_TCP_RACK
    loss->rack_least_us = connection->srtt_us; /* the best that is known as yet */
#endif
#ifdef CONFIG_PLUMB_TCP_ECN
    loss->marked = connection->send_unacked - 1;
#endif
    return loss;
}

void pl_tcp_forget_loss(struct plumb_tcp *connection) {
    struct pl_tcp_loss *loss = pl_tcp_loss(connection);

    if (loss)
        loss->owner = NULL;
    connection->loss = 0;
}

#endif
