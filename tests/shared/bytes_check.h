/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Everything of src/bytes/ against a byte-wise reference, on whatever processor this
 * is compiled for; freestanding, and says nothing by itself.
 *
 *  - pl_sum, pl_copy and pl_copy_sum: every length to 300, from and to every place
 *    modulo 8, of random data and of data whose sums carry where few do; of zeroes and
 *    of ones; and a sample of lengths to the largest that the memory takes.
 *  - Each as close as it goes to the start and to the end of the memory, which the
 *    caller lets fault where he can. Bytes beside what is written stay as they were.
 *  - Sums of two and three parts, for every cut; headers, pseudo-headers, updates of
 *    checksums; fields and Ethernet addresses at every place that they may have.
 */
#ifndef BYTES_CHECK_H
#define BYTES_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The least memory that the suite takes, and what it needs for all of its lengths. */
#define BYTES_CHECK_LEAST 512
#define BYTES_CHECK_MOST  (65536 + 64)

/* Two areas of the same length, both ends of both on 8 bytes. */
struct bytes_memory {
    uint8_t *from, *to;
    size_t length;
    bool guarded; /* what lies beside them faults; otherwise a margin inside is compared */
    /* Called before each routine with what it may read and write, a length of 0 for
     * nothing, and after it. Or null. */
    void (*before)(const void *read, size_t read_length, void *written, size_t written_length);
    void (*after)(void);
};

/* What went wrong first: which routine, in what, with how many bytes, and the places
 * modulo 8 of what it wrote and read. */
struct bytes_failure {
    const char *routine;
    const char *what;
    unsigned length, to, from;
};

/* False, and what failed. */
bool bytes_check(const struct bytes_memory *memory, struct bytes_failure *failure);

#endif
