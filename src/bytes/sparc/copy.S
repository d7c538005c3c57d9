/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Copy, and copy with checksum, for SPARC V8. No access is wider than its address
 * allows.
 *
 * How the two sides lie to each other decides. When both come to a doubleword together,
 * loads and stores are doublewords. When they come to a word together, the source is
 * brought to a doubleword and loads are that wide. Otherwise the destination is, and
 * each doubleword stored is joined from three words of the source, of which two were
 * loaded with it; a word or two joined singly come behind. One by one go up to 15 bytes
 * in all, and of 16 or more those before and behind, never more than 14.
 *
 * Each of these is a row of units, entered where there are as many left of it as there
 * are to be done; a row of doublewords is one block, and repeated as the whole. The
 * sum is taken of the words as they are stored.
 */
#include "bytes/select.h"

#ifdef PL_BYTES_SPARC
#include "bytes/sparc/sparc.inc"

/* One byte. To be as long as the others, a unit with a sum may end in a nop. */
        .macro  byte    summing, at
        ldub    [%o1 + (\at)], %o5
        stb     %o5, [%o0 + (\at)]
        .if     \summing
        .if     (\at) & 1
        add     %g1, %o5, %g1
        nop
        .else
        sll     %o5, 8, %o5
        add     %g1, %o5, %g1
        .endif
        .endif
        .endm

        .macro  sum_up  summing, first, second
        .if     \summing
        addxcc  %g1, \first, %g1
        addxcc  %g1, \second, %g1
        .endif
        .endm

/* Both sides by as much as is less than a block; %g2 says how much that is, and %o3 in
 * bytes of code. Then block by block to the end, where %o2 is negative. */
        .macro  begin   end
        enter   \end, %o3, %g3
         add    %o1, %g2, %o1
        .endm

        .macro  again   summing, block, size
        .if     \summing
        addx    %g1, 0, %g1
        .endif
        subcc   %o2, \size, %o2
        bcc,a   \block                  ! and the carry is clear
         add    %o0, \size, %o0
        .endm

/* Joins the words there with one loaded before them: in a row whose loads begin with
 * the word that the first joined one ends in (1), or the one it begins in (0). The
 * latter is the word at %o1. */
        .macro  joined  summing, right, ends, at
        .if     \ends
        sll     %o5, %g4, %g2
        ldd     [%o1 + (\at) + 4], %o4
        srl     %o4, \right, %o3
        or      %g2, %o3, %g2
        sll     %o4, %g4, %g3
        srl     %o5, \right, %o3
        .else
        sll     %o4, %g4, %g2
        srl     %o5, \right, %o3
        sll     %o5, %g4, %g3
        ldd     [%o1 + (\at) + 8], %o4
        or      %g2, %o3, %g2
        srl     %o4, \right, %o3
        .endif
        or      %g3, %o3, %g3
        sum_up  \summing, %g2, %g3
        std     %g2, [%o0 + (\at)]
        .endm

        .macro  joins   summing, right, ends, size
        and     %o2, \size - 8, %o3
        .if     \ends
        ld      [%o1], %o5
        .else
        ldd     [%o1], %o4
        .endif
        add     %o0, %o3, %o0
        sll     %o3, 2, %g2
        .if     \summing
        add     %g2, %o3, %g2
        .endif
        enter   .Lend\@, %g2, %g3
         add    %o1, %o3, %o1
.Lblock\@:
        add     %o1, \size, %o1
        at = -(\size)
        .rept   \size / 8
        joined  \summing, \right, \ends, at
        at = at + 8
        .endr
.Lend\@:
        again   \summing, .Lblock\@, \size
        .endm

/* %o0 to, %o1 from, %o2 length, %g1 sum; while joining, %g4 and `right` the shifts */
        .macro  copy    name, summing, right, aligned, skewed
        function \name
        cmp     %o2, 16
        bcs     .Lfew\@
         xor    %o0, %o1, %o3
        .if     \summing
        mov     0, %g1
        .endif
        andcc   %o3, 7, %g0
        be      .Lnear\@
         sub    %g0, %o0, %g4           ! what lies before a doubleword, modulo 8
        andcc   %o3, 3, %g0
        be,a    .Lnear\@
         sub    %g0, %o1, %g4
        add     %o1, %g4, %o4
        and     %o4, 3, %o4             ! what of a word then lies before the source; at
        sub     %g4, %o4, %g4           ! least so many, so that nothing before the source
        and     %g4, 7, %g4             ! is loaded with the first word to join
        ba      .Lbefore\@
         add    %g4, %o4, %g4
.Lnear\@:
        andcc   %g4, 7, %g4
        be      .Lwhole\@
.Lbefore\@:
        .if     \summing
         st     %g4, [%sp + 68]         ! where the caller keeps room for an argument
        sll     %g4, 4, %g2
        .else
         sll    %g4, 3, %g2
        .endif
        add     %o0, %g4, %o0
        sub     %o2, %g4, %o2
        enter   .Lwhole\@, %g2, %g3
         add    %o1, %g4, %o1
        at = -10
        .rept   10
        byte    \summing, at
        at = at + 1
        .endr
