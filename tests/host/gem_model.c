/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The model of a Cadence GEM: see gem_model.h. */
#include "gem_model.h"

#include <sanitizer/common_interface_defs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gem_port.h"
#include "internal.h"
#include "mutant_dma.h"

#define ARENA_BUS 0x40000000U
/* Where a descriptor says nothing of a length: one that would do for a small frame. */
#define NO_LENGTH 60U

_Alignas(4096) uint8_t model_arena[MODEL_ARENA];
struct gem_model model;

static _Alignas(SHADOW_DMA_LONGEST) uint8_t device_view[MODEL_ARENA], clean_view[MODEL_ARENA];
static uint8_t line_state[MODEL_ARENA / SHADOW_DMA_SHORTEST];
static uint8_t line_readers[MODEL_ARENA / SHADOW_DMA_SHORTEST];

/* ---- registers ---- */

static uint32_t *reg(unsigned offset) {
    return &model.registers[offset / 4];
}

static unsigned buffer_size(void) {
    return (*reg(DMACR) >> 16 & 0xFF) * 64;
}

/* What the device may write of a buffer. The overrun of QEMU's quirk lies in the next
 * one's padding otherwise, whoever owns that. */
static unsigned given_size(void) {
    return buffer_size() + (model.pad_every && model.room_behind ? *reg(NWCFG) >> 14 & 3 : 0);
}

static void look_at_rx(void) {
    unsigned size = given_size();

    for (const struct plumb_gem_descriptor *d = model.rx;; d++) {
        if (!(d->address & RX_USED))
            shadow_dma_give(&model.shadow, d->address & ~3U, size);
        if (d->address & RX_WRAP)
            return;
    }
}

static unsigned after(unsigned index) {
    return model.tx[index].control & TX_WRAP ? 0 : index + 1;
}

static void look_at_tx(void) {
    unsigned index = model.tx_at;

    do {
        uint32_t control = model.tx[index].control;
        if (control & TX_USED)
            return;
        shadow_dma_read(&model.shadow, model.tx[index].address, control & TX_LENGTH);
        index = after(index);
    } while (index != model.tx_at);
}

void model_look(void) {
    uint32_t control = *reg(NWCTRL);

    if (control & NWCTRL_RX)
        look_at_rx();
    if (control & NWCTRL_TX)
        look_at_tx();
    if (control & (NWCTRL_RX | NWCTRL_TX))
        mutant_catch_up();
}

static void raise_interrupt(uint32_t bit) {
    if (*reg(IER) & bit) {
        *reg(ISR) |= bit;
        model.interrupts++;
    }
}

static void meet_used_descriptor(void) {
    *reg(RXSR) |= RXSR_NO_BUFFER;
    model.stuck = true;
    raise_interrupt(INTERRUPT_RX_USED);
}

static void write_control(uint32_t value) {
    bool was_on = *reg(NWCTRL) & NWCTRL_RX, on = value & NWCTRL_RX;

    *reg(NWCTRL) = value & ~NWCTRL_TX_START;
    if (was_on && !on) {
        model.stuck = false;
        if (model.forget_place)
            model.rx_at = 0;
    }
    if (on && !model.stuck_until_off)
        model.stuck = false;
    if (!(value & NWCTRL_TX))
        model.tx_at = 0;
    if ((value & NWCTRL_TX_START) && !model.send_later)
        model_send();
}

static void manage(uint32_t value) {
    unsigned number = value >> 18 & 31;

    expect_equal(value >> 28, 6); /* clause 22, read */
    if ((value >> 23 & 31) != MODEL_PHY)
        *reg(PHYMNTNC) = value | 0xFFFF;
    else if (number == 1)
        *reg(PHYMNTNC) = model.no_link ? 0x7949 : 0x796D;
    else
        *reg(PHYMNTNC) = model.phy[number];
}

uint32_t gem_port_read(uintptr_t address) {
    unsigned offset = (unsigned)(address - MODEL_BASE);
    uint32_t value = *reg(offset);

    model_look();
    if (offset == ISR || (offset >= 0x100 && offset < 0x1B4 && !model.statistics_stay))
        *reg(offset) = 0;
    return offset == NWSR ? NWSR_MANAGEMENT_IDLE : value;
}

void gem_port_write(uintptr_t address, uint32_t value) {
    unsigned offset = (unsigned)(address - MODEL_BASE);

    model_look();
    switch (offset) {
    case NWCTRL:
        write_control(value);
        break;
    case TXSR:
    case RXSR:
    case ISR:
        *reg(offset) &= ~value;
        break;
    case IER:
        *reg(IER) |= value;
        break;
    case IDR:
        *reg(IER) &= ~value;
        break;
    case PHYMNTNC:
        manage(value);
        break;
    case RXQBASE:
        expect_equal(value, MODEL_RX_RING);
        expect(!(*reg(NWCTRL) & NWCTRL_RX));
        model.rx_at = 0;
        break;
    case TXQBASE:
        expect_equal(value, MODEL_TX_RING);
        expect(!(*reg(NWCTRL) & NWCTRL_TX));
        model.tx_at = 0;
        break;
    default:
        *reg(offset) = value;
    }
}

/* ---- reception ---- */

static struct plumb_gem_descriptor *free_descriptor(void) {
    struct plumb_gem_descriptor *descriptor = &model.rx[model.rx_at];

    if (!(*reg(NWCTRL) & NWCTRL_RX) || model.stuck)
        return NULL;
    if (descriptor->address & RX_USED) {
        meet_used_descriptor();
        return NULL;
    }
    return descriptor;
}

static void finish_descriptor(struct plumb_gem_descriptor *descriptor, uint32_t control) {
    descriptor->control = control;
    model.rx_at = descriptor->address & RX_WRAP ? 0 : model.rx_at + 1;
    descriptor->address |= RX_USED;
}

