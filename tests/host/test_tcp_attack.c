/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* TCP: malformed segments, and segments that somebody else may have sent. */
#include <string.h>

#include <plumb_config.h>

#include "peer.h"

static const uint8_t mss_1460[4] = {2, 4, 0x05, 0xb4};

/* The connection as it was: its bytes still flow both ways. */
static void expect_alive(struct user *user, struct peer *peer) {
    size_t before = user->length;
    assert_non_null(user->connection);
    peer->window = 65535;
    world_run(peer->world, 1100 * MILLISECOND);
    while (peer_take(peer))
        ;
    peer_send(peer, TCP_ACK | TCP_PSH, "alive", 5);
    expect_equal(user->length, before + 5);
    expect_equal(plumb_tcp_send(user->connection, "alive", 5), 5);
    world_settle(peer->world);
    while (peer_take(peer))
        if (peer->last.length == 5)
            break;
    expect_equal(peer->last.length, 5);
    expect_equal(peer->last.acknowledgement, peer->sequence);
    expect_equal(peer->last.sequence, peer->acknowledgement);
    peer->acknowledgement += 5;
    peer_send(peer, TCP_ACK, 0, 0);
    expect_equal(side_buffers_used(user->side), 0);
}

/* Exactly this drop, and either silence or one bare ACK. */
static void expect_drop(struct peer *peer, const struct frame *frame, const char *name,
                        bool answered) {
    struct world *world = peer->world;
    struct counters before = counters_now(&world->a);
    world_inject(world, frame);
    counters_expect_drop(&world->a, &before, name, 1);
    if (answered) {
        struct segment *answer = peer_expect(peer, TCP_ACK);
        expect_equal(answer->length, 0);
        expect_equal(answer->acknowledgement, peer->sequence);
    }
    peer_expect_nothing(peer);
}

static void segment_of(struct frame *frame, const struct peer *peer, uint32_t sequence,
                       uint32_t acknowledgement, unsigned flags, unsigned length) {
    frame_tcp(frame, &peer->path, sequence, acknowledgement, flags, peer->window, 0, 0,
              "0123456789abcdef", length);
}

/* ---- malformed ---- */

static void header_cut_at_every_length(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    for (uint16_t length = 0; length < 20; length++) {
        struct frame frame;
        segment_of(&frame, &peer, peer.sequence, peer.acknowledgement, TCP_ACK, 0);
        frame.length = (uint16_t)(FRAME_TRANSPORT + length);
        frame_finish(&frame);
        expect_drop(&peer, &frame, "tcp_short", false);
    }
    expect_alive(&user, &peer);
    disconnected(world, &user);
}

static void data_offset_of_every_value(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    for (unsigned words = 0; words < 16; words++) {
        struct frame frame;
        segment_of(&frame, &peer, peer.sequence, peer.acknowledgement, TCP_ACK, 7);
        frame.bytes[FRAME_TRANSPORT + 12] = (uint8_t)(words << 4);
        frame_fix_checksums(&frame);
        /* 27 bytes of segment: offsets of 5 and 6 words are inside. */
        if (words < 5 || words > 6)
            expect_drop(&peer, &frame, "tcp_offset", false);
    }
    expect_alive(&user, &peer);
    disconnected(world, &user);
}

static void wrong_checksum_of_every_bit(void **state) {
    (void)state;
    for (unsigned k = 0; k < 3; k++) {
        struct user user = {0};
        struct peer peer;
        struct world_options options = {.fragment = k == 1 ? 128 : 0,
                                        .capabilities = k == 2 ? PLUMB_CAPABILITY_RX_CHECKSUM : 0};
        struct world *world = connected(&user, &peer, &options);
        for (unsigned bit = 0; bit < 8 * 36; bit++) {
            struct frame frame;
            segment_of(&frame, &peer, peer.sequence, peer.acknowledgement, TCP_ACK, 16);
            frame.bytes[FRAME_TRANSPORT + bit / 8] ^= (uint8_t)(1U << bit % 8);
            /* A data offset beyond the segment is seen before the sum is taken. */
            unsigned words = frame.bytes[FRAME_TRANSPORT + 12] >> 4;
            const char *name = words < 5 || words > 9 ? "tcp_offset" : "tcp_checksum";
            expect_drop(&peer, &frame, name, false);
        }
        expect_equal(user.length, 0);
        expect_alive(&user, &peer);
        disconnected(world, &user);
    }
}

