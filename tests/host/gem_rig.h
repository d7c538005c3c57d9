/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The driver on the model of its device, without a stack: what it hands up is kept until the
 * test gives it back.
 */
#ifndef GEM_RIG_H
#define GEM_RIG_H

#include "gem_model.h"
#include "internal.h"

enum { RIG_RING = 32, RIG_BUFFERS = 64, RIG_KEPT = 64 }; /* the most there may be */

extern struct plumb_gem_descriptor rx_ring[RIG_RING + 1], tx_ring[RIG_RING + 1];
extern struct plumb_pool rx_pool;
extern struct plumb_gem gem;
extern struct plumb_gem_config config;
extern struct plumb_packet *kept[RIG_KEPT];
extern unsigned kept_count;
extern uint64_t now_us;

/* The frame that arrives next, or with which what arrived is compared. */
extern uint8_t bytes[2048];

/* A model as new, its pool, and the configuration with which most tests begin. */
void prepare_rig(unsigned ring, uint16_t buffers, uint16_t buffer);

/* Creates the driver over `config` and starts it; then ends, with all of the pool at home. */
void start(void);
void stop(void);

void put_kept(void);
unsigned poll_with(unsigned budget);
unsigned poll_all(void); /* until nothing is left to do */
uint32_t counter(enum plumb_netif_counter which);

/* Every frame has bytes of its own. */
uint8_t byte_of(unsigned frame, unsigned index);
void fill(unsigned frame);

/* Fails unless it has these bytes, and lies as the driver says. */
void expect_bytes(const struct plumb_packet *packet, unsigned length);

/* Gives some of what is kept back, in any order, so that `most` remain: compared with the frames
 * of these numbers and lengths, and written to before. */
void put_some(unsigned *frames, unsigned *lengths, unsigned most);

#endif
