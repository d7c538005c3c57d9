/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Both ends of a TCP connection as a test sees them: a peer that sends segments by
 * hand and checks what comes back, and a user of the stack's API that keeps what it
 * was told.
 */
#ifndef PLUMB_TEST_PEER_H
#define PLUMB_TEST_PEER_H

#include "harness.h"

/* A segment that the stack sent. */
struct segment {
    uint32_t sequence, acknowledgement;
    uint16_t window; /* as in the header */
    uint8_t flags;
    const uint8_t *options, *payload;
    unsigned options_length, length;
};

struct peer {
    struct world *world;
    struct frame_path path;
    uint32_t sequence, acknowledgement; /* the next to send, the next expected */
    uint16_t window;
    bool stamped;         /* its segments carry timestamps (RFC 7323), of which ... */
    uint32_t stamp, echo; /* ... these are the next; the echo is that of what it took last */
    struct segment last;  /* the last one taken; its bytes are good until the next */
};

struct user {
    struct side *side;
    struct plumb_tcp_listener *listener;
    struct plumb_tcp *connection; /* null before and after */
    unsigned events, calls, accepted;
    int error;
    bool keep_unread; /* does not read by itself */
    bool reject;      /* does not take what is offered */
    uint8_t *bytes;   /* what it read */
    size_t length, room;
};

/* ---- the peer ---- */

struct peer peer_at(struct world *world, uint16_t from_port, uint16_t to_port);

/* Sends, at the peer's own numbers, and moves them. */
void peer_send(struct peer *peer, unsigned flags, const void *payload, unsigned length);

/* Sends at these numbers and moves nothing. */
void peer_send_at(struct peer *peer, uint32_t sequence, uint32_t acknowledgement, unsigned flags,
                  const void *payload, unsigned length);

/* The frame that the latter sends. */
void peer_frame(const struct peer *peer, struct frame *frame, uint32_t sequence,
                uint32_t acknowledgement, unsigned flags, const void *payload, unsigned length);

/* Sends a SYN with options. */
void peer_send_syn(struct peer *peer, unsigned flags, const uint8_t *options, unsigned length);

/* The next segment to the peer, in peer->last; false when there is none. */
bool peer_take(struct peer *peer);

/* Takes a segment with exactly these flags (PSH aside), or fails. */
struct segment *peer_expect(struct peer *peer, unsigned flags);

/* The same, and the peer now expects what follows it. */
struct segment *peer_accept(struct peer *peer, unsigned flags);

void peer_expect_nothing(struct peer *peer);

/* The option of this kind in the last segment taken, or null. */
const uint8_t *peer_option(const struct peer *peer, unsigned kind);

/* Opens a connection to a listening user, with an MSS of 1460 and, when stamped, timestamps. */
void peer_connect(struct peer *peer);

/* Answers the SYN of a connecting user; the ports are taken from it. */
void peer_answer_syn(struct peer *peer);

/* Bytes up to `wanted`, taken in order and acknowledged at the end. */
void peer_read(struct peer *peer, uint8_t *to, unsigned wanted);

/* ---- the user ---- */

void user_listen(struct user *user, struct side *side, uint16_t port); /* with a backlog of 4 */
void user_listen_with(struct user *user, struct side *side, uint16_t port, unsigned backlog);
void user_connect(struct user *user, struct side *side, uint32_t address, uint16_t port);
void user_connect_from(struct user *user, uint16_t local_port, struct side *side, uint32_t address,
                       uint16_t port);

/* Closes, which leaves the connection to the stack, and settles. */
void user_close(struct world *world, struct user *user);

void user_end(struct user *user);

/* The connection's state as the API tells it. */
struct plumb_tcp_info user_info(const struct user *user);

/* A world with a listening user and a connected peer. */
struct world *connected(struct user *user, struct peer *peer, const struct world_options *options);

/* The same with timestamps. */
struct world *connected_stamped(struct user *user, struct peer *peer,
                                const struct world_options *options);

/* A world with a connecting user, and the peer that has its SYN and has not answered. */
struct world *connecting(struct user *user, struct peer *peer);

/* Ends both and checks for leaks; whatever is still open is aborted. */
void disconnected(struct world *world, struct user *user);

#endif
