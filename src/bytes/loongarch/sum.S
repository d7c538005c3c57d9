/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The Internet checksum for LoongArch64. No word is loaded but from an address that
 * its size divides.
 */
#include "bytes/select.h"

#ifdef PL_BYTES_LOONGARCH
#include "bytes/loongarch/words.inc"

/* Adds one piece of a word. */
        .macro  piece   load, size
        \load   $a4, $a0, 0
        addi.d  $a0, $a0, \size
        add.d   $a6, $a6, $a4
        .endm

/* All the words there are, 1 << `log` at a time. */
        .macro  words   log
        srli.d  $t0, $a1, \log + 3
        beqz    $t0, .Lnone\@
        slli.d  $t0, $t0, \log + 3
        sub.d   $a1, $a1, $t0
        add.d   $t0, $t0, $a0
.Lagain\@:
        .if     \log == 0
        ld.d    $a4, $a0, 0
        add_up  $a4
        .else
        .set    at, 0
        .rept   1 << \log >> 2
        ld.d    $a2, $a0, at
        ld.d    $a4, $a0, at + 8
        ld.d    $a5, $a0, at + 16
        ld.d    $a7, $a0, at + 24
        add_up  $a2, $a4, $a5, $a7
        .set    at, at + 32
        .endr
        .endif
        addi.d  $a0, $a0, 8 << \log
        bne     $a0, $t0, .Lagain\@
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
        move    $a3, $zero
        move    $a6, $zero
        move    $t1, $zero
        sltui   $t0, $a1, 8
        bnez    $t0, .Lfew

        andi    $t0, $a0, 7
        beqz    $t0, .Laligned
        andi    $t1, $a0, 1
        beqz    $t1, .Lhalfword
        addi.d  $a1, $a1, -1
        piece   ld.bu, 1
        slli.d  $a6, $a6, 8
.Lhalfword:
        andi    $t0, $a0, 2
        beqz    $t0, .Lword
        addi.d  $a1, $a1, -2
        piece   ld.hu, 2
.Lword:
        andi    $t0, $a0, 4
        beqz    $t0, .Laligned
        addi.d  $a1, $a1, -4
        piece   ld.wu, 4
.Laligned:
#ifndef __OPTIMIZE_SIZE__
        words   4
#endif
        words   2
        words   0
        andi    $t0, $a1, 4
        beqz    $t0, .Lno_word
        piece   ld.wu, 4
.Lno_word:
        andi    $t0, $a1, 2
        beqz    $t0, .Llast
        piece   ld.hu, 2
.Llast:
        andi    $t0, $a1, 1
        beqz    $t0, .Lfold
        piece   ld.bu, 1
.Lfold:
        fold    $t1
        ret

.Lpair:                                 # less than a word, at any address
        ld.bu   $a4, $a0, 0
        ld.bu   $a5, $a0, 1
        addi.d  $a0, $a0, 2
        addi.d  $a1, $a1, -2
        slli.d  $a5, $a5, 8
        add.d   $a6, $a6, $a4
        add.d   $a6, $a6, $a5
.Lfew:
        sltui   $t0, $a1, 2
        beqz    $t0, .Lpair
        b       .Llast
        .size   pl_sum, . - pl_sum

#endif
