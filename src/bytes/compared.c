/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Copies as other stacks have them, to be measured in place of ours (PLUMB_BYTES_COPY): a
 * C library's memcpy, which moves words when both sides lie on words; the Internet
 * checksum is taken in a pass of its own, which is of those beside it. When the sides do
 * not, bytes are moved; or halfwords, where both sides lie on those.
 */
#include "bytes/bytes.h"

#ifdef PL_COPY_COMPARED

enum {
    BLOCK = 16,
    /* For which the sides have to lie on the unit: shorter copies are not worth the test. */
    SHORT = BLOCK,
};

static bool lie_on(const void *to, const void *from, size_t unit) {
    return (((uintptr_t)to | (uintptr_t)from) & (unit - 1)) == 0;
}

static size_t copy_words(void *to, const void *from, size_t length) {
    pl_word *t = to;
    const pl_word *f = from;
    size_t left = length;

    for (; left >= BLOCK; left -= BLOCK, t += 4, f += 4) {
        t[0] = f[0];
        t[1] = f[1];
        t[2] = f[2];
        t[3] = f[3];
    }
    for (; left >= sizeof *t; left -= sizeof *t)
        *t++ = *f++;
    return length - left;
}

#ifdef CONFIG_PLUMB_BYTES_COPY_HALFWORDS

static size_t copy_halfwords(void *to, const void *from, size_t length) {
    pl_halfword *t = to;
    const pl_halfword *f = from;
    size_t left = length;

    for (; left >= BLOCK; left -= BLOCK, t += 8, f += 8) {
        t[0] = f[0];
        t[1] = f[1];
        t[2] = f[2];
        t[3] = f[3];
        t[4] = f[4];
        t[5] = f[5];
        t[6] = f[6];
        t[7] = f[7];
    }
    for (; left >= sizeof *t; left -= sizeof *t)
        *t++ = *f++;
    return length - left;
}

#endif

void pl_copy(void *to, const void *from, size_t length) {
    uint8_t *t = to;
    const uint8_t *f = from;
    size_t done = 0;

    if (length >= SHORT) {
        if (lie_on(to, from, sizeof(pl_word)))
            done = copy_words(to, from, length);
#ifdef CONFIG_PLUMB_BYTES_COPY_HALFWORDS
        else if (lie_on(to, from, sizeof(pl_halfword)))
            done = copy_halfwords(to, from, length);
#endif
    }
    for (t += done, f += done, length -= done; length; length--)
        *t++ = *f++;
}

uint32_t pl_copy_sum(void *to, const void *from, size_t length) {
    pl_copy(to, from, length);
    return pl_sum(to, length);
}

#endif
