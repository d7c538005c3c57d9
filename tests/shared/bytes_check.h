/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The byte routines against a byte-wise reference, on whatever processor this is
 * compiled for; freestanding. Every length to 200 and alignment of both sides,
 * with data of all zeroes, of all ones and at random, and nothing written outside.
 */
#ifndef BYTES_CHECK_H
#define BYTES_CHECK_H

/* Null, or what went wrong first. */
const char *bytes_check(void);

#endif
