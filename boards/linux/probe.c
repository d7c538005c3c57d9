/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "probe.h"

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* A load that something emulates takes a trap, some hundred times as long as one that the
 * processor does; the best of some tries is not the one that was interrupted. */
enum { LOADS = 1000, TRIES = 8, EMULATED = 16 };

static sigjmp_buf before;

static void end_probe(int signal_number) {
    siglongjmp(before, signal_number);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* One plain load each: no sanitizer, and nothing that a compiler knows the alignment of. */
__attribute__((no_sanitize("undefined", "address"), noinline)) static int64_t
time_loads(uintptr_t address) {
    int64_t best = INT64_MAX;
    for (unsigned try = 0; try < TRIES; try++) {
        int64_t start = now_ns();
        for (unsigned i = 0; i < LOADS; i++)
            (void)*(const volatile uintptr_t *)address;
        int64_t taken = now_ns() - start;
        if (taken < best)
            best = taken;
    }
    return best;
}

static enum plumb_misaligned try_loads(void) {
    static const uintptr_t words[2];
    int64_t aligned = time_loads((uintptr_t)words);
    int64_t misaligned = time_loads((uintptr_t)words + 1);
    return misaligned > EMULATED * aligned ? PLUMB_MISALIGNED_TRAPS : PLUMB_MISALIGNED_TAKEN;
}

enum plumb_misaligned probe_misaligned(void) {
    static const int signals[2] = {SIGBUS, SIGSEGV};
    const struct sigaction action = {.sa_handler = end_probe};
    struct sigaction old[2];
    volatile enum plumb_misaligned found = PLUMB_MISALIGNED_TRAPS;

    for (unsigned i = 0; i < 2; i++)
        sigaction(signals[i], &action, &old[i]);
    if (sigsetjmp(before, 1) == 0)
        found = try_loads();
    for (unsigned i = 0; i < 2; i++)
        sigaction(signals[i], &old[i], NULL);
    return found;
}
