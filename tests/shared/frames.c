/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Frames built by hand: see frames.h. */
#include "frames.h"

#define PROTOCOL_ICMP 1
#define PROTOCOL_TCP  6
#define PROTOCOL_UDP  17

static void copy(uint8_t *to, const uint8_t *from, unsigned length) {
    for (unsigned i = 0; i < length; i++)
        to[i] = from[i];
}

struct frame_path frame_path_back(const struct frame_path *path) {
    struct frame_path back = {
        .from = path->to,
        .to = path->from,
        .from_port = path->to_port,
        .to_port = path->from_port,
    };
    copy(back.from_ethernet, path->to_ethernet, 6);
    copy(back.to_ethernet, path->from_ethernet, 6);
    return back;
}

unsigned frame_get16(const struct frame *frame, unsigned offset) {
    return (unsigned)frame->bytes[offset] << 8 | frame->bytes[offset + 1];
}

uint32_t frame_get32(const struct frame *frame, unsigned offset) {
    return (uint32_t)frame_get16(frame, offset) << 16 | frame_get16(frame, offset + 2);
}

void frame_put16(struct frame *frame, unsigned offset, unsigned value) {
    frame->bytes[offset] = (uint8_t)(value >> 8);
    frame->bytes[offset + 1] = (uint8_t)value;
}

void frame_put32(struct frame *frame, unsigned offset, uint32_t value) {
    frame_put16(frame, offset, value >> 16);
    frame_put16(frame, offset + 2, value & 0xffff);
}

void frame_append8(struct frame *frame, unsigned value) {
    if (frame->length < FRAME_LONGEST)
        frame->bytes[frame->length++] = (uint8_t)value;
}

void frame_append(struct frame *frame, const void *bytes, unsigned length) {
    const uint8_t *from = bytes;
    for (unsigned i = 0; i < length; i++)
        frame_append8(frame, from[i]);
}

void frame_append16(struct frame *frame, unsigned value) {
    frame_append8(frame, value >> 8);
    frame_append8(frame, value & 0xff);
}

void frame_append32(struct frame *frame, uint32_t value) {
    frame_append16(frame, value >> 16);
    frame_append16(frame, value & 0xffff);
}

void frame_ethernet(struct frame *frame, const uint8_t to[6], const uint8_t from[6],
                    uint16_t type) {
    frame->length = frame->network = frame->transport = 0;
    frame_append(frame, to, 6);
    frame_append(frame, from, 6);
    frame_append16(frame, type);
}

void frame_arp(struct frame *frame, const uint8_t to_ethernet[6], unsigned operation,
               const uint8_t sender[6], uint32_t sender_ipv4, const uint8_t target[6],
               uint32_t target_ipv4) {
    frame_ethernet(frame, to_ethernet, sender, 0x0806);
    frame_append16(frame, 1);
    frame_append16(frame, 0x0800);
    frame_append8(frame, 6);
    frame_append8(frame, 4);
    frame_append16(frame, operation);
    frame_append(frame, sender, 6);
    frame_append32(frame, sender_ipv4);
    frame_append(frame, target, 6);
    frame_append32(frame, target_ipv4);
    while (frame->length < 60)
        frame_append8(frame, 0);
}

void frame_ipv4(struct frame *frame, const struct frame_path *path, unsigned protocol,
                const uint8_t *options, unsigned option_length) {
    frame_ethernet(frame, path->to_ethernet, path->from_ethernet, 0x0800);
    frame->network = frame->length;
    frame_append8(frame, 0x45 + option_length / 4);
    frame_append8(frame, 0);
    frame_append16(frame, 0);
    frame_append16(frame, 0x1234);
    frame_append16(frame, 0x4000);
    frame_append8(frame, 64);
    frame_append8(frame, protocol);
    frame_append16(frame, 0);
    frame_append32(frame, path->from);
    frame_append32(frame, path->to);
    frame_append(frame, options, option_length);
    frame->transport = frame->length;
}

void frame_icmp(struct frame *frame, const struct frame_path *path, unsigned type, unsigned code,
                uint32_t rest, const void *payload, unsigned length) {
    frame_ipv4(frame, path, PROTOCOL_ICMP, 0, 0);
    frame_append8(frame, type);
    frame_append8(frame, code);
    frame_append16(frame, 0);
    frame_append32(frame, rest);
    frame_append(frame, payload, length);
    frame_finish(frame);
}

void frame_udp(struct frame *frame, const struct frame_path *path, const void *payload,
               unsigned length) {
    frame_ipv4(frame, path, PROTOCOL_UDP, 0, 0);
    frame_append16(frame, path->from_port);
    frame_append16(frame, path->to_port);
    frame_append16(frame, 8 + length);
    frame_append16(frame, 0);
    frame_append(frame, payload, length);
    frame_finish(frame);
}

void frame_tcp(struct frame *frame, const struct frame_path *path, uint32_t sequence,
               uint32_t acknowledgement, unsigned flags, unsigned window, const uint8_t *options,
               unsigned option_length, const void *payload, unsigned length) {
    frame_ipv4(frame, path, PROTOCOL_TCP, 0, 0);
    frame_append16(frame, path->from_port);
    frame_append16(frame, path->to_port);
    frame_append32(frame, sequence);
    frame_append32(frame, acknowledgement);
    frame_append8(frame, (5 + (option_length + 3) / 4) << 4);
    frame_append8(frame, flags);
    frame_append16(frame, window);
    frame_append16(frame, 0);
    frame_append16(frame, 0);
    frame_append(frame, options, option_length);
    while (option_length++ & 3)
        frame_append8(frame, 0);
    frame_append(frame, payload, length);
    frame_finish(frame);
}

