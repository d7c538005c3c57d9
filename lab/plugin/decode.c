/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "decode.h"

#include <string.h>

#include "arm.h"

static enum { OTHER_PROCESSOR, ARM, X86_64 } processor;

bool decode_start(const char *target) {
    processor = strcmp(target, "arm") == 0      ? ARM
                : strcmp(target, "x86_64") == 0 ? X86_64
                                                : OTHER_PROCESSOR;
    return processor != OTHER_PROCESSOR;
}

static uint32_t word_of(const uint8_t *code) {
    uint32_t word;
    memcpy(&word, code, sizeof word);
    return word;
}

static uint32_t half_of(const uint8_t *code) {
    uint16_t half;
    memcpy(&half, code, sizeof half);
    return half;
}

static unsigned bits_in(uint32_t mask) {
    return (unsigned)__builtin_popcount(mask);
}

/* ---- ARM state ---- */

static enum decode_leaving leaving_in_arm(uint32_t word) {
    if ((word & 0xFE000000u) == 0xFA000000u) /* blx ADDRESS */
        return CALLS;
    if ((word & 0xFE50FFFFu) == 0xF8100A00u) /* rfe */
        return RETURNS_EXCEPTION;
    if (word >> 28 == 0xF)
        return STAYS;
    if ((word & 0x0F000000u) == 0x0B000000u || /* bl */
        (word & 0x0FFFFFF0u) == 0x012FFF30u)   /* blx REGISTER */
        return CALLS;
    if ((word & 0x0E508000u) == 0x08508000u || /* ldm {..., pc}^ */
        (word & 0x0FFFF000u) == 0x025EF000u || /* subs pc, lr, # */
        (word & 0x0FFFFFFFu) == 0x01B0F00Eu)   /* movs pc, lr */
        return RETURNS_EXCEPTION;
    if ((word & 0x0FFFFFF0u) == 0x012FFF10u || /* bx */
        (word & 0x0E508000u) == 0x08108000u || /* ldm {..., pc} */
        (word & 0x0C10F000u) == 0x0410F000u || /* ldr pc */
        (word & 0x0FFFFFF0u) == 0x01A0F000u)   /* mov pc, REGISTER */
        return RETURNS;
    return STAYS;
}

static unsigned registers_in_arm(uint32_t word) {
    if (word >> 28 == 0xF)
        return 1;
    if ((word & 0x0E000000u) == 0x08000000u) /* ldm, stm */
        return bits_in(word & 0xFFFF);
    return (word & 0x0E1000D0u) == 0x000000D0u ? 2 : 1; /* ldrd, strd */
}

/* ---- Thumb state ---- */

static enum decode_leaving leaving_in_short_thumb(uint32_t half) {
    if ((half & 0xFF87) == 0x4780) /* blx */
        return CALLS;
    return (half & 0xFF87) == 0x4700 ||         /* bx */
                   (half & 0xFF00) == 0xBD00 || /* pop {..., pc} */
                   (half & 0xFF87) == 0x4687    /* mov pc, REGISTER */
               ? RETURNS
               : STAYS;
}

static enum decode_leaving leaving_in_long_thumb(uint32_t first, uint32_t second) {
    bool is_branch = (first & 0xF800) == 0xF000;
    if (is_branch && ((second & 0xD000) == 0xD000 || (second & 0xD001) == 0xC000)) /* bl, blx */
        return CALLS;
    if ((first == 0xF3DE && (second & 0xFF00) == 0x8F00) ||         /* subs pc, lr, # */
        ((first & 0xFFD0) == 0xE810 || (first & 0xFFD0) == 0xE990)) /* rfe */
        return RETURNS_EXCEPTION;
    bool is_ldm = (first & 0xFFD0) == 0xE890 || (first & 0xFFD0) == 0xE910;
    bool is_ldr = (first & 0xFF70) == 0xF850;
    return (is_ldm && second >> 15) || (is_ldr && second >> 12 == 15) ? RETURNS : STAYS;
}

static unsigned registers_in_short_thumb(uint32_t half) {
    if ((half & 0xF600) == 0xB400) /* push, pop */
        return bits_in(half & 0x1FF);
    return (half & 0xF000) == 0xC000 ? bits_in(half & 0xFF) : 1; /* ldm, stm */
}

static unsigned registers_in_long_thumb(uint32_t first, uint32_t second) {
    unsigned order = first >> 7 & 3; /* upwards after, or downwards before */
    if ((first & 0xFE40) == 0xE800 && (order == 1 || order == 2)) /* ldm, stm */
        return bits_in(second);
    return (first & 0xFE40) == 0xE840 && (first & 0x0120) != 0 ? 2 : 1; /* ldrd, strd */
}

/* ---- x86-64 ---- */

static enum decode_leaving leaving_in_x86(const uint8_t *code, size_t size) {
    while (size > 1 && ((*code & 0xF0) == 0x40 || *code == 0xF2 || *code == 0xF3 || *code == 0x66))
        code++, size--; /* prefixes */
    if (*code == 0xE8 || (*code == 0xFF && size > 1 && (code[1] & 0x38) == 0x10))
        return CALLS;
    return *code == 0xC3 || *code == 0xC2 ||
                   (*code == 0xFF && size > 1 && (code[1] & 0x38) == 0x20) /* jmp REGISTER */
               ? RETURNS
               : STAYS;
}

/* ---- either ---- */

enum decode_leaving decode_leaving(const struct qemu_plugin_insn *instruction, bool is_thumb) {
    const uint8_t *code = qemu_plugin_insn_data(instruction);
    size_t size = qemu_plugin_insn_size(instruction);
    if (processor != ARM)
        return processor == X86_64 ? leaving_in_x86(code, size) : STAYS;
    if (size == 2)
        return leaving_in_short_thumb(half_of(code));
    return is_thumb ? leaving_in_long_thumb(half_of(code), half_of(code + 2))
                    : leaving_in_arm(word_of(code));
}

unsigned decode_registers(const struct qemu_plugin_insn *instruction, bool is_thumb) {
    const uint8_t *code = qemu_plugin_insn_data(instruction);
    if (processor != ARM)
        return 1;
    if (qemu_plugin_insn_size(instruction) == 2)
        return registers_in_short_thumb(half_of(code));
    return is_thumb ? registers_in_long_thumb(half_of(code), half_of(code + 2))
                    : registers_in_arm(word_of(code));
}

bool decode_witness(const struct qemu_plugin_insn *instruction, bool is_thumb) {
    return processor == ARM && !is_thumb && qemu_plugin_insn_size(instruction) == 4 &&
           arm_is_witness(word_of(qemu_plugin_insn_data(instruction)));
}
