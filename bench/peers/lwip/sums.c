/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * lwIP's three checksums as routines to be measured. Each is lwIP's own source, built
 * under the name below by `-Dlwip_standard_chksum=...`, and called as it is, without a
 * wrapper that would be counted with it.
 */
#include "bytes/bytes.h"

#include "measure.h"

short_sum_function lwip_sum_1, lwip_sum_2, lwip_sum_3;

/* A chain as lwIP walks its pbufs: swap whenever an odd number of bytes went before. */
static inline __attribute__((always_inline)) uint32_t sum_of_chain(const struct run *runs,
                                                                   short_sum_function *sum_of) {
    uint32_t sum = 0;
    bool swapped = false;

    for (unsigned i = 0; i < RUNS; i++) {
        sum += sum_of(runs[i].bytes, (int)runs[i].length);
        sum = (sum >> 16) + (sum & 0xffffU);
        if (runs[i].length & 1) {
            swapped = !swapped;
            sum = (sum & 0xffU) << 8 | (sum & 0xff00U) >> 8;
        }
    }
    return swapped ? (sum & 0xffU) << 8 | (sum & 0xff00U) >> 8 : sum;
}

static uint32_t chain_1(const struct run *runs) {
    return sum_of_chain(runs, lwip_sum_1);
}

static uint32_t chain_2(const struct run *runs) {
    return sum_of_chain(runs, lwip_sum_2);
}

static uint32_t chain_3(const struct run *runs) {
    return sum_of_chain(runs, lwip_sum_3);
}

ROUTINE(SHORT_SUM, short_sum, "lwip", "algorithm-1", lwip_sum_1);
ROUTINE(SHORT_SUM, short_sum, "lwip", "algorithm-2", lwip_sum_2);
ROUTINE(SHORT_SUM, short_sum, "lwip", "algorithm-3", lwip_sum_3);
ROUTINE(CHAIN, chain, "lwip", "algorithm-1", chain_1);
ROUTINE(CHAIN, chain, "lwip", "algorithm-2", chain_2);
ROUTINE(CHAIN, chain, "lwip", "algorithm-3", chain_3);
