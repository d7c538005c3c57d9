/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A cache's tags: which lines it holds, which of them are dirty, which goes next.
 *
 * What holds:
 * - Sets and lines are powers of two. A line is named by any address in it.
 * - A set's ways lie in the order in which they go: the last is the next victim. With
 *   CACHE_LRU a line that is used becomes the first, with CACHE_FIFO it stays where it is;
 *   CACHE_RANDOM takes a victim by a generator that begins alike in each cache.
 * - An invalid way goes before any valid one.
 * - A cache of 0 bytes is off: nothing hits and nothing stays.
 *
 * It has no data and knows no time: memory_system.h does.
 */
#ifndef LAB_PLUGIN_CACHE_H
#define LAB_PLUGIN_CACHE_H

#include <stdbool.h>
#include <stdint.h>

enum cache_replacement { CACHE_LRU, CACHE_FIFO, CACHE_RANDOM };

struct cache_way {
    uint64_t line; /* the address of its first byte */
    bool valid;
    bool dirty;
};

struct cache {
    unsigned sets, ways, line; /* line: bytes */
    enum cache_replacement replacement;
    uint32_t random;
    struct cache_way *entries; /* by set, then in the order in which they go */
};

/* False: sizes that make no cache, or no memory for it. */
bool cache_create(struct cache *cache, unsigned bytes, unsigned ways, unsigned line,
                  enum cache_replacement replacement);

void cache_destroy(struct cache *cache);

static inline uint64_t cache_line_of(const struct cache *cache, uint64_t address) {
    return address & ~(uint64_t)(cache->line - 1);
}

/* Whether it holds the line; one that is used counts so for the replacement, and is dirty
 * from then on if it is written to. */
bool cache_use(struct cache *cache, uint64_t address, bool writes);

/* Takes in a line that it does not hold; returns what had to go for it: `valid` false means
 * nothing. */
struct cache_way cache_fill(struct cache *cache, uint64_t address, bool dirty);

/* A line, wanted or not, is let go; returns what it was. */
struct cache_way cache_drop(struct cache *cache, uint64_t address);

/* A line stays and is no longer dirty; returns whether it was. */
bool cache_clean(struct cache *cache, uint64_t address);

#endif
