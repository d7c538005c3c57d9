/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The TAP driver. Frames are read straight into pool buffers, two bytes in, so
 * that network headers lie on a word; they are written with one gathering
 * write per frame. It owns the file descriptor and, between start and stop, one
 * packet: the next frame's landing place.
 *
 * What holds: while started, `landing` is never null. A frame is passed up only
 * when its replacement is already in hand; otherwise it is dropped and counted
 * and its buffer is used again. So an empty pool costs frames, never reception.
 */
#include "tap.h"

#include <plumb/error.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    HEADROOM = 2,     /* 14 bytes of Ethernet header then end on a word */
    FRAME_HEADER = 18 /* with an 802.1Q tag */
};

static struct plumb_tap *tap_of(struct plumb_netif *netif) {
    return (struct plumb_tap *)netif;
}

static int tap_start(struct plumb_netif *netif) {
    struct plumb_tap *tap = tap_of(netif);
    tap->landing = plumb_packet_take(tap->pool, HEADROOM);
    if (!tap->landing)
        return PLUMB_ERROR_NO_BUFFER;
    netif->link_up = true;
    plumb_netif_count(netif, PLUMB_NETIF_link_up);
    return PLUMB_OK;
}

static void tap_stop(struct plumb_netif *netif) {
    struct plumb_tap *tap = tap_of(netif);
    plumb_packet_put(tap->landing);
    tap->landing = NULL;
    netif->link_up = false;
}

static bool pass_up(struct plumb_tap *tap, size_t length) {
    struct plumb_netif *netif = &tap->netif;
    if (length > (size_t)netif->mtu + FRAME_HEADER) {
        plumb_netif_count(netif, PLUMB_NETIF_rx_too_long);
        return false;
    }
    struct plumb_packet *replacement = plumb_packet_take(tap->pool, HEADROOM);
    if (!replacement) {
        plumb_netif_count(netif, PLUMB_NETIF_rx_no_buffer);
        return false;
    }
    struct plumb_packet *frame = tap->landing;
    tap->landing = replacement;
    frame->length = frame->total = (uint16_t)length;
    plumb_netif_count(netif, PLUMB_NETIF_rx_frames);
    netif->input(netif, frame);
    return true;
}

static unsigned tap_poll(struct plumb_netif *netif, uint64_t now_us, unsigned budget) {
    struct plumb_tap *tap = tap_of(netif);
    unsigned passed = 0;
    (void)now_us;
    /* Dropped frames count against the budget of reads, or a flood into an empty
     * pool would keep us here. */
    for (unsigned reads = 0; reads < budget && tap->landing; reads++) {
        ssize_t length = read(tap->fd, tap->landing->data, (size_t)tap->pool->capacity - HEADROOM);
        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0) {
            if (length < 0 && errno != EAGAIN)
                plumb_netif_count(netif, PLUMB_NETIF_rx_error);
            break;
        }
        passed += pass_up(tap, (size_t)length);
    }
    return passed;
}

/* The write is over when it returns: no fragment is held. */
static int tap_transmit(struct plumb_netif *netif, struct plumb_packet *packet) {
    struct iovec vectors[64];
    int count = 0;
    for (struct plumb_packet *f = packet; f; f = f->more) {
        if (count == (int)(sizeof vectors / sizeof vectors[0])) {
            plumb_netif_count(netif, PLUMB_NETIF_tx_error);
            return PLUMB_OK;
        }
        vectors[count++] = (struct iovec){f->data, f->length};
    }
    if (writev(tap_of(netif)->fd, vectors, count) >= 0) {
        plumb_netif_count(netif, PLUMB_NETIF_tx_frames);
        return PLUMB_OK;
    }
    if (errno == EAGAIN || errno == EINTR) {
        plumb_netif_count(netif, PLUMB_NETIF_tx_full);
        return PLUMB_ERROR_WOULD_BLOCK;
    }
    plumb_netif_count(netif, PLUMB_NETIF_tx_error);
    return PLUMB_OK;
}

static const struct plumb_netif_driver tap_driver = {
    .start = tap_start,
    .stop = tap_stop,
    .poll = tap_poll,
    .transmit = tap_transmit,
};

static int open_device(const char *name) {
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    memcpy(request.ifr_name, name, strlen(name) + 1);
    if (ioctl(fd, TUNSETIFF, &request) < 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

int plumb_tap_adopt(struct plumb_tap *tap, int fd, const struct plumb_tap_config *config) {
    uint16_t mtu = config->mtu ? config->mtu : 1500;
    if (strlen(config->name) >= sizeof tap->name ||
        config->pool->capacity < HEADROOM + mtu + FRAME_HEADER)
        return PLUMB_ERROR_INVALID;
    *tap = (struct plumb_tap){.pool = config->pool, .fd = fd};
    memcpy(tap->name, config->name, strlen(config->name) + 1);
    tap->netif.driver = &tap_driver;
    tap->netif.name = tap->name;
    tap->netif.address = config->address;
    tap->netif.mtu = mtu;
    tap->netif.landing = PLUMB_LANDING_OFFSET;
    return PLUMB_OK;
}

int plumb_tap_open(struct plumb_tap *tap, const struct plumb_tap_config *config) {
    int result = plumb_tap_adopt(tap, -1, config);
    if (result == PLUMB_OK && (tap->fd = open_device(config->name)) < 0)
        result = PLUMB_ERROR_DEVICE;
    return result;
}

void plumb_tap_close(struct plumb_tap *tap) {
    close(tap->fd);
    tap->fd = -1;
}
