/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Namespaces and devices. A kernel's end is a TAP device that the relay itself holds, so that
 * checksums are complete and segments of the size of the wire. A program's end is the TAP
 * device that it opens by name; the relay sits on the kernel's side of it, in place of a bridge.
 */
#include "impair.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { QUEUE = 8192, BUFFER = 32 << 20 };

void give_up(const char *what) {
    fprintf(stderr, "impair: %s: %s\n", what, strerror(errno));
    exit(1);
}

void namespace_enter(void) {
    if (unshare(CLONE_NEWNET))
        give_up("a network namespace");
}

static int tap_open(struct ifreq *request, const char *name) {
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    *request = (struct ifreq){.ifr_flags = IFF_TAP | IFF_NO_PI};
    snprintf(request->ifr_name, sizeof request->ifr_name, "%s", name);
    if (fd < 0 || ioctl(fd, TUNSETIFF, request))
        give_up("a TAP device");
    return fd;
}

static void set_address(int control, struct ifreq *request, unsigned long what, uint32_t address) {
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
    memcpy(&request->ifr_addr, &in, sizeof in);
    if (ioctl(control, what, request))
        give_up("an address");
}

/* Nothing is to be lost but by the relay. */
static void bring_up(struct ifreq *request, uint32_t address) {
    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (control < 0)
        give_up("a socket");
    request->ifr_qlen = QUEUE;
    if (ioctl(control, SIOCSIFTXQLEN, request))
        give_up("a device's queue");
    if (address) {
        set_address(control, request, SIOCSIFADDR, address);
        set_address(control, request, SIOCSIFNETMASK, 0xffffff00U);
    }
    request->ifr_flags = IFF_UP | IFF_RUNNING;
    if (ioctl(control, SIOCSIFFLAGS, request))
        give_up("a device up");
    close(control);
}

int device_of_linux(uint32_t address) {
    struct ifreq request;
    int fd = tap_open(&request, "impair0");
    bring_up(&request, address);
    return fd;
}

int device_of_program(const char *name) {
    struct ifreq request;
    int size = BUFFER, one = 1;
    int tap = tap_open(&request, name);
    if (ioctl(tap, TUNSETPERSIST, 1)) /* until the program has it, and its namespace ends */
        give_up("a TAP device that stays");
    close(tap);
    bring_up(&request, 0);
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_ALL));
    struct sockaddr_ll at = {.sll_family = AF_PACKET,
                             .sll_protocol = htons(ETH_P_ALL),
                             .sll_ifindex = (int)if_nametoindex(name)};
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) ||
        setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size) ||
        setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one) ||
        bind(fd, (const struct sockaddr *)&at, sizeof at))
        give_up("a packet socket");
    return fd;
}
