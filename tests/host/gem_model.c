/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The model of a Cadence GEM: see gem_model.h. */
#include "gem_model.h"

#include <string.h>

#include "gem_port.h"
#include "internal.h"

#define ARENA_BUS 0x40000000U

_Alignas(4096) uint8_t model_arena[MODEL_ARENA];
struct gem_model model;

/* ---- memory ---- */

static uint32_t random_number(void) {
    model.seed = model.seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(model.seed >> 33);
}

static void write_back(unsigned line) {
    if (memcmp(model_arena + line, model.clean + line, MODEL_LINE) != 0) {
        memcpy(model.device + line, model_arena + line, MODEL_LINE);
        memcpy(model.clean + line, model_arena + line, MODEL_LINE);
    }
}

static void throw_away(unsigned line) {
    memcpy(model_arena + line, model.device + line, MODEL_LINE);
    memcpy(model.clean + line, model.device + line, MODEL_LINE);
}

/* A few lines, and now and then all. */
void model_evict(void) {
    if (random_number() % 8 == 0)
        for (unsigned line = 0; line < MODEL_ARENA; line += MODEL_LINE)
            write_back(line);
    for (unsigned i = random_number() % 64; i--;)
        write_back(random_number() % (MODEL_ARENA / MODEL_LINE) * MODEL_LINE);
}

static void each_line(const void *memory, size_t length, void (*operation)(unsigned line)) {
    size_t from = (size_t)((const uint8_t *)memory - model_arena), to = from + length;
    expect(to <= MODEL_ARENA);
    for (size_t line = from / MODEL_LINE * MODEL_LINE; line < to; line += MODEL_LINE)
        operation((unsigned)line);
}

static void sync_for_device(const struct plumb_dma *dma, void *memory, size_t length,
                            enum plumb_dma_direction direction) {
    (void)dma;
    model_evict();
    each_line(memory, length, direction == PLUMB_DMA_TO_DEVICE ? write_back : throw_away);
}

static void sync_for_cpu(const struct plumb_dma *dma, void *memory, size_t length,
                         enum plumb_dma_direction direction) {
    (void)dma;
    if (direction == PLUMB_DMA_FROM_DEVICE)
        each_line(memory, length, throw_away);
}

static uintptr_t map(const struct plumb_dma *dma, void *memory, size_t length,
                     enum plumb_dma_direction direction) {
    sync_for_device(dma, memory, length, direction);
    return ARENA_BUS + (uintptr_t)((uint8_t *)memory - model_arena);
}

static void unmap(const struct plumb_dma *dma, void *memory, size_t length,
                  enum plumb_dma_direction direction) {
    (void)dma;
    (void)direction;
    expect((uint8_t *)memory >= model_arena && length && length <= 2048);
}

static uint8_t *at_bus(uint32_t address, unsigned length) {
    expect(address >= ARENA_BUS && address - ARENA_BUS + length <= MODEL_ARENA);
    return model.device + (address - ARENA_BUS);
}

/* ---- registers ---- */

static uint32_t *reg(unsigned offset) {
    return &model.registers[offset / 4];
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

    model_evict();
    if (offset == ISR || (offset >= 0x100 && offset < 0x1B4 && !model.statistics_stay))
        *reg(offset) = 0;
    return offset == NWSR ? NWSR_MANAGEMENT_IDLE : value;
}

void gem_port_write(uintptr_t address, uint32_t value) {
    unsigned offset = (unsigned)(address - MODEL_BASE);

    model_evict();
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
    finish_descriptor(descriptor, control);
    raise_interrupt(INTERRUPT_RX_DONE);
    return true;
}

bool model_receive(const uint8_t *frame, unsigned length) {
    unsigned size = (*reg(DMACR) >> 16 & 0xFF) * 64, done = 0;
    unsigned pad = model.no_pad ? 0 : *reg(NWCFG) >> 14 & 3;

    while (done < length) {
        struct plumb_gem_descriptor *descriptor = free_descriptor();
        if (!descriptor)
            return false;
        unsigned skip = done == 0 || model.pad_every ? pad : 0;
        unsigned room = model.pad_every ? size : size - skip;
        unsigned part = length - done < room ? length - done : room;
        memcpy(at_bus(descriptor->address & ~3U, skip + part) + skip, frame + done, part);
        uint32_t control = done == 0 ? RX_START : 0;
        done += part;
        if (done == length)
            control |= RX_END | length;
        finish_descriptor(descriptor, control);
    }
    model_evict();
    ++*reg(RX_FRAMES);
    raise_interrupt(INTERRUPT_RX_DONE);
    return true;
}

/* ---- transmission ---- */

static unsigned after(unsigned index) {
    return model.tx[index].control & TX_WRAP ? 0 : index + 1;
}

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
        memcpy(frame + *length, at_bus(model.tx[index].address, part), part);
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

void model_reset(struct plumb_gem_descriptor *rx, struct plumb_gem_descriptor *tx) {
    memset(&model, 0, sizeof model);
    for (unsigned i = 0; i < MODEL_ARENA; i++)
        model_arena[i] = model.device[i] = (uint8_t)(i * 7 + 3);
    memset(model_arena, 0xA5, MODEL_ARENA / 2); /* dirty from the start */
    model.rx = rx;
    model.tx = tx;
    model.seed = 1;
    *reg(MODULE_ID) = 0x00020118;
    *reg(DESIGN_CFG1) = 1U << 25;
    *reg(DESIGN_CFG2) = CFG2_TX_PACKET_BUFFER;
    model.phy[2] = 0x0141;
    model.phy[4] = model.phy[5] = 0x01E1;
    model.phy[9] = 1 << 9;
    model.phy[10] = 1 << 11;
    model.dma = (struct plumb_dma){map, unmap, sync_for_cpu, sync_for_device, NULL};
}