static void every_flag_on_a_closed_port(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct peer peer = peer_at(world, 40000, 99);
    world_introduce(world);
    for (unsigned flags = 0; flags < 256; flags++) {
        struct frame frame;
        struct counters before = counters_now(&world->a);
        segment_of(&frame, &peer, 1000, 2000, flags, 3);
        world_inject(world, &frame);
        counters_expect_drop(&world->a, &before, "tcp_port", 1);
        if (flags & TCP_RST) {
            peer_expect_nothing(&peer);
            continue;
        }
        /* RFC 9293 section 3.10.7.1. */
        struct segment *reset = peer_expect(&peer, flags & TCP_ACK ? TCP_RST : TCP_RST | TCP_ACK);
        uint32_t length = 3U + !!(flags & TCP_SYN) + (flags & TCP_FIN);
        expect_equal(reset->sequence, flags & TCP_ACK ? 2000 : 0);
        if (!(flags & TCP_ACK))
            expect_equal(reset->acknowledgement, 1000 + length);
        peer_expect_nothing(&peer);
    }
    expect_equal(side_buffers_used(&world->a), 0);
    world_end(world);
}

/* At a listener: a SYN alone opens; no other combination leaves anything behind. */
static void every_flag_at_a_listener(void **state) {
    (void)state;
    struct user user = {0};
    struct world *world = world_single(0);
    world_introduce(world);
    user_listen(&user, &world->a, 80);
    for (unsigned flags = 0; flags < 64; flags++) {
        struct peer peer = peer_at(world, (uint16_t)(40000 + flags), 80);
        struct frame frame;
        unsigned kind = flags & (TCP_SYN | TCP_ACK | TCP_RST | TCP_FIN);
        segment_of(&frame, &peer, 1000, 2000, flags, 0);
        world_inject(world, &frame);
        bool answered = peer_take(&peer);
        if (kind == TCP_SYN) {
            expect(answered && (peer.last.flags & 0x3f) == (TCP_SYN | TCP_ACK));
            peer_send_at(&peer, 1001, 0, TCP_RST, 0, 0);
        } else if (flags & TCP_RST) {
            expect(!answered);
        } else if (flags & TCP_ACK) {
            expect(answered && peer.last.flags == TCP_RST && peer.last.sequence == 2000);
        }
        peer_expect_nothing(&peer);
    }
    expect_equal(user.accepted, 0);
    world_run(world, 100 * SECOND);
    while (world_collect(world))
        ;
    disconnected(world, &user);
}

/* In ESTABLISHED, in sequence: combinations without ACK, or with SYN or RST. */
static void every_flag_when_established(void **state) {
    (void)state;
    for (unsigned flags = 0; flags < 64; flags++) {
        struct user user = {0};
        struct peer peer;
        struct world *world = connected(&user, &peer, 0);
        struct frame frame;
        struct counters before = counters_now(&world->a);
        segment_of(&frame, &peer, peer.sequence, peer.acknowledgement, flags, 0);
        world_inject(world, &frame);
        uint32_t drops = counters_drops(&world->a, &before);
        if (flags & TCP_RST) {
            expect_equal(user.error, PLUMB_ERROR_RESET);
            peer_expect_nothing(&peer);
        } else if (flags & TCP_SYN) {
            expect_equal(drops, 1);
            peer_expect(&peer, TCP_ACK);
            expect_equal(user.events, 0);
            expect_alive(&user, &peer);
        } else if (!(flags & TCP_ACK)) {
            expect_equal(drops, 1);
            peer_expect_nothing(&peer);
            expect_equal(user.events, 0);
            expect_alive(&user, &peer);
        } else {
            expect_equal(drops, 0);
            expect(user.connection != 0);
        }
        disconnected(world, &user);
    }
}

/* RFC 9293 section 3.8.5: pointers of every sort change nothing but where bytes are. */
static void urgent_pointers(void **state) {
    (void)state;
    static const uint16_t pointers[] = {0, 1, 4, 5, 1000, 65535};
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    for (unsigned i = 0; i < 6; i++) {
        struct frame frame;
        segment_of(&frame, &peer, peer.sequence, peer.acknowledgement, TCP_ACK | TCP_URG, 4);
        frame_put16(&frame, FRAME_TRANSPORT + 18, pointers[i]);
        frame_fix_checksums(&frame);
        world_inject(world, &frame);
        peer.sequence += 4;
        expect_equal(user.length, 4 * (i + 1));
        assert_memory_equal(user.bytes + 4 * i, "0123", 4);
    }
    expect_alive(&user, &peer);
    disconnected(world, &user);
}

