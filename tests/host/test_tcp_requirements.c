/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What RFC 9293 and RFC 6298 ask for and no other file of tests is about: docs/rfc.md says which
 * row is tested where.
 */
#include <string.h>

#include <plumb_config.h>

#include "peer.h"

#include "tcp/tcp.h"

enum { MSS = 1460 };

static uint8_t bytes[70000];

/* ---- segments ---- */

/* MUST-61, SHLD-27: PSH with the last segment of what is queued, and with no other. */
static void push_goes_with_the_last(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    /* Ten go at once, and two with the acknowledgement. */
    expect_equal(plumb_tcp_send(user.connection, bytes, 12 * MSS), 12 * MSS);
    world_settle(world);
    for (unsigned i = 0; i < 12; i++) {
        if (i == 10)
            peer_send(&peer, TCP_ACK, 0, 0);
        expect_equal(peer_accept(&peer, TCP_ACK)->length, MSS);
        expect_equal(peer.last.flags & TCP_PSH, i == 11 ? TCP_PSH : 0);
    }
    world_run(world, 300 * MILLISECOND);
    expect_equal(peer_expect(&peer, TCP_ACK)->sequence, peer.acknowledgement - 2 * MSS);
    expect_equal(peer.last.flags & TCP_PSH, 0);
    disconnected(world, &user);
}

static void expect_no_mss(struct peer *peer, unsigned flags) {
    peer_accept(peer, flags);
    assert_null(peer_option(peer, 2));
}

/* MUST-65: beside a SYN no segment says an MSS, whatever other options it has. */
static void mss_goes_with_a_syn_only(void **state) {
    (void)state;
    for (unsigned stamped = 0; stamped <= PLUMB_IS_SET_(CONFIG_PLUMB_TCP_TIMESTAMPS); stamped++) {
        struct user user = {0};
        struct peer peer;
        struct world *world =
            stamped ? connected_stamped(&user, &peer, 0) : connected(&user, &peer, 0);
        plumb_tcp_send(user.connection, "payload", 7);
        world_settle(world);
        expect_no_mss(&peer, TCP_ACK);
        peer.stamp++;
        peer_send_at(&peer, peer.sequence + 1, peer.acknowledgement, TCP_SYN, 0, 0);
        expect_no_mss(&peer, TCP_ACK); /* a challenge */
        plumb_tcp_shutdown(user.connection);
        world_settle(world);
        peer.acknowledgement = peer.last.sequence;
        peer_send(&peer, TCP_ACK, 0, 0);
        expect_no_mss(&peer, TCP_FIN | TCP_ACK);
        plumb_tcp_abort(user.connection);
        user.connection = 0;
        world_settle(world);
        expect_no_mss(&peer, TCP_RST | TCP_ACK);
        disconnected(world, &user);
    }
}

/* MUST-64: an option counts wherever it lies. */
static void an_option_at_every_place(void **state) {
    (void)state;
    for (unsigned place = 0; place < 36; place++) {
        struct user user = {0};
        struct world *world = world_single(0);
        struct peer peer = peer_at(world, 40000, 80);
        uint8_t options[40];
        world_introduce(world);
        user_listen(&user, &world->a, 80);
        memset(options, 1, sizeof options);
        memcpy(options + place, (const uint8_t[]){2, 4, 1000 >> 8, 1000 & 255}, 4);
        peer_send_syn(&peer, TCP_SYN, options, sizeof options);
        peer_accept(&peer, TCP_SYN | TCP_ACK);
        peer_send(&peer, TCP_ACK, 0, 0);
        expect_equal(user_info(&user).mss, 1000);
        disconnected(world, &user);
    }
}

/* MUST-1: the upper half of what a header's window may say is no negative number. */
static void windows_are_unsigned(void **state) {
    (void)state;
    static const uint16_t windows[] = {32767, 32768, 40000, 65535};
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    for (unsigned i = 0; i < sizeof windows / sizeof *windows; i++) {
        peer.window = windows[i];
        peer_send(&peer, TCP_ACK, 0, 0);
        expect_equal(user_info(&user).send_window, windows[i]);
    }
    disconnected(world, &user);
}

