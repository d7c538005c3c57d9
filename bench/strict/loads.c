/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "loads.h"

#include "bytes/bytes.h"

void assign(any64 *to, const any64 *from) {
    to->value = from->value;
}

uint32_t load_half(const half32 *from) {
    return from->value;
}

/* ---- lookup3 ---- */

static inline uint32_t rotated(uint32_t value, unsigned by) {
    return value << by | value >> (32 - by);
}

struct hash {
    uint32_t a, b, c;
};

/* A step takes one word out of another, and turns it by so much. */
#define MIX(from, other, by, into)                                                                 \
    (from) -= (other);                                                                             \
    (from) ^= rotated(other, by);                                                                  \
    (other) += (into)

static inline void mix(struct hash *h) {
    MIX(h->a, h->c, 4, h->b);
    MIX(h->b, h->a, 6, h->c);
    MIX(h->c, h->b, 8, h->a);
    MIX(h->a, h->c, 16, h->b);
    MIX(h->b, h->a, 19, h->c);
    MIX(h->c, h->b, 4, h->a);
}

#define FINISH(into, from, by)                                                                     \
    (into) ^= (from);                                                                              \
    (into) -= rotated(from, by)

static inline void finish(struct hash *h) {
    FINISH(h->c, h->b, 14);
    FINISH(h->a, h->c, 11);
    FINISH(h->b, h->a, 25);
    FINISH(h->c, h->b, 16);
    FINISH(h->a, h->c, 4);
    FINISH(h->b, h->a, 14);
    FINISH(h->c, h->b, 24);
}

static inline void take(struct hash *h, const any32 *words) {
    h->a += words[0].value;
    h->b += words[1].value;
    h->c += words[2].value;
}

uint32_t hash36(const void *bytes, uint32_t initial) {
    const any32 *words = bytes;
    struct hash h;

    h.a = h.b = h.c = 0xdeadbeefU + HASHED + initial;
    take(&h, words);
    mix(&h);
    take(&h, words + 3);
    mix(&h);
    take(&h, words + 6);
    finish(&h);
    return h.c;
}

/* ---- calls ---- */

void call_copy(void *to, const void *from, size_t length) {
    pl_copy(to, from, length);
}

uint32_t call_sum(const void *bytes, size_t length) {
    return pl_sum(bytes, length);
}

uint32_t call_copy_sum(void *to, const void *from, size_t length) {
    return pl_copy_sum(to, from, length);
}
