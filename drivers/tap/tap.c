/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The TAP driver. Frames are read straight into pool buffers, two bytes in, so
 * that network headers lie on a word; they are written with one gathering
 * write per frame. It owns the file descriptor and, between start and stop, the
 * packets that the next frame is read to: one, or where TCP segments come as one
 * frame as many as the longest takes.
 *
 * What holds: while started, no landing is null. A frame is passed up only when
 * replacements for what it fills are already in hand; otherwise it is dropped and
 * counted and its buffers are used again. So an empty pool costs frames, never
 * reception.
 */
#include "tap.h"

#include "offload.h"

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
    HEADROOM = 2,      /* 14 bytes of Ethernet header then end on a word */
    FRAME_HEADER = 18, /* with an 802.1Q tag */
    IPV4_MOST = 65535,
    FRAGMENTS = 64, /* of a frame that is sent */
};

static struct plumb_tap *tap_of(struct plumb_netif *netif) {
    return (struct plumb_tap *)netif;
}

/* ---- start and stop ---- */

static void put_landings(struct plumb_tap *tap) {
    for (unsigned i = 0; i < tap->landings; i++) {
        plumb_packet_put(tap->landing[i]);
        tap->landing[i] = NULL;
    }
}

static bool take_landings(struct plumb_tap *tap, unsigned count) {
    if (tap->pool->free_count < count)
        return false;
    for (unsigned i = 0; i < count; i++)
        tap->landing[i] = plumb_packet_take(tap->pool, i ? 0 : HEADROOM);
    return true;
}

static int tap_start(struct plumb_netif *netif) {
    struct plumb_tap *tap = tap_of(netif);
    if (!take_landings(tap, tap->landings))
        return PLUMB_ERROR_NO_BUFFER;
    netif->link_up = true;
    plumb_netif_count(netif, PLUMB_NETIF_link_up);
    return PLUMB_OK;
}

static void tap_stop(struct plumb_netif *netif) {
    put_landings(tap_of(netif));
    netif->link_up = false;
}

/* ---- receiving ---- */

/* Makes one frame of what was read; returns how many landings it lies in. */
static unsigned link_landings(struct plumb_tap *tap, size_t length) {
    struct plumb_packet *frame = tap->landing[0], *last = frame;
    size_t left = length, most = (size_t)tap->pool->capacity - HEADROOM;
    unsigned used = 0;

    frame->total = (uint16_t)length;
    for (;;) {
        last->length = (uint16_t)(left < most ? left : most);
        left -= last->length;
        most = tap->pool->capacity;
        used++;
        if (!left)
            return used;
        last->more = tap->landing[used];
        last = last->more;
    }
}

static void unlink_landings(struct plumb_tap *tap, unsigned used) {
    for (unsigned i = 0; i < used; i++)
        tap->landing[i]->more = NULL;
    tap->landing[0]->flags = 0;
}

/* Why a frame that was read is not to be passed up; or nothing. */
static int fault_of(const struct plumb_tap *tap, const struct virtio_net_hdr *header,
                    size_t length) {
    const bool is_long = tap->offload == PLUMB_TAP_OFFLOAD_SEGMENTS && tap_offload_is_long(header);
    const size_t most = is_long ? UINT16_MAX : (size_t)tap->netif.mtu + FRAME_HEADER;

    if (length > most)
        return PLUMB_NETIF_rx_too_long;
    if (tap->offload && !tap_offload_take(tap->landing[0], header))
        return PLUMB_NETIF_rx_bad_offload;
    return -1;
}

static bool pass_up(struct plumb_tap *tap, const struct virtio_net_hdr *header, size_t length) {
    struct plumb_netif *netif = &tap->netif;
    struct plumb_packet *frame = tap->landing[0];
    const unsigned used = link_landings(tap, length);
    const int fault = fault_of(tap, header, length);

    if (fault < 0 && take_landings(tap, used)) {
        plumb_netif_count(netif, PLUMB_NETIF_rx_frames);
        netif->input(netif, frame);
        return true;
    }
    plumb_netif_count(netif,
                      fault < 0 ? PLUMB_NETIF_rx_no_buffer : (enum plumb_netif_counter)fault);
    unlink_landings(tap, used);
    return false;
}

/* Reads a frame to the landings, and what is said of it. Returns its length, or below 0. */
static ssize_t read_frame(struct plumb_tap *tap, struct virtio_net_hdr *header) {
    struct iovec vectors[PLUMB_TAP_LANDINGS + 1];
    const size_t beside = tap->offload ? sizeof *header : 0;
    unsigned count = 0;

    if (beside)
        vectors[count++] = (struct iovec){header, beside};
    for (unsigned i = 0; i < tap->landings; i++) {
        const size_t room = tap->pool->capacity - (i ? 0U : (unsigned)HEADROOM);
        vectors[count++] = (struct iovec){tap->landing[i]->data, room};
    }
    ssize_t length = readv(tap->fd, vectors, (int)count);
    if (length <= 0)
        return length ? -errno : -EAGAIN;
    return (size_t)length > beside ? length - (ssize_t)beside : -EIO;
}

static unsigned tap_poll(struct plumb_netif *netif, uint64_t now_us, unsigned budget) {
    struct plumb_tap *tap = tap_of(netif);
    unsigned passed = 0;
    (void)now_us;
    /* Dropped frames count against the budget of reads, or a flood into an empty
     * pool would keep us here. */
    for (unsigned reads = 0; reads < budget && tap->landing[0]; reads++) {
        struct virtio_net_hdr header = {0};
        ssize_t length = read_frame(tap, &header);
        if (length == -EINTR)
            continue;
        if (length <= 0) {
            if (length != -EAGAIN)
                plumb_netif_count(netif, PLUMB_NETIF_rx_error);
            break;
        }
        passed += pass_up(tap, &header, (size_t)length);
    }
    return passed;
}

