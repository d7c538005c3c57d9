/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The Internet checksum for MIPS32, releases 1 to 5: words are multiplied by one and
 * added into HI and LO, 64 bits, so that nothing is done about carries. An interrupt
 * handler must keep HI and LO, as it must for any code that multiplies or divides.
 *
 * What lies before the first whole word and behind the last is a word too, of which
 * the bytes outside are not loaded. Whole words come by pairs, in a row of units, one
 * for each pair of a block, entered where there are as many left of it as there are
 * beyond whole blocks; so one row serves all lengths.
 */
#include "bytes/select.h"

#ifdef PL_BYTES_MIPS
#include "bytes/mips/mips.inc"

#ifdef __OPTIMIZE_SIZE__
#define BLOCK 32
#else
#define BLOCK 128
#endif

/* uint32_t pl_sum(const void *bytes, size_t length)
 *
 * a0 bytes, a1 length, a2 where the row is, a3 one, t4 where the pairs end */
        function pl_sum
        sltiu   $t0, $a1, 4
        bnez    $t0, .Lfew
         negu   $t2, $a0
        andi    $t2, $t2, 3             # before the first word
        li      $a3, 1
        beqz    $t2, .Lwords
         multu  $zero, $zero
        LOAD_HEAD $t0, 0($a0)
        sll     $t1, $a0, 3             # a shift takes its distance modulo 32
        SHIFT_UP $t0, $t0, $t1
        maddu   $t0, $a3
        subu    $a1, $a1, $t2
.Lwords:
        addu    $a2, $a0, $t2
        addu    $t4, $a2, $a1
        andi    $t1, $a1, BLOCK - 8
        andi    $a1, $a1, 7
        sll     $t2, $t1, 1             # a unit is twice as long as what it adds
        addu    $a2, $a2, $t1
        enter   .Lend, $t2, $t3
         subu   $t4, $t4, $a1
.Lblock:
        at = -BLOCK
        .rept   BLOCK / 8
        lw      $t0, at($a2)
        lw      $t1, at + 4($a2)
        maddu   $t0, $a3
        maddu   $t1, $a3
        at = at + 8
        .endr
.Lend:  bne     $a2, $t4, .Lblock
         addiu  $a2, $a2, BLOCK

        andi    $t0, $a1, 4
        beqz    $t0, .Lbehind
         andi   $a1, $a1, 3
        lw      $t0, 0($t4)
        addiu   $t4, $t4, 4
        maddu   $t0, $a3
.Lbehind:
        beqz    $a1, .Lfold
         addu   $t4, $t4, $a1
        LOAD_TAIL $t0, -1($t4)
        sll     $t1, $a1, 3
        negu    $t1, $t1
        SHIFT_DOWN $t0, $t0, $t1
        maddu   $t0, $a3
.Lfold: fold    $a0

.Lfew:  andi    $t0, $a1, 2             # at most 3 bytes, at any address
        beqz    $t0, .Lodd
         move   $t2, $zero
        lbu     $t0, 0($a0)
        lbu     $t1, 1($a0)
        addiu   $a0, $a0, 2
        even    $t0
        odd     $t1
        addu    $t2, $t0, $t1
.Lodd:  andi    $t0, $a1, 1
        beqz    $t0, .Lsmall
         mthi   $zero
        lbu     $t0, 0($a0)
        even    $t0
        addu    $t2, $t2, $t0
.Lsmall:
        mtlo    $t2
        b       .Lfold
         move   $a0, $zero
        .size   pl_sum, . - pl_sum

#endif
