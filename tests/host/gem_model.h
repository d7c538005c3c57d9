/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A Cadence GEM in memory, and the memory between it and the processor.
 *
 * Buffers lie in `model_arena`, which has a shadow (shadow_dma.h): the device works on
 * its own view, and looks at its rings before each call of the driver's that has to do
 * with caches or registers, so that what it was given is checked at once. Descriptors
 * are not cached.
 *
 * What silicon and QEMU do differently is a switch.
 */
#ifndef GEM_MODEL_H
#define GEM_MODEL_H

#include "gem.h"
#include "harness.h"
#include "shadow_dma.h"

enum {
    MODEL_LINE = 32, /* unless the test says otherwise */
    MODEL_ARENA = 384 * 1024,
    MODEL_REGISTERS = 0x700,
    MODEL_SENT = 64,
    MODEL_PHY = 7,
};

#define MODEL_BASE 0x1000U /* of the registers */

struct gem_model {
    /* switches */
    bool pad_every;       /* QEMU: the offset goes to every buffer */
    bool room_behind;     /* buffers are farther apart than long: that overrun is their own */
    bool no_pad;          /* the offset is ignored */
    bool statistics_stay; /* QEMU */
    bool forget_place;    /* switching reception off goes back to the ring's top */
    bool stuck_until_off; /* having met a used descriptor, stands still until that */
    bool send_later;      /* transmission happens in model_send(), not at the register write */
    bool deaf;            /* nothing comes back in loopback */
    bool no_link;
    uint32_t fail_status; /* the next frame to send ends like this instead */
    bool fail_marked;     /* and its descriptor is marked used all the same */

    uint32_t registers[MODEL_REGISTERS / 4];
    uint16_t phy[32];
    struct plumb_gem_descriptor *rx, *tx; /* rings, and where the device stands in them */
    unsigned rx_at, tx_at;
    bool stuck;
    unsigned interrupts; /* raised while enabled */
    uint8_t sent[MODEL_SENT][2048];
    uint16_t sent_length[MODEL_SENT];
    unsigned sent_count;
    struct shadow_dma shadow;
};

/* What all buffers are cut from. */
extern _Alignas(4096) uint8_t model_arena[MODEL_ARENA];
extern struct gem_model model;

void model_reset(struct plumb_gem_descriptor *rx, struct plumb_gem_descriptor *tx);

/* The same with caches of another line, and other chances. */
void model_reset_caches(struct plumb_gem_descriptor *rx, struct plumb_gem_descriptor *tx,
                        size_t line, uint64_t seed);

/* Bus addresses of the rings. */
#define MODEL_RX_RING 0x20000000U
#define MODEL_TX_RING 0x30000000U

/* A frame arrives. False: the device could not take it, or not all of it. */
bool model_receive(const uint8_t *frame, unsigned length);

/* Writes one descriptor as the device would, whatever that means; false: none free. */
bool model_write_descriptor(uint32_t control);

/* Sends what is queued. */
void model_send(void);

/* The device looks at its rings: what it finds there is its own. */
void model_look(void);

#endif
