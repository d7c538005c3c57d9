/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Plumb's routines, as the program that measures them calls them; VARIANT says which
 * configuration's they are.
 */
#include "bytes/bytes.h"

#include "measure.h"

#define TEXT(variant)   QUOTED(variant)
#define QUOTED(variant) #variant

static uint32_t sum_of_chain(const struct run *runs) {
    uint32_t sum = 0;
    size_t length = 0;
    for (unsigned i = 0; i < RUNS; i++) {
        sum = pl_sum_append(sum, length, pl_sum(runs[i].bytes, runs[i].length));
        length += runs[i].length;
    }
    return sum;
}

static uint32_t sum_of_header(const void *header) {
    return pl_sum_header(header);
}

static uint32_t sum_of_header_on_word(const void *header) {
    return pl_sum_header_on_word(header);
}

ROUTINE(SUM, sum, "plumb", TEXT(VARIANT), pl_sum);
ROUTINE(COPY, copy, "plumb", TEXT(VARIANT), pl_copy);
ROUTINE(COPY_SUM, copy_sum, "plumb", TEXT(VARIANT), pl_copy_sum);
ROUTINE(HEADER, header, "plumb", TEXT(VARIANT), sum_of_header);
ROUTINE(HEADER_ON_WORD, header, "plumb", TEXT(VARIANT), sum_of_header_on_word);
ROUTINE(CHAIN, chain, "plumb", TEXT(VARIANT), sum_of_chain);
