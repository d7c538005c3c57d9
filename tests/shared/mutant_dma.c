/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Calls for cache maintenance gone wrong: see mutant_dma.h. */
#include "mutant_dma.h"

#include <stdbool.h>

#include "shadow_dma.h"

#undef plumb_dma_map
#undef plumb_dma_map_clean
#undef plumb_dma_unmap
#undef plumb_dma_sync_for_cpu
#undef plumb_dma_sync_for_device

enum { LATE_MOST = 256 };

const void *mutant_place;
static struct mutant_call late[LATE_MOST];
static unsigned late_count;
static bool reached;

static uintptr_t make(const struct mutant_call *call) {
    switch (call->operation) {
    case MUTANT_MAP:
        return plumb_dma_map(call->dma, call->memory, call->length, call->direction);
    case MUTANT_MAP_CLEAN:
        return call->direction == PLUMB_DMA_TO_DEVICE
                   ? plumb_dma_map_clean(call->dma, call->memory, call->length)
                   : plumb_dma_map(call->dma, call->memory, call->length, call->direction);
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

static size_t length_of(const char *text) {
    size_t length = 0;

    while (text[length])
        length++;
    return length;
}

static bool begins_with(const char *text, const char *with) {
    while (*with)
        if (*text++ != *with++)
            return false;
    return true;
}

static unsigned read_number(const char **text) {
    unsigned number = 0;

    while (**text >= '0' && **text <= '9')
        number = number * 10 + (unsigned)(*(*text)++ - '0');
    return number;
}

/* Past a range of lines; null when this one is not in it. */
static const char *skip_range(const char *text, unsigned line) {
    unsigned first = read_number(&text);

    if (*text++ != '-' || line < first || line > read_number(&text) || *text++ != ':')
        return NULL;
    return text;
}

/* How this call is to go wrong; null: it is not. */
static const char *wrong_how(const char *file, unsigned line) {
    const char *wanted = mutant_wanted(), *colon = wanted;

    while (colon && *colon && *colon != ':')
        colon++;
    if (!colon || !*colon)
        return NULL;
    size_t named = (size_t)(colon - wanted), length = length_of(file);
    for (size_t i = 0; i < named; i++)
        if (length < named || file[length - named + i] != wanted[i])
            return NULL;
    return skip_range(colon + 1, line);
}

static void make_wrongly(struct mutant_call call, const char *how) {
    const struct shadow_dma *shadow = call.dma->context;

    if (!reached)
        mutant_reached();
    reached = true;
    if (begins_with(how, "short")) {
        call.length = call.length > shadow->line ? call.length - shadow->line : 0;
        if (call.length)
            make(&call);
    } else if (begins_with(how, "direction")) {
        call.direction =
            call.direction == PLUMB_DMA_TO_DEVICE ? PLUMB_DMA_FROM_DEVICE : PLUMB_DMA_TO_DEVICE;
        make(&call);
    } else if (begins_with(how, "late")) {
        if (late_count < LATE_MOST)
            late[late_count++] = call;
    }
}

uintptr_t mutant_dma(const char *file, unsigned line, struct mutant_call call) {
    const char *how = wrong_how(file, line);

    mutant_place = __builtin_return_address(0);
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
