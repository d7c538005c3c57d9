/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The client's header of iperf 2, of any bytes: as many as there are, and no more than it
 * asked for. */
#include "apps/iperf/header.c"
#include "model.h"

int main(void) {
    static uint8_t memory[MODEL_BYTES];
    struct request request;
    const unsigned length = nondet_u8();

    MODEL_ASSUME(length <= MODEL_BYTES);
    __CPROVER_havoc_object(memory);
    const uint8_t *bytes = memory + MODEL_BYTES - length;
    unsigned needs = header_needs(bytes, length);
    MODEL_ASSERT(needs <= IPERF_HEADER, "no more than there can be");
    header_read(&request, bytes, length);
}
