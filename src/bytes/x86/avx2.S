/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The checksum, and copy with checksum, by AVX2.
 *
 * There is no carry between the parts of a vector, and to widen them before they are
 * added takes more instructions than the additions. So words of 64 bits are added and
 * lose their carries, one instruction for 32 bytes, and how many were lost is told
 * afterwards from an estimate: averages of four or eight vectors, of which the
 * uppermost bits are summed. The sum it estimates is known but for a multiple of 2^64,
 * so that the estimate need only be right to half of that, and 2^64 counts 1 in a one's
 * complement sum.
 *
 * In units of 2^48: an average of two halfwords is exact or half a unit too large; one
 * of eight, made in three steps, is at most 1.5 units too large, and eight times it at
 * most 12. It is cut off at an eighth, where the next lower halfword left up to 7 more.
 * Up to 19 for each eight words of 64 bits is 19 456 for 65 536 bytes, under the half
 * of 2^64, which is 32 768; what is too small is less. Longer ranges are summed in
 * pieces.
 */
#include "bytes/select.h"

#if defined(PL_BYTES_X86) && defined(__SSE2__)
#include "bytes/x86/x86.inc"

        .equ    PIECE, 65536
        .equ    LEAST_SUM, 192          # shorter ones are faster by add-with-carry,
        .equ    LEAST_COPY, 128         # and these have at least a block
        .equ    LEAST_ALIGNED, 512

/* ymm0 to ymm3 sums, ymm4 the estimate */
        .macro  begin
        vpxor   xmm0, xmm0, xmm0
        vpxor   xmm1, xmm1, xmm1
        vpxor   xmm2, xmm2, xmm2
        vpxor   xmm3, xmm3, xmm3
        vpxor   xmm4, xmm4, xmm4
        .endm

        .macro  add_one sum, vector
        vpaddq  \sum, \sum, \vector
        estimate \vector, 0
        .endm

/* Adds four vectors and leaves their average. The second is loaded twice, as loads are
 * what there is room for. */
        .macro  load_four at, average
        vmovdqu ymm5, [rdi + \at]
        vmovdqu ymm6, [rdi + \at + 64]
        vpaddq  ymm0, ymm0, ymm5
        vpavgw  ymm5, ymm5, [rdi + \at + 32]
        vpaddq  ymm1, ymm1, [rdi + \at + 32]
        vmovdqu ymm7, [rdi + \at + 96]
        vpaddq  ymm2, ymm2, ymm6
        vpavgw  ymm6, ymm6, ymm7
        vpaddq  ymm3, ymm3, ymm7
        vpavgw  \average, ymm5, ymm6
        .endm

/* The average of 2^log vectors goes into the estimate. */
        .macro  estimate average, log
        vpsrlq  \average, \average, 48 - \log
        vpaddq  ymm4, ymm4, \average
        .endm

/* r8 the masks, rax as many bytes as there are before what is aligned: ymm6 keeps
 * only these. */
        .macro  mask_first
        neg     rax
        vpand   ymm6, ymm6, [r8 + rax + 64]
        .endm

/* Sums to rax what the vectors hold and ecx, and ends. */
        .macro  finish
        vpaddq  ymm0, ymm0, ymm1
        vpaddq  ymm2, ymm2, ymm3
        vpaddq  ymm0, ymm0, ymm2
        vpunpcklqdq ymm1, ymm0, ymm4
        vpunpckhqdq ymm0, ymm0, ymm4
        vpaddq  ymm0, ymm0, ymm1
        vextracti128 xmm1, ymm0, 1
        vpaddq  xmm0, xmm0, xmm1
        vmovq   rax, xmm0               # the sum but for carries
        vpextrq rdx, xmm0, 1            # the estimate
        vzeroupper
        mov     r8, rax
        shr     r8, 48
        sub     edx, r8d
        add     edx, 0x8000
        shr     edx, 16                 # the carries lost
        add     rcx, rdx
        add     rax, rcx
        adc     rax, 0
        fold
        ret
        .endm

/* uint32_t pl_sum_avx2(const void *bytes, size_t length)
 *
 * rdi bytes, rsi length, ecx the last byte of an odd length, r8 masks, r9 the last
 * whole vector */
        function pl_sum_avx2
