/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Runs what loads.c has, each between the measuring marks, in QEMU's user mode, at
 * addresses that miss their alignment. A line before each says which:
 *
 *     case none | assign | load | hash | NAME length=N apart=N
 *
 * `none` calls a function that does nothing; NAME is copy, sum or copy-sum, and `apart`
 * how far the source lies from the destination's alignment. `hash VALUE` tells what the
 * hash was. What goes wrong ends the run.
 *
 *     measure [taken|traps [ROUTINES]]
 */
#include <plumb/processor.h>

#include "loads.h"
#include "strict.h"

enum { LONGEST = 1460 };

static uint8_t from_area[LONGEST + 64] __attribute__((aligned(64)));
static uint8_t to_area[LONGEST + 64] __attribute__((aligned(64)));

static __attribute__((noinline)) void nothing(void *to, const void *from) {
    __asm__ volatile("" : : "r"(to), "r"(from));
}

static void require(bool right, const char *what) {
    if (right)
        return;
    board_print("wrong %s\n", what);
    board_exit(1);
}

static void measure_loads(void) {
    void (*volatile no_function)(void *, const void *) = nothing;
    void (*volatile assigns)(any64 *, const any64 *) = assign;
    uint32_t (*volatile loads)(const half32 *) = load_half;
    uint32_t (*volatile hashes)(const void *, uint32_t) = hash36;
    const uint8_t *from = from_area + 1;

    board_print("case none\n");
    board_measure_start();
    no_function(to_area, from);
    board_measure_stop();

    board_print("case assign\n");
    board_measure_start();
    assigns((any64 *)(void *)(to_area + 1), (const any64 *)(const void *)from);
    board_measure_stop();
    for (unsigned i = 0; i < 8; i++)
        require(to_area[1 + i] == from[i], "assign");
    require(!to_area[0] && !to_area[9], "assign");

    board_print("case load\n");
    board_measure_start();
    uint32_t word = loads((const half32 *)(const void *)(from + 1));
    board_measure_stop();
    require((word & 0xff) == from[1] && word >> 24 == from[4], "load");

    board_print("case hash\n");
    board_measure_start();
    uint32_t hash = hashes(from, 0);
    board_measure_stop();
    board_print("hash 0x%08x\n", hash);
}

static void measure_calls(unsigned length, unsigned apart) {
    void (*volatile copies)(void *, const void *, size_t) = call_copy;
    uint32_t (*volatile sums)(const void *, size_t) = call_sum;
    uint32_t (*volatile copies_sums)(void *, const void *, size_t) = call_copy_sum;
    const uint8_t *from = from_area + apart;

    board_print("case copy length=%u apart=%u\n", length, apart);
    board_measure_start();
    copies(to_area, from, length);
    board_measure_stop();
    for (unsigned i = 0; i < length; i++)
        require(to_area[i] == from[i], "copy");

    board_print("case sum length=%u apart=%u\n", length, apart);
    board_measure_start();
    uint32_t sum = sums(from, length);
    board_measure_stop();

    board_print("case copy-sum length=%u apart=%u\n", length, apart);
    board_measure_start();
    uint32_t other = copies_sums(to_area, from, length);
    board_measure_stop();
    require(sum == other && sum, "copy-sum");
}

int user_main(int count, char **arguments) {
    strict_choose(count, arguments);
    for (unsigned i = 0; i < sizeof from_area; i++)
        from_area[i] = (uint8_t)(i * 7 + 1);
    measure_loads();
    for (unsigned apart = 0; apart < 2; apart++) {
        measure_calls(20, apart);
        measure_calls(LONGEST, apart);
    }
    board_print("end\n");
    return 0;
}
