/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* TCP: how connections begin and end. */
#include <string.h>
#include <unistd.h>

#include <plumb_config.h>

#include "peer.h"

static const uint8_t mss_1460[4] = {2, 4, 0x05, 0xb4};

/* The MSS of a SYN; 0 when it has none. */
static unsigned option_mss(const struct segment *segment) {
    for (unsigned i = 0; i + 3 < segment->options_length; i++)
        if (segment->options[i] == 2 && segment->options[i + 1] == 4)
            return (unsigned)segment->options[i + 2] << 8 | segment->options[i + 3];
    return 0;
}

static int option_scale(const struct segment *segment) {
    for (unsigned i = 4; i + 2 < segment->options_length; i++)
        if (segment->options[i] == 3 && segment->options[i + 1] == 3)
            return segment->options[i + 2];
    return -1;
}

static struct world *listening(struct user *user, struct peer *peer) {
    struct world *world = world_single(0);
    world_introduce(world);
    user_listen(user, &world->a, 80);
    *peer = peer_at(world, 40000, 80);
    return world;
}

/* ---- opening ---- */

static void never_accept(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                         void *context) {
    (void)listener;
    (void)connection;
    (void)context;
}

static void never_told(struct plumb_tcp *connection, unsigned events, void *context) {
    (void)connection;
    (void)events;
    (void)context;
}

static int try_listen(struct world *world, uint16_t port, unsigned backlog,
                      plumb_tcp_acceptor *acceptor) {
    struct plumb_tcp_listener *listener;
    return plumb_tcp_listen(world->a.stack, endpoint_of(0, port), backlog, acceptor, 0, &listener);
}

static int try_connect(struct world *world, uint32_t address, uint16_t port,
                       plumb_tcp_handler *handler) {
    struct plumb_tcp *connection;
    return plumb_tcp_connect(world->a.stack, endpoint_of(address, port), 0, handler, 0,
                             &connection);
}

static void passive_open(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = listening(&user, &peer);
    struct counters before = counters_now(&world->a);
    peer_send_syn(&peer, TCP_SYN, mss_1460, 4);
    struct segment *answer = peer_accept(&peer, TCP_SYN | TCP_ACK);
    expect_equal(answer->acknowledgement, peer.sequence);
    expect_equal(option_mss(answer), 1460);
    expect_equal(option_scale(answer), -1);
    expect_equal(answer->window, 65535);
    expect_equal(answer->length, 0);
    expect_equal(user.accepted, 0);
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(user.accepted, 1);
    expect_equal(user_info(&user).state, PLUMB_TCP_STATE_ESTABLISHED);
    expect_equal(user_info(&user).mss, 1460);
    expect_equal(user_info(&user).remote.port, 40000);
    expect_equal(user_info(&user).local.port, 80);
    expect_equal(counters_moved(&world->a, &before, "tcp_opened"), 1);
    counters_expect_drop(&world->a, &before, 0, 0);
    peer_expect_nothing(&peer);
    disconnected(world, &user);
}

static void active_open(void **state) {
    (void)state;
    struct user user = {0};
    struct world *world = world_single(0);
    struct peer peer = {.world = world, .sequence = 77, .window = 65535};
    world_introduce(world);
    user_connect(&user, &world->a, world->b.address, 4000);
    world_settle(world);
    peer_answer_syn(&peer);
    expect_equal(peer.path.from_port, 4000);
    expect(peer.path.to_port >= 1024);
    peer_expect(&peer, TCP_ACK);
    expect_equal(peer.last.sequence, peer.acknowledgement);
    expect_equal(peer.last.acknowledgement, peer.sequence);
    expect_equal(user.events, PLUMB_TCP_CONNECTED);
    expect_equal(user_info(&user).state, PLUMB_TCP_STATE_ESTABLISHED);
    peer_expect_nothing(&peer);
    disconnected(world, &user);
}

static void data_with_the_last_ack_of_the_handshake(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = listening(&user, &peer);
    peer_send_syn(&peer, TCP_SYN, mss_1460, 4);
    peer_accept(&peer, TCP_SYN | TCP_ACK);
    peer_send(&peer, TCP_ACK | TCP_PSH | TCP_FIN, "early", 5);
    expect_equal(user.accepted, 1);
    expect_equal(user.length, 5);
    assert_memory_equal(user.bytes, "early", 5);
    expect(user.events & PLUMB_TCP_PEER_CLOSED);
    peer_expect(&peer, TCP_ACK);
    expect_equal(peer.last.acknowledgement, peer.sequence);
    disconnected(world, &user);
}

