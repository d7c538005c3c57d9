/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The whole stack in virtual time, as a shared library: for tests that play the network and the
 * clock themselves, from C or through any foreign function interface.
 *
 * A harness is one host with one interface. It reads no clock and opens nothing: its time is the
 * one that plumb_harness_poll() is given, what is received is put in, what is sent is taken out.
 * The same calls give the same packets. There can be any number of them at a time; each is to be
 * used by one thread at a time.
 *
 *     struct plumb_harness_options options = {.size = sizeof options, .seed = {1, 2},
 *                                             .address = {10, 0, 0, 1}};
 *     struct plumb_harness *host = plumb_harness_create(&options);
 *     struct plumb_sockets *sockets = plumb_harness_sockets(host);
 *     int fd = plumb_socket(sockets, PLUMB_AF_INET, PLUMB_SOCK_STREAM, 0);
 *     plumb_connect(sockets, fd, &there, sizeof there);              -PLUMB_EINPROGRESS
 *     while ((length = plumb_harness_ip_out(host, packet, sizeof packet)) > 0) ...   its SYN
 *     plumb_harness_ip_in(host, answer, answer_length);
 *     next_us = plumb_harness_poll(host, now_us);
 *
 * Sockets are those of <plumb/socket.h>, where every function returns a value or a negative error
 * number with Linux's numbers; none ever waits. The library exports all functions of
 * <plumb/...h>, and nothing else.
 */
#ifndef PLUMB_HARNESS_H
#define PLUMB_HARNESS_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

struct plumb_harness;

enum plumb_harness_level {
    PLUMB_HARNESS_IP,       /* packets from the IP header on; whoever is asked for is there */
    PLUMB_HARNESS_ETHERNET, /* frames from the Ethernet header on, without FCS; ARP is to be played
                             */
};

/* What is zero gets the value said in brackets. */
struct plumb_harness_options {
    uint32_t size;       /* sizeof of this structure, as the caller knows it */
    uint32_t level;      /* enum plumb_harness_level */
    uint64_t seed[2];    /* of initial sequence numbers, ports and all that is random */
    uint8_t address[4];  /* the host's, [10.0.0.1] */
    uint8_t gateway[4];  /* [another address of its network] */
    uint8_t ethernet[6]; /* the interface's, [02:00:00:00:00:01] */
    uint8_t prefix;      /* bits of the network's, [24] */
    uint8_t reserved;    /* 0 */
    uint16_t mtu;        /* [1500] */
};

/* Null when an option is out of range or there is no memory. */
struct plumb_harness *plumb_harness_create(const struct plumb_harness_options *options);

/* Ends it with all sockets. Returns how many packet buffers are missing: 0, or there is a bug. */
int plumb_harness_destroy(struct plumb_harness *harness);

/* Does all there is to do at this time (microseconds, never going back): what has been put in,
 * timers, and what follows. Returns when it must be called next if nothing is put in before, or
 * UINT64_MAX; as calls of sockets may start timers, that is good until the next of them. */
uint64_t plumb_harness_poll(struct plumb_harness *harness, uint64_t now_us);

/* Puts a packet in, to be received by the next poll, together with all others since the last.
 * Returns 0, -PLUMB_EMSGSIZE (longer than the MTU), -PLUMB_EINVAL (neither IPv4 nor IPv6) or
 * -PLUMB_ENOBUFS. */
int plumb_harness_ip_in(struct plumb_harness *harness, const void *packet, size_t length);

/* Takes the next packet sent, in order; returns its length, 0 when there is none, or
 * -PLUMB_EMSGSIZE when there is not room for it: then it stays. Packets appear when they are
 * sent, which is in polls and in calls of sockets. */
int plumb_harness_ip_out(struct plumb_harness *harness, void *packet, size_t room);

/* The same for frames. At the level of IP these are -PLUMB_EOPNOTSUPP, as the ones above are at
 * the level of Ethernet. */
int plumb_harness_ethernet_in(struct plumb_harness *harness, const void *frame, size_t length);
int plumb_harness_ethernet_out(struct plumb_harness *harness, void *frame, size_t room);

/* Good until the harness is destroyed. */
struct plumb_sockets *plumb_harness_sockets(struct plumb_harness *harness);
struct plumb *plumb_harness_stack(struct plumb_harness *harness);

#ifdef __cplusplus
}
#endif

#endif
