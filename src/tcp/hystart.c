/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * HyStart++ (RFC 9406): the first slow start ends when the round trips of a round are longer than
 * those of the last, as then a queue has begun to fill, and not by what that loses. For five more
 * rounds the window grows by a quarter as much (conservative slow start, CSS); when the round trips
 * get shorter meanwhile it was jitter, and slow start goes on.
 *
 * There is no threshold yet, so what is noted takes its place, and that of congestion_acked:
 *
 *     31  30    27 26      24 23          12 11          0
 *     | 1 | samples | CSS round | reference   | shortest   |      slow_start_threshold
 *     | the round ends when this number is acknowledged   |      congestion_acked
 *
 * `reference` is the shortest round trip of the last round, or in CSS of the one that led there;
 * `shortest` this round's; both in 256 us, all ones: none. A round is judged from its eighth sample
 * on, which takes timestamps: without them, one segment in a round is timed.
 */
#include "tcp/congestion.h"

#ifdef CONFIG_PLUMB_TCP_HYSTART

/* Section 4.3. */
#define SAMPLES     8U
#define CSS_ROUNDS  5U
#define CSS_DIVISOR 4U

/* Round trips. */
#define UNIT_SHIFT 8
#define LEAST      (4000U >> UNIT_SHIFT)
#define MOST       (16000U >> UNIT_SHIFT)
#define NONE       0xfffU

struct notes {
    uint32_t samples;   /* up to SAMPLES */
    uint32_t css_round; /* from 1 on; 0: not in CSS */
    uint32_t reference, shortest;
};

static struct notes read(const struct plumb_tcp *connection) {
    uint32_t word = connection->slow_start_threshold;

    return (struct notes){word >> 27 & 15, word >> 24 & 7, word >> 12 & NONE, word & NONE};
}

static void write(struct plumb_tcp *connection, const struct notes *notes) {
    connection->slow_start_threshold = PL_TCP_NO_THRESHOLD | notes->samples << 27 |
                                       notes->css_round << 24 | notes->reference << 12 |
                                       notes->shortest;
}

void pl_tcp_hystart_begin(struct plumb_tcp *connection) {
    const struct notes none = {0, 0, NONE, NONE};

    write(connection, &none);
    connection->congestion_acked = connection->send_next;
}

void pl_tcp_hystart_note(struct plumb_tcp *connection, uint32_t sample_us) {
    struct notes notes = read(connection);
    uint32_t sample = sample_us >> UNIT_SHIFT;

    if (sample >= NONE)
        sample = NONE - 1;
    if (sample < notes.shortest)
        notes.shortest = sample;
    if (notes.samples < SAMPLES)
        notes.samples++;
    write(connection, &notes);
}

/* Is the shortest round trip longer than it was, by more than chance (RttThresh)? */
static bool is_longer(const struct notes *notes) {
    uint32_t more = notes->reference / 8;

    if (more < LEAST)
        more = LEAST;
    if (more > MOST)
        more = MOST;
    return notes->reference != NONE && notes->shortest >= notes->reference + more;
}

/* Enters CSS, or leaves it for slow start. */
static void judge(struct notes *notes) {
    if (notes->css_round && notes->shortest < notes->reference) {
        notes->css_round = 0;
        notes->reference = NONE;
    } else if (!notes->css_round && is_longer(notes)) {
        notes->css_round = 1;
        notes->reference = notes->shortest;
    }
}

/* False when it was the last. */
static bool begin_round(struct plumb_tcp *connection, struct notes *notes) {
    if (!notes->css_round)
        notes->reference = notes->shortest;
    else if (notes->css_round++ == CSS_ROUNDS)
        return false;
    notes->shortest = NONE;
    notes->samples = 0;
    connection->congestion_acked = connection->send_next;
    return true;
}

void pl_tcp_hystart_grow(struct plumb_tcp *connection, uint32_t bytes) {
    struct notes notes = read(connection);

    if (notes.samples == SAMPLES)
        judge(&notes);
    pl_tcp_grow_window(connection, notes.css_round ? bytes / CSS_DIVISOR : bytes);
    if (pl_before(connection->send_unacked, connection->congestion_acked) ||
        begin_round(connection, &notes)) {
        write(connection, &notes);
        return;
    }
    connection->congestion_acked = 0;
    connection->slow_start_threshold = connection->congestion_window;
    pl_tcp_keep_loss(connection); /* above it CUBIC needs one */
    pl_tcp_congestion_resume(connection);
}

#endif
