/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The byte routines of x86-64 by the clock on the wall: Plumb's portable C, each of
 * its arms that this processor has, lwIP's three checksums and the C library's
 * memcpy, on hot data.
 *
 * A routine and the reference of its kind (lwIP's third algorithm for a checksum,
 * memcpy for a copy with or without a sum) run in turn, in short batches on one
 * processor, so that what disturbs one disturbs the other. Whoever shares the processor
 * can only slow them down, so of all pairs of neighbouring batches the tenth in which
 * both together were the fastest is kept: the ratio is the median of theirs. The
 * reference is compared with itself too, which shows how good the measurement is.
 *
 * Prints to standard output one line per kind, routine and length, of fields separated
 * by one blank, and nothing else:
 *
 *     KIND ROUTINE LENGTH NANOSECONDS RATIO SPREAD PAIRS
 *     sum avx2 1460 10.52 15.42 0.31 50
 *
 * KIND is sum, copy or fused. NANOSECONDS is the shortest time of a call, RATIO the
 * reference's time divided by the routine's, unrounded: above 1 is faster; SPREAD is the
 * interquartile range of the ratios kept, PAIRS their number. ROUTINE is c, lwip1,
 * lwip2, lwip3, memcpy, memcpy+lwip3 or the name of an arm; an arm that this processor
 * cannot run is not there. The data begin as many bytes past a cache line as argument
 * 1 says, by default 0; what is copied to begins on one, half a page further. Exit
 * status 1 and a message when a routine sums or copies wrong, or a clock or a
 * processor is not to be had.
 *
 * Linked from this file, all at -O2: Plumb's routines as they are (src/bytes/ but
 * libc.c); its portable C (CONFIG_PLUMB_BYTES_ASSEMBLY off) with each pl_NAME made
 * c_pl_NAME; and lwIP's inet_chksum.c thrice, with LWIP_CHKSUM_ALGORITHM=n and
 * lwip_standard_chksum made lwip_n.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bytes/routines.h"

uint32_t c_pl_sum(const void *bytes, size_t length);
void c_pl_copy(void *to, const void *from, size_t length);
uint32_t c_pl_copy_sum(void *to, const void *from, size_t length);
uint16_t lwip_1(const void *bytes, int length);
uint16_t lwip_2(const void *bytes, int length);
uint16_t lwip_3(const void *bytes, int length);

enum { LONGEST = 9000, LINE = 64, PAIRS = 501, KEPT = 50, CANDIDATES_MOST = 32 };
enum { BATCH_NS = 20000 }; /* a batch is as many calls as take about this long */

static const size_t lengths[] = {20, 40, 64, 256, 576, 1460, LONGEST};
static _Alignas(4096) uint8_t source[LONGEST + LINE];
/* Not at the same place of a page: a load is held up by a store before it to the same
 * place of another page. */
static _Alignas(4096) uint8_t pages[LONGEST + 2048];
static uint8_t *const target = pages + 2048;

struct candidate {
    const char *kind, *name;
    /* One of these, called as its author declared it. */
    uint32_t (*sum)(const void *bytes, size_t length);
    uint16_t (*lwip)(const void *bytes, int length);
    void (*copy)(void *to, const void *from, size_t length);
    void *(*memcpy)(void *restrict to, const void *restrict from, size_t length);
    uint32_t (*copy_sum)(void *to, const void *from, size_t length);
};

static void require(bool is_so, const char *message, const char *name) {
    if (is_so)
        return;
    fprintf(stderr, "wall: %s%s\n", message, name);
    exit(1);
}

