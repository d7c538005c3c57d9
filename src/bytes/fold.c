/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "bytes/bytes.h"

uint32_t pl_fold64(uint64_t sum) {
    return pl_fold((uint32_t)((sum + (sum >> 32 | sum << 32)) >> 32));
}
