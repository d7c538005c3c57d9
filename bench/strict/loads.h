/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What is read and written at addresses of any alignment, as a compiler makes it that
 * may, or may not, misalign an access.
 */
#ifndef BENCH_LOADS_H
#define BENCH_LOADS_H

#include <stddef.h>
#include <stdint.h>

typedef struct __attribute__((packed, may_alias)) {
    uint64_t value;
} any64;

typedef struct __attribute__((packed, may_alias)) {
    uint32_t value;
} any32;

typedef struct __attribute__((packed, aligned(2), may_alias)) {
    uint32_t value;
} half32;

/* One 8-byte assignment. */
void assign(any64 *to, const any64 *from);

/* A 32-bit field of a header that lies at 2 mod 4. */
uint32_t load_half(const half32 *from);

/* The hash of 36 bytes, 12 a round, that Bob Jenkins published as lookup3 (2006), on
 * little-endian words. */
enum { HASHED = 36 };
uint32_t hash36(const void *bytes, uint32_t initial);

/* The byte routines, called as the stack calls them. */
void call_copy(void *to, const void *from, size_t length);
uint32_t call_sum(const void *bytes, size_t length);
uint32_t call_copy_sum(void *to, const void *from, size_t length);

#endif
