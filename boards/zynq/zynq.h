/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Shared between the files of this board: the few peripherals of the Zynq-7000
 * that it uses, and what each file offers to the others.
 */
#ifndef ZYNQ_H
#define ZYNQ_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "gem.h"
#include "run.h"

enum {
    ZYNQ_GEM0_INTERRUPT = 54,
    ZYNQ_TIMER_INTERRUPT = 29, /* the processor's private timer */
    ZYNQ_WATCHDOG_INTERRUPT = 30,
};

#define ZYNQ_UART0    0xE0000000U
#define ZYNQ_GEM0     0xE000B000U
#define ZYNQ_SLCR     0xF8000000U
#define ZYNQ_GIC_CPU  0xF8F00100U
#define ZYNQ_TIMER    0xF8F00200U /* global timer */
#define ZYNQ_PRIVATE  0xF8F00600U /* private timer */
#define ZYNQ_WATCHDOG 0xF8F00620U /* the processor's private watchdog, another timer */
#define ZYNQ_GIC      0xF8F01000U

static inline uint32_t zynq_read(uintptr_t address) {
    return *(volatile uint32_t *)address;
}

static inline void zynq_write(uintptr_t address, uint32_t value) {
    *(volatile uint32_t *)address = value;
}

/* start.S calls these. */
uint32_t *mmu_make_table(void);
int main(void);

/* console.c: ready before anything can fail. */
void console_start(void);

/* exceptions.c: one odd load must trap, or must not, or the run ends here. */
void exceptions_check_alignment(void);
void exceptions_check_no_alignment(void);

/* trap.c: misaligned accesses that have been emulated, for builds that do: since the start,
 * and, told on the console, since the mark. exceptions.c: the fault that one is which cannot
 * be, or any other data abort. */
#ifdef CONFIG_PLUMB_ZYNQ_EMULATE_MISALIGNED
void trap_emulate(uint32_t r[16], uint32_t state); /* called by trap.S */
uint32_t trap_emulated(void);
void trap_mark(void);
void trap_tell(void);
_Noreturn void exceptions_report_data_abort(const uint32_t r[16]);
#else
static inline uint32_t trap_emulated(void) {
    return 0;
}
static inline void trap_mark(void) {
}
static inline void trap_tell(void) {
}
#endif

/* alignment.c, for a generic image: makes the processor one that traps misaligned words
 * or one that takes them, as the boot parameters say, and settles the byte routines. */
void alignment_settle(void);

/* clock.c. A one-shot interrupt after `delay_us`, which ends a WFI. */
void clock_start(void);
void clock_alarm(uint64_t delay_us);
void clock_alarm_stop(void);
uint32_t clock_jitter(void);

/* interrupt.c: sources that end a WFI. No handler runs but that of sampling.c. */
void interrupt_start(void);
void interrupt_clear(unsigned id);
#ifdef CONFIG_PLUMB_SAMPLING
void interrupt_enable_sampling(void);
void interrupt_let_through(bool all); /* or sampling's only */
bool interrupt_pending(void);         /* of those that end a WFI, but for sampling's */
uint32_t interrupt_take(void);
void interrupt_end(uint32_t id);
#endif

/* sampling.c: where the processor is, while something is measured. */
#ifdef CONFIG_PLUMB_SAMPLING
void sampling_prepare(void);
void sampling_start(void);
void sampling_stop(void);
/* To be called after a WFI, interrupts masked, with the address of what slept. */
void sampling_slept(uintptr_t pc);
/* Tells some of what was found; false: there is nothing left to tell. */
bool sampling_tell(void);
#endif

/* dma.c: cache maintenance by line. */
extern const struct plumb_dma zynq_dma;
#ifdef PLUMB_ZYNQ_SHADOW_DMA
/* shadow.c: for tests, in its place. */
#define ZYNQ_DMA (shadow_dma())
const struct plumb_dma *shadow_dma(void);
void shadow_start(const struct plumb_gem *gem);
#else
#define ZYNQ_DMA (&zynq_dma)
#endif

/* parameters.c: what the loader left, or what stands in for it. */
struct zynq_parameters {
    uint64_t seed[2];
    struct board_address address;
};
void parameters_read(struct zynq_parameters *parameters,
                     const struct plumb_ethernet_address *ethernet);

/* And what a generic image is to find. */
enum { ZYNQ_NAME = 16 };
struct zynq_processor {
    bool misaligned;          /* words are taken, not trapped */
    char routines[ZYNQ_NAME]; /* empty: the best for the processor */
};
void parameters_read_processor(struct zynq_processor *processor);

#endif
