/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "bytes/routines.h"

#ifdef PL_BYTES_DISPATCHED

#if __GCC_ATOMIC_POINTER_LOCK_FREE == 2
#define STORE(to, value) __atomic_store_n(&(to), value, __ATOMIC_RELAXED)
#define LOAD(from)       __atomic_load_n(&(from), __ATOMIC_RELAXED)
#else
#define STORE(to, value) (void)((to) = (value))
#define LOAD(from)       (from)
#endif

static const struct pl_bytes_arm *chosen; /* null: nothing was chosen yet */

static void take(const struct pl_bytes_arm *arm) {
    STORE(pl_bytes.sum, arm->routines.sum);
    STORE(pl_bytes.copy, arm->routines.copy);
    STORE(pl_bytes.copy_sum, arm->routines.copy_sum);
    STORE(chosen, arm);
}

void pl_bytes_choose(void) {
    const struct pl_bytes_arm *arm = pl_bytes_arms;

    if (LOAD(chosen))
        return;
    while (!pl_bytes_runs_here(arm))
        arm++;
    take(arm);
}

bool pl_bytes_force(const char *name) {
    for (unsigned i = 0; i < pl_bytes_arm_count; i++) {
        const struct pl_bytes_arm *arm = &pl_bytes_arms[i];
        if (pl_bytes_same_name(arm->name, name) && pl_bytes_runs_here(arm)) {
            take(arm);
            return true;
        }
    }
    return false;
}

const struct pl_bytes_arm *pl_bytes_chosen(void) {
    pl_bytes_choose();
    return LOAD(chosen);
}

#endif
