/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Memory posted by the user: payload that arrives in order is copied there and
 * checksummed in the same pass, and its packet is free again at once.
 *
 * The copy is made before the checksum is known; what lies behind posted_filled is
 * scratch until the segment was taken.
 */
#include "tcp/tcp.h"

#include "bytes/bytes.h"

#ifdef CONFIG_PLUMB_TCP_POST

static bool copy(struct plumb_tcp *connection, uint32_t sequence, const struct plumb_packet *packet,
                 unsigned header_length, uint32_t *sum) {
    uint32_t length = packet->total - header_length;
    uint32_t room = connection->posted_length - connection->posted_filled;

    if (connection->receive_first || connection->reordered ||
        connection->flags & PL_TCP_FIN_RECEIVED || sequence != connection->receive_next)
        return false;
    if (length == 0 || length > room ||
        length > connection->receive_edge - connection->receive_next)
        return false;
    *sum =
        pl_packet_copy_sum(packet, header_length, connection->posted + connection->posted_filled);
    return true;
}

static void fill(struct plumb_tcp *connection, struct plumb_packet *packet) {
    uint32_t room = connection->posted_length - connection->posted_filled;
    size_t copied =
        plumb_packet_copy_out(packet, 0, connection->posted + connection->posted_filled, room);

    connection->posted_filled += (uint32_t)copied;
    plumb_packet_trim_front(packet, copied);
}

void plumb_tcp_post(struct plumb_tcp *connection, void *to, size_t length) {
    static const struct pl_tcp_post operations = {copy, fill};

    connection->tcp->post = &operations;
    connection->posted = length ? to : NULL;
    connection->posted_length = (uint32_t)length;
    connection->posted_filled = 0;
    if (length && connection->receive_first) {
        connection->posted_filled = (uint32_t)pl_tcp_copy_queued(connection, to, length);
        plumb_tcp_consume(connection, connection->posted_filled);
    }
}

size_t plumb_tcp_posted(const struct plumb_tcp *connection) {
    return connection->posted_filled;
}

#endif
