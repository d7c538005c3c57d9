/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* IPv4's options, of any bytes, up to MOST. */
#include "inet/ipv4.c"
#include "model.h"

#ifndef MOST
#define MOST 40
#endif

int main(void) {
    static uint8_t memory[MOST];
    const unsigned length = nondet_u8();

    MODEL_ASSUME(length <= MOST);
    __CPROVER_havoc_object(memory);
    options_pass(memory + MOST - length, length);
}