/* MUST-49: by option; MUST-48 is not done, so the service is the ordinary one, of everything. */
static void time_to_live_and_service(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    plumb_tcp_send(user.connection, "payload", 7);
    plumb_tcp_abort(user.connection);
    user.connection = 0;
    world_settle(world);
    for (unsigned i = 0; i < 2; i++) {
        struct frame *frame = world_collect(world);
        assert_non_null(frame);
        expect_equal(frame->bytes[frame->network + 8U], CONFIG_PLUMB_IPV4_TTL);
        expect_equal(frame->bytes[frame->network + 1U], 0);
    }
    disconnected(world, &user);
}

/* ---- a closed window ---- */

/* A user who reads nothing, and a peer that has filled his window. */
static struct world *with_a_closed_window(struct user *user, struct peer *peer) {
    *user = (struct user){.keep_unread = true};
    struct world *world = connected(user, peer, 0);
    unsigned window = 65535;
    while (window) {
        peer_send(peer, TCP_ACK, bytes, window < MSS ? window : MSS);
        world_run(world, 100 * MILLISECOND);
        while (peer_take(peer))
            window = peer->last.acknowledgement + peer->last.window - peer->sequence;
    }
    return world;
}

/* MUST-66: what has no room may still acknowledge, and may still end the connection. */
static void a_closed_window_takes_acknowledgements_and_resets(void **state) {
    (void)state;
    struct user user;
    struct peer peer;
    struct world *world = with_a_closed_window(&user, &peer);
    plumb_tcp_send(user.connection, "payload", 7);
    world_settle(world);
    peer_accept(&peer, TCP_ACK);
    struct counters before = counters_now(&world->a);
    peer_send_at(&peer, peer.sequence, peer.acknowledgement, TCP_ACK | TCP_URG, "more", 4);
    expect_equal(counters_drops(&world->a, &before), 1);
    expect_equal(user.connection->send_queued, 0);
    world_drain(world);
    peer_send_at(&peer, peer.sequence + 1, 0, TCP_RST, 0, 0);
    assert_non_null(user.connection);
    peer_send_at(&peer, peer.sequence, 0, TCP_RST, 0, 0);
    assert_null(user.connection);
    expect_equal(user.error, PLUMB_ERROR_RESET);
    disconnected(world, &user);
}

/* ---- opening and ending ---- */

/* SHLD-2: what a reset carries is not read. */
static void a_reset_may_carry_payload(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    peer_send_at(&peer, peer.sequence, peer.acknowledgement, TCP_RST | TCP_ACK, "because", 7);
    expect_equal(user.error, PLUMB_ERROR_RESET);
    expect_equal(user.length, 0);
    peer_expect_nothing(&peer);
    disconnected(world, &user);
}

/* MUST-41, MUST-42: a listener at the port of an attempt; neither knows of the other. */
static void a_listener_beside_an_attempt(void **state) {
    (void)state;
    struct user user = {0}, server = {0};
    struct peer peer;
    struct world *world = connecting(&user, &peer);
    user_listen(&server, &world->a, 5000);
    struct peer client = peer_at(world, 40000, 5000);
    peer_connect(&client);
    peer_send(&client, TCP_ACK, "to the server", 13);
    expect_equal(server.length, 13);
    expect_equal(user_info(&user).state, PLUMB_TCP_STATE_SYN_SENT);
    peer_send(&peer, TCP_SYN | TCP_ACK, 0, 0);
    expect_equal(user_info(&user).state, PLUMB_TCP_STATE_ESTABLISHED);
    peer_send(&peer, TCP_ACK, "to the client", 13);
    expect_equal(user.length, 13);
    expect_equal(server.length, 13);
    expect_equal(server.accepted, 1);
    user_end(&server);
    world_settle(world);
    disconnected(world, &user);
}