void frame_fragment(struct frame *frame, const struct frame_path *path, unsigned protocol,
                    unsigned identification, unsigned field, const void *bytes, unsigned length) {
    frame_ipv4(frame, path, protocol, 0, 0);
    frame_put16(frame, frame->network + 4U, identification);
    frame_put16(frame, frame->network + 6U, field);
    frame_append(frame, bytes, length);
    frame_put16(frame, frame->network + 2U, (unsigned)frame->length - frame->network);
    frame_fix_checksums(frame);
}

uint32_t frame_sum(const uint8_t *bytes, unsigned length, uint32_t start) {
    uint32_t total = start;
    for (unsigned i = 0; i < length; i++)
        total += i & 1 ? bytes[i] : (uint32_t)bytes[i] << 8;
    while (total >> 16)
        total = (total & 0xffff) + (total >> 16);
    return total;
}

/* Where a transport's checksum lies in its header, and how long the header is. */
static bool checksum_place(unsigned protocol, unsigned *place, unsigned *least) {
    switch (protocol) {
    case PROTOCOL_ICMP:
        *place = 2, *least = 8;
        return true;
    case PROTOCOL_UDP:
        *place = 6, *least = 8;
        return true;
    case PROTOCOL_TCP:
        *place = 16, *least = 20;
        return true;
    default:
        return false;
    }
}

static uint32_t transport_sum(const struct frame *frame, unsigned end) {
    const uint8_t *ip = frame->bytes + frame->network;
    unsigned length = end - frame->transport;
    uint32_t start = 0;
    if (ip[9] != PROTOCOL_ICMP)
        start = frame_sum(ip + 12, 8, ip[9] + length);
    return frame_sum(frame->bytes + frame->transport, length, start);
}

/* Where the datagram ends by its own account, kept within the frame. */
static unsigned datagram_end(const struct frame *frame) {
    unsigned end = frame->network + frame_get16(frame, frame->network + 2);
    return end > frame->length ? frame->length : end;
}

static bool is_fragment(const struct frame *frame, unsigned network) {
    return frame_get16(frame, network + 6) & 0x3fff;
}

/* Finds the headers of whatever the frame holds now; false when not IPv4. */
static bool find_headers(const struct frame *frame, struct frame *found) {
    unsigned network = frame->length >= 18 && frame_get16(frame, 12) == 0x8100 ? 18 : 14;
    found->network = (uint16_t)network;
    if (frame->length < network + 20 || frame_get16(frame, network - 2) != 0x0800)
        return false;
    unsigned header = (frame->bytes[network] & 15U) * 4;
    found->transport = (uint16_t)(network + header);
    return header >= 20 && network + header <= frame->length;
}

void frame_fix_checksums(struct frame *frame) {
    unsigned place, least;
    if (!find_headers(frame, frame))
        return;
    unsigned end = datagram_end(frame), network = frame->network, transport = frame->transport;
    frame_put16(frame, network + 10, 0);
    frame_put16(frame, network + 10, ~frame_sum(frame->bytes + network, transport - network, 0));
    if (is_fragment(frame, network) || !checksum_place(frame->bytes[network + 9], &place, &least) ||
        end < transport + least)
        return;
    frame_put16(frame, transport + place, 0);
    unsigned checksum = ~transport_sum(frame, end) & 0xffff;
    if (!checksum && frame->bytes[network + 9] == PROTOCOL_UDP)
        checksum = 0xffff;
    frame_put16(frame, transport + place, checksum);
}

void frame_finish(struct frame *frame) {
    frame_put16(frame, frame->network + 2U, (unsigned)frame->length - frame->network);
    if (frame->bytes[frame->network + 9] == PROTOCOL_UDP)
        frame_put16(frame, frame->transport + 4U, (unsigned)frame->length - frame->transport);
    frame_fix_checksums(frame);
}

void frame_tag(struct frame *frame, unsigned tag) {
    for (unsigned i = frame->length; i-- > 12;)
        frame->bytes[i + 4] = frame->bytes[i];
    frame_put16(frame, 12, 0x8100);
    frame_put16(frame, 14, tag);
    frame->length = (uint16_t)(frame->length + 4);
    frame->network = (uint16_t)(frame->network + 4);
    frame->transport = (uint16_t)(frame->transport + 4);
}

bool frame_checksums_good(const struct frame *frame) {
    struct frame view = *frame;
    unsigned place, least;
    if (!find_headers(frame, &view))
        return true;
    unsigned network = view.network, transport = view.transport, end = datagram_end(&view);
    if (frame_sum(frame->bytes + network, transport - network, 0) != 0xffff)
        return false;
    if (is_fragment(frame, network) || !checksum_place(frame->bytes[network + 9], &place, &least) ||
        end < transport + least)
        return true;
    if (frame->bytes[network + 9] == PROTOCOL_UDP && !frame_get16(frame, transport + place))
        return true;
    return transport_sum(&view, end) == 0xffff;
}
