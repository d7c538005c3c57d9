/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Where a process begins: the kernel leaves the count of arguments, and after it
 * their addresses, at the stack pointer; it is passed to user_start(). One entry per
 * instruction set, and what its compiler takes for granted (RISC-V's gp is not: no
 * relaxation is linked).
 */
#include "user.h"

_Noreturn void user_start(long *stack);

/* clang-format off */
#define ENTRY(body) __asm__(".text\n.globl _start\n.type _start, %function\n_start:\n" body)

#if defined(__x86_64__)
ENTRY("xor %ebp, %ebp\n mov %rsp, %rdi\n and $-16, %rsp\n call user_start\n");
#elif defined(__aarch64__)
ENTRY("mov x29, #0\n mov x0, sp\n bl user_start\n");
#elif defined(__thumb__)
__asm__(".syntax unified\n.text\n.thumb\n.thumb_func\n.globl _start\n.type _start, %function\n_start:\n"
        "mov r0, sp\n bl user_start\n");
#elif defined(__arm__)
ENTRY("mov r0, sp\n bic sp, sp, #7\n bl user_start\n");
#elif defined(__riscv)
__asm__(".text\n.globl _start\n.type _start, @function\n_start:\n"
        "mv a0, sp\n andi sp, sp, -16\n call user_start\n");
#elif defined(__loongarch__)
__asm__(".text\n.globl _start\n.type _start, @function\n_start:\n"
        "move $a0, $sp\n bstrins.d $sp, $zero, 3, 0\n bl user_start\n");
#elif defined(__mips__)
__asm__(".text\n.set noreorder\n.globl _start\n.globl __start\n.type _start, @function\n"
        "_start:\n__start:\n"
        "move $4, $29\n addiu $29, $29, -32\n jal user_start\n nop\n.set reorder\n");
#elif defined(__sparc__)
__asm__(".text\n.globl _start\n.type _start, #function\n_start:\n"
        "mov %g0, %fp\n add %sp, 64, %o0\n sub %sp, 96, %sp\n call user_start\n nop\n");
#else
#error "this instruction set has no entry here"
#endif
/* clang-format on */

_Noreturn void user_start(long *stack) {
    board_exit(user_main((int)stack[0], (char **)(stack + 1)));
}