static void a_lost_syn_ack_is_sent_again(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = listening(&user, &peer);
    peer_send_syn(&peer, TCP_SYN, mss_1460, 4);
    uint32_t initial = peer_accept(&peer, TCP_SYN | TCP_ACK)->sequence;
    peer_expect_nothing(&peer);
    world_run(world, 900 * MILLISECOND);
    peer_expect_nothing(&peer);
    world_run(world, 200 * MILLISECOND);
    expect_equal(peer_expect(&peer, TCP_SYN | TCP_ACK)->sequence, initial);
    /* And so it is when the peer's SYN comes again. */
    peer.sequence--;
    peer_send_syn(&peer, TCP_SYN, mss_1460, 4);
    expect(peer_take(&peer));
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(user.accepted, 1);
    disconnected(world, &user);
}

static void unanswered_syn_ack_is_given_up(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = listening(&user, &peer);
    unsigned sent = 0;
    peer_send_syn(&peer, TCP_SYN, mss_1460, 4);
    for (unsigned i = 0; i < 300; i++) {
        while (peer_take(&peer))
            sent++;
        world_run(world, SECOND);
    }
    expect_equal(sent, 1 + CONFIG_PLUMB_TCP_SYN_RETRIES);
    expect_equal(user.accepted, 0);
    expect_equal(side_buffers_used(&world->a), 0);
    disconnected(world, &user);
}

static void unanswered_syn_times_out(void **state) {
    (void)state;
    struct user user = {0};
    struct world *world = world_single(0);
    uint64_t times[32] = {0};
    unsigned sent = 0;
    world_introduce(world);
    user_connect(&user, &world->a, world->b.address, 4000);
    for (unsigned i = 0; i < 400000 && !(user.events & PLUMB_TCP_CLOSED); i++) {
        for (struct frame *frame; (frame = world_collect(world));)
            if (frame_get16(frame, 12) == 0x0800)
                times[sent++] = world->now_us;
        world_run(world, MILLISECOND);
    }
    expect_equal(user.error, PLUMB_ERROR_TIMED_OUT);
    expect_equal(sent, 1 + CONFIG_PLUMB_TCP_SYN_RETRIES);
    for (unsigned i = 1; i < sent; i++) {
        uint64_t gap = times[i] - times[i - 1], expected = SECOND << (i - 1);
        if (expected > 60 * SECOND)
            expected = 60 * SECOND;
        expect(gap >= expected && gap <= expected + 5 * MILLISECOND);
    }
    disconnected(world, &user);
}

static void refused(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connecting(&user, &peer);
    uint32_t initial = peer.acknowledgement - 1;
    /* Resets that acknowledge something else, or nothing, are somebody else's. */
    struct counters before = counters_now(&world->a);
    peer_send_at(&peer, 0, initial, TCP_RST | TCP_ACK, 0, 0);
    counters_expect_drop(&world->a, &before, "tcp_acknowledgement", 1);
    before = counters_now(&world->a);
    peer_send_at(&peer, 0, initial + 2, TCP_RST | TCP_ACK, 0, 0);
    counters_expect_drop(&world->a, &before, "tcp_acknowledgement", 1);
    before = counters_now(&world->a);
    peer_send_at(&peer, 0, 0, TCP_RST, 0, 0);
    counters_expect_drop(&world->a, &before, "tcp_reset", 1);
    expect_equal(user.events, 0);
    peer_send_at(&peer, 0, initial + 1, TCP_RST | TCP_ACK, 0, 0);
    expect_equal(user.events, PLUMB_TCP_CLOSED);
    expect_equal(user.error, PLUMB_ERROR_REFUSED);
    peer_expect_nothing(&peer);
    disconnected(world, &user);
}

static void unacceptable_ack_to_a_syn_is_reset(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connecting(&user, &peer);
    uint32_t wrong = peer.acknowledgement + 1000;
    peer_send_at(&peer, 900, wrong, TCP_SYN | TCP_ACK, 0, 0);
    expect_equal(peer_expect(&peer, TCP_RST)->sequence, wrong);
    expect_equal(user.events, 0);
    expect_equal(user_info(&user).state, PLUMB_TCP_STATE_SYN_SENT);
    disconnected(world, &user);
}

static void simultaneous_open(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connecting(&user, &peer);
    uint32_t initial = peer.acknowledgement - 1;
    peer_send_syn(&peer, TCP_SYN, mss_1460, 4);
    struct segment *answer = peer_expect(&peer, TCP_SYN | TCP_ACK);
    expect_equal(answer->sequence, initial);
    expect_equal(answer->acknowledgement, peer.sequence);
    peer_send(&peer, TCP_ACK, 0, 0);
    expect(user.events & PLUMB_TCP_CONNECTED);
    expect_equal(user_info(&user).state, PLUMB_TCP_STATE_ESTABLISHED);
    peer_send(&peer, TCP_ACK, "hello", 5);
    expect_equal(user.length, 5);
    disconnected(world, &user);
}

