/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "socket_rig.h"

#include <string.h>

static uint64_t now_us(void *context) {
    const struct rig *rig = context;

    return rig->world->now_us;
}

static void wait(void *context, uint64_t until_us) {
    struct rig *rig = context;
    uint64_t left = until_us - rig->world->now_us;
    uint64_t step = left < MILLISECOND ? left : MILLISECOND;
    void (*meanwhile)(struct rig *, void *) = rig->meanwhile;

    rig->meanwhile = NULL;
    if (meanwhile)
        meanwhile(rig, rig->context);
    world_run(rig->world, step);
    rig->waited_us += step;
    if (rig->waited_us > 3600 * SECOND)
        fail_msg("waits for ever");
}

void rig_create(struct rig *rig, const struct world_options *options, bool alone) {
    memset(rig, 0, sizeof *rig);
    rig->world = world_pair(options);
    rig->port = (struct plumb_socket_port){.context = rig, .now_us = now_us, .wait = wait};
    const struct plumb_socket_port *port = alone ? NULL : &rig->port;
    expect_equal(plumb_sockets_create(&rig->a, rig->memory[0], sizeof rig->memory[0],
                                      rig->world->a.stack, port),
                 PLUMB_OK);
    expect_equal(plumb_sockets_create(&rig->b, rig->memory[1], sizeof rig->memory[1],
                                      rig->world->b.stack, port),
                 PLUMB_OK);
}

void rig_end(struct rig *rig) {
    plumb_sockets_destroy(rig->a);
    plumb_sockets_destroy(rig->b);
    world_end(rig->world);
}

void rig_run(struct rig *rig, unsigned ms) {
    world_run(rig->world, ms * MILLISECOND);
}

struct plumb_sockaddr_in rig_address(uint32_t address, uint16_t port) {
    return plumb_sockaddr_of(endpoint_of(address, port));
}

int rig_stream(struct plumb_sockets *sockets) {
    int fd = plumb_socket(sockets, PLUMB_AF_INET, PLUMB_SOCK_STREAM, 0);

    expect(fd >= 0);
    return fd;
}

int rig_listen(struct rig *rig, int backlog) {
    struct plumb_sockaddr_in any = rig_address(0, RIG_PORT);
    int fd = rig_stream(rig->b);

    expect_equal(plumb_bind(rig->b, fd, &any, sizeof any), 0);
    expect_equal(plumb_listen(rig->b, fd, backlog), 0);
    return fd;
}

int rig_begin(struct rig *rig, int fd) {
    struct plumb_sockaddr_in there = rig_address(RIG_B, RIG_PORT);
    int was = plumb_fcntl(rig->a, fd, PLUMB_F_GETFL, 0);

    plumb_fcntl(rig->a, fd, PLUMB_F_SETFL, PLUMB_O_NONBLOCK);
    int result = plumb_connect(rig->a, fd, &there, sizeof there);
    plumb_fcntl(rig->a, fd, PLUMB_F_SETFL, was);
    return result;
}

struct rig_connection rig_connect(struct rig *rig) {
    struct rig_connection connection = {
        .listener = rig_listen(rig, 4),
        .a = rig_stream(rig->a),
    };

    expect_equal(rig_begin(rig, connection.a), -PLUMB_EINPROGRESS);
    rig_run(rig, 10);
    connection.b = plumb_accept(rig->b, connection.listener, NULL, NULL);
    expect(connection.b >= 0);
    return connection;
}

int rig_int(struct plumb_sockets *sockets, int fd, int level, int option) {
    int value = -1;
    plumb_socklen length = sizeof value;

    expect_equal(plumb_getsockopt(sockets, fd, level, option, &value, &length), 0);
    expect_equal(length, sizeof value);
    return value;
}

int rig_set(struct plumb_sockets *sockets, int fd, int level, int option, int value) {
    return plumb_setsockopt(sockets, fd, level, option, &value, sizeof value);
}

int rig_poll(struct plumb_sockets *sockets, int fd) {
    struct plumb_pollfd one = {fd, PLUMB_POLLIN | PLUMB_POLLPRI | PLUMB_POLLOUT | PLUMB_POLLRDHUP,
                               0};

    plumb_pollfds(sockets, &one, 1, 0);
    return one.revents;
}
