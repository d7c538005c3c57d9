/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The console, on UART0 (the emulator's first -serial), and the end of a run.
 *
 * Bytes are written and waited for, so that whatever was printed before a fault
 * is out. Needs no interrupt, no memory, and no call of main() before it.
 */
#include "zynq.h"

enum {
    UART_CONTROL = 0x00,
    UART_STATUS = 0x2C,
    UART_DATA = 0x30,
    UART_ENABLE = 0x14, /* receiver and transmitter */
    UART_TX_EMPTY = 1 << 3,
    UART_TX_FULL = 1 << 4,
    SLCR_UNLOCK = 0x08,
    SLCR_UNLOCK_KEY = 0xDF0D,
    SLCR_RESET = 0x200,
};

void console_start(void) {
    zynq_write(ZYNQ_UART0 + UART_CONTROL, UART_ENABLE);
}

static void put(char c) {
    while (zynq_read(ZYNQ_UART0 + UART_STATUS) & UART_TX_FULL)
        ;
    zynq_write(ZYNQ_UART0 + UART_DATA, (uint8_t)c);
}

void board_write(const char *bytes, unsigned length) {
    while (length--)
        put(*bytes++);
}

/* The processor system's reset ends an emulator that was started with -no-reboot;
 * it has no status to give, so the status is said on the console. */
_Noreturn void board_exit(int status) {
    board_print("plumb: exit status=%d\n", status);
    while (!(zynq_read(ZYNQ_UART0 + UART_STATUS) & UART_TX_EMPTY))
        ;
    zynq_write(ZYNQ_SLCR + SLCR_UNLOCK, SLCR_UNLOCK_KEY);
    zynq_write(ZYNQ_SLCR + SLCR_RESET, 1);
    for (;;)
        __asm__ volatile("wfi");
}

/* Real functions, kept by the linker and inlined nowhere: a tool that counts
 * finds their calls by name, and counts nothing from the stop's entry on. */
__attribute__((noinline, noclone, used)) void board_measure_start(void) {
    __asm__ volatile("" ::: "memory");
    trap_mark();
#ifdef CONFIG_PLUMB_SAMPLING
    sampling_start();
#endif
}

__attribute__((noinline, noclone, used)) void board_measure_stop(void) {
    __asm__ volatile("" ::: "memory");
    trap_tell();
#ifdef CONFIG_PLUMB_SAMPLING
    sampling_stop();
#endif
}
