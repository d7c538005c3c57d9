/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The checksum, and copy with checksum, by AVX-512 with its instructions for neural
 * networks, of which one multiplies signed halfwords and adds the products two and two
 * to words of 32 bits. Multiplied by 1 that is a sum, of halfwords made signed by
 * turning their uppermost bit; what that takes from each is given back at the end,
 * 2^20 for a vector. 65 536 bytes stay far within 32 bits; longer ranges are summed in
 * pieces. The last, partial vector is loaded under a mask, which touches nothing
 * outside it.
 */
#include "bytes/select.h"

#if defined(PL_BYTES_X86) && defined(__SSE2__)
#include "bytes/x86/x86.inc"

        .equ    PIECE, 65536
        .equ    LEAST, 64               # shorter ones are faster by pl_sum_carry
        .equ    LEAST_ALIGNED, 512

/* zmm0 to zmm3 sums, zmm4 the turning bits, zmm5 ones, r8d how many vectors */
        .macro  begin
        vpbroadcastd zmm4, dword ptr [rip + .Lturn]
        vpbroadcastd zmm5, dword ptr [rip + .Lones]
        vpxor   xmm0, xmm0, xmm0
        vpxor   xmm1, xmm1, xmm1
        vpxor   xmm2, xmm2, xmm2
        vpxor   xmm3, xmm3, xmm3
        .endm

        .macro  add_one sum, vector
        vpxord  \vector, \vector, zmm4
        vpdpwssd \sum, \vector, zmm5
        .endm

/* The first `bytes` of a vector; spoils rax. */
        .macro  mask    bytes
        mov     rax, -1
        bzhi    rax, rax, \bytes
        kmovq   k1, rax
        .endm

/* Sums to rax what the vectors hold, and ends. */
        .macro  finish
        vpaddd  zmm0, zmm0, zmm1
        vpaddd  zmm2, zmm2, zmm3
        vpaddd  zmm0, zmm0, zmm2
        vextracti64x4 ymm1, zmm0, 1
        vpaddd  ymm0, ymm0, ymm1
        vextracti128 xmm1, ymm0, 1
        vpaddd  xmm0, xmm0, xmm1
        vpshufd xmm1, xmm0, 0x4e
        vpaddd  xmm0, xmm0, xmm1
        vmovq   rax, xmm0
        vzeroupper
        rorx    rcx, rax, 32
        shl     r8d, 20
        add     eax, ecx
        add     eax, r8d
        rorx    edx, eax, 16
        add     eax, edx
        shr     eax, 16
        ret
        .endm

/* uint32_t pl_sum_avx512(const void *bytes, size_t length)
 *
 * rdi bytes, rsi length */
        function pl_sum_avx512
.Lsum:
        landing
        lea     rax, [rsi - LEAST]
        cmp     rax, PIECE - LEAST
        ja      .Lsum_other
        begin
        xor     r8d, r8d
        cmp     esi, LEAST_ALIGNED
        jb      1f
        mov     ecx, edi
        neg     ecx
        and     ecx, 62                 # even, so that a halfword stays one
        jz      1f
        mask    rcx
        vmovdqu8 zmm6 {k1} {z}, [rdi]
        add_one zmm3, zmm6
        inc     r8d
        add     rdi, rcx
        sub     esi, ecx
1:      lea     eax, [rsi + 63]
        shr     eax, 6
        add     r8d, eax
        sub     esi, 256
        jb      3f
2:      vpxord  zmm6, zmm4, [rdi]
        vpxord  zmm7, zmm4, [rdi + 64]
        vpxord  zmm8, zmm4, [rdi + 128]
        vpxord  zmm9, zmm4, [rdi + 192]
        vpdpwssd zmm0, zmm6, zmm5
        vpdpwssd zmm1, zmm7, zmm5
        vpdpwssd zmm2, zmm8, zmm5
        vpdpwssd zmm3, zmm9, zmm5
        add     rdi, 256
        sub     esi, 256
        jae     2b
