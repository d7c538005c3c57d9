/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Copy, and copy with checksum, for RISC-V. No word is loaded or stored but at an
 * address that its size divides.
 *
 * How the two sides lie to each other decides. When both come to a word together, all
 * loads and stores are words. When both come to half a word together they are halves:
 * a load and a store cost less than putting a word together (but more space, so this
 * is left out where space counts). Otherwise the destination is brought to a word and
 * the source loaded by words all the same, each word stored being joined from two; the
 * source's first, partial word is loaded in pieces, so that nothing outside is read.
 *
 * For a processor that takes misaligned words both sides always go together: the
 * destination lies on words and the source where it likes. That is a second entry, or
 * all there is.
 */
#include "bytes/select.h"

#ifdef PL_BYTES_RISCV
#include "bytes/riscv/words.inc"

/* a0 to, a1 from, a2 length, a3 sum, a6 carries, a7 where a loop ends, t3 held,
 * t4 odd destination, t5 and t6 the shifts of a join */

        .macro  add_any summing, size, registers:vararg
        .if     \summing
        .if     \size == WORD
        add_up  \registers
        .else
        .irp    register, \registers
        add     a6, a6, \register
        .endr
        .endif
        .endif
        .endm

/* One piece of a word. */
        .macro  piece   summing, load, store, size
        \load   a4, 0(a1)
        addi    a1, a1, \size
        \store  a4, 0(a0)
        addi    a0, a0, \size
        add_any \summing, 0, a4
        .endm

/* Where a loop over blocks of so many bytes ends; leaves at once if there is none. */
        .macro  begin   size, otherwise
        andi    t2, a2, -(\size)
        beqz    t2, \otherwise
        sub     a2, a2, t2
        add     a7, a0, t2
        .endm

        .macro  advance size, again
        addi    a1, a1, \size
        addi    a0, a0, \size
        bne     a0, a7, \again
        .endm

/* All words or halves there are, `count` at a time. */
        .macro  units   summing, load, store, size, count
        begin   \count * \size, .Lnone\@
.Lagain\@:
        .if     \count == 1
        \load   a4, 0(a1)
        \store  a4, 0(a0)
        add_any \summing, \size, a4
        .else
        .set    at, 0
        .rept   \count / 4
        \load   a4, (at + 0 * \size)(a1)
        \load   a5, (at + 1 * \size)(a1)
        \load   t0, (at + 2 * \size)(a1)
        \load   t1, (at + 3 * \size)(a1)
        \store  a4, (at + 0 * \size)(a0)
        \store  a5, (at + 1 * \size)(a0)
        \store  t0, (at + 2 * \size)(a0)
        \store  t1, (at + 3 * \size)(a0)
        add_any \summing, \size, a4, a5, t0, t1
        .set    at, at + 4 * \size
        .endr
#if WORD == 4
        .if     \summing && \size == HALF && \count > 4
        bgez    a6, .Lfits\@            /* 16 halves more fit, and the rest */
        slli    t2, a6, 16
        srli    t2, t2, 16
        srli    a6, a6, 16
        add     a6, a6, t2
.Lfits\@:
        .endif
#endif
        .endif
        advance \count * \size, .Lagain\@
.Lnone\@:
        .endm

/* Pairs of bytes up to a7, the first of them even in the sum. */
        .macro  pairs   summing
.Lpair\@:
        lbu     a4, 0(a1)
        lbu     a5, 1(a1)
        addi    a1, a1, 2
        sb      a4, 0(a0)
        sb      a5, 1(a0)
        addi    a0, a0, 2
        .if     \summing
        slli    a5, a5, 8
        add     a6, a6, a4
        add     a6, a6, a5
        .endif
        bne     a0, a7, .Lpair\@
        .endm

/* `held` becomes the word between it and the next. */
        .macro  join    held, next
        srl     \held, \held, t5
        sll     t2, \next, t6
        or      \held, \held, t2
        .endm

        .macro  joined  summing, held, next, at
        join    \held, \next
        STORE   \held, (\at)(a0)
        add_any \summing, WORD, \held
        .endm

/* All words there are, joined, `count` at a time. */
        .macro  joins   summing, count
        begin   \count * WORD, .Lnone\@
.Lagain\@:
        .if     \count == 1
        LOAD    a4, 0(a1)
        joined  \summing, t3, a4, 0
        mv      t3, a4
        .else
        .set    at, 0
        .rept   \count / 4
        LOAD    a4, (at + 0 * WORD)(a1)
        LOAD    a5, (at + 1 * WORD)(a1)
        LOAD    t0, (at + 2 * WORD)(a1)
        joined  \summing, t3, a4, at + 0 * WORD
        LOAD    t3, (at + 3 * WORD)(a1)
        joined  \summing, a4, a5, at + 1 * WORD
        joined  \summing, a5, t0, at + 2 * WORD
        joined  \summing, t0, t3, at + 3 * WORD
        .set    at, at + 4 * WORD
        .endr
        .endif
        advance \count * WORD, .Lagain\@
.Lnone\@:
        .endm

