/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The client's header: big-endian 32-bit words at any byte address, from a
 * stranger. Offsets, in bytes:
 *
 *    0 flags      4 threads   8 port     12 buffer length   16 window or rate   20 amount
 *   24 type      28 length   32 flags2  36 version (8)      44 type of service
 *   48 rate, low 52 rate, high
 *
 * The second half is there when the first flags carry a length that says so.
 */
#include "iperf.h"

enum {
    FLAG_LENGTH = 0x00010000, /* bits 1 to 8 hold the header's length */
    FLAG_EXTENDED = 0x40000000,
    BASE = 24,
};

uint32_t load32(const uint8_t *b) {
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static unsigned length_said(uint32_t flags) {
    unsigned length = BASE;
    if (flags & FLAG_LENGTH)
        length = (flags & 0x1fe) >> 1;
    return length < BASE ? BASE : length;
}

unsigned header_needs(const uint8_t *bytes, unsigned length) {
    if (length < 4)
        return 4;
    uint32_t flags = load32(bytes);
    if (!(flags & (ASKS_BACK | FLAG_EXTENDED | FLAG_LENGTH | ASKS_BOUNCEBACK)))
        return 0;
    unsigned needs = length_said(flags);
    return needs < IPERF_HEADER ? needs : IPERF_HEADER;
}

void header_read(struct request *request, const uint8_t *bytes, unsigned length) {
    *request = (struct request){0};
    if (length < BASE)
        return;
    request->flags = load32(bytes);
    request->port = load32(bytes + 8);
    request->length = load32(bytes + 12);
    request->rate = load32(bytes + 16);
    request->amount = (int32_t)load32(bytes + 20);
    if (length < IPERF_HEADER || length_said(request->flags) < IPERF_HEADER)
        return;
    request->flags2 = load32(bytes + 32) >> 16;
    request->rate = load32(bytes + 52) ? UINT32_MAX : load32(bytes + 48);
}
