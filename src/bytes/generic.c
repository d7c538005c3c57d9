/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * One image for processors that load misaligned words and for those that trap: the
 * family's own routines and those of unaligned.c, and which of them may run.
 */
#include "bytes/routines.h"

#ifdef PL_BYTES_GENERIC
#include "bytes/processor.h"
#include "bytes/unaligned.h"

#define STRICT                                                                                     \
    { pl_sum_strict, pl_copy_strict, pl_copy_sum_strict }

static enum plumb_misaligned told; /* by the board */

static bool takes_misaligned(void) {
    enum plumb_misaligned known = told ? told : pl_processor_misaligned();

    return known == PLUMB_MISALIGNED_TAKEN;
}

const struct pl_bytes_arm pl_bytes_arms[] = {
    {"unaligned", takes_misaligned, {pl_sum_strict, pl_copy_unaligned, pl_copy_sum_unaligned}},
    {"strict", NULL, STRICT},
};
const uint8_t pl_bytes_arm_count = sizeof pl_bytes_arms / sizeof *pl_bytes_arms;

struct pl_bytes_routines pl_bytes = STRICT;

void plumb_processor_misaligned(enum plumb_misaligned misaligned) {
    told = misaligned;
}

#ifdef PL_MISALIGNED_UNTOLD
enum plumb_misaligned pl_processor_misaligned(void) {
    return PLUMB_MISALIGNED_UNKNOWN;
}
#endif

#endif
