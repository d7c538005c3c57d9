/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The header of an iperf 2 client, bytes from a stranger that come in parts: how many are
 * wanted never goes back or past what is looked at, and each field is what the bytes say.
 *
 * The input is one byte, how many of the rest come first, and the header.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "iperf.h"

enum { MOST = 128 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_that(bool right, const char *what) {
    if (right)
        return;
    fprintf(stderr, "iperf_header: %s\n", what);
    abort();
}

static uint32_t word_at(const uint8_t *bytes, unsigned length, unsigned at) {
    uint32_t word = 0;
    for (unsigned i = 0; i < 4; i++)
        word = word << 8 | (at + i < length ? bytes[at + i] : 0);
    return word;
}

static void check_fields(const struct request *request, const uint8_t *bytes, unsigned length) {
    unsigned said =
        word_at(bytes, length, 0) >> 16 & 1 ? word_at(bytes, length, 0) >> 1 & 0xff : 24;
    bool base = length >= 24, whole = length >= IPERF_HEADER && said >= IPERF_HEADER;
    uint32_t rate = word_at(bytes, length, 16);

    if (whole)
        rate = word_at(bytes, length, 52) ? UINT32_MAX : word_at(bytes, length, 48);
    expect_that(request->flags == (base ? word_at(bytes, length, 0) : 0), "flags");
    expect_that(request->port == (base ? word_at(bytes, length, 8) : 0), "port");
    expect_that(request->length == (base ? word_at(bytes, length, 12) : 0), "length");
    expect_that(request->rate == (base ? rate : 0), "rate");
    expect_that((uint32_t)request->amount == (base ? word_at(bytes, length, 20) : 0), "amount");
    expect_that(request->flags2 == (whole ? word_at(bytes, length, 32) >> 16 : 0), "flags2");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct request request;

    if (size < 1)
        return 0;
    const uint8_t *bytes = data + 1;
    unsigned length = size - 1 < MOST ? (unsigned)size - 1 : MOST;
    unsigned first = length ? data[0] % (length + 1) : 0;
    unsigned early = header_needs(bytes, first), needs = header_needs(bytes, length);
    expect_that(needs <= IPERF_HEADER && early <= IPERF_HEADER, "more is wanted than is read");
    expect_that(first < 4 || early == needs, "what is wanted changed with what came");
    header_read(&request, bytes, first);
    check_fields(&request, bytes, first);
    header_read(&request, bytes, length);
    check_fields(&request, bytes, length);
    return 0;
}
