/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A stack instance.
 *
 * It is a function of packets and time: it reads no clock, takes no lock,
 * allocates nothing and has no state outside the memory given to it. Several
 * instances live side by side in one process. All calls on one instance must
 * come from one thread of control; handlers are called from within
 * plumb_poll() only, and may call every function but plumb_poll() and
 * plumb_destroy().
 *
 *     static PLUMB_STACK_MEMORY(memory);
 *     struct plumb *stack;
 *     plumb_create(&stack, memory, sizeof memory, &options);
 *     plumb_netif_attach(stack, &gem.netif);
 *     for (;;) {
 *         uint64_t deadline = plumb_poll(stack, now_us());
 *         wait_for_interrupt_or(deadline);
 *     }
 */
#ifndef PLUMB_STACK_H
#define PLUMB_STACK_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/netif.h>
#include <plumb/packet.h>
#include <plumb_config.h>

#ifdef __cplusplus
extern "C" {
#endif

struct plumb;

/* Smallest buffers of the pools below: a DHCP message behind its headers, and
 * headers alone. */
#define PLUMB_SEGMENT_LEAST 384
#define PLUMB_HEADER_LEAST  128

struct plumb_options {
    /* 128 random bits, different at every start: the key of initial sequence
     * numbers and ports (RFC 6528, RFC 6056). A predictable seed makes
     * connections open to blind attacks. */
    uint64_t seed[2];
    struct plumb_pool *segments;   /* packets to send: PLUMB_SEGMENT_LEAST bytes or more each;
                                      1536 for full segments on Ethernet */
    struct plumb_pool *headers;    /* small packets (ACKs, ARP, headers before lent memory):
                                      PLUMB_HEADER_LEAST bytes or more each; may be the same pool
                                      as `segments` */
    struct plumb_pool *references; /* reference pool for sending by reference, or null */
};

#ifdef CONFIG_PLUMB_IPV4_FRAGMENTS
#define PLUMB_STACK_FRAGMENTS_ (64 + 64 * CONFIG_PLUMB_IPV4_REASSEMBLIES)
#else
#define PLUMB_STACK_FRAGMENTS_ 0
#endif

#ifdef CONFIG_PLUMB_TCP_LINKED
#define PLUMB_STACK_BUCKETS_ (8 * CONFIG_PLUMB_TCP_HASH_BUCKETS)
#else
#define PLUMB_STACK_BUCKETS_ 0
#endif

#ifdef CONFIG_PLUMB_TCP_SYN_CACHE
#define PLUMB_STACK_HANDSHAKES_ (64 + (32 + 4 * sizeof(void *)) * CONFIG_PLUMB_TCP_HANDSHAKES)
#else
#define PLUMB_STACK_HANDSHAKES_ 0
#endif

/* 1 for an option that is set, or 0. */
#define PLUMB_SET_1_             0,
#define PLUMB_SECOND_(a, b, ...) b
#define PLUMB_CHOOSE_(...)       PLUMB_SECOND_(__VA_ARGS__ 1, 0, 0)
#define PLUMB_PASTE_(value)      PLUMB_CHOOSE_(PLUMB_SET_##value##_)
#define PLUMB_IS_SET_(option)    PLUMB_PASTE_(option)

#ifdef CONFIG_PLUMB_TCP_LOSSES
#define PLUMB_LOSS_BYTES_   (64 + 2 * sizeof(void *))
#define PLUMB_STACK_LOSSES_ (PLUMB_LOSS_BYTES_ * CONFIG_PLUMB_TCP_LOSSES)
#define PLUMB_LOSS_INDEX_   1
#else
#define PLUMB_STACK_LOSSES_ 0
#define PLUMB_LOSS_INDEX_   0
#endif

/* Bytes of a connection: words and pointers, each taken for the longer of both, and what is
 * shorter. On a 32-bit target exact: 148, and 256 with all options. */
#define PLUMB_CONNECTION_BYTES_                                                                    \
    (sizeof(void *) * (29 + 6 * PLUMB_IS_SET_(CONFIG_PLUMB_TCP_LINKED) +                           \
                       2 * PLUMB_IS_SET_(CONFIG_PLUMB_TCP_REMEMBER) +                              \
                       PLUMB_IS_SET_(CONFIG_PLUMB_TCP_KEEPALIVE) +                                 \
                       PLUMB_IS_SET_(CONFIG_PLUMB_TCP_USER_TIMEOUT) +                              \
                       3 * PLUMB_IS_SET_(CONFIG_PLUMB_TCP_POST) +                                  \
                       4 * PLUMB_IS_SET_(CONFIG_PLUMB_TCP_STATISTICS) +                            \
                       PLUMB_IS_SET_(CONFIG_PLUMB_TCP_EXPECT) +                                    \
                       2 * PLUMB_IS_SET_(CONFIG_PLUMB_TCP_TIMESTAMPS) +                            \
                       PLUMB_IS_SET_(CONFIG_PLUMB_TCP_ACKNOWLEDGE_BATCH)) +                        \
     (32 + 11 * PLUMB_IS_SET_(CONFIG_PLUMB_TCP_WINDOW_SCALE) +                                     \
      8 * PLUMB_IS_SET_(CONFIG_PLUMB_TCP_BUFFER_LIMITS) +                                          \
      3 * PLUMB_IS_SET_(CONFIG_PLUMB_TCP_PMTUD) + PLUMB_LOSS_INDEX_ +                              \
      PLUMB_IS_SET_(CONFIG_PLUMB_TCP_ACKNOWLEDGE_BATCH) + 3) /                                     \
         4 * 4)

/* Bytes that plumb_create() needs, as bounded by this build's configuration. */
#define PLUMB_STACK_BYTES                                                                          \
    (2560 + PLUMB_STACK_FRAGMENTS_ + PLUMB_STACK_HANDSHAKES_ + PLUMB_STACK_LOSSES_ +               \
     PLUMB_CONNECTION_BYTES_ * CONFIG_PLUMB_TCP_CONNECTIONS + 64 * CONFIG_PLUMB_TCP_LISTENERS +    \
     (32 + 8 * sizeof(void *)) * CONFIG_PLUMB_UDP_SOCKETS + 64 * CONFIG_PLUMB_ARP_ENTRIES +        \
     PLUMB_STACK_BUCKETS_)

/* Declares static storage for one instance. */
#define PLUMB_STACK_MEMORY(name) uint64_t name[(PLUMB_STACK_BYTES + 7) / 8]

/* Builds an instance in `memory` (aligned to 8) of `size` bytes. Returns PLUMB_OK,
 * PLUMB_ERROR_INVALID (also for pools with buffers below the least), or
 * PLUMB_ERROR_NO_MEMORY. `options` is copied. */
int plumb_create(struct plumb **stack, void *memory, size_t size,
                 const struct plumb_options *options);

/* Stops every interface and puts every packet back into its pool. Handlers are
 * not called. The memory is the caller's again. */
void plumb_destroy(struct plumb *stack);

/* Does all there is to do at time `now_us` (microseconds from any origin, which the
 * first poll tells; never going back): timers, received frames up to a budget per interface, the
 * users' handlers, acknowledgements and sends. Returns the time at which it must be called again if
 * no frame arrives before (now_us itself when work is left), or PLUMB_NEVER. */
uint64_t plumb_poll(struct plumb *stack, uint64_t now_us);

/* The time last given to plumb_poll, and the same in whole milliseconds since the
 * first poll, 32 bits that wrap. */
uint64_t plumb_now_us(const struct plumb *stack);
uint32_t plumb_now_ms(const struct plumb *stack);

/* The stack's random number generator, 32 bits (not for keys). */
uint32_t plumb_random(struct plumb *stack);

#ifdef __cplusplus
}
#endif

#endif
