/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A pool whose n-th packet is not there: see failing.h. */
#include "failing.h"

#undef plumb_pool_pop

static const struct plumb_pool *failing;
static unsigned left;
static bool failed;

void failing_arm(struct plumb_pool *pool, unsigned n) {
    failing = pool;
    left = n;
    failed = false;
}

bool failing_disarm(void) {
    failing = NULL;
    return failed;
}

struct plumb_packet *failing_pop(struct plumb_pool *pool) {
    if (pool != failing || !left || --left)
        return plumb_pool_pop(pool);
    failed = true;
    return NULL;
}
