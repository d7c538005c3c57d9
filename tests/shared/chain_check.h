/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A packet's chain of fragments beside a flat copy of its bytes: a script says what is
 * done to both, and after each step they must agree. For hosted tests, whose scripts
 * come from a loop, from chance, or from a fuzzer: every sequence of bytes is one.
 *
 *     COUNT (SIZE PLACE)... DATA (STEP OFFSET OFFSET LENGTH LENGTH)...
 *
 * COUNT fragments of SIZE bytes each at PLACE modulo 8, filled as DATA says; then
 * steps, their numbers of two bytes each, the lower first. What is too large is taken
 * modulo what fits, what is missing is 0. Every fragment and buffer is allocated by
 * itself, so that an address sanitizer sees its end.
 */
#ifndef CHAIN_CHECK_H
#define CHAIN_CHECK_H

#include <stddef.h>
#include <stdint.h>

enum { CHAIN_FRAGMENTS = 6 }; /* COUNT is 1 to this */

enum chain_step {
    CHAIN_SUM,
    CHAIN_COPY_SUM,   /* from OFFSET on */
    CHAIN_COPY_OUT,   /* LENGTH from OFFSET on, perhaps past the end */
    CHAIN_COPY_IN,    /* the same */
    CHAIN_TRIM_FRONT, /* by OFFSET */
    CHAIN_TRIM_TO,    /* LENGTH */
    CHAIN_STEPS,
};

/* Null, or what did not agree. */
const char *chain_check(const uint8_t *script, size_t length);

#endif