static void to_broadcast_and_multicast(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    struct frame frame;
    struct peer other = peer_at(world, 50000, 80);
    other.path.to = FRAME_IPV4(10, 0, 0, 255);
    frame_tcp(&frame, &other.path, 1, 0, TCP_SYN, 1000, mss_1460, 4, 0, 0);
    expect_drop(&peer, &frame, "tcp_broadcast", false);
    other.path.to = FRAME_IPV4(255, 255, 255, 255);
    frame_tcp(&frame, &other.path, 1, 0, TCP_SYN, 1000, mss_1460, 4, 0, 0);
    expect_drop(&peer, &frame, "tcp_broadcast", false);
    other.path.to = world->a.address;
    memset(other.path.to_ethernet, 0xff, 6);
    frame_tcp(&frame, &other.path, 1, 0, TCP_SYN, 1000, mss_1460, 4, 0, 0);
    expect_drop(&peer, &frame, "tcp_broadcast", false);
    assert_null(world_collect(world));
    disconnected(world, &user);
}

/* From itself to itself. */
static void land(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    struct frame frame;
    struct peer self = peer_at(world, 80, 80);
    self.path.from = world->a.address;
    frame_tcp(&frame, &self.path, 1, 0, TCP_SYN, 1000, mss_1460, 4, 0, 0);
    expect_drop(&peer, &frame, "ipv4_source", false);
    /* By address ours, by Ethernet another's: it is the address that counts. */
    memcpy(self.path.from_ethernet, world->a.ethernet, 6);
    frame_tcp(&frame, &self.path, 1, 0, TCP_SYN, 1000, mss_1460, 4, 0, 0);
    expect_drop(&peer, &frame, "ipv4_source", false);
    expect_alive(&user, &peer);
    disconnected(world, &user);
}

/* ---- blind attacks, RFC 5961 ---- */

static void reset_only_when_exact(void **state) {
    (void)state;
    static const int32_t offsets[] = {-100000, -1, 1, 2, 1000, 65534, 65535, 65536, 0x7fffffff};
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    for (unsigned i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        struct frame frame;
        bool inside = offsets[i] > 0 && offsets[i] < 65535;
        segment_of(&frame, &peer, peer.sequence + (uint32_t)offsets[i], 0, TCP_RST, 0);
        expect_drop(&peer, &frame, "tcp_reset", inside);
        expect_equal(user.events, 0);
        world_run(world, 1100 * MILLISECOND);
    }
    expect_alive(&user, &peer);
    peer_send(&peer, TCP_RST, 0, 0);
    expect_equal(user.events & PLUMB_TCP_CLOSED, PLUMB_TCP_CLOSED);
    expect_equal(user.error, PLUMB_ERROR_RESET);
    peer_expect_nothing(&peer);
    disconnected(world, &user);
}

static void syn_is_challenged(void **state) {
    (void)state;
    static const int32_t offsets[] = {-1, 0, 1, 60000, 100000};
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    for (unsigned i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        struct frame frame;
        segment_of(&frame, &peer, peer.sequence + (uint32_t)offsets[i], 0, TCP_SYN, 0);
        expect_drop(&peer, &frame, "tcp_syn", true);
        world_run(world, 1100 * MILLISECOND);
    }
    expect_alive(&user, &peer);
    disconnected(world, &user);
}

static void acknowledgement_of_what_was_never_sent(void **state) {
    (void)state;
    static const uint32_t ahead[] = {1, 1000, 0x7fffffff};
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    for (unsigned i = 0; i < 3; i++) {
        struct frame frame;
        segment_of(&frame, &peer, peer.sequence, peer.acknowledgement + ahead[i], TCP_ACK, 4);
        expect_drop(&peer, &frame, "tcp_acknowledgement", true);
        expect_equal(user.length, 0);
        world_run(world, 1100 * MILLISECOND);
    }
    /* Too old to be true (RFC 5961 section 5.2). */
    struct frame frame;
    segment_of(&frame, &peer, peer.sequence, peer.acknowledgement - 200000, TCP_ACK, 4);
    expect_drop(&peer, &frame, "tcp_acknowledgement", true);
    expect_equal(user.length, 0);
    expect_alive(&user, &peer);
    disconnected(world, &user);
}

