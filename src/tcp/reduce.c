/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Recovery of a connection with a scoreboard (RFC 6675 section 5), and the window in it: it
 * comes down to the threshold in proportion to what is delivered (RFC 9937).
 *
 * What holds in recovery: prr_delivered and prr_out are the bytes delivered and sent since it
 * began, prr_ratio the threshold to what was out then, in 65536ths less 1.
 */
#include "tcp/scoreboard.h"

#ifdef CONFIG_PLUMB_TCP_RACK

void pl_tcp_reduce_begin(struct plumb_tcp *connection, uint32_t delivered) {
    struct pl_tcp_loss *loss = pl_tcp_own_loss(connection);
    uint32_t flight = pl_tcp_in_flight(connection), mss = connection->mss;
    uint32_t sacked = connection->duplicates * mss;

    if (connection->flags & PL_TCP_RECOVERY || pl_tcp_in_episode(connection))
        return;
    pl_count(pl_tcp_stack(connection), PLUMB_COUNTER_tcp_fast_retransmit);
    pl_tcp_congestion_lost(connection);
    /* What will still be delivered: all but what was selectively acknowledged before. */
    flight = flight > sacked + mss ? flight - sacked + delivered : mss;
    connection->flags |= PL_TCP_RECOVERY;
    connection->recover = connection->send_most;
    loss->rack_flags &= (uint8_t) ~(PL_RACK_WIDENED | PL_RACK_PROBED | PL_RACK_PROBED_AGAIN);
    loss->prr_delivered = loss->prr_out = 0;
    loss->prr_ratio = (uint16_t)(pl_tcp_fraction(connection->slow_start_threshold, flight) - 1);
}

void pl_tcp_reduce_end(struct plumb_tcp *connection) {
    struct pl_tcp_loss *loss = pl_tcp_own_loss(connection);

    connection->flags &= (uint16_t)~PL_TCP_RECOVERY;
    connection->congestion_window = connection->slow_start_threshold;
    pl_tcp_congestion_resume(connection);
    loss->rack_flags &= (uint8_t)~PL_RACK_WIDENED;
    if (loss->rack_recoveries && --loss->rack_recoveries == 0)
        loss->rack_widenings = 0;
}

/* RFC 9937 section 6: so many bytes may be sent for those that were delivered that the window
 * comes down to the threshold by the end; below it, as many as were delivered, and a segment
 * more while all goes well. */
void pl_tcp_reduce(struct plumb_tcp *connection, uint32_t delivered, bool safe) {
    struct pl_tcp_loss *loss = pl_tcp_own_loss(connection);
    uint32_t pipe = pl_tcp_pipe(connection), threshold = connection->slow_start_threshold;
    uint32_t mss = connection->mss, out = loss->prr_out, may;

    loss->prr_delivered = pl_tcp_bounded(loss->prr_delivered + delivered);
    uint32_t all = loss->prr_delivered;
    if (pipe > threshold) {
        uint32_t share = (uint32_t)(((uint64_t)all * (loss->prr_ratio + 1U) + 65535) >> 16);
        share += mss - 1; /* a part of a segment lets all of it go */
        share -= share % mss;
        may = share > out ? share - out : 0;
    } else {
        may = all > out + delivered ? all - out : delivered;
        if (safe)
            may += mss;
        if (may > threshold - pipe)
            may = threshold - pipe;
    }
    /* The first repetition goes in any case. */
    if (out == 0 && may < mss)
        may = mss;
    connection->congestion_window = pl_tcp_bounded(pipe + may);
}

#endif
