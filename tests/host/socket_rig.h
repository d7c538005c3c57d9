/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Sockets over a pair of stacks in virtual time: whoever waits lets both stacks run, a
 * millisecond at a time. So a test that blocks is one thread, and repeats.
 */
#ifndef PLUMB_TEST_SOCKET_RIG_H
#define PLUMB_TEST_SOCKET_RIG_H

#include <plumb/socket.h>

#include "harness.h"

enum { RIG_PORT = 7000, RIG_A = 0x0a000001, RIG_B = 0x0a000002 };

struct rig {
    struct world *world;
    struct plumb_sockets *a, *b;
    /* Called once, in the midst of the next wait, or null. */
    void (*meanwhile)(struct rig *rig, void *context);
    void *context;
    uint64_t waited_us; /* in all waits */
    struct plumb_socket_port port;
    uint64_t memory[2][(PLUMB_SOCKETS_BYTES + 7) / 8];
};

/* At `a` and `b` with a port, or (`alone`) without, where nothing waits. */
void rig_create(struct rig *rig, const struct world_options *options, bool alone);
void rig_end(struct rig *rig);

/* Lets so much time pass. */
void rig_run(struct rig *rig, unsigned ms);

struct plumb_sockaddr_in rig_address(uint32_t address, uint16_t port);

int rig_stream(struct plumb_sockets *sockets);

/* A socket of `b` that listens on RIG_PORT. */
int rig_listen(struct rig *rig, int backlog);

/* Begins to connect a socket of `a` there, without waiting. */
int rig_begin(struct rig *rig, int fd);

/* A connection: its end at `a`, and the one at `b`, which `listener` accepted. */
struct rig_connection {
    int a, b, listener;
};
struct rig_connection rig_connect(struct rig *rig);

int rig_int(struct plumb_sockets *sockets, int fd, int level, int option);
int rig_set(struct plumb_sockets *sockets, int fd, int level, int option, int value);

/* What poll says of one descriptor, asked for all. */
int rig_poll(struct plumb_sockets *sockets, int fd);

#endif
