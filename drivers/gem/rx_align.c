/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Received frames that the device left on a word, brought to where the stack loads
 * their headers by words: moved as a whole (shift), or with their headers copied in
 * front of the payload, which stays (pull). For measuring what not moving them saves.
 *
 * What holds: the frame handed up begins at 2 mod 4, has the bytes that arrived, and is
 * in as many pieces as before, or one more. No byte outside its buffers is touched.
 */
#include "rx_frame.h"

#if defined(CONFIG_PLUMB_GEM_RX_SHIFT) || defined(CONFIG_PLUMB_GEM_RX_PULL)

enum { DISTANCE = 2 };

#endif

#ifdef CONFIG_PLUMB_GEM_RX_SHIFT

enum { LONGEST = 1518, BLOCK = 8 };

typedef uint32_t __attribute__((may_alias)) frame_word;

/* A word's first two bytes in memory follow what the word before left over. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define JOINED(left, word) ((left) << 16 | (word) >> 16)
#else
#define JOINED(left, word) ((left) >> 16 | (word) << 16)
#endif

/* A frame in one buffer, at its beginning. Goes by whole blocks, which a buffer is made of. */
bool pl_gem_rx_frame(struct plumb_gem *gem, struct plumb_packet **frame) {
    struct plumb_packet *packet = *frame;
    frame_word *at = (void *)packet->data;
    const frame_word *end = at + (packet->length + DISTANCE + 3U) / 4;
    uint32_t left = 0;

    (void)gem;
    do {
        uint32_t a = at[0], b = at[1], c = at[2], d = at[3];
        uint32_t e = at[4], f = at[5], g = at[6], h = at[7];
        at[0] = JOINED(left, a);
        at[1] = JOINED(a, b);
        at[2] = JOINED(b, c);
        at[3] = JOINED(c, d);
        at[4] = JOINED(d, e);
        at[5] = JOINED(e, f);
        at[6] = JOINED(f, g);
        at[7] = JOINED(g, h);
        left = h;
        at += BLOCK;
    } while (at < end);
    packet->data += DISTANCE;
    packet->dirty = true;
    return true;
}

bool pl_gem_rx_frame_fits(const struct plumb_gem_config *config) {
    return config->landing == PLUMB_LANDING_OFFSET && config->rx_buffer >= LONGEST + DISTANCE;
}

#endif

#ifdef CONFIG_PLUMB_GEM_RX_PULL

enum {
    ETHERNET_HEADER = 14,
    VLAN_TAG = 4,
    SMALL = 128, /* a frame this short is copied whole, and its buffer free again */
    IPV4_PROTOCOL = 9,
    TCP = 6,
    TCP_DATA_OFFSET = 12,
    SHORTEST_HEADER = 8, /* of UDP and ICMP */
};

static unsigned words(unsigned count) {
    return (count & 15U) * 4;
}

/* How far the headers reach, by what they say of themselves; the layers that own them
 * check it. Up to `length` bytes are there to be read. */
static unsigned header_length(const uint8_t *frame, unsigned length) {
    unsigned at = ETHERNET_HEADER;

    if (length > ETHERNET_HEADER + VLAN_TAG && frame[12] == 0x81 && frame[13] == 0)
        at += VLAN_TAG;
    if (at + IPV4_PROTOCOL >= length || frame[at - 2] != 0x08 || frame[at - 1] != 0)
        return at;
    bool is_tcp = frame[at + IPV4_PROTOCOL] == TCP;
    at += words(frame[at]);
    if (is_tcp && at + TCP_DATA_OFFSET < length)
        return at + words(frame[at + TCP_DATA_OFFSET] >> 4);
    return at + SHORTEST_HEADER;
}

static unsigned to_copy(const struct plumb_packet *packet, unsigned room) {
    unsigned most = packet->length < room ? packet->length : room;
    unsigned length = packet->total <= SMALL ? most : header_length(packet->data, packet->length);

    return length < most ? length : most;
}

/* Takes the copied bytes off the frame; null when none are left. */
static struct plumb_packet *rest_of(struct plumb_packet *packet, unsigned copied) {
    struct plumb_packet *more = packet->more;

    if (copied < packet->length) {
        packet->data += copied;
        packet->length = (uint16_t)(packet->length - copied);
        return packet;
    }
    plumb_fragment_put(packet);
    return more;
}

bool pl_gem_rx_frame(struct plumb_gem *gem, struct plumb_packet **frame) {
    struct plumb_packet *packet = *frame;
    struct plumb_packet *head = plumb_packet_take(gem->config.rx_small, DISTANCE);

    if (!head) {
        plumb_netif_count(&gem->netif, PLUMB_NETIF_rx_no_buffer);
        plumb_packet_put(packet);
        return false;
    }
    unsigned length = to_copy(packet, gem->config.rx_small->capacity - DISTANCE);
    plumb_packet_copy_out(packet, 0, head->data, length);
    head->dirty = true;
    head->length = (uint16_t)length;
    head->total = packet->total;
    head->flags = packet->flags;
    head->more = rest_of(packet, length);
    *frame = head;
    return true;
}

bool pl_gem_rx_frame_fits(const struct plumb_gem_config *config) {
    return config->landing == PLUMB_LANDING_OFFSET && config->rx_small &&
           config->rx_small->capacity >= SMALL + DISTANCE;
}

#endif
