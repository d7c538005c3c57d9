/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Both ends of a TCP connection: see peer.h. */
#include "peer.h"

#include <stdlib.h>
#include <string.h>

/* ---- the peer ---- */

struct peer peer_at(struct world *world, uint16_t from_port, uint16_t to_port) {
    return (struct peer){
        .world = world,
        .path = world_path(world, from_port, to_port),
        .sequence = 1000000,
        .window = 65535,
    };
}

/* NOP, NOP, timestamps. */
static void stamp(const struct peer *peer, uint8_t to[12]) {
    const uint32_t words[3] = {0x0101080a, peer->stamp, peer->echo};
    for (unsigned i = 0; i < 12; i++)
        to[i] = (uint8_t)(words[i / 4] >> 8 * (3 - i % 4));
}

void peer_frame(const struct peer *peer, struct frame *frame, uint32_t sequence,
                uint32_t acknowledgement, unsigned flags, const void *payload, unsigned length) {
    uint8_t options[12];
    stamp(peer, options);
    frame_tcp(frame, &peer->path, sequence, acknowledgement, flags, peer->window, options,
              peer->stamped ? sizeof options : 0, payload, length);
}

void peer_send_at(struct peer *peer, uint32_t sequence, uint32_t acknowledgement, unsigned flags,
                  const void *payload, unsigned length) {
    struct frame frame;
    peer_frame(peer, &frame, sequence, acknowledgement, flags, payload, length);
    world_inject(peer->world, &frame);
}

static void advance(struct peer *peer, unsigned flags, unsigned length) {
    peer->sequence += length + (flags & TCP_SYN ? 1 : 0) + (flags & TCP_FIN ? 1 : 0);
}

void peer_send(struct peer *peer, unsigned flags, const void *payload, unsigned length) {
    uint32_t sequence = peer->sequence;
    advance(peer, flags, length);
    peer_send_at(peer, sequence, flags & TCP_ACK ? peer->acknowledgement : 0, flags, payload,
                 length);
}

void peer_send_syn(struct peer *peer, unsigned flags, const uint8_t *options, unsigned length) {
    struct frame frame;
    frame_tcp(&frame, &peer->path, peer->sequence, flags & TCP_ACK ? peer->acknowledgement : 0,
              flags, peer->window, options, length, 0, 0);
    advance(peer, flags, 0);
    world_inject(peer->world, &frame);
}

const uint8_t *peer_option(const struct peer *peer, unsigned kind) {
    const uint8_t *option = peer->last.options, *end = option + peer->last.options_length;
    while (option < end && *option != kind && *option)
        option += *option == 1 ? 1 : option[1];
    return option < end && *option == kind ? option : 0;
}

static bool parse(struct peer *peer, const struct frame *frame) {
    struct segment *segment = &peer->last;
    unsigned tcp = frame->transport;
    if (frame_get16(frame, 12) != 0x0800 || frame->bytes[frame->network + 9U] != 6)
        return false;
    if (frame_get16(frame, tcp) != peer->path.to_port ||
        frame_get16(frame, tcp + 2) != peer->path.from_port)
        return false;
    unsigned header = (frame->bytes[tcp + 12] >> 4) * 4U;
    unsigned end = frame->network + frame_get16(frame, frame->network + 2U);
    *segment = (struct segment){
        .sequence = frame_get32(frame, tcp + 4),
        .acknowledgement = frame_get32(frame, tcp + 8),
        .flags = frame->bytes[tcp + 13],
        .window = (uint16_t)frame_get16(frame, tcp + 14),
        .options = frame->bytes + tcp + 20,
        .options_length = header - 20,
        .payload = frame->bytes + tcp + header,
        .length = end - tcp - header,
    };
    const uint8_t *stamps = peer_option(peer, 8);
    if (stamps)
        peer->echo = (uint32_t)stamps[2] << 24 | (uint32_t)stamps[3] << 16 |
                     (uint32_t)stamps[4] << 8 | stamps[5];
    return true;
}

bool peer_take(struct peer *peer) {
    for (struct frame *frame; (frame = world_collect(peer->world));)
        if (parse(peer, frame))
            return true;
    return false;
}

struct segment *peer_expect(struct peer *peer, unsigned flags) {
    if (!peer_take(peer))
        fail_msg("no segment was sent; expected flags %02x", flags);
    unsigned apart = TCP_PSH;
    if (flags & TCP_SYN) /* offered, or not: test_tcp_ecn.c asks */
        apart |= TCP_ECE | TCP_CWR;
    if ((peer->last.flags & ~(apart & ~flags)) != flags)
        fail_msg("a segment with flags %02x was sent; expected %02x", peer->last.flags, flags);
    return &peer->last;
}

struct segment *peer_accept(struct peer *peer, unsigned flags) {
    struct segment *segment = peer_expect(peer, flags);
    peer->acknowledgement =
        segment->sequence + segment->length + (flags & TCP_SYN ? 1 : 0) + (flags & TCP_FIN ? 1 : 0);
    return segment;
}

void peer_expect_nothing(struct peer *peer) {
    if (peer_take(peer))
        fail_msg("a segment with flags %02x, sequence %u, length %u was sent; expected none",
                 peer->last.flags, peer->last.sequence, peer->last.length);
}

void peer_connect(struct peer *peer) {
    uint8_t options[16] = {2, 4, 0x05, 0xb4};
    stamp(peer, options + 4);
    peer_send_syn(peer, TCP_SYN, options, peer->stamped ? 16 : 4);
    struct segment *answer = peer_accept(peer, TCP_SYN | TCP_ACK);
    expect_equal(answer->acknowledgement, peer->sequence);
    peer_send(peer, TCP_ACK, 0, 0);
}

