/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The kernel's services, called by hand: three arguments are enough for all of
 * them. Numbers and registers as in each architecture's syscall(2).
 */
#include "user.h"

#if defined(__x86_64__)
enum { WRITE = 1, EXIT = 60, PROTECT = 10 };

static long call_kernel(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
}

#elif defined(__aarch64__)
enum { WRITE = 64, EXIT = 93, PROTECT = 226 };

static long call_kernel(long number, long a, long b, long c) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}

#elif defined(__arm__)
enum { WRITE = 4, EXIT = 1, PROTECT = 125 };

/* The number goes through a register of its own, as r7 may be Thumb's frame pointer. */
static long call_kernel(long number, long a, long b, long c) {
    register long r0 __asm__("r0") = a;
    register long r1 __asm__("r1") = b;
    register long r2 __asm__("r2") = c;
    register long r3 __asm__("r3") = number;
    __asm__ volatile("push {r4, r7}\n\tmov r7, r3\n\tsvc 0\n\tpop {r4, r7}"
                     : "+r"(r0)
                     : "r"(r1), "r"(r2), "r"(r3)
                     : "memory");
    return r0;
}

#elif defined(__riscv)
enum { WRITE = 64, EXIT = 93, PROTECT = 226 };

static long call_kernel(long number, long a, long b, long c) {
    register long a7 __asm__("a7") = number;
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2) : "memory");
    return a0;
}

#elif defined(__loongarch__)
enum { WRITE = 64, EXIT = 93, PROTECT = 226 };

static long call_kernel(long number, long a, long b, long c) {
    register long a7 __asm__("$a7") = number;
    register long a0 __asm__("$a0") = a;
    register long a1 __asm__("$a1") = b;
    register long a2 __asm__("$a2") = c;
    __asm__ volatile("syscall 0"
                     : "+r"(a0)
                     : "r"(a7), "r"(a1), "r"(a2)
                     : "$t0", "$t1", "$t2", "$t3", "$t4", "$t5", "$t6", "$t7", "$t8", "memory");
    return a0;
}

#elif defined(__mips__)
enum { WRITE = 4004, EXIT = 4001, PROTECT = 4125 };

static long call_kernel(long number, long a, long b, long c) {
    register long v0 __asm__("$2") = number;
    register long a0 __asm__("$4") = a;
    register long a1 __asm__("$5") = b;
    register long a2 __asm__("$6") = c;
    register long a3 __asm__("$7");
    __asm__ volatile("syscall"
                     : "+r"(v0), "=r"(a3)
                     : "r"(a0), "r"(a1), "r"(a2)
                     : "$1", "$3", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$24",
                       "$25", "hi", "lo", "memory");
    return a3 ? -v0 : v0;
}

#elif defined(__sparc__)
enum { WRITE = 4, EXIT = 1, PROTECT = 74 };

static long call_kernel(long number, long a, long b, long c) {
    register long g1 __asm__("g1") = number;
    register long o0 __asm__("o0") = a;
    register long o1 __asm__("o1") = b;
    register long o2 __asm__("o2") = c;
    /* A failure sets the carry. */
    __asm__ volatile("ta 0x10\n\tbcs,a 1f\n\t sub %%g0, %%o0, %%o0\n1:"
                     : "+r"(o0)
                     : "r"(g1), "r"(o1), "r"(o2)
                     : "cc", "memory");
    return o0;
}
#endif

void board_write(const char *bytes, unsigned length) {
    while (length) {
        long written = call_kernel(WRITE, 1, (long)bytes, (long)length);
        if (written <= 0)
            return;
        bytes += written;
        length -= (unsigned)written;
    }
}

_Noreturn void board_exit(int status) {
    for (;;)
        call_kernel(EXIT, status, 0, 0);
}

bool user_protect(void *pages, size_t length, bool usable) {
    enum { NONE = 0, READ_WRITE = 3 };
    return call_kernel(PROTECT, (long)pages, (long)length, usable ? READ_WRITE : NONE) == 0;
}

bool user_same(const char *one, const char *other) {
    for (; *one && *one == *other; one++)
        other++;
    return *one == *other;
}

__attribute__((noinline, used)) void board_measure_start(void) {
    __asm__ volatile("");
}

__attribute__((noinline, used)) void board_measure_stop(void) {
    __asm__ volatile("");
}
