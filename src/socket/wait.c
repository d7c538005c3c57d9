/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Waiting: for one socket within a call, and for several (poll, select).
 */
#include "socket/socket.h"

/* Without a port nobody waits; nor within a handler, as what it waits for could not happen. */
static bool may_wait(const struct plumb_sockets *sockets) {
    return sockets->port && sockets->port->wait && !sockets->stack->in_poll;
}

static uint64_t after_ms(const struct plumb_sockets *sockets, uint32_t ms) {
    return sockets->port->now_us(sockets->port->context) + (uint64_t)ms * 1000;
}

uint64_t pl_socket_until(const struct pl_socket *socket, int flags, uint32_t timeout_ms) {
    if (flags & PLUMB_MSG_DONTWAIT || socket->flags & PL_SOCKET_NONBLOCK ||
        !may_wait(socket->sockets))
        return 0;
    return timeout_ms ? after_ms(socket->sockets, timeout_ms) : PLUMB_NEVER;
}

/* Gives the lock back until there is a wake; false when the time had come before. */
static bool wait(struct plumb_sockets *sockets, uint64_t until_us) {
    const struct plumb_socket_port *port = sockets->port;

    if (until_us == 0 || (until_us != PLUMB_NEVER && port->now_us(port->context) >= until_us))
        return false;
    pl_sockets_pass_on(sockets);
    port->wait(port->context, until_us);
    return true;
}

int pl_socket_wait(struct pl_socket *socket, uint64_t until_us) {
    const uint16_t generation = socket->generation;

    if (!wait(socket->sockets, until_us))
        return -PLUMB_EAGAIN;
    return socket->generation == generation ? 0 : -PLUMB_EBADF;
}

unsigned pl_socket_ready(struct pl_socket *socket) {
    return socket->kind == PL_SOCKET_STREAM ? pl_stream_ready(socket) : pl_datagram_ready(socket);
}

/* ---- several ---- */

/* Every descriptor is looked at under the lock that the caller has taken. */
static unsigned ready_of(struct plumb_sockets *sockets, int fd) {
    if (fd < 0 || fd >= CONFIG_PLUMB_SOCKETS_MOST)
        return PLUMB_POLLNVAL;
    struct pl_socket *socket = &sockets->table[fd];
    if (socket->kind == PL_SOCKET_FREE || socket->flags & (PL_SOCKET_QUEUED | PL_SOCKET_CLOSING))
        return PLUMB_POLLNVAL;
    return pl_socket_ready(socket);
}

static uint64_t until_of(const struct plumb_sockets *sockets, int64_t timeout_ms) {
    if (timeout_ms == 0 || !may_wait(sockets))
        return 0;
    return timeout_ms < 0 || timeout_ms > UINT32_MAX ? PLUMB_NEVER
                                                     : after_ms(sockets, (uint32_t)timeout_ms);
}

static int mark_ready(struct plumb_sockets *sockets, struct plumb_pollfd *fds, unsigned count) {
    const unsigned always = PLUMB_POLLERR | PLUMB_POLLHUP | PLUMB_POLLNVAL;
    int found = 0;

    for (unsigned i = 0; i < count; i++) {
        fds[i].revents = 0;
        if (fds[i].fd < 0)
            continue;
        fds[i].revents =
            (int16_t)(ready_of(sockets, fds[i].fd) & ((unsigned)fds[i].events | always));
        found += fds[i].revents != 0;
    }
    return found;
}

int plumb_pollfds(struct plumb_sockets *sockets, struct plumb_pollfd *fds, unsigned count,
                  int timeout_ms) {
    int found;

    plumb_sockets_lock(sockets);
    uint64_t until = until_of(sockets, timeout_ms);
    do
        found = mark_ready(sockets, fds, count);
    while (found == 0 && wait(sockets, until));
    return pl_sockets_leave(sockets, found);
}

static bool asked(int fd, const plumb_fd_set *set) {
    return set && plumb_fd_has(fd, set);
}

/* Of one descriptor, which of three sets it is to be in: bits. */
static int chosen(struct plumb_sockets *sockets, int fd, plumb_fd_set *const asked_for[3]) {
    static const unsigned bits[3] = {PLUMB_POLLIN | PLUMB_POLLHUP | PLUMB_POLLERR,
                                     PLUMB_POLLOUT | PLUMB_POLLERR, PLUMB_POLLPRI};
    int result = 0;

    for (unsigned k = 0; k < 3; k++) {
        if (!asked(fd, asked_for[k]))
            continue;
        unsigned ready = ready_of(sockets, fd);
        if (ready & PLUMB_POLLNVAL)
            return -PLUMB_EBADF;
        if (ready & bits[k])
            result |= 1 << k;
    }
    return result;
}

/* Fills `found`; how many bits there are in it, or -PLUMB_EBADF. */
static int mark_chosen(struct plumb_sockets *sockets, int count, plumb_fd_set *const asked_for[3],
                       plumb_fd_set found[3]) {
    int total = 0;

    for (unsigned k = 0; k < 3; k++)
        plumb_fd_zero(&found[k]);
    for (int fd = 0; fd < count; fd++) {
        int bits = chosen(sockets, fd, asked_for);
        if (bits < 0)
            return bits;
        for (unsigned k = 0; k < 3; k++) {
            if (!(bits >> k & 1))
                continue;
            plumb_fd_add(fd, &found[k]);
            total++;
        }
    }
    return total;
}

/* Milliseconds, rounded up; negative: for ever. */
static int64_t timeout_of(const struct plumb_timeval *timeout) {
    if (!timeout)
        return -1;
    if (timeout->tv_sec > UINT32_MAX / 1000 - 1)
        return -1;
    uint32_t ms = 0;
    for (int64_t us = timeout->tv_usec; us > 0; us -= 1000)
        ms++;
    return timeout->tv_sec * 1000 + ms;
}

static bool timeval_is_valid(const struct plumb_timeval *timeout) {
    return !timeout ||
           (timeout->tv_sec >= 0 && timeout->tv_usec >= 0 && timeout->tv_usec < 1000000);
}

int plumb_select(struct plumb_sockets *sockets, int count, plumb_fd_set *readable,
                 plumb_fd_set *writable, plumb_fd_set *exceptional,
                 const struct plumb_timeval *timeout) {
    plumb_fd_set *const asked_for[3] = {readable, writable, exceptional};
    plumb_fd_set found[3];
    int total;

    if (count < 0 || count > PLUMB_FD_SETSIZE || !timeval_is_valid(timeout))
        return -PLUMB_EINVAL;
    plumb_sockets_lock(sockets);
    uint64_t until = until_of(sockets, timeout_of(timeout));
    do
        total = mark_chosen(sockets, count, asked_for, found);
    while (total == 0 && wait(sockets, until));
    for (unsigned k = 0; k < 3 && total >= 0; k++)
        if (asked_for[k])
            *asked_for[k] = found[k];
    return pl_sockets_leave(sockets, total);
}
