/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Frames built by hand, byte by byte, sharing no code with the stack.
 *
 * A frame grows from the front: frame_ethernet(), then a network header, then
 * a transport header, then frame_append(); frame_finish() at last sets every
 * length and checksum that the headers have. What a test wants wrong it changes
 * after that. Nothing here needs a C library.
 */
#ifndef PLUMB_TEST_FRAMES_H
#define PLUMB_TEST_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include <plumb/address.h>

#define FRAME_LONGEST 1600

enum {
    FRAME_ETHERNET = 0, /* offsets of the headers of an untagged frame without options */
    FRAME_NETWORK = 14,
    FRAME_TRANSPORT = 34,
    FRAME_UDP_PAYLOAD = 42,
    FRAME_TCP_PAYLOAD = 54,
};

enum {
    TCP_FIN = 1,
    TCP_SYN = 2,
    TCP_RST = 4,
    TCP_PSH = 8,
    TCP_ACK = 16,
    TCP_URG = 32,
    TCP_ECE = 64,
    TCP_CWR = 128,
};

struct frame {
    uint16_t length;
    uint16_t network;   /* offset of the network header; 0: none yet */
    uint16_t transport; /* of the transport header; 0: none */
    uint8_t bytes[FRAME_LONGEST];
};

/* Who talks to whom. */
struct frame_path {
    uint8_t from_ethernet[6], to_ethernet[6];
    uint32_t from, to; /* IPv4, host byte order */
    uint16_t from_port, to_port;
};

/* The same the other way round. */
struct frame_path frame_path_back(const struct frame_path *path);

void frame_ethernet(struct frame *frame, const uint8_t to[6], const uint8_t from[6], uint16_t type);
void frame_append(struct frame *frame, const void *bytes, unsigned length);
void frame_append8(struct frame *frame, unsigned value);
void frame_append16(struct frame *frame, unsigned value);
void frame_append32(struct frame *frame, uint32_t value);

/* An ARP packet to `to_ethernet`; operation 1 asks, 2 answers. */
void frame_arp(struct frame *frame, const uint8_t to_ethernet[6], unsigned operation,
               const uint8_t sender[6], uint32_t sender_ipv4, const uint8_t target[6],
               uint32_t target_ipv4);

/* Ethernet and IPv4 headers; `options` is `option_length` bytes, a multiple of 4. */
void frame_ipv4(struct frame *frame, const struct frame_path *path, unsigned protocol,
                const uint8_t *options, unsigned option_length);

/* Whole frames, finished. */
void frame_icmp(struct frame *frame, const struct frame_path *path, unsigned type, unsigned code,
                uint32_t rest, const void *payload, unsigned length);
void frame_udp(struct frame *frame, const struct frame_path *path, const void *payload,
               unsigned length);
void frame_tcp(struct frame *frame, const struct frame_path *path, uint32_t sequence,
               uint32_t acknowledgement, unsigned flags, unsigned window, const uint8_t *options,
               unsigned option_length, const void *payload, unsigned length);

/* A fragment: `field` is that of the header, the more-fragments flag and the offset in units
 * of 8 bytes. */
void frame_fragment(struct frame *frame, const struct frame_path *path, unsigned protocol,
                    unsigned identification, unsigned field, const void *bytes, unsigned length);

/* Sets the lengths, and the checksums, of an IPv4 frame as it now is; a fragment's transport
 * is left alone, and never checked. */
void frame_finish(struct frame *frame);
void frame_fix_checksums(struct frame *frame);

/* Inserts an 802.1Q tag. */
void frame_tag(struct frame *frame, unsigned tag);

unsigned frame_get16(const struct frame *frame, unsigned offset);
uint32_t frame_get32(const struct frame *frame, unsigned offset);
void frame_put16(struct frame *frame, unsigned offset, unsigned value);
void frame_put32(struct frame *frame, unsigned offset, uint32_t value);

/* Every checksum in the frame is right (frames without one count as right). */
bool frame_checksums_good(const struct frame *frame);

/* The one's complement sum of big-endian halfwords, folded, not complemented. */
uint32_t frame_sum(const uint8_t *bytes, unsigned length, uint32_t start);

/* Address constants in host byte order. */
#define FRAME_IPV4(a, b, c, d)                                                                     \
    ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))

#endif