/* However many are provoked, few challenges go out, and how many differs. */
static void challenges_are_limited(void **state) {
    (void)state;
    unsigned different = 0, first = 0;
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct user user = {0};
        struct peer peer;
        struct world *world = connected(&user, &peer, &(struct world_options){.seed = seed});
        unsigned challenges = 0;
        struct counters before = counters_now(&world->a);
        for (unsigned i = 0; i < 1000; i++) {
            peer_send_at(&peer, peer.sequence + 100, 0, TCP_RST, 0, 0);
            while (peer_take(&peer))
                challenges++;
        }
        expect(challenges >= 1 && challenges <= 20);
        expect_equal(counters_moved(&world->a, &before, "tcp_challenge"), challenges);
        expect_equal(counters_moved(&world->a, &before, "tcp_challenge_limited"),
                     1000 - challenges);
        counters_expect_drop(&world->a, &before, "tcp_reset", 1000);
        first = seed ? first : challenges;
        different += challenges != first;
        expect_alive(&user, &peer);
        disconnected(world, &user);
    }
    expect(different > 0);
}

static void segments_outside_the_window(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    static const uint32_t ahead[] = {65535, 65536, 100000, 0x7ffffff0};
    for (unsigned i = 0; i < 4; i++) {
        struct frame frame;
        segment_of(&frame, &peer, peer.sequence + ahead[i], peer.acknowledgement, TCP_ACK, 4);
        expect_drop(&peer, &frame, "tcp_sequence", true);
        world_run(world, 1100 * MILLISECOND);
    }
    expect_equal(user.length, 0);
    expect_alive(&user, &peer);
    disconnected(world, &user);
}

/* Two that answer each other's refused ACKs would do so for ever. */
static void refused_acks_do_not_echo_for_ever(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    unsigned answers = 0;
    for (unsigned i = 0; i < 500; i++) {
        peer_send_at(&peer, peer.sequence - 1000, peer.acknowledgement, TCP_ACK, 0, 0);
        while (peer_take(&peer))
            answers++;
    }
    expect(answers < 30);
    expect_alive(&user, &peer);
    disconnected(world, &user);
}

/* ---- acknowledgements that lie ---- */

/* RFC 3465: many acknowledgements of few bytes each open the window no faster. */
static void test_hostile_57_divided_acknowledgements(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    static uint8_t bytes[30000];
    uint32_t began = user_info(&user).congestion_window, base = peer.acknowledgement;
    plumb_tcp_send(user.connection, bytes, sizeof bytes);
    world_settle(world);
    world_drain(world);
    for (uint32_t i = 1; i <= 1460; i++) {
        peer_send_at(&peer, peer.sequence, base + i, TCP_ACK, 0, 0);
        world_drain(world);
    }
    expect(user_info(&user).congestion_window <= began + 1460);
    disconnected(world, &user);
}

/* Forged duplicates inflate no further than what was out. */
static void test_hostile_57_forged_duplicates(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    static uint8_t bytes[60000];
    plumb_tcp_send(user.connection, bytes, sizeof bytes);
    world_settle(world);
    unsigned sent = 0;
    while (peer_take(&peer))
        sent += peer.last.length;
    for (unsigned i = 0; i < 5000; i++) {
        peer_send_at(&peer, peer.sequence, peer.acknowledgement, TCP_ACK, 0, 0);
        world_drain(world);
    }
    expect(user_info(&user).congestion_window <= 3 * sent);
    disconnected(world, &user);
}

/* 100 000 one-byte segments with holes between them: memory and work stay bounded. */
static void test_hostile_56_tiny_segments_out_of_order(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    struct random random = {1};
    for (unsigned i = 0; i < 100000; i++) {
        struct counters before = counters_now(&world->a);
        struct frame frame;
        segment_of(&frame, &peer, peer.sequence + 1 + 2 * random_below(&random, 30000),
                   peer.acknowledgement, TCP_ACK, 1);
        world_inject(world, &frame);
        expect(counters_drops(&world->a, &before) <= 1);
        world_drain(world);
        expect(side_buffers_used(&world->a) <= CONFIG_PLUMB_TCP_REORDER_PACKETS);
    }
    disconnected(world, &user);
}

/* As many full segments as the buffer holds: with a large one a hole costs nothing behind it. */
static void a_large_buffer_keeps_what_is_behind_a_hole(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_BUFFER_LIMITS);
    enum { SEGMENT = 1460, COUNT = (1 << 20) / SEGMENT - 1 };
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    static uint8_t bytes[SEGMENT];
    user.keep_unread = true;
    expect_equal(plumb_tcp_set_option(user.connection, PLUMB_TCP_RECEIVE_BUFFER, 1 << 20),
                 PLUMB_OK);
    for (unsigned i = 1; i <= COUNT; i++)
        peer_send_at(&peer, peer.sequence + i * SEGMENT, peer.acknowledgement, TCP_ACK, bytes,
                     SEGMENT);
    world_drain(world);
    peer_send_at(&peer, peer.sequence, peer.acknowledgement, TCP_ACK, bytes, SEGMENT);
    expect_equal(plumb_tcp_readable(user.connection), (COUNT + 1) * SEGMENT);
    disconnected(world, &user);
}

