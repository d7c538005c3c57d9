/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* TCP: handshakes that are under way, however many, and cookies (RFC 4987). */
#include <string.h>

#include <plumb_config.h>

#include "peer.h"

#include "tcp/tcp.h"

static const uint8_t mss_1460[4] = {2, 4, 0x05, 0xb4};

/* What `user_listen()` asks for. */
enum { BACKLOG = 4 };

static struct world *listening(struct user *user) {
    struct world *world = world_single(0);
    world_introduce(world);
    user_listen(user, &world->a, 80);
    return world;
}

/* Throws away what was sent, but answers who asks for the peer's address. */
static void drain(struct world *world) {
    while (world_collect(world))
        ;
}

/* As many handshakes as a listener keeps, begun and left alone. */
static void fill_backlog(struct world *world) {
    for (unsigned i = 0; i < BACKLOG; i++) {
        struct peer peer = peer_at(world, (uint16_t)(30000 + i), 80);
        peer_send_syn(&peer, TCP_SYN, mss_1460, 4);
        peer_expect(&peer, TCP_SYN | TCP_ACK);
    }
}

static struct peer syn_from(struct world *world, uint16_t port, const uint8_t *options,
                            unsigned length) {
    struct peer peer = peer_at(world, port, 80);
    peer_send_syn(&peer, TCP_SYN, options, length);
    peer_accept(&peer, TCP_SYN | TCP_ACK);
    return peer;
}

static void expect_works(struct user *user, struct peer *peer) {
    size_t before = user->length;
    assert_non_null(user->connection);
    peer_send(peer, TCP_ACK | TCP_PSH, "question", 8);
    expect_equal(user->length, before + 8);
    expect_equal(plumb_tcp_send(user->connection, "answer", 6), 6);
    world_settle(peer->world);
    do
        expect(peer_take(peer));
    while (!peer->last.length);
    expect_equal(peer->last.sequence, peer->acknowledgement);
    assert_memory_equal(peer->last.payload, "answer", 6);
    peer->acknowledgement += 6;
    peer_send(peer, TCP_ACK, 0, 0);
}

static void never_told(struct plumb_tcp *connection, unsigned events, void *context) {
    (void)connection;
    (void)events;
    (void)context;
}

/* ---- entries ---- */

/* However many SYNs, all connections are there for those who finish their handshake. */
static void a_flood_takes_no_connection(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_SYN_COOKIES);
    struct user user = {0};
    struct world *world = listening(&user);
    struct plumb_tcp *taken[CONFIG_PLUMB_TCP_CONNECTIONS];
    struct counters before = counters_now(&world->a);
    for (unsigned i = 0; i < CONFIG_PLUMB_TCP_CONNECTIONS; i++) {
        for (unsigned k = 0; k < 1000; k++) {
            struct peer flooder = peer_at(world, (uint16_t)(1024 + k), 80);
            flooder.path.from = FRAME_IPV4(10, 0, 0, 3 + i);
            peer_send_syn(&flooder, TCP_SYN, mss_1460, 4);
            world_drain(world);
        }
        struct peer peer = peer_at(world, (uint16_t)(40000 + i), 80);
        peer_connect(&peer);
        expect_equal(user.accepted, i + 1);
        expect_works(&user, &peer);
        taken[i] = user.connection;
        user.connection = 0;
    }
    expect_equal(counters_moved(&world->a, &before, "tcp_time_wait_reused"), 0);
    for (unsigned i = 0; i < CONFIG_PLUMB_TCP_CONNECTIONS; i++)
        plumb_tcp_abort(taken[i]);
    user_end(&user);
    world_run(world, 10 * SECOND); /* what waits for flooders that answer no ARP */
    disconnected(world, &user);
}

/* The same with a backlog that all entries do not reach: what has no place in its set is
 * answered by a cookie, or displaces the oldest there. */
static void a_flood_of_a_large_backlog(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_SYN_CACHE);
    struct world *world = world_single(0);
    struct user user = {0};
    unsigned cookies = PLUMB_IS_SET_(CONFIG_PLUMB_TCP_SYN_COOKIES);
    world_introduce(world);
    user_listen_with(&user, &world->a, 80, 1000);
    struct counters before = counters_now(&world->a);
    enum { SYNS = 2000 };
    for (unsigned i = 0; i < SYNS; i++)
        syn_from(world, (uint16_t)(1024 + i), mss_1460, 4);
    unsigned given_way =
        counters_moved(&world->a, &before, cookies ? "tcp_cookie" : "tcp_half_open_reused");
    expect_equal(given_way, SYNS - CONFIG_PLUMB_TCP_HANDSHAKES);
    struct peer peer = syn_from(world, 40000, mss_1460, 4);
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(user.accepted, 1);
    expect_works(&user, &peer);
    disconnected(world, &user);
}

