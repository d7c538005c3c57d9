/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Calls for cache maintenance gone wrong: see mutant_dma.h. */
#include "mutant_dma.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shadow_dma.h"

#undef plumb_dma_map
#undef plumb_dma_unmap
#undef plumb_dma_sync_for_cpu
#undef plumb_dma_sync_for_device

enum { LATE_MOST = 256 };

static struct mutant_call late[LATE_MOST];
static unsigned late_count;
static bool reached;

static uintptr_t make(const struct mutant_call *call) {
    switch (call->operation) {
    case MUTANT_MAP:
        return plumb_dma_map(call->dma, call->memory, call->length, call->direction);
    case MUTANT_UNMAP:
        plumb_dma_unmap(call->dma, call->memory, call->length, call->direction);
        break;
    case MUTANT_SYNC_FOR_CPU:
        plumb_dma_sync_for_cpu(call->dma, call->memory, call->length, call->direction);
        break;
    case MUTANT_SYNC_FOR_DEVICE:
        plumb_dma_sync_for_device(call->dma, call->memory, call->length, call->direction);
        break;
    }
    return 0;
}

/* How this call is to go wrong; null: it is not. */
static const char *wrong_how(const char *file, unsigned number) {
    const char *wanted = getenv("PLUMB_MUTANT");
    char call[256];

    if (!wanted)
        return NULL;
    const char *how = strrchr(wanted, ':');
    if (!how)
        return NULL;
    int length = snprintf(call, sizeof call, "%s:%u", file, number);
    size_t named = (size_t)(how - wanted);
    if (length < 0 || (size_t)length < named || strncmp(call + length - named, wanted, named) != 0)
        return NULL;
    return how + 1;
}

static void make_wrongly(struct mutant_call call, const char *how) {
    const struct shadow_dma *shadow = call.dma->context;

    if (!reached)
        fprintf(stderr, "mutant: reached\n");
    reached = true;
    if (strcmp(how, "short") == 0) {
        call.length = call.length > shadow->line ? call.length - shadow->line : 0;
        if (call.length)
            make(&call);
    } else if (strcmp(how, "direction") == 0) {
        call.direction =
            call.direction == PLUMB_DMA_TO_DEVICE ? PLUMB_DMA_FROM_DEVICE : PLUMB_DMA_TO_DEVICE;
        make(&call);
    } else if (strcmp(how, "late") == 0) {
        if (late_count < LATE_MOST)
            late[late_count++] = call;
    } else if (strcmp(how, "delete") != 0) {
        fprintf(stderr, "mutant: no way to go wrong is called %s\n", how);
        exit(2);
    }
}

uintptr_t mutant_dma(const char *file, unsigned number, struct mutant_call call) {
    const char *how = wrong_how(file, number);

    if (!how || !call.dma)
        return make(&call);
    make_wrongly(call, how);
    return shadow_dma_bus(call.dma->context, call.memory);
}

void mutant_catch_up(void) {
    static bool busy; /* a call has the device look, too */

    if (busy)
        return;
    busy = true;
    for (unsigned i = 0; i < late_count; i++)
        make(&late[i]);
    late_count = 0;
    busy = false;
}
