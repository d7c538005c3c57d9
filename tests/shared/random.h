/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The tests' random numbers: a seed gives the same numbers everywhere. */
#ifndef PLUMB_TEST_RANDOM_H
#define PLUMB_TEST_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state;
};

/* splitmix64 */
static inline uint32_t random_next(struct random *random) {
    uint64_t z = random->state += 0x9e3779b97f4a7c15U;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return (uint32_t)((z ^ z >> 31) >> 32);
}

/* 0 to limit - 1 */
static inline uint32_t random_below(struct random *random, uint32_t limit) {
    return (uint32_t)((uint64_t)random_next(random) * limit >> 32);
}

#endif
