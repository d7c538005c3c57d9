/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Runs every routine that is linked in over every case of its kind, each call between
 * the measuring marks, in QEMU's user mode. A line before each says what it is:
 *
 *     case KIND STACK VARIANT length=N [to=N] offset=N|from=N
 *
 * and the counting plugin writes what it took, in the same order. What a routine
 * returned and wrote is compared with a byte-wise reference; `wrong` ends the run.
 *
 *     measure sum|copy [LENGTH ...]
 */
#include "measure.h"

#include "bytes/bytes.h"
#include "user.h"

enum { LONGEST = 9000, OFFSETS = 4, LENGTHS_MAX = 16 };

extern const struct routine __start_routines[], __stop_routines[];

static uint8_t from_area[LONGEST + 64] __attribute__((aligned(64)));
static uint8_t to_area[LONGEST + 64] __attribute__((aligned(64)));

static unsigned lengths[LENGTHS_MAX], length_count;

/* ---- what nothing costs ---- */

static __attribute__((noinline)) uint32_t no_sum(const void *bytes, size_t length) {
    __asm__ volatile("" : : "r"(bytes), "r"(length));
    return 0;
}
static __attribute__((noinline)) void no_copy(void *to, const void *from, size_t length) {
    __asm__ volatile("" : : "r"(to), "r"(from), "r"(length));
}
static __attribute__((noinline)) uint32_t no_copy_sum(void *to, const void *from, size_t length) {
    __asm__ volatile("" : : "r"(to), "r"(from), "r"(length));
    return 0;
}
static __attribute__((noinline)) uint32_t no_header(const void *header) {
    __asm__ volatile("" : : "r"(header));
    return 0;
}
static __attribute__((noinline)) uint32_t no_chain(const struct run *runs) {
    __asm__ volatile("" : : "r"(runs));
    return 0;
}
ROUTINE(SUM, sum, "none", "empty", no_sum);
ROUTINE(COPY, copy, "none", "empty", no_copy);
ROUTINE(COPY_SUM, copy_sum, "none", "empty", no_copy_sum);
ROUTINE(HEADER, header, "none", "empty", no_header);
ROUTINE(CHAIN, chain, "none", "empty", no_chain);

/* ---- right or wrong ---- */

static uint32_t reference(const uint8_t *bytes, size_t length) {
    uint32_t sum = 0;
    for (size_t i = 0; i < length; i++)
        sum = pl_fold(sum + ((i & 1) ? PL_BYTE_AT_ODD(bytes[i]) : PL_BYTE_AT_EVEN(bytes[i])));
    return sum;
}

static void require(const struct routine *routine, bool right) {
    if (right || user_same(routine->stack, "none"))
        return;
    board_print("wrong %s %s\n", routine->stack, routine->variant);
    board_exit(1);
}

static void require_sum(const struct routine *routine, uint32_t sum, uint32_t expected) {
    uint32_t folded = pl_fold(sum), complement = ~folded & 0xffffU;
    require(routine,
            folded % 0xffffU == expected % 0xffffU || complement % 0xffffU == expected % 0xffffU);
}

static void require_copy(const struct routine *routine, const uint8_t *to, const uint8_t *from,
                         size_t length) {
    bool same = to[-1] == 0xa5 && to[length] == 0xa5;
    for (size_t i = 0; same && i < length; i++)
        same = to[i] == from[i];
    require(routine, same);
}

/* ---- the cases of each kind ---- */

static const char *const kind_names[] = {"sum",    "sum",    "copy", "copy-sum",
                                         "header", "header", "chain"};

static void announce(const struct routine *routine) {
    board_print("case %s %s %s", kind_names[routine->kind], routine->stack, routine->variant);
}

static void measure_sum(const struct routine *routine, unsigned length) {
    for (unsigned offset = 0; offset < OFFSETS; offset++) {
        const uint8_t *bytes = from_area + offset;
        uint32_t sum;
        announce(routine);
        board_print(" length=%u offset=%u\n", length, offset);
        if (routine->kind == SUM) {
            sum_function *volatile function = routine->as.sum;
            board_measure_start();
            sum = function(bytes, length);
            board_measure_stop();
        } else {
            short_sum_function *volatile function = routine->as.short_sum;
            board_measure_start();
            uint16_t short_sum = function(bytes, (int)length);
            board_measure_stop();
            sum = short_sum;
        }
        require_sum(routine, sum, reference(bytes, length));
    }
}

