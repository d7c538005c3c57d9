/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * UDP (RFC 768): sockets with a handler per datagram.
 */
#ifndef PLUMB_UDP_H
#define PLUMB_UDP_H

#include <stddef.h>
#include <stdint.h>

#include <plumb/address.h>
#include <plumb/netif.h>
#include <plumb/packet.h>

#ifdef __cplusplus
extern "C" {
#endif

struct plumb;
struct plumb_udp;

struct plumb_udp_source {
    struct plumb_endpoint from;
    plumb_ipv4 to;             /* the datagram's destination: ours, or a broadcast address */
    struct plumb_netif *netif; /* where it came in */
};

/* A datagram with a correct checksum (or none); the packet's bytes are its
 * payload, possibly in several fragments. It is put when the handler returns:
 * plumb_packet_hold() keeps it. */
typedef void plumb_udp_handler(struct plumb_udp *socket, struct plumb_packet *payload,
                               const struct plumb_udp_source *source, void *context);

/* Opens a socket on a local address (PLUMB_IPV4_ANY: any of ours and broadcasts)
 * and port (0: one is chosen at random, RFC 6056). Returns PLUMB_OK,
 * PLUMB_ERROR_INVALID (no handler), PLUMB_ERROR_IN_USE or PLUMB_ERROR_NO_CONNECTION. */
int plumb_udp_open(struct plumb *stack, struct plumb_endpoint local, plumb_udp_handler *handler,
                   void *context, struct plumb_udp **socket);

void plumb_udp_close(struct plumb_udp *socket);

/* An ICMP error about a datagram that this socket sent to `to`: PLUMB_ERROR_REFUSED (nobody has
 * the port there), _UNREACHABLE, _TIMED_OUT or _TOO_LONG (for a router, which may not cut it).
 * Anybody who knows both ends can forge one. */
typedef void plumb_udp_error_handler(struct plumb_udp *socket, struct plumb_endpoint to, int error,
                                     void *context);

/* Errors are told from now on; null: no more. `context` is that of the socket. */
void plumb_udp_set_error_handler(struct plumb_udp *socket, plumb_udp_error_handler *handler);

/* From now on the socket sends and receives through this interface only; null
 * lifts that. */
void plumb_udp_restrict(struct plumb_udp *socket, struct plumb_netif *netif);

/* The local port in host byte order. */
uint16_t plumb_udp_port(const struct plumb_udp *socket);

/* Takes a packet from the segment pool with room for the headers in front and
 * `length` bytes of payload at its data, aligned to 8. Null when `length` does not fit a
 * buffer or the pool is empty. */
struct plumb_packet *plumb_udp_take(struct plumb_udp *socket, size_t length);

/* Sends a packet from plumb_udp_take(), in fragments when it is longer than the interface's
 * MTU; the packet is the stack's from here on, also on error. Returns PLUMB_OK,
 * PLUMB_ERROR_NO_ROUTE, PLUMB_ERROR_WOULD_BLOCK when the interface's ring is full (of
 * fragments, some may have gone; none has when the neighbour had to be asked for first),
 * PLUMB_ERROR_NO_BUFFER when there are not packets for all fragments, or, in a build without
 * fragments, PLUMB_ERROR_TOO_LONG. */
int plumb_udp_send_packet(struct plumb_udp *socket, struct plumb_endpoint to,
                          struct plumb_packet *packet);

/* For a handler: sends the payload that it was given back to where it came from, in its own
 * buffer where that can be (nobody else holds it, and a quarter of its pool is free), as a
 * copy otherwise. The handler may have shortened or changed it before; one that changed bytes
 * by itself has set `payload->dirty`, as whoever writes to a buffer does. Afterwards, also on
 * error, the handler looks at it no more; holds stay with whoever had them. Returns as above,
 * or PLUMB_ERROR_TOO_LONG when it has to be copied and is longer than a buffer holds. */
int plumb_udp_reply(struct plumb_udp *socket, struct plumb_packet *payload,
                    const struct plumb_udp_source *source);

/* Copies `length` bytes (up to 65507; in a build without fragments, what a buffer holds)
 * into a datagram and sends it. Returns as above, or PLUMB_ERROR_TOO_LONG. */
int plumb_udp_send(struct plumb_udp *socket, struct plumb_endpoint to, const void *payload,
                   size_t length);

#ifdef __cplusplus
}
#endif

#endif
