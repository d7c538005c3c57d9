/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Who may touch a DMA buffer, the processor or the device: one interface, and
 * an implementation per board.
 *
 * A buffer begins with the processor. map() hands it to the device and returns
 * the address that the device uses; unmap() ends that for good. In between,
 * sync_for_cpu() and sync_for_device() pass ownership back and forth. Ranges
 * may be any part of a mapped buffer; an implementation widens them to whole
 * cache lines, so a buffer that a device writes shares no line with anything.
 *
 * sync_for_cpu() of a part takes the whole buffer back from a device that writes:
 * in the rest of it the processor may write, but not read what it has not written.
 * A buffer that the processor did not write to may be the device's again without a
 * call; one that it wrote to may not. What a device reads may be mapped more than
 * once at a time, shares lines with what it likes, and is not changed meanwhile.
 *
 * A board whose DMA is coherent and whose bus addresses are its processor's
 * uses a null `const struct plumb_dma *`, and no call is made.
 */
#ifndef PLUMB_DMA_H
#define PLUMB_DMA_H

#include <stddef.h>
#include <stdint.h>

#include <plumb_config.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Alignment and size granule of every buffer that a device writes, in bytes: no
 * processor's cache line is longer. */
#define PLUMB_DMA_LINE CONFIG_PLUMB_DMA_LINE

#if CONFIG_PLUMB_DMA_LINE & (CONFIG_PLUMB_DMA_LINE - 1)
#error "PLUMB_DMA_LINE is no power of two"
#endif

/* A length rounded up to whole lines. */
#define PLUMB_DMA_WHOLE_LINES(bytes)                                                               \
    (((bytes) + PLUMB_DMA_LINE - 1) / PLUMB_DMA_LINE * PLUMB_DMA_LINE)

enum plumb_dma_direction {
    PLUMB_DMA_TO_DEVICE,   /* the device reads: dirty lines are written back first */
    PLUMB_DMA_FROM_DEVICE, /* the device writes: no dirty line may be left to overwrite it */
};

struct plumb_dma {
    uintptr_t (*map)(const struct plumb_dma *dma, void *memory, size_t length,
                     enum plumb_dma_direction direction);
    /* Or null, where nothing is to be done at the end of a mapping. */
    void (*unmap)(const struct plumb_dma *dma, void *memory, size_t length,
                  enum plumb_dma_direction direction);
    void (*sync_for_cpu)(const struct plumb_dma *dma, void *memory, size_t length,
                         enum plumb_dma_direction direction);
    void (*sync_for_device)(const struct plumb_dma *dma, void *memory, size_t length,
                            enum plumb_dma_direction direction);
    /* The same as map() to the device, of what no cache has anything newer than memory of:
     * nothing is written back. Or null: map() does it. */
    uintptr_t (*map_clean)(const struct plumb_dma *dma, void *memory, size_t length);
    void *context;
};

static inline uintptr_t plumb_dma_map(const struct plumb_dma *dma, void *memory, size_t length,
                                      enum plumb_dma_direction direction) {
    return dma ? dma->map(dma, memory, length, direction) : (uintptr_t)memory;
}

static inline uintptr_t plumb_dma_map_clean(const struct plumb_dma *dma, void *memory,
                                            size_t length) {
    if (dma && dma->map_clean)
        return dma->map_clean(dma, memory, length);
    return plumb_dma_map(dma, memory, length, PLUMB_DMA_TO_DEVICE);
}

static inline void plumb_dma_unmap(const struct plumb_dma *dma, void *memory, size_t length,
                                   enum plumb_dma_direction direction) {
    if (dma && dma->unmap)
        dma->unmap(dma, memory, length, direction);
}

static inline void plumb_dma_sync_for_cpu(const struct plumb_dma *dma, void *memory, size_t length,
                                          enum plumb_dma_direction direction) {
    if (dma)
        dma->sync_for_cpu(dma, memory, length, direction);
}

static inline void plumb_dma_sync_for_device(const struct plumb_dma *dma, void *memory,
                                             size_t length, enum plumb_dma_direction direction) {
    if (dma)
        dma->sync_for_device(dma, memory, length, direction);
}

/* Writes back to memory what a cache has of it: from then on, and until it is written to
 * again, it is clean. */
static inline void plumb_dma_clean(const struct plumb_dma *dma, const void *memory, size_t length) {
    void *bytes = (void *)(uintptr_t)memory;

    plumb_dma_map(dma, bytes, length, PLUMB_DMA_TO_DEVICE);
    plumb_dma_unmap(dma, bytes, length, PLUMB_DMA_TO_DEVICE);
}

#ifdef __cplusplus
}
#endif

#endif
