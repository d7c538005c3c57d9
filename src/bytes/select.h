/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Which implementation of the byte routines serves this target; read by C and by
 * assembly. The one place in src/ that asks for an instruction set.
 *
 * At most one family is chosen, PL_BYTES_...; PL_SUM_IN_C, PL_COPY_IN_C and
 * PL_COPY_SUM_IN_C say which routines portable C keeps all the same, because
 * nothing is known to beat it there. PL_BYTES_DISPATCHED: the family has several sets
 * and one is chosen at run time; see routines.h.
 */
#ifndef PL_BYTES_SELECT_H
#define PL_BYTES_SELECT_H

#include <plumb_config.h>

#if !defined(CONFIG_PLUMB_BYTES_ASSEMBLY)
#define PL_SUM_IN_C      1
#define PL_COPY_IN_C     1
#define PL_COPY_SUM_IN_C 1

#elif defined(__ARMEL__) && !defined(__thumb__)
#define PL_BYTES_ARM 1

#elif defined(__x86_64__) && !defined(__ILP32__)
#define PL_BYTES_X86        1
#define PL_BYTES_DISPATCHED 1

#else
#define PL_SUM_IN_C      1
#define PL_COPY_IN_C     1
#define PL_COPY_SUM_IN_C 1
#endif

#endif
