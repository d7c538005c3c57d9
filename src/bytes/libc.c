/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The four functions that a freestanding compiler may call by itself. For
 * firmware without a C library; a hosted program has its own.
 *
 * They never touch a misaligned word, which the memcpy of some C libraries
 * does on cores where that traps. They stand by themselves, so that link-time
 * optimisation can bring calls to them late; what is worth being fast does not
 * come here.
 */
#include "bytes/bytes.h"

void *memcpy(void *restrict to, const void *restrict from, size_t length);
void *memmove(void *to, const void *from, size_t length);
void *memset(void *to, int value, size_t length);
int memcmp(const void *a, const void *b, size_t length);

void *memcpy(void *restrict to, const void *restrict from, size_t length) {
    uint8_t *t = to;
    const uint8_t *f = from;

    if ((((uintptr_t)t | (uintptr_t)f) & 3) == 0)
        for (; length >= 4; length -= 4, t += 4, f += 4)
            *(pl_word *)(void *)t = *(const pl_word *)(const void *)f;
    while (length--)
        *t++ = *f++;
    return to;
}

void *memmove(void *to, const void *from, size_t length) {
    uint8_t *t = to;
    const uint8_t *f = from;

    if (t <= f || t >= f + length) {
        while (length--)
            *t++ = *f++;
    } else {
        while (length--)
            t[length] = f[length];
    }
    return to;
}

void *memset(void *to, int value, size_t length) {
    uint8_t *p = to;

    for (; length && ((uintptr_t)p & 3); length--)
        *p++ = (uint8_t)value;
    uint32_t word = (uint8_t)value * 0x01010101U;
    for (; length >= 4; length -= 4, p += 4)
        *(pl_word *)(void *)p = word;
    while (length--)
        *p++ = (uint8_t)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t length) {
    const uint8_t *p = a, *q = b;

    for (; length--; p++, q++)
        if (*p != *q)
            return *p < *q ? -1 : 1;
    return 0;
}
