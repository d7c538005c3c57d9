/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Checksum, copy and copy with checksum by AArch64's vector registers, little-endian.
 * No register is loaded or stored but at an address that its size divides.
 *
 * One instruction adds the eight halfwords of a vector to four words, which have room
 * for 2^19 bytes; longer ranges, and shorter ones than are worth it, are left to the
 * routines in general registers.
 *
 * Once the destination is on a vector of 16 bytes, so are all stores. A source that is
 * not is loaded by vectors all the same, and each vector stored is picked out of two
 * neighbouring registers by a table of indices, whatever their distance. What the
 * source has before its first and behind its last whole vector is put together first.
 */
#include "bytes/select.h"

#if defined(PL_BYTES_AARCH64) && defined(CONFIG_PLUMB_BYTES_NEON)
#include "bytes/aarch64/aarch64.inc"

        .arch_extension fp
        .arch_extension simd

        .equ    MOST_LOG, 18
        .equ    LEAST_SUM, 64
        .equ    LEAST_COPY, 96

/* What is summed is in v4 to v7. */
        .macro  begin
        movi    v4.4s, #0
        movi    v5.4s, #0
        movi    v6.4s, #0
        movi    v7.4s, #0
        .endm

        .macro  add_one summing, a
        .if     \summing
        uadalp  v4.4s, \a\().8h
        .endif
        .endm

        .macro  add_two summing, a, b
        .if     \summing
        uadalp  v4.4s, \a\().8h
        uadalp  v5.4s, \b\().8h
        .endif
        .endm

        .macro  add_four summing, a, b, c, d
        .if     \summing
        uadalp  v4.4s, \a\().8h
        uadalp  v5.4s, \b\().8h
        uadalp  v6.4s, \c\().8h
        uadalp  v7.4s, \d\().8h
        .endif
        .endm

/* Returns the sum; w12 is odd where it begins at an odd address. */
        .macro  finish
        add     v4.4s, v4.4s, v5.4s
        add     v6.4s, v6.4s, v7.4s
        add     v4.4s, v4.4s, v6.4s
        uaddlv  s4, v4.8h
        fmov    w2, s4
        fold_32 w2, w3, w12
        ret
        .endm

/* uint32_t pl_sum(const void *bytes, size_t length)
 *
 * x0 bytes, x1 length, x3 where the bytes end, then blocks, w12 odd start. What comes
 * before the first vector and behind the last is collected in one, where each piece has
 * its place. */
        function pl_sum
        cmp     x1, #LEAST_SUM
        lsr     x3, x1, #MOST_LOG
        ccmp    x3, #0, #0, hs
        b.ne    pl_sum_general
        begin
        movi    v0.4s, #0
        mov     w12, w0
        add     x3, x0, x1
        tbz     w0, #0, 1f
        ld1     {v0.b}[1], [x0], #1
1:      tbz     w0, #1, 2f
        ld1     {v0.h}[1], [x0], #2
2:      tbz     w0, #2, 3f
        ld1     {v0.s}[1], [x0], #4
3:      tbz     w0, #3, 4f
        ld1     {v0.d}[1], [x0], #8
4:      add_one 1, v0
        sub     x1, x3, x0
#ifndef __OPTIMIZE_SIZE__
        lsr     x3, x1, #7
        cbz     x3, 6f
5:      ld1     {v0.16b-v3.16b}, [x0], #64
        ld1     {v16.16b-v19.16b}, [x0], #64
        add_four 1, v0, v1, v2, v3
        add_four 1, v16, v17, v18, v19
        sub     x3, x3, #1
        cbnz    x3, 5b
6:      tbz     w1, #6, 7f
        ld1     {v0.16b-v3.16b}, [x0], #64
        add_four 1, v0, v1, v2, v3
7:      tbz     w1, #5, 8f
        ld1     {v0.16b-v1.16b}, [x0], #32
        add_two 1, v0, v1
#else
        lsr     x3, x1, #5
        cbz     x3, 8f
5:      ld1     {v0.16b-v1.16b}, [x0], #32
        add_two 1, v0, v1
        sub     x3, x3, #1
        cbnz    x3, 5b
#endif
8:      tbz     w1, #4, 9f
        ldr     q0, [x0], #16
        add_one 1, v0
9:      movi    v0.4s, #0
        tbz     w1, #3, 10f
        ld1     {v0.d}[0], [x0], #8
10:     tbz     w1, #2, 11f
        ld1     {v0.s}[2], [x0], #4
