/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The zynq board's emulation of misaligned accesses: what it refuses, and that nothing has
 * changed then. What it does not refuse runs on the board itself, form by form, in the
 * self-test of a firmware that emulates; here only one of each kind.
 */
#include "emulate.h"
#include "harness.h"

#include <string.h>
#include <sys/mman.h>

enum { BYTES = 4096, MIDDLE = 2048, BASE = 4 };

static uint8_t *memory; /* where a 32-bit register can point */
static uint32_t r[EMULATE_REGISTERS], before[EMULATE_REGISTERS];

static void prepare(void) {
    if (!memory)
        memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT,
                      -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    for (unsigned i = 0; i < BYTES; i++)
        memory[i] = (uint8_t)(i * 7 + (i >> 8));
    for (unsigned i = 0; i < EMULATE_REGISTERS; i++)
        r[i] = 4 * i;
    r[BASE] = (uint32_t)(uintptr_t)memory + MIDDLE + 1;
    r[EMULATE_SP] = r[BASE] + 64;
    memcpy(before, r, sizeof r);
}

/* Base r4 unless it says otherwise. */
static const struct {
    const char *text;
    uint32_t instruction;
} refused[] = {
    {"ldrb r0, [r4]", 0xE5D40000},
    {"ldrt r0, [r4], #4", 0xE4B40004},
    {"strt r0, [r4], #4", 0xE4A40004},
    {"ldr pc, [r4]", 0xE594F000},
    {"str pc, [r4]", 0xE584F000},
    {"ldr sp, [r4]", 0xE594D000},
    {"ldr r0, [pc, #1]", 0xE59F0001},
    {"ldr r0, [sp, #1]!", 0xE5BD0001},
    {"ldr r4, [r4, #4]!", 0xE5B44004},
    {"str r4, [r4], #4", 0xE4844004},
    {"ldr r0, [r4, r1, rrx]", 0xE7940061},
    {"ldr r0, [r4, pc]", 0xE794000F},
    {"usad8 (a media instruction)", 0xE780F410},
    {"ldrex r0, [r4]", 0xE1940F9F},
    {"strex r0, r1, [r4]", 0xE1840F91},
    {"ldrexd r0, r1, [r4]", 0xE1B40F9F},
    {"swp r0, r1, [r4]", 0xE1040091},
    {"mul r0, r1, r2", 0xE0000291},
    {"add r0, r1, r2, lsl r3", 0xE0810312},
    {"add r0, r1, #1", 0xE2810001},
    {"ldrht r0, [r4], #2", 0xE0F400B2},
    {"ldrsb r0, [r4]", 0xE1D400D0},
    {"ldrh pc, [r4]", 0xE1D4F0B0},
    {"ldrh r0, [r4, pc]", 0xE19400BF},
    {"ldrh r4, [r4], #2", 0xE0D440B2},
    {"ldrd r1, r2, [r4]", 0xE1C410D0},
    {"ldrd r12, sp, [r4]", 0xE1C4C0D0},
    {"ldrd lr, pc, [r4]", 0xE1C4E0D0},
    {"ldrd r4, r5, [r4], #8", 0xE0C440D8},
    {"ldm r4, {r0, pc}", 0xE8948001},
    {"ldm r4, {r0, sp}", 0xE8942001},
    {"stm r4, {r0, pc}", 0xE8848001},
    {"ldm r4, {r0, r1}^", 0xE8D40003},
    {"stm r4, {r0, r1}^", 0xE8C40003},
    {"ldm r4!, {r3, r4}", 0xE8B40018},
    {"stm r4!, {r4, r5}", 0xE8A40030},
    {"ldm sp!, {r0, r1}", 0xE8BD0003},
    {"ldm r4, {}", 0xE8940000},
    {"ldm pc, {r0}", 0xE89F0001},
    {"vldr s0, [r4]", 0xED940A00},
    {"ldc p14, c0, [r4]", 0xED940E00},
    {"b .", 0xEAFFFFFE},
    {"pld [r4]", 0xF5D4F000},
    {"rfe r4", 0xF8940A00},
    {"srs", 0xF8CD0513},
};

static void what_is_not_emulated_changes_nothing(void **state) {
    (void)state;
    prepare();
    uint8_t bytes[BYTES];
    memcpy(bytes, memory, BYTES);
    for (unsigned i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (emulate(r, refused[i].instruction))
            fail_msg("%s was emulated", refused[i].text);
        if (memcmp(r, before, sizeof r) != 0 || memcmp(bytes, memory, BYTES) != 0)
            fail_msg("%s was refused, and did something", refused[i].text);
    }
}

static uint32_t word_at(int offset) {
    uint32_t value;
    memcpy(&value, memory + MIDDLE + offset, sizeof value);
    return value;
}

static void one_of_each_kind_is_emulated(void **state) {
    (void)state;
    prepare();
    expect(emulate(r, 0xE5B40004)); /* ldr r0, [r4, #4]! */
    expect_equal(r[0], word_at(5));
    expect_equal(r[BASE], before[BASE] + 4);
    prepare();
    expect(emulate(r, 0x1784E10E)); /* strne lr, [r4, lr, lsl #2] */
    expect_equal(word_at(1 + 4 * 4 * EMULATE_LR), before[EMULATE_LR]);
    prepare();
    expect(emulate(r, 0xE1D400F1)); /* ldrsh r0, [r4, #1]: aligned, as nothing forbids */
    expect_equal(r[0], (uint32_t)(int16_t)word_at(2));
    prepare();
    expect(emulate(r, 0xE1C420D8)); /* ldrd r2, r3, [r4, #8] */
    expect_equal(r[2], word_at(9));
    expect_equal(r[3], word_at(13));
    prepare();
    expect(emulate(r, 0xE914500F)); /* ldmdb r4, {r0-r3, r12, lr} */
    expect_equal(r[0], word_at(1 - 24));
    expect_equal(r[EMULATE_LR], word_at(1 - 4));
    expect_equal(r[BASE], before[BASE]);
    prepare();
    expect(emulate(r, 0xE89D0003)); /* ldm sp, {r0, r1} */
    expect_equal(r[1], word_at(69));
    expect_equal(r[EMULATE_PC], before[EMULATE_PC]);
}

HARNESS_MAIN(cmocka_unit_test(what_is_not_emulated_changes_nothing),
             cmocka_unit_test(one_of_each_kind_is_emulated))
