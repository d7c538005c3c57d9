/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The scoreboard of what is out (RFC 6675), which lies in the send queue itself. Each segment's
 * `mark` says what became of it and `sent_us` when it was last sent:
 *
 *     SACKED                      the peer has it
 *     LOST                        the network has not
 *     LOST | RESENT               ... but once more
 *     REPEATED                    more than once, so that nobody knows which is acknowledged
 *
 * What holds: left_network is the sum of the segments before send_unsent that are SACKED, or
 * LOST and not RESENT; `duplicates` the number that is SACKED (up to 255). A time-out, and
 * whatever else rewinds, forgets all but REPEATED: so a peer that takes back what it has
 * acknowledged (RFC 2018 section 8) costs a time-out and nothing more. Without a record no
 * segment has left.
 *
 * Work: an acknowledgement that is not plain walks the queue, which the send buffer and the
 * pool bound, a fixed number of times.
 */
#include "tcp/scoreboard.h"

#ifdef CONFIG_PLUMB_TCP_RACK

/* ---- marks ---- */

void pl_tcp_set_mark(struct pl_tcp_loss *loss, struct plumb_packet *segment, unsigned mark,
                     bool counts) {
    uint32_t left = loss->left_network;

    if (counts) {
        if (pl_tcp_has_left(segment->mark))
            left -= segment->total;
        if (pl_tcp_has_left(mark))
            left += segment->total;
        loss->left_network = (pl_tcp_size)left;
    }
    segment->mark = (uint16_t)mark;
}

void pl_tcp_forget_marks(struct plumb_tcp *connection) {
    if (!pl_tcp_racks(connection))
        return;
    struct pl_tcp_loss *loss = pl_tcp_keep_loss(connection);
    if (loss) {
        loss->left_network = 0;
        loss->rack_flags &= (uint8_t) ~(PL_RACK_STARTED | PL_RACK_PROBED | PL_RACK_PROBED_AGAIN);
        connection->flags |= PL_TCP_WATCHED;
    } else {
        connection->agreed |= PL_TCP_BLIND;
    }
    connection->duplicates = 0;
    for (struct plumb_packet *segment = connection->send_first; segment; segment = segment->next)
        segment->mark &= PL_TCP_REPEATED;
}

void pl_tcp_forget_losses(struct plumb_tcp *connection) {
    struct pl_tcp_loss *loss = pl_tcp_loss(connection);

    if (!pl_tcp_racks(connection) || !loss)
        return;
    loss->left_network = 0;
    for (struct plumb_packet *segment = connection->send_first;
         segment && segment != connection->send_unsent; segment = segment->next) {
        segment->mark &= PL_TCP_SACKED | PL_TCP_REPEATED;
        if (segment->mark & PL_TCP_SACKED)
            loss->left_network = (pl_tcp_size)(loss->left_network + segment->total);
    }
}

void pl_tcp_mark_sent(struct plumb_tcp *connection, struct plumb_packet *segment, bool again) {
    segment->sent_us = pl_tcp_now_us(connection);
    if (!pl_tcp_racks(connection))
        return;
    if (segment->mark & PL_TCP_LOST)
        pl_tcp_set_mark(pl_tcp_own_loss(connection), segment, segment->mark | PL_TCP_RESENT, true);
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
    struct pl_tcp_loss *loss = pl_tcp_own_loss(connection);
    struct plumb_packet *segment = connection->send_unsent;

    while (segment && pl_before(segment->sequence, connection->send_most) &&
           segment->mark & PL_TCP_SACKED) {
        loss->left_network = (pl_tcp_size)(loss->left_network + segment->total);
        connection->send_next = pl_tcp_end_of(segment);
        segment = segment->next;
    }
    connection->send_unsent = segment;
}

uint32_t pl_tcp_highest_delivered(const struct plumb_tcp *connection) {
    uint32_t highest = connection->send_unacked;

    if (connection->duplicates)
        for (const struct plumb_packet *segment = connection->send_first;
             segment && pl_before(segment->sequence, connection->send_most);
             segment = segment->next)
            if (segment->mark & PL_TCP_SACKED)
                highest = pl_tcp_end_of(segment);
    return highest;
}

/* ---- the peer's blocks (RFC 2018, RFC 2883) ---- */

/* RFC 2883 section 4: the first block tells of a duplicate when it lies below the
 * acknowledgement, or within the second. */
static bool is_duplicate(const struct pl_news *news, uint32_t acknowledgement) {
    const struct pl_block *first = &news->blocks[0], *second = &news->blocks[1];

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

void pl_tcp_read_blocks(struct pl_news *news, const struct plumb_tcp *connection,
                        const struct pl_segment *segment) {
    const uint8_t *option = sack_option(connection, segment);

    *news = (struct pl_news){0};
    if (!option)
        return;
    news->has_blocks = true;
    for (unsigned at = 2; at + 8U <= option[1] && news->count < PL_TCP_MOST_BLOCKS; at += 8) {
        struct pl_block *block = &news->blocks[news->count++];
        block->left = plumb_get32_any((const void *)(option + at));
        block->right = plumb_get32_any((const void *)(option + at + 4));
    }
    if (news->count && is_duplicate(news, segment->acknowledgement) &&
        pl_before(news->blocks[0].left, news->blocks[0].right))
        news->duplicate = news->blocks[0];
}

void pl_tcp_keep_valid(struct pl_news *news, const struct plumb_tcp *connection) {
    unsigned count = 0;

    for (unsigned i = 0; i < news->count; i++) {
        const struct pl_block *block = &news->blocks[i];
        if (pl_before(block->left, block->right) &&
            !pl_before(block->left, connection->send_unacked) &&
            !pl_after(block->right, connection->send_most))
            news->blocks[count++] = *block;
    }
    news->count = count;
}

bool pl_tcp_is_covered(const struct plumb_packet *segment, const struct pl_news *news) {
    for (unsigned i = 0; i < news->count; i++)
        if (!pl_before(segment->sequence, news->blocks[i].left) &&
            !pl_after(pl_tcp_end_of(segment), news->blocks[i].right))
            return true;
    return false;
}

#endif
