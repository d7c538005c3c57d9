/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What nobody sent: buffers are filled with it before a frame is written to them, and
 * a run of it in a reply is memory that leaked.
 */
#ifndef PLUMB_TEST_POISON_H
#define PLUMB_TEST_POISON_H

#include <plumb/packet.h>

#include "frames.h"

#define POISON 0xc7

enum { POISON_RUN = 6 }; /* more than any field that might hold it by chance */

/* Fills the first `used` bytes of the next `count` buffers that a pool will give. */
static inline void poison(struct plumb_pool *pool, unsigned count, unsigned used) {
    struct plumb_packet *packet = pool->free;
    for (; packet && count--; packet = packet->next)
        for (unsigned k = 0; k < used && k < pool->capacity; k++)
            packet->owner.memory[k] = POISON;
}

static inline bool poison_shows(const struct frame *frame) {
    unsigned run = 0;
    for (unsigned i = 0; i < frame->length && run < POISON_RUN; i++)
        run = frame->bytes[i] == POISON ? run + 1 : 0;
    return run == POISON_RUN;
}

#endif
