/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The Internet checksum for RV64; on RV32 portable C is as good. No word is loaded but
 * from an address that its size divides.
 */
#include "bytes/select.h"

#if defined(PL_BYTES_RISCV) && !defined(PL_SUM_IN_C)
#include "bytes/riscv/words.inc"

/* Adds one piece of a word. */
        .macro  piece   load, size
        \load   a4, 0(a0)
        addi    a0, a0, \size
        add     a6, a6, a4
        .endm

/* All the words there are, `count` at a time. */
        .macro  words   count
        andi    t0, a1, -(\count * WORD)
        beqz    t0, .Lnone\@
        sub     a1, a1, t0
        add     t0, t0, a0
.Lagain\@:
        .if     \count == 1
        ld      a4, 0(a0)
        add_up  a4
        .else
        .set    at, 0
        .rept   \count / 4
        ld      a2, at + 0 * WORD(a0)
        ld      a4, at + 1 * WORD(a0)
        ld      a5, at + 2 * WORD(a0)
        ld      a7, at + 3 * WORD(a0)
        add_up  a2, a4, a5, a7
        .set    at, at + 4 * WORD
        .endr
        .endif
        addi    a0, a0, \count * WORD
        bne     a0, t0, .Lagain\@
.Lnone\@:
        .endm

/* uint32_t pl_sum(const void *bytes, size_t length)
 *
 * a0 bytes, a1 length, a3 sum, a6 carries, t0 where a loop ends, t1 odd start */
        .section .text.pl_sum, "ax", %progbits
        .balign 4
        .globl  pl_sum
        .type   pl_sum, %function
pl_sum:
        li      a3, 0
        li      a6, 0
        li      t1, 0
        li      t0, WORD
        bltu    a1, t0, .Lfew

        andi    t0, a0, WORD - 1
        beqz    t0, .Laligned
        andi    t1, a0, 1
        beqz    t1, .Lhalfword
        addi    a1, a1, -1
        piece   lbu, 1
        slli    a6, a6, 8
.Lhalfword:
        andi    t0, a0, 2
        beqz    t0, .Lword
        addi    a1, a1, -2
        piece   lhu, 2
.Lword:
        andi    t0, a0, 4
        beqz    t0, .Laligned
        addi    a1, a1, -4
        piece   lwu, 4
.Laligned:
#ifndef __OPTIMIZE_SIZE__
        words   16
#endif
        words   4
        words   1
        andi    t0, a1, 4
        beqz    t0, .Lno_word
        piece   lwu, 4
.Lno_word:
        andi    t0, a1, 2
        beqz    t0, .Llast
        piece   lhu, 2
.Llast:
        andi    t0, a1, 1
        beqz    t0, .Lfold
        piece   lbu, 1
.Lfold:
        fold    t1
        ret

.Lpair:                                 # less than a word, at any address
        lbu     a4, 0(a0)
        lbu     a5, 1(a0)
        addi    a0, a0, 2
        add     a6, a6, a4
        slli    a5, a5, 8
        add     a6, a6, a5
        addi    a1, a1, -2
.Lfew:
        li      t0, 2
        bgeu    a1, t0, .Lpair
        j       .Llast
        .size   pl_sum, . - pl_sum

#endif
