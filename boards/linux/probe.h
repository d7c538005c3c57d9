/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What becomes of a misaligned load in this process, found out by trying. */
#ifndef PLUMB_LINUX_PROBE_H
#define PLUMB_LINUX_PROBE_H

#include <plumb/processor.h>

/* Tries some; for a moment, SIGBUS and SIGSEGV are its own. Loads that arrive, but take
 * as long as if the kernel or the firmware had done them, are counted as trapping. */
enum plumb_misaligned probe_misaligned(void);

#endif