/* Numbers that are not exact leave a handshake alone, and provoke little (RFC 5961). */
static void blind_segments_at_a_handshake(void **state) {
    (void)state;
    struct user user = {0};
    struct world *world = listening(&user);
    struct peer peer = syn_from(world, 40000, mss_1460, 4);
    unsigned answers = 0;
    for (unsigned i = 1; i <= 200; i++) {
        struct counters before = counters_now(&world->a);
        peer_send_at(&peer, peer.sequence + 200 * i, 0, TCP_RST, 0, 0);
        counters_expect_drop(&world->a, &before, "tcp_reset", 1);
        while (peer_take(&peer)) {
            answers++;
            expect(peer.last.flags == TCP_ACK || peer.last.flags == (TCP_SYN | TCP_ACK));
        }
    }
    expect(answers >= 1 && answers <= 20);
    peer_send_at(&peer, peer.sequence - 1, 0, TCP_RST, 0, 0);
    peer_expect_nothing(&peer);
    /* An ACK of another number is reset (RFC 9293 section 3.10.7.4). */
    peer_send_at(&peer, peer.sequence, peer.acknowledgement + 1, TCP_ACK, 0, 0);
    expect_equal(peer_expect(&peer, TCP_RST)->sequence, peer.acknowledgement + 1);
    /* Neither takes a connection. */
    struct plumb_tcp *others[CONFIG_PLUMB_TCP_CONNECTIONS];
    unsigned count = CONFIG_PLUMB_TCP_CONNECTIONS - !PLUMB_IS_SET_(CONFIG_PLUMB_TCP_SYN_CACHE);
    for (unsigned i = 0; i < count; i++)
        expect_equal(plumb_tcp_connect(world->a.stack, endpoint_of(world->b.address, 7), 0,
                                       never_told, 0, &others[i]),
                     PLUMB_OK);
    for (unsigned i = 0; i < count; i++)
        plumb_tcp_abort(others[i]);
    drain(world);
    /* Data without ACK, and a SYN|ACK, say nothing. */
    peer_send_at(&peer, peer.sequence, 0, TCP_PSH, "x", 1);
    peer_send_at(&peer, peer.sequence, peer.acknowledgement, TCP_SYN | TCP_ACK, 0, 0);
    peer_expect_nothing(&peer);
    expect_equal(user.accepted, 0);
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(user.accepted, 1);
    expect_works(&user, &peer);
    disconnected(world, &user);
}

/* Without cookies the one more of a backlog displaces the oldest. */
static void the_oldest_handshake_gives_way(void **state) {
    (void)state;
    if (PLUMB_IS_SET_(CONFIG_PLUMB_TCP_SYN_COOKIES))
        skip();
    struct user user = {0};
    struct world *world = listening(&user);
    struct peer peers[BACKLOG + 1];
    struct counters before = counters_now(&world->a);
    for (unsigned i = 0; i < BACKLOG + 1; i++) {
        peers[i] = syn_from(world, (uint16_t)(40000 + i), mss_1460, 4);
        world_run(world, MILLISECOND);
    }
    expect_equal(counters_moved(&world->a, &before, "tcp_half_open_reused"), 1);
    for (unsigned i = BACKLOG + 1; i--;) {
        peer_send(&peers[i], TCP_ACK, 0, 0);
        expect_equal(user.accepted, BACKLOG + 1 - i - !i);
        if (i) {
            plumb_tcp_abort(user.connection);
            user.connection = 0;
            peer_expect(&peers[i], TCP_RST | TCP_ACK);
        }
    }
    peer_expect(&peers[0], TCP_RST);
    disconnected(world, &user);
}