/* Every pair modulo 4, and both sides on a word but not on one of 8 bytes together. */
static void measure_copy(const struct routine *routine, unsigned length) {
    enum { PAIRS = OFFSETS * OFFSETS, HALF_WORD = 4 };
    for (unsigned pair = 0; pair < PAIRS + 2; pair++) {
        unsigned to_place = pair / OFFSETS, from_place = pair % OFFSETS;
        if (pair >= PAIRS) {
            to_place = pair == PAIRS ? 0 : HALF_WORD;
            from_place = HALF_WORD - to_place;
        }
        const uint8_t *from = from_area + from_place;
        uint8_t *to = to_area + 8 + to_place;
        uint32_t sum = 0;
        for (unsigned i = 0; i < sizeof to_area; i++)
            to_area[i] = 0xa5;
        announce(routine);
        board_print(" length=%u to=%u from=%u\n", length, to_place, from_place);
        if (routine->kind == COPY) {
            copy_function *volatile function = routine->as.copy;
            board_measure_start();
            function(to, from, length);
            board_measure_stop();
        } else {
            copy_sum_function *volatile function = routine->as.copy_sum;
            board_measure_start();
            sum = function(to, from, length);
            board_measure_stop();
            require_sum(routine, sum, reference(from, length));
        }
        require_copy(routine, to, from, length);
    }
}

/* A header without options: on a word, and as it lies behind an unpadded Ethernet header. */
static void measure_header(const struct routine *routine) {
    const unsigned offset = routine->kind == HEADER_ON_WORD ? 0 : 2;
    const uint8_t *header = from_area + offset;
    header_function *volatile function = routine->as.header;
    announce(routine);
    board_print(" length=20 offset=%u\n", offset);
    board_measure_start();
    uint32_t sum = function(header);
    board_measure_stop();
    require_sum(routine, sum, reference(header, 20));
}

static void measure_chain(const struct routine *routine) {
    static const struct run runs[RUNS] = {
        {from_area, 36}, {from_area + 130, 128}, {from_area + 301, 511}, {from_area + 1003, 785}};
    uint8_t joined[36 + 128 + 511 + 785];
    size_t length = 0;
    for (unsigned i = 0; i < RUNS; i++)
        for (size_t k = 0; k < runs[i].length; k++)
            joined[length++] = runs[i].bytes[k];
    chain_function *volatile function = routine->as.chain;
    announce(routine);
    board_print(" length=%u buffers=%u\n", (unsigned)length, (unsigned)RUNS);
    board_measure_start();
    uint32_t sum = function(runs);
    board_measure_stop();
    require_sum(routine, sum, reference(joined, length));
}

static void measure(const struct routine *routine, bool copying) {
    if (copying != (routine->kind == COPY || routine->kind == COPY_SUM))
        return;
    if (routine->kind == HEADER || routine->kind == HEADER_ON_WORD)
        measure_header(routine);
    else if (routine->kind == CHAIN)
        measure_chain(routine);
    else
        for (unsigned i = 0; i < length_count; i++)
            (copying ? measure_copy : measure_sum)(routine, lengths[i]);
}

static unsigned number(const char *digits) {
    unsigned value = 0;
    for (; *digits >= '0' && *digits <= '9' && value <= LONGEST; digits++)
        value = 10 * value + (unsigned)(*digits - '0');
    return *digits ? LONGEST + 1 : value;
}

int user_main(int count, char **arguments) {
    bool copying = count > 1 && user_same(arguments[1], "copy");
    if (count < 2 || count > LENGTHS_MAX || !(copying || user_same(arguments[1], "sum"))) {
        board_print("usage: measure sum|copy [LENGTH ...]\n");
        return 2;
    }
    for (int i = 2; i < count; i++) {
        lengths[length_count] = number(arguments[i]);
        if (lengths[length_count++] > LONGEST) {
            board_print("measure: no length up to %u: %s\n", (unsigned)LONGEST, arguments[i]);
            return 2;
        }
    }
    uint32_t random = 1;
    for (unsigned i = 0; i < sizeof from_area; i++) {
        random = random * 1664525U + 1013904223U;
        from_area[i] = (uint8_t)(random >> 24);
    }
    for (const struct routine *routine = __start_routines; routine < __stop_routines; routine++)
        measure(routine, copying);
    board_print("end\n");
    return 0;
}
