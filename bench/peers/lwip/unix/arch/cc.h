/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What lwIP asks of its port, beside a C library that has some of it. */
#ifndef PEER_UNIX_CC_H
#define PEER_UNIX_CC_H

#include <endian.h>
#include <limits.h>
#include <sys/types.h>

#define LWIP_DONT_PROVIDE_BYTEORDER_FUNCTIONS

#include "../../port/arch/cc.h"

/* bytes.c: Plumb's routines for this processor. */
uint32_t peer_sum(const void *bytes, size_t length);
uint32_t peer_copy_sum(void *to, const void *from, size_t length);

#endif
