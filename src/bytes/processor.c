/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The public side of the choice of byte routines; without a choice, one name.
 */
#include <plumb/error.h>
#include <plumb/processor.h>

#include "bytes/routines.h"

#ifdef PL_BYTES_DISPATCHED

const char *plumb_processor_routines(void) {
    return pl_bytes_chosen()->name;
}

const char *plumb_processor_choice(unsigned index) {
    for (unsigned i = 0; i < pl_bytes_arm_count; i++) {
        const struct pl_bytes_arm *arm = &pl_bytes_arms[i];
        if (pl_bytes_runs_here(arm) && index-- == 0)
            return arm->name;
    }
    return NULL;
}

int plumb_processor_use(const char *routines) {
    return pl_bytes_force(routines) ? PLUMB_OK : PLUMB_ERROR_INVALID;
}

#else

#ifdef PL_BYTES_UNALIGNED
static const char only[] = "unaligned";
#else
static const char only[] = "strict";
#endif

const char *plumb_processor_routines(void) {
    return only;
}

const char *plumb_processor_choice(unsigned index) {
    return index ? NULL : only;
}

int plumb_processor_use(const char *routines) {
    return pl_bytes_same_name(only, routines) ? PLUMB_OK : PLUMB_ERROR_INVALID;
}

#endif

#ifndef PL_BYTES_GENERIC
void plumb_processor_misaligned(enum plumb_misaligned misaligned) {
    (void)misaligned;
}
#endif