bool model_write_descriptor(uint32_t control) {
    struct plumb_gem_descriptor *descriptor = free_descriptor();

    if (!descriptor)
        return false;
    shadow_dma_give(&model.shadow, descriptor->address & ~3U, 64);
    finish_descriptor(descriptor, control);
    raise_interrupt(INTERRUPT_RX_DONE);
    return true;
}

/* A part of a frame, `skip` bytes into a buffer. */
static void write_buffer(const struct plumb_gem_descriptor *descriptor, unsigned skip,
                         const uint8_t *bytes, unsigned length) {
    unsigned end = skip + length, size = given_size();
    uint8_t *buffer =
        shadow_dma_write(&model.shadow, descriptor->address & ~3U, end < size ? end : size);

    memcpy(buffer + skip, bytes, length);
}

bool model_receive(const uint8_t *frame, unsigned length) {
    unsigned size = buffer_size(), done = 0;
    unsigned pad = model.no_pad ? 0 : *reg(NWCFG) >> 14 & 3;

    while (done < length) {
        struct plumb_gem_descriptor *descriptor = free_descriptor();
        if (!descriptor)
            return false;
        unsigned skip = done == 0 || model.pad_every ? pad : 0;
        unsigned room = model.pad_every ? size : size - skip;
        unsigned part = length - done < room ? length - done : room;
        write_buffer(descriptor, skip, frame + done, part);
        uint32_t control = done == 0 ? RX_START : 0;
        done += part;
        /* Only with the end is it a length. */
        control |= done == length ? RX_END | length : NO_LENGTH;
        finish_descriptor(descriptor, control);
    }
    ++*reg(RX_FRAMES);
    raise_interrupt(INTERRUPT_RX_DONE);
    return true;
}

/* ---- transmission ---- */

/* Gathers the frame at the ring's head; returns the index behind it. */
static unsigned gather(uint8_t *frame, unsigned *length) {
    unsigned index = model.tx_at;

    *length = 0;
    for (;;) {
        uint32_t control = model.tx[index].control;
        unsigned part = control & TX_LENGTH;
        expect(!(control & TX_USED));
        expect(part);
        expect(*length + part <= 2048);
        memcpy(frame + *length, shadow_dma_read(&model.shadow, model.tx[index].address, part),
               part);
        *length += part;
        index = after(index);
        if (control & TX_LAST)
            return index;
    }
}

void model_send(void) {
    uint8_t frame[2048];
    unsigned length;

    while ((*reg(NWCTRL) & NWCTRL_TX) && !(model.tx[model.tx_at].control & TX_USED)) {
        unsigned next = gather(frame, &length);
        if (model.fail_status) {
            *reg(TXSR) |= model.fail_status;
            model.fail_status = 0;
            if (model.fail_marked)
                model.tx[model.tx_at].control |= TX_USED;
            *reg(NWCTRL) &= ~NWCTRL_TX;
            return;
        }
        model.tx[model.tx_at].control |= TX_USED;
        model.tx_at = next;
        *reg(TXSR) |= 1U << 5;
        raise_interrupt(INTERRUPT_TX_DONE);
        if (*reg(NWCTRL) & NWCTRL_LOOPBACK) {
            if (!model.deaf)
                model_receive(frame, length);
            continue;
        }
        memcpy(model.sent[model.sent_count % MODEL_SENT], frame, length);
        model.sent_length[model.sent_count++ % MODEL_SENT] = (uint16_t)length;
    }
}

const char *mutant_wanted(void) {
    return getenv("PLUMB_MUTANT");
}

void mutant_reached(void) {
    fprintf(stderr, "mutant: reached\n");
}

static void look(void *context) {
    (void)context;
    model_look();
}

void __sanitizer_print_stack_trace(void) __attribute__((weak));

static void fail_at(void *context, const char *what, const void *address, const void *place) {
    (void)context;
    (void)place;
    if (__sanitizer_print_stack_trace) /* none where branches are counted */
        __sanitizer_print_stack_trace();
    fail_msg("the line %u bytes into the arena %s",
             (unsigned)((const uint8_t *)address - model_arena), what);
}

void model_reset(struct plumb_gem_descriptor *rx, struct plumb_gem_descriptor *tx) {
    model_reset_caches(rx, tx, MODEL_LINE, 1);
}

void model_reset_caches(struct plumb_gem_descriptor *rx, struct plumb_gem_descriptor *tx,
                        size_t line, uint64_t seed) {
    const struct shadow_dma_memory memory = {.cpu = model_arena,
                                             .device = device_view,
                                             .clean = clean_view,
                                             .state = line_state,
                                             .readers = line_readers,
                                             .size = MODEL_ARENA,
                                             .bus = ARENA_BUS};

    memset(&model, 0, sizeof model);
    shadow_dma_create(&model.shadow, &memory, line, seed);
    model.shadow.exact = true;
    model.shadow.look = look;
    model.shadow.fail = fail_at;
    for (unsigned i = 0; i < MODEL_ARENA; i++)
        model_arena[i] = device_view[i] = (uint8_t)(i * 7 + 3);
    memset(model_arena, 0xA5, MODEL_ARENA / 2); /* dirty from the start */
    model.rx = rx;
    model.tx = tx;
    *reg(MODULE_ID) = 0x00020118;
    *reg(DESIGN_CFG1) = 1U << 25;
    *reg(DESIGN_CFG2) = CFG2_TX_PACKET_BUFFER;
    model.phy[2] = 0x0141;
    model.phy[4] = model.phy[5] = 0x01E1;
    model.phy[9] = 1 << 9;
    model.phy[10] = 1 << 11;
}
