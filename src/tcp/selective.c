/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Recovery with a peer that selectively acknowledges: what an acknowledgement leads to, and the
 * end of the deadline. Who does what of it is in scoreboard.h.
 *
 * What holds: a connection is watched (PL_TCP_WATCHED), so that each of its acknowledgements
 * comes here, while anything of what is out has left the network or was sent again; then it has
 * a record. The acknowledgements of others are as plain as without any of this.
 */
#include "tcp/scoreboard.h"

#ifdef CONFIG_PLUMB_TCP_RACK

static void arm(struct plumb_tcp *connection, uint32_t wait_us) {
    if (connection->send_unacked == connection->send_most)
        pl_tcp_own_loss(connection)->rack_flags &= (uint8_t)~PL_RACK_STARTED;
    if (connection->send_unacked == connection->send_most && !connection->send_first)
        pl_tcp_clear_deadline(connection, PL_TCP_RETRANSMIT);
    else if (wait_us)
        pl_tcp_tail_wait(connection, PL_TCP_FOR_ORDER, wait_us / 1000 + 1);
    else
        pl_tcp_tail_arm(connection);
}

bool pl_tcp_rack_timer(struct plumb_tcp *connection) {
    unsigned waits = connection->deadlines & (PL_TCP_FOR_ORDER | PL_TCP_FOR_PROBE);
    uint32_t wait_us;

    connection->deadlines &= (uint8_t) ~(PL_TCP_FOR_ORDER | PL_TCP_FOR_PROBE);
    if (waits & PL_TCP_FOR_ORDER && pl_tcp_loss(connection)) {
        if (pl_tcp_rack_detect(connection, &wait_us))
            pl_tcp_reduce_begin(connection, 0);
        if (connection->flags & PL_TCP_RECOVERY)
            pl_tcp_reduce(connection, 0, false);
        arm(connection, wait_us);
        pl_tcp_pend(connection);
    } else if (waits) {
        pl_tcp_tail_probe(connection);
        pl_tcp_tail_wait(connection, 0, pl_tcp_backed_off(connection));
    }
    return waits != 0;
}

/* Does the peer's echo tell that the oldest segment arrived as it was first sent (RFC 3522
 * section 3.2)? Only where no other was sent again, so that it is known when. */
static bool echo_is_early(const struct plumb_tcp *connection, const struct pl_segment *segment) {
#if defined(CONFIG_PLUMB_TCP_UNDO) && defined(CONFIG_PLUMB_TCP_TIMESTAMPS)
    const struct plumb_packet *oldest = connection->send_first;

    if (!pl_tcp_agreed(connection, PL_TCP_TIMESTAMPS) ||
        pl_tcp_own_loss(connection)->undo_count != 1 || !oldest ||
        !(oldest->mark & PL_TCP_REPEATED))
        return false;
    uint32_t now = pl_tcp_stack(connection)->now_ms + connection->timestamp_offset;
    uint32_t repeated_ms = (pl_tcp_now_us(connection) - oldest->sent_us) / 1000;
    return pl_after(now - segment->timestamp_echo, repeated_ms + 1);
#else
    (void)connection;
    (void)segment;
    return false;
#endif
}

/* Are acknowledgements to be looked at one by one? */
static void watch(struct plumb_tcp *connection) {
    struct pl_tcp_loss *loss = pl_tcp_own_loss(connection);

    if (connection->duplicates || pl_tcp_in_episode(connection) || loss->left_network ||
        loss->rack_flags & PL_RACK_PROBED) {
        connection->flags |= PL_TCP_WATCHED;
        pl_tcp_pend(connection);
    } else {
        connection->flags &= (uint16_t)~PL_TCP_WATCHED;
        loss->rack_flags &= (uint8_t)~PL_RACK_STARTED; /* its times would grow old */
    }
}

static void take_delivered(struct plumb_tcp *connection, uint32_t advanced, uint32_t delivered) {
    bool ending = connection->flags & PL_TCP_RECOVERY && !pl_tcp_in_episode(connection);
    uint32_t wait_us;

    if (ending)
        pl_tcp_reduce_end(connection);
    bool lost = pl_tcp_rack_detect(connection, &wait_us);
    if (lost)
        pl_tcp_reduce_begin(connection, delivered);
    if (connection->flags & PL_TCP_RECOVERY)
        pl_tcp_reduce(connection, delivered, advanced && !lost);
    else if (advanced && !ending)
        pl_tcp_congestion_acked(connection, advanced, 1);
    arm(connection, wait_us);
    watch(connection);
}

/* What arrived by this acknowledgement; returns how many bytes of it are new. */
static uint32_t deliver(struct plumb_tcp *connection, const struct pl_segment *segment,
                        struct pl_news *news, bool early) {
    struct pl_tcp_loss *loss = pl_tcp_own_loss(connection);
    uint32_t delivered = 0;

    if (early)
        loss->rack_flags |= PL_RACK_EARLY;
    if (news->advanced) {
        delivered = pl_tcp_rack_release(connection, news->advanced);
        pl_tcp_advance(connection, segment->acknowledgement);
    }
    if (news->has_blocks || connection->duplicates || news->advanced) {
        pl_tcp_keep_valid(news, connection);
        delivered += pl_tcp_rack_deliver(connection, news);
    }
    loss->rack_flags &= (uint8_t)~PL_RACK_EARLY;
    return delivered;
}

bool pl_tcp_rack_acknowledgement(struct plumb_tcp *connection, const struct pl_segment *segment,
                                 uint32_t ahead) {
    struct pl_news news;

    pl_tcp_read_blocks(&news, connection, segment);
    news.advanced = ahead;
    if (!news.has_blocks && !(connection->flags & (PL_TCP_WATCHED | PL_TCP_RECOVERY)))
        return !ahead; /* a repetition without a block says nothing */
    if (!pl_tcp_keep_loss(connection)) {
        connection->agreed |= PL_TCP_BLIND;
        return false;
    }
    bool early = ahead && echo_is_early(connection, segment);
    uint32_t delivered = deliver(connection, segment, &news, early);
    if (early)
        pl_tcp_undo_spurious(connection);
    else if (ahead || news.has_blocks)
        pl_tcp_undo_step(connection, ahead);
    if (news.duplicate.left != news.duplicate.right) {
        pl_tcp_rack_widen(connection);
        /* All that was sent again had not been lost: it was late. */
        if (pl_tcp_undo_duplicate(connection))
            pl_tcp_own_loss(connection)->rack_flags |= PL_RACK_REORDERING;
    }
    pl_tcp_tail_acknowledged(connection, &news, segment->acknowledgement);
    take_delivered(connection, ahead, delivered);
    return true;
}

#endif