.Lwhole\@:
        andcc   %o3, 7, %g0
        be      .Laligned\@
         and    %o2, \aligned - 8, %g2
        andcc   %o3, 3, %g0
        bne     .Lskewed\@
         and    %o2, \skewed - 8, %g2

        srl     %g2, 1, %o3
        add     %o3, %g2, %o3
        .if     \summing
        add     %o3, %g2, %o3
        .endif
        add     %o0, %g2, %o0
        begin   .Lend_halves\@
.Lhalves\@:
        add     %o1, \skewed, %o1
        at = -(\skewed)
        .rept   \skewed / 8
        ldd     [%o1 + at], %o4
        sum_up  \summing, %o4, %o5
        st      %o4, [%o0 + at]
        st      %o5, [%o0 + at + 4]
        at = at + 8
        .endr
.Lend_halves\@:
        again   \summing, .Lhalves\@, \skewed
        ba      .Lbehind\@
         and    %o2, 7, %o2

.Lskewed\@:
        .if     \summing
        st      %o7, [%sp + 72]
        .endif
        sll     %o4, 3, %g4
        sub     %o1, %o4, %o1
        add     %o2, %o4, %o2
        sub     %o2, 8, %o2             ! nothing behind the source is loaded either;
        andcc   %o1, 4, %g0             ! of 16 there is 1 left, and a word to join
        be      .Lbegins\@
         sub    %g0, %g4, \right
        joins   \summing, \right, 1, \skewed
        ba      .Lword\@
         and    %o2, 7, %o2
.Lbegins\@:
        joins   \summing, \right, 0, \skewed
        mov     %o4, %o5
        and     %o2, 7, %o2
.Lword\@:
        ld      [%o1 + 4], %o4
        sll     %o5, %g4, %g2
        srl     %o4, \right, %g3
        or      %g2, %g3, %g2
        .if     \summing
        addcc   %g1, %g2, %g1
        addx    %g1, 0, %g1
        .endif
        st      %g2, [%o0]
        add     %o0, 4, %o0
        add     %o1, 4, %o1
        subcc   %o2, 4, %o2
        bcc     .Lword\@
         mov    %o4, %o5
        .if     \summing
        ld      [%sp + 72], %o7
        .endif
        srl     %g4, 3, %o4
        sub     %o2, %o4, %o2
        add     %o2, 8, %o2
        ba      .Lbehind\@
         add    %o1, %o4, %o1

.Laligned\@:
        .if     \summing
        sll     %g2, 1, %o3
        .else
        mov     %g2, %o3
        .endif
        add     %o0, %g2, %o0
        begin   .Lend\@
.Lblock\@:
        add     %o1, \aligned, %o1
        at = -(\aligned)
        .rept   \aligned / 8
        ldd     [%o1 + at], %o4
        sum_up  \summing, %o4, %o5
        std     %o4, [%o0 + at]
        at = at + 8
        .endr
.Lend\@:
        again   \summing, .Lblock\@, \aligned
        and     %o2, 7, %o2
.Lbehind\@:
        .if     \summing
        halves  %g1, %o3
        sll     %o2, 4, %o3
        enter   .Ldone\@, %o3, %o4
         addx   %g1, 0, %g1
        .else
.Lfew\@:
        sll     %o2, 3, %o3
        enter   .Ldone\@, %o3, %o4
         nop
        .endif
        at = 14
        .rept   15
        byte    \summing, at
        at = at - 1
        .endr
.Ldone\@:
        .if     \summing
        ld      [%sp + 68], %o2
        halves  %g1, %o1
        addx    %g1, 0, %o0
        andcc   %o2, 1, %g0
        be      .Leven\@
         sll    %o0, 24, %o1
        srl     %o0, 8, %o0
        srl     %o1, 16, %o1
        or      %o0, %o1, %o0
.Leven\@:
        .endif
        retl
         nop
        .if     \summing
.Lfew\@:
        sll     %o2, 4, %o3
        st      %g0, [%sp + 68]
        enter   .Ldone\@, %o3, %o4
         mov    0, %g1
        .endif
        .size   \name, . - \name
        .endm

#ifdef __OPTIMIZE_SIZE__
#define COPY_ALIGNED     64
#define COPY_SKEWED      32
#define COPY_SUM_ALIGNED 32
#define COPY_SUM_SKEWED  16
#else
#define COPY_ALIGNED     256
#define COPY_SKEWED      128
#define COPY_SUM_ALIGNED 128
#define COPY_SUM_SKEWED  64
#endif

/* uint32_t pl_copy_sum(void *to, const void *from, size_t length) */
        copy    pl_copy_sum, 1, %o7, COPY_SUM_ALIGNED, COPY_SUM_SKEWED

/* void pl_copy(void *to, const void *from, size_t length) */
        copy    pl_copy, 0, %g1, COPY_ALIGNED, COPY_SKEWED

#endif
