/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A stack under attack while a flow of its own goes on: what every hostile frame must
 * show is asserted here, once for all of them (docs/hostile.md).
 *
 *     siege_begin(&siege, 0);
 *     siege_drop(&siege, &frame, "ipv4_option");    dropped, in silence
 *     siege_refuse(&siege, &frame, "udp_port");     dropped, with an answer
 *     siege_take(&siege, &frame);                   legal: taken, and answered perhaps
 *     siege_end(&siege);
 *
 * Each of these fails unless
 *  - exactly the counter that it names moved, by one, or none did;
 *  - at most one frame was sent (`most`, where a message goes back in parts), none of
 *    whose bytes is from behind the frame or from an earlier one (poison.h);
 *  - the stack came to rest within SIEGE_TURNS polls;
 *  - a dropped frame holds no buffer afterwards;
 *  - bytes still go both ways over the flow, as they were given. This is asked after
 *    every `every` frames, and at the end.
 * The sanitizers under which all host tests run say the rest.
 */
#ifndef PLUMB_TEST_SIEGE_H
#define PLUMB_TEST_SIEGE_H

#include "peer.h"

enum { SIEGE_TURNS = 8, SIEGE_PORT = 80 };

struct siege {
    struct world *world;    /* single */
    struct user user;       /* the flow's end in the stack */
    struct peer peer;       /* and the other */
    struct frame_path path; /* from the attacker, who is a known neighbour, to the stack */
    unsigned every;         /* frames, 8 unless the test says otherwise */
    bool flood;             /* no time passes between frames */
    unsigned struck;        /* frames so far */
    unsigned turns;         /* the stack's polls since the last frame */
    unsigned most;          /* frames in answer to one, 1 unless the test says otherwise */
    unsigned unasked;       /* frames but ARP that were sent while siege_wait() let time pass */
    uint32_t carried;       /* bytes of the flow each way */
    struct frame reply;
};

void siege_begin(struct siege *siege, const struct world_options *options);
void siege_end(struct siege *siege);

void siege_drop(struct siege *siege, const struct frame *frame, const char *counter);
const struct frame *siege_refuse(struct siege *siege, const struct frame *frame,
                                 const char *counter);

/* The first frame sent in answer, null when there was none. A frame that is taken may be kept. */
const struct frame *siege_take(struct siege *siege, const struct frame *frame);

/* Dropped together with others that were waiting, `count` in all. */
void siege_drop_all(struct siege *siege, const struct frame *frame, const char *counter,
                    unsigned count);

/* A frame whose fate is the test's to judge: all but counter and buffers is asserted. */
const struct frame *siege_strike(struct siege *siege, const struct frame *frame);

/* Bytes go both ways. */
void siege_exchange(struct siege *siege);

/* Lets time pass, in which the neighbours answer for their addresses. */
void siege_wait(struct siege *siege, uint64_t us);

#endif
