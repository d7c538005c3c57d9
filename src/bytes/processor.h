/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What a processor tells of itself; each family's file knows how it is asked. */
#ifndef PL_BYTES_PROCESSOR_H
#define PL_BYTES_PROCESSOR_H

#include <plumb/processor.h>

/* PLUMB_MISALIGNED_UNKNOWN where, or while, it cannot be asked. */
enum plumb_misaligned pl_processor_misaligned(void);

#endif
