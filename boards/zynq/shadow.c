/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * For tests, in place of dma.c: memory for the device that is not the processor's, and
 * a check who touches what when (tests/shared/shadow_dma.h). All of the firmware's RAM
 * has its shadow, so that what an application lends has one too.
 *
 *   0x00200000   the firmware, 14 MB: the processor's view
 *   0x02000000   the device's: where descriptors point
 *   0x03000000   the lines as they were when both agreed
 *   0x04000000   their states
 *
 * Whoever loads the firmware may leave at 0x00100800: magic 0x53484457, the length of a
 * line, a seed, and the name of a call that is to go wrong (mutant_dma.h). An error ends
 * the run like a fault, whose kind is shadow_dma; its pc is behind the driver's call that
 * found it.
 */
#include "mutant_dma.h"
#include "shadow_dma.h"
#include "zynq.h"

enum {
    MAGIC = 0x53484457,
    DEFAULT_LINE = 32,
    DEFAULT_SEED = 1,
    NAME = 64,
    FIRMWARE = 0x00200000,
    SIZE = 14 << 20,
    DEVICE_VIEW = 0x02000000,
    CLEAN_VIEW = 0x03000000,
    STATES = 0x04000000,
    SETTINGS = 0x00100800,
    GEM_RECEIVES = 1 << 2, /* in its control register, the first */
    RX_USED = 1,
    LOOKED_AT = 16, /* descriptors each time */
    LONGEST_SENT = 1600,
};

struct settings {
    uint32_t magic, line, seed;
    char mutant[NAME];
};

static struct shadow_dma shadow;
static struct settings settings = {.line = DEFAULT_LINE, .seed = DEFAULT_SEED};

const char *mutant_wanted(void) {
    return settings.mutant[0] ? settings.mutant : NULL;
}

void mutant_reached(void) {
    board_print("mutant: reached\n");
}

const struct plumb_dma *shadow_dma(void) {
    return &shadow.dma;
}

static void fail(void *context, const char *what, const void *address, const void *place) {
    static bool failing;

    (void)context;
    (void)place;
    if (failing)
        return;
    failing = true;
    board_print("plumb: shadow DMA: this line %s\n", what);
    board_print("fault: kind=shadow_dma address=0x%08x pc=0x%08x\n", (unsigned)(uintptr_t)address,
                (unsigned)(uintptr_t)mutant_place);
    board_exit(1);
}

/* Some of the receive ring, the next each time: what is not marked used is the device's,
 * which may mark it meanwhile. And no more is mapped than the transmit ring stands for. */
static void look(void *context) {
    static uint32_t at;
    const struct plumb_gem *gem = context;
    const struct plumb_gem_ring *ring = &gem->config.rx;

    if (!(zynq_read(ZYNQ_GEM0) & GEM_RECEIVES))
        return;
    for (unsigned i = 0; i < LOOKED_AT; i++) {
        uint32_t address = ring->descriptors[at].address;
        if (!(address & RX_USED))
            shadow_dma_give(&shadow, address & ~3U, gem->config.rx_buffer);
        at = (at + 1) % ring->count;
    }
    if (shadow.reading > gem->config.tx.count * (LONGEST_SENT / shadow.line + 2))
        fail(NULL, "is mapped, but no descriptor stands for it", NULL, NULL);
    mutant_catch_up();
}

static void read_settings(void) {
    const volatile struct settings *left = (const volatile void *)SETTINGS;

    if (left->magic != MAGIC)
        return;
    settings.line = left->line;
    settings.seed = left->seed;
    for (unsigned i = 0; i < NAME - 1; i++)
        settings.mutant[i] = left->mutant[i];
}

void shadow_start(const struct plumb_gem *gem) {
    const struct shadow_dma_memory memory = {
        .cpu = (void *)FIRMWARE,
        .device = (void *)DEVICE_VIEW,
        .clean = (void *)CLEAN_VIEW,
        .state = (void *)STATES,
        .readers = (uint8_t *)STATES + SIZE / SHADOW_DMA_SHORTEST,
        .size = SIZE,
        .bus = DEVICE_VIEW,
    };

    read_settings();
    shadow.look = look;
    shadow.fail = fail;
    shadow.context = (void *)(uintptr_t)gem;
    shadow_dma_create(&shadow, &memory, settings.line, settings.seed);
    board_print("plumb: shadow DMA line=%u seed=%u\n", settings.line, settings.seed);
}
