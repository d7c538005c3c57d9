/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "cache.h"

#include <stdlib.h>
#include <string.h>

static bool is_power_of_two(unsigned number) {
    return number != 0 && (number & (number - 1)) == 0;
}

bool cache_create(struct cache *cache, unsigned bytes, unsigned ways, unsigned line,
                  enum cache_replacement replacement) {
    *cache = (struct cache){.ways = ways, .line = line, .replacement = replacement, .random = 1};
    if (!is_power_of_two(line) || ways == 0) {
        return false;
    }
    if (bytes == 0) {
        return true;
    }
    cache->sets = bytes / line / ways;
    if (!is_power_of_two(cache->sets) || cache->sets * ways * line != bytes) {
        return false;
    }
    cache->entries = calloc((size_t)cache->sets * ways, sizeof cache->entries[0]);
    return cache->entries != NULL;
}

void cache_destroy(struct cache *cache) {
    free(cache->entries);
    cache->entries = NULL;
}

static struct cache_way *set_of(const struct cache *cache, uint64_t address) {
    unsigned set = (unsigned)(address / cache->line) & (cache->sets - 1);
    return &cache->entries[(size_t)set * cache->ways];
}

/* Where a line is in its set; `ways`: nowhere. */
static unsigned find(const struct cache *cache, const struct cache_way *set, uint64_t address) {
    uint64_t line = cache_line_of(cache, address);
    unsigned way = 0;
    while (way < cache->ways && !(set[way].valid && set[way].line == line)) {
        way++;
    }
    return way;
}

static void to_front(struct cache_way *set, unsigned way) {
    struct cache_way moved = set[way];
    memmove(set + 1, set, way * sizeof set[0]);
    set[0] = moved;
}

bool cache_use(struct cache *cache, uint64_t address, bool writes) {
    if (cache->sets == 0) {
        return false;
    }
    struct cache_way *set = set_of(cache, address);
    unsigned way = find(cache, set, address);
    if (way == cache->ways) {
        return false;
    }
    set[way].dirty |= writes;
    if (cache->replacement == CACHE_LRU && way != 0) {
        to_front(set, way);
    }
    return true;
}

static unsigned random_way(struct cache *cache) {
    cache->random ^= cache->random << 13;
    cache->random ^= cache->random >> 17;
    cache->random ^= cache->random << 5;
    return cache->random % cache->ways;
}

static unsigned victim(struct cache *cache, const struct cache_way *set) {
    for (unsigned way = 0; way < cache->ways; way++) {
        if (!set[way].valid) {
            return way;
        }
    }
    return cache->replacement == CACHE_RANDOM ? random_way(cache) : cache->ways - 1;
}

struct cache_way cache_fill(struct cache *cache, uint64_t address, bool dirty) {
    struct cache_way gone = {0, false, false};
    if (cache->sets == 0) {
        return gone;
    }
    struct cache_way *set = set_of(cache, address);
    unsigned way = victim(cache, set);
    gone = set[way];
    set[way] = (struct cache_way){cache_line_of(cache, address), true, dirty};
    to_front(set, way);
    return gone;
}

struct cache_way cache_drop(struct cache *cache, uint64_t address) {
    struct cache_way gone = {0, false, false};
    if (cache->sets == 0) {
        return gone;
    }
    struct cache_way *set = set_of(cache, address);
    unsigned way = find(cache, set, address);
    if (way < cache->ways) {
        gone = set[way];
        set[way].valid = set[way].dirty = false;
    }
    return gone;
}

bool cache_clean(struct cache *cache, uint64_t address) {
    if (cache->sets == 0) {
        return false;
    }
    struct cache_way *set = set_of(cache, address);
    unsigned way = find(cache, set, address);
    bool was_dirty = way < cache->ways && set[way].dirty;
    if (was_dirty) {
        set[way].dirty = false;
    }
    return was_dirty;
}
