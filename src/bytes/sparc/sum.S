/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The Internet checksum for SPARC V8: doublewords, added with carry.
 *
 * A row of units, one for each doubleword of a block, is entered where there are as
 * many left of it as there are beyond whole blocks; so one row serves all lengths. The
 * carry lives in its flag all along a row, and is added at its end, as only the flags
 * can tell whether another block follows.
 *
 * What lies before the first and behind the last doubleword is added first, a branch
 * for each bit of its length, where space counts. Where it does not, there is straight
 * code for each of the eight places to begin and to end, in the order of the bytes, and
 * one jump to it: a head before the row and a tail behind it.
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
#define BLOCK 512

/* Binary logarithms of how much code there is for a head and for a tail. */
#define HEAD_BITS 5
#define TAIL_BITS 6

/* %o0 bytes, %o1 length, %o4 the end and then that of the doublewords of a row, %o5
 * where to enter it, %g1 sum. There are two rows: for an odd start one that goes on to
 * %g3 + %g2, for an even one and for whole blocks one that goes on to %g4 + %g2. Tails
 * lie backwards from .Lheads and from .Ljump, which are what %g3 and %g4 then hold.
 *
 * A row first adds %o3, the last of its head: so ends a unit. The last one does it in
 * the delay slot of the jump. Who has no head, enters behind that; with nothing to add
 * at all, that is in this slot, and %o3 has to be 0. */
        andcc   %o0, 7, %g1
        bne     .Lany
         add    %o0, %o1, %o4
        andcc   %o1, 7 - BLOCK, %g0     ! all but doublewords of one block: no carry
        bne     .Laligned
         srl    %o1, 1, %o3
        add     %o1, %o3, %o2           ! a unit is 3/2 as long as what it adds
        sethi   %hi(.Lend_even + 4), %g4
        sub     %g4, %o2, %g4
        jmpl    %g4 + %lo(.Lend_even + 4), %g4
         mov    8, %g2                  ! and back here, as there is no tail
        addx    %g1, 0, %g1
.Lhalve:
        halves  %g1, %o2
        retl
         addx   %g1, 0, %o0

.Laligned:
        cmp     %o1, BLOCK + 8
        bcs     .Lany
         and    %o1, BLOCK - 8, %o5
        or      %o4, -8, %g3
        sll     %g3, TAIL_BITS, %g3
        add     %g3, .Ljump - .Lwhole, %g3
        srl     %o5, 1, %o3
        add     %o5, %o3, %o3
        sethi   %hi(.Lend_even + 4), %g4
        sub     %g4, %o3, %g4
        mov     8, %g2
.Lwhole:
        jmpl    %g4 + %lo(.Lend_even + 4), %g4
         add    %o0, %o5, %o4
        addx    %g1, 0, %g1             ! brings no carry: only one that was there could
        subcc   %o1, BLOCK, %o1
        bcc,a   .Lblock                 ! and the carry is clear
         add    %o4, BLOCK, %o4
        jmp     %g4 + %g3
         addcc  %g0, 0, %g0             ! clears the carry

.Lany:  or      %o4, -8, %g2
        sll     %g2, TAIL_BITS, %g2
        andn    %o4, 7, %o4
        sub     %o4, %o0, %o3           ! with the head
        sll     %g1, HEAD_BITS, %o2
        addcc   %o3, -(BLOCK + 8), %g0
        bcc     .Lwithin                ! and the carry is clear
         srl    %o3, 1, %o5
        bneg    .Lfew                   ! all of it in one doubleword
         and    %o3, BLOCK - 1, %o3
        mov     %o4, %o1
        add     %o0, %o3, %o4
        sethi   %hi(.Lheads), %g3
        or      %g3, %lo(.Lheads), %g3
        add     %g3, %o2, %o2
        sub     %g3, %o3, %o5
        srl     %o3, 1, %o3
        sub     %o5, %o3, %o5
        andcc   %o0, 1, %g0             ! clears the carry
        be      .Lwhole_any
         add    %g2, .Ljump - .Lwhole_any, %g3
        add     %g2, .Lheads - .Lwhole_any, %g3
        add     %o5, .Lend_even - .Lend_odd, %o5
.Lwhole_any:
        jmpl    %o2, %g4
         mov    8, %g2
        addx    %g1, 0, %g1
        cmp     %o1, %o4                ! clears the carry
        bne,a   .Lblock
         add    %o4, BLOCK, %o4
        jmp     %g4 + %g3
         nop

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

        .macro  units   first, last
        at = -(\first)
        .rept   (\first - \last) / 8
        ldd     [%o4 + at], %o2
        addxcc  %g1, %o2, %g1
        addxcc  %g1, %o3, %g1
        at = at + 8
        .endr
        ldd     [%o4 + at], %o2
        addxcc  %g1, %o2, %g1
        .endm

/* Ends a head, whose length is still counted in %o5. */
        .macro  row     place
        before = (8 - (\place)) & 7
        .if     (\place) & 1
        jmp     %o5 + (.Lend_odd - .Lheads + before + before / 2)
        .else
        jmp     %o5 + (.Lend_even - .Lheads + before + before / 2)
        .endif
        .endm

        .macro  head    place
        .org    .Lheads + ((\place) << HEAD_BITS)
        .endm

        tails   1
        .org    .Ltails_1 + (8 << TAIL_BITS)
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

        addxcc  %g1, %o3, %g1
        units   BLOCK, 8
.Lend_odd:
        jmp     %g3 + %g2
         addxcc %g1, %o3, %g1

        addxcc  %g1, %o3, %g1
.Lblock:
        units   BLOCK, 8
.Lend_even:
        jmp     %g4 + %g2
         addxcc %g1, %o3, %g1
        jmp     %g4 + %g2               ! for who enters just above
         nop

        tails   0
        .org    .Ltails_0 + (8 << TAIL_BITS) - 12
.Lwithin:
        sethi   %hi(.Lheads), %g3
        or      %g3, %lo(.Lheads), %g3
        sub     %g3, %o3, %o3
.Ljump: jmpl    %g3 + %o2, %g4
         sub    %o3, %o5, %o5
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

#endif
