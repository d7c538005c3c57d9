/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Selective acknowledgements as the receiver gives them (RFC 2018), and the duplicates that it
 * got (RFC 2883).
 *
 * Blocks are made of `reordered` when an acknowledgement is sent, and not kept. Which of them
 * came last is told by the packets, whose `sum` says how many had been kept out of order
 * before. Of duplicates the last run of bytes, of whichever connection's, waits for that one's
 * next acknowledgement, which follows in the same poll; it waits for no other, so it is told once.
 *
 * Segments with payload carry no blocks: where there are any to tell at once, an
 * acknowledgement goes before.
 */
#include "tcp/tcp.h"

#ifdef CONFIG_PLUMB_TCP_SACK

/* What fits into 40 bytes of options. */
#define MOST_BLOCKS         4U
#define MOST_BESIDE_A_STAMP 3U

struct block {
    uint32_t begin, end, arrived;
};

static bool has_duplicate(const struct plumb_tcp *connection) {
    return connection->tcp->duplicate_owner == connection;
}

void pl_tcp_note_duplicate(const struct plumb_tcp *connection, uint32_t begin, uint32_t end) {
    struct pl_tcp_state *tcp = connection->tcp;

    if (!pl_tcp_agreed(connection, PL_TCP_SACK) || begin == end)
        return;
    if (!has_duplicate(connection) || tcp->duplicate_end != begin)
        tcp->duplicate_begin = begin;
    tcp->duplicate_end = end;
    tcp->duplicate_owner = connection;
}

void pl_tcp_forget_duplicate(const struct plumb_tcp *connection) {
    if (has_duplicate(connection))
        connection->tcp->duplicate_owner = NULL;
}

bool pl_tcp_has_blocks(const struct plumb_tcp *connection) {
    return connection->reordered || has_duplicate(connection);
}

/* Puts a block among the `most` that came last, which are sorted so; returns how many there
 * are then. */
static unsigned insert(struct block *blocks, unsigned count, unsigned most,
                       const struct block *block) {
    unsigned at = count;

    while (at && pl_after(block->arrived, blocks[at - 1].arrived)) {
        if (at < most)
            blocks[at] = blocks[at - 1];
        at--;
    }
    if (at < most)
        blocks[at] = *block;
    return count < most ? count + 1 : count;
}

/* The run of bytes that begins with a packet; moves on to the next. */
static struct block take_run(const struct plumb_packet **place) {
    const struct plumb_packet *packet = *place;
    struct block run = {packet->sequence, pl_tcp_reordered_end(packet), packet->sum};

    while ((packet = packet->next) != NULL && !pl_after(packet->sequence, run.end)) {
        if (pl_after(pl_tcp_reordered_end(packet), run.end))
            run.end = pl_tcp_reordered_end(packet);
        if (pl_after(packet->sum, run.arrived))
            run.arrived = packet->sum;
    }
    *place = packet;
    return run;
}

/* The blocks that came last, the latest first (RFC 2018 section 4); but one that holds the
 * duplicate goes before all (RFC 2883 section 4.1). */
static unsigned collect(const struct plumb_tcp *connection, struct block *blocks, unsigned most) {
    const struct plumb_packet *packet = connection->reordered;
    const struct pl_tcp_state *tcp = connection->tcp;
    const uint32_t now = pl_tcp_reordered_count(connection);
    unsigned count = 0;

    while (packet) {
        struct block run = take_run(&packet);
        if (has_duplicate(connection) && !pl_before(tcp->duplicate_begin, run.begin) &&
            pl_before(tcp->duplicate_begin, run.end))
            run.arrived = now;
        count = insert(blocks, count, most, &run);
    }
    return count;
}

static void write_block(pl_header_word **word, uint32_t begin, uint32_t end) {
    (*word)[0].be = plumb_put32(begin).be;
    (*word)[1].be = plumb_put32(end).be;
    *word += 2;
}

unsigned pl_tcp_write_blocks(struct plumb_tcp *connection, pl_header_word *to) {
    const bool duplicate = has_duplicate(connection);
    unsigned most = pl_tcp_stamp_length(connection) ? MOST_BESIDE_A_STAMP : MOST_BLOCKS;
    struct block blocks[MOST_BLOCKS];
    pl_header_word *word = to + 1;

    unsigned count = collect(connection, blocks, most - duplicate);
    if (duplicate)
        write_block(&word, connection->tcp->duplicate_begin, connection->tcp->duplicate_end);
    for (unsigned i = 0; i < count; i++)
        write_block(&word, blocks[i].begin, blocks[i].end);
    to[0].be = plumb_put32((uint32_t)PL_TCP_OPTION_NOP << 24 | (uint32_t)PL_TCP_OPTION_NOP << 16 |
                           (uint32_t)PL_TCP_OPTION_SACK << 8 | (2 + 8 * (count + duplicate)))
                   .be;
    pl_tcp_forget_duplicate(connection);
    return (unsigned)(word - to) * 4U;
}

#endif
