/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Finding losses by what the peer has selectively acknowledged and by time: RACK-TLP
 * (RFC 8985) over a scoreboard (RFC 6675) that lies in the send queue itself. Only
 * connections that agreed on SACK come here.
 *
 * Each segment's `mark` says what became of it and `sent_us` when it was last sent:
 *
 *     SACKED                      the peer has it
 *     LOST                        the network has not
 *     LOST | RESENT               ... but once more
 *     REPEATED                    more than once, so that nobody knows which is acknowledged
 *
 * What holds: left_network is the sum of the segments before send_unsent that are SACKED, or
 * LOST and not RESENT; `duplicates` the number that is SACKED (up to 255). A time-out, and
 * whatever else rewinds, forgets all but REPEATED: so a peer that takes back what it has
 * acknowledged (RFC 2018 section 8) costs a time-out and nothing more.
 *
 * Work: an acknowledgement that is not plain walks the queue, which the send buffer and the
 * pool bound, a fixed number of times.
 */
#include "tcp/congestion.h"

#ifdef CONFIG_PLUMB_TCP_RACK

#define DUPLICATES_TO_RETRANSMIT 3U
#define MOST_BLOCKS              4U
/* Recoveries without a duplicate until the reordering window shrinks (RFC 8985 section 6.2). */
#define RECOVERIES_TO_SHRINK 16U
/* How long the peer may delay an acknowledgement that is wanted from a probe. */
#define LONGEST_DELAY_MS 200U

enum rack_flag {
    STARTED = 1,        /* something was delivered of what is out: rack_sent_us and so on */
    REORDERING = 2,     /* has been seen */
    WIDENED = 4,        /* the reordering window, since the last recovery began */
    PROBED = 8,         /* a probe for the tail is out, up to probe_end */
    PROBED_AGAIN = 16,  /* and was a repetition */
    WAITS_REORDER = 32, /* what the deadline is set for; a time-out if neither */
    WAITS_PROBE = 64,
    EARLY = 128, /* what is being delivered is so by the first it was sent, and not by the last */
};

struct block {
    uint32_t left, right;
};

/* What an acknowledgement has brought. */
struct news {
    struct block blocks[MOST_BLOCKS];
    unsigned count;
    struct block duplicate; /* what the peer had twice (RFC 2883); empty: nothing */
    bool has_blocks;
    uint32_t advanced; /* bytes acknowledged cumulatively */
};

static uint32_t now_us(const struct plumb_tcp *connection) {
    return (uint32_t)pl_tcp_stack(connection)->now_us;
}

static uint32_t end_of(const struct plumb_packet *segment) {
    return segment->sequence + segment->total;
}

/* ---- marks ---- */

static bool has_left(unsigned mark) {
    return mark & PL_TCP_SACKED || (mark & (PL_TCP_LOST | PL_TCP_RESENT)) == PL_TCP_LOST;
}

/* Changes the mark of a segment; `counts` unless it is to be sent again in order. */
static void set_mark(struct plumb_tcp *connection, struct plumb_packet *segment, unsigned mark,
                     bool counts) {
    uint32_t left = connection->left_network;

    if (counts) {
        if (has_left(segment->mark))
            left -= segment->total;
        if (has_left(mark))
            left += segment->total;
        connection->left_network = (pl_tcp_size)left;
    }
    segment->mark = (uint16_t)mark;
}

void pl_tcp_forget_marks(struct plumb_tcp *connection) {
    if (!pl_tcp_racks(connection))
        return;
    connection->left_network = 0;
    connection->duplicates = 0;
    connection->flags |= PL_TCP_WATCHED;
    connection->rack_flags &=
        (uint8_t) ~(STARTED | PROBED | PROBED_AGAIN | WAITS_REORDER | WAITS_PROBE);
    for (struct plumb_packet *segment = connection->send_first; segment; segment = segment->next)
        segment->mark &= PL_TCP_REPEATED;
}

void pl_tcp_forget_losses(struct plumb_tcp *connection) {
    if (!pl_tcp_racks(connection))
        return;
    connection->left_network = 0;
    for (struct plumb_packet *segment = connection->send_first;
         segment && segment != connection->send_unsent; segment = segment->next) {
        segment->mark &= PL_TCP_SACKED | PL_TCP_REPEATED;
        if (segment->mark & PL_TCP_SACKED)
            connection->left_network = (pl_tcp_size)(connection->left_network + segment->total);
    }
}

