/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Copy, and copy with checksum, for LoongArch64. No word is loaded or stored but at an
 * address that its size divides.
 *
 * The destination is brought to a word. When the source then is at one too, both go by
 * words. Otherwise the source is loaded by words all the same, and each word stored is
 * picked from two; its first, partial word is loaded in pieces, so that nothing
 * outside is read. The instruction that picks has its place fixed, so there are seven
 * loops, and shifts for what they leave and where space counts.
 *
 * For a processor that takes misaligned words both sides always go together: the
 * destination lies on words and the source where it likes. That is a second entry, or
 * all there is.
 */
#include "bytes/select.h"

#ifdef PL_BYTES_LOONGARCH
#include "bytes/loongarch/words.inc"

/* a0 to, a1 from, a2 length, a3 sum, a6 carries, a7 where a loop ends, t3 held,
 * t4 odd destination, t5 and t6 the shifts of a join */

        .macro  add_any summing, registers:vararg
        .if     \summing
        add_up  \registers
        .endif
        .endm

/* One piece of a word. */
        .macro  piece   summing, load, store, size
        \load   $a4, $a1, 0
        addi.d  $a1, $a1, \size
        \store  $a4, $a0, 0
        addi.d  $a0, $a0, \size
        .if     \summing
        add.d   $a6, $a6, $a4
        .endif
        .endm

/* Where a loop over blocks of 1 << `log` words ends; leaves at once if there is none. */
        .macro  begin   log, otherwise
        srli.d  $t2, $a2, \log + 3
        beqz    $t2, \otherwise
        slli.d  $t2, $t2, \log + 3
        sub.d   $a2, $a2, $t2
        add.d   $a7, $a0, $t2
        .endm

        .macro  advance log, again
        addi.d  $a1, $a1, 8 << \log
        addi.d  $a0, $a0, 8 << \log
        bne     $a0, $a7, \again
        .endm

/* All words there are, 1 << `log` at a time. */
        .macro  words   summing, log
        begin   \log, .Lnone\@
.Lagain\@:
        .if     \log == 0
        ld.d    $a4, $a1, 0
        st.d    $a4, $a0, 0
        add_any \summing, $a4
        .else
        .set    at, 0
        .rept   1 << \log >> 2
        ld.d    $a4, $a1, at
        ld.d    $a5, $a1, at + 8
        ld.d    $t0, $a1, at + 16
        ld.d    $t1, $a1, at + 24
        st.d    $a4, $a0, at
        st.d    $a5, $a0, at + 8
        st.d    $t0, $a0, at + 16
        st.d    $t1, $a0, at + 24
        add_any \summing, $a4, $a5, $t0, $t1
        .set    at, at + 32
        .endr
        .endif
        advance \log, .Lagain\@
.Lnone\@:
        .endm

/* Pairs of bytes up to a7, the first of them even in the sum. */
        .macro  pairs   summing
.Lpair\@:
        ld.bu   $a4, $a1, 0
        ld.bu   $a5, $a1, 1
        addi.d  $a1, $a1, 2
        st.b    $a4, $a0, 0
        st.b    $a5, $a0, 1
        addi.d  $a0, $a0, 2
        .if     \summing
        slli.d  $a5, $a5, 8
        add.d   $a6, $a6, $a4
        add.d   $a6, $a6, $a5
        .endif
        bne     $a0, $a7, .Lpair\@
        .endm

/* `held`, of which the last `count` bytes are still to be stored, becomes the word
 * between it and the next; any count goes through the shifts. */
        .macro  join    held, next, count
        .ifc    \count, any
        srl.d   \held, \held, $t5
        sll.d   $t2, \next, $t6
        or      \held, \held, $t2
        .else
        bytepick.d \held, \held, \next, \count
        .endif
        .endm

        .macro  joined  summing, held, next, count, at
        join    \held, \next, \count
        st.d    \held, $a0, \at
        add_any \summing, \held
        .endm

/* Blocks of 1 << `log` words up to a7. */
        .macro  joins   summing, log, count
.Lagain\@:
        .if     \log == 0
        ld.d    $a4, $a1, 0
        joined  \summing, $t3, $a4, \count, 0
        move    $t3, $a4
        .else
        .set    at, 0
        .rept   1 << \log >> 2
        ld.d    $a4, $a1, at
        ld.d    $a5, $a1, at + 8
        ld.d    $t0, $a1, at + 16
        joined  \summing, $t3, $a4, \count, at
        ld.d    $t3, $a1, at + 24
        joined  \summing, $a4, $a5, \count, at + 8
        joined  \summing, $a5, $t0, \count, at + 16
        joined  \summing, $t0, $t3, \count, at + 24
        .set    at, at + 32
        .endr
        .endif
        advance \log, .Lagain\@
        .endm

/* Brings the destination to an even address. */
        .macro  to_even summing
        andi    $t1, $a0, 1
        beqz    $t1, .Leven\@
        addi.d  $a2, $a2, -1
        piece   \summing, ld.bu, st.b, 1
        .if     \summing
        slli.d  $a6, $a6, 8
        ori     $t4, $zero, 1
        .endif
.Leven\@:
        .endm

        .macro  enter   summing, few
        .if     \summing
        move    $a3, $zero
        move    $a6, $zero
        move    $t4, $zero
        .endif
        sltui   $t0, $a2, 8
        bnez    $t0, \few
        .endm

        .macro  copy    name, unaligned, summing, log
        .section .text.\name, "ax", %progbits
        .balign 4
        .globl  \name
        .type   \name, %function
