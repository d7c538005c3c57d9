/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A form is run between a load of six registers and a store of them: r0 the base, r1 an
 * offset, r2 to r5 what is loaded or stored. Afterwards each register and each byte around
 * must be what the form's line in the table says.
 */
#include "emulation_check.h"

#include <plumb_config.h>

#if defined(CONFIG_PLUMB_ZYNQ_EMULATE_MISALIGNED) && defined(__arm__)
#include <stdbool.h>
#include <stdint.h>

enum { REGISTERS = 6, MIDDLE = 32, BYTES = 64, OFFSET = 3 };

struct form {
    const char *text;
    void (*run)(uint32_t r[REGISTERS]);
    int8_t at;     /* where it goes, from the base on */
    int8_t change; /* of the base */
    uint8_t width; /* of one register's bytes: 2 or 4 */
    uint8_t count; /* of registers, from r2 on */
    bool stores, extends;
};

#define RUN(name, text)                                                                            \
    static void name(uint32_t r[REGISTERS]) {                                                      \
        register uint32_t *at __asm__("r8") = r;                                                   \
        __asm__ volatile("ldm r8, {r0-r5}\n\t" text "\n\tstm r8, {r0-r5}"                          \
                         :                                                                         \
                         : "r"(at)                                                                 \
                         : "r0", "r1", "r2", "r3", "r4", "r5", "ip", "lr", "cc", "memory");        \
    }

/* X(name, instruction, at, change, width, count, stores, extends), with r1 holding 3. */
#define FORMS(X)                                                                                   \
    X(load, "ldr r2, [r0]", 0, 0, 4, 1, false, false)                                              \
    X(load_up, "ldr r2, [r0, #8]", 8, 0, 4, 1, false, false)                                       \
    X(load_down, "ldr r2, [r0, #-8]", -8, 0, 4, 1, false, false)                                   \
    X(load_pre, "ldr r2, [r0, #4]!", 4, 4, 4, 1, false, false)                                     \
    X(load_pre_down, "ldr r2, [r0, #-4]!", -4, -4, 4, 1, false, false)                             \
    X(load_post, "ldr r2, [r0], #4", 0, 4, 4, 1, false, false)                                     \
    X(load_post_down, "ldr r2, [r0], #-12", 0, -12, 4, 1, false, false)                            \
    X(load_lsl, "ldr r2, [r0, r1, lsl #2]", 12, 0, 4, 1, false, false)                             \
    X(load_lsl_down, "ldr r2, [r0, -r1, lsl #2]", -12, 0, 4, 1, false, false)                      \
    X(load_lsr, "ldr r2, [r0, r1, lsr #32]", 0, 0, 4, 1, false, false)                             \
    X(load_asr, "mvn r1, r1\n\tldr r2, [r0, r1, asr #32]\n\tmvn r1, r1", -1, 0, 4, 1, false,       \
      false)                                                                                       \
    X(load_ror, "ror r1, r1, #30\n\tldr r2, [r0, r1, ror #2]\n\tror r1, r1, #2", 3, 0, 4, 1,       \
      false, false)                                                                                \
    X(load_index_pre, "ldr r2, [r0, r1, lsl #2]!", 12, 12, 4, 1, false, false)                     \
    X(load_index_post, "ldr r2, [r0], r1, lsl #2", 0, 12, 4, 1, false, false)                      \
    X(load_link, "ldr lr, [r0]\n\tmov r2, lr", 0, 0, 4, 1, false, false)                           \
    X(load_over_base, "mov ip, r3\n\tmov r3, r0\n\tldr r3, [r3]\n\tmov r2, r3\n\tmov r3, ip", 0,   \
      0, 4, 1, false, false)                                                                       \
    X(load_if, "teq r1, r1\n\tldreq r2, [r0]\n\tmovne r2, r1", 0, 0, 4, 1, false, false)           \
    X(store, "str r2, [r0]", 0, 0, 4, 1, true, false)                                              \
    X(store_up, "str r2, [r0, #8]", 8, 0, 4, 1, true, false)                                       \
    X(store_pre, "str r2, [r0, #-4]!", -4, -4, 4, 1, true, false)                                  \
    X(store_post, "str r2, [r0], #4", 0, 4, 4, 1, true, false)                                     \
    X(store_lsl, "str r2, [r0, r1, lsl #2]", 12, 0, 4, 1, true, false)                             \
    X(load_half, "ldrh r2, [r0]", 0, 0, 2, 1, false, false)                                        \
    X(load_half_up, "ldrh r2, [r0, #18]", 18, 0, 2, 1, false, false)                               \
    X(load_half_down, "ldrh r2, [r0, #-18]", -18, 0, 2, 1, false, false)                           \
    X(load_half_pre, "ldrh r2, [r0, #2]!", 2, 2, 2, 1, false, false)                               \
    X(load_half_post, "ldrh r2, [r0], #2", 0, 2, 2, 1, false, false)                               \
    X(load_half_index, "add r1, r1, #1\n\tldrh r2, [r0, r1]\n\tsub r1, r1, #1", 4, 0, 2, 1, false, \
      false)                                                                                       \
    X(load_signed, "ldrsh r2, [r0]", 0, 0, 2, 1, false, true)                                      \
    X(load_signed_post, "ldrsh r2, [r0], #2", 0, 2, 2, 1, false, true)                             \
    X(store_half, "strh r2, [r0]", 0, 0, 2, 1, true, false)                                        \
    X(store_half_pre, "strh r2, [r0, #2]!", 2, 2, 2, 1, true, false)                               \
    X(load_double, "ldrd r2, r3, [r0]", 0, 0, 4, 2, false, false)                                  \
    X(load_double_up, "ldrd r2, r3, [r0, #16]", 16, 0, 4, 2, false, false)                         \
    X(load_double_post, "ldrd r2, r3, [r0], #8", 0, 8, 4, 2, false, false)                         \
    X(store_double, "strd r2, r3, [r0]", 0, 0, 4, 2, true, false)                                  \
    X(store_double_pre, "strd r2, r3, [r0, #-8]!", -8, -8, 4, 2, true, false)                      \
    X(load_many, "ldm r0, {r2-r5}", 0, 0, 4, 4, false, false)                                      \
    X(load_many_on, "ldm r0!, {r2-r5}", 0, 16, 4, 4, false, false)                                 \
    X(load_many_ib, "ldmib r0, {r2-r5}", 4, 0, 4, 4, false, false)                                 \
    X(load_many_da, "ldmda r0, {r2-r5}", -12, 0, 4, 4, false, false)                               \
    X(load_many_db, "ldmdb r0!, {r2-r5}", -16, -16, 4, 4, false, false)                            \
    X(load_many_link, "ldm r0, {r2, r3, lr}\n\tmov r4, lr", 0, 0, 4, 3, false, false)              \
    X(load_many_base, "mov r3, r0\n\tldm r3, {r2, r3}", 0, 0, 4, 2, false, false)                  \
    X(store_many, "stm r0, {r2-r5}", 0, 0, 4, 4, true, false)                                      \
    X(store_many_on, "stm r0!, {r2-r4}", 0, 12, 4, 3, true, false)                                 \
    X(store_many_ib, "stmib r0!, {r2-r5}", 4, 16, 4, 4, true, false)                               \
    X(store_many_da, "stmda r0!, {r2-r5}", -12, -16, 4, 4, true, false)                            \
    X(store_many_db, "stmdb r0!, {r2-r5}", -16, -16, 4, 4, true, false)

