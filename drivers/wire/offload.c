/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Checksum offload of the wire's ends. It shares no code with the stack's own
 * checksum, so that each finds the other's mistakes. Fragments and tagged
 * frames are left alone, as devices do.
 */
#include "offload.h"

#define ETHERNET_HEADER 14
#define PROTOCOL_TCP    6
#define PROTOCOL_UDP    17

struct view {
    unsigned network, transport, end; /* offsets into the frame */
    unsigned checksum;                /* offset of the transport's checksum field */
    uint8_t protocol;
};

static unsigned get16(const uint8_t *p) {
    return (unsigned)p[0] << 8 | p[1];
}

static uint32_t sum(const uint8_t *bytes, unsigned length, uint32_t start) {
    uint32_t total = start;
    for (unsigned i = 0; i < length; i++)
        total += i & 1 ? bytes[i] : (uint32_t)bytes[i] << 8;
    while (total >> 16)
        total = (total & 0xffff) + (total >> 16);
    return total;
}

static bool parse(const uint8_t *frame, unsigned length, struct view *view) {
    const uint8_t *ip = frame + ETHERNET_HEADER;
    if (length < ETHERNET_HEADER + 20 || get16(frame + 12) != 0x0800 || ip[0] >> 4 != 4)
        return false;
    unsigned header = (ip[0] & 15U) * 4, total = get16(ip + 2);
    if (header < 20 || total < header || ETHERNET_HEADER + total > length)
        return false;
    if (get16(ip + 6) & 0x3fff)
        return false;
    view->network = ETHERNET_HEADER;
    view->transport = ETHERNET_HEADER + header;
    view->end = ETHERNET_HEADER + total;
    view->protocol = ip[9];
    view->checksum = view->transport + (view->protocol == PROTOCOL_TCP ? 16 : 6);
    unsigned least = view->protocol == PROTOCOL_TCP ? 20 : 8;
    return (view->protocol == PROTOCOL_TCP || view->protocol == PROTOCOL_UDP) &&
           view->end - view->transport >= least;
}

static uint32_t transport_sum(const uint8_t *frame, const struct view *view) {
    unsigned length = view->end - view->transport;
    uint32_t pseudo = sum(frame + view->network + 12, 8, view->protocol + length);
    return sum(frame + view->transport, length, pseudo);
}

static void put16(uint8_t *p, uint32_t value) {
    p[0] = (uint8_t)(value >> 8);
    p[1] = (uint8_t)value;
}

void pl_wire_fill_checksums(uint8_t *frame, unsigned length) {
    struct view view;
    if (!parse(frame, length, &view))
        return;
    put16(frame + view.network + 10, 0);
    put16(frame + view.network + 10, ~sum(frame + view.network, view.transport - view.network, 0));
    put16(frame + view.checksum, 0);
    uint32_t checksum = ~transport_sum(frame, &view) & 0xffff;
    if (!checksum && view.protocol == PROTOCOL_UDP)
        checksum = 0xffff;
    put16(frame + view.checksum, checksum);
}

bool pl_wire_checksums_good(const uint8_t *frame, unsigned length) {
    struct view view;
    if (!parse(frame, length, &view))
        return false;
    if (sum(frame + view.network, view.transport - view.network, 0) != 0xffff)
        return false;
    if (view.protocol == PROTOCOL_UDP &&
        (get16(frame + view.checksum) == 0 ||
         get16(frame + view.transport + 4) != view.end - view.transport))
        return false;
    return transport_sum(frame, &view) == 0xffff;
}
