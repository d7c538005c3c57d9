/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Which of x86-64's arms this processor, and its operating system, can run; and what
 * the arms have in common.
 */
#include "bytes/bytes.h"

#ifdef PL_BYTES_X86
#include <cpuid.h>

#include "bytes/x86/x86.h"

enum { PIECE = 65536 };

uint32_t pl_sum_pieces(const void *bytes, size_t length,
                       uint32_t (*sum)(const void *bytes, size_t length)) {
    const uint8_t *p = bytes;
    uint32_t total = 0;

    for (; length > PIECE; length -= PIECE, p += PIECE)
        total = pl_fold(total + sum(p, PIECE));
    return pl_fold(total + sum(p, length));
}

uint32_t pl_copy_sum_pieces(void *to, const void *from, size_t length,
                            uint32_t (*copy_sum)(void *to, const void *from, size_t length)) {
    uint8_t *t = to;
    const uint8_t *f = from;
    uint32_t total = 0;

    for (; length > PIECE; length -= PIECE, t += PIECE, f += PIECE)
        total = pl_fold(total + copy_sum(t, f, PIECE));
    return pl_fold(total + copy_sum(t, f, length));
}

/* The sum is of the source: of what was just stored it would wait for the stores. */
uint32_t pl_copy_sum_carry(void *to, const void *from, size_t length) {
    pl_copy_x86(to, from, length);
    return pl_sum_carry(from, length);
}

/* Without SSE, as kernels are built, vectors are not ours to use. */
#ifdef __SSE2__

/* CPUID leaf 1, ECX. */
#define OSXSAVE (1U << 27)
#define AVX     (1U << 28)
/* CPUID leaf 7, EBX and ECX. */
#define AVX2        (1U << 5)
#define BMI2        (1U << 8)
#define AVX512F     (1U << 16)
#define AVX512BW    (1U << 30)
#define AVX512_VNNI (1U << 11)
/* XCR0: the states that the operating system saves. */
#define XMM_YMM         0x06U
#define XMM_YMM_ZMM_K   0xe6U
#define LEAF_EXTENSIONS 7U

static uint32_t saved_states(void) {
    uint32_t low, high;

    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* Whether leaf 7 has all of these and the system saves those. */
static bool has(uint32_t ebx_wanted, uint32_t ecx_wanted, uint32_t states) {
    uint32_t eax, ebx, ecx, edx;

    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || ~ecx & (OSXSAVE | AVX) ||
        ~saved_states() & states)
        return false;
    return __get_cpuid_count(LEAF_EXTENSIONS, 0, &eax, &ebx, &ecx, &edx) && !(~ebx & ebx_wanted) &&
           !(~ecx & ecx_wanted);
}

static bool has_avx2(void) {
    return has(AVX2, 0, XMM_YMM);
}

static bool has_avx512(void) {
    return has(AVX2 | BMI2 | AVX512F | AVX512BW, AVX512_VNNI, XMM_YMM_ZMM_K);
}

#endif

/* The plain ones. */
#define PLAIN pl_sum_carry, pl_copy_x86, pl_copy_sum_carry

const struct pl_bytes_arm pl_bytes_arms[] = {
#ifdef __SSE2__
    {"avx512", has_avx512, {pl_sum_avx512, pl_copy_x86, pl_copy_sum_avx512}},
    {"avx2", has_avx2, {pl_sum_avx2, pl_copy_x86, pl_copy_sum_avx2}},
#endif
    {"carry", NULL, {PLAIN}},
};
const uint8_t pl_bytes_arm_count = sizeof pl_bytes_arms / sizeof *pl_bytes_arms;

struct pl_bytes_routines pl_bytes = {PLAIN};

#endif