\name:
        enter   \summing, .Ltail\@
#ifndef PL_BYTES_UNALIGNED
        xor     $t0, $a0, $a1
        andi    $t0, $t0, 7
        bnez    $t0, .Lapart\@
#endif
.Ltogether\@:
        to_even \summing
        andi    $t0, $a0, 2
        beqz    $t0, .Lhalf\@
        addi.d  $a2, $a2, -2
        piece   \summing, ld.hu, st.h, 2
.Lhalf\@:
        andi    $t0, $a0, 4
        beqz    $t0, .Laligned\@
        addi.d  $a2, $a2, -4
        piece   \summing, ld.wu, st.w, 4
.Laligned\@:
#ifndef __OPTIMIZE_SIZE__
        words   \summing, 4
#endif
        words   \summing, 2
        words   \summing, 0
        andi    $t0, $a2, 4
        beqz    $t0, .Lno_word\@
        piece   \summing, ld.wu, st.w, 4
.Lno_word\@:
        andi    $t0, $a2, 2
        beqz    $t0, .Llast\@
        piece   \summing, ld.hu, st.h, 2
.Llast\@:
        andi    $t0, $a2, 1
        beqz    $t0, .Ldone\@
        piece   \summing, ld.bu, st.b, 1
.Ldone\@:
        .if     \summing
        fold    $t4
        .endif
        ret

#ifndef PL_BYTES_UNALIGNED
.Lapart\@:
        to_even \summing
        sub.d   $t0, $zero, $a0
        andi    $t0, $t0, 7
        beqz    $t0, .Lhold\@
        sub.d   $a2, $a2, $t0
        add.d   $a7, $a0, $t0
        pairs   \summing
.Lhold\@:
        slli.d  $t5, $a1, 3             /* a shift takes its distance modulo a word */
        sub.d   $t6, $zero, $t5
        sub.d   $t0, $zero, $a1
        andi    $t0, $t0, 7
        sub.d   $a2, $a2, $t0
        slti    $t1, $a2, 8
        bnez    $t1, .Lback\@
        move    $t3, $zero
        andi    $t1, $a1, 1
        beqz    $t1, .Lheld1\@
        ld.bu   $t3, $a1, 0
        addi.d  $a1, $a1, 1
        sll.d   $t3, $t3, $t5
.Lheld1\@:
        andi    $t1, $a1, 2
        beqz    $t1, .Lheld2\@
        ld.hu   $t1, $a1, 0
        slli.d  $t2, $a1, 3
        addi.d  $a1, $a1, 2
        sll.d   $t1, $t1, $t2
        or      $t3, $t3, $t1
.Lheld2\@:
        andi    $t1, $a1, 4
        beqz    $t1, .Lheld4\@
        ld.wu   $t1, $a1, 0
        addi.d  $a1, $a1, 4
        slli.d  $t1, $t1, 32
        or      $t3, $t3, $t1
.Lheld4\@:

#ifdef __OPTIMIZE_SIZE__
        begin   2, .Lrest\@
        joins   \summing, 2, any
#else
        begin   \log, .Lrest\@
        ori     $t1, $zero, 4
        beq     $t0, $t1, .Lheld_4_\@
        bltu    $t0, $t1, .Lheld_1_to_3_\@
        ori     $t1, $zero, 6
        beq     $t0, $t1, .Lheld_6_\@
        bltu    $t0, $t1, .Lheld_5_\@
        joins   \summing, \log, 7
        b       .Lrest\@
.Lheld_1_to_3_\@:
        ori     $t1, $zero, 2
        beq     $t0, $t1, .Lheld_2_\@
        bltu    $t0, $t1, .Lheld_1_\@
        joins   \summing, \log, 3
        b       .Lrest\@
.Lheld_1_\@:
        joins   \summing, \log, 1
        b       .Lrest\@
.Lheld_2_\@:
        joins   \summing, \log, 2
        b       .Lrest\@
.Lheld_4_\@:
        joins   \summing, \log, 4
        b       .Lrest\@
.Lheld_5_\@:
        joins   \summing, \log, 5
        b       .Lrest\@
.Lheld_6_\@:
        joins   \summing, \log, 6
#endif
.Lrest\@:
        begin   0, .Lput_back\@
        joins   \summing, 0, any
.Lput_back\@:
        srli.d  $t0, $t6, 3             /* what is held goes bytewise */
        andi    $t0, $t0, 7
        sub.d   $a1, $a1, $t0
.Lback\@:
        add.d   $a2, $a2, $t0
#endif
.Ltail\@:                               /* less than two words, at any address */
        bstrpick.d $t0, $a2, 3, 1
        beqz    $t0, .Llast\@
        alsl.d  $a7, $t0, $a0, 1
        pairs   \summing
        b       .Llast\@
        .size   \name, . - \name

#ifdef PL_BYTES_GENERIC
        .globl  \unaligned
        .type   \unaligned, %function
\unaligned:
        enter   \summing, .Ltail\@
        b       .Ltogether\@
        .size   \unaligned, . - \unaligned
#endif
        .endm

/* uint32_t pl_copy_sum(void *to, const void *from, size_t length) */
        copy    pl_copy_sum, pl_copy_sum_unaligned, 1, 2

/* void pl_copy(void *to, const void *from, size_t length) */
        copy    pl_copy, pl_copy_unaligned, 0, 3

#endif
