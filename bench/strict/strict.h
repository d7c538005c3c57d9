/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the programs about strict alignment share. */
#ifndef BENCH_STRICT_H
#define BENCH_STRICT_H

#include "user.h"

/* Takes `taken` or `traps`, what to tell a generic image of the processor, and the name
 * of byte routines, as far as there are arguments. Routines that cannot be had end the
 * run. */
void strict_choose(int count, char **arguments);

#endif
