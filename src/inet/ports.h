/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Ephemeral ports (RFC 6056 section 3.3.1): at random in the dynamic range. */
#ifndef PL_PORTS_H
#define PL_PORTS_H

#include "stack/stack.h"

/* A port from 49152 to 65535 of which `in_use` says no; 0 when none was found. */
uint16_t pl_port_choose(struct plumb *stack, bool (*in_use)(void *context, uint16_t port),
                        void *context);

#endif
