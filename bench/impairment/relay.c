/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The relay: frames from one device to the other, through both directions of a wire whose time
 * is the clock. What IPv4 is meets the wire's faults; ARP passes at once, as what is measured
 * is TCP; all else is thrown away.
 *
 * It says of itself how late it was: a frame that a busy host delivers late has met an
 * impairment that nobody asked for.
 */
#include "impair.h"

#include <plumb/error.h>
#include <plumb/packet.h>

#include <errno.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

enum {
    PLACES = 8192,
    PACKETS = 256,
    BATCH = 32,
    LATE_US = 1000,
    ETHERNET_TYPE = 12,
    ARP = 0x0806,
    IPV4 = 0x0800,
};

static struct plumb_wire wire;
static struct plumb_wire_frame frames[PLACES];
static struct plumb_packet descriptors[PACKETS];
static _Alignas(PLUMB_DMA_LINE) uint8_t memory[PACKETS][PLUMB_DMA_WHOLE_LINES(PLUMB_WIRE_LONGEST)];
static struct plumb_pool pool;

uint64_t clock_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void make_wire(const struct impair_options *options) {
    struct plumb_wire_end_options ends[2] = {{.name = "left"}, {.name = "right"}};
    if (plumb_pool_create(&pool, descriptors, memory, PACKETS, sizeof memory[0], NULL) ||
        plumb_wire_create(&wire, frames, PLACES, options->seed, ends))
        give_up("the wire");
    for (unsigned i = 0; i < 2; i++) {
        struct plumb_netif *netif = &wire.end[i].netif;
        netif->driver->start(netif);
        plumb_wire_set_faults(&wire.end[i], &options->faults);
    }
}

/* A frame that has come from a device. */
static bool take(struct plumb_wire_end *end, struct plumb_packet *packet, uint64_t now_us) {
    const uint8_t *type = packet->data + ETHERNET_TYPE;
    end->netif.driver->poll(&end->netif, now_us, 0);
    end->peer->netif.driver->poll(&end->peer->netif, now_us, 0);
    switch (type[0] << 8 | type[1]) {
    case ARP:
        return plumb_wire_inject(end->peer, packet->data, packet->length) == PLUMB_OK;
    case IPV4:
        return end->netif.driver->transmit(&end->netif, packet) == PLUMB_OK;
    default:
        return true;
    }
}

static void read_device(int fd, struct plumb_wire_end *end, struct relay_result *result) {
    for (unsigned i = 0; i < BATCH; i++) {
        struct plumb_packet *packet = plumb_packet_take(&pool, 0);
        if (!packet)
            give_up("a packet");
        ssize_t length = read(fd, packet->data, PLUMB_WIRE_LONGEST);
        if (length > ETHERNET_TYPE + 2) {
            packet->length = packet->total = (uint16_t)length;
            if (!take(end, packet, clock_us()))
                result->refused++;
        }
        plumb_packet_put(packet);
        if (length < 0)
            return;
    }
}

static void write_device(int fd, struct plumb_wire_end *end, struct relay_result *result) {
    uint8_t frame[PLUMB_WIRE_LONGEST];
    uint16_t length;
    for (;;) {
        uint64_t now_us = clock_us();
        uint64_t due_us = end->arrives ? end->arrives->due_us : PLUMB_NEVER;
        length = plumb_wire_collect(end, now_us, frame);
        if (!length)
            return;
        uint64_t late_us = now_us - due_us;
        result->late += late_us >= LATE_US;
        if (late_us > result->latest_us)
            result->latest_us = late_us;
        if (write(fd, frame, length) != length)
            result->refused++;
    }
}

static void wait_until(uint64_t due_us, struct pollfd *watched) {
    uint64_t now_us = clock_us(), wait_us = due_us > now_us ? due_us - now_us : 0;
    struct timespec wait = {.tv_sec = 1};
    if (wait_us < 1000000)
        wait = (struct timespec){.tv_nsec = (long)wait_us * 1000};
    if (ppoll(watched, 3, &wait, NULL) < 0 && errno != EINTR)
        give_up("a wait");
}

struct relay_result relay_run(const int device[2], int done, const struct impair_options *options) {
    struct relay_result result = {0};
    struct pollfd watched[3] = {{.fd = device[0], .events = POLLIN},
                                {.fd = device[1], .events = POLLIN},
                                {.fd = done, .events = POLLIN}};
    make_wire(options);
    while (!watched[2].revents) {
        for (unsigned i = 0; i < 2; i++)
            read_device(device[i], &wire.end[i], &result);
        for (unsigned i = 0; i < 2; i++)
            write_device(device[i], &wire.end[i], &result);
        wait_until(plumb_wire_due(&wire), watched);
    }
    for (unsigned i = 0; i < 2; i++) {
        result.frames[i] = wire.end[i].statistics.sent;
        result.lost[i] = wire.end[i].statistics.lost;
        result.overflowed[i] = wire.end[i].statistics.overflowed;
    }
    return result;
}
