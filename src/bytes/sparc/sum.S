/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The Internet checksum for SPARC V8: doublewords, added with carry.
 *
 * A row of units, one for each doubleword of a block, is entered where there are as
 * many left of it as there are to add, or beyond whole blocks; so one row serves all
 * lengths. The carry lives in its flag all along a row, and is added at its end, as
 * only the flags can tell whether another block follows.
 *
 * What lies before the first and behind the last doubleword: a branch for each bit of
 * its length, where space counts; where it does not, a jump to straight code for each
 * of the eight places to begin and to end, in the order of the bytes.
 */
#include "bytes/select.h"

#ifdef PL_BYTES_SPARC
#include "bytes/sparc/sparc.inc"

/* uint32_t pl_sum(const void *bytes, size_t length) */
        function pl_sum
#ifdef __OPTIMIZE_SIZE__
#define BLOCK 64

/* %o0 bytes, %o1 length and then what of it is less than a block, %g1 sum, %g2 whole
 * blocks, %g3 the word before the first doubleword, %g4 where an odd start returns */
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
#else
/* There are two kinds of rows: short ones, for as long as this many bytes beside what
 * lies before them, and a long one whose end, which asks for another block, costs four
 * instructions more. */
#define SHORT 256
#define BLOCK 512

/* Binary logarithms of how much code there is for each place to begin and to end. */
#define HEAD_BITS 5
#define TAIL_BITS 6
#define TAILS     (8 << TAIL_BITS)

/* Where in the code things lie, from .Lheads, which is behind the tails of odd starts.
 * To enter is to jump to where there is nothing left of a row, and back from there. */
#define ROW_ODD    (8 << HEAD_BITS)
#define ENTER_ODD  (ROW_ODD + SHORT / 8 * 12)
#define ROW_EVEN   (ENTER_ODD + 8)
#define ENTER_EVEN (ROW_EVEN + SHORT / 8 * 12)
#define TAILS_EVEN (ENTER_EVEN + 16)
#define JUMP       (TAILS_EVEN + TAILS)
#define ROW_LONG   (JUMP + 8)
#define ENTER_LONG (ROW_LONG + BLOCK / 8 * 12 - 4)

/* %o0 bytes, %o1 length and then for whole blocks, %o4 the end and then that of the
 * doublewords of a row, %o5 where to enter it, %g1 sum. A row goes on to the tails: %g2
 * ahead of %g3, .Lheads, when the start is odd; else of %g4, .Ljump.
 *
 * Unless entered from %o0 on a doubleword, a row first adds %o3, the last of what lies
 * before. That is what a unit ends with, and what the last unit of a short row does in
 * the delay slot of its jump to the tails. */
        andcc   %o0, 7, %g1
        bne     .Lany
         add    %o0, %o1, %o4
        andcc   %o1, 7 - SHORT, %g0     ! all but doublewords of a short row: no carry
        bne     .Laligned
         srl    %o1, 1, %o3             ! 0 if nothing else will be in it
        add     %o1, %o3, %o2           ! a unit is 3/2 as long as what it adds
        sethi   %hi(.Lend_short), %g4
        sub     %g4, %o2, %g4
        jmpl    %g4 + %lo(.Lend_short), %g4
         mov    8, %g2                  ! and back, as there is no tail
        addx    %g1, 0, %g1
.Lhalve:
        halves  %g1, %o2
        retl
         addx   %g1, 0, %o0

.Laligned:
        cmp     %o1, SHORT + 8
        bcs     .Lany
         and    %o1, BLOCK - 8, %o5
        or      %o4, -8, %g2
        sll     %g2, TAIL_BITS, %g2
        sethi   %hi(.Ljump), %g4
        or      %g4, %lo(.Ljump), %g4
        srl     %o5, 1, %o3
        add     %o5, %o3, %o3
        enter   .Lend, %o3, %g3
         add    %o0, %o5, %o4

.Lany:  or      %o4, -8, %g2            ! tails lie backwards from what they lie at
        sll     %g2, TAIL_BITS, %g2
        andn    %o4, 7, %o4
        sub     %o4, %o0, %o3
        sll     %g1, HEAD_BITS, %o2
        addcc   %o3, -(SHORT + 8), %g0
        bcc     .Lshort                 ! and the carry is clear
         srl    %o3, 1, %o5
        bneg    .Lfew                   ! all of it in one doubleword
         and    %o3, BLOCK - 1, %o5
        sub     %o3, %o5, %o1
        sub     %o4, %o1, %o4
        sethi   %hi(.Lheads), %g3
        or      %g3, %lo(.Lheads), %g3
        sub     %g3, %o5, %o3
        srl     %o5, 1, %o5
        andcc   %o0, 1, %g0             ! clears the carry
        be      .Ljump
         add    %o3, ENTER_LONG - ENTER_EVEN, %o3
        ba      .Ljump
         add    %o3, ENTER_EVEN - ENTER_ODD, %o3

