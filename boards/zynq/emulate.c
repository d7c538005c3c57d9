/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Misaligned loads and stores, instruction by instruction, as the ARM architecture
 * manual's section on their encodings has them. By halfwords at even addresses, by bytes
 * at odd ones; nothing here misaligns. Little endian.
 *
 * What is decided before anything changes: whether it is emulated at all.
 */
#include "emulate.h"

enum {
    PRE = 1 << 24,
    UP = 1 << 23,
    BYTE = 1 << 22,           /* of LDR and STR */
    USER_BANK = 1 << 22,      /* of LDM and STM */
    HALF_IMMEDIATE = 1 << 22, /* of LDRH and the like */
    WRITE_BACK = 1 << 21,
    LOAD = 1 << 20,
    REGISTER_OFFSET = 1 << 25, /* of LDR and STR */
    NOT_SINGLE = 1 << 4,       /* with that: media instructions */
};

typedef uint16_t __attribute__((may_alias)) halfword;

/* Where it goes, and what the base register becomes. */
struct place {
    uint32_t address, base;
};

static uint8_t *byte_at(uint32_t address) {
    return (uint8_t *)(uintptr_t)address;
}

static halfword *half_at(uint32_t address) {
    return (halfword *)(uintptr_t)address;
}

static inline uint32_t load16(uint32_t address) {
    if (address & 1)
        return *byte_at(address) | (uint32_t)*byte_at(address + 1) << 8;
    return *half_at(address);
}

static inline void store16(uint32_t address, uint32_t value) {
    if (address & 1) {
        *byte_at(address) = (uint8_t)value;
        *byte_at(address + 1) = (uint8_t)(value >> 8);
    } else {
        *half_at(address) = (uint16_t)value;
    }
}

static inline uint32_t load32(uint32_t address) {
    if (address & 1)
        return *byte_at(address) | load16(address + 1) << 8 | (uint32_t)*byte_at(address + 3) << 24;
    return *half_at(address) | (uint32_t)*half_at(address + 2) << 16;
}

static inline void store32(uint32_t address, uint32_t value) {
    store16(address, value);
    store16(address + 2, value >> 16);
}

static unsigned field(uint32_t instruction, unsigned from) {
    return instruction >> from & 15U;
}

/* A register that a load may change: the handler does not give back sp, and pc is a jump. */
static bool is_target(unsigned number) {
    return number != EMULATE_SP && number != EMULATE_PC;
}

static bool writes_back(uint32_t instruction) {
    return !(instruction & PRE) || (instruction & WRITE_BACK);
}

/* Base and offset register by the rules that all but LDM and STM share. Of `count`
 * registers from `first` on, none may be the base if that changes. */
static bool place_fits(uint32_t instruction, unsigned first, unsigned count) {
    unsigned base = field(instruction, 16);

    if (base == EMULATE_PC || (!(instruction & PRE) && (instruction & WRITE_BACK)))
        return false;
    return !writes_back(instruction) || (is_target(base) && base - first >= count);
}

static struct place place_of(const uint32_t r[EMULATE_REGISTERS], uint32_t instruction,
                             uint32_t offset) {
    uint32_t base = r[field(instruction, 16)];
    uint32_t moved = instruction & UP ? base + offset : base - offset;

    return (struct place){instruction & PRE ? moved : base, moved};
}

static void settle_base(uint32_t r[EMULATE_REGISTERS], uint32_t instruction, struct place place) {
    if (writes_back(instruction))
        r[field(instruction, 16)] = place.base;
}

/* ---- LDR, STR ---- */

/* A shifted register; RRX, which takes the carry in, has been refused. */
static uint32_t shifted(uint32_t value, uint32_t instruction) {
    unsigned amount = instruction >> 7 & 31;

    switch (instruction >> 5 & 3) {
    case 0:
        return value << amount;
    case 1:
        return amount ? value >> amount : 0;
    case 2:
        return (uint32_t)((int32_t)value >> (amount ? amount : 31));
    default:
        return value >> amount | value << (32 - amount);
    }
}

static bool offset_fits(uint32_t instruction) {
    bool is_rrx = (instruction & 0xFE0) == 0x060;

    return !(instruction & REGISTER_OFFSET) ||
           (!(instruction & NOT_SINGLE) && !is_rrx && field(instruction, 0) != EMULATE_PC);
}