/* ---- messages about us, RFC 5927 ---- */

static void icmp_about(struct peer *peer, unsigned type, unsigned code, uint32_t rest,
                       uint32_t sequence) {
    struct frame quoted, frame;
    struct frame_path back = frame_path_back(&peer->path);
    frame_tcp(&quoted, &back, sequence, peer->sequence, TCP_ACK, 1000, 0, 0, 0, 0);
    frame_icmp(&frame, &peer->path, type, code, rest, quoted.bytes + FRAME_NETWORK, 28);
    world_inject(peer->world, &frame);
}

static void icmp_errors_do_not_end_a_connection(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    for (unsigned code = 0; code < 16; code++) {
        icmp_about(&peer, 3, code, 0, peer.acknowledgement);
        icmp_about(&peer, 3, code, 67, peer.acknowledgement + 1000000);
    }
    icmp_about(&peer, 11, 0, 0, peer.acknowledgement);
    icmp_about(&peer, 4, 0, 0, peer.acknowledgement);
    icmp_about(&peer, 5, 0, 0x0a000042, peer.acknowledgement);
    expect_equal(user.events, 0);
    expect_equal(user_info(&user).mss, 1460);
    expect_alive(&user, &peer);
    disconnected(world, &user);
}

static void icmp_ends_a_connection_attempt(void **state) {
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        const unsigned exact = i & 1, code = i & 2 ? 3 : 1;
        struct user user = {0};
        struct peer peer;
        struct world *world = connecting(&user, &peer);
        uint32_t initial = peer.acknowledgement - 1;
        icmp_about(&peer, 3, code, 0, exact ? initial : initial + 12345);
        expect_equal(user.events, exact ? PLUMB_TCP_CLOSED : 0);
        if (exact)
            expect_equal(user.error, code == 3 ? PLUMB_ERROR_REFUSED : PLUMB_ERROR_UNREACHABLE);
        disconnected(world, &user);
    }
}

/* ---- pools that run empty ---- */

/* Whatever buffer is missing, nothing breaks, and once it is there all goes on. */
static void no_buffer_to_answer_with(void **state) {
    (void)state;
    struct user user = {0};
    struct world *world = world_single(0);
    struct plumb_packet *taken[WORLD_HEADERS];
    world_introduce(world);
    user_listen(&user, &world->a, 80);
    for (unsigned left = 0; left < 6; left++) {
        struct peer peer = peer_at(world, (uint16_t)(41000 + left), 80);
        unsigned count = 0;
        for (; count < WORLD_HEADERS - left; count++)
            taken[count] = plumb_packet_take(&world->a.headers, 0);
        peer_send_syn(&peer, TCP_SYN, mss_1460, 4);
        peer_send_at(&peer, peer.sequence, 77, TCP_ACK, "x", 1);
        struct peer closed = peer_at(world, 42000, 99);
        peer_send(&closed, TCP_ACK, 0, 0);
        world_drain(world);
        while (count)
            plumb_packet_put(taken[--count]);
        world_run(world, 4 * SECOND);
        bool answered = false;
        while (peer_take(&peer))
            if (peer.last.flags == (TCP_SYN | TCP_ACK)) {
                answered = true;
                peer.acknowledgement = peer.last.sequence + 1;
            }
        expect(answered);
        peer_send(&peer, TCP_ACK, 0, 0);
        expect_equal(user.accepted, left + 1);
        plumb_tcp_send(user.connection, "hello", 5);
        world_settle(world);
        expect_equal(peer_accept(&peer, TCP_ACK)->length, 5);
        plumb_tcp_abort(user.connection);
        user.connection = 0;
        world_drain(world);
    }
    disconnected(world, &user);
}