/* The last up to 7 bytes, and what then is the sum of all. */
        .macro  tail    odd, bytes
        .if     (\bytes) & 4
        ld      [%o4], %o2
        .endif
        .if     (\bytes) & 2
        lduh    [%o4 + ((\bytes) & 4)], %o3
        .endif
        .if     (\bytes) & 1
        ldub    [%o4 + ((\bytes) & 6)], %o5
        .endif
        .if     (\bytes) & 4
        addxcc  %g1, %o2, %g1
        .endif
        .if     (\bytes) & 2
        addxcc  %g1, %o3, %g1
        .endif
        .if     (\bytes) & 1
        sll     %o5, 8, %o5
        addxcc  %g1, %o5, %g1
        .endif
        addx    %g1, 0, %g1
        .if     \odd
        sll     %g1, 8, %o2
        srl     %g1, 24, %g1
        or      %g1, %o2, %g1
        .endif
        halves  %g1, %o2
        retl
         addx   %g1, 0, %o0
        .endm

        .macro  tails   odd
.Ltails_\odd:
        .irp    bytes, 0, 1, 2, 3, 4, 5, 6, 7
        .org    .Ltails_\odd + (\bytes << TAIL_BITS)
        tail    \odd, \bytes
        .endr
        .endm

        .macro  units   bytes, last
        at = -(\bytes)
        .rept   (\bytes - \last) / 8
        ldd     [%o4 + at], %o2
        addxcc  %g1, %o2, %g1
        addxcc  %g1, %o3, %g1
        at = at + 8
        .endr
        .endm

/* All of a short row but what is in the delay slot at its end. */
        .macro  short   then
        addxcc  %g1, %o3, %g1
        units   SHORT, 8
        ldd     [%o4 - 8], %o2
        addxcc  %g1, %o2, %g1
        jmp     \then + %g2
        .endm

/* Ends what a place begins with; what lies before the first doubleword is still
 * counted in %o5, so the row is entered as much later. */
        .macro  row     place
        before = (8 - (\place)) & 7
        .if     (\place) & 1
        jmp     %o5 + (ENTER_ODD + before + before / 2)
        .else
        jmp     %o5 + (ENTER_EVEN + before + before / 2)
        .endif
        .endm

        .macro  head    place
        .org    .Lheads + ((\place) << HEAD_BITS)
        .endm

        tails   1
        .org    .Ltails_1 + TAILS

.Lheads:
        row     0                       ! %g1 is 0
         mov    0, %o3
        head    1
        ldub    [%o0], %g1
        lduh    [%o0 + 1], %o2
        add     %g1, %o2, %g1
        row     1
         ld     [%o0 + 3], %o3
        head    2
        lduh    [%o0], %g1
        row     2
         ld     [%o0 + 2], %o3
        head    3
        ldub    [%o0], %g1
        row     3
         ld     [%o0 + 1], %o3
        head    4
        mov     0, %g1
        row     4
         ld     [%o0], %o3
        head    5
        ldub    [%o0], %g1
        row     5
         lduh   [%o0 + 1], %o3
        head    6
        mov     0, %g1
        row     6
         lduh   [%o0], %o3
        head    7
        mov     0, %g1
        row     7
         ldub   [%o0], %o3

        .org    .Lheads + ROW_ODD
        short   %g3
         addxcc %g1, %o3, %g1

        .org    .Lheads + ROW_EVEN
        short   %g4
.Lend_short:
         addxcc %g1, %o3, %g1
        jmp     %g4 + %g2               ! for who enters at the label
         nop

        .org    .Lheads + TAILS_EVEN
        tails   0

        .org    .Lheads + JUMP - 12
.Lshort:
        sethi   %hi(.Lheads), %g3
        or      %g3, %lo(.Lheads), %g3
        sub     %g3, %o3, %o3
.Ljump: jmpl    %g3 + %o2, %g4
         sub    %o3, %o5, %o5

        .org    .Lheads + ROW_LONG
.Lblock:
        units   BLOCK, 0
.Lend:  addx    %g1, 0, %g1             ! brings no carry: only one that was there could
        subcc   %o1, BLOCK, %o1
        bcc,a   .Lblock                 ! and the carry is clear
         add    %o4, BLOCK, %o4
        andcc   %o0, 1, %g0             ! clears the carry
        bne,a   1f
         mov    %g3, %g4
1:      jmp     %g4 + %g2
         nop
#endif

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
