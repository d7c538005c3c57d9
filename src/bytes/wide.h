/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the portable routines work in: words as wide as a register, and sums of
 * such words.
 *
 * A total keeps its carries in a register of their own, found by a comparison: an
 * add with carry where the processor has one, and nowhere more than three
 * instructions. Wide processors get two totals side by side, as one chain of
 * additions cannot keep them busy; narrow ones have no registers to spare.
 */
#ifndef PL_WIDE_H
#define PL_WIDE_H

#include "bytes/bytes.h"

#if UINTPTR_MAX > 0xffffffffU
typedef uint64_t __attribute__((may_alias)) pl_wide;
#define PL_WIDE  8U
#define PL_LANES 2U
#else
typedef pl_word pl_wide;
#define PL_WIDE  4U
#define PL_LANES 1U
#endif

struct pl_total {
    pl_wide sum[PL_LANES], carries[PL_LANES];
};

PL_INLINE void pl_total_add(struct pl_total *total, unsigned index, pl_wide word) {
    const unsigned lane = index % PL_LANES;

    total->sum[lane] += word;
    total->carries[lane] += total->sum[lane] < word;
}

PL_INLINE uint32_t pl_total_fold(const struct pl_total *total) {
    pl_wide sum = total->sum[0], carries = total->carries[0];

#if PL_LANES > 1
    sum += total->sum[1];
    carries += total->carries[1] + (sum < total->sum[1]);
#endif
    sum += carries;
    sum += sum < carries; /* and no more: there are few carries */
    return pl_words_fold(sum);
}

#endif
