/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Drivers with one of their calls for cache maintenance gone wrong, to see whether
 * anything notices. Included in front of each of their sources, it knows each call by
 * its file and the lines it stands on; which one goes wrong, and how, mutant_wanted() says:
 *
 *     drivers/gem/rx.c:40-41:delete     not made at all
 *                      40-41:short      one line of the cache too short
 *                      40-41:direction  the other direction
 *                      40-41:late       made only when the device has looked
 *
 * On the host that is the variable PLUMB_MUTANT, on a board what its loader left in
 * memory. It needs no C library.
 */
#ifndef MUTANT_DMA_H
#define MUTANT_DMA_H

#include <plumb/dma.h>

enum mutant_operation {
    MUTANT_MAP,
    MUTANT_MAP_CLEAN,
    MUTANT_UNMAP,
    MUTANT_SYNC_FOR_CPU,
    MUTANT_SYNC_FOR_DEVICE
};

struct mutant_call {
    enum mutant_operation operation;
    const struct plumb_dma *dma;
    void *memory;
    size_t length;
    enum plumb_dma_direction direction;
};

/* Makes the call, rightly or wrongly; what a map returns is right in any case. */
uintptr_t mutant_dma(const char *file, unsigned line, struct mutant_call call);

/* For the program to have: which call is to go wrong, or null; and that it was reached,
 * told once. */
const char *mutant_wanted(void);
void mutant_reached(void);

/* Where the last call came from. */
extern const void *mutant_place;

/* Makes the calls that are late: the device has looked. */
void mutant_catch_up(void);

#define MUTANT_DMA(operation, dma, memory, length, direction)                                      \
    mutant_dma(__FILE__, __LINE__, (struct mutant_call){operation, dma, memory, length, direction})
#define plumb_dma_map(...)             MUTANT_DMA(MUTANT_MAP, __VA_ARGS__)
#define plumb_dma_map_clean(...)       MUTANT_DMA(MUTANT_MAP_CLEAN, __VA_ARGS__, PLUMB_DMA_TO_DEVICE)
#define plumb_dma_unmap(...)           ((void)MUTANT_DMA(MUTANT_UNMAP, __VA_ARGS__))
#define plumb_dma_sync_for_cpu(...)    ((void)MUTANT_DMA(MUTANT_SYNC_FOR_CPU, __VA_ARGS__))
#define plumb_dma_sync_for_device(...) ((void)MUTANT_DMA(MUTANT_SYNC_FOR_DEVICE, __VA_ARGS__))

#endif