/* MUST-11: a reset ends an attempt that met the peer's; a listener's handshake leaves no trace. */
static void a_reset_in_syn_received(void **state) {
    (void)state;
    static const uint8_t mss_1460[4] = {2, 4, 0x05, 0xb4};
    struct user user = {0}, server = {0};
    struct peer peer;
    struct world *world = connecting(&user, &peer);
    peer_send_syn(&peer, TCP_SYN, mss_1460, 4);
    peer_expect(&peer, TCP_SYN | TCP_ACK);
    peer_send_at(&peer, peer.sequence, 0, TCP_RST, 0, 0);
    expect_equal(user.error, PLUMB_ERROR_REFUSED);

    user_listen(&server, &world->a, 80);
    struct peer client = peer_at(world, 40000, 80);
    peer_send_syn(&client, TCP_SYN, mss_1460, 4);
    peer_expect(&client, TCP_SYN | TCP_ACK);
    peer_send_at(&client, client.sequence, 0, TCP_RST, 0, 0);
    peer_connect(&client);
    expect_equal(server.accepted, 1);
    user_end(&server);
    world_settle(world);
    disconnected(world, &user);
}

/* MUST-45: when the interface has another address, a connection of the old one ends; nothing
 * goes out under the new one. */
static void a_connection_keeps_its_address(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    plumb_tcp_send(user.connection, "payload", 7);
    expect_equal(plumb_netif_set_ipv4(world->a.netif, ipv4_of(FRAME_IPV4(10, 0, 0, 9)),
                                      ipv4_of(0xffffff00U), PLUMB_IPV4_ANY),
                 PLUMB_OK);
    world_run(world, 100 * SECOND);
    expect_equal(user.error, PLUMB_ERROR_UNREACHABLE);
    for (struct frame *frame; (frame = world_collect_any(world));)
        if (frame_get16(frame, 12) == 0x0800)
            expect_equal(frame_get32(frame, frame->network + 12U), world->a.address);
    disconnected(world, &user);
}

/* ---- giving up ---- */

static uint64_t time_until_given_up(struct world *world, struct user *user) {
    uint64_t began_us = world->now_us;
    for (unsigned i = 0; i < 36000 && user->connection; i++) {
        world_run(world, 100 * MILLISECOND);
        world_drain(world);
    }
    expect_equal(user->error, PLUMB_ERROR_TIMED_OUT);
    return world->now_us - began_us;
}

/* MUST-23: three minutes at least. */
static void a_syn_is_tried_for_three_minutes(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connecting(&user, &peer);
    expect(time_until_given_up(world, &user) >= 180 * SECOND);
    disconnected(world, &user);
}

/* SHLD-11: 100 seconds at least, however short the round trip was. */
static void payload_is_tried_for_100_seconds(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    plumb_tcp_send(user.connection, "payload", 7);
    expect(time_until_given_up(world, &user) >= 100 * SECOND);
    disconnected(world, &user);
}

/* ---- RFC 6298 ---- */

static void expect_about(double value, double expected) {
    expect(value >= expected && value <= expected + 2);
}

