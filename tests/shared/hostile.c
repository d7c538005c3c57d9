/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A generator of bad frames: see hostile.h. */
#include "hostile.h"

static const uint8_t broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static unsigned below(struct hostile *hostile, unsigned limit) {
    return random_below(&hostile->random, limit);
}

static void append_random(struct hostile *hostile, struct frame *frame, unsigned length) {
    while (length--)
        frame_append8(frame, below(hostile, 256));
}

/* Mostly short, now and then up to a full frame. */
static unsigned some_length(struct hostile *hostile) {
    static const uint16_t limits[4] = {8, 64, 200, 1460};
    return below(hostile, limits[below(hostile, 4)] + 1U);
}

void hostile_random(struct hostile *hostile, struct frame *frame) {
    static const uint16_t types[] = {0x0800, 0x0800, 0x0800, 0x0806, 0x8100, 0x86dd};
    static const uint8_t protocols[] = {1, 6, 6, 17, 17, 4, 2, 41};
    unsigned depth = below(hostile, 5);
    frame->length = 0;
    frame->network = frame->transport = 0;
    if (depth == 0) {
        append_random(hostile, frame, some_length(hostile));
        return;
    }
    frame_ethernet(frame, below(hostile, 4) ? hostile->path.to_ethernet : broadcast,
                   hostile->path.from_ethernet, types[below(hostile, 6)]);
    if (depth >= 2 && frame_get16(frame, 12) == 0x0800)
        frame_ipv4(frame, &hostile->path, protocols[below(hostile, 8)], 0, 0);
    append_random(hostile, frame, some_length(hostile));
    if (depth >= 3 && frame->network) {
        if (depth == 4 && frame->length >= frame->transport + 14)
            frame_put16(frame, frame->transport + 2U, hostile->open_port);
        frame_finish(frame);
    }
}

static uint32_t near(struct hostile *hostile, uint32_t number) {
    static const uint32_t reach[4] = {0, 3, 3000, 200000};
    uint32_t span = reach[below(hostile, 4)];
    return number + below(hostile, 2 * span + 1) - span;
}

static void good_tcp(struct hostile *hostile, struct frame *frame) {
    static const uint8_t flags[] = {TCP_SYN,           TCP_ACK,           TCP_ACK | TCP_PSH,
                                    TCP_ACK | TCP_FIN, TCP_RST,           TCP_RST | TCP_ACK,
                                    TCP_SYN | TCP_ACK, TCP_ACK | TCP_URG, TCP_ACK | TCP_PSH};
    static const uint8_t options[] = {2, 4, 5, 0xb4, 1, 3, 3, 7, 4, 2, 1, 1};
    static const uint8_t payload[200] = "GET / HTTP/1.0\r\n\r\n";
    unsigned set = flags[below(hostile, sizeof flags)];
    unsigned length = set & (TCP_SYN | TCP_RST) ? 0 : below(hostile, sizeof payload);
    frame_tcp(frame, &hostile->path, near(hostile, hostile->sequence),
              near(hostile, hostile->acknowledgement), set, 1 + below(hostile, 65535), options,
              set & TCP_SYN ? sizeof options : 0, payload, length);
}

static void good_arp(struct hostile *hostile, struct frame *frame) {
    static const uint8_t nobody[6];
    unsigned operation = 1 + below(hostile, 2);
    uint32_t sender = below(hostile, 2)
                          ? hostile->path.from
                          : (hostile->path.from & 0xffffff00) + 1 + below(hostile, 254);
    frame_arp(frame, operation == 1 ? broadcast : hostile->path.to_ethernet, operation,
              hostile->path.from_ethernet, sender,
              operation == 1 ? nobody : hostile->path.to_ethernet,
              below(hostile, 4) ? hostile->path.to : sender);
}

static void good_icmp(struct hostile *hostile, struct frame *frame) {
    uint8_t payload[600];
    unsigned length = below(hostile, sizeof payload);
    for (unsigned i = 0; i < length; i++)
        payload[i] = (uint8_t)i;
    if (below(hostile, 3)) {
        frame_icmp(frame, &hostile->path, 8, 0, 0x12340001, payload, length);
        return;
    }
    /* An error message that quotes a segment of the host under test. */
    struct frame quoted;
    struct frame_path back = frame_path_back(&hostile->path);
    frame_tcp(&quoted, &back, near(hostile, hostile->acknowledgement), hostile->sequence, TCP_ACK,
              1000, 0, 0, 0, 0);
    static const uint8_t types[] = {3, 3, 4, 5, 11, 12};
    frame_icmp(frame, &hostile->path, types[below(hostile, 6)], below(hostile, 6),
               below(hostile, 70), quoted.bytes + FRAME_NETWORK, 28);
}

