/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A network interface over a Linux TAP device: the stack as a host of its own
 * beside the kernel, which sees it at the other end of a cable.
 *
 *     struct plumb_tap tap;
 *     plumb_tap_open(&tap, &(struct plumb_tap_config){.name = "tap0", .pool = &pool, ...});
 *     plumb_netif_attach(stack, &tap.netif);
 *     ... poll(2) on tap.fd ends an idle wait ...
 *     plumb_destroy(stack);
 *     plumb_tap_close(&tap);
 */
#ifndef PLUMB_TAP_H
#define PLUMB_TAP_H

#include <plumb/netif.h>
#include <plumb/packet.h>

/* What is left to the device, which is the kernel. */
enum plumb_tap_offload {
    PLUMB_TAP_OFFLOAD_NONE,
    PLUMB_TAP_OFFLOAD_CHECKSUMS, /* of TCP and UDP, both ways */
    PLUMB_TAP_OFFLOAD_SEGMENTS,  /* those, and TCP segments: up to 64 KB come as one frame, and
                                    with CONFIG_PLUMB_TCP_SEGMENTATION_OFFLOAD go as one */
};

/* Fragments of the longest frame that may come as one. */
#define PLUMB_TAP_LANDINGS 64

struct plumb_tap_config {
    const char *name;                      /* of the TAP device; made when it does not exist */
    struct plumb_pool *pool;               /* for received frames: buffers of 1536 bytes or more */
    struct plumb_ethernet_address address; /* the stack's; must differ from the kernel's */
    uint16_t mtu;                          /* 0: 1500 */
    /* As far as the kernel offers it. With _SEGMENTS the pool has twice as many packets as the
     * longest frame takes, of which so many are held while waiting. */
    enum plumb_tap_offload offload;
};

struct plumb_tap {
    struct plumb_netif netif; /* first: a driver is reached through it */
    struct plumb_pool *pool;
    struct plumb_packet *landing[PLUMB_TAP_LANDINGS]; /* where the next frame is read to */
    unsigned landings; /* as many as the longest frame takes; all null: stopped */
    enum plumb_tap_offload offload;
    int fd;
    char name[16];
};

/* Opens the device; `config` may go afterwards. Returns PLUMB_OK,
 * PLUMB_ERROR_INVALID (name too long, buffers too small for the MTU, too few), or
 * PLUMB_ERROR_DEVICE with errno telling why. */
int plumb_tap_open(struct plumb_tap *tap, const struct plumb_tap_config *config);

/* The same over a descriptor that somebody else has opened, and that gives and takes a frame at a
 * time without waiting: one end of a socketpair of datagrams, say. With offloads there is a virtio
 * header in front of each frame, both ways. Returns PLUMB_OK or PLUMB_ERROR_INVALID. */
int plumb_tap_adopt(struct plumb_tap *tap, int fd, const struct plumb_tap_config *config);

/* Closes the device of a detached interface. */
void plumb_tap_close(struct plumb_tap *tap);

#endif
