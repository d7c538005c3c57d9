/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "arm.h"

static uint32_t bit(uint32_t word, unsigned at) {
    return 1u << (word >> at & 15);
}

unsigned arm_maintenance(uint32_t word) {
    switch (word & 0x0FFF0FFFu) { /* mcr p15, 0, <Rt>, c7, <CRm>, 1 */
    case 0x0E070F36u:
        return ARM_INVALIDATE;
    case 0x0E070F3Au:
    case 0x0E070F3Bu:
        return ARM_CLEAN;
    case 0x0E070F3Eu:
        return ARM_CLEAN | ARM_INVALIDATE;
    default:
        return ARM_NO_MAINTENANCE;
    }
}

bool arm_is_write_barrier(uint32_t word) {
    bool is_dsb = (word & 0xFFFFFFF0u) == 0xF57FF040u || (word & 0x0FFF0FFFu) == 0x0E070F9Au;
    bool is_dmb_of_stores = (word & 0xFFFFFFF3u) == 0xF57FF052u;
    return is_dsb || is_dmb_of_stores;
}

bool arm_is_multiplication(uint32_t word) {
    return (word >> 28) != 15 && (word & 0x0F0000F0u) == 0x00000090u;
}

static bool is_media(uint32_t word) {
    return (word & 0x0E000010u) == 0x06000010u;
}

static bool is_word_or_byte(uint32_t word) {
    return (word & 0x0C000000u) == 0x04000000u && !is_media(word);
}

static bool is_half_or_double(uint32_t word) {
    return (word & 0x0E000090u) == 0x00000090u && (word & 0x60u) != 0;
}

static bool is_multiple(uint32_t word) {
    return (word & 0x0E000000u) == 0x08000000u;
}

static bool is_load(uint32_t word) {
    if (is_half_or_double(word)) {
        return (word & 0x00100000u) != 0 || (word & 0xF0u) == 0xD0u;
    }
    return (word & 0x00100000u) != 0;
}

static uint32_t highest(uint32_t list) {
    while ((list & (list - 1)) != 0) {
        list &= list - 1;
    }
    return list;
}

uint32_t arm_loaded(uint32_t word) {
    if ((word >> 28) == 15 || !is_load(word)) {
        return 0;
    }
    if (is_word_or_byte(word)) {
        return bit(word, 12);
    }
    if (is_half_or_double(word)) {
        return (word & 0xF0u) == 0xD0u && (word & 0x00100000u) == 0 ? bit(word, 12) << 1
                                                                    : bit(word, 12);
    }
    return is_multiple(word) ? highest(word & 0xFFFFu) : 0;
}

static uint32_t read_by_transfer(uint32_t word) {
    uint32_t stored = is_load(word) ? 0 : bit(word, 12);
    if (is_multiple(word)) {
        return bit(word, 16) | (is_load(word) ? 0 : word & 0xFFFFu);
    }
    if (is_half_or_double(word)) {
        uint32_t pair = (word & 0xF0u) == 0xF0u && !(word & 0x00100000u) ? bit(word, 12) << 1 : 0;
        return bit(word, 16) | stored | pair | ((word & 0x00400000u) ? 0 : bit(word, 0));
    }
    return bit(word, 16) | stored | ((word & 0x02000000u) ? bit(word, 0) : 0);
}

static uint32_t read_by_arithmetic(uint32_t word) {
    unsigned operation = word >> 21 & 15;
    bool is_move = operation == 13 || operation == 15;
    uint32_t first = is_move ? 0 : bit(word, 16);
    if (word & 0x02000000u) {
        return first;
    }
    return first | bit(word, 0) | ((word & 0x10u) ? bit(word, 8) : 0);
}

uint32_t arm_read(uint32_t word) {
    if ((word >> 28) == 15) {
        return 0;
    }
    if (arm_is_multiplication(word)) {
        return bit(word, 0) | bit(word, 8) | ((word & 0x00200000u) ? bit(word, 12) : 0);
    }
    if ((word & 0x0FFFFFD0u) == 0x012FFF10u) { /* bx, blx */
        return bit(word, 0);
    }
    if (is_half_or_double(word) || is_word_or_byte(word) || is_multiple(word)) {
        return read_by_transfer(word);
    }
    return (word & 0x0C000000u) == 0 ? read_by_arithmetic(word) : 0;
}