11:     tbz     w1, #1, 12f
        ld1     {v0.h}[6], [x0], #2
12:     tbz     w1, #0, 13f
        ld1     {v0.b}[14], [x0]
13:     add_one 1, v0
        finish
        end     pl_sum

/* A piece of a vector that both sides have at the same place. */
        .macro  piece   left, bit, size, nth
        tbz     \left, #\bit, .Lpiece\@
        ld1     {v0.\size}[\nth], [x1], #1 << \bit
        st1     {v0.\size}[\nth], [x0], #1 << \bit
.Lpiece\@:
        .endm

/* A piece of a partial vector of the source goes in at the upper end of `into`. */
        .macro  take    left, bit, register, into, from
        tbz     \left, #\bit, .Ltake\@
        ldr     \register, [\from], #1 << \bit
        ext     \into\().16b, \into\().16b, v0.16b, #1 << \bit
.Ltake\@:
        .endm

/* A piece of v0, whose bytes then follow. */
        .macro  put     bit, register
        tbz     w2, #\bit, .Lput\@
        str     \register, [x0], #1 << \bit
        ext     v0.16b, v0.16b, v0.16b, #1 << \bit
.Lput\@:
        .endm

/* A vector, of the registers `a` and `b`. */
        .macro  pick    into, a, b
        tbl     \into\().16b, {\a\().16b, \b\().16b}, v30.16b
        .endm

        .macro  pick_64 summing, a, b, c, d, e
        pick    v0, \a, \b
        pick    v1, \b, \c
        pick    v2, \c, \d
        pick    v3, \d, \e
        add_four \summing, v0, v1, v2, v3
        st1     {v0.16b-v3.16b}, [x0], #64
        .endm

/* x0 to, x1 from, x2 length, x3 blocks, w12 odd destination; of a skewed source v16 the
 * vector held, v29 what is behind the whole vectors, v30 the indices */
        .macro  copy    name, summing, general
        function \name
        cmp     x2, #LEAST_COPY
        .if     \summing
        lsr     x3, x2, #MOST_LOG
        ccmp    x3, #0, #0, hs
        b.ne    \general
        begin
        mov     w12, w0
        .else
        b.lo    \general
        .endif
        movi    v0.4s, #0
        eor     w4, w0, w1
        add     x2, x2, x1              // where the source ends
        tst     w4, #15
        b.ne    .Lskewed\@

        piece   w0, 0, b, 1
        piece   w0, 1, h, 1
        piece   w0, 2, s, 1
        piece   w0, 3, d, 1
        add_one \summing, v0
        sub     x2, x2, x1
#ifndef __OPTIMIZE_SIZE__
        lsr     x3, x2, #7
        cbz     x3, 2f
1:      ld1     {v0.16b-v3.16b}, [x1], #64
        ld1     {v16.16b-v19.16b}, [x1], #64
        add_four \summing, v0, v1, v2, v3
        add_four \summing, v16, v17, v18, v19
        st1     {v0.16b-v3.16b}, [x0], #64
        st1     {v16.16b-v19.16b}, [x0], #64
        sub     x3, x3, #1
        cbnz    x3, 1b
2:      tbz     w2, #6, 3f
        ld1     {v0.16b-v3.16b}, [x1], #64
        add_four \summing, v0, v1, v2, v3
        st1     {v0.16b-v3.16b}, [x0], #64
3:      tbz     w2, #5, 4f
        ld1     {v0.16b-v1.16b}, [x1], #32
        add_two \summing, v0, v1
        st1     {v0.16b-v1.16b}, [x0], #32
#else
        lsr     x3, x2, #5
        cbz     x3, 4f
1:      ld1     {v0.16b-v1.16b}, [x1], #32
        add_two \summing, v0, v1
        st1     {v0.16b-v1.16b}, [x0], #32
        sub     x3, x3, #1
        cbnz    x3, 1b
#endif
4:      tbz     w2, #4, 5f
        ldr     q0, [x1], #16
        add_one \summing, v0
        str     q0, [x0], #16
5:      movi    v0.4s, #0
        piece   w2, 3, d, 0
        piece   w2, 2, s, 2
        piece   w2, 1, h, 6
        piece   w2, 0, b, 14
        add_one \summing, v0
        .if     \summing
.Lfinish\@:
        finish
        .else
        ret
        .endif

.Lskewed\@:
        tbz     w0, #0, 1f
        ld1     {v0.b}[1], [x1], #1
        st1     {v0.b}[1], [x0], #1