static void simultaneous_open_of_two_stacks(void **state) {
    (void)state;
    struct world *world = world_pair(0);
    struct user a = {0}, b = {0};
    /* Both know each other, so that the SYNs cross. */
    struct plumb_wire_faults slow = {.delay_us = 10000};
    plumb_wire_set_faults(world->a.end, &slow);
    plumb_wire_set_faults(world->b.end, &slow);
    struct user warm = {0}, warm_listener = {0};
    user_listen(&warm_listener, &world->b, 9);
    user_connect(&warm, &world->a, world->b.address, 9);
    world_run(world, SECOND);
    user_end(&warm);
    user_end(&warm_listener);
    world_run(world, SECOND);
    user_connect_from(&a, 5000, &world->a, world->b.address, 6000);
    user_connect_from(&b, 6000, &world->b, world->a.address, 5000);
    world_run(world, 2 * SECOND);
    expect(a.events & PLUMB_TCP_CONNECTED);
    expect(b.events & PLUMB_TCP_CONNECTED);
    expect_equal(plumb_tcp_send(a.connection, "cross", 5), 5);
    world_run(world, SECOND);
    expect_equal(b.length, 5);
    user_end(&a);
    user_end(&b);
    world_run(world, 200 * SECOND);
    world_end(world);
}

static void mss_is_clamped(void **state) {
    (void)state;
    static const struct {
        uint16_t offered, used;
    } cases[] = {{0, 48}, {1, 48}, {47, 48}, {48, 48}, {536, 536}, {1460, 1460}, {65535, 1460}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct user user = {0};
        struct peer peer;
        struct world *world = listening(&user, &peer);
        uint8_t option[4] = {2, 4, (uint8_t)(cases[i].offered >> 8), (uint8_t)cases[i].offered};
        peer_send_syn(&peer, TCP_SYN, option, 4);
        peer_accept(&peer, TCP_SYN | TCP_ACK);
        peer_send(&peer, TCP_ACK, 0, 0);
        expect_equal(user_info(&user).mss, cases[i].used);
        expect_equal(plumb_tcp_send(user.connection, mss_1460, 4), 4);
        world_settle(world);
        expect_equal(peer_expect(&peer, TCP_ACK)->length, 4);
        disconnected(world, &user);
    }
}

static void no_mss_means_536(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = listening(&user, &peer);
    peer_send_syn(&peer, TCP_SYN, 0, 0);
    peer_accept(&peer, TCP_SYN | TCP_ACK);
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(user_info(&user).mss, 536);
    disconnected(world, &user);
}

/* The peer's window, scaled by at most 2^14; never in a SYN. */
static void window_scale_is_clamped(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_WINDOW_SCALE);
    static const struct {
        uint8_t option[3];
        unsigned shift;
        bool answered;
    } cases[] = {
        {{3, 3, 0}, 0, true},   {{3, 3, 7}, 7, true},    {{3, 3, 14}, 14, true},
        {{3, 3, 15}, 14, true}, {{3, 3, 255}, 14, true}, {{3, 2, 7}, 0, false},
        {{3, 0, 7}, 0, false},  {{3, 1, 7}, 0, false},   {{3, 255, 7}, 0, false},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct user user = {0};
        struct peer peer;
        struct world *world = listening(&user, &peer);
        uint8_t options[8] = {2, 4, 0x05, 0xb4, 1};
        memcpy(options + 5, cases[i].option, 3);
        peer.window = 1000;
        peer_send_syn(&peer, TCP_SYN, options, 8);
        struct segment *answer = peer_accept(&peer, TCP_SYN | TCP_ACK);
        expect_equal(option_scale(answer) >= 0, cases[i].answered);
        expect_equal(answer->window, 65535);
        peer.window = 3;
        peer_send(&peer, TCP_ACK, 0, 0);
        expect_equal(user_info(&user).send_window, 3U << cases[i].shift);
        disconnected(world, &user);
    }
}

static void syn_options_of_nonsense(void **state) {
    (void)state;
    static const uint8_t options[][12] = {
        {2},
        {1, 1, 1, 2},
        {1, 1, 2, 4},
        {1, 2, 4, 5},
        {2, 0, 5, 0xb4},
        {2, 1, 5, 0xb4},
        {2, 5, 5, 0xb4},
        {2, 40, 5, 0xb4},
        {254, 0, 0, 0},
        {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255},
        {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3},
        {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3},
    };
    for (unsigned i = 0; i < sizeof options / sizeof *options; i++) {
        struct user user = {0};
        struct peer peer;
        struct world *world = listening(&user, &peer);
        peer_send_syn(&peer, TCP_SYN, options[i], i < 9 ? 4 : 12);
        peer_accept(&peer, TCP_SYN | TCP_ACK);
        peer_send(&peer, TCP_ACK, 0, 0);
        expect_equal(user.accepted, 1);
        /* None of these is an MSS. */
        expect_equal(user_info(&user).mss, 536);
        disconnected(world, &user);
    }
}