void pl_tcp_mark_sent(struct plumb_tcp *connection, struct plumb_packet *segment, bool again) {
    segment->sent_us = now_us(connection);
    if (!pl_tcp_racks(connection))
        return;
    if (segment->mark & PL_TCP_LOST)
        set_mark(connection, segment, segment->mark | PL_TCP_RESENT, true);
    if (again)
        segment->mark |= PL_TCP_REPEATED;
    pl_tcp_count_out(connection, segment->total);
}

struct plumb_packet *pl_tcp_next_lost(const struct plumb_tcp *connection,
                                      struct plumb_packet *from) {
    struct plumb_packet *segment = from;

    while (segment && segment != connection->send_unsent)
        if ((segment->mark & (PL_TCP_LOST | PL_TCP_RESENT | PL_TCP_SACKED)) == PL_TCP_LOST)
            return segment;
        else
            segment = segment->next;
    return NULL;
}

void pl_tcp_skip_sacked(struct plumb_tcp *connection) {
    struct plumb_packet *segment = connection->send_unsent;

    while (segment && pl_before(segment->sequence, connection->send_most) &&
           segment->mark & PL_TCP_SACKED) {
        connection->left_network = (pl_tcp_size)(connection->left_network + segment->total);
        connection->send_next = end_of(segment);
        segment = segment->next;
    }
    connection->send_unsent = segment;
}

/* ---- RACK: what was delivered (RFC 8985 section 6.2, steps 1 to 3) ---- */

static bool sent_after(uint32_t a_us, uint32_t a_end, uint32_t b_us, uint32_t b_end) {
    return pl_after(a_us, b_us) || (a_us == b_us && pl_after(a_end, b_end));
}

static void note_delivered(struct plumb_tcp *connection, const struct plumb_packet *segment) {
    uint32_t rtt_us = now_us(connection) - segment->sent_us, end = end_of(segment);

    if (!(segment->mark & PL_TCP_REPEATED)) {
        if (!connection->rack_least_us || rtt_us < connection->rack_least_us)
            connection->rack_least_us = rtt_us ? rtt_us : 1;
    } else if (rtt_us < connection->rack_least_us || connection->rack_flags & EARLY) {
        return; /* it is the one before that has arrived */
    }
    connection->rack_rtt_us = rtt_us;
    if (connection->rack_flags & STARTED &&
        !sent_after(segment->sent_us, end, connection->rack_sent_us, connection->rack_end))
        return;
    connection->rack_flags |= STARTED;
    connection->rack_sent_us = segment->sent_us;
    connection->rack_end = end;
}

/* Something sent once arrived after what had been sent behind it (step 3). */
static void note_order(struct plumb_tcp *connection, const struct plumb_packet *segment,
                       uint32_t highest) {
    if (pl_before(end_of(segment), highest) && !(segment->mark & PL_TCP_REPEATED))
        connection->rack_flags |= REORDERING;
}

/* Where the farthest byte that was delivered ends. */
static uint32_t highest_delivered(const struct plumb_tcp *connection) {
    uint32_t highest = connection->send_unacked;

    if (connection->duplicates)
        for (const struct plumb_packet *segment = connection->send_first;
             segment && pl_before(segment->sequence, connection->send_most);
             segment = segment->next)
            if (segment->mark & PL_TCP_SACKED)
                highest = end_of(segment);
    return highest;
}

