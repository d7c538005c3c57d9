/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Which implementation of the byte routines serves this target; read by C and by
 * assembly. The one place in src/ that asks for an instruction set.
 *
 * At most one family is chosen, PL_BYTES_...; PL_SUM_IN_C, PL_COPY_IN_C and
 * PL_COPY_SUM_IN_C say which routines portable C keeps all the same, because
 * nothing is known to beat it there. PL_BYTES_DISPATCHED: the family has several sets
 * and one is chosen at run time; see routines.h.
 *
 * Where the configuration wants routines that misalign, alone (PL_BYTES_UNALIGNED) or as
 * one of two sets (PL_BYTES_GENERIC), those beside them have names that end in _strict.
 */
#ifndef PL_BYTES_SELECT_H
#define PL_BYTES_SELECT_H

#include <plumb_config.h>

#ifdef __ASSEMBLER__
#include "bytes/object.inc"
#endif

/* In C: a register and its carries, word by word, are more than the low registers of
 * Thumb-1 hold. */
#if defined(__thumb__) && !defined(__thumb2__)
#define PL_SUM_BY_HALFWORDS 1
#endif

#if !defined(CONFIG_PLUMB_BYTES_ASSEMBLY)
#define PL_SUM_IN_C      1
#define PL_COPY_IN_C     1
#define PL_COPY_SUM_IN_C 1

#elif defined(__ARMEL__) && !defined(__thumb__)
#define PL_BYTES_ARM 1

#elif defined(__ARMEL__) && defined(__thumb2__)
#define PL_BYTES_THUMB2 1

#elif defined(__ARMEL__)
#define PL_BYTES_THUMB1 1

/* Not for RV32E and RV64E, which lack half of the registers. */
#elif defined(__riscv) && !defined(__riscv_e) && !defined(__riscv_32e) &&                          \
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define PL_BYTES_RISCV 1
#if __riscv_xlen == 32
#define PL_SUM_IN_C 1
#endif

#elif defined(__loongarch_lp64)
#define PL_BYTES_LOONGARCH 1

#elif defined(__AARCH64EL__) && defined(__LP64__) && defined(__ELF__)
#define PL_BYTES_AARCH64 1

/* Their routines hold absolute addresses. */
#elif defined(__sparc__) && !defined(__arch64__) && !defined(__PIC__) &&                           \
    __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define PL_BYTES_SPARC 1

/* Release 6 has neither maddu nor lwl; n32 and n64 pass other registers. */
#elif defined(__mips__) && defined(_ABIO32) && _MIPS_SIM == _ABIO32 && defined(__mips_isa_rev) &&  \
    __mips_isa_rev < 6 && !defined(__mips16) && !defined(__mips_micromips) && !defined(__PIC__)
#define PL_BYTES_MIPS 1

#elif defined(__x86_64__) && defined(__ELF__) && !defined(__ILP32__)
#define PL_BYTES_X86        1
#define PL_BYTES_DISPATCHED 1

#else
#define PL_SUM_IN_C      1
#define PL_COPY_IN_C     1
#define PL_COPY_SUM_IN_C 1
#endif

/* Processors of which some load misaligned words and others trap, by how they tell: a
 * register of the ARM's, or of AArch64's, a word of the LoongArch's; or not at all, so
 * that the board has to try. */
#if defined(__ARMEL__) && __ARM_ARCH >= 6 && (!defined(__thumb__) || defined(__thumb2__))
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define PL_MISALIGNED_UNTOLD 1
#else
#define PL_MISALIGNED_ARM 1
#endif
#define PL_MISALIGNED_SOME 1
#elif defined(__AARCH64EL__)
#define PL_MISALIGNED_AARCH64 1
#define PL_MISALIGNED_SOME    1
#elif defined(__loongarch__)
#define PL_MISALIGNED_LOONGARCH 1
#define PL_MISALIGNED_SOME      1
#elif defined(__riscv)
#define PL_MISALIGNED_UNTOLD 1
#define PL_MISALIGNED_SOME   1
#endif

#if defined(PL_MISALIGNED_SOME) && defined(CONFIG_PLUMB_ALIGNMENT_GENERIC)
#define PL_BYTES_GENERIC    1
#define PL_BYTES_DISPATCHED 1
#elif defined(PL_MISALIGNED_SOME) && defined(CONFIG_PLUMB_ALIGNMENT_UNALIGNED)
#define PL_BYTES_UNALIGNED 1
#elif defined(CONFIG_PLUMB_ALIGNMENT_UNALIGNED) && !defined(__x86_64__) && !defined(__i386__)
#error "no processor of this target loads misaligned words: PLUMB_ALIGNMENT_STRICT or _GENERIC"
#endif

/* Copies that misalign, of which there are no sums. PL_UNALIGNED_IN_C: they are those of
 * unaligned.c; elsewhere the family's own take any source by their loops for what is
 * aligned. PL_UNALIGNED_BLOCKS: part of unaligned.c is assembly. */
#if defined(PL_BYTES_GENERIC) || defined(PL_BYTES_UNALIGNED)
#if !defined(PL_BYTES_RISCV) && !defined(PL_BYTES_LOONGARCH)
#define PL_UNALIGNED_IN_C 1
#endif
#if defined(__ELF__) && (defined(__ARMEL__) || (defined(__AARCH64EL__) && defined(__LP64__)))
#define PL_UNALIGNED_BLOCKS 1
#endif
#endif

/* Copies as others have them, in place of the family's; see compared.c. */
#if (defined(CONFIG_PLUMB_BYTES_COPY_BYTES) || defined(CONFIG_PLUMB_BYTES_COPY_HALFWORDS)) &&      \
    !defined(PL_BYTES_DISPATCHED)
#define PL_COPY_COMPARED 1
#endif

/* The family's routines beside them. C takes the names from strict.h. */
#if defined(PL_BYTES_GENERIC) || defined(PL_UNALIGNED_IN_C) || defined(PL_COPY_COMPARED)
#define PL_STRICT_COPY     pl_copy_strict
#define PL_STRICT_COPY_SUM pl_copy_sum_strict
#ifdef PL_BYTES_GENERIC
#define PL_STRICT_SUM pl_sum_strict
#endif
#ifdef __ASSEMBLER__
#define pl_copy     PL_STRICT_COPY
#define pl_copy_sum PL_STRICT_COPY_SUM
#ifdef PL_STRICT_SUM
#define pl_sum PL_STRICT_SUM
#endif
#endif
#endif

#endif
