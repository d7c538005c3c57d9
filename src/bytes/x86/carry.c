/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The checksum on any x86-64: 64-bit words, added with carry.
 *
 * The carry out of a block goes into its own sum before the block ends, so that
 * blocks of different sums have nothing to do with each other and run at once.
 */
#include "bytes/bytes.h"
#include "bytes/select.h"

#ifdef PL_BYTES_X86
#include "bytes/x86/x86.h"

typedef uint64_t __attribute__((may_alias, aligned(1))) any64;
typedef uint32_t __attribute__((may_alias, aligned(1))) any32;
typedef uint16_t __attribute__((may_alias, aligned(1))) any16;

static inline uint64_t add(uint64_t sum, uint64_t word) {
    sum += word;
    return sum + (sum < word);
}

/* Adds 64 bytes. */
static inline uint64_t add64(uint64_t sum, const uint8_t *p) {
    __asm__("addq 0*8(%1), %0\n\t"
            "adcq 1*8(%1), %0\n\t"
            "adcq 2*8(%1), %0\n\t"
            "adcq 3*8(%1), %0\n\t"
            "adcq 4*8(%1), %0\n\t"
            "adcq 5*8(%1), %0\n\t"
            "adcq 6*8(%1), %0\n\t"
            "adcq 7*8(%1), %0\n\t"
            "adcq $0, %0"
            : "+r"(sum)
            : "r"(p), "m"(*(const uint8_t(*)[64])p)
            : "cc");
    return sum;
}

static inline uint64_t add16(uint64_t sum, const uint8_t *p) {
    __asm__("addq 0(%1), %0\n\t"
            "adcq 8(%1), %0\n\t"
            "adcq $0, %0"
            : "+r"(sum)
            : "r"(p), "m"(*(const uint8_t(*)[16])p)
            : "cc");
    return sum;
}

static inline uint32_t fold(uint64_t sum) {
    sum = (sum >> 32) + (sum & 0xffffffffU);
    return pl_fold((uint32_t)(sum + (sum >> 32)));
}

/* At most 7 bytes, which have no whole word. */
static inline uint64_t few(const uint8_t *p, size_t length) {
    if (length >= 4)
        return (uint64_t) * (const any32 *)(p + length - 4) >> 8 * (8 - length) << 32 |
               *(const any32 *)p;
    if (length >= 2)
        return (length & 1 ? (uint64_t)p[2] << 16 : 0) | *(const any16 *)p;
    return length ? *p : 0;
}

uint32_t pl_sum_carry(const void *bytes, size_t length) {
    const uint8_t *p = bytes, *end = p + length;
    uint64_t sum = 0;

    if (length < 8)
        return fold(few(p, length));
    if (length >= 128) {
        uint64_t other = 0;
        do {
            sum = add64(sum, p);
            other = add64(other, p + 64);
            p += 128;
            length -= 128;
        } while (length >= 128);
        sum = add(sum, other);
    }
    for (; length >= 16; length -= 16, p += 16)
        sum = add16(sum, p);
    if (length >= 8)
        sum = add(sum, *(const any64 *)p);
    if (length &= 7)
        sum = add(sum, *(const any64 *)(end - 8) >> 8 * (8 - length));
    return fold(sum);
}

uint32_t pl_copy_sum_carry(void *to, const void *from, size_t length) {
    pl_copy_x86(to, from, length);
    return pl_sum_carry(from, length);
}

#endif
