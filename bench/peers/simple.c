/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The two copies that are written when nothing better is at hand: byte by byte; and by
 * 16-bit units when both sides lie on a halfword, which was once the remedy for a
 * memcpy that went byte by byte at 2 mod 4. The second is in src/bytes/compared.c as well:
 * the loop made one function of both costs short copies here more instructions on most
 * instruction sets, and a peer is measured at its best.
 */
#include "bytes/bytes.h"

#include "measure.h"

static void copy_bytes(void *to, const void *from, size_t length) {
    uint8_t *t = to;
    const uint8_t *f = from;

    while (length--)
        *t++ = *f++;
}

static void copy_halfwords(void *to, const void *from, size_t length) {
    if ((((uintptr_t)to | (uintptr_t)from) & 1) == 0) {
        pl_halfword *t = to;
        const pl_halfword *f = from;

        for (; length >= 16; length -= 16, t += 8, f += 8) {
            t[0] = f[0];
            t[1] = f[1];
            t[2] = f[2];
            t[3] = f[3];
            t[4] = f[4];
            t[5] = f[5];
            t[6] = f[6];
            t[7] = f[7];
        }
        for (; length >= 2; length -= 2)
            *t++ = *f++;
        to = t;
        from = f;
    }
    copy_bytes(to, from, length);
}

ROUTINE(COPY, copy, "simple", "byte-loop", copy_bytes);
ROUTINE(COPY, copy, "simple", "halfwords", copy_halfwords);
