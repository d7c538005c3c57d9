/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Time, from the Cortex-A9's global timer (64 bits, never stopped), and an
 * alarm, from its private timer.
 *
 * Both are prescaled to a tick of about a microsecond, and ticks are turned
 * into microseconds by a multiplication; where the rate divides evenly, as
 * under the emulator, a tick is a microsecond and nothing is multiplied.
 */
#include "zynq.h"

enum {
    COUNTER_LOW = 0x00,
    COUNTER_HIGH = 0x04,
    CONTROL = 0x08,
    ENABLE = 1,
    PRIVATE_LOAD = 0x00,
    PRIVATE_CONTROL = 0x08,
    PRIVATE_STATUS = 0x0C,
    PRIVATE_INTERRUPT = 1 << 2,
};

#define MHZ      ((ZYNQ_TIMER_HZ + 999999U) / 1000000U)
#define PRESCALE (MHZ > 256U ? 256U : MHZ)
#define TICK_HZ  (ZYNQ_TIMER_HZ / PRESCALE)

/* Microseconds per tick x 2^32 (the tick is never slower than 1 MHz by much). */
#define SCALE ((uint64_t)((1000000ULL << 32) / TICK_HZ))

void clock_start(void) {
    zynq_write(ZYNQ_TIMER + CONTROL, 0);
    zynq_write(ZYNQ_TIMER + COUNTER_LOW, 0);
    zynq_write(ZYNQ_TIMER + COUNTER_HIGH, 0);
    zynq_write(ZYNQ_TIMER + CONTROL, (PRESCALE - 1) << 8 | ENABLE);
}

/* The high word is read again when the low word may have wrapped in between. */
static uint64_t ticks(void) {
    uint32_t high, low, again = zynq_read(ZYNQ_TIMER + COUNTER_HIGH);
    do {
        high = again;
        low = zynq_read(ZYNQ_TIMER + COUNTER_LOW);
        again = zynq_read(ZYNQ_TIMER + COUNTER_HIGH);
    } while (again != high);
    return (uint64_t)high << 32 | low;
}

uint64_t board_now_us(void) {
    uint64_t t = ticks();
    if (TICK_HZ == 1000000U)
        return t;
    return (t >> 32) * SCALE + ((t & 0xffffffffU) * (SCALE >> 1) >> 31);
}

void clock_alarm(uint64_t delay_us) {
    uint32_t delay = delay_us > 1000000000U ? 1000000000U : (uint32_t)delay_us;
    zynq_write(ZYNQ_PRIVATE + PRIVATE_CONTROL, 0);
    zynq_write(ZYNQ_PRIVATE + PRIVATE_LOAD, delay ? delay : 1);
    zynq_write(ZYNQ_PRIVATE + PRIVATE_CONTROL, (PRESCALE - 1) << 8 | PRIVATE_INTERRUPT | ENABLE);
}

void clock_alarm_stop(void) {
    zynq_write(ZYNQ_PRIVATE + PRIVATE_CONTROL, 0);
    zynq_write(ZYNQ_PRIVATE + PRIVATE_STATUS, 1);
    interrupt_clear(ZYNQ_TIMER_INTERRUPT);
}

/* Weak randomness: how the counter's low bits fall between reads that differ in
 * length with the state of caches and buses. */
uint32_t clock_jitter(void) {
    uint32_t mixed = 0;
    zynq_write(ZYNQ_TIMER + CONTROL, ENABLE);
    for (unsigned i = 0; i < 256; i++) {
        mixed = (mixed << 5 | mixed >> 27) ^ zynq_read(ZYNQ_TIMER + COUNTER_LOW);
        mixed *= 0x9E3779B1U;
    }
    clock_start();
    return mixed;
}