static void initial_numbers_differ(void **state) {
    (void)state;
    enum { COUNT = 12 };
    uint32_t numbers[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        /* Three seeds, and four ports of each, at the same moment. */
        struct user user = {0};
        struct world *world = world_single(&(struct world_options){.seed = i / 4});
        struct peer peer = peer_at(world, (uint16_t)(40000 + i % 4), 80);
        world_introduce(world);
        user_listen(&user, &world->a, 80);
        peer_send_syn(&peer, TCP_SYN, mss_1460, 4);
        numbers[i] = peer_expect(&peer, TCP_SYN | TCP_ACK)->sequence;
        for (unsigned k = 0; k < i; k++) {
            uint32_t apart = numbers[i] - numbers[k];
            expect(apart > 4096 && apart < 0xfffff000U);
        }
        disconnected(world, &user);
    }
}

/* RFC 6528: for the same ports the numbers go on with the clock, a step per 4 us. */
static void initial_numbers_follow_the_clock(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = listening(&user, &peer);
    peer_send_syn(&peer, TCP_SYN, mss_1460, 4);
    uint32_t first = peer_accept(&peer, TCP_SYN | TCP_ACK)->sequence;
    peer_send_at(&peer, peer.sequence, 0, TCP_RST, 0, 0);
    world_run(world, 4 * SECOND);
    peer_send_syn(&peer, TCP_SYN, mss_1460, 4);
    uint32_t second = peer_accept(&peer, TCP_SYN | TCP_ACK)->sequence;
    expect_equal(second - first, 1000000);
    disconnected(world, &user);
}

static void backlog_flood(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    struct plumb_tcp *first = user.connection;
    for (unsigned i = 0; i < 3000; i++) {
        struct peer flooder = peer_at(world, (uint16_t)(1024 + i), 80);
        flooder.path.from = FRAME_IPV4(10, 0, 0, 3 + i % 200);
        struct counters before = counters_now(&world->a);
        peer_send_syn(&flooder, TCP_SYN, mss_1460, 4);
        expect(counters_drops(&world->a, &before) -
                   counters_moved(&world->a, &before, "arp_queue") <=
               1);
        world_drain(world);
    }
    /* The established connection works, and a new one is possible. */
    peer_send(&peer, TCP_ACK, "still here", 10);
    expect_equal(user.length, 10);
    world_drain(world);
    struct peer late = peer_at(world, 50000, 80);
    peer_connect(&late);
    expect_equal(user.accepted, 2);
    plumb_tcp_abort(first);
    /* What waits for flooders that answer no ARP is given up. */
    user_end(&user);
    world_run(world, 10 * SECOND);
    disconnected(world, &user);
}

static void table_full_of_connections(void **state) {
    (void)state;
    struct user user = {0};
    struct world *world = world_single(0);
    struct plumb_tcp *taken[CONFIG_PLUMB_TCP_CONNECTIONS];
    world_introduce(world);
    user_listen(&user, &world->a, 80);
    for (unsigned i = 0; i < CONFIG_PLUMB_TCP_CONNECTIONS; i++) {
        struct peer peer = peer_at(world, (uint16_t)(40000 + i), 80);
        peer_connect(&peer);
        taken[i] = user.connection;
        user.connection = 0;
    }
    struct peer late = peer_at(world, 50000, 80);
    struct counters before = counters_now(&world->a);
    peer_send_syn(&late, TCP_SYN, mss_1460, 4);
    counters_expect_drop(&world->a, &before, "tcp_backlog", 1);
    expect_equal(try_connect(world, world->b.address, 1, never_told), PLUMB_ERROR_NO_CONNECTION);
    plumb_tcp_abort(taken[3]);
    world_drain(world);
    peer_connect(&late);
    expect_equal(user.accepted, CONFIG_PLUMB_TCP_CONNECTIONS + 1);
    for (unsigned i = 0; i < CONFIG_PLUMB_TCP_CONNECTIONS; i++)
        if (i != 3)
            plumb_tcp_abort(taken[i]);
    disconnected(world, &user);
}

static void connection_not_taken_is_reset(void **state) {
    (void)state;
    struct user user = {.reject = true};
    struct peer peer;
    struct world *world = listening(&user, &peer);
    peer_connect(&peer);
    expect_equal(user.accepted, 1);
    expect(peer_expect(&peer, TCP_RST | TCP_ACK)->sequence == peer.acknowledgement);
    disconnected(world, &user);
}

static void unlisten_resets_handshakes(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = listening(&user, &peer);
    peer_send_syn(&peer, TCP_SYN, mss_1460, 4);
    peer_accept(&peer, TCP_SYN | TCP_ACK);
    plumb_tcp_unlisten(user.listener);
    user.listener = 0;
    world_settle(world);
    expect(peer_take(&peer));
    expect(peer.last.flags & TCP_RST);
    struct counters before = counters_now(&world->a);
    peer_send(&peer, TCP_ACK, 0, 0);
    counters_expect_drop(&world->a, &before, "tcp_port", 1);
    peer_expect(&peer, TCP_RST);
    disconnected(world, &user);
}

