/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "bytes/bytes.h"

uint32_t pl_fold64(uint64_t sum) {
    uint32_t high = (uint32_t)(sum >> 32);
    uint32_t low = (uint32_t)sum + high;

    return pl_fold(low < high ? low + 1 : low);
}