1:      tbz     w0, #1, 2f
        ld1     {v0.b}[2], [x1], #1
        ld1     {v0.b}[3], [x1], #1
        st1     {v0.h}[1], [x0], #2
2:      tbz     w0, #2, 3f
        ld1     {v0.b}[4], [x1], #1
        ld1     {v0.b}[5], [x1], #1
        ld1     {v0.b}[6], [x1], #1
        ld1     {v0.b}[7], [x1], #1
        st1     {v0.s}[1], [x0], #4
3:      tbz     w0, #3, 4f
        ld1     {v0.b}[8], [x1], #1
        ld1     {v0.b}[9], [x1], #1
        ld1     {v0.b}[10], [x1], #1
        ld1     {v0.b}[11], [x1], #1
        ld1     {v0.b}[12], [x1], #1
        ld1     {v0.b}[13], [x1], #1
        ld1     {v0.b}[14], [x1], #1
        ld1     {v0.b}[15], [x1], #1
        st1     {v0.d}[1], [x0], #8
4:      add_one \summing, v0
        and     w4, w1, #15             // the distance, not 0
        take    w1, 0, b0, v16, x1
        take    w1, 1, h0, v16, x1
        take    w1, 2, s0, v16, x1
        take    w1, 3, d0, v16, x1
        sub     x5, x2, x1              // the source's bytes left
        and     x6, x5, #-16
        movi    v29.4s, #0
        add     x6, x1, x6
        take    w5, 3, d0, v29, x6
        take    w5, 2, s0, v29, x6
        take    w5, 1, h0, v29, x6
        take    w5, 0, b0, v29, x6
        mov     w2, #16
        and     w6, w5, #15
        sub     w7, w2, w6
        ldr     q31, .Lindices\@
        dup     v30.16b, w7
        add     v30.16b, v30.16b, v31.16b
        tbl     v29.16b, {v29.16b}, v30.16b
        dup     v30.16b, w4
        add     v30.16b, v30.16b, v31.16b
        sub     w2, w2, w4
        add     w2, w2, w6              // what is left to store behind whole vectors
#ifndef __OPTIMIZE_SIZE__
        lsr     x3, x5, #7
        cbz     x3, 6f
5:      ld1     {v17.16b-v20.16b}, [x1], #64
        ld1     {v21.16b-v24.16b}, [x1], #64
        pick_64 \summing, v16, v17, v18, v19, v20
        pick_64 \summing, v20, v21, v22, v23, v24
        mov     v16.16b, v24.16b
        sub     x3, x3, #1
        cbnz    x3, 5b
6:      tbz     w5, #6, 7f
        ld1     {v17.16b-v20.16b}, [x1], #64
        pick_64 \summing, v16, v17, v18, v19, v20
        mov     v16.16b, v20.16b
7:      tbz     w5, #5, 8f
        ld1     {v17.16b-v18.16b}, [x1], #32
        pick    v0, v16, v17
        pick    v1, v17, v18
        add_two \summing, v0, v1
        st1     {v0.16b-v1.16b}, [x0], #32
        mov     v16.16b, v18.16b
#else
        lsr     x3, x5, #5
        cbz     x3, 8f
5:      ld1     {v17.16b-v18.16b}, [x1], #32
        pick    v0, v16, v17
        pick    v1, v17, v18
        add_two \summing, v0, v1
        st1     {v0.16b-v1.16b}, [x0], #32
        mov     v16.16b, v18.16b
        sub     x3, x3, #1
        cbnz    x3, 5b
#endif
8:      tbz     w5, #4, 9f
        ldr     q17, [x1], #16
        pick    v0, v16, v17
        add_one \summing, v0
        str     q0, [x0], #16
        mov     v16.16b, v17.16b
9:      mov     v17.16b, v29.16b
        pick    v0, v16, v17
        tbl     v1.16b, {v29.16b}, v30.16b
        add_two \summing, v0, v1
        tbz     w2, #4, 10f
        str     q0, [x0], #16
        mov     v0.16b, v1.16b
10:     put     3, d0
        put     2, s0
        put     1, h0
        tbz     w2, #0, 11f
        str     b0, [x0]
11:     .if     \summing
        b       .Lfinish\@
        .else
        ret
        .endif
        .p2align 4
.Lindices\@:
        .byte   0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        end     \name
        .endm

/* void pl_copy(void *to, const void *from, size_t length) */
        copy    pl_copy, 0, pl_copy_general

/* uint32_t pl_copy_sum(void *to, const void *from, size_t length) */
        copy    pl_copy_sum, 1, pl_copy_sum_general

#endif