static void no_segment_to_send_with(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    struct plumb_packet *taken[WORLD_SEGMENTS];
    static uint8_t bytes[20000], got[20000];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = pattern_at(3, i);
    for (unsigned left = 0; left < 5; left++) {
        unsigned count = 0;
        for (; count < WORLD_SEGMENTS - left; count++)
            taken[count] = plumb_packet_take(&world->a.segments, 0);
        user.events = 0;
        int queued = plumb_tcp_send(user.connection, bytes, sizeof bytes);
        expect(queued >= 0 && queued <= (int)left * 1528);
        world_settle(world);
        while (count)
            plumb_packet_put(taken[--count]);
        world_run(world, 100 * MILLISECOND);
        expect(user.events & PLUMB_TCP_WRITABLE);
        unsigned total = (unsigned)queued;
        while (total < sizeof bytes) {
            int more = plumb_tcp_send(user.connection, bytes + total, sizeof bytes - total);
            expect(more > 0);
            total += (unsigned)more;
        }
        world_settle(world);
        peer_read(&peer, got, sizeof got);
        assert_memory_equal(got, bytes, sizeof bytes);
    }
    expect_alive(&user, &peer);
    disconnected(world, &user);
}

/* A SYN each from all hosts of the network, none of which is there. Answers to them
 * must not cost a live flow its neighbour, nor anything else. */
static void flood_of_spoofed_neighbours_keeps_a_live_flow(void **state) {
    (void)state;
    static const uint16_t ports[] = {80, 9999}; /* a listener's, and nobody's */
    for (unsigned i = 0; i < 2; i++) {
        struct user user = {0};
        struct peer peer;
        struct world *world = connected(&user, &peer, 0);
        /* It confirms its address, once for the next minute. */
        world_run(world, 2 * SECOND);
        peer_expect_nothing(&peer);
        for (unsigned ms = 0; ms < 1000; ms++) {
            for (unsigned k = 0; k < 10; k++) {
                struct frame frame;
                struct frame_path path = world_path(world, (uint16_t)(1024 + ms), ports[i]);
                path.from = FRAME_IPV4(10, 0, 0, 3 + (10 * ms + k) % 250);
                frame_tcp(&frame, &path, 1234, 0, TCP_SYN, 65535, 0, 0, 0, 0);
                expect_equal(plumb_wire_inject(world->a.end, frame.bytes, frame.length), PLUMB_OK);
            }
            world_run(world, MILLISECOND);
            if (ms % 10 == 0)
                expect_equal(plumb_tcp_send(user.connection, "alive", 5), 5);
            bool arrived = false;
            for (struct frame *frame; (frame = world_collect_any(world));) {
                bool arp = frame_get16(frame, 12) == 0x0806;
                expect(!arp || frame_get32(frame, 38) != world->b.address);
                arrived |= !arp && frame_get32(frame, 30) == world->b.address &&
                           frame_get16(frame, 16) == 20 + 20 + 5;
            }
            expect(arrived == (ms % 10 == 0));
            if (!arrived)
                continue;
            peer.acknowledgement += 5;
            peer_send(&peer, TCP_ACK, 0, 0);
        }
        user_end(&user);
        /* Who was asked for does not answer. */
        world_run(world, 10 * SECOND);
        disconnected(world, &user);
    }
}

HARNESS_MAIN(
    cmocka_unit_test(header_cut_at_every_length), cmocka_unit_test(data_offset_of_every_value),
    cmocka_unit_test(wrong_checksum_of_every_bit), cmocka_unit_test(every_flag_on_a_closed_port),
    cmocka_unit_test(every_flag_at_a_listener), cmocka_unit_test(every_flag_when_established),
    cmocka_unit_test(urgent_pointers), cmocka_unit_test(to_broadcast_and_multicast),
    cmocka_unit_test(land), cmocka_unit_test(reset_only_when_exact),
    cmocka_unit_test(syn_is_challenged), cmocka_unit_test(acknowledgement_of_what_was_never_sent),
    cmocka_unit_test(challenges_are_limited), cmocka_unit_test(segments_outside_the_window),
    cmocka_unit_test(refused_acks_do_not_echo_for_ever),
    cmocka_unit_test(test_hostile_57_divided_acknowledgements),
    cmocka_unit_test(test_hostile_57_forged_duplicates),
    cmocka_unit_test(test_hostile_56_tiny_segments_out_of_order),
    cmocka_unit_test(a_large_buffer_keeps_what_is_behind_a_hole),
    cmocka_unit_test(icmp_errors_do_not_end_a_connection),
    cmocka_unit_test(icmp_ends_a_connection_attempt), cmocka_unit_test(no_buffer_to_answer_with),
    cmocka_unit_test(no_segment_to_send_with),
    cmocka_unit_test(flood_of_spoofed_neighbours_keeps_a_live_flow))
