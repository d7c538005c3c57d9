/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Misaligned loads and stores on a board that emulates them when they trap: each form of
 * instruction, at each distance from a word, against what it would have done.
 */
#ifndef EMULATION_CHECK_H
#define EMULATION_CHECK_H

/* Null when all were right; or the instruction that was not. */
const char *emulation_check(void);

/* How many accesses that makes the board emulate. */
unsigned emulation_check_count(void);

#endif