/* RFC 9293 section 3.10.7.4: only the exact number ends it, and then it is forgotten. */
static void a_reset_ends_a_handshake(void **state) {
    (void)state;
    struct user user = {0};
    struct world *world = listening(&user);
    struct peer peer = syn_from(world, 40000, mss_1460, 4);
    peer_send_at(&peer, peer.sequence, 0, TCP_RST, 0, 0);
    peer_expect_nothing(&peer);
    peer_send_at(&peer, peer.sequence, peer.acknowledgement, TCP_ACK, 0, 0);
    expect_equal(peer_expect(&peer, TCP_RST)->sequence, peer.acknowledgement);
    world_run(world, 200 * SECOND);
    peer_expect_nothing(&peer);
    expect_equal(user.accepted, 0);
    disconnected(world, &user);
}

/* A peer that has forgotten its first SYN resets what ours answers, and begins anew. */
static void another_syn_during_a_handshake(void **state) {
    (void)state;
    struct user user = {0};
    struct world *world = listening(&user);
    struct peer peer = syn_from(world, 40000, mss_1460, 4);
    uint32_t first = peer.sequence;
    peer.sequence += 123456;
    peer_send_syn(&peer, TCP_SYN, mss_1460, 4);
    expect(peer_take(&peer));
    expect_equal(peer.last.acknowledgement, first);
    peer_send_at(&peer, peer.last.acknowledgement, 0, TCP_RST, 0, 0);
    peer.sequence--;
    peer_send_syn(&peer, TCP_SYN, mss_1460, 4);
    expect_equal(peer_accept(&peer, TCP_SYN | TCP_ACK)->acknowledgement, peer.sequence);
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_works(&user, &peer);
    disconnected(world, &user);
}

/* The last ACK is lost, and what comes first is the peer's second segment. */
static void payload_out_of_order_completes_a_handshake(void **state) {
    (void)state;
    struct user user = {0};
    struct world *world = listening(&user);
    struct peer peer = syn_from(world, 40000, mss_1460, 4);
    peer_send_at(&peer, peer.sequence + 5, peer.acknowledgement, TCP_ACK, "67890", 5);
    expect_equal(user.accepted, 1);
    expect_equal(user.length, 0);
    peer_send_at(&peer, peer.sequence, peer.acknowledgement, TCP_ACK, "12345", 5);
    expect_equal(user.length, 10);
    assert_memory_equal(user.bytes, "1234567890", 10);
    disconnected(world, &user);
}

/* What was agreed on, and how long the answer took, survives the wait. */
static void a_handshake_is_timed(void **state) {
    (void)state;
    struct user user = {0};
    struct world *world = listening(&user);
    struct peer peer = syn_from(world, 40000, mss_1460, 4);
    world_run(world, 300 * MILLISECOND);
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(user_info(&user).srtt_us, 300000);
    expect_equal(user_info(&user).mss, 1460);
    uint32_t window = user_info(&user).congestion_window;
    user_close(world, &user);
    /* One that had to be repeated says nothing (RFC 6298 section 5.7, RFC 5681 3.1). */
    world_drain(world);
    peer = syn_from(world, 40001, mss_1460, 4);
    world_run(world, 1300 * MILLISECOND);
    while (peer_take(&peer))
        ;
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(user_info(&user).srtt_us, 0);
    expect_equal(user_info(&user).rto_ms, 3000);
    expect(user_info(&user).congestion_window < window);
    disconnected(world, &user);
}

/* An address that is no longer ours answers nobody. */
static void handshakes_end_with_the_address(void **state) {
    (void)state;
    struct user user = {0};
    struct world *world = listening(&user);
    syn_from(world, 40000, mss_1460, 4);
    expect_equal(plumb_netif_set_ipv4(world->a.netif, ipv4_of(FRAME_IPV4(10, 0, 0, 9)),
                                      ipv4_of(0xffffff00U), PLUMB_IPV4_ANY),
                 PLUMB_OK);
    world_settle(world);
    world_drain(world);
    world_run(world, 100 * SECOND);
    for (struct frame *frame; (frame = world_collect_any(world));)
        expect(frame_get16(frame, 12) != 0x0800);
    disconnected(world, &user);
}

