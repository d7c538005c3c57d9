/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A network interface: what a driver offers to the stack and gets from it.
 *
 * A driver embeds struct plumb_netif as its own first member, fills in the
 * fields marked (driver), and the user attaches it to one stack. It is called
 * only from within plumb_poll(), from the user's sends, and from attach; never
 * from an interrupt. An interrupt's only job is to end an idle wait.
 */
#ifndef PLUMB_NETIF_H
#define PLUMB_NETIF_H

#include <stdbool.h>
#include <stdint.h>

#include <plumb/address.h>
#include <plumb/counters.h>
#include <plumb/packet.h>

#ifdef __cplusplus
extern "C" {
#endif

struct plumb;
struct plumb_netif;

/* Where the first byte of a received frame lies. */
enum plumb_landing {
    PLUMB_LANDING_OFFSET, /* at 2 mod 4: the network header is on a word */
    PLUMB_LANDING_WORD,   /* at 0 mod 4: the network header is at 2 mod 4 */
};

enum plumb_capability {
    PLUMB_CAPABILITY_RX_CHECKSUM = 1, /* verifies; marks good packets PLUMB_PACKET_CHECKSUM_GOOD */
    PLUMB_CAPABILITY_TX_CHECKSUM = 2, /* fills in the IPv4, TCP and UDP checksums of every
                                         packet marked PLUMB_PACKET_CHECKSUM_OFFLOAD */
    PLUMB_CAPABILITY_TX_WRITES_BACK = 4, /* transmit() maps all bytes of a frame that it takes
                                            for its device to read, in place */
};

/* No deadline: the driver, or the stack, has nothing that time alone brings about. */
#define PLUMB_NEVER UINT64_MAX

struct plumb_netif_driver {
    /* Brings the device up; the stack is known and `netif->input` is set.
     * PLUMB_OK, or PLUMB_ERROR_DEVICE or PLUMB_ERROR_NO_BUFFER. */
    int (*start)(struct plumb_netif *netif);

    /* Stops the device and gives every buffer back. */
    void (*stop)(struct plumb_netif *netif);

    /* Passes up to `budget` received frames (at least 1) to netif->input, each held once,
     * linked to no other, and now the stack's; puts the packets whose sending has ended; looks
     * again before it returns less than the budget. Returns the frames passed up. Whoever
     * takes a frame may detach the interface: netif->stack is then null. */
    unsigned (*poll)(struct plumb_netif *netif, uint64_t now_us, unsigned budget);

    /* Queues a frame, complete from its Ethernet header on (fragments at any
     * byte address). The driver holds each fragment for as long as the device
     * reads it; the caller's own hold stays with the caller. PLUMB_OK, or,
     * the frame not taken, PLUMB_ERROR_WOULD_BLOCK when the ring is full or
     * PLUMB_ERROR_TOO_LONG when it never fits. */
    int (*transmit)(struct plumb_netif *netif, struct plumb_packet *packet);

    /* Tells the device about queued frames. Called once after a batch. Or null. */
    void (*flush)(struct plumb_netif *netif);

    /* The time in microseconds at which poll() will have something to do that no
     * interrupt announces, or PLUMB_NEVER. Or null. */
    uint64_t (*deadline)(const struct plumb_netif *netif);
};

/* Every frame that is sent or received, for a capture; see plumb_netif_observe. */
typedef void plumb_netif_observer(struct plumb_netif *netif, const struct plumb_packet *packet,
                                  bool sent, void *context);

struct plumb_netif {
    const struct plumb_netif_driver *driver; /* (driver) */
    const char *name;                        /* (driver) "gem0"; a string that stays */
    uint16_t mtu;                            /* (driver) largest IP datagram, bytes: 68 to 9000 */
    struct plumb_ethernet_address address;   /* (driver) at 2 mod 4, as in a received frame */
    uint8_t landing;                         /* (driver) enum plumb_landing */
    uint8_t capabilities;                    /* (driver) enum plumb_capability */
    bool link_up;                            /* (driver) */
#ifdef CONFIG_PLUMB_TCP_SEGMENTATION_OFFLOAD
    /* (driver) Of a packet marked PLUMB_PACKET_SEGMENTS, whose checksums are the device's to fill
     * in as well: the longest IP datagram, bytes, and the most fragments; 0: takes none. */
    uint16_t segments_size;
    uint16_t segments_fragments;
#endif
    uint32_t counters[PLUMB_NETIF_COUNTER_COUNT]; /* (driver) */

    /* Set by attach; what a driver calls with each received frame, complete from
     * the Ethernet header on, without FCS. */
    void (*input)(struct plumb_netif *netif, struct plumb_packet *packet);
    struct plumb *stack;
    void *expected; /* the stack's: whose next segment is looked for first, or null */
    struct plumb_netif *next;
    plumb_netif_observer *observer;
    void *observer_context;

    plumb_ipv4 ipv4; /* PLUMB_IPV4_ANY until configured */
    plumb_ipv4 netmask;
    plumb_ipv4 gateway; /* PLUMB_IPV4_ANY: none */
    uint16_t vlan; /* 802.1Q VLAN received beside untagged and priority-tagged frames; 0: none */
    void *expected_flow; /* the stack's: whose next datagram is looked for, or null */
};

/* Adds an interface to a stack and starts it. Returns PLUMB_OK,
 * PLUMB_ERROR_INVALID, PLUMB_ERROR_ALIGNMENT when this build loads words from
 * network headers (CONFIG_PLUMB_NETWORK_HEADER_ALIGNED) and the driver lands
 * them elsewhere, or what the driver's start returns. */
int plumb_netif_attach(struct plumb *stack, struct plumb_netif *netif);

/* Stops an interface and takes it off its stack. Connections over it end with
 * PLUMB_ERROR_UNREACHABLE. */
void plumb_netif_detach(struct plumb_netif *netif);

/* Sets or changes the IPv4 configuration and announces it (gratuitous ARP,
 * RFC 5227 section 3). PLUMB_IPV4_ANY as address takes it away. Returns
 * PLUMB_OK or PLUMB_ERROR_INVALID (address or gateway no host could have). */
int plumb_netif_set_ipv4(struct plumb_netif *netif, plumb_ipv4 address, plumb_ipv4 netmask,
                         plumb_ipv4 gateway);

/* Shows every frame from now on to `observer`; null ends it. */
void plumb_netif_observe(struct plumb_netif *netif, plumb_netif_observer *observer, void *context);

/* For drivers: counts one. */
static inline void plumb_netif_count(struct plumb_netif *netif, enum plumb_netif_counter counter) {
    netif->counters[counter]++;
}

#ifdef __cplusplus
}
#endif

#endif
