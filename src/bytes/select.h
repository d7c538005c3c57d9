/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Which implementation of the byte routines serves this target; read by C and by
 * assembly. The one place in src/ that asks for an instruction set.
 */
#ifndef PL_BYTES_SELECT_H
#define PL_BYTES_SELECT_H

#include <plumb_config.h>

#if defined(CONFIG_PLUMB_BYTES_ASSEMBLY) && defined(__ARMEL__) && !defined(__thumb__)
#define PL_BYTES_ARM 1
#else
#define PL_BYTES_C 1
#endif

#endif
