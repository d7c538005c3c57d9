/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Stacks that are put back to where they were by one copy, so that a run costs what it does
 * and not what it takes to get there.
 *
 * One or two hosts with small pools, 10.0.0.1 and 10.0.0.2, over a link that is two queues of
 * frames. What there is of them is in `live`, but for frames under way: a snapshot is taken
 * when there are none. Pointers stay good, as all comes back to where it was.
 */
#ifndef FUZZ_LIVE_H
#define FUZZ_LIVE_H

#include <plumb/plumb.h>

#include "frames.h"

enum {
    LIVE_SEGMENTS = 12,
    LIVE_HEADERS = 12,
    LIVE_RECEIVED = 24,
    LIVE_BUFFER = PLUMB_DMA_WHOLE_LINES(640),
    LIVE_HEADER = 128,
    LIVE_RING = 12,  /* parts of sent packets that a device still reads */
    LIVE_QUEUE = 32, /* frames under way to a host */
};

struct live_host {
    struct plumb *stack;
    struct plumb_netif netif;
    struct plumb_pool segments, headers, receive;
    struct plumb_packet segment[LIVE_SEGMENTS], header[LIVE_HEADERS], received[LIVE_RECEIVED];
    struct plumb_packet *ring[LIVE_RING];
    unsigned ring_count;
    _Alignas(PLUMB_DMA_LINE) uint8_t segment_bytes[LIVE_SEGMENTS * LIVE_BUFFER];
    _Alignas(PLUMB_DMA_LINE) uint8_t header_bytes[LIVE_HEADERS * LIVE_HEADER];
    _Alignas(PLUMB_DMA_LINE) uint8_t receive_bytes[LIVE_RECEIVED * LIVE_BUFFER];
    PLUMB_STACK_MEMORY(memory);
};

struct live {
    uint64_t now_us;
    unsigned hosts;
    struct live_host host[2];
};

extern struct live live;

/* Says what is wrong and ends the program. */
void live_expect(bool right, const char *what);

/* Makes 1 or 2 hosts. */
void live_create(unsigned hosts);

/* Polls until all is quiet. */
void live_settle(void);
/* Lets time pass, at most 16 stops of it looked at. */
void live_wait(uint32_t us);

/* A frame for host 0, when it is polled next; lost where the queue is full. */
void live_give(const struct frame *frame);

/* One host: the next frame that it sent. Its checksums are right. */
bool live_take(struct frame *frame);
void live_drain(void);

/* Ends the stacks; every buffer is at home. */
void live_end(void);

/* As all is now; of one host, the other's part is not copied. */
size_t live_size(void);

#endif
