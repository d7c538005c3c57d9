/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A struct plumb_dma that finds out who touches what when he must not.
 *
 * The processor and the device have a view each of the same memory, and only cache
 * maintenance makes the two agree, by whole lines:
 *
 *     the processor's view   what programs load and store; a line that differs from
 *                            `clean` is dirty in the cache
 *     clean                  each line as it was when both agreed last
 *     the device's view      RAM; whoever plays the device works here, and a real one
 *                            is given its addresses
 *
 * Each line has an owner. What is mapped for the device to write is the device's,
 * whole mappings at a time: syncing a part for the processor takes all of it back,
 * and of the rest no byte may be read before it was written. While the device owns a
 * line, the processor's view of it is poison: what is read there is wrong, what is
 * written there is noticed, and under ASan either is an error at once. Lines that are
 * mapped for the device to read may be read by both, and are counted.
 *
 * At random moments, from a seed, dirty lines are written back and clean ones fetched
 * again, as caches do by themselves.
 *
 * It needs no C library. Errors go to `fail`, with the place that called.
 */
#ifndef SHADOW_DMA_H
#define SHADOW_DMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <plumb/dma.h>

enum {
    SHADOW_DMA_SHORTEST = 16, /* line, in bytes; a power of two */
    SHADOW_DMA_LONGEST = 128,
    SHADOW_DMA_RECENT = 32, /* ranges that chance falls upon */
    SHADOW_DMA_POISON = 0xDB,
};

/* The three views, of the same size and each aligned to the longest line, and what is
 * known of each line, of which there are size / SHADOW_DMA_SHORTEST at most. */
struct shadow_dma_memory {
    uint8_t *cpu, *device, *clean;
    uint8_t *state, *readers;
    size_t size;
    uintptr_t bus; /* the device's address of its view */
};

struct shadow_dma_range {
    size_t first, end; /* lines */
};

struct shadow_dma {
    struct plumb_dma dma; /* to be handed to pools and drivers */
    struct shadow_dma_memory memory;
    size_t line;
    uint64_t random;
    bool coherent; /* no caches: one view, and nothing to be told */
    bool exact;    /* the device's side tells all it does: a line is never synced needlessly */
    void (*look)(void *context); /* before each call: tells what the device owns by now; or null */
    void (*fail)(void *context, const char *what, const void *address, const void *place);
    void *context;
    struct shadow_dma_range recent[SHADOW_DMA_RECENT];
    unsigned recent_count;
    size_t reading; /* lines mapped for the device to read, each as often as it is */
    uint32_t written_back, fetched; /* lines, by chance */
};

/* All of the memory is the processor's. The caller has set look, fail and context, or
 * does so now. */
void shadow_dma_create(struct shadow_dma *shadow, const struct shadow_dma_memory *memory,
                       size_t line, uint64_t seed);

/* Something that a cache may do at any time: a few lines. */
void shadow_dma_disturb(struct shadow_dma *shadow);

/* Nothing is left mapped for reading. */
void shadow_dma_expect_idle(struct shadow_dma *shadow);

/* The device's address of something, mapped or not. */
uintptr_t shadow_dma_bus(const struct shadow_dma *shadow, const void *memory);

/* ---- for whoever plays the device, or can see what a real one was given ---- */

/* From now on, at the latest, the device may write here. */
void shadow_dma_give(struct shadow_dma *shadow, uintptr_t bus, size_t length);

/* The device is about to write here; returns where. */
uint8_t *shadow_dma_write(struct shadow_dma *shadow, uintptr_t bus, size_t length);

/* The device may read here; returns where. */
const uint8_t *shadow_dma_read(struct shadow_dma *shadow, uintptr_t bus, size_t length);

#endif