void hostile_good(struct hostile *hostile, struct frame *frame) {
    static const uint8_t payload[64] = {1, 2, 3, 4};
    struct frame_path path = hostile->path;
    switch (below(hostile, 8)) {
    case 0:
        good_arp(hostile, frame);
        break;
    case 1:
        good_icmp(hostile, frame);
        break;
    case 2:
        frame_udp(frame, &path, payload, below(hostile, sizeof payload));
        break;
    case 3:
        path.to_port = (uint16_t)below(hostile, 65536);
        frame_udp(frame, &path, payload, below(hostile, sizeof payload));
        break;
    case 4:
        path.from_port = 67;
        path.to_port = 68;
        frame_udp(frame, &path, payload, sizeof payload);
        break;
    default:
        good_tcp(hostile, frame);
    }
}

/* One byte becomes a value on which parsers stumble. */
static void spoil_byte(struct hostile *hostile, struct frame *frame) {
    static const uint8_t values[] = {0,    1,    2,    3,    4,    5,    7,    8,    0x0f,
                                     0x40, 0x44, 0x46, 0x4f, 0x7f, 0x80, 0xf0, 0xfe, 0xff};
    if (frame->length)
        frame->bytes[below(hostile, frame->length)] = values[below(hostile, sizeof values)];
}

static void spoil_bit(struct hostile *hostile, struct frame *frame) {
    if (frame->length)
        frame->bytes[below(hostile, frame->length)] ^= (uint8_t)(1U << below(hostile, 8));
}

/* Header bytes more often than payload. */
static void spoil_header(struct hostile *hostile, struct frame *frame) {
    unsigned limit = frame->length < 66 ? frame->length : 66;
    if (limit > 12)
        frame->bytes[12 + below(hostile, limit - 12)] = (uint8_t)below(hostile, 256);
}

static void cut(struct hostile *hostile, struct frame *frame) {
    frame->length = (uint16_t)below(hostile, frame->length + 1U);
}

static void lengthen(struct hostile *hostile, struct frame *frame) {
    append_random(hostile, frame, 1 + below(hostile, 100));
}

static void swap_ranges(struct hostile *hostile, struct frame *frame) {
    if (frame->length < 40)
        return;
    unsigned a = below(hostile, frame->length - 8U), b = below(hostile, frame->length - 8U);
    for (unsigned i = 0; i < 8; i++) {
        uint8_t held = frame->bytes[a + i];
        frame->bytes[a + i] = frame->bytes[b + i];
        frame->bytes[b + i] = held;
    }
}

void hostile_mutated(struct hostile *hostile, struct frame *frame) {
    static void (*const ways[])(struct hostile *, struct frame *) = {
        spoil_byte, spoil_bit, spoil_header, spoil_header, cut, lengthen, swap_ranges};
    hostile_good(hostile, frame);
    for (unsigned times = 1 + below(hostile, 4); times--;)
        ways[below(hostile, sizeof ways / sizeof *ways)](hostile, frame);
    if (below(hostile, 2))
        frame_fix_checksums(frame);
}

void hostile_option_soup(struct hostile *hostile, struct frame *frame) {
    static const uint8_t kinds[] = {0, 1, 2, 3, 4, 5, 8, 14, 19, 29, 30, 34, 69, 254, 255};
    uint8_t options[40];
    unsigned length = 4 * below(hostile, 11);
    for (unsigned i = 0; i < length; i++)
        options[i] =
            below(hostile, 3) ? (uint8_t)below(hostile, 12) : kinds[below(hostile, sizeof kinds)];
    unsigned flags = below(hostile, 2) ? TCP_SYN : TCP_ACK;
    frame_tcp(frame, &hostile->path, near(hostile, hostile->sequence),
              near(hostile, hostile->acknowledgement), flags, 8192, options, length, "soup",
              flags == TCP_SYN ? 0 : 4);
}
