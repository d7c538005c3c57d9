/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A generator of bad frames for one host: random bytes that look more or less
 * like a protocol, and good frames with a few fields spoilt. The same seed gives
 * the same frames in the host tests and on a board.
 */
#ifndef PLUMB_TEST_HOSTILE_H
#define PLUMB_TEST_HOSTILE_H

#include "frames.h"
#include "random.h"

struct hostile {
    struct random random;
    struct frame_path path;             /* from the attacker to the host under test */
    uint16_t open_port;                 /* a port that the host listens on (TCP and UDP) */
    uint32_t sequence, acknowledgement; /* near which sequence numbers are chosen */
};

/* Random bytes of random length; deeper layers are reached by right type fields,
 * lengths and checksums in more and more of the cases. */
void hostile_random(struct hostile *hostile, struct frame *frame);

/* A good frame of a random kind. */
void hostile_good(struct hostile *hostile, struct frame *frame);

/* A good frame, spoilt once to four times, its checksums set right again in half of
 * the cases. */
void hostile_mutated(struct hostile *hostile, struct frame *frame);

/* A TCP segment with an option field of nonsense. */
void hostile_option_soup(struct hostile *hostile, struct frame *frame);

#endif