/* Brings the destination to an even address, and from there to half a word. */
        .macro  to_even summing
        andi    t1, a0, 1
        beqz    t1, .Leven\@
        addi    a2, a2, -1
        piece   \summing, lbu, sb, 1
        .if     \summing
        slli    a6, a6, 8
        li      t4, 1
        .endif
.Leven\@:
        .endm

        .macro  to_half summing
#if HALF > 2
        andi    t1, a0, 2
        beqz    t1, .Lhalf\@
        addi    a2, a2, -2
        piece   \summing, lhu, sh, 2
.Lhalf\@:
#endif
        .endm

        .macro  enter   summing, few
        .if     \summing
        li      a3, 0
        li      a6, 0
        li      t4, 0
        .endif
        li      t0, WORD
        bltu    a2, t0, \few
        .endm

        .macro  copy    name, unaligned, summing
        .section .text.\name, "ax", %progbits
        .balign 4
        .globl  \name
        .type   \name, %function
\name:
        enter   \summing, .Ltail\@
#ifndef PL_BYTES_UNALIGNED
        xor     t0, a0, a1
        andi    t0, t0, WORD - 1
        bnez    t0, .Lapart\@
#endif
.Ltogether\@:
        to_even \summing
        to_half \summing
        andi    t1, a0, HALF
        beqz    t1, .Laligned\@
        addi    a2, a2, -HALF
        piece   \summing, LOAD_HALF, STORE_HALF, HALF
.Laligned\@:
#ifndef __OPTIMIZE_SIZE__
        units   \summing, LOAD, STORE, WORD, 16
#endif
        units   \summing, LOAD, STORE, WORD, 4
        units   \summing, LOAD, STORE, WORD, 1
        andi    t0, a2, HALF
        beqz    t0, .Lpieces\@
        piece   \summing, LOAD_HALF, STORE_HALF, HALF
.Lpieces\@:
#if HALF > 2
        andi    t0, a2, 2
        beqz    t0, .Llast\@
        piece   \summing, lhu, sh, 2
#endif
.Llast\@:
        andi    t0, a2, 1
        beqz    t0, .Ldone\@
        piece   \summing, lbu, sb, 1
.Ldone\@:
        .if     \summing
        fold    t4
        .endif
        ret

#ifndef PL_BYTES_UNALIGNED
.Lapart\@:
        to_even \summing
#ifndef __OPTIMIZE_SIZE__
        andi    t0, t0, HALF - 1
        bnez    t0, .Lskewed\@
        to_half \summing
        units   \summing, LOAD_HALF, STORE_HALF, HALF, 16
        units   \summing, LOAD_HALF, STORE_HALF, HALF, 4
        units   \summing, LOAD_HALF, STORE_HALF, HALF, 1
        j       .Lpieces\@
#endif

.Lskewed\@:
        neg     t0, a0
        andi    t0, t0, WORD - 1
        beqz    t0, .Lhold\@
        sub     a2, a2, t0
        add     a7, a0, t0
        pairs   \summing
.Lhold\@:
        slli    t5, a1, 3               /* a shift takes its distance modulo a word */
        neg     t6, t5
        neg     t0, a1
        andi    t0, t0, WORD - 1
        sub     a2, a2, t0
        li      t1, WORD
        blt     a2, t1, .Lback\@
        li      t3, 0
        andi    t1, a1, 1
        beqz    t1, .Lheld1\@
        lbu     t3, 0(a1)
        addi    a1, a1, 1
        sll     t3, t3, t5
.Lheld1\@:
        andi    t1, a1, 2
        beqz    t1, .Lheld2\@
        lhu     t1, 0(a1)
        slli    t2, a1, 3
        addi    a1, a1, 2
        sll     t1, t1, t2
        or      t3, t3, t1
.Lheld2\@:
#if WORD > 4
        andi    t1, a1, 4
        beqz    t1, .Lheld4\@
        lwu     t1, 0(a1)
        addi    a1, a1, 4
        slli    t1, t1, 32
        or      t3, t3, t1
.Lheld4\@:
#endif
#ifndef __OPTIMIZE_SIZE__
        joins   \summing, 8
#else
        joins   \summing, 4
#endif
        joins   \summing, 1
        srli    t0, t6, 3               /* what is held goes bytewise */
        andi    t0, t0, WORD - 1
        sub     a1, a1, t0
.Lback\@:
        add     a2, a2, t0
#endif
.Ltail\@:                               /* less than two words, at any address */
        andi    t0, a2, -2
        beqz    t0, .Llast\@
        add     a7, a0, t0
        pairs   \summing
        j       .Llast\@
        .size   \name, . - \name

#ifdef PL_BYTES_GENERIC
        .globl  \unaligned
        .type   \unaligned, %function
\unaligned:
        enter   \summing, .Ltail\@
        j       .Ltogether\@
        .size   \unaligned, . - \unaligned
#endif
        .endm

/* uint32_t pl_copy_sum(void *to, const void *from, size_t length) */
        copy    pl_copy_sum, pl_copy_sum_unaligned, 1

/* void pl_copy(void *to, const void *from, size_t length) */
        copy    pl_copy, pl_copy_unaligned, 0

#endif