static uint64_t now_ns(void) {
    struct timespec now;

    require(!clock_gettime(CLOCK_MONOTONIC, &now), "there is no monotonic clock", "");
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* Every call through a pointer of which the compiler knows nothing, so that none is
 * left out; returns the sums, so that none is unused. */
static __attribute__((noinline)) uint32_t run(const struct candidate *c, const uint8_t *from,
                                              size_t length, unsigned calls) {
    uint32_t sums = 0;

    if (c->sum)
        for (; calls; calls--)
            sums += c->sum(from, length);
    else if (c->lwip)
        for (; calls; calls--)
            sums += c->lwip(from, (int)length);
    else if (c->copy)
        for (; calls; calls--)
            c->copy(target, from, length);
    else if (c->memcpy)
        for (; calls; calls--)
            (void)c->memcpy(target, from, length);
    else
        for (; calls; calls--)
            sums += c->copy_sum(target, from, length);
    return sums;
}

static double batch_ns(const struct candidate *c, const uint8_t *from, size_t length,
                       unsigned calls) {
    uint64_t start = now_ns();

    (void)run(c, from, length, calls);
    return (double)(now_ns() - start) / calls;
}

static unsigned calibrate(const struct candidate *c, const uint8_t *from, size_t length) {
    unsigned calls = 16;

    while (calls < 1U << 20 && batch_ns(c, from, length, calls) * calls < BATCH_NS)
        calls *= 2;
    return calls;
}

struct pair {
    double theirs, ours; /* ns of a call */
    double slowness;     /* both, in terms of the shortest of each */
};

static int by_slowness(const void *a, const void *b) {
    const struct pair *x = a, *y = b;

    return x->slowness < y->slowness ? -1 : x->slowness > y->slowness;
}

static int by_ratio(const void *a, const void *b) {
    const struct pair *x = a, *y = b;
    double one = x->theirs / x->ours, other = y->theirs / y->ours;

    return one < other ? -1 : one > other;
}

static double ratio(const struct pair *pair) {
    return pair->theirs / pair->ours;
}

static double shortest(double one, double other) {
    return one < other ? one : other;
}

static void compare(const struct candidate *c, const struct candidate *reference,
                    const uint8_t *from, size_t length) {
    unsigned calls = calibrate(c, from, length);
    unsigned reference_calls = calibrate(reference, from, length);
    struct pair pairs[PAIRS];
    double theirs = 1e9, ours = 1e9;

    for (unsigned i = 0; i < PAIRS; i++) {
        pairs[i].theirs = batch_ns(reference, from, length, reference_calls);
        pairs[i].ours = batch_ns(c, from, length, calls);
        theirs = shortest(theirs, pairs[i].theirs);
        ours = shortest(ours, pairs[i].ours);
    }
    for (unsigned i = 0; i < PAIRS; i++)
        pairs[i].slowness = pairs[i].theirs / theirs + pairs[i].ours / ours;
    qsort(pairs, PAIRS, sizeof *pairs, by_slowness);
    qsort(pairs, KEPT, sizeof *pairs, by_ratio);
    printf("%s %s %zu %.2f %.17g %.6f %d\n", c->kind, c->name, length, ours,
           ratio(&pairs[KEPT / 2]), ratio(&pairs[KEPT * 3 / 4]) - ratio(&pairs[KEPT / 4]), KEPT);
}

/* What is measured has to be right. */
static void check(const struct candidate *c, const uint8_t *from, size_t length) {
    memset(target, 0, LONGEST);
    uint32_t sum = run(c, from, length, 1);
    if (c->sum || c->lwip || c->copy_sum)
        require(sum == c_pl_sum(from, length), "a wrong sum: ", c->name);
    if (!c->sum && !c->lwip)
        require(!memcmp(target, from, length), "a wrong copy: ", c->name);
}

/* As lwIP does it: the sum is of the copy. */
static uint32_t memcpy_lwip_3(void *to, const void *from, size_t length) {
    memcpy(to, from, length);
    return lwip_3(to, (int)length);
}

/* The reference of each kind is its first. */
static unsigned list(struct candidate *to) {
    static const struct candidate sums[] = {
        {"sum", "lwip3", .lwip = lwip_3},
        {"sum", "lwip2", .lwip = lwip_2},
        {"sum", "lwip1", .lwip = lwip_1},
        {"sum", "c", .sum = c_pl_sum},
    };
    static const struct candidate others[] = {
        {"copy", "memcpy", .memcpy = memcpy},
        {"copy", "c", .copy = c_pl_copy},
        {"fused", "memcpy", .memcpy = memcpy},
        {"fused", "memcpy+lwip3", .copy_sum = memcpy_lwip_3},
        {"fused", "c", .copy_sum = c_pl_copy_sum},
    };
    unsigned count = 0;

    for (unsigned i = 0; i < sizeof sums / sizeof *sums; i++)
        to[count++] = sums[i];
    for (unsigned i = pl_bytes_arm_count; i--;) {
        const struct pl_bytes_arm *arm = &pl_bytes_arms[i];
        if (!arm->runs_here || arm->runs_here())
            to[count++] = (struct candidate){"sum", arm->name, .sum = arm->routines.sum};
    }
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        to[count++] = others[i];
    for (unsigned i = pl_bytes_arm_count; i--;) {
        const struct pl_bytes_arm *arm = &pl_bytes_arms[i];
        if (!arm->runs_here || arm->runs_here())
            to[count++] =
                (struct candidate){"fused", arm->name, .copy_sum = arm->routines.copy_sum};
    }
    return count;
}

static void stay_on_one_processor(void) {
    int processor = sched_getcpu();
    cpu_set_t set;

    require(processor >= 0, "which processor this is is not known", "");
    CPU_ZERO(&set);
    CPU_SET((unsigned)processor, &set);
    require(!sched_setaffinity(0, sizeof set, &set), "this process cannot be pinned", "");
}

int main(int argc, char **argv) {
    static struct candidate candidates[CANDIDATES_MOST];
    const uint8_t *from = source + (argc > 1 ? strtoul(argv[1], NULL, 0) % LINE : 0);
    unsigned count = list(candidates);

    stay_on_one_processor();
    for (size_t i = 0; i < sizeof source; i++)
        source[i] = (uint8_t)(i * 2654435761U >> 13 | 1);
    for (unsigned l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        const struct candidate *reference = candidates;
        for (const struct candidate *c = candidates; c < candidates + count; c++) {
            if (strcmp(c->kind, reference->kind) != 0)
                reference = c;
            check(c, from, lengths[l]);
            compare(c, reference, from, lengths[l]);
        }
    }
    return 0;
}
