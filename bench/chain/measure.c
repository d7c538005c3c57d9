/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The checksum of a chain of four buffers of varying lengths, again and again, as eCos
 * measured it in 2000: each routine that is linked in, between the measuring marks, over
 * lines that are in the caches if there are any. A line before each says what it is:
 *
 *     case STACK VARIANT BYTES
 *
 * A wrong sum ends the run.
 */
#include "measure.h"
#include "bytes/bytes.h"
#include "user.h"

enum { ROUNDS = 50, BYTES = 36 + 128 + 511 + 785 };

extern const struct routine __start_routines[], __stop_routines[];

static uint8_t area[2048] __attribute__((aligned(64)));

static const struct run chain[RUNS] = {
    {area, 36}, {area + 130, 128}, {area + 301, 511}, {area + 1003, 785}};

static uint32_t reference(void) {
    uint32_t sum = 0;
    size_t at = 0;
    for (unsigned i = 0; i < RUNS; i++)
        for (size_t k = 0; k < chain[i].length; k++, at++) {
            uint8_t byte = chain[i].bytes[k];
            sum = pl_fold(sum + ((at & 1) ? PL_BYTE_AT_ODD(byte) : PL_BYTE_AT_EVEN(byte)));
        }
    return sum;
}

static bool measure(const struct routine *routine) {
    chain_function *volatile function = routine->as.chain;
    uint32_t sum = function(chain);
    board_print("case %s %s %u\n", routine->stack, routine->variant, (unsigned)(ROUNDS * BYTES));
    board_measure_start();
    for (unsigned i = 0; i < ROUNDS; i++)
        sum = function(chain);
    board_measure_stop();
    return pl_fold(sum) % 0xFFFFU == reference() % 0xFFFFU;
}

int user_main(int count, char **arguments) {
    (void)count;
    (void)arguments;
    for (unsigned i = 0; i < sizeof area; i++)
        area[i] = (uint8_t)(i * 7 + (i >> 8) + 3);
    for (const struct routine *routine = __start_routines; routine < __stop_routines; routine++)
        if (routine->kind == CHAIN && !measure(routine)) {
            board_print("wrong %s %s\n", routine->stack, routine->variant);
            return 1;
        }
    board_print("end\n");
    return 0;
}