static void api_refuses_what_cannot_be(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct user user = {0};
    user_listen(&user, &world->a, 80);
    expect_equal(try_listen(world, 80, 1, never_accept), PLUMB_ERROR_IN_USE);
    expect_equal(try_listen(world, 0, 1, never_accept), PLUMB_ERROR_INVALID);
    expect_equal(try_listen(world, 81, 0, never_accept), PLUMB_ERROR_INVALID);
    expect_equal(try_listen(world, 81, 1, 0), PLUMB_ERROR_INVALID);
    for (unsigned i = 1; i < CONFIG_PLUMB_TCP_LISTENERS; i++)
        expect_equal(try_listen(world, (uint16_t)(100 + i), 1, never_accept), PLUMB_OK);
    expect_equal(try_listen(world, 200, 1, never_accept), PLUMB_ERROR_NO_CONNECTION);

    expect_equal(try_connect(world, world->b.address, 1, 0), PLUMB_ERROR_INVALID);
    expect_equal(try_connect(world, world->b.address, 0, never_told), PLUMB_ERROR_INVALID);
    expect_equal(try_connect(world, FRAME_IPV4(10, 0, 0, 255), 1, never_told), PLUMB_ERROR_INVALID);
    expect_equal(try_connect(world, FRAME_IPV4(224, 0, 0, 1), 1, never_told), PLUMB_ERROR_NO_ROUTE);
    disconnected(world, &user);
}

/* ---- closing ---- */

static void peer_closes_first(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    peer_send(&peer, TCP_FIN | TCP_ACK, "bye", 3);
    expect(user.events & PLUMB_TCP_PEER_CLOSED);
    expect_equal(user.length, 3);
    expect_equal(user_info(&user).state, PLUMB_TCP_STATE_CLOSE_WAIT);
    peer_expect(&peer, TCP_ACK);
    expect_equal(peer.last.acknowledgement, peer.sequence);
    /* Half closed: sending goes on. */
    expect_equal(plumb_tcp_send(user.connection, "more", 4), 4);
    world_settle(world);
    expect_equal(peer_accept(&peer, TCP_ACK)->length, 4);
    peer_send(&peer, TCP_ACK, 0, 0);
    user_close(world, &user);
    peer_accept(&peer, TCP_FIN | TCP_ACK);
    peer_send(&peer, TCP_ACK, 0, 0);
    peer_expect_nothing(&peer);
    struct counters before = counters_now(&world->a);
    peer_send_at(&peer, peer.sequence, peer.acknowledgement, TCP_ACK, 0, 0);
    counters_expect_drop(&world->a, &before, "tcp_port", 1);
    disconnected(world, &user);
}

static void we_close_first(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    plumb_tcp_shutdown(user.connection);
    expect_equal(plumb_tcp_send(user.connection, "x", 1), PLUMB_ERROR_CLOSED);
    world_settle(world);
    peer_accept(&peer, TCP_FIN | TCP_ACK);
    expect_equal(user_info(&user).state, PLUMB_TCP_STATE_FIN_WAIT_1);
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_equal(user_info(&user).state, PLUMB_TCP_STATE_FIN_WAIT_2);
    /* Half closed: receiving goes on. */
    peer_send(&peer, TCP_ACK | TCP_PSH, "late", 4);
    expect_equal(user.length, 4);
    peer_send(&peer, TCP_FIN | TCP_ACK, 0, 0);
    expect(user.events & PLUMB_TCP_PEER_CLOSED);
    expect(user.events & PLUMB_TCP_CLOSED);
    expect_equal(user.error, PLUMB_OK);
    struct segment *last = peer_expect(&peer, TCP_ACK);
    expect_equal(last->acknowledgement, peer.sequence);
    /* TIME_WAIT: the FIN again is acknowledged again. */
    peer_send_at(&peer, peer.sequence - 1, peer.acknowledgement, TCP_FIN | TCP_ACK, 0, 0);
    expect_equal(peer_expect(&peer, TCP_ACK)->acknowledgement, peer.sequence);
    world_run(world, (CONFIG_PLUMB_TCP_TIME_WAIT_MS + 1000) * MILLISECOND);
    world_drain(world);
    peer_send_at(&peer, peer.sequence - 1, peer.acknowledgement, TCP_FIN | TCP_ACK, 0, 0);
    peer_expect(&peer, TCP_RST);
    disconnected(world, &user);
}

static void simultaneous_close(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    plumb_tcp_shutdown(user.connection);
    world_settle(world);
    uint32_t fin = peer_expect(&peer, TCP_FIN | TCP_ACK)->sequence;
    peer_send(&peer, TCP_FIN | TCP_ACK, 0, 0);
    peer_expect(&peer, TCP_ACK);
    expect_equal(peer.last.acknowledgement, peer.sequence);
    expect_equal(user_info(&user).state, PLUMB_TCP_STATE_CLOSING);
    peer.acknowledgement = fin + 1;
    peer_send(&peer, TCP_ACK, 0, 0);
    expect(user.events & PLUMB_TCP_CLOSED);
    expect_equal(user.error, PLUMB_OK);
    peer_expect_nothing(&peer);
    disconnected(world, &user);
}

