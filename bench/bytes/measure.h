/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What a measured routine is. A file that is linked into the program adds its
 * routines to the table by ROUTINE(); nothing else names them.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>

/* A chain of buffers: eCos' question of 2000. */
struct run {
    const uint8_t *bytes;
    size_t length;
};
enum { RUNS = 4 };

typedef uint32_t sum_function(const void *bytes, size_t length);
typedef uint16_t short_sum_function(const void *bytes, int length); /* as lwIP has it */
typedef void copy_function(void *to, const void *from, size_t length);
typedef uint32_t copy_sum_function(void *to, const void *from, size_t length);
typedef uint32_t header_function(const void *header);
typedef uint32_t chain_function(const struct run *runs);

/* `empty` is a routine that does nothing: what calling one costs. A sum may be any
 * representative of its value, complemented or not. */
struct routine {
    enum routine_kind { SUM, SHORT_SUM, COPY, COPY_SUM, HEADER, HEADER_ON_WORD, CHAIN } kind;
    const char *stack, *variant;
    union {
        sum_function *sum;
        short_sum_function *short_sum;
        copy_function *copy;
        copy_sum_function *copy_sum;
        header_function *header;
        chain_function *chain;
    } as;
};

#define ROUTINE(kind, member, stack, variant, function)                                            \
    static const struct routine routine_##function##_##member __attribute__((                      \
        used, section("routines"))) = {kind, stack, variant, {.member = (function)}}

#endif