void peer_answer_syn(struct peer *peer) {
    static const uint8_t mss[4] = {2, 4, 0x05, 0xb4};
    struct frame *frame = world_collect(peer->world);
    assert_non_null(frame);
    peer->path = world_path(peer->world, (uint16_t)frame_get16(frame, FRAME_TRANSPORT + 2),
                            (uint16_t)frame_get16(frame, FRAME_TRANSPORT));
    expect(parse(peer, frame));
    expect_equal(peer->last.flags & ~(unsigned)(TCP_ECE | TCP_CWR), TCP_SYN);
    peer->acknowledgement = peer->last.sequence + 1;
    peer_send_syn(peer, TCP_SYN | TCP_ACK, mss, sizeof mss);
}

void peer_read(struct peer *peer, uint8_t *to, unsigned wanted) {
    unsigned got = 0;
    for (unsigned turns = 0; got < wanted; turns++) {
        expect(turns < 100000);
        if (!peer_take(peer)) {
            peer_send(peer, TCP_ACK, 0, 0);
            world_run(peer->world, MILLISECOND);
            continue;
        }
        if (peer->last.sequence != peer->acknowledgement)
            continue;
        expect(got + peer->last.length <= wanted);
        memcpy(to + got, peer->last.payload, peer->last.length);
        got += peer->last.length;
        peer->acknowledgement += peer->last.length;
    }
    peer_send(peer, TCP_ACK, 0, 0);
}

/* ---- the user ---- */

static void keep(struct user *user) {
    for (;;) {
        if (user->length == user->room) {
            user->room = user->room ? 2 * user->room : 65536;
            user->bytes = realloc(user->bytes, user->room);
            assert_non_null(user->bytes);
        }
        int got =
            plumb_tcp_read(user->connection, user->bytes + user->length, user->room - user->length);
        if (got <= 0)
            return;
        user->length += (size_t)got;
    }
}

static void on_event(struct plumb_tcp *connection, unsigned events, void *context) {
    struct user *user = context;
    user->events |= events;
    user->calls++;
    if (events & PLUMB_TCP_CONNECTED)
        user->connection = connection;
    expect(connection == user->connection || !user->connection);
    if (!user->keep_unread && user->connection)
        keep(user);
    if (events & PLUMB_TCP_CLOSED) {
        user->error = plumb_tcp_error(connection);
        user->connection = 0;
    }
}

static void on_accept(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                      void *context) {
    struct user *user = context;
    expect(listener == user->listener);
    user->accepted++;
    if (user->reject)
        return;
    user->connection = connection;
    plumb_tcp_set_handler(connection, on_event, user);
}

void user_listen_with(struct user *user, struct side *side, uint16_t port, unsigned backlog) {
    user->side = side;
    expect_equal(plumb_tcp_listen(side->stack, endpoint_of(0, port), backlog, on_accept, user,
                                  &user->listener),
                 PLUMB_OK);
}

void user_listen(struct user *user, struct side *side, uint16_t port) {
    user_listen_with(user, side, port, 4);
}

void user_connect_from(struct user *user, uint16_t local_port, struct side *side, uint32_t address,
                       uint16_t port) {
    user->side = side;
    expect_equal(plumb_tcp_connect(side->stack, endpoint_of(address, port), local_port, on_event,
                                   user, &user->connection),
                 PLUMB_OK);
}

void user_connect(struct user *user, struct side *side, uint32_t address, uint16_t port) {
    user_connect_from(user, 0, side, address, port);
}

void user_close(struct world *world, struct user *user) {
    plumb_tcp_close(user->connection);
    user->connection = 0;
    world_settle(world);
}

void user_end(struct user *user) {
    if (user->connection)
        plumb_tcp_abort(user->connection);
    if (user->listener)
        plumb_tcp_unlisten(user->listener);
    free(user->bytes);
    *user = (struct user){0};
}

struct plumb_tcp_info user_info(const struct user *user) {
    struct plumb_tcp_info info;
    assert_non_null(user->connection);
    plumb_tcp_get_info(user->connection, &info);
    return info;
}

static struct world *connect_to(struct user *user, struct peer *peer,
                                const struct world_options *options, bool stamped) {
    struct world *world = world_single(options);
    world_introduce(world);
    user_listen(user, &world->a, 80);
    *peer = peer_at(world, 40000, 80);
    peer->stamped = stamped;
    peer->stamp = 0xfffffff0; /* it will wrap */
    peer_connect(peer);
    expect_equal(user->accepted, 1);
    assert_non_null(user->connection);
    peer_expect_nothing(peer);
    return world;
}

struct world *connected(struct user *user, struct peer *peer, const struct world_options *options) {
    return connect_to(user, peer, options, false);
}

struct world *connected_stamped(struct user *user, struct peer *peer,
                                const struct world_options *options) {
    return connect_to(user, peer, options, true);
}

struct world *connecting(struct user *user, struct peer *peer) {
    struct world *world = world_single(0);
    world_introduce(world);
    user_connect_from(user, 5000, &world->a, world->b.address, 80);
    *peer = peer_at(world, 80, 5000);
    peer_accept(peer, TCP_SYN);
    return world;
}

void disconnected(struct world *world, struct user *user) {
    user_end(user);
    world_settle(world);
    expect_equal(side_buffers_used(&world->a), 0);
    world_end(world);
}
