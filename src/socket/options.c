/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Options: what is set before there is a connection is kept, and told to it when there is.
 */
#include "socket/socket.h"
#include "tcp/tcp.h"

#define KEEPALIVE_S     7200U
#define LARGEST_TIMEOUT 4000000000U /* ms */

void pl_socket_default_options(struct pl_socket *socket) {
    socket->options = (struct pl_socket_options){
        .send_buffer = CONFIG_PLUMB_TCP_SEND_BUFFER,
        .receive_buffer = CONFIG_PLUMB_TCP_RECEIVE_BUFFER,
        .keepalive_s = KEEPALIVE_S,
    };
}

static void set_buffer(struct plumb_tcp *tcp, enum plumb_tcp_option option, uint32_t bytes,
                       uint32_t standard) {
    /* Most users have no wish, and some builds no choice. */
    if (bytes != standard)
        plumb_tcp_set_option(tcp, option, bytes);
}

void pl_stream_apply_options(const struct pl_socket *socket) {
    const struct pl_socket_options *options = &socket->options;
    struct plumb_tcp *tcp = socket->tcp;
    uint32_t idle_ms = socket->flags & PL_SOCKET_KEEPALIVE ? options->keepalive_s * 1000 : 0;

    set_buffer(tcp, PLUMB_TCP_SEND_BUFFER, options->send_buffer, CONFIG_PLUMB_TCP_SEND_BUFFER);
    set_buffer(tcp, PLUMB_TCP_RECEIVE_BUFFER, options->receive_buffer,
               CONFIG_PLUMB_TCP_RECEIVE_BUFFER);
    plumb_tcp_set_option(tcp, PLUMB_TCP_NODELAY, socket->flags & PL_SOCKET_NODELAY ? 1 : 0);
    plumb_tcp_set_option(tcp, PLUMB_TCP_KEEPALIVE, idle_ms);
    if (options->user_timeout_ms)
        plumb_tcp_set_option(tcp, PLUMB_TCP_USER_TIMEOUT, options->user_timeout_ms);
    if (options->mss)
        pl_tcp_limit_mss(tcp, options->mss);
}

static void apply_to_listener(const struct pl_socket *socket) {
    plumb_tcp_listener_receive_buffer(socket->listener, socket->options.receive_buffer);
    if (socket->options.mss)
        plumb_tcp_listener_mss(socket->listener, socket->options.mss);
}

void pl_socket_apply_options(const struct pl_socket *socket) {
    if (socket->kind != PL_SOCKET_STREAM)
        return;
    if (socket->state == PL_SOCKET_CONNECTING || socket->state == PL_SOCKET_CONNECTED)
        pl_stream_apply_options(socket);
    else if (socket->state == PL_SOCKET_LISTENING)
        apply_to_listener(socket);
}

/* ---- values, which may lie anywhere ---- */

