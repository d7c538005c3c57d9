/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the files share that recover from losses by selective acknowledgements. Each calls only
 * those before it:
 *
 *     scoreboard.c   what became of each segment; the peer's blocks
 *     rack.c         what was delivered and what is lost, by time (RFC 8985 section 6)
 *     reduce.c       recovery, and the window in it (RFC 9937)
 *     tail.c         probes for the tail, and the deadline (RFC 8985 section 7)
 *     selective.c    an acknowledgement, and the deadline's end
 *
 * All of it is asked for by connections that have a record (loss.c), but for what arms the
 * deadline.
 */
#ifndef PL_SCOREBOARD_H
#define PL_SCOREBOARD_H

#include "tcp/congestion.h"

#ifdef CONFIG_PLUMB_TCP_RACK

#define PL_TCP_DUPLICATES_TO_RETRANSMIT 3U
#define PL_TCP_MOST_BLOCKS              4U

enum pl_tcp_rack_flag {
    PL_RACK_STARTED = 1,       /* something was delivered of what is out: rack_sent_us and so on */
    PL_RACK_REORDERING = 2,    /* has been seen */
    PL_RACK_WIDENED = 4,       /* the reordering window, since the last recovery began */
    PL_RACK_PROBED = 8,        /* a probe for the tail is out, up to probe_end */
    PL_RACK_PROBED_AGAIN = 16, /* and was a repetition */
    PL_RACK_EARLY = 32, /* what is being delivered is so by the first it was sent, and not by the
                           last */
};

struct pl_block {
    uint32_t left, right;
};

/* What an acknowledgement has brought. */
struct pl_news {
    struct pl_block blocks[PL_TCP_MOST_BLOCKS];
    unsigned count;
    struct pl_block duplicate; /* what the peer had twice (RFC 2883); empty: nothing */
    bool has_blocks;
    uint32_t advanced; /* bytes acknowledged cumulatively */
};

static inline uint32_t pl_tcp_now_us(const struct plumb_tcp *connection) {
    return (uint32_t)pl_tcp_stack(connection)->now_us;
}

static inline uint32_t pl_tcp_end_of(const struct plumb_packet *segment) {
    return segment->sequence + segment->total;
}

/* Is there anything out that was before the last recovery began? */
static inline bool pl_tcp_in_episode(const struct plumb_tcp *connection) {
    return pl_before(connection->send_unacked, connection->recover);
}

/* ---- scoreboard.c ---- */

/* Is a segment with this mark no longer in the network? */
static inline bool pl_tcp_has_left(unsigned mark) {
    return mark & PL_TCP_SACKED || (mark & (PL_TCP_LOST | PL_TCP_RESENT)) == PL_TCP_LOST;
}

/* Changes the mark of a segment; `counts` unless it is to be sent again in order. */
void pl_tcp_set_mark(struct pl_tcp_loss *loss, struct plumb_packet *segment, unsigned mark,
                     bool counts);

/* Where the farthest byte that was delivered ends. */
uint32_t pl_tcp_highest_delivered(const struct plumb_tcp *connection);

/* The blocks of a segment, as they are. */
void pl_tcp_read_blocks(struct pl_news *news, const struct plumb_tcp *connection,
                        const struct pl_segment *segment);

/* Leaves those blocks that are of what is out. */
void pl_tcp_keep_valid(struct pl_news *news, const struct plumb_tcp *connection);

/* Is a segment within one of the blocks? */
bool pl_tcp_is_covered(const struct plumb_packet *segment, const struct pl_news *news);

/* ---- rack.c ---- */

/* So many bytes will leave the front of the queue; returns how many were not delivered before. */
uint32_t pl_tcp_rack_release(struct plumb_tcp *connection, uint32_t bytes);

/* Marks what the blocks cover; returns how many bytes of it are new. */
uint32_t pl_tcp_rack_deliver(struct plumb_tcp *connection, const struct pl_news *news);

/* The peer had something twice, so that was sent again too soon. */
void pl_tcp_rack_widen(struct plumb_tcp *connection);

/* Marks what is lost; returns whether anything is, and in *wait_us when the rest of what was
 * sent before the last that was delivered will be. */
bool pl_tcp_rack_detect(struct plumb_tcp *connection, uint32_t *wait_us);

/* ---- reduce.c ---- */

/* Something is lost, and `delivered` bytes were, just now: recovery begins, unless what is lost
 * was out when the last one began. */
void pl_tcp_reduce_begin(struct plumb_tcp *connection, uint32_t delivered);

/* Sets the window in recovery; `safe` when all goes well. */
void pl_tcp_reduce(struct plumb_tcp *connection, uint32_t delivered, bool safe);

void pl_tcp_reduce_end(struct plumb_tcp *connection);

/* ---- tail.c ---- */

/* What the acknowledgement of a probe says. */
void pl_tcp_tail_acknowledged(struct plumb_tcp *connection, const struct pl_news *news,
                              uint32_t acknowledgement);

/* The time for a probe has come. */
void pl_tcp_tail_probe(struct plumb_tcp *connection);

/* Sets the deadline, and what for: enum pl_tcp_wait, or 0 for the time-out. */
void pl_tcp_tail_wait(struct plumb_tcp *connection, unsigned what, uint32_t delay_ms);

#endif

#endif
