/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Which of x86-64's arms this processor, and its operating system, can run.
 */
#include "bytes/routines.h"

#ifdef PL_BYTES_X86
#include "bytes/x86/x86.h"

/* The plain ones. */
#define PLAIN pl_sum_carry, pl_copy_x86, pl_copy_sum_carry

const struct pl_bytes_arm pl_bytes_arms[] = {
    {"carry", NULL, {PLAIN}},
};
const uint8_t pl_bytes_arm_count = sizeof pl_bytes_arms / sizeof *pl_bytes_arms;

struct pl_bytes_routines pl_bytes = {PLAIN};

#endif