static void copy_bytes(void *to, const void *from, size_t length) {
    for (size_t i = 0; i < length; i++)
        ((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
}

/* Writes a value, cut to *length, which becomes what was written. */
static int give(const void *from, size_t size, void *value, plumb_socklen *length) {
    if (*length > size)
        *length = (plumb_socklen)size;
    copy_bytes(value, from, *length);
    return 0;
}

static int give_int(int number, void *value, plumb_socklen *length) {
    return give(&number, sizeof number, value, length);
}

static bool take_int(const void *value, plumb_socklen length, int *number) {
    if (length < sizeof *number)
        return false;
    copy_bytes(number, value, sizeof *number);
    return true;
}

/* ---- setting ---- */

static int set_flag(struct pl_socket *socket, enum pl_socket_flag flag, int on) {
    if (on)
        socket->flags |= (uint16_t)flag;
    else
        socket->flags &= (uint16_t) ~(unsigned)flag;
    return 0;
}

static int set_timeout(uint32_t *timeout_ms, const void *value, plumb_socklen length) {
    struct plumb_timeval time;
    uint32_t ms = 0;

    if (length < sizeof time)
        return -PLUMB_EINVAL;
    copy_bytes(&time, value, sizeof time);
    if (time.tv_usec < 0 || time.tv_usec >= 1000000)
        return -PLUMB_EDOM;
    for (int64_t us = time.tv_usec; us > 0; us -= 1000)
        ms++; /* rounded up: none stays none */
    if (time.tv_sec < 0 || time.tv_sec > LARGEST_TIMEOUT / 1000)
        ms = 0;
    else
        ms += (uint32_t)time.tv_sec * 1000;
    *timeout_ms = ms;
    return 0;
}

static int set_linger(struct pl_socket *socket, const void *value, plumb_socklen length) {
    struct plumb_linger linger;

    if (length < sizeof linger)
        return -PLUMB_EINVAL;
    copy_bytes(&linger, value, sizeof linger);
    if (linger.l_onoff && (linger.l_linger < 0 || linger.l_linger > UINT16_MAX))
        return -PLUMB_EINVAL;
    if (linger.l_onoff)
        socket->options.linger_s = (uint16_t)linger.l_linger;
    return set_flag(socket, PL_SOCKET_LINGER, linger.l_onoff);
}

/* As with other systems, what is out of range is brought within. */
static uint32_t buffer_within(int bytes) {
#ifdef CONFIG_PLUMB_TCP_WINDOW_SCALE
    const int most = 1 << 20;
#else
    const int most = UINT16_MAX;
#endif
    return bytes < 1 ? 1U : (uint32_t)(bytes < most ? bytes : most);
}

static int set_socket_int(struct pl_socket *socket, int option, int number) {
    switch (option) {
    case PLUMB_SO_REUSEADDR:
        return set_flag(socket, PL_SOCKET_REUSE, number);
    case PLUMB_SO_BROADCAST:
        return set_flag(socket, PL_SOCKET_BROADCAST, number);
    case PLUMB_SO_KEEPALIVE:
        return set_flag(socket, PL_SOCKET_KEEPALIVE, number);
    case PLUMB_SO_SNDBUF:
        socket->options.send_buffer = buffer_within(number);
        return 0;
    case PLUMB_SO_RCVBUF:
        socket->options.receive_buffer = buffer_within(number);
        return 0;
    default:
        return -PLUMB_ENOPROTOOPT;
    }
}

static int set_socket(struct pl_socket *socket, int option, const void *value,
                      plumb_socklen length) {
    int number;

    switch (option) {
    case PLUMB_SO_LINGER:
        return set_linger(socket, value, length);
    case PLUMB_SO_RCVTIMEO:
        return set_timeout(&socket->options.receive_ms, value, length);
    case PLUMB_SO_SNDTIMEO:
        return set_timeout(&socket->options.send_ms, value, length);
    default:
        return take_int(value, length, &number) ? set_socket_int(socket, option, number)
                                                : -PLUMB_EINVAL;
    }
}

static int set_mss(struct pl_socket *socket, int bytes) {
    if (bytes < 88 || bytes > 32767)
        return -PLUMB_EINVAL;
    socket->options.mss = (uint16_t)bytes;
    return 0;
}

static int set_tcp(struct pl_socket *socket, int option, const void *value, plumb_socklen length) {
    int number;

    if (!take_int(value, length, &number))
        return -PLUMB_EINVAL;
    switch (option) {
    case PLUMB_TCP_SO_NODELAY:
        return set_flag(socket, PL_SOCKET_NODELAY, number);
    case PLUMB_TCP_SO_MAXSEG:
        return set_mss(socket, number);
    case PLUMB_TCP_SO_KEEPIDLE:
        if (number < 1 || number > 32767)
            return -PLUMB_EINVAL;
        socket->options.keepalive_s = (uint32_t)number;
        return 0;
    case PLUMB_TCP_SO_USER_TIMEOUT:
        if (number < 0)
            return -PLUMB_EINVAL;
        socket->options.user_timeout_ms = (uint32_t)number;
        return 0;
    default:
        return -PLUMB_ENOPROTOOPT;
    }
}

int plumb_setsockopt(struct plumb_sockets *sockets, int fd, int level, int option,
                     const void *value, plumb_socklen length) {
    struct pl_socket *socket = pl_sockets_enter(sockets, fd);
    int result = -PLUMB_ENOPROTOOPT;

    if (!socket)
        result = -PLUMB_EBADF;
    else if (level == PLUMB_SOL_SOCKET)
        result = set_socket(socket, option, value, length);
    else if (level == PLUMB_SOL_TCP && socket->kind == PL_SOCKET_STREAM)
        result = set_tcp(socket, option, value, length);
    if (result == 0)
        pl_socket_apply_options(socket);
    return pl_sockets_leave(sockets, result);
}

/* ---- reading ---- */

static int take_error(struct pl_socket *socket) {
    int error = socket->error;

    socket->error = 0;
    return error;
}

static int get_timeout(uint32_t timeout_ms, void *value, plumb_socklen *length) {
    struct plumb_timeval time = {timeout_ms / 1000, timeout_ms % 1000 * 1000};

    return give(&time, sizeof time, value, length);
}

static int get_linger(const struct pl_socket *socket, void *value, plumb_socklen *length) {
    struct plumb_linger linger = {socket->flags & PL_SOCKET_LINGER ? 1 : 0,
                                  socket->options.linger_s};

    return give(&linger, sizeof linger, value, length);
}

/* Those of one number; negative: none of them. */
static int socket_int(struct pl_socket *socket, int option) {
    bool stream = socket->kind == PL_SOCKET_STREAM;

    switch (option) {
    case PLUMB_SO_REUSEADDR:
        return !!(socket->flags & PL_SOCKET_REUSE);
    case PLUMB_SO_BROADCAST:
        return !!(socket->flags & PL_SOCKET_BROADCAST);
    case PLUMB_SO_KEEPALIVE:
        return !!(socket->flags & PL_SOCKET_KEEPALIVE);
    case PLUMB_SO_TYPE:
        return stream ? PLUMB_SOCK_STREAM : PLUMB_SOCK_DGRAM;
    case PLUMB_SO_PROTOCOL:
        return stream ? PLUMB_IPPROTO_TCP : PLUMB_IPPROTO_UDP;
    case PLUMB_SO_DOMAIN:
        return PLUMB_AF_INET;
    case PLUMB_SO_ACCEPTCONN:
        return socket->state == PL_SOCKET_LISTENING;
    case PLUMB_SO_ERROR:
        return take_error(socket);
    case PLUMB_SO_SNDBUF:
        return (int)socket->options.send_buffer;
    case PLUMB_SO_RCVBUF:
        return (int)socket->options.receive_buffer;
    default:
        return -PLUMB_ENOPROTOOPT;
    }
}

static int get_socket(struct pl_socket *socket, int option, void *value, plumb_socklen *length) {
    switch (option) {
    case PLUMB_SO_LINGER:
        return get_linger(socket, value, length);
    case PLUMB_SO_RCVTIMEO:
        return get_timeout(socket->options.receive_ms, value, length);
    case PLUMB_SO_SNDTIMEO:
        return get_timeout(socket->options.send_ms, value, length);
    default:
        break;
    }
    int number = socket_int(socket, option);
    return number < 0 ? number : give_int(number, value, length);
}

/* Of what has no connection: that it is closed. */
static struct plumb_tcp_info info_of(const struct pl_socket *socket) {
    struct plumb_tcp_info info = {.state = PLUMB_TCP_STATE_CLOSED, .mss = 536};

    if (socket->state == PL_SOCKET_CONNECTING || socket->state == PL_SOCKET_CONNECTED)
        plumb_tcp_get_info(socket->tcp, &info);
    else if (socket->options.mss)
        info.mss = socket->options.mss;
    return info;
}

static int get_tcp(const struct pl_socket *socket, int option, void *value, plumb_socklen *length) {
    const struct plumb_tcp_info info = info_of(socket);

    switch (option) {
    case PLUMB_TCP_SO_NODELAY:
        return give_int(!!(socket->flags & PL_SOCKET_NODELAY), value, length);
    case PLUMB_TCP_SO_MAXSEG:
        return give_int(info.mss, value, length);
    case PLUMB_TCP_SO_KEEPIDLE:
        return give_int((int)socket->options.keepalive_s, value, length);
    case PLUMB_TCP_SO_USER_TIMEOUT:
        return give_int((int)socket->options.user_timeout_ms, value, length);
    case PLUMB_TCP_SO_INFO:
        return give(&info, sizeof info, value, length);
    default:
        return -PLUMB_ENOPROTOOPT;
    }
}

int plumb_getsockopt(struct plumb_sockets *sockets, int fd, int level, int option, void *value,
                     plumb_socklen *length) {
    struct pl_socket *socket = pl_sockets_enter(sockets, fd);
    int result = -PLUMB_ENOPROTOOPT;

    if (!socket)
        result = -PLUMB_EBADF;
    else if (level == PLUMB_SOL_SOCKET)
        result = get_socket(socket, option, value, length);
    else if (level == PLUMB_SOL_TCP && socket->kind == PL_SOCKET_STREAM)
        result = get_tcp(socket, option, value, length);
    return pl_sockets_leave(sockets, result);
}