static void close_with_unread_bytes_resets(void **state) {
    (void)state;
    struct user user = {.keep_unread = true};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    peer_send(&peer, TCP_ACK | TCP_PSH, "unread", 6);
    expect_equal(plumb_tcp_readable(user.connection), 6);
    world_drain(world);
    user_close(world, &user);
    expect(peer_take(&peer));
    expect(peer.last.flags & TCP_RST);
    expect_equal(peer.last.sequence, peer.acknowledgement);
    disconnected(world, &user);
}

static void abort_resets(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    expect_equal(plumb_tcp_send(user.connection, "lost", 4), 4);
    plumb_tcp_abort(user.connection);
    user.connection = 0;
    world_settle(world);
    bool reset = false;
    while (peer_take(&peer))
        reset |= (peer.last.flags & TCP_RST) != 0;
    expect(reset);
    disconnected(world, &user);
}

static void data_after_our_user_has_gone_is_reset(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    user_close(world, &user);
    peer_accept(&peer, TCP_FIN | TCP_ACK);
    struct counters before = counters_now(&world->a);
    peer_send(&peer, TCP_ACK | TCP_PSH, "anybody?", 8);
    counters_expect_drop(&world->a, &before, "tcp_closed", 1);
    expect(peer_take(&peer));
    expect(peer.last.flags & TCP_RST);
    disconnected(world, &user);
}

/* The peer vanishes after our FIN: nothing is kept for ever. */
static void abandoned_fin_wait_ends(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    user_close(world, &user);
    peer_accept(&peer, TCP_FIN | TCP_ACK);
    peer_send(&peer, TCP_ACK, 0, 0);
    world_run(world, 300 * SECOND);
    world_drain(world);
    peer_send_at(&peer, peer.sequence, peer.acknowledgement, TCP_ACK, 0, 0);
    peer_expect(&peer, TCP_RST);
    disconnected(world, &user);
}

static void unacknowledged_fin_ends(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    user_close(world, &user);
    unsigned fins = 0;
    for (unsigned i = 0; i < 1200; i++) {
        while (peer_take(&peer))
            fins += (peer.last.flags & TCP_FIN) != 0;
        world_run(world, SECOND);
    }
    expect(fins >= 3 && fins <= 1 + CONFIG_PLUMB_TCP_RETRIES);
    peer_send_at(&peer, peer.sequence, peer.acknowledgement, TCP_ACK, 0, 0);
    peer_expect(&peer, TCP_RST);
    disconnected(world, &user);
}

/* ---- TIME_WAIT ---- */

static struct world *time_wait(struct user *user, struct peer *peer) {
    struct world *world = connected(user, peer, 0);
    plumb_tcp_shutdown(user->connection);
    world_settle(world);
    peer_accept(peer, TCP_FIN | TCP_ACK);
    peer_send(peer, TCP_FIN | TCP_ACK, 0, 0);
    expect(user->events & PLUMB_TCP_CLOSED);
    world_drain(world);
    return world;
}

/* RFC 9293 section 3.6.1, RFC 6191: a SYN with a higher number begins anew. */
static void new_syn_in_time_wait(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = time_wait(&user, &peer);
    peer.sequence += 1000;
    peer_connect(&peer);
    expect_equal(user.accepted, 2);
    expect_equal(user_info(&user).state, PLUMB_TCP_STATE_ESTABLISHED);
    disconnected(world, &user);
}

static void old_syn_in_time_wait(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = time_wait(&user, &peer);
    uint32_t next = peer.sequence;
    peer.sequence -= 1000;
    peer_send_syn(&peer, TCP_SYN, mss_1460, 4);
    expect_equal(peer_expect(&peer, TCP_ACK)->acknowledgement, next);
    expect_equal(user.accepted, 1);
    disconnected(world, &user);
}

/* RFC 1337: a reset does not shorten TIME_WAIT. */
static void reset_in_time_wait_is_ignored(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = time_wait(&user, &peer);
    peer_send_at(&peer, peer.sequence, 0, TCP_RST, 0, 0);
    peer_expect_nothing(&peer);
    peer_send_at(&peer, peer.sequence - 1, peer.acknowledgement, TCP_FIN | TCP_ACK, 0, 0);
    expect_equal(peer_expect(&peer, TCP_ACK)->acknowledgement, peer.sequence);
    disconnected(world, &user);
}

