/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Chains of fragments: whatever is done to one, it agrees with a flat copy of its
 * bytes. The input is a script of tests/shared/chain_check.h.
 */
#include <stdio.h>
#include <stdlib.h>

#include "chain_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *script, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *script, size_t length) {
    const char *failure = chain_check(script, length);

    if (failure) {
        fprintf(stderr, "bytes_chain: %s\n", failure);
        abort();
    }
    return 0;
}