uint32_t pl_tcp_note_release(struct plumb_tcp *connection, uint32_t bytes) {
    uint32_t highest = highest_delivered(connection), delivered = 0;
    struct plumb_packet *segment = connection->send_first;
    bool counts = true;

    for (uint32_t left = bytes; segment && left; segment = segment->next) {
        uint32_t part = left < segment->total ? left : segment->total;
        if (segment == connection->send_unsent)
            counts = false;
        if (counts && has_left(segment->mark))
            connection->left_network = (pl_tcp_size)(connection->left_network - part);
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

/* ---- the peer's blocks (RFC 2018, RFC 2883) ---- */

/* RFC 2883 section 4: the first block tells of a duplicate when it lies below the
 * acknowledgement, or within the second. */
static bool is_duplicate(const struct news *news, uint32_t acknowledgement) {
    const struct block *first = &news->blocks[0], *second = &news->blocks[1];

    return !pl_after(first->right, acknowledgement) ||
           (news->count > 1 && !pl_before(first->left, second->left) &&
            !pl_after(first->right, second->right));
}

static const uint8_t *sack_option(const struct plumb_tcp *connection,
                                  const struct pl_segment *segment) {
    if (segment->options_length <= pl_tcp_stamp_length(connection))
        return NULL;
    const uint8_t *option = pl_tcp_option(segment, PL_TCP_OPTION_SACK, 0);
    return option && option[1] > 2 && (option[1] - 2U) % 8 == 0 ? option : NULL;
}

static void read_blocks(struct news *news, const struct plumb_tcp *connection,
                        const struct pl_segment *segment) {
    const uint8_t *option = sack_option(connection, segment);

    *news = (struct news){0};
    if (!option)
        return;
    news->has_blocks = true;
    for (unsigned at = 2; at + 8U <= option[1] && news->count < MOST_BLOCKS; at += 8) {
        struct block *block = &news->blocks[news->count++];
        block->left = plumb_get32_any((const void *)(option + at));
        block->right = plumb_get32_any((const void *)(option + at + 4));
    }
    if (news->count && is_duplicate(news, segment->acknowledgement) &&
        pl_before(news->blocks[0].left, news->blocks[0].right))
        news->duplicate = news->blocks[0];
}

/* Of what is out, and nothing else. */
static bool is_valid(const struct plumb_tcp *connection, const struct block *block) {
    return pl_before(block->left, block->right) &&
           !pl_before(block->left, connection->send_unacked) &&
           !pl_after(block->right, connection->send_most);
}

static bool covered(const struct plumb_packet *segment, const struct news *news) {
    for (unsigned i = 0; i < news->count; i++)
        if (!pl_before(segment->sequence, news->blocks[i].left) &&
            !pl_after(end_of(segment), news->blocks[i].right))
            return true;
    return false;
}

/* Marks what the blocks cover; returns how many bytes of it are new. */
static uint32_t take_blocks(struct plumb_tcp *connection, struct news *news) {
    uint32_t highest = highest_delivered(connection), delivered = 0;
    unsigned count = 0, sacked = 0;
    bool counts = true;

    for (unsigned i = 0; i < news->count; i++)
        if (is_valid(connection, &news->blocks[i]))
            news->blocks[count++] = news->blocks[i];
    news->count = count;
    for (struct plumb_packet *segment = connection->send_first;
         segment && pl_before(segment->sequence, connection->send_most); segment = segment->next) {
        if (segment == connection->send_unsent)
            counts = false;
        if (!(segment->mark & PL_TCP_SACKED) && covered(segment, news)) {
            note_order(connection, segment, highest);
            note_delivered(connection, segment);
            set_mark(connection, segment, segment->mark | PL_TCP_SACKED, counts);
            delivered += segment->total;
        }
        sacked += (segment->mark & PL_TCP_SACKED) != 0;
    }
    connection->duplicates = (uint8_t)(sacked < UINT8_MAX ? sacked : UINT8_MAX);
    return delivered;
}

/* ---- RACK: what was lost (steps 4 and 5) ---- */

static bool in_episode(const struct plumb_tcp *connection) {
    return pl_before(connection->send_unacked, connection->recover);
}

/* Step 4: how much later than what was sent behind it a segment may arrive. */
static uint32_t reordering_us(const struct plumb_tcp *connection) {
    uint32_t window_us = connection->rack_least_us / 4 * (connection->rack_widenings + 1U);

    if (!(connection->rack_flags & REORDERING) &&
        (connection->flags & PL_TCP_RECOVERY || in_episode(connection) ||
         connection->duplicates >= DUPLICATES_TO_RETRANSMIT))
        return 0;
    return window_us < connection->srtt_us ? window_us : connection->srtt_us;
}

/* The peer had something twice, so that was sent again too soon. */
static void widen_reordering(struct plumb_tcp *connection) {
    if (connection->rack_flags & WIDENED)
        return;
    connection->rack_flags |= WIDENED;
    if (connection->rack_widenings < UINT8_MAX)
        connection->rack_widenings++;
    connection->rack_recoveries = RECOVERIES_TO_SHRINK;
}

static void recovery_ended(struct plumb_tcp *connection) {
    connection->rack_flags &= (uint8_t)~WIDENED;
    if (connection->rack_recoveries && --connection->rack_recoveries == 0)
        connection->rack_widenings = 0;
}

/* Step 5: marks what is lost; returns whether anything is, and in *wait_us when the rest of
 * what was sent before the last that was delivered will be. */
static bool detect_losses(struct plumb_tcp *connection, uint32_t *wait_us) {
    uint32_t patience = connection->rack_rtt_us + reordering_us(connection);
    uint32_t now = now_us(connection), wait = 0;
    bool lost = false;

    if (connection->rack_flags & STARTED)
        for (struct plumb_packet *segment = connection->send_first;
             segment && segment != connection->send_unsent; segment = segment->next) {
            if (has_left(segment->mark) ||
                !sent_after(connection->rack_sent_us, connection->rack_end, segment->sent_us,
                            end_of(segment)))
                continue;
            uint32_t waited = now - segment->sent_us;
            if (waited >= patience) {
                lost = true;
                set_mark(connection, segment,
                         (segment->mark | PL_TCP_LOST) & ~(unsigned)PL_TCP_RESENT, true);
            } else if (patience - waited > wait) {
                wait = patience - waited;
            }
        }
    *wait_us = wait;
    return lost;
}

/* ---- recovery, and the window in it (RFC 6675, RFC 9937) ---- */

static void enter_recovery(struct plumb_tcp *connection, uint32_t delivered) {
    uint32_t flight = pl_tcp_in_flight(connection), mss = connection->mss;
    uint32_t sacked = connection->duplicates * mss;

    pl_count(pl_tcp_stack(connection), PLUMB_COUNTER_tcp_fast_retransmit);
    pl_tcp_congestion_lost(connection);
    /* What will still be delivered: all but what was selectively acknowledged before. */
    flight = flight > sacked + mss ? flight - sacked + delivered : mss;
    connection->flags |= PL_TCP_RECOVERY;
    connection->recover = connection->send_most;
    connection->rack_flags &= (uint8_t) ~(WIDENED | PROBED | PROBED_AGAIN);
    connection->prr.delivered = connection->prr.out = 0;
    connection->prr_ratio =
        (uint16_t)(pl_tcp_fraction(connection->slow_start_threshold, flight) - 1);
}

static void leave_recovery(struct plumb_tcp *connection) {
    connection->flags &= (uint16_t)~PL_TCP_RECOVERY;
    connection->congestion_window = connection->slow_start_threshold;
    pl_tcp_congestion_resume(connection);
    recovery_ended(connection);
}

/* RFC 9937 section 6: so many bytes may be sent for those that were delivered that the window
 * comes down to the threshold by the end; below it, as many as were delivered, and a segment
 * more while all goes well. */
static void reduce_proportionally(struct plumb_tcp *connection, uint32_t delivered, bool safe) {
    uint32_t pipe = pl_tcp_pipe(connection), threshold = connection->slow_start_threshold;
    uint32_t mss = connection->mss, out = connection->prr.out, may;

    connection->prr.delivered = pl_tcp_bounded(connection->prr.delivered + delivered);
    uint32_t all = connection->prr.delivered;
    if (pipe > threshold) {
        uint32_t share = (uint32_t)(((uint64_t)all * (connection->prr_ratio + 1U) + 65535) >> 16);
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

/* ---- the tail (RFC 8985 section 7) ---- */

/* Section 7.4: what the acknowledgement of a probe says. */
static void take_probed(struct plumb_tcp *connection, const struct news *news,
                        uint32_t acknowledgement) {
    bool again = connection->rack_flags & PROBED_AGAIN;
    bool duplicate = news->duplicate.right == connection->probe_end &&
                     news->duplicate.left != news->duplicate.right;

    if (!(connection->rack_flags & PROBED) || pl_before(acknowledgement, connection->probe_end))
        return;
    /* Only a second one of the same number, with nothing to say, tells that both arrived. */
    if (again && !duplicate && acknowledgement == connection->probe_end &&
        (news->advanced || news->has_blocks))
        return;
    /* It has mended a loss that nothing else told of. */
    if (again && !duplicate && pl_after(acknowledgement, connection->probe_end)) {
        pl_tcp_congestion_lost(connection);
        connection->congestion_window = connection->slow_start_threshold;
        pl_tcp_congestion_resume(connection);
    }
    connection->rack_flags &= (uint8_t) ~(PROBED | PROBED_AGAIN);
}

/* Section 7.2: may the tail be probed, before a time-out? */
static bool may_probe(const struct plumb_tcp *connection) {
    return connection->srtt_us && connection->send_first && connection->send_window &&
           pl_tcp_in_flight(connection) && !connection->duplicates && !connection->retries &&
           !in_episode(connection) && !(connection->rack_flags & PROBED) &&
           !(connection->flags & (PL_TCP_RECOVERY | PL_TCP_PROBING));
}

/* A new segment, whatever the congestion window says, or the last one once more (section 7.3). */
static void send_probe(struct plumb_tcp *connection) {
    struct plumb_packet *last = connection->send_first, *fresh = connection->send_unsent;
    uint32_t out = pl_tcp_in_flight(connection);
    bool again = !fresh || out + fresh->total > connection->send_window;

    if (again)
        while (last->next && last->next != fresh)
            last = last->next;
    pl_count(pl_tcp_stack(connection), PLUMB_COUNTER_tcp_tail_probe);
    pl_tcp_send_whole(connection, again ? last : fresh);
    connection->rack_flags |= (uint8_t)(PROBED | (again ? PROBED_AGAIN : 0));
    connection->flags |= PL_TCP_WATCHED;
    connection->probe_end = connection->send_next;
}

/* ---- deadlines ---- */

static void wait_for(struct plumb_tcp *connection, unsigned what, uint32_t delay_ms) {
    unsigned flags = connection->rack_flags & ~(unsigned)(WAITS_REORDER | WAITS_PROBE);

    connection->rack_flags = (uint8_t)(flags | what);
    pl_tcp_set_deadline(connection, PL_TCP_RETRANSMIT, delay_ms);
}

/* What is left of the time-out: from the last progress, or from when the oldest was sent. */
static uint32_t time_out_ms(const struct plumb_tcp *connection) {
    uint32_t rto_ms = pl_tcp_backed_off(connection);
    uint32_t waited_ms = pl_tcp_stack(connection)->now_ms - connection->progress_ms;

    if (connection->send_first && connection->send_unacked != connection->send_most) {
        uint32_t sent_ms = (now_us(connection) - connection->send_first->sent_us) / 1000;
        if (sent_ms < waited_ms)
            waited_ms = sent_ms;
    } else {
        waited_ms = 0; /* a FIN by itself, or what could not be sent yet */
    }
    return waited_ms < rto_ms ? rto_ms - waited_ms : 1;
}

void pl_tcp_rack_arm(struct plumb_tcp *connection) {
    uint32_t rto_ms = time_out_ms(connection);

    if (may_probe(connection)) {
        uint32_t probe_ms = connection->srtt_us / 500 + 2;
        if (pl_tcp_in_flight(connection) <= connection->mss)
            probe_ms += LONGEST_DELAY_MS;
        if (probe_ms < rto_ms) {
            wait_for(connection, WAITS_PROBE, probe_ms);
            return;
        }
    }
    wait_for(connection, 0, rto_ms);
}

/* The probe follows what is sent (section 7.2); the time-out stays what it was. */
void pl_tcp_rack_sent(struct plumb_tcp *connection) {
    bool set = pl_tcp_has_deadline(connection, PL_TCP_RETRANSMIT);

    if (!set || (pl_tcp_in_flight(connection) && !(connection->rack_flags & WAITS_REORDER)))
        pl_tcp_rack_arm(connection);
}

static void arm_after_losses(struct plumb_tcp *connection, uint32_t wait_us) {
    if (connection->send_unacked == connection->send_most)
        connection->rack_flags &= (uint8_t)~STARTED; /* its times would grow old */
    if (connection->send_unacked == connection->send_most && !connection->send_first)
        pl_tcp_clear_deadline(connection, PL_TCP_RETRANSMIT);
    else if (wait_us)
        wait_for(connection, WAITS_REORDER, wait_us / 1000 + 1);
    else
        pl_tcp_rack_arm(connection);
}

static void begin_if_lost(struct plumb_tcp *connection, bool lost, uint32_t delivered) {
    if (lost && !(connection->flags & PL_TCP_RECOVERY) && !in_episode(connection))
        enter_recovery(connection, delivered);
}

bool pl_tcp_rack_timer(struct plumb_tcp *connection) {
    unsigned waits = connection->rack_flags & (WAITS_REORDER | WAITS_PROBE);
    uint32_t wait_us;

    connection->rack_flags &= (uint8_t) ~(WAITS_REORDER | WAITS_PROBE);
    if (waits & WAITS_REORDER) {
        bool lost = detect_losses(connection, &wait_us);
        begin_if_lost(connection, lost, 0);
        if (connection->flags & PL_TCP_RECOVERY)
            reduce_proportionally(connection, 0, false);
        arm_after_losses(connection, wait_us);
        pl_tcp_pend(connection);
    } else if (waits & WAITS_PROBE && may_probe(connection)) {
        send_probe(connection);
        wait_for(connection, 0, pl_tcp_backed_off(connection));
    }
    return waits != 0;
}

/* ---- an acknowledgement ---- */

/* Does the peer's echo tell that the oldest segment arrived as it was first sent (RFC 3522
 * section 3.2)? Only where no other was sent again, so that it is known when. */
static bool echo_is_early(const struct plumb_tcp *connection, const struct pl_segment *segment) {
#if defined(CONFIG_PLUMB_TCP_UNDO) && defined(CONFIG_PLUMB_TCP_TIMESTAMPS)
    const struct plumb_packet *oldest = connection->send_first;

    if (!pl_tcp_agreed(connection, PL_TCP_TIMESTAMPS) || connection->undo_count != 1 || !oldest ||
        !(oldest->mark & PL_TCP_REPEATED))
        return false;
    uint32_t now = pl_tcp_stack(connection)->now_ms + connection->timestamp_offset;
    uint32_t repeated_ms = (now_us(connection) - oldest->sent_us) / 1000;
    return pl_after(now - segment->timestamp_echo, repeated_ms + 1);
#else
    (void)connection;
    (void)segment;
    return false;
#endif
}

/* Are acknowledgements to be looked at one by one? */
static void watch(struct plumb_tcp *connection) {
    if (connection->duplicates || in_episode(connection) || connection->rack_flags & PROBED ||
        connection->left_network)
        connection->flags |= PL_TCP_WATCHED;
    else
        connection->flags &= (uint16_t)~PL_TCP_WATCHED;
}

static void take_news(struct plumb_tcp *connection, uint32_t advanced, uint32_t delivered) {
    bool ending = connection->flags & PL_TCP_RECOVERY && !in_episode(connection);
    uint32_t wait_us;

    if (ending)
        leave_recovery(connection);
    bool lost = detect_losses(connection, &wait_us);
    begin_if_lost(connection, lost, delivered);
    if (connection->flags & PL_TCP_RECOVERY)
        reduce_proportionally(connection, delivered, advanced && !lost);
    else if (advanced && !ending)
        pl_tcp_congestion_acked(connection, advanced, 1);
    arm_after_losses(connection, wait_us);
    watch(connection);
    if (connection->flags & PL_TCP_WATCHED)
        pl_tcp_pend(connection);
}

#ifdef CONFIG_PLUMB_TCP_ACKNOWLEDGE_BATCH
void pl_tcp_rack_deferred(struct plumb_tcp *connection, uint32_t acknowledgement, uint32_t count) {
    uint32_t bytes = acknowledgement - connection->send_unacked;

    pl_tcp_advance(connection, acknowledgement);
    pl_tcp_congestion_acked(connection, bytes, count);
    arm_after_losses(connection, 0);
}
#endif

void pl_tcp_rack_acknowledgement(struct plumb_tcp *connection, const struct pl_segment *segment,
                                 uint32_t ahead) {
    struct news news;
    uint32_t delivered = 0;

    read_blocks(&news, connection, segment);
    news.advanced = ahead;
    if (!ahead && !news.has_blocks && !(connection->flags & (PL_TCP_WATCHED | PL_TCP_RECOVERY)))
        return;
    bool early = ahead && echo_is_early(connection, segment);
    if (early)
        connection->rack_flags |= EARLY;
    if (ahead)
        delivered = pl_tcp_advance(connection, segment->acknowledgement);
    if (news.has_blocks || connection->duplicates || ahead) {
        delivered += take_blocks(connection, &news);
    }
    connection->rack_flags &= (uint8_t)~EARLY;
    if (early)
        pl_tcp_undo_spurious(connection);
    else if (ahead || news.has_blocks)
        pl_tcp_undo_step(connection, ahead);
    if (news.duplicate.left != news.duplicate.right) {
        widen_reordering(connection);
        pl_tcp_undo_duplicate(connection);
    }
    take_probed(connection, &news, segment->acknowledgement);
    take_news(connection, ahead, delivered);
}

#endif
