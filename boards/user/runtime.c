/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What a compiler calls by itself and no library here brings: Debian's libgcc for
 * SPARC is the 64-bit one only, that for MIPS is position-independent code, what
 * clang makes for RISC-V is linked by LLVM's linker, which has none, and clang for
 * ARM uses the EABI's own names for memset and memcpy. For printing and start-up;
 * none of it is fast.
 */
#include <stddef.h>
#include <stdint.h>

#if __SIZEOF_POINTER__ == 4 && !defined(__ARM_EABI__)

uint64_t __lshrdi3(uint64_t value, int bits);
uint64_t __ashldi3(uint64_t value, int bits);
uint64_t __udivdi3(uint64_t dividend, uint64_t divisor);
uint64_t __umoddi3(uint64_t dividend, uint64_t divisor);

enum { HIGH = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, LOW = !HIGH };
union halves {
    uint64_t whole;
    uint32_t half[2];
};

uint64_t __lshrdi3(uint64_t value, int bits) {
    union halves in = {value}, out = {0};
    out.half[LOW] = bits < 32 ? in.half[LOW] >> bits : in.half[HIGH] >> (bits - 32);
    if (bits < 32) {
        out.half[HIGH] = in.half[HIGH] >> bits;
        out.half[LOW] |= bits ? in.half[HIGH] << (32 - bits) : 0;
    }
    return out.whole;
}

uint64_t __ashldi3(uint64_t value, int bits) {
    union halves in = {value}, out = {0};
    out.half[HIGH] = bits < 32 ? in.half[HIGH] << bits : in.half[LOW] << (bits - 32);
    if (bits < 32) {
        out.half[LOW] = in.half[LOW] << bits;
        out.half[HIGH] |= bits ? in.half[LOW] >> (32 - bits) : 0;
    }
    return out.whole;
}

static uint64_t divide(uint64_t dividend, uint64_t divisor, uint64_t *remainder) {
    uint64_t quotient = 0, rest = 0;
    for (int bit = 63; bit >= 0; bit--) {
        rest = rest << 1 | (dividend >> bit & 1);
        if (rest >= divisor) {
            rest -= divisor;
            quotient |= (uint64_t)1 << bit;
        }
    }
    *remainder = rest;
    return quotient;
}

uint64_t __udivdi3(uint64_t dividend, uint64_t divisor) {
    uint64_t rest;
    return divide(dividend, divisor, &rest);
}

uint64_t __umoddi3(uint64_t dividend, uint64_t divisor) {
    uint64_t rest;
    (void)divide(dividend, divisor, &rest);
    return rest;
}

#elif defined(__ARM_EABI__)

void *memset(void *bytes, int value, size_t length);
void *memcpy(void *to, const void *from, size_t length);

/* Run-time ABI for the Arm architecture, 4.3.4: the number is the alignment promised. */
#define CLEAR(name)                                                                                \
    void name(void *bytes, size_t length);                                                         \
    void name(void *bytes, size_t length) {                                                        \
        memset(bytes, 0, length);                                                                  \
    }
#define COPY(name)                                                                                 \
    void name(void *to, const void *from, size_t length);                                          \
    void name(void *to, const void *from, size_t length) {                                         \
        memcpy(to, from, length);                                                                  \
    }
#define SET(name)                                                                                  \
    void name(void *bytes, size_t length, int value);                                              \
    void name(void *bytes, size_t length, int value) {                                             \
        memset(bytes, value, length);                                                              \
    }
CLEAR(__aeabi_memclr)
CLEAR(__aeabi_memclr4)
CLEAR(__aeabi_memclr8)
COPY(__aeabi_memcpy)
COPY(__aeabi_memcpy4)
COPY(__aeabi_memcpy8)
SET(__aeabi_memset)
SET(__aeabi_memset4)
SET(__aeabi_memset8)

#endif

#ifdef __riscv

int __ctzdi2(uint64_t value);

int __ctzdi2(uint64_t value) {
    int zeroes = 0;
    for (; !(value & 1); value >>= 1)
        zeroes++;
    return zeroes;
}

#endif
