/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Scattered memory of the caller's, gone through in order.
 */
#include "socket/socket.h"

size_t pl_vectors_length(const struct plumb_iov *vectors, size_t count) {
    size_t total = 0;

    for (size_t i = 0; i < count; i++) {
        if (vectors[i].iov_len > INT32_MAX - total)
            return INT32_MAX;
        total += vectors[i].iov_len;
    }
    return total;
}

struct plumb_iov pl_cursor_run(struct pl_cursor *cursor, size_t most) {
    while (cursor->vector < cursor->end && cursor->offset == cursor->vector->iov_len) {
        cursor->vector++;
        cursor->offset = 0;
    }
    if (cursor->vector == cursor->end || !most)
        return (struct plumb_iov){NULL, 0};
    size_t left = cursor->vector->iov_len - cursor->offset;
    return (struct plumb_iov){(uint8_t *)cursor->vector->iov_base + cursor->offset,
                              left < most ? left : most};
}

/* Of one packet, up to `length` bytes; returns how many. */
static size_t copy_packet(struct pl_cursor *cursor, const struct plumb_packet *packet,
                          size_t length) {
    size_t done = 0;

    if (length > packet->total)
        length = packet->total;
    while (done < length) {
        struct plumb_iov run = pl_cursor_run(cursor, length - done);
        if (!run.iov_len)
            break;
        plumb_packet_copy_out(packet, done, run.iov_base, run.iov_len);
        cursor->offset += run.iov_len;
        done += run.iov_len;
    }
    return done;
}

size_t pl_cursor_copy(struct pl_cursor *cursor, const struct plumb_packet *first, bool one,
                      size_t length) {
    size_t done = 0;

    for (const struct plumb_packet *packet = first; packet && done < length;
         packet = one ? NULL : packet->next)
        done += copy_packet(cursor, packet, length - done);
    return done;
}