/* RFC 9293 section 3.6.1, RFC 6191: whatever was sent on the last connection lies below. */
static void a_number_above_those_of_the_last_connection(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    static uint8_t bytes[30000];
    expect_equal(plumb_tcp_send(user.connection, bytes, sizeof bytes), sizeof bytes);
    static uint8_t got[sizeof bytes];
    peer_read(&peer, got, sizeof got);
    plumb_tcp_shutdown(user.connection);
    world_settle(world);
    uint32_t most = peer_accept(&peer, TCP_FIN | TCP_ACK)->sequence + 1;
    peer_send(&peer, TCP_FIN | TCP_ACK, 0, 0);
    world_drain(world);
    /* No time has passed: the clock has not caught up with what was sent. */
    peer.sequence += 1000;
    peer_send_syn(&peer, TCP_SYN, mss_1460, 4);
    expect((int32_t)(peer_accept(&peer, TCP_SYN | TCP_ACK)->sequence - most) > 65535);
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(user.accepted, 2);
    expect_works(&user, &peer);
    disconnected(world, &user);
}

static bool room;
static unsigned coming_behind;

static bool ask(struct plumb_tcp_listener *listener, unsigned coming, void *context) {
    const struct user *user = context;
    expect(listener == user->listener);
    coming_behind = coming;
    return room;
}

/* The last ACK is as if it had not come while the listener's user has no room: what was agreed on
 * stays, and our SYN-ACK asks for it again. */
static void a_handshake_waits_for_room(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_SYN_CACHE);
    struct user user = {0};
    struct world *world = listening(&user);
    plumb_tcp_listener_room(user.listener, ask);
    room = false;
    struct peer peer = syn_from(world, 40000, mss_1460, 4);
    for (unsigned i = 0; i < 3; i++) {
        struct counters before = counters_now(&world->a);
        peer_send(&peer, TCP_ACK, 0, 0);
        peer_send_at(&peer, peer.sequence, peer.acknowledgement, TCP_ACK, "early", 5);
        counters_expect_drop(&world->a, &before, "tcp_backlog", 2);
        peer_expect_nothing(&peer);
        world_run(world, SECOND << i);
        expect_equal(peer_expect(&peer, TCP_SYN | TCP_ACK)->acknowledgement, peer.sequence);
    }
    expect_equal(user.accepted, 0);
    room = true;
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(user.accepted, 1);
    expect_equal(coming_behind, 0);
    expect_works(&user, &peer);
    disconnected(world, &user);
}

/* Two in one batch: the second is asked about behind the first. */
static void handshakes_of_one_batch_share_the_room(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_SYN_CACHE);
    struct user user = {0};
    struct world *world = listening(&user);
    struct frame frame;
    plumb_tcp_listener_room(user.listener, ask);
    room = true;
    struct peer first = syn_from(world, 40000, mss_1460, 4);
    struct peer second = syn_from(world, 40001, mss_1460, 4);
    peer_frame(&first, &frame, first.sequence, first.acknowledgement, TCP_ACK, 0, 0);
    plumb_wire_inject(world->a.end, frame.bytes, frame.length);
    peer_send(&second, TCP_ACK, 0, 0);
    expect_equal(user.accepted, 2);
    expect_equal(coming_behind, 1);
    user_end(&user);
    world_drain(world);
    disconnected(world, &user);
}

/* ---- cookies ---- */

/* Each size that is offered is rounded down to one that a cookie has. */
static void a_cookie_opens(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_SYN_COOKIES);
    static const struct {
        uint16_t offered, used;
    } cases[] = {{48, 48},     {255, 48},    {256, 256},   {536, 536},   {1300, 1200},
                 {1380, 1360}, {1452, 1440}, {1460, 1460}, {9000, 1460}, {1, 48}};
    struct user user = {0};
    struct world *world = listening(&user);
    fill_backlog(world);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t options[8] = {
            2, 4, (uint8_t)(cases[i].offered >> 8), (uint8_t)cases[i].offered, 1, 3, 3, 7};
        struct counters before = counters_now(&world->a);
        struct peer peer = syn_from(world, (uint16_t)(40000 + i), options, 8);
        expect_equal(counters_moved(&world->a, &before, "tcp_cookie"), 1);
        /* No window scale is agreed on, as nobody would remember the peer's. */
        expect_equal(peer.last.options_length, 4);
        peer.window = 1000;
        peer_send(&peer, TCP_ACK, 0, 0);
        expect_equal(counters_moved(&world->a, &before, "tcp_cookie_opened"), 1);
        expect_equal(user.accepted, i + 1);
        expect_equal(user_info(&user).mss, cases[i].used);
        expect_equal(user_info(&user).send_window, 1000);
        expect_works(&user, &peer);
        plumb_tcp_abort(user.connection);
        user.connection = 0;
        world_drain(world);
    }
    disconnected(world, &user);
}

