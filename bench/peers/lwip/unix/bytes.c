/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Plumb's routines as lwIP's checksum, by functions: those that they are called by are inline. */
#include "bytes/bytes.h"

uint32_t peer_sum(const void *bytes, size_t length);
uint32_t peer_copy_sum(void *to, const void *from, size_t length);

uint32_t peer_sum(const void *bytes, size_t length) {
    return pl_sum(bytes, length);
}

uint32_t peer_copy_sum(void *to, const void *from, size_t length) {
    return pl_copy_sum(to, from, length);
}
