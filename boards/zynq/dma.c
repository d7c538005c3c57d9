/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Cache maintenance for DMA on the Cortex-A9: by line of 32 bytes, to the point
 * of coherency, on the first-level cache (the second level is off).
 *
 * To the device: dirty lines are written back. From the device: lines are thrown
 * away, before it writes because a dirty one would overwrite what it wrote, and
 * after it wrote because the processor fetches ahead by itself. Addresses are
 * the same on both sides, so the end of a mapping asks for nothing: only what a
 * device reads is ever unmapped.
 */
#include "zynq.h"

enum {
    LINE = 32,
    FEW = 128, /* bytes */
};

_Static_assert(PLUMB_DMA_LINE % (2 * LINE) == 0, "two lines are a granule's");

/* See lab/plugin/arm.h. What it loads is of no account. */
#ifdef CONFIG_PLUMB_ZYNQ_CACHE_WITNESS
#define WITNESS   "\n\tldrbt r12, [%0], #0"
#define CLOBBERED "memory", "r12"
#else
#define WITNESS
#define CLOBBERED "memory"
#endif

#define CLEAN(address)                                                                             \
    __asm__ volatile("mcr p15, 0, %0, c7, c10, 1" WITNESS ::"r"(address) : CLOBBERED)
#define INVALIDATE(address)                                                                        \
    __asm__ volatile("mcr p15, 0, %0, c7, c6, 1" WITNESS ::"r"(address) : CLOBBERED)

/* What a device writes to that is not cached has no lines to drop. */
#ifdef CONFIG_PLUMB_ZYNQ_RX_UNCACHED
#define RX_CACHED false
#else
#define RX_CACHED true
#endif

/*
 * These run for every packet: two instructions a line, and as little around them as can be.
 * What is not a multiple of 16 lines comes first, by a jump into the midst of the loop.
 *
 * For a small frame that jump costs more than a loop by two lines. These are one granule of
 * a buffer that a device writes, which shares it with nothing; and to write one line too
 * many back does no harm.
 */
#define STEP(n, operation)                                                                         \
    __attribute__((fallthrough));                                                                  \
    case n:                                                                                        \
        operation(line);                                                                           \
        line += LINE
#define FOR_EACH_LINE_OF_FEW(operation)                                                            \
    uintptr_t line = (uintptr_t)memory & ~(uintptr_t)(2 * LINE - 1);                               \
    const uintptr_t end = (uintptr_t)memory + length;                                              \
    do {                                                                                           \
        operation(line);                                                                           \
        line += LINE;                                                                              \
        operation(line);                                                                           \
        line += LINE;                                                                              \
    } while (line < end);                                                                          \
    __asm__ volatile("dsb" ::: "memory")
#define FOR_EACH_LINE_OF_MANY(operation)                                                           \
    uintptr_t line = (uintptr_t)memory & ~(uintptr_t)(LINE - 1);                                   \
    intptr_t lines = (intptr_t)(((uintptr_t)memory + length - line + LINE - 1) / LINE);            \
    switch (lines & 15) {                                                                          \
        do {                                                                                       \
            operation(line);                                                                       \
            line += LINE;                                                                          \
            STEP(15, operation);                                                                   \
            STEP(14, operation);                                                                   \
            STEP(13, operation);                                                                   \
            STEP(12, operation);                                                                   \
            STEP(11, operation);                                                                   \
            STEP(10, operation);                                                                   \
            STEP(9, operation);                                                                    \
            STEP(8, operation);                                                                    \
            STEP(7, operation);                                                                    \
            STEP(6, operation);                                                                    \
            STEP(5, operation);                                                                    \
            STEP(4, operation);                                                                    \
            STEP(3, operation);                                                                    \
            STEP(2, operation);                                                                    \
            STEP(1, operation);                                                                    \
            __attribute__((fallthrough));                                                          \
        case 0:                                                                                    \
            lines -= 16;                                                                           \
        } while (lines >= 0);                                                                      \
    }                                                                                              \
    __asm__ volatile("dsb" ::: "memory")

PLUMB_INLINE void clean(const void *memory, size_t length) {
    if (length <= FEW) {
        FOR_EACH_LINE_OF_FEW(CLEAN);
    } else {
        FOR_EACH_LINE_OF_MANY(CLEAN);
    }
}

PLUMB_INLINE void invalidate(const void *memory, size_t length) {
    if (length <= FEW) {
        FOR_EACH_LINE_OF_FEW(INVALIDATE);
    } else {
        FOR_EACH_LINE_OF_MANY(INVALIDATE);
    }
}

static void sync_for_device(const struct plumb_dma *dma, void *memory, size_t length,
                            enum plumb_dma_direction direction) {
    (void)dma;
    if (direction == PLUMB_DMA_TO_DEVICE)
        clean(memory, length);
    else if (RX_CACHED)
        invalidate(memory, length);
}

static void sync_for_cpu(const struct plumb_dma *dma, void *memory, size_t length,
                         enum plumb_dma_direction direction) {
    (void)dma;
    if (direction == PLUMB_DMA_FROM_DEVICE && RX_CACHED)
        invalidate(memory, length);
}

static uintptr_t map(const struct plumb_dma *dma, void *memory, size_t length,
                     enum plumb_dma_direction direction) {
    (void)dma;
    if (direction == PLUMB_DMA_TO_DEVICE)
        clean(memory, length);
    else
        invalidate(memory, length);
    return (uintptr_t)memory;
}

static uintptr_t map_clean(const struct plumb_dma *dma, void *memory, size_t length) {
    (void)dma;
    (void)length;
    return (uintptr_t)memory;
}

const struct plumb_dma zynq_dma = {
    .map = map,
    .map_clean = map_clean,
    .sync_for_cpu = sync_for_cpu,
    .sync_for_device = sync_for_device,
};