/* Without room none is made, as nothing would have the peer say its last ACK again; nor is one
 * taken, until there is. */
static void a_cookie_waits_for_room(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_SYN_COOKIES);
    struct user user = {0};
    struct world *world = listening(&user);
    plumb_tcp_listener_room(user.listener, ask);
    room = true;
    fill_backlog(world);
    struct peer peer = syn_from(world, 40000, mss_1460, 4), other = peer_at(world, 40001, 80);
    room = false;
    struct counters before = counters_now(&world->a);
    peer_send_syn(&other, TCP_SYN, mss_1460, 4);
    peer_expect_nothing(&other);
    peer_send(&peer, TCP_ACK, 0, 0);
    peer_expect_nothing(&peer);
    counters_expect_drop(&world->a, &before, "tcp_backlog", 2);
    expect_equal(user.accepted, 0);
    room = true;
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(user.accepted, 1);
    expect_works(&user, &peer);
    disconnected(world, &user);
}

/* What a listener's user allows is in the SYN-ACK, also when that is repeated, and bounds what is
 * sent; what the peer offers is not repeated to it. */
static void a_listener_limits_segments(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_MSS_LIMIT);
    static const uint8_t mss_536[4] = {2, 4, 2, 24};
    struct user user = {0};
    struct world *world = listening(&user);
    expect_equal(plumb_tcp_listener_mss(user.listener, 47), PLUMB_ERROR_INVALID);
    expect_equal(plumb_tcp_listener_mss(user.listener, 1000), PLUMB_OK);
    for (unsigned small = 0; small < 2; small++) {
        struct peer peer =
            syn_from(world, (uint16_t)(40000 + small), small ? mss_536 : mss_1460, 4);
        for (unsigned i = 0; i < 2; i++) {
            assert_memory_equal(peer_option(&peer, 2), ((uint8_t[]){2, 4, 1000 >> 8, 1000 & 255}),
                                4);
            world_run(world, 1100 * MILLISECOND);
            expect(i || peer_take(&peer));
        }
        peer_send(&peer, TCP_ACK, 0, 0);
        expect_equal(user_info(&user).mss, small ? 536 : 1000);
        plumb_tcp_abort(user.connection);
        user.connection = 0;
        world_drain(world);
    }
    disconnected(world, &user);
}

/* It takes no memory and no time: nothing is sent again. */
static void a_cookie_is_not_repeated(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_SYN_COOKIES);
    struct user user = {0};
    struct world *world = listening(&user);
    fill_backlog(world);
    struct peer peer = syn_from(world, 40000, mss_1460, 4);
    world_run(world, 100 * SECOND);
    peer_expect_nothing(&peer);
    peer_send_at(&peer, peer.sequence, 0, TCP_RST, 0, 0);
    peer_expect_nothing(&peer);
    user_end(&user);
    drain(world);
    disconnected(world, &user);
}

/* With payload at once, and a FIN. */
static void payload_with_a_cookie(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_SYN_COOKIES);
    struct user user = {0};
    struct world *world = listening(&user);
    fill_backlog(world);
    struct peer peer = syn_from(world, 40000, mss_1460, 4);
    peer_send(&peer, TCP_ACK | TCP_PSH | TCP_FIN, "early", 5);
    expect_equal(user.accepted, 1);
    expect_equal(user.length, 5);
    expect(user.events & PLUMB_TCP_PEER_CLOSED);
    disconnected(world, &user);
}

static bool opens(struct user *user, struct peer *peer, uint32_t sequence, uint32_t number) {
    unsigned accepted = user->accepted;
    peer_send_at(peer, sequence, number, TCP_ACK, 0, 0);
    if (user->accepted != accepted)
        return true;
    expect_equal(peer_expect(peer, TCP_RST)->sequence, number);
    return false;
}

/* Nobody makes one himself: not from another's, nor by trying. */
static void forged_cookies(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_SYN_COOKIES);
    struct user user = {0};
    struct world *world = listening(&user);
    struct random random = {3};
    fill_backlog(world);
    struct peer peer = syn_from(world, 40000, mss_1460, 4);
    uint32_t cookie = peer.acknowledgement;
    for (unsigned bit = 0; bit < 32; bit++) {
        /* All but the three that say which MSS. */
        uint32_t changed = ((cookie - 1) ^ 1U << bit) + 1;
        if (bit < 1 || bit > 3)
            expect(!opens(&user, &peer, peer.sequence, changed));
        expect(!opens(&user, &peer, peer.sequence ^ 1U << bit, cookie));
    }
    struct peer other = peer_at(world, 40001, 80);
    other.sequence = peer.sequence;
    expect(!opens(&user, &other, peer.sequence, cookie));
    for (unsigned i = 0; i < 100000; i++)
        expect(!opens(&user, &other, random_below(&random, UINT32_MAX),
                      random_below(&random, UINT32_MAX)));
    expect(opens(&user, &peer, peer.sequence, cookie));
    disconnected(world, &user);
}

