/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * An in-process link between two stack instances, with faults that a seed
 * repeats to the bit. It needs no libc, allocates nothing, and lives by the time
 * that the stacks are polled with.
 *
 *   stack A -- end[0] ==> faults of end[0] ==> pool of end[1] -- stack B
 *                     <== faults of end[1] <==
 *
 * What holds:
 *  - A frame is read out of the sender's packet when it is sent and written into
 *    buffers of the receiver's pool when the receiver polls it up, as a device
 *    would: at the landing and in fragments of the size that the end was given.
 *  - A sent packet is held until the frame has left its end, so that a sender that
 *    changes what a device still reads is found: see `changed`.
 *  - A direction without faults loses nothing: when no place for another frame is
 *    left, transmit says WOULD_BLOCK.
 *  - What one stack sends can be due for the other at the same moment: whoever
 *    moves the time on polls both until neither wants another turn and
 *    plumb_wire_due() is later than now.
 *  - An end that is attached to no stack works by hand: plumb_wire_inject() puts
 *    frames before the other end, plumb_wire_collect() takes what it sent.
 */
#ifndef PLUMB_WIRE_H
#define PLUMB_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include <plumb/netif.h>
#include <plumb/packet.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLUMB_WIRE_LONGEST   1600 /* bytes of the longest frame that fits the wire */
#define PLUMB_WIRE_RING      64   /* sent packets that an end holds */
#define PLUMB_WIRE_FRAGMENTS 16   /* fragments of a sent packet: a full frame of 128-byte buffers */

/* What the frames sent by one end meet. All zero: a perfect link. */
struct plumb_wire_faults {
    uint16_t loss, duplication, reordering, corruption; /* frames in 10 000 */
    uint32_t delay_us;
    uint32_t jitter_us;     /* up to this much more, in order */
    uint32_t reordering_us; /* how long a reordered frame stays behind; 0: 2000 */
    uint64_t rate;          /* bits per second, framing counted; 0: no limit */
    uint16_t queue_limit;   /* frames of full length that may wait for the rate, those above are
                               lost; 0: they wait in the sender's ring */
};

struct plumb_wire_statistics {
    uint32_t sent, delivered, lost, duplicated, reordered, corrupted;
    uint32_t overflowed; /* above the queue limit, or a duplicate without a place */
    uint32_t filtered;   /* that the filter refused */
    uint32_t changed;    /* sent packets whose bytes were changed while the wire held them */
};

/* Sees each frame that an end sends before any fault and may change it; false loses it. */
typedef bool plumb_wire_filter(void *context, uint8_t *frame, uint16_t length);

/* A place for one frame under way; the memory is the user's, the fields the wire's. */
struct plumb_wire_frame {
    struct plumb_wire_frame *next;
    uint64_t due_us;
    uint16_t length;
    uint16_t flip; /* the byte with a bit to be turned over; PLUMB_WIRE_LONGEST: none */
    uint8_t flip_bit;
    uint8_t bytes[PLUMB_WIRE_LONGEST];
};

struct plumb_wire_end_options {
    const char *name;
    struct plumb_ethernet_address address;
    struct plumb_pool *pool; /* received frames; null for an end that no stack gets */
    uint16_t mtu;            /* 0: 1500 */
    uint16_t fragment;       /* bytes of a buffer used, for frames of several; 0: all of it */
    uint8_t landing;         /* enum plumb_landing */
    uint8_t capabilities;    /* enum plumb_capability */
};

/* A sent packet. As in a device's ring, where the bytes lie is noted at once: the sender
 * may take its headers off again. */
struct plumb_wire_sent {
    struct plumb_packet *fragments[PLUMB_WIRE_FRAGMENTS];
    const uint8_t *data[PLUMB_WIRE_FRAGMENTS];
    uint16_t length[PLUMB_WIRE_FRAGMENTS];
    uint8_t count;
    uint32_t hash; /* of the bytes as they were sent */
    uint64_t departs_us;
};

struct plumb_wire;

struct plumb_wire_end {
    struct plumb_netif netif;
    struct plumb_wire *wire;
    struct plumb_wire_end *peer;
    struct plumb_pool *pool;
    uint16_t fragment;
    struct plumb_wire_faults faults;
    struct plumb_wire_statistics statistics; /* of the frames sent by this end */
    plumb_wire_filter *filter;
    void *filter_context;
    uint64_t random;
    uint64_t now_us;
    uint64_t busy_until_us;           /* the rate has the last frame gone by then */
    uint64_t last_due_us;             /* of the frames that keep their order */
    struct plumb_wire_frame *arrives; /* frames on their way to this end, by time */
    uint16_t ring_first, ring_count;
    bool blocked; /* a transmit was refused for want of a place */
    struct plumb_wire_sent ring[PLUMB_WIRE_RING];
};

struct plumb_wire {
    struct plumb_wire_end end[2];
    struct plumb_wire_frame *free;
    uint16_t free_count;
};

/* Makes a link with `count` places for frames under way in both directions together.
 * Attach &wire->end[n].netif to a stack. Returns PLUMB_OK or PLUMB_ERROR_INVALID. */
int plumb_wire_create(struct plumb_wire *wire, struct plumb_wire_frame *frames, uint16_t count,
                      uint64_t seed, const struct plumb_wire_end_options options[2]);

/* Sets what frames sent by `end` meet from now on. */
void plumb_wire_set_faults(struct plumb_wire_end *end, const struct plumb_wire_faults *faults);

void plumb_wire_set_filter(struct plumb_wire_end *end, plumb_wire_filter *filter, void *context);

/* Cuts the link or joins it again; both ends see it, and what is under way is lost. */
void plumb_wire_set_link(struct plumb_wire *wire, bool up);

/* Puts a frame before `end`, to arrive at its next poll after those already due.
 * Returns PLUMB_OK, PLUMB_ERROR_TOO_LONG, or PLUMB_ERROR_NO_BUFFER. */
int plumb_wire_inject(struct plumb_wire_end *end, const uint8_t *bytes, uint16_t length);

/* Takes the next frame that has arrived at `end` by `now_us` off the wire; returns
 * its length, 0 when there is none. `to` has room for PLUMB_WIRE_LONGEST bytes. */
uint16_t plumb_wire_collect(struct plumb_wire_end *end, uint64_t now_us, uint8_t *to);

/* When the next frame arrives at either end, or PLUMB_NEVER. */
uint64_t plumb_wire_due(const struct plumb_wire *wire);

/* Frames on their way to `end`. */
unsigned plumb_wire_waiting(const struct plumb_wire_end *end);

#ifdef __cplusplus
}
#endif

#endif
