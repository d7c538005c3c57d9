/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The checksum on any x86-64: words of 8 bytes, added with carry.
 *
 * An addition waits for the carry of the one before. Therefore 256 bytes go into four
 * sums, each of which takes its own carry in before the next begins, so that the
 * processor has all four in hand at once. The words behind them are added by a
 * straight run of instructions, entered as far from its end as there are words; the
 * last, partial word is loaded so that it ends where the bytes do, and shifted.
 */
#include "bytes/select.h"

#ifdef PL_BYTES_X86
#include "bytes/x86/x86.inc"

        .macro  add_64  sum, at
        add     \sum, [rdi + \at]
        adc     \sum, [rdi + \at + 8]
        adc     \sum, [rdi + \at + 16]
        adc     \sum, [rdi + \at + 24]
        adc     \sum, [rdi + \at + 32]
        adc     \sum, [rdi + \at + 40]
        adc     \sum, [rdi + \at + 48]
        adc     \sum, [rdi + \at + 56]
        adc     \sum, 0
        .endm

/* uint32_t pl_sum_carry(const void *bytes, size_t length) */
        function pl_sum_carry
        landing
        xor     eax, eax
        cmp     rsi, 8
        jb      .Lfew
        mov     rdx, [rdi + rsi - 8]    # the last word
        mov     ecx, esi
        sub     rsi, 256
        jb      .Lwords
        xor     r8d, r8d
        xor     r9d, r9d
        xor     r10d, r10d
.Lblock:
        add_64  rax, 0
        add_64  r8, 64
        add_64  r9, 128
        add_64  r10, 192
        add     rdi, 256
        sub     rsi, 256
        jae     .Lblock
        add     rax, r8
        adc     rax, r9
        adc     rax, r10
        adc     rax, 0
.Lwords:
        movzx   esi, cl
        shr     esi, 3                  # whole words left, 31 at most
        not     ecx
        shl     ecx, 3
        shr     rdx, cl                 # by 56 bits less those of the partial word,
        shr     rdx, 8                  # and 8: all 64 when there is none
        lea     r8, [rip + .Lsummed]
        shl     esi, 2
        add     rdi, 124
        sub     r8, rsi                 # clears the carry
        jump_into r8
        .set    nth, 30
        .rept   31                      # of 4 bytes each, as no offset is 0
        adc     rax, [rdi + 8 * nth - 124]
        .set    nth, nth - 1
        .endr
.Lsummed:
        adc     rax, rdx
        adc     rax, 0
        fold
        ret

/* At most 7 bytes. */
.Lfew:
        lea     rdx, [rdi + rsi]
        test    esi, 4
        jz      1f
        mov     eax, [rdi]
        add     rdi, 4
1:      xor     ecx, ecx
        test    esi, 2
        jz      2f
        movzx   ecx, word ptr [rdi]
        add     rax, rcx
2:      test    esi, 1
        jz      3f
        movzx   ecx, byte ptr [rdx - 1]
        add     rax, rcx
3:      fold
        ret
        end     pl_sum_carry

#endif
