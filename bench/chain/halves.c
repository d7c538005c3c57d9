/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The checksum as portable stacks had it: by halfwords, sixteen in a loop's turn. A buffer at
 * an odd address, or behind an odd number of bytes, is summed with its bytes swapped.
 */
#include "bytes/bytes.h"
#include "measure.h"

enum { TURN = 16 };

typedef uint16_t __attribute__((may_alias)) half;

static uint32_t swapped(uint32_t sum) {
    sum = pl_fold(sum);
    return (sum & 0xFF) << 8 | sum >> 8;
}

static uint32_t sum_of_halves(const uint8_t *bytes, size_t length) {
    uint32_t sum = 0;
    const half *at = (const void *)bytes;
    for (; length >= 2 * TURN; length -= 2 * TURN, at += TURN) {
        sum += at[0];
        sum += at[1];
        sum += at[2];
        sum += at[3];
        sum += at[4];
        sum += at[5];
        sum += at[6];
        sum += at[7];
        sum += at[8];
        sum += at[9];
        sum += at[10];
        sum += at[11];
        sum += at[12];
        sum += at[13];
        sum += at[14];
        sum += at[15];
    }
    for (; length >= 2; length -= 2)
        sum += *at++;
    return length ? sum + PL_BYTE_AT_EVEN(*(const uint8_t *)at) : sum;
}

static uint32_t sum_of_run(const uint8_t *bytes, size_t length) {
    if (!((uintptr_t)bytes & 1) || length == 0)
        return sum_of_halves(bytes, length);
    return swapped(sum_of_halves(bytes + 1, length - 1)) + PL_BYTE_AT_EVEN(*bytes);
}

static uint32_t sum_of_chain(const struct run *runs) {
    uint32_t sum = 0;
    size_t length = 0;
    for (unsigned i = 0; i < RUNS; i++) {
        uint32_t part = sum_of_run(runs[i].bytes, runs[i].length);
        sum = pl_fold(sum) + ((length & 1) ? swapped(part) : pl_fold(part));
        length += runs[i].length;
    }
    return sum;
}

ROUTINE(CHAIN, chain, "simple", "halves", sum_of_chain);
