/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The suite of tests/shared/bytes_check.h as a process without a C library, between
 * pages that fault; once for every arm that runs here, where there are several. All of
 * it is one case for the counting plugin.
 */
#include "bytes_check.h"

#include <plumb/processor.h>

#include "bytes/bytes.h"
#include "user.h"

enum { USABLE = 2 * USER_PAGE };
_Static_assert(USABLE >= BYTES_CHECK_MOST, "every length has room");

/* Each area between two pages. */
static struct {
    uint8_t before[USER_PAGE], usable[USABLE], behind[USER_PAGE];
} from, to __attribute__((aligned(USER_PAGE)));

/* ---- for the emulator's bounds plugin, which knows these by name ---- */

/* A load of the first and of the last byte of some range, or twice of no range's. */
static inline void mark(const uint8_t *bytes, size_t length) {
    static const volatile uint8_t nothing;
    const volatile uint8_t *first = length ? bytes : &nothing;

    (void)first[0];
    (void)first[length ? length - 1 : 0];
}

/* All that is watched. */
__attribute__((noinline)) void bounds_areas(void);
__attribute__((noinline)) void bounds_areas(void) {
    mark(from.usable, USABLE);
    mark(to.usable, USABLE);
}

/* What of it may be read and written from here to bounds_end(). */
__attribute__((noinline)) void bounds_begin(const void *read, size_t read_length, void *written,
                                            size_t written_length);
__attribute__((noinline)) void bounds_begin(const void *read, size_t read_length, void *written,
                                            size_t written_length) {
    mark(read, read_length);
    mark(written, written_length);
}

__attribute__((noinline)) void bounds_end(void);
__attribute__((noinline)) void bounds_end(void) {
    __asm__ volatile("");
}

static bool check(const char *arm) {
    const struct bytes_memory memory = {from.usable, to.usable,    USABLE,
                                        true,        bounds_begin, bounds_end};
    struct bytes_failure failure;

    if (bytes_check(&memory, &failure))
        return true;
    board_print("wrong %s %s %s: length=%u to=%u from=%u\n", arm, failure.routine, failure.what,
                failure.length, failure.to, failure.from);
    return false;
}

static bool check_arms(void) {
#ifdef PL_BYTES_DISPATCHED
    /* The emulator does, and not every processor can be asked. */
    plumb_processor_misaligned(PLUMB_MISALIGNED_TAKEN);
    for (unsigned i = 0; i < pl_bytes_arm_count; i++)
        if (pl_bytes_force(pl_bytes_arms[i].name) && !check(pl_bytes_arms[i].name))
            return false;
    return true;
#else
    return check("");
#endif
}

int user_main(int count, char **arguments) {
    (void)count;
    (void)arguments;
    if (!user_protect(from.before, USER_PAGE, false) ||
        !user_protect(from.behind, USER_PAGE, false) ||
        !user_protect(to.before, USER_PAGE, false) || !user_protect(to.behind, USER_PAGE, false)) {
        board_print("no page can be protected\n");
        return 1;
    }
    bounds_areas();
    board_print("case bytes\n");
    board_measure_start();
    bool right = check_arms();
    board_measure_stop();
    board_print("end\n");
    return right ? 0 : 1;
}
