/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Copy, and copy with checksum, for MIPS32, releases 1 to 5.
 *
 * What lies before the destination's first whole word is the head of one, and what
 * lies behind the last one a tail; each is loaded as a whole word of the source and the
 * part that is meant stored. Whole words come by pairs, from a source on a word with
 * one load each and from any other with two, in a row of units, one for each pair of a
 * block, entered where there are as many left of it as there are beyond whole blocks.
 *
 * The sum is taken of what is stored, in HI and LO as in sum.S.
 */
#include "bytes/select.h"

#ifdef PL_BYTES_MIPS
#include "bytes/mips/mips.inc"

        .macro  sum_up  summing, words:vararg
        .if     \summing
        .irp    word, \words
        maddu   \word, $a3
        .endr
        .endif
        .endm

        .macro  load    skewed, word, at
        .if     \skewed
        load_any \word, \at, $a1
        .else
        lw      \word, (\at)($a1)
        .endif
        .endm

/* All pairs of words there are, t1 bytes and then whole blocks; then t4 is where the destination's next word is. */
        .macro  pairs   summing, skewed, block
        addu    $t4, $a0, $a2
        andi    $a2, $a2, 7
        subu    $t4, $t4, $a2
        .if     \summing && \skewed     /* a unit's size by that of what it moves */
        sll     $t2, $t1, 2
        .else
        sll     $t2, $t1, 1
        .if     \summing || \skewed
        addu    $t2, $t2, $t1
        .endif
        .endif
        addu    $a0, $a0, $t1
        enter   .Lend\@, $t2, $t3
         addu   $a1, $a1, $t1
.Lblock\@:
        addiu   $a1, $a1, \block
        at = -(\block)
        .rept   \block / 8
        load    \skewed, $t0, at
        load    \skewed, $t1, at + 4
        sum_up  \summing, $t0
        sw      $t0, at($a0)
        sum_up  \summing, $t1
        sw      $t1, at + 4($a0)
        at = at + 8
        .endr
.Lend\@:
        bne     $a0, $t4, .Lblock\@
         addiu  $a0, $a0, \block
        .endm

        .macro  byte    summing, place, at
        lbu     $t0, \at($a1)
        sb      $t0, \at($a0)
        .if     \summing
        \place  $t0
        addu    $t2, $t2, $t0
        .endif
        .endm

/* a0 to, a1 from, a2 length, a3 one, t9 what lies before the destination's first word */
        .macro  copy    name, summing, block
        function \name
        sltiu   $t0, $a2, 4
        bnez    $t0, .Lfew\@
         negu   $t9, $a0
        andi    $t9, $t9, 3
        .if     \summing
        multu   $zero, $zero
        li      $a3, 1
        .endif
        beqz    $t9, .Lwords\@
         andi   $t0, $a1, 3
        load_any $t0, 0, $a1
        STORE_HEAD $t0, 0($a0)
        .if     \summing
        sll     $t1, $a0, 3             # a shift takes its distance modulo 32
        SHIFT_UP $t0, $t0, $t1
        maddu   $t0, $a3
        .endif
        addu    $a0, $a0, $t9
        addu    $a1, $a1, $t9
        subu    $a2, $a2, $t9
        andi    $t0, $a1, 3
.Lwords\@:
        bnez    $t0, .Lskewed\@
         andi   $t1, $a2, \block - 8
        pairs   \summing, 0, \block
        b       .Lword\@
         andi   $t0, $a2, 4
.Lskewed\@:
        pairs   \summing, 1, \block
        andi    $t0, $a2, 4
.Lword\@:
        beqz    $t0, .Lbehind\@
         andi   $a2, $a2, 3
        load_any $t0, 0, $a1
        addiu   $a1, $a1, 4
        sw      $t0, 0($t4)
        addiu   $t4, $t4, 4
        sum_up  \summing, $t0
.Lbehind\@:
        beqz    $a2, .Ldone\@
         addu   $a1, $a1, $a2
        addu    $t4, $t4, $a2
        load_any $t0, -4, $a1           # with bytes that went before: there are 4 at least
        .if     \summing
        STORE_TAIL $t0, -1($t4)
        sll     $t1, $a2, 3
        negu    $t1, $t1
        SHIFT_DOWN $t0, $t0, $t1
        maddu   $t0, $a3
.Ldone\@:
        fold    $t9
        .else
        jr      $ra
         STORE_TAIL $t0, -1($t4)
.Ldone\@:
        jr      $ra
         nop
        .endif

.Lfew\@:                                # at most 3 bytes, at any address
        andi    $t1, $a2, 2
        beqz    $t1, .Lodd\@
         move   $t2, $zero
        byte    \summing, even, 0
        byte    \summing, odd, 1
        addiu   $a0, $a0, 2
        addiu   $a1, $a1, 2
.Lodd\@:
        andi    $t1, $a2, 1
        beqz    $t1, .Lsmall\@
         move   $t9, $zero
        byte    \summing, even, 0
.Lsmall\@:
        .if     \summing
        mtlo    $t2
        b       .Ldone\@
         mthi   $zero
        .else
        jr      $ra
         nop
        .endif
        .size   \name, . - \name
        .endm

#ifdef __OPTIMIZE_SIZE__
#define COPY_BLOCK     32
#define COPY_SUM_BLOCK 32
#else
#define COPY_BLOCK     128
#define COPY_SUM_BLOCK 64
#endif

/* uint32_t pl_copy_sum(void *to, const void *from, size_t length) */
        copy    pl_copy_sum, 1, COPY_SUM_BLOCK

/* void pl_copy(void *to, const void *from, size_t length) */
        copy    pl_copy, 0, COPY_BLOCK

#endif