/* Rules 2.2 and 2.3, in ms, by the RFC's own formulas. */
static void the_time_out_follows_the_round_trips(void **state) {
    (void)state;
    static const unsigned trips[] = {300, 500, 100, 100, 700, 350};
    static const uint8_t mss_1460[4] = {2, 4, 0x05, 0xb4};
    struct user user = {0};
    struct world *world = world_single(0);
    struct peer peer = peer_at(world, 40000, 80);
    double smoothed = trips[0], variance = trips[0] / 2.0;
    world_introduce(world);
    user_listen(&user, &world->a, 80);
    peer_send_syn(&peer, TCP_SYN, mss_1460, 4);
    peer_accept(&peer, TCP_SYN | TCP_ACK);
    world_run(world, trips[0] * MILLISECOND);
    peer_send(&peer, TCP_ACK, 0, 0);
    expect_about(user_info(&user).rto_ms, smoothed + 4 * variance);
    for (unsigned i = 1; i < sizeof trips / sizeof *trips; i++) {
        double trip = trips[i], apart = smoothed > trip ? smoothed - trip : trip - smoothed;
        plumb_tcp_send(user.connection, "x", 1);
        world_settle(world);
        peer_accept(&peer, TCP_ACK);
        world_run(world, trips[i] * MILLISECOND);
        peer_send(&peer, TCP_ACK, 0, 0);
        variance = variance * 3 / 4 + apart / 4;
        smoothed = smoothed * 7 / 8 + trip / 8;
        expect_about(user_info(&user).rto_ms, smoothed + 4 * variance);
    }
    disconnected(world, &user);
}

/* Rules 5.1 to 5.3: it runs while something is out, from the last progress on. */
static void the_time_out_begins_anew_with_progress(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    expect_equal(plumb_tcp_send(user.connection, bytes, 2 * MSS), 2 * MSS);
    world_run(world, 150 * MILLISECOND);
    peer_accept(&peer, TCP_ACK);
    peer_expect(&peer, TCP_ACK);
    peer_send(&peer, TCP_ACK, 0, 0); /* of the first */
    uint32_t rto_ms = user_info(&user).rto_ms;
    expect(rto_ms >= CONFIG_PLUMB_TCP_MIN_RTO_MS);
    world_run(world, (rto_ms - 5) * MILLISECOND);
    peer_expect_nothing(&peer);
    world_run(world, 10 * MILLISECOND);
    expect_equal(peer_accept(&peer, TCP_ACK)->length, MSS);
    peer_send(&peer, TCP_ACK, 0, 0);
    struct counters before = counters_now(&world->a);
    world_run(world, 300 * SECOND);
    peer_expect_nothing(&peer);
    expect_equal(counters_moved(&world->a, &before, "tcp_timeout"), 0);
    world_introduce(world);
    disconnected(world, &user);
}

/* Rule 5.5 is forgotten with the first acknowledgement of something new, which also tells the
 * round trip of what is sent next. */
static void progress_ends_the_back_off(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    plumb_tcp_send(user.connection, "x", 1);
    for (unsigned i = 0; i < 20; i++) {
        world_run(world, SECOND);
        while (peer_take(&peer)) /* which also answers ARP */
            ;
    }
    peer.acknowledgement++;
    peer_send(&peer, TCP_ACK, 0, 0);
    plumb_tcp_send(user.connection, "y", 1);
    world_settle(world);
    expect_equal(peer_expect(&peer, TCP_ACK)->length, 1);
    world_run(world, (CONFIG_PLUMB_TCP_MIN_RTO_MS + 10) * MILLISECOND);
    expect_equal(peer_expect(&peer, TCP_ACK)->length, 1);
    disconnected(world, &user);
}

HARNESS_MAIN(cmocka_unit_test(push_goes_with_the_last), cmocka_unit_test(mss_goes_with_a_syn_only),
             cmocka_unit_test(an_option_at_every_place), cmocka_unit_test(windows_are_unsigned),
             cmocka_unit_test(time_to_live_and_service),
             cmocka_unit_test(a_closed_window_takes_acknowledgements_and_resets),
             cmocka_unit_test(a_reset_may_carry_payload),
             cmocka_unit_test(a_listener_beside_an_attempt),
             cmocka_unit_test(a_reset_in_syn_received),
             cmocka_unit_test(a_connection_keeps_its_address),
             cmocka_unit_test(a_syn_is_tried_for_three_minutes),
             cmocka_unit_test(payload_is_tried_for_100_seconds),
             cmocka_unit_test(the_time_out_follows_the_round_trips),
             cmocka_unit_test(the_time_out_begins_anew_with_progress),
             cmocka_unit_test(progress_ends_the_back_off))