static void time_wait_gives_way(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = world_single(0);
    world_introduce(world);
    user_listen(&user, &world->a, 80);
    struct counters before = counters_now(&world->a);
    for (unsigned i = 0; i < 3 * CONFIG_PLUMB_TCP_CONNECTIONS; i++) {
        peer = peer_at(world, (uint16_t)(40000 + i), 80);
        peer_connect(&peer);
        plumb_tcp_shutdown(user.connection);
        world_settle(world);
        peer_accept(&peer, TCP_FIN | TCP_ACK);
        peer_send(&peer, TCP_FIN | TCP_ACK, 0, 0);
        expect(user.connection == 0);
        world_drain(world);
        world_run(world, 20 * MILLISECOND);
        world_drain(world);
    }
    expect_equal(user.accepted, 3 * CONFIG_PLUMB_TCP_CONNECTIONS);
    expect_equal(counters_moved(&world->a, &before, "tcp_time_wait_reused"),
                 2 * CONFIG_PLUMB_TCP_CONNECTIONS);
    disconnected(world, &user);
}

/* Two stacks, one connection after the other, a few bytes each way. */
static void thousand_connections(void **state) {
    (void)state;
    struct world *world = world_pair(0);
    struct user server = {0};
    user_listen(&server, &world->b, 80);
    for (unsigned i = 0; i < 1000; i++) {
        struct user client = {0};
        user_connect(&client, &world->a, world->b.address, 80);
        world_run(world, 5 * MILLISECOND);
        expect(client.events & PLUMB_TCP_CONNECTED);
        expect_equal(server.accepted, i + 1);
        expect_equal(plumb_tcp_send(client.connection, "question", 8), 8);
        world_run(world, 5 * MILLISECOND);
        expect_equal(server.length, 8);
        expect_equal(plumb_tcp_send(server.connection, "answer", 6), 6);
        plumb_tcp_close(server.connection);
        server.connection = 0;
        server.length = 0;
        world_run(world, 5 * MILLISECOND);
        expect_equal(client.length, 6);
        expect(client.events & PLUMB_TCP_PEER_CLOSED);
        plumb_tcp_close(client.connection);
        client.connection = 0;
        world_run(world, 50 * MILLISECOND);
        user_end(&client);
    }
    user_end(&server);
    world_run(world, 2 * SECOND);
    expect_equal(side_buffers_used(&world->a), 0);
    expect_equal(side_buffers_used(&world->b), 0);
    world_end(world);
}

/* ---- calls at odd times ---- */

static struct plumb_tcp_info info_of(const struct plumb_tcp *connection) {
    struct plumb_tcp_info info;
    plumb_tcp_get_info(connection, &info);
    return info;
}

/* In SYN_SENT, and in SYN_RECEIVED after a simultaneous open. */
static void close_before_the_handshake_frees_the_slot(void **state) {
    (void)state;
    for (unsigned simultaneous = 0; simultaneous < 2; simultaneous++) {
        struct user user = {0};
        struct peer peer;
        struct world *world = connecting(&user, &peer);
        struct plumb_tcp *connection = user.connection;
        if (simultaneous) {
            peer_send_syn(&peer, TCP_SYN, mss_1460, sizeof mss_1460);
            peer_expect(&peer, TCP_SYN | TCP_ACK);
            expect_equal(user_info(&user).state, PLUMB_TCP_STATE_SYN_RECEIVED);
        }
        plumb_tcp_close(connection);
        user.connection = 0;
        world_settle(world);
        expect_equal(info_of(connection).state, PLUMB_TCP_STATE_CLOSED);
        if (simultaneous)
            expect(peer_take(&peer) && peer.last.flags & TCP_RST);
        peer_expect_nothing(&peer);
        /* All slots are there for others. */
        for (unsigned i = 0; i < CONFIG_PLUMB_TCP_CONNECTIONS; i++)
            expect_equal(try_connect(world, world->b.address, (uint16_t)(90 + i), never_told),
                         PLUMB_OK);
        world_end(world);
    }
}

static void shutdown_before_the_handshake_sends_fin_after_it(void **state) {
    (void)state;
    for (unsigned when = 0; when < 3; when++) {
        struct user user = {0};
        struct peer peer;
        struct world *world = connecting(&user, &peer);
        if (when == 2) {
            peer_send_syn(&peer, TCP_SYN, mss_1460, sizeof mss_1460);
            peer_expect(&peer, TCP_SYN | TCP_ACK);
        }
        plumb_tcp_shutdown(user.connection);
        world_settle(world);
        peer_expect_nothing(&peer);
        if (when == 0) {
            peer_send_syn(&peer, TCP_SYN | TCP_ACK, mss_1460, sizeof mss_1460);
        } else {
            if (when == 1) {
                peer_send_syn(&peer, TCP_SYN, mss_1460, sizeof mss_1460);
                peer_expect(&peer, TCP_SYN | TCP_ACK);
            }
            peer_send(&peer, TCP_ACK, 0, 0);
        }
        do
            expect(peer_take(&peer));
        while (!(peer.last.flags & TCP_FIN));
        expect_equal(peer.last.sequence, peer.acknowledgement);
        peer.acknowledgement++;
        expect_equal(user_info(&user).state, PLUMB_TCP_STATE_FIN_WAIT_1);
        peer_send(&peer, TCP_ACK, 0, 0);
        expect_equal(user_info(&user).state, PLUMB_TCP_STATE_FIN_WAIT_2);
        peer_send(&peer, TCP_ACK, "late", 4);
        expect_equal(user.length, 4);
        peer_send(&peer, TCP_ACK | TCP_FIN, 0, 0);
        expect(user.events & PLUMB_TCP_PEER_CLOSED);
        peer_accept(&peer, TCP_ACK);
        disconnected(world, &user);
    }
}

