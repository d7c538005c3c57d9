/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A pool whose n-th packet is not there. Included in front of the library's sources, it
 * stands between them and plumb_pool_pop(), by which every single packet is taken. (What
 * takes several at once looks first whether there are as many: tests/host/test_exhaustion.c
 * empties pools for these.)
 */
#ifndef FAILING_H
#define FAILING_H

#include <plumb/packet.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The n-th packet taken of this pool from now on (1: the next) is not there; 0: each is. */
void failing_arm(struct plumb_pool *pool, unsigned n);

/* Was there one that was not there? Ends it. */
bool failing_disarm(void);

struct plumb_packet *failing_pop(struct plumb_pool *pool);

#ifdef __cplusplus
}
#endif

#define plumb_pool_pop failing_pop

#endif
