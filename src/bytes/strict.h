/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * For a C file that defines routines which never misalign an access, behind all other
 * headers: gives them the names they have beside those of unaligned.c. A file in
 * assembly gets them from select.h.
 */
#ifndef PL_BYTES_STRICT_H
#define PL_BYTES_STRICT_H

#include "bytes/bytes.h"
#include "bytes/unaligned.h"

#ifdef PL_STRICT_SUM
#define pl_sum PL_STRICT_SUM
#endif
#ifdef PL_STRICT_COPY
#define pl_copy     PL_STRICT_COPY
#define pl_copy_sum PL_STRICT_COPY_SUM
#endif

#endif