static unsigned ends;

static void set_keepalive_at_the_end(struct plumb_tcp *connection, unsigned events, void *context) {
    (void)context;
    if (!(events & PLUMB_TCP_CLOSED))
        return;
    ends++;
    expect_equal(plumb_tcp_set_option(connection, PLUMB_TCP_KEEPALIVE, 5000), PLUMB_OK);
}

/* The slot is another connection's at once; no clock of the last one runs in it. */
static void keepalive_set_when_told_of_the_end(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_KEEPALIVE);
    struct world *world = world_single(0);
    world_introduce(world);
    ends = 0;
    alarm(20); /* a poll that does not end */
    for (unsigned i = 1; i <= 4; i++) {
        struct plumb_tcp *connection;
        struct peer peer = peer_at(world, 80, 5000);
        expect_equal(plumb_tcp_connect(world->a.stack, endpoint_of(world->b.address, 80), 5000,
                                       set_keepalive_at_the_end, 0, &connection),
                     PLUMB_OK);
        peer_accept(&peer, TCP_SYN);
        peer_send(&peer, TCP_RST | TCP_ACK, 0, 0);
        expect_equal(ends, i);
        world_run(world, SECOND);
    }
    world_run(world, 20 * SECOND);
    alarm(0);
    expect_equal(ends, 4);
    world_drain(world);
    world_end(world);
}

static void keepalive_is_a_week_at_most(void **state) {
    (void)state;
    needs(CONFIG_PLUMB_TCP_KEEPALIVE);
    enum { WEEK_MS = 7 * 24 * 3600 * 1000 };
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    expect_equal(plumb_tcp_set_option(user.connection, PLUMB_TCP_KEEPALIVE, WEEK_MS), PLUMB_OK);
    expect_equal(plumb_tcp_set_option(user.connection, PLUMB_TCP_KEEPALIVE, WEEK_MS + 1),
                 PLUMB_ERROR_INVALID);
    expect_equal(plumb_tcp_set_option(user.connection, PLUMB_TCP_KEEPALIVE, UINT32_MAX),
                 PLUMB_ERROR_INVALID);
    disconnected(world, &user);
}

HARNESS_MAIN(cmocka_unit_test(passive_open), cmocka_unit_test(active_open),
             cmocka_unit_test(data_with_the_last_ack_of_the_handshake),
             cmocka_unit_test(a_lost_syn_ack_is_sent_again),
             cmocka_unit_test(unanswered_syn_ack_is_given_up),
             cmocka_unit_test(unanswered_syn_times_out), cmocka_unit_test(refused),
             cmocka_unit_test(unacceptable_ack_to_a_syn_is_reset),
             cmocka_unit_test(simultaneous_open), cmocka_unit_test(simultaneous_open_of_two_stacks),
             cmocka_unit_test(mss_is_clamped), cmocka_unit_test(no_mss_means_536),
             cmocka_unit_test(window_scale_is_clamped), cmocka_unit_test(syn_options_of_nonsense),
             cmocka_unit_test(initial_numbers_differ),
             cmocka_unit_test(initial_numbers_follow_the_clock), cmocka_unit_test(backlog_flood),
             cmocka_unit_test(table_full_of_connections),
             cmocka_unit_test(connection_not_taken_is_reset),
             cmocka_unit_test(unlisten_resets_handshakes),
             cmocka_unit_test(api_refuses_what_cannot_be), cmocka_unit_test(peer_closes_first),
             cmocka_unit_test(we_close_first), cmocka_unit_test(simultaneous_close),
             cmocka_unit_test(close_with_unread_bytes_resets), cmocka_unit_test(abort_resets),
             cmocka_unit_test(data_after_our_user_has_gone_is_reset),
             cmocka_unit_test(abandoned_fin_wait_ends), cmocka_unit_test(unacknowledged_fin_ends),
             cmocka_unit_test(new_syn_in_time_wait), cmocka_unit_test(old_syn_in_time_wait),
             cmocka_unit_test(reset_in_time_wait_is_ignored), cmocka_unit_test(time_wait_gives_way),
             cmocka_unit_test(thousand_connections),
             cmocka_unit_test(close_before_the_handshake_frees_the_slot),
             cmocka_unit_test(shutdown_before_the_handshake_sends_fin_after_it),
             cmocka_unit_test(keepalive_set_when_told_of_the_end),
             cmocka_unit_test(keepalive_is_a_week_at_most))
