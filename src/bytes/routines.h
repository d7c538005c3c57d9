/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The choice of byte routines at run time, where one image serves processors that
 * differ: PL_BYTES_DISPATCHED in select.h. Elsewhere the choice is the linker's and
 * nothing of this exists.
 *
 * A family has several *arms*, each a complete set of routines with a name. What is
 * called lies in `pl_bytes`, which begins as the arm that runs on every processor of
 * the family and is right before anything was chosen; each of its members is one
 * pointer and changes at once, and any mix of arms is right, so that choosing needs
 * no lock.
 */
#ifndef PL_BYTES_ROUTINES_H
#define PL_BYTES_ROUTINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bytes/select.h"

/* For names of arms, where there is no C library. */
static inline bool pl_bytes_same_name(const char *a, const char *b) {
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

#ifdef PL_BYTES_DISPATCHED

struct pl_bytes_routines {
    uint32_t (*sum)(const void *bytes, size_t length);
    void (*copy)(void *to, const void *from, size_t length);
    uint32_t (*copy_sum)(void *to, const void *from, size_t length);
};

struct pl_bytes_arm {
    const char *name;
    bool (*runs_here)(void); /* null: on every processor of the family */
    struct pl_bytes_routines routines;
};

/* The family's arms, the best first; the last one runs everywhere. */
extern const struct pl_bytes_arm pl_bytes_arms[];
extern const uint8_t pl_bytes_arm_count;

/* What is called; the family's file begins it with its last arm. */
extern struct pl_bytes_routines pl_bytes;

/* A pointer that another thread may be setting. Without atomic operations there is
 * one processor, and a pointer is written by one instruction. */
#if __GCC_ATOMIC_POINTER_LOCK_FREE == 2
#define PL_BYTES_ROUTINE(member) __atomic_load_n(&pl_bytes.member, __ATOMIC_RELAXED)
#else
#define PL_BYTES_ROUTINE(member) (pl_bytes.member)
#endif

/* Whether this processor can run an arm. */
static inline bool pl_bytes_runs_here(const struct pl_bytes_arm *arm) {
    return !arm->runs_here || arm->runs_here();
}

/* Takes the best arm that runs here, unless one was forced. Again is nothing new. */
void pl_bytes_choose(void);

/* Takes an arm by its name; false, and nothing changes, when there is none such or
 * this processor cannot run it. */
bool pl_bytes_force(const char *name);

/* The arm in use, chosen now if none was. */
const struct pl_bytes_arm *pl_bytes_chosen(void);

#else

static inline void pl_bytes_choose(void) {
}

#endif
#endif