/* Good for a period of 67 s and the rest of the one it was made in, whoever keeps others
 * coming meanwhile. */
static void cookies_expire(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_SYN_COOKIES);
    for (unsigned seconds = 10; seconds <= 300; seconds += 10) {
        struct user user = {0}, others = {0};
        struct world *world = listening(&user);
        user_listen_with(&others, &world->a, 81, 1);
        fill_backlog(world);
        struct peer peer = syn_from(world, 40000, mss_1460, 4);
        for (unsigned i = 0; i < seconds; i++) {
            world_run(world, SECOND);
            drain(world);
            struct peer more = peer_at(world, (uint16_t)(50000 + i), 81);
            peer_send_syn(&more, TCP_SYN, mss_1460, 4);
            drain(world);
        }
        bool open = opens(&user, &peer, peer.sequence, peer.acknowledgement);
        if (seconds < 67)
            expect(open);
        if (seconds > 134)
            expect(!open);
        user_end(&user);
        user_end(&others);
        drain(world);
        world_run(world, 10 * SECOND);
        disconnected(world, &user);
    }
}

/* Where none was sent for long, an ACK is not even looked at; nor at a port where nobody
 * listens any more. */
static void cookies_of_nobody(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_SYN_COOKIES);
    struct user user = {0};
    struct world *world = listening(&user);
    fill_backlog(world);
    struct peer peer = syn_from(world, 40000, mss_1460, 4);
    user_end(&user);
    world_drain(world);
    peer_send_at(&peer, peer.sequence, peer.acknowledgement, TCP_ACK, 0, 0);
    expect_equal(peer_expect(&peer, TCP_RST)->sequence, peer.acknowledgement);
    disconnected(world, &user);
}

#ifdef CONFIG_PLUMB_TCP_TIMESTAMPS

static uint32_t get32(const uint8_t *from) {
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

/* What a SYN offers beside MSS and timestamps. */
struct offer {
    bool sack, ecn;
    int scale; /* negative: none */
};

/* The answer is a cookie, and agrees on all of it. */
static struct peer stamped_syn(struct world *world, uint16_t port, const struct offer *offer) {
    uint8_t options[20] = {2, 4, 0x05, 0xb4, 8, 10, 0xf0, 0, 0x30, 0x39,
                           0, 0, 0,    0,    1, 1,  1,    1, 1,    1};
    struct peer peer = peer_at(world, port, 80);
    struct counters before = counters_now(&world->a);
    if (offer->sack)
        memcpy(options + 14, ((uint8_t[]){4, 2}), 2);
    if (offer->scale >= 0)
        memcpy(options + 16, ((uint8_t[]){3, 3, (uint8_t)offer->scale}), 3);
    peer.stamped = true;
    peer.stamp = 0xf0003039 + 1;
    peer_send_syn(&peer, TCP_SYN | (offer->ecn ? TCP_ECE | TCP_CWR : 0U), options, 20);
    peer_accept(&peer, TCP_SYN | TCP_ACK);
    expect_equal(counters_moved(&world->a, &before, "tcp_cookie"), 1);
    expect_equal(peer_option(&peer, 4) != 0, offer->sack);
    expect_equal(peer_option(&peer, 3) != 0, offer->scale >= 0);
    expect_equal(peer.last.flags & TCP_ECE, offer->ecn ? TCP_ECE : 0);
    assert_non_null(peer_option(&peer, 8));
    expect_equal(get32(peer_option(&peer, 8) + 6), 0xf0003039);
    return peer;
}

/* What both SYNs have agreed on is as if the handshake had been kept. */
static void a_cookie_keeps_options(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_SYN_COOKIES);
    struct user user = {0};
    struct world *world = listening(&user);
    fill_backlog(world);
    for (unsigned i = 0; i < 64; i++) {
        struct offer offer = {i & 1, i & 2, (int)(i >> 2) - 1};
        struct peer peer = stamped_syn(world, (uint16_t)(40000 + i), &offer);
        uint32_t answered = peer.echo;
        world_run(world, i * MILLISECOND);
        peer.window = 1000;
        peer_send(&peer, TCP_ACK, 0, 0);
        expect_equal(user.accepted, i + 1);
        struct plumb_tcp_info info = user_info(&user);
        expect_equal(info.mss, 1448);
        expect_equal(info.send_window, 1000U << (offer.scale > 0 ? offer.scale : 0));
        expect_equal(info.srtt_us, 0); /* the echo is not exact */
        unsigned agreed =
            PL_TCP_TIMESTAMPS | (offer.sack ? PL_TCP_SACK : 0U) | (offer.ecn ? PL_TCP_ECN : 0U);
        expect_equal(user.connection->agreed, agreed);
        expect_works(&user, &peer);
        /* Our clock does not go back, and theirs counts from the last ACK on. */
        expect((int32_t)(peer.echo - answered) >= 0);
        struct counters before = counters_now(&world->a);
        peer.stamp -= 1000;
        peer_send_at(&peer, peer.sequence, peer.acknowledgement, TCP_ACK, "old", 3);
        counters_expect_drop(&world->a, &before, "tcp_timestamp_old", 1);
        plumb_tcp_abort(user.connection);
        user.connection = 0;
        world_drain(world);
    }
    disconnected(world, &user);
}

