/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Which connection a segment belongs to, and which are pending.
 *
 * Either connections are linked, in the buckets of a hash and in a list of those that are
 * pending; or nothing is, and the table is looked through.
 */
#include "tcp/tcp.h"

static bool matches(const struct plumb_tcp *connection, plumb_ipv4 local, plumb_ipv4 remote,
                    uint32_t ports) {
    return connection->ports == ports && connection->remote.be == remote.be &&
           pl_tcp_local(connection).be == local.be && connection->state != PLUMB_TCP_STATE_CLOSED;
}

#ifdef CONFIG_PLUMB_TCP_LINKED

static struct plumb_tcp **bucket_of(struct pl_tcp_state *tcp, plumb_ipv4 remote, uint32_t ports) {
    uint32_t hash = remote.be ^ ports;

    hash ^= hash >> 16;
    hash ^= hash >> 8;
    return &tcp->buckets[hash & (CONFIG_PLUMB_TCP_HASH_BUCKETS - 1)];
}

static struct plumb_tcp *search(struct pl_tcp_state *tcp, plumb_ipv4 local, plumb_ipv4 remote,
                                uint32_t ports) {
    struct plumb_tcp *connection = *bucket_of(tcp, remote, ports);

    while (connection && !matches(connection, local, remote, ports))
        connection = connection->bucket_next;
    return connection;
}

void pl_tcp_enter_table(struct plumb_tcp *connection) {
    struct plumb_tcp **bucket = bucket_of(connection->tcp, connection->remote, connection->ports);

    connection->bucket_next = *bucket;
    *bucket = connection;
}

static void unlink_bucket(struct plumb_tcp *connection) {
    struct plumb_tcp **link = bucket_of(connection->tcp, connection->remote, connection->ports);

    while (*link != connection)
        link = &(*link)->bucket_next;
    *link = connection->bucket_next;
}

static void add_pending(struct plumb_tcp *connection) {
    struct pl_tcp_state *tcp = connection->tcp;

    connection->pending_next = NULL;
    if (tcp->pending)
        tcp->pending_last->pending_next = connection;
    else
        tcp->pending = connection;
    tcp->pending_last = connection;
}

struct plumb_tcp *pl_tcp_next_pending(struct pl_tcp_state *tcp, const struct plumb_tcp *before) {
    return before ? before->pending_next : tcp->pending;
}

void pl_tcp_unpend(struct plumb_tcp *connection) {
    connection->tcp->pending = connection->pending_next;
    connection->flags &= (uint16_t)~PL_TCP_PENDING;
}

#else

static struct plumb_tcp *search(struct pl_tcp_state *tcp, plumb_ipv4 local, plumb_ipv4 remote,
                                uint32_t ports) {
    for (unsigned i = 0; i < CONFIG_PLUMB_TCP_CONNECTIONS; i++)
        if (matches(&tcp->connections[i], local, remote, ports))
            return &tcp->connections[i];
    return NULL;
}

void pl_tcp_enter_table(struct plumb_tcp *connection) {
    (void)connection;
}

static void unlink_bucket(const struct plumb_tcp *connection) {
    (void)connection;
}

static void add_pending(struct plumb_tcp *connection) {
    connection->tcp->pending = true;
}

struct plumb_tcp *pl_tcp_next_pending(struct pl_tcp_state *tcp, const struct plumb_tcp *before) {
    const struct plumb_tcp *end = tcp->connections + CONFIG_PLUMB_TCP_CONNECTIONS;
    struct plumb_tcp *connection = tcp->connections;

    if (before)
        connection += before - tcp->connections + 1;
    else if (!tcp->pending)
        return NULL;
    for (; connection < end; connection++)
        if (connection->flags & PL_TCP_PENDING)
            return connection;
    if (!before)
        tcp->pending = false;
    return NULL;
}

void pl_tcp_unpend(struct plumb_tcp *connection) {
    connection->flags &= (uint16_t)~PL_TCP_PENDING;
}

#endif

struct plumb_tcp *pl_tcp_find(struct pl_tcp_state *tcp, plumb_ipv4 local, plumb_ipv4 remote,
                              uint32_t ports) {
    struct plumb_tcp *connection = tcp->recent;

    if (connection && matches(connection, local, remote, ports))
        return connection;
    connection = search(tcp, local, remote, ports);
    if (connection)
        tcp->recent = connection;
    return connection;
}

void pl_tcp_leave_table(struct plumb_tcp *connection) {
    unlink_bucket(connection);
    if (connection->tcp->recent == connection)
        connection->tcp->recent = NULL;
}

void pl_tcp_pend(struct plumb_tcp *connection) {
    if (connection->flags & PL_TCP_PENDING)
        return;
    connection->flags |= PL_TCP_PENDING;
    add_pending(connection);
}