static bool word(uint32_t r[EMULATE_REGISTERS], uint32_t instruction) {
    unsigned target = field(instruction, 12);

    if ((instruction & BYTE) || !is_target(target) || !offset_fits(instruction) ||
        !place_fits(instruction, target, 1))
        return false;
    uint32_t offset = instruction & REGISTER_OFFSET ? shifted(r[field(instruction, 0)], instruction)
                                                    : instruction & 0xFFF;
    struct place place = place_of(r, instruction, offset);
    if (instruction & LOAD)
        r[target] = load32(place.address);
    else
        store32(place.address, r[target]);
    settle_base(r, instruction, place);
    return true;
}

/* ---- LDRH, LDRSH, STRH, LDRD, STRD ---- */

enum half_kind { STRH = 1, LDRD = 2, STRD = 3, LDRH = 5, LDRSB = 6, LDRSH = 7 };

static enum half_kind half_kind(uint32_t instruction) {
    return (enum half_kind)((instruction >> 5 & 3) | (instruction & LOAD ? 4 : 0));
}

static bool half_fits(uint32_t instruction, unsigned target, bool is_double) {
    unsigned count = is_double ? 2 : 1;

    if (is_double && ((target & 1) || !is_target(target + 1)))
        return false;
    if (!(instruction & HALF_IMMEDIATE) &&
        (field(instruction, 0) == EMULATE_PC || field(instruction, 8)))
        return false;
    return is_target(target) && place_fits(instruction, target, count);
}

static void move_double(uint32_t r[EMULATE_REGISTERS], unsigned target, uint32_t address,
                        bool is_load) {
    for (unsigned i = 0; i < 2; i++)
        if (is_load)
            r[target + i] = load32(address + 4 * i);
        else
            store32(address + 4 * i, r[target + i]);
}

static bool half_or_double(uint32_t r[EMULATE_REGISTERS], uint32_t instruction) {
    enum half_kind kind = half_kind(instruction);
    unsigned target = field(instruction, 12);
    bool is_double = kind == LDRD || kind == STRD;

    if (kind == 0 || kind == 4 || kind == LDRSB || !half_fits(instruction, target, is_double))
        return false;
    uint32_t offset = instruction & HALF_IMMEDIATE
                          ? field(instruction, 8) << 4 | field(instruction, 0)
                          : r[field(instruction, 0)];
    struct place place = place_of(r, instruction, offset);
    if (is_double)
        move_double(r, target, place.address, kind == LDRD);
    else if (kind == STRH)
        store16(place.address, r[target]);
    else if (kind == LDRH)
        r[target] = load16(place.address);
    else
        r[target] = (uint32_t)(int16_t)load16(place.address);
    settle_base(r, instruction, place);
    return true;
}

/* ---- LDM, STM ---- */

static bool several_fit(uint32_t instruction, uint32_t list) {
    unsigned base = field(instruction, 16);

    if ((instruction & USER_BANK) || !list || base == EMULATE_PC || (list >> EMULATE_PC & 1))
        return false;
    if ((instruction & LOAD) && (list >> EMULATE_SP & 1))
        return false;
    return !(instruction & WRITE_BACK) || (is_target(base) && !(list >> base & 1));
}

static bool several(uint32_t r[EMULATE_REGISTERS], uint32_t instruction) {
    uint32_t list = instruction & 0xFFFF, length = 0;

    if (!several_fit(instruction, list))
        return false;
    for (uint32_t rest = list; rest; rest &= rest - 1)
        length += 4;
    unsigned base = field(instruction, 16);
    uint32_t moved = instruction & UP ? r[base] + length : r[base] - length;
    uint32_t address = instruction & UP ? r[base] : moved;
    if (!(instruction & PRE) == !(instruction & UP))
        address += 4;
    for (unsigned i = 0; list; i++, list >>= 1) {
        if (!(list & 1))
            continue;
        if (instruction & LOAD)
            r[i] = load32(address);
        else
            store32(address, r[i]);
        address += 4;
    }
    if (instruction & WRITE_BACK)
        r[base] = moved;
    return true;
}

bool emulate(uint32_t r[EMULATE_REGISTERS], uint32_t instruction) {
    if (instruction >> 28 == 15)
        return false;
    switch (instruction >> 25 & 7) {
    case 0:
        return (instruction & 0x90) == 0x90 && half_or_double(r, instruction);
    case 2:
    case 3:
        return word(r, instruction);
    case 4:
        return several(r, instruction);
    default:
        return false;
    }
}