/* An echo that says more, or less, than was agreed on opens nothing; nor does none. When it was
 * says nothing. */
static void forged_echoes(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_SYN_COOKIES);
    struct user user = {0};
    struct world *world = listening(&user);
    fill_backlog(world);
    const struct offer offer = {true, false, 7};
    struct peer peer = stamped_syn(world, 40000, &offer);
    const uint32_t echo = peer.echo, sequence = peer.sequence, number = peer.acknowledgement;
    for (uint32_t said = 0; said < 64; said++) {
        peer.echo = (echo & ~63U) | said;
        if (peer.echo != echo)
            expect(!opens(&user, &peer, sequence, number));
    }
    peer.stamped = false;
    expect(!opens(&user, &peer, sequence, number));
    peer.stamped = true;
    peer.echo = echo ^ 0x12345600;
    expect(opens(&user, &peer, sequence, number));
    expect_equal(user_info(&user).send_window, peer.window << 7);
    /* Nor does a stamp make more of a cookie that was made without. */
    struct peer plain = syn_from(world, 40001, mss_1460, 4);
    plain.stamped = true;
    for (uint32_t said = 0; said < 64; said++) {
        plain.echo = said;
        expect(!opens(&user, &plain, plain.sequence, plain.acknowledgement));
    }
    plain.stamped = false;
    plumb_tcp_abort(user.connection);
    user.connection = 0;
    world_drain(world);
    expect(opens(&user, &plain, plain.sequence, plain.acknowledgement));
    disconnected(world, &user);
}

#define STAMPED cmocka_unit_test(a_cookie_keeps_options), cmocka_unit_test(forged_echoes),
#else
#define STAMPED
#endif

HARNESS_MAIN(
    STAMPED cmocka_unit_test(a_flood_takes_no_connection),
    cmocka_unit_test(a_flood_of_a_large_backlog), cmocka_unit_test(blind_segments_at_a_handshake),
    cmocka_unit_test(the_oldest_handshake_gives_way), cmocka_unit_test(a_reset_ends_a_handshake),
    cmocka_unit_test(another_syn_during_a_handshake),
    cmocka_unit_test(payload_out_of_order_completes_a_handshake),
    cmocka_unit_test(a_handshake_is_timed), cmocka_unit_test(handshakes_end_with_the_address),
    cmocka_unit_test(a_number_above_those_of_the_last_connection),
    cmocka_unit_test(a_handshake_waits_for_room),
    cmocka_unit_test(handshakes_of_one_batch_share_the_room),
    cmocka_unit_test(a_cookie_waits_for_room), cmocka_unit_test(a_listener_limits_segments),
    cmocka_unit_test(a_cookie_opens), cmocka_unit_test(a_cookie_is_not_repeated),
    cmocka_unit_test(payload_with_a_cookie), cmocka_unit_test(forged_cookies),
    cmocka_unit_test(cookies_expire), cmocka_unit_test(cookies_of_nobody))
