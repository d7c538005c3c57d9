/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Addresses and error numbers, as the caller has them and as the stack does.
 */
#include "inet/ipv4.h"
#include "socket/socket.h"

uint8_t pl_errno(int error) {
    static const uint8_t numbers[] = {
        [-PLUMB_ERROR_INVALID] = PLUMB_EINVAL,
        [-PLUMB_ERROR_NO_MEMORY] = PLUMB_ENOMEM,
        [-PLUMB_ERROR_NO_BUFFER] = PLUMB_ENOBUFS,
        [-PLUMB_ERROR_NO_CONNECTION] = PLUMB_ENOBUFS,
        [-PLUMB_ERROR_WOULD_BLOCK] = PLUMB_EAGAIN,
        [-PLUMB_ERROR_IN_USE] = PLUMB_EADDRINUSE,
        [-PLUMB_ERROR_NO_ROUTE] = PLUMB_ENETUNREACH,
        [-PLUMB_ERROR_UNREACHABLE] = PLUMB_EHOSTUNREACH,
        [-PLUMB_ERROR_REFUSED] = PLUMB_ECONNREFUSED,
        [-PLUMB_ERROR_RESET] = PLUMB_ECONNRESET,
        [-PLUMB_ERROR_TIMED_OUT] = PLUMB_ETIMEDOUT,
        [-PLUMB_ERROR_CLOSED] = PLUMB_EPIPE,
        [-PLUMB_ERROR_TOO_LONG] = PLUMB_EMSGSIZE,
        [-PLUMB_ERROR_ALIGNMENT] = PLUMB_EINVAL,
        [-PLUMB_ERROR_DEVICE] = PLUMB_ENETDOWN,
        [-PLUMB_ERROR_ABORTED] = PLUMB_ECONNABORTED,
    };

    return error <= 0 && error > -(int)sizeof numbers ? numbers[-error] : (uint8_t)PLUMB_EINVAL;
}

/* Fields are read by bytes: a caller's address may lie anywhere. */
int pl_address_read(const void *address, plumb_socklen length, struct plumb_endpoint *endpoint) {
    const uint8_t *bytes = address;
    uint16_t family;
    uint8_t *to = (uint8_t *)&family;

    if (!address || length < sizeof(struct plumb_sockaddr_in))
        return -PLUMB_EINVAL;
    to[0] = bytes[0];
    to[1] = bytes[1];
    if (family != PLUMB_AF_INET)
        return -PLUMB_EAFNOSUPPORT;
    endpoint->port = plumb_get16_any((const void *)(bytes + 2));
    endpoint->address = plumb_put32(plumb_get32_any((const void *)(bytes + 4)));
    return 0;
}

void pl_address_write(struct plumb_endpoint endpoint, void *to, plumb_socklen *length) {
    const struct plumb_sockaddr_in address = plumb_sockaddr_of(endpoint);
    const uint8_t *bytes = (const uint8_t *)&address;

    if (!to || !length)
        return;
    for (plumb_socklen i = 0; i < *length && i < sizeof address; i++)
        ((uint8_t *)to)[i] = bytes[i];
    *length = sizeof address;
}

bool pl_address_is_local(const struct plumb *stack, plumb_ipv4 address) {
    for (const struct plumb_netif *netif = stack->netifs; netif; netif = netif->next)
        if (netif->ipv4.be == address.be)
            return true;
    return false;
}

int pl_address_towards(const struct pl_socket *socket, plumb_ipv4 remote, plumb_ipv4 *local) {
    struct pl_route route;

    if (!pl_route_find(socket->sockets->stack, NULL, remote, &route) || route.netif->ipv4.be == 0)
        return -PLUMB_ENETUNREACH;
    *local = route.netif->ipv4;
    if (socket->local.address.be && socket->local.address.be != local->be)
        return -PLUMB_EADDRNOTAVAIL;
    return 0;
}

/* ---- the calls that are about addresses ---- */

int plumb_bind(struct plumb_sockets *sockets, int fd, const void *address, plumb_socklen length) {
    struct pl_socket *socket = pl_sockets_enter(sockets, fd);
    struct plumb_endpoint local;
    int result = socket ? pl_address_read(address, length, &local) : -PLUMB_EBADF;

    if (result == 0 && (socket->flags & PL_SOCKET_BOUND || socket->state != PL_SOCKET_NEW))
        result = -PLUMB_EINVAL;
    if (result == 0 && local.address.be && !pl_address_is_local(sockets->stack, local.address))
        result = -PLUMB_EADDRNOTAVAIL;
    if (result == 0)
        result = socket->kind == PL_SOCKET_STREAM ? pl_stream_bind(socket, local)
                                                  : pl_datagram_bind(socket, local);
    return pl_sockets_leave(sockets, result);
}

/* The first two bytes. */
static bool is_unspecified(const void *address, plumb_socklen length) {
    const uint8_t *bytes = address;

    return address && length >= 2 && !(bytes[0] | bytes[1]);
}

int plumb_connect(struct plumb_sockets *sockets, int fd, const void *address,
                  plumb_socklen length) {
    struct pl_socket *socket = pl_sockets_enter(sockets, fd);
    struct plumb_endpoint remote;
    int result;

    if (!socket)
        result = -PLUMB_EBADF;
    else if (socket->kind == PL_SOCKET_DATAGRAM && is_unspecified(address, length))
        result = pl_datagram_connect(socket, NULL);
    else if ((result = pl_address_read(address, length, &remote)) == 0)
        result = socket->kind == PL_SOCKET_STREAM ? pl_stream_connect(socket, remote)
                                                  : pl_datagram_connect(socket, &remote);
    return pl_sockets_leave(sockets, result);
}

int plumb_getsockname(struct plumb_sockets *sockets, int fd, void *address, plumb_socklen *length) {
    struct pl_socket *socket = pl_sockets_enter(sockets, fd);

    if (!socket)
        return pl_sockets_leave(sockets, -PLUMB_EBADF);
    pl_address_write(socket->local, address, length);
    return pl_sockets_leave(sockets, 0);
}

int plumb_getpeername(struct plumb_sockets *sockets, int fd, void *address, plumb_socklen *length) {
    struct pl_socket *socket = pl_sockets_enter(sockets, fd);
    int result = -PLUMB_ENOTCONN;

    if (!socket) {
        result = -PLUMB_EBADF;
    } else if (socket->state == PL_SOCKET_CONNECTED) {
        pl_address_write(socket->remote, address, length);
        result = 0;
    }
    return pl_sockets_leave(sockets, result);
}
