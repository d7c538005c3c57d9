/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What every host test stands on: one or two stacks on a wire, in virtual time.
 *
 *   pair    two stacks, `a` and `b`, joined by the wire
 *   single  one stack, `a`; the test itself is the peer: it injects frames built by
 *           hand and collects what the stack sends
 *
 * A world ends with world_end(), which destroys the stacks and fails when a pool is
 * not back at its baseline, or when a packet was changed while the wire held it.
 * Nothing here reads a clock: the same test gives the same frames every time.
 */
#ifndef PLUMB_TEST_HARNESS_H
#define PLUMB_TEST_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <plumb/plumb.h>

#include "frames.h"
#include "random.h"
#include "wire.h"

#define MILLISECOND 1000ULL
#define SECOND      1000000ULL

enum { WORLD_SEGMENTS = 1200, WORLD_RECEIVE = 2048, WORLD_HEADERS = 256, WORLD_REFERENCES = 64 };
enum { WORLD_BUFFER = PLUMB_DMA_WHOLE_LINES(1600), WORLD_SMALL = 128, WORLD_FRAMES = 4096 };

struct side {
    struct plumb *stack;
    struct plumb_netif *netif;
    struct plumb_wire_end *end;
    struct plumb_pool segments, headers, references, receive;
    uint8_t ethernet[6];
    uint32_t address; /* host byte order */
    uint64_t deadline;
};

struct world_options {
    uint64_t seed;
    uint16_t mtu;
    uint16_t fragment;      /* bytes per received fragment; 0: whole buffers */
    uint8_t capabilities;   /* of both ends */
    uint16_t receive_count; /* buffers; 0: WORLD_RECEIVE */
    uint16_t segment_count;
    bool unconfigured; /* no address is set */
    bool gateway;      /* 10.0.0.254, which is asked for at once */
    uint64_t start_us; /* when the world begins; 0: a second */
    struct plumb_wire_faults faults;
};

struct world {
    struct side a, b;
    struct plumb_wire wire;
    uint64_t now_us;
    bool single;
    void (*turn)(struct world *world, void *context); /* after each step, or null */
    void *context;
    struct frame collected; /* the frame that world_collect took last */
    struct world_memory *memory;
    struct world *next; /* of those not ended */
};

/* A pair, or a single stack, at 10.0.0.1 (a) and 10.0.0.2 (b, or the test). Null options:
 * a perfect wire, whole buffers, the landing of the build. */
struct world *world_pair(const struct world_options *options);
struct world *world_single(const struct world_options *options);
void world_end(struct world *world);

/* Polls until nothing is left to do at the present time. */
void world_settle(struct world *world);

/* Lets time pass, from deadline to deadline. */
void world_run(struct world *world, uint64_t us);

/* Until `done` says so; false when `limit_us` passed first. */
bool world_run_until(struct world *world, bool (*done)(void *context), void *context,
                     uint64_t limit_us);

/* Single: the path from the test to the stack. */
struct frame_path world_path(const struct world *world, uint16_t from_port, uint16_t to_port);

/* Single: gives the stack a frame and settles. */
void world_inject(struct world *world, const struct frame *frame);

/* Single: the next frame the stack sent, in world->collected with its offsets set; null
 * when there is none. Fails on a frame with a wrong checksum. The first form answers
 * requests for the test's own address by itself and does not show them. */
struct frame *world_collect(struct world *world);
struct frame *world_collect_any(struct world *world);

/* Throws away what the stack sent so far. */
void world_drain(struct world *world);

/* Single: the stack learns the test's Ethernet address. */
void world_introduce(struct world *world);

/* The value of every counter of a side. */
struct counters {
    uint32_t stack[PLUMB_COUNTER_COUNT];
    uint32_t netif[PLUMB_NETIF_COUNTER_COUNT];
};

struct counters counters_now(const struct side *side);

/* Fails unless exactly one drop counter, this one, moved by exactly `by` since. Names
 * of the stack's counters as they are, of the interface's with "netif." before. A null
 * name: none moved. Events may move. */
void counters_expect_drop(const struct side *side, const struct counters *before, const char *name,
                          uint32_t by);

/* How far a counter has moved since. */
uint32_t counters_moved(const struct side *side, const struct counters *before, const char *name);

/* Drops of all names since. */
uint32_t counters_drops(const struct side *side, const struct counters *before);

/* Bytes taken from every pool of a side, in buffers. */
unsigned side_buffers_used(const struct side *side);

plumb_ipv4 ipv4_of(uint32_t address);
struct plumb_endpoint endpoint_of(uint32_t address, uint16_t port);

/* A pattern in which every position within 16 MiB is told from its neighbours. */
uint8_t pattern_at(uint32_t seed, uint32_t offset);

/* A file of tests: HARNESS_MAIN(cmocka_unit_test(...), ...). Arguments: nothing, --list,
 * or --run NAME [--pcap FILE]. */
int harness_main(int argc, char **argv, const struct CMUnitTest *tests, size_t count);

#define HARNESS_MAIN(...)                                                                          \
    int main(int argc, char **argv) {                                                              \
        static const struct CMUnitTest tests[] = {__VA_ARGS__};                                    \
        return harness_main(argc, argv, tests, sizeof tests / sizeof *tests);                      \
    }

#define expect(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg("%s:%d: expected %s", __FILE__, __LINE__, #condition);                        \
    } while (0)

/* Leaves a test that is about an option which this build is without. */
#define needs(option)                                                                              \
    do {                                                                                           \
        if (!PLUMB_IS_SET_(option))                                                                \
            skip();                                                                                \
    } while (0)

/* Two integers of any type, compared as the widest. */
#define expect_equal(a, b)                                                                         \
    do {                                                                                           \
        long long left_ = (long long)(a), right_ = (long long)(b);                                 \
        if (left_ != right_)                                                                       \
            fail_msg("%s:%d: %s is %lld, expected %s = %lld", __FILE__, __LINE__, #a, left_, #b,   \
                     right_);                                                                      \
    } while (0)

#endif
