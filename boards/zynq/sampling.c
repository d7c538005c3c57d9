/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A sampling profiler on the target: a timer's interrupt notes where the processor is.
 *
 * Owns the processor's private watchdog, run as a timer, and a 32-bit bucket for each
 * word of code.
 *
 * What holds:
 * - The timer's interrupt is the only one whose priority is above the mask
 *   (interrupt.c), so no code is hidden from it but its own handler, and the first
 *   instructions of an exception's.
 * - Times between samples are distributed exponentially, from the end of one sample on:
 *   the next is as likely at any moment as at any other, so nothing in the program falls
 *   in step with them, not even what a sample itself has woken.
 * - Whoever sleeps says so when it wakes: an emulator may have slept for longer than it
 *   was asked to, and what was missed counts as sleep.
 * - Between board_measure_start() and board_measure_stop() it samples; what it found is
 *   told on the console afterwards, a line for each idle turn, and then forgotten. A
 *   measurement that begins before that is not sampled.
 */
#include "zynq.h"

#ifdef CONFIG_PLUMB_SAMPLING

enum {
    TIMER_LOAD = 0x00,
    TIMER_CONTROL = 0x08,
    TIMER_STATUS = 0x0C,
    TIMER_ENABLE = 1 << 0,
    TIMER_INTERRUPT = 1 << 2,
    MEAN = ZYNQ_TIMER_HZ / CONFIG_PLUMB_SAMPLING_HZ,
    TICKS_A_MICROSECOND = ZYNQ_TIMER_HZ / 1000000,
    MEAN_BY_LOG = (int)(MEAN * 0.6931), /* as the logarithm is of base 2 */
    PAIRS_A_LINE = 6,
};

void sampling_interrupt(uint32_t pc);

static enum { READY, SAMPLING, TELLING } state;
static uint32_t random = 0x9E3779B9;
static uint32_t total, outside, taken;
static uint32_t delay; /* what the timer was set to */
static uint64_t since; /* when, in microseconds */
static uint32_t late;  /* by how many ticks sleep has been too long, not yet counted */
static uint32_t told;  /* buckets */

/* The linker leaves a word of one for each of the other, as large as this file asks for. */
extern uint32_t text_start[], text_end[], samples_start[];

static uint32_t buckets(void) {
    return (uint32_t)(text_end - text_start);
}

/* Marsaglia's xorshift. */
static uint32_t draw(void) {
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    return random;
}

/* -log2 of a number that is evenly distributed between 0 and 1, in 65536ths. Of the
 * mantissa the logarithm is approached by a parabola, to 1 %. */
static uint32_t draw_exponential(void) {
    uint32_t number = draw(); /* never 0 */
    uint32_t exponent = (uint32_t)__builtin_clz(number);
    uint32_t fraction = (number << exponent) << 1 >> 16;
    uint32_t bulge = fraction * (65535 - fraction) >> 16;
    return ((exponent + 1) << 16) - fraction - (bulge * 22528 >> 16);
}

static void start_timer(void) {
    delay = 1 + ((draw_exponential() >> 4) * (uint32_t)(MEAN_BY_LOG >> 4) >> 8);
    since = board_now_us();
    zynq_write(ZYNQ_WATCHDOG + TIMER_LOAD, delay);
    zynq_write(ZYNQ_WATCHDOG + TIMER_CONTROL, TIMER_INTERRUPT | TIMER_ENABLE);
}

static void stop_timer(void) {
    zynq_write(ZYNQ_WATCHDOG + TIMER_CONTROL, 0);
    zynq_write(ZYNQ_WATCHDOG + TIMER_STATUS, 1);
}

static void note(uint32_t pc, uint32_t count) {
    uint32_t bucket = (pc - (uint32_t)(uintptr_t)text_start) / 4;
    taken++;
    total += count;
    if (bucket < buckets())
        samples_start[bucket] += count;
    else
        outside += count;
    stop_timer();
}

/* start.S calls it, interrupts masked, with the address that was about to be executed. */
void sampling_interrupt(uint32_t pc) {
    uint32_t id = interrupt_take();
    if (id == ZYNQ_WATCHDOG_INTERRUPT) {
        note(pc, 1);
        start_timer();
    }
    interrupt_end(id);
}

void sampling_slept(uintptr_t pc) {
    uint32_t passed = (uint32_t)(board_now_us() - since) * TICKS_A_MICROSECOND;
    uint32_t count = 1;
    if (state != SAMPLING || passed < delay)
        return;
    for (late += passed - delay; late >= MEAN; late -= MEAN)
        count++;
    note((uint32_t)pc, count);
    interrupt_clear(ZYNQ_WATCHDOG_INTERRUPT);
    start_timer();
}

static void forget(void) {
    for (uint32_t i = 0; i < buckets(); i++)
        samples_start[i] = 0;
    total = outside = taken = told = 0;
    state = READY;
}

void sampling_prepare(void) {
    forget();
    stop_timer();
    interrupt_enable_sampling();
}

void sampling_start(void) {
    if (state != READY)
        return;
    state = SAMPLING;
    late = 0;
    start_timer();
}

void sampling_stop(void) {
    if (state != SAMPLING)
        return;
    /* Not between the two: a sample would start the timer again. */
    __asm__ volatile("cpsid i" ::: "memory");
    stop_timer();
    interrupt_clear(ZYNQ_WATCHDOG_INTERRUPT);
    __asm__ volatile("cpsie i" ::: "memory");
    state = TELLING;
    board_print("samples: total=%u outside=%u taken=%u hz=%u\n", (unsigned)total, (unsigned)outside,
                (unsigned)taken, (unsigned)CONFIG_PLUMB_SAMPLING_HZ);
}

static bool tell_next(void) {
    while (told < buckets() && samples_start[told] == 0)
        told++;
    if (told == buckets())
        return false;
    board_print(" %08x=%u", (unsigned)(uintptr_t)&text_start[told], (unsigned)samples_start[told]);
    told++;
    return true;
}

bool sampling_tell(void) {
    if (state != TELLING)
        return false;
    board_print("sample:");
    for (unsigned i = 0; i < PAIRS_A_LINE; i++) {
        if (!tell_next()) {
            forget();
            board_print("\nsamples: end\n");
            return true;
        }
    }
    board_print("\n");
    return true;
}

#endif