/* ---- sending ---- */

/* Gathers a frame; returns the number of vectors, or 0 when there are too many or nothing is
 * known of a frame that leaves something to the device. */
static int gather(struct iovec vectors[FRAGMENTS + 2], const struct plumb_tap *tap,
                  struct virtio_net_hdr *header, uint8_t *copy, const struct plumb_packet *packet) {
    unsigned copied = 0;
    int count = 0;

    if (tap->offload)
        vectors[count++] = (struct iovec){header, sizeof *header};
    if (packet->flags & PLUMB_PACKET_CHECKSUM_OFFLOAD) {
        copied = tap_offload_make(header, copy, packet);
        if (!copied)
            return 0;
        vectors[count++] = (struct iovec){copy, copied};
    }
    for (const struct plumb_packet *f = packet; f; f = f->more) {
        if (count == FRAGMENTS + 2)
            return 0;
        vectors[count++] = (struct iovec){f->data + copied, f->length - copied};
        copied = 0;
    }
    return count;
}

/* The write is over when it returns: no fragment is held. */
static int tap_transmit(struct plumb_netif *netif, struct plumb_packet *packet) {
    const struct plumb_tap *tap = tap_of(netif);
    struct iovec vectors[FRAGMENTS + 2];
    struct virtio_net_hdr header = {0};
    uint8_t copy[TAP_HEADERS_MOST];
    const int count = gather(vectors, tap, &header, copy, packet);

    if (!count) {
        plumb_netif_count(netif, PLUMB_NETIF_tx_error);
        return PLUMB_OK;
    }
    if (writev(tap->fd, vectors, count) >= 0) {
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

/* ---- the device ---- */

/* What the kernel is told that we take; a kernel that knows less sends frames as they are. */
static void offer(int fd, enum plumb_tap_offload offload) {
    unsigned long features = 0;

    if (offload >= PLUMB_TAP_OFFLOAD_CHECKSUMS)
        features |= TUN_F_CSUM;
    if (offload == PLUMB_TAP_OFFLOAD_SEGMENTS)
        features |= TUN_F_TSO4 | TUN_F_TSO_ECN;
    if (ioctl(fd, TUNSETOFFLOAD, features) < 0 && offload == PLUMB_TAP_OFFLOAD_SEGMENTS)
        ioctl(fd, TUNSETOFFLOAD, (unsigned long)TUN_F_CSUM);
}

/* Opens the device, and says in *offload what the kernel offers of it. */
static int open_device(const char *name, enum plumb_tap_offload *offload) {
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    unsigned features = 0;

    if (fd < 0)
        return -1;
    if (*offload && (ioctl(fd, TUNGETFEATURES, &features) < 0 || !(features & IFF_VNET_HDR)))
        *offload = PLUMB_TAP_OFFLOAD_NONE;
    if (*offload)
        request.ifr_flags |= IFF_VNET_HDR;
    memcpy(request.ifr_name, name, strlen(name) + 1);
    if (ioctl(fd, TUNSETIFF, &request) < 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    offer(fd, *offload);
    return fd;
}

/* As many landings as the longest frame takes, and what the stack may leave to the device. */
static int set_up_offload(struct plumb_tap *tap, enum plumb_tap_offload offload) {
    const size_t longest = HEADROOM + FRAME_HEADER + IPV4_MOST, capacity = tap->pool->capacity;

    tap->offload = offload;
    tap->landings = 1;
    if (offload)
        tap->netif.capabilities = PLUMB_CAPABILITY_RX_CHECKSUM | PLUMB_CAPABILITY_TX_CHECKSUM;
    if (offload != PLUMB_TAP_OFFLOAD_SEGMENTS)
        return PLUMB_OK;
    tap->landings = (unsigned)((longest + capacity - 1) / capacity);
    if (tap->landings > PLUMB_TAP_LANDINGS || tap->pool->count < 2 * tap->landings)
        return PLUMB_ERROR_INVALID;
#ifdef CONFIG_PLUMB_TCP_SEGMENTATION_OFFLOAD
    tap->netif.segments_size = IPV4_MOST - FRAME_HEADER; /* a packet's total is a halfword */
    tap->netif.segments_fragments = FRAGMENTS;
#endif
    return PLUMB_OK;
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
    return set_up_offload(tap, config->offload);
}

int plumb_tap_open(struct plumb_tap *tap, const struct plumb_tap_config *config) {
    enum plumb_tap_offload offload = config->offload;
    int result = plumb_tap_adopt(tap, -1, config);
    if (result == PLUMB_OK && (tap->fd = open_device(config->name, &offload)) < 0)
        return PLUMB_ERROR_DEVICE;
    if (result == PLUMB_OK && offload != config->offload) {
        const struct plumb_tap_config less = {.name = config->name,
                                              .pool = config->pool,
                                              .address = config->address,
                                              .mtu = config->mtu};
        return plumb_tap_adopt(tap, tap->fd, &less);
    }
    return result;
}

/* Whoever opens it next has not asked for anything. */
void plumb_tap_close(struct plumb_tap *tap) {
    if (tap->offload)
        ioctl(tap->fd, TUNSETOFFLOAD, 0UL);
    close(tap->fd);
    tap->fd = -1;
}
