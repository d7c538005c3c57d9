/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The Internet checksum for SPARC V8: doublewords, added with carry.
 *
 * What lies before the first and behind the last doubleword is added first. Then comes
 * a row of units, one for each doubleword of a block, entered where there are as many
 * left of it as there are beyond whole blocks; so one row serves all lengths. The
 * carry lives in its flag all along a row, and is added at its end, as only the flags
 * can tell whether another block follows. At -O2 the row is as long as it is because
 * its end costs four instructions.
 */
#include "bytes/select.h"

#ifdef PL_BYTES_SPARC
#include "bytes/sparc/sparc.inc"

#ifdef __OPTIMIZE_SIZE__
#define BLOCK 64
#else
#define BLOCK 512
#endif

/* uint32_t pl_sum(const void *bytes, size_t length)
 *
 * %o0 bytes, %o1 length and then what of it is less than a block, %g1 sum, %g2 whole
 * blocks, %g3 the word before the first doubleword, %g4 where an odd start returns */
        function pl_sum
        andcc   %o0, 7, %g1
        bne     .Lunaligned
         andcc  %o1, 7 - BLOCK, %g2     ! all but doublewords of one block
        be      .Lenter
         srl    %o1, 1, %o5
        mov     0, %g3
.Lends: andcc   %o1, 1, %g0             ! %g1 and all but words are small: no carry
        be      1f
         and    %o1, -2, %o5
        ldub    [%o0 + %o5], %o2
        sll     %o2, 8, %o2
        add     %g1, %o2, %g1
1:      andcc   %o1, 2, %g0
        be      2f
         and    %o1, -4, %o5
        lduh    [%o0 + %o5], %o2
        add     %g1, %o2, %g1
2:      andcc   %o1, 4, %g0             ! clears the carry
        be      3f
         and    %o1, -8, %o5
        ld      [%o0 + %o5], %o2
        addcc   %g1, %o2, %g1
3:      addxcc  %g1, %g3, %g1
        and     %o1, 7 - BLOCK, %g2
        and     %o1, BLOCK - 8, %o1
        srl     %o1, 1, %o5
.Lenter:                                ! a unit is 3/2 as long as what it adds
        add     %o5, %o1, %o5
        enter   .Lend, %o5, %o4
         add    %o0, %o1, %o0
.Lblock:
        at = -BLOCK
        .rept   BLOCK / 8
        ldd     [%o0 + at], %o2
        addxcc  %g1, %o2, %g1
        addxcc  %g1, %o3, %g1
        at = at + 8
        .endr
.Lend:  addx    %g1, 0, %g1             ! brings no carry: only one that was there could
        subcc   %g2, BLOCK, %g2
        bcc,a   .Lblock                 ! and the carry is clear
         add    %o0, BLOCK, %o0
.Lhalve:
        halves  %g1, %o2
        retl
         addx   %g1, 0, %o0

.Lunaligned:
        cmp     %o1, 8
        bcs     .Lfew
         sub    %g0, %o0, %o5           ! what lies before a doubleword, modulo 8
        andcc   %o0, 1, %g0
        be      .Leven
         mov    0, %g1
        ldub    [%o0], %g1              ! the sum of the bytes from there on, swapped
        mov     %o7, %g4
        add     %o0, 1, %o0
        call    .Leven
         sub    %o1, 1, %o1
        sll     %o0, 24, %o1
        srl     %o0, 8, %o0
        srl     %o1, 16, %o1
        jmp     %g4 + 8
         or     %o0, %o1, %o0
.Leven: and     %o5, 6, %o5
        andcc   %o5, 2, %g0
        be      1f
         sub    %o1, %o5, %o1
        lduh    [%o0], %o2
        add     %g1, %o2, %g1
1:      andcc   %o5, 4, %g0
        add     %o0, %o5, %o0
        bne,a   .Lends
         ld     [%o0 - 4], %g3
        ba      .Lends
         mov    0, %g3

.Lfew:  subcc   %o1, 2, %o1             ! at most 7 bytes, at any address
        bneg    2f
         mov    0, %g1
1:      ldub    [%o0], %o2
        ldub    [%o0 + 1], %o3
        add     %o0, 2, %o0
        sll     %o2, 8, %o2
        add     %g1, %o3, %g1
        subcc   %o1, 2, %o1
        bpos    1b
         add    %g1, %o2, %g1
2:      andcc   %o1, 1, %g0
        be      .Lhalve
         nop
        ldub    [%o0], %o2
        sll     %o2, 8, %o2
        ba      .Lhalve
         add    %g1, %o2, %g1
        .size   pl_sum, . - pl_sum

        .section .note.GNU-stack, "", %progbits
#endif
