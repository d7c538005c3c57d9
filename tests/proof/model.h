/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the proofs share: packets of any bytes in any layout, and an instance around the
 * code that is proven. A harness includes the source file under proof, gives what it calls
 * a body that asks no more than the header promises, and calls it once.
 *
 * Every fragment ends where its memory does, so that a byte read behind it is out of bounds.
 * What is not set is anything.
 */
#ifndef PROOF_MODEL_H
#define PROOF_MODEL_H

#include <stdlib.h>

#include "inet/ipv4.h"
#include "packet/packet.h"
#include "stack/stack.h"

/* The longest packet, and the most fragments that it comes in. */
#ifndef MODEL_BYTES
#define MODEL_BYTES 128
#endif
#ifndef MODEL_FRAGMENTS
#define MODEL_FRAGMENTS 3
#endif

/* The longest IPv4 header, in front of a datagram. */
#ifndef MODEL_FRONT
#define MODEL_FRONT 60
#endif

#define MODEL_ASSERT(condition, text) __CPROVER_assert(condition, text)
#define MODEL_ASSUME(condition)       __CPROVER_assume(condition)

bool nondet_bool(void);
uint8_t nondet_u8(void);
uint16_t nondet_u16(void);
uint32_t nondet_u32(void);
uint64_t nondet_u64(void);

/* The pool that packets are taken from and put back to. */
extern struct plumb_pool model_pool;
/* Fragments given to the code under proof that were not put yet. */
extern unsigned model_held;
/* The stack, and an interface of it with any addresses. */
extern struct plumb model_stack;
extern struct plumb_netif model_netif;

/* Sets the three above up. */
void model_begin(void);

/* Puts one packet into the pool, for an answer. */
void model_give_free(void);

/* A packet of 1 to `fragments` fragments, of at most `most` bytes in all. */
struct plumb_packet *model_packet(unsigned fragments, unsigned most);

/* What every holder of a packet may rely on: its lengths are those of readable memory, and
 * their sum is `total`. */
void model_check_packet(const struct plumb_packet *packet);

/* What is passed on behind an IPv4 header that was checked: `header` is of 20 to 60 bytes,
 * lies with the first fragment in one object and before its data, and says the length that
 * the packet has. The second assumes what the first one asserts. */
void model_check_datagram(const struct pl_ipv4_header *header, const struct plumb_packet *packet);
struct plumb_packet *model_datagram(const struct pl_ipv4_header **header, uint8_t protocol,
                                    unsigned fragments, unsigned most);

/* At the end: nobody holds anything any more, and nothing was put twice. */
void model_end(void);

#endif
