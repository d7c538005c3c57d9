/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A TAP device as an interface of lwIP's, without a copy of its own: received frames are read
 * into buffers that are passed up as custom pbufs and come back when these are freed, and what is
 * sent is gathered from where it lies.
 */
#include "tap_netif.h"

#include "lwip/etharp.h"
#include "lwip/pbuf.h"
#include "netif/ethernet.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BUFFERS = 512, BUFFER = 1536, FRAGMENTS = 64 };

/* A received frame's memory, and what lwIP knows it by. */
struct buffer {
    struct pbuf_custom custom; /* the first member */
    _Alignas(64) uint8_t memory[BUFFER];
};

static struct buffer buffers[BUFFERS];
static struct buffer *spare; /* linked by their pbufs' next */
static int descriptor = -1;

struct peer_frames peer_frames;

static void give_back(struct pbuf *pbuf) {
    pbuf->next = spare ? &spare->custom.pbuf : NULL;
    spare = (void *)pbuf;
}

static struct pbuf *pass_up_buffer(struct buffer *buffer, size_t length) {
    const u16_t whole = (u16_t)(length + ETH_PAD_SIZE);

    spare = (void *)buffer->custom.pbuf.next;
    buffer->custom.custom_free_function = give_back;
    return pbuf_alloced_custom(PBUF_RAW, whole, PBUF_REF, &buffer->custom, buffer->memory, BUFFER);
}

unsigned tap_netif_poll(struct netif *netif, unsigned budget) {
    unsigned frames = 0;

    while (frames < budget && spare) {
        struct buffer *buffer = spare;
        ssize_t length = read(descriptor, buffer->memory + ETH_PAD_SIZE, BUFFER - ETH_PAD_SIZE);
        if (length <= 0)
            break;
        struct pbuf *pbuf = pass_up_buffer(buffer, (size_t)length);
        frames++;
        peer_frames.received++;
        if (netif->input(pbuf, netif) != ERR_OK)
            pbuf_free(pbuf);
    }
    return frames;
}

static err_t transmit(struct netif *netif, struct pbuf *pbuf) {
    struct iovec vectors[FRAGMENTS];
    int count = 0;

    (void)netif;
    for (struct pbuf *p = pbuf; p; p = p->next) {
        if (count == FRAGMENTS)
            return ERR_BUF;
        const u16_t pad = count ? 0 : ETH_PAD_SIZE;
        vectors[count++] = (struct iovec){(uint8_t *)p->payload + pad, (size_t)(p->len - pad)};
    }
    peer_frames.sent++;
    return writev(descriptor, vectors, count) < 0 ? ERR_IF : ERR_OK;
}

static int open_device(const char *name) {
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

    strncpy(request.ifr_name, name, sizeof request.ifr_name - 1);
    return fd < 0 || ioctl(fd, TUNSETIFF, &request) < 0 ? -1 : fd;
}

err_t tap_netif_init(struct netif *netif) {
    static const uint8_t address[ETH_HWADDR_LEN] = {0x02, 0x50, 0x4c, 0x57, 0x49, 0x50};

    descriptor = open_device(netif->state);
    if (descriptor < 0)
        return ERR_IF;
    for (unsigned i = 0; i < BUFFERS; i++)
        give_back(&buffers[i].custom.pbuf);
    netif->name[0] = 't';
    netif->name[1] = 'p';
    netif->output = etharp_output;
    netif->linkoutput = transmit;
    netif->mtu = 1500;
    netif->hwaddr_len = ETH_HWADDR_LEN;
    memcpy(netif->hwaddr, address, ETH_HWADDR_LEN);
    netif->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET;
    return ERR_OK;
}

int tap_netif_descriptor(void) {
    return descriptor;
}