#define DEFINE(name, text, ...) RUN(name, text)
FORMS(DEFINE)

#define LINE(name, text, ...) {text, name, __VA_ARGS__},
static const struct form forms[] = {FORMS(LINE)};

enum { COUNT = sizeof forms / sizeof *forms };

static _Alignas(8) uint8_t memory[BYTES], expected[BYTES];

static void prepare(uint32_t r[REGISTERS], unsigned distance) {
    for (unsigned i = 0; i < BYTES; i++)
        memory[i] = expected[i] = (uint8_t)(0x81 + 29 * i);
    r[0] = (uint32_t)(uintptr_t)(memory + MIDDLE + distance);
    r[1] = OFFSET;
    for (unsigned i = 2; i < REGISTERS; i++)
        r[i] = 0xA1B2C3D4U * i;
}

/* What one of the registers becomes, or leaves in memory. */
static void move(const struct form *form, uint32_t *value, uint8_t *bytes) {
    uint32_t loaded = 0;

    for (unsigned i = 0; i < form->width; i++) {
        if (form->stores)
            bytes[i] = (uint8_t)(*value >> 8 * i);
        loaded |= (uint32_t)bytes[i] << 8 * i;
    }
    if (form->extends)
        loaded = (uint32_t)(int32_t)(int16_t)loaded;
    if (!form->stores)
        *value = loaded;
}

static bool is_right(const struct form *form, unsigned distance) {
    uint32_t r[REGISTERS], wanted[REGISTERS];

    prepare(r, distance);
    for (unsigned i = 0; i < REGISTERS; i++)
        wanted[i] = r[i];
    wanted[0] += (uint32_t)(int32_t)form->change;
    uint8_t *at = expected + MIDDLE + distance + form->at;
    for (unsigned i = 0; i < form->count; i++)
        move(form, &wanted[2 + i], at + i * form->width);
    form->run(r);
    for (unsigned i = 0; i < REGISTERS; i++)
        if (r[i] != wanted[i])
            return false;
    for (unsigned i = 0; i < BYTES; i++)
        if (memory[i] != expected[i])
            return false;
    return true;
}

/* A halfword at 2 mod 4 does not trap. */
const char *emulation_check(void) {
    for (unsigned i = 0; i < COUNT; i++)
        for (unsigned distance = 1; distance < 4; distance++)
            if (!is_right(&forms[i], distance))
                return forms[i].text;
    return 0;
}

unsigned emulation_check_count(void) {
    unsigned count = 0;

    for (unsigned i = 0; i < COUNT; i++)
        for (unsigned distance = 1; distance < 4; distance++)
            count += ((unsigned)(distance + (unsigned)forms[i].at) & (forms[i].width - 1U)) != 0;
    return count;
}

#endif
