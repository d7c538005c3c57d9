/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Ephemeral ports (RFC 6056): in the dynamic range, from where the caller begins to look. */
#ifndef PL_PORTS_H
#define PL_PORTS_H

#include "stack/stack.h"

/* A port from 49152 to 65535 of which `in_use` says no, the first from `start` on, modulo their
 * number; 0 when there is none. */
uint16_t pl_port_choose(uint32_t start, bool (*in_use)(void *context, uint16_t port),
                        void *context);

#endif