3:      add     esi, 192
        jnc     5f
4:      vpxord  zmm6, zmm4, [rdi]
        vpdpwssd zmm0, zmm6, zmm5
        add     rdi, 64
        sub     esi, 64
        jae     4b
5:      and     esi, 63
        jz      6f
        mask    rsi
        vmovdqu8 zmm6 {k1} {z}, [rdi]
        add_one zmm1, zmm6
6:      finish

.Lsum_other:
        cmp     rsi, LEAST
        jb      pl_sum_carry
        lea     rdx, [rip + .Lsum]
        jmp     pl_sum_pieces
        end     pl_sum_avx512

/* uint32_t pl_copy_sum_avx512(void *to, const void *from, size_t length)
 *
 * rdi to, rsi from, rdx length, r9 the last whole vector, r10 where it goes. Of the
 * vectors that overlap others, whole ones are copied. */
        function pl_copy_sum_avx512
.Lcopy_sum:
        landing
        lea     rax, [rdx - LEAST]
        cmp     rax, PIECE - LEAST
        ja      .Lcopy_sum_other
        begin
        lea     r9, [rsi + rdx - 64]
        lea     r10, [rdi + rdx - 64]
        xor     r8d, r8d
        cmp     edx, LEAST_ALIGNED
        jb      1f
        mov     ecx, edi                # to store across lines costs more than to load
        neg     ecx
        and     ecx, 62
        mask    rcx
        vmovdqu64 zmm6, [rsi]
        vmovdqu64 [rdi], zmm6
        vmovdqu8 zmm6 {k1} {z}, zmm6
        add_one zmm3, zmm6
        inc     r8d
        add     rsi, rcx
        add     rdi, rcx
        sub     edx, ecx
1:      lea     eax, [rdx + 63]
        shr     eax, 6
        add     r8d, eax
        sub     edx, 256
        jb      3f
2:      vmovdqu64 zmm6, [rsi]
        vmovdqu64 zmm7, [rsi + 64]
        vmovdqu64 zmm8, [rsi + 128]
        vmovdqu64 zmm9, [rsi + 192]
        vmovdqu64 [rdi], zmm6
        vmovdqu64 [rdi + 64], zmm7
        vmovdqu64 [rdi + 128], zmm8
        vmovdqu64 [rdi + 192], zmm9
        vpxord  zmm6, zmm6, zmm4
        vpxord  zmm7, zmm7, zmm4
        vpxord  zmm8, zmm8, zmm4
        vpxord  zmm9, zmm9, zmm4
        vpdpwssd zmm0, zmm6, zmm5
        vpdpwssd zmm1, zmm7, zmm5
        vpdpwssd zmm2, zmm8, zmm5
        vpdpwssd zmm3, zmm9, zmm5
        add     rsi, 256
        add     rdi, 256
        sub     edx, 256
        jae     2b
3:      add     edx, 192
        jnc     5f
4:      vmovdqu64 zmm6, [rsi]
        vmovdqu64 [rdi], zmm6
        add_one zmm0, zmm6
        add     rsi, 64
        add     rdi, 64
        sub     edx, 64
        jae     4b
5:      and     edx, 63
        jz      6f
        mask    rdx
        vmovdqu64 zmm7, [r9]
        vmovdqu8 zmm6 {k1} {z}, [rsi]
        vmovdqu64 [r10], zmm7
        add_one zmm1, zmm6
6:      finish

.Lcopy_sum_other:
        cmp     rdx, LEAST
        jb      pl_copy_sum_carry
        lea     rcx, [rip + .Lcopy_sum]
        jmp     pl_copy_sum_pieces
        end     pl_copy_sum_avx512

        .section .rodata.pl_bytes_avx512, "a", @progbits
        .p2align 2
.Lturn: .4byte  0x80008000
.Lones: .4byte  0x00010001

#endif
