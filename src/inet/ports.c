/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "inet/ports.h"

#define FIRST 49152U
#define COUNT 16384U

uint16_t pl_port_choose(uint32_t start, bool (*in_use)(void *context, uint16_t port),
                        void *context) {
    for (uint32_t i = 0; i < COUNT; i++) {
        uint16_t port = (uint16_t)(FIRST + (start + i) % COUNT);
        if (!in_use(context, port))
            return port;
    }
    return 0;
}
