/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Exceptions: all are the end of the run, with a report on the console, but for
 * the one that the alignment check provokes.
 *
 * The report's form is fixed, for tools: a line with kind, address, program
 * counter, return address and status, then lines of registers.
 */
#include "zynq.h"

enum kind { KIND_UNDEFINED, KIND_PREFETCH, KIND_DATA };

/* As start.S pushes it. */
struct frame {
    uint32_t sp, lr;
    uint32_t r[13];
    uint32_t pc;
};

/* Bits of the fault status that name the cause; 1: alignment. */
enum { STATUS_CAUSE = 0x40F, STATUS_ALIGNMENT = 1 };

static volatile bool expected, trapped, reporting;

uint32_t exception_report(enum kind kind, const struct frame *frame);

static void read_fault(enum kind kind, uint32_t *address, uint32_t *status) {
    *address = *status = 0;
    if (kind == KIND_DATA) {
        __asm__ volatile("mrc p15, 0, %0, c6, c0, 0" : "=r"(*address));
        __asm__ volatile("mrc p15, 0, %0, c5, c0, 0" : "=r"(*status));
    } else if (kind == KIND_PREFETCH) {
        __asm__ volatile("mrc p15, 0, %0, c6, c0, 2" : "=r"(*address));
        __asm__ volatile("mrc p15, 0, %0, c5, c0, 1" : "=r"(*status));
    }
}

static void print_registers(const struct frame *frame) {
    for (unsigned i = 0; i < 12; i += 4)
        board_print("fault: r%u=0x%08x r%u=0x%08x r%u=0x%08x r%u=0x%08x\n", i, frame->r[i], i + 1,
                    frame->r[i + 1], i + 2, frame->r[i + 2], i + 3, frame->r[i + 3]);
    board_print("fault: r12=0x%08x sp=0x%08x\n", frame->r[12], frame->sp);
}

/* Returns by how many bytes to skip when the run goes on. */
uint32_t exception_report(enum kind kind, const struct frame *frame) {
    static const char *const names[] = {"undefined", "prefetch_abort", "data_abort"};
    uint32_t address, status;

    read_fault(kind, &address, &status);
    if (expected && kind == KIND_DATA && (status & STATUS_CAUSE) == STATUS_ALIGNMENT) {
        trapped = true;
        return 4;
    }
    if (!reporting) {
        reporting = true;
        board_print("fault: kind=%s address=0x%08x pc=0x%08x lr=0x%08x status=0x%08x\n",
                    names[kind], address, frame->pc, frame->lr, status);
        print_registers(frame);
    }
    board_exit(1);
}

#ifdef CONFIG_PLUMB_ZYNQ_EMULATE_MISALIGNED

_Noreturn void exceptions_report_data_abort(const uint32_t r[16]) {
    struct frame frame = {.sp = r[13], .lr = r[14], .pc = r[15]};

    for (unsigned i = 0; i < 13; i++)
        frame.r[i] = r[i];
    exception_report(KIND_DATA, &frame);
    board_exit(1);
}

#endif

static inline void load_odd(void) {
    static uint32_t words[2];
    uint32_t value;

    expected = true;
    __asm__ volatile("ldr %0, [%1]" : "=r"(value) : "r"((uintptr_t)words + 1) : "memory");
    expected = false;
    if (trap_emulated())
        trapped = true;
}

void exceptions_check_alignment(void) {
    load_odd();
    if (!trapped) {
        board_print("panic: alignment trapping is off\n");
        board_exit(1);
    }
}

void exceptions_check_no_alignment(void) {
    trapped = false;
    load_odd();
    if (trapped) {
        board_print("panic: alignment trapping is on\n");
        board_exit(1);
    }
}
