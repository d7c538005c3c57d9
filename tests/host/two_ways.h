/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Two worlds that get the same: in one of them the interface is observed, which has every
 * frame go the ordinary way.
 */
#ifndef PLUMB_TEST_TWO_WAYS_H
#define PLUMB_TEST_TWO_WAYS_H

#include "harness.h"

enum { ORDINARY = 0, EXPECTING = 1 };

/* How many frames went the ordinary way in either. */
extern unsigned ordinary[2];

/* What arrives in this one goes so. */
void go_the_ordinary_way(struct world *world);

/* Fails unless they sent the same to the bit, and counters and buffers in use are the same. */
void expect_same_worlds(struct world *a, struct world *b);

#endif