.Lsum:
        landing
        lea     rax, [rsi - LEAST_SUM]
        cmp     rax, PIECE - LEAST_SUM
        ja      .Lsum_other
        begin
        movzx   eax, byte ptr [rdi + rsi - 1]
        mov     ecx, esi
        and     ecx, 1
        neg     ecx
        and     ecx, eax
        and     esi, -2
        lea     r9, [rdi + rsi - 32]
        lea     r8, [rip + .Lmasks]
        cmp     esi, LEAST_ALIGNED
        jb      1f
        mov     eax, edi
        neg     eax
        and     eax, 30                 # even, so that a halfword stays one
        jz      1f
        vmovdqu ymm6, [rdi]
        add     rdi, rax
        sub     rsi, rax
        mask_first
        add_one ymm1, ymm6
1:      sub     rsi, 256
        jb      3f
2:      load_four 0, ymm8
        load_four 128, ymm9
        vpavgw  ymm8, ymm8, ymm9
        estimate ymm8, 3
        add     rdi, 256
        sub     rsi, 256
        jae     2b
3:      add     rsi, 128
        jnc     4f
        load_four 0, ymm8
        estimate ymm8, 2
        sub     rdi, -128
        sub     rsi, 128
4:      add     rsi, 96
        jnc     6f
5:      vmovdqu ymm5, [rdi]
        add_one ymm0, ymm5
        add     rdi, 32
        sub     rsi, 32
        jae     5b
6:      vmovdqu ymm5, [r8 + rsi + 32]
        vpand   ymm5, ymm5, [r9]
        add_one ymm1, ymm5
        finish

.Lsum_other:
        cmp     rsi, LEAST_SUM
        jb      pl_sum_carry
        lea     rdx, [rip + .Lsum]
        jmp     pl_sum_pieces
        end     pl_sum_avx2

/* uint32_t pl_copy_sum_avx2(void *to, const void *from, size_t length)
 *
 * rdi to, rsi from, rdx length, ecx, r8, r9 as above, r10 where the last vector goes.
 * Of the vectors that overlap others, whole ones are copied. */
        function pl_copy_sum_avx2
.Lcopy_sum:
        landing
        lea     rax, [rdx - LEAST_COPY]
        cmp     rax, PIECE - LEAST_COPY
        ja      .Lcopy_sum_other
        begin
        movzx   eax, byte ptr [rsi + rdx - 1]
        mov     byte ptr [rdi + rdx - 1], al
        mov     ecx, edx
        and     ecx, 1
        neg     ecx
        and     ecx, eax
        and     edx, -2
        lea     r9, [rsi + rdx - 32]
        lea     r10, [rdi + rdx - 32]
        lea     r8, [rip + .Lmasks]
        cmp     edx, LEAST_ALIGNED
        jb      1f
        mov     eax, edi                # to store across lines costs more than to load
        neg     eax
        and     eax, 30
        jz      1f
        vmovdqu ymm6, [rsi]
        vmovdqu [rdi], ymm6
        add     rsi, rax
        add     rdi, rax
        sub     rdx, rax
        mask_first
        add_one ymm1, ymm6
1:      sub     rdx, 128
2:      vmovdqu ymm5, [rsi]
        vmovdqu ymm6, [rsi + 32]
        vmovdqu ymm7, [rsi + 64]
        vmovdqu ymm8, [rsi + 96]
        vmovdqu [rdi], ymm5
        vmovdqu [rdi + 32], ymm6
        vmovdqu [rdi + 64], ymm7
        vmovdqu [rdi + 96], ymm8
        vpaddq  ymm0, ymm0, ymm5
        vpavgw  ymm5, ymm5, ymm6
        vpaddq  ymm1, ymm1, ymm6
        vpaddq  ymm2, ymm2, ymm7
        vpavgw  ymm7, ymm7, ymm8
        vpaddq  ymm3, ymm3, ymm8
        vpavgw  ymm5, ymm5, ymm7
        estimate ymm5, 2
        sub     rsi, -128
        sub     rdi, -128
        sub     rdx, 128
        jae     2b
        add     rdx, 96
        jnc     4f
3:      vmovdqu ymm5, [rsi]
        vmovdqu [rdi], ymm5
        add_one ymm0, ymm5
        add     rsi, 32
        add     rdi, 32
        sub     rdx, 32
        jae     3b
4:      vmovdqu ymm5, [r9]
        vmovdqu [r10], ymm5
        vpand   ymm5, ymm5, [r8 + rdx + 32]
        add_one ymm1, ymm5
        finish

.Lcopy_sum_other:
        cmp     rdx, LEAST_COPY
        jb      pl_copy_sum_carry
        lea     rcx, [rip + .Lcopy_sum]
        jmp     pl_copy_sum_pieces
        end     pl_copy_sum_avx2

        .section .rodata.pl_bytes_avx2, "a", @progbits
        .p2align 5
.Lmasks:
        .fill   32, 1, 0
        .fill   32, 1, 255
        .fill   32, 1, 0

#endif
