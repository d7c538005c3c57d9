/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A year in virtual time: connections of all kinds between two stacks over a wire that loses,
 * reorders and repeats, while the clocks' microseconds and milliseconds wrap. At its end every
 * pool is at its baseline, and every connection has ended as it should.
 */
#include <string.h>

#include "dhcp_server.h"
#include "harness.h"

#define HOUR (3600 * SECOND)
#define DAY  (24 * HOUR)
enum {
    DAYS = 365,
    VISITS = 12, /* a day, of three connections each from the same port */
    VISIT = 3,
    CROWD = 40,    /* connections at once, once a day, to a listener with a short backlog */
    LARGE = 60000, /* bytes of the day's transfer, whose numbers pass 2^32 */
    BEFORE_WRAP = 20000,
    IDLE_PORT = 79, /* of the connection that stays */
    PORT = 80,
    SHORT_PORT = 81,
    KEEPALIVE_MS = 7200000,
};

struct year {
    struct world *world;
    struct plumb_tcp_listener *open, *narrow, *kept;
    struct plumb_tcp *idle;           /* a's, for the whole year */
    unsigned begun, done, refused;    /* a's connections */
    unsigned served, accepted, wraps; /* b's that ended in order; b's; whose numbers wrapped */
    uint64_t received;
    uint32_t first, last; /* the number of a's last SYN, and where its last segment ended */
};

static struct year year;

/* ---- what b does: it takes all there is, and has nothing to say but its end, which comes
 * first: so TIME_WAIT is b's, and the same port may come again ---- */

static void swallow(struct plumb_tcp *connection) {
    year.received += plumb_tcp_readable(connection);
    plumb_tcp_consume(connection, plumb_tcp_readable(connection));
}

static void on_served(struct plumb_tcp *connection, unsigned events, void *context) {
    (void)context;
    swallow(connection);
    year.served += (events & PLUMB_TCP_PEER_CLOSED) != 0;
    if (events & PLUMB_TCP_CLOSED)
        return;
    if (events & PLUMB_TCP_PEER_CLOSED)
        plumb_tcp_close(connection);
    else
        plumb_tcp_shutdown(connection);
}

static void on_kept(struct plumb_tcp *connection, unsigned events, void *context) {
    (void)events;
    (void)context;
    swallow(connection);
    if (events & PLUMB_TCP_PEER_CLOSED)
        plumb_tcp_close(connection);
}

static void on_idle_accept(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                           void *context) {
    (void)listener;
    (void)context;
    plumb_tcp_set_handler(connection, on_kept, 0);
}

static void on_accept(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                      void *context) {
    (void)listener;
    (void)context;
    year.accepted++;
    plumb_tcp_set_handler(connection, on_served, 0);
}

/* ---- what a does ---- */

struct visit {
    bool used;
    uint32_t left;
};
static struct visit visits[64];

static void on_visit(struct plumb_tcp *connection, unsigned events, void *context) {
    static const uint8_t bytes[1460];
    struct visit *visit = context;
    if (events & PLUMB_TCP_CLOSED) {
        year.refused++;
        visit->used = false;
        return;
    }
    while (visit->left) {
        uint32_t length = visit->left < sizeof bytes ? visit->left : sizeof bytes;
        int taken = plumb_tcp_send(connection, bytes, length);
        if (taken <= 0)
            return;
        visit->left -= (uint32_t)taken;
    }
    if (!(events & PLUMB_TCP_PEER_CLOSED))
        return;
    year.done++;
    visit->used = false;
    plumb_tcp_close(connection);
}

static void visit(uint16_t to, uint16_t from, uint32_t bytes) {
    struct plumb_tcp *connection;
    struct visit *place = visits;
    while (place->used)
        expect(++place < visits + sizeof visits / sizeof *visits);
    *place = (struct visit){.used = true, .left = bytes};
    year.begun++;
    if (plumb_tcp_connect(year.world->a.stack, endpoint_of(year.world->b.address, to), from,
                          on_visit, place, &connection) != PLUMB_OK) {
        place->used = false; /* the table is full, or the port not free yet */
        year.refused++;
    }
}

/* Sees the numbers that a begins with, and how far it comes. */
static bool note_numbers(void *context, uint8_t *frame, uint16_t length) {
    (void)context;
    if (length < 54 || frame[12] != 8 || frame[13] != 0 || frame[23] != 6)
        return true;
    const uint8_t *tcp = frame + 14 + (frame[14] & 15) * 4;
    uint32_t number =
        (uint32_t)tcp[4] << 24 | (uint32_t)tcp[5] << 16 | (uint32_t)tcp[6] << 8 | tcp[7];
    if (tcp[13] & 2)
        year.first = number;
    year.last = number;
    return true;
}

static bool nobody_visits(void *context) {
    (void)context;
    for (unsigned i = 0; i < sizeof visits / sizeof *visits; i++)
        if (visits[i].used)
            return false;
    return true;
}

static void wait_for_visits(void) {
    expect(world_run_until(year.world, nobody_visits, 0, HOUR));
    world_run(year.world, 100 * MILLISECOND);
}

/* Every 4 us the first number of the same four is one higher (RFC 6528), so it is known when it
 * will be just below 2^32. */
static void cross_the_wrap(uint64_t until_us) {
    uint64_t at_us = year.world->now_us;
    visit(PORT, 5999, 1);
    wait_for_visits();
    uint32_t ahead = 0U - BEFORE_WRAP - year.first;
    uint64_t when_us = at_us + (uint64_t)ahead * 4;
    if (when_us + HOUR > until_us || when_us < year.world->now_us + 120 * SECOND)
        return;
    world_run(year.world, when_us - year.world->now_us);
    visit(PORT, 5999, LARGE);
    wait_for_visits();
    year.wraps += year.last < year.first;
}

static void one_day(void) {
    uint64_t began_us = year.world->now_us;
    for (unsigned i = 0; i < VISITS; i++) {
        for (unsigned k = 0; k < VISIT; k++) { /* within TIME_WAIT */
            visit(PORT, 5000, 1 + 700 * k * i);
            wait_for_visits();
        }
        world_run(year.world, HOUR / 2);
    }
    cross_the_wrap(began_us + DAY - 2 * HOUR);
    for (unsigned i = 0; i < CROWD; i++)
        visit(SHORT_PORT, 0, 100);
    wait_for_visits();
    plumb_tcp_send(year.idle, "x", 1);
    uint64_t passed_us = year.world->now_us - began_us;
    expect(passed_us < DAY);
    world_run(year.world, DAY - passed_us);
}

static void on_idle(struct plumb_tcp *connection, unsigned events, void *context) {
    (void)connection;
    (void)context;
    expect(!(events & PLUMB_TCP_CLOSED));
}

static void begin(void) {
    struct world_options options = {
        .seed = 365,
        .start_us = (1ULL << 32) - HOUR,
        .faults = {.delay_us = 5000, .loss = 100, .reordering = 100, .duplication = 100}};
    year = (struct year){.world = world_pair(&options)};
    memset(visits, 0, sizeof visits);
    plumb_wire_set_filter(year.world->a.end, note_numbers, 0);
    expect_equal(
        plumb_tcp_listen(year.world->b.stack, endpoint_of(0, PORT), 8, on_accept, 0, &year.open),
        PLUMB_OK);
    expect_equal(plumb_tcp_listen(year.world->b.stack, endpoint_of(0, SHORT_PORT), 1, on_accept, 0,
                                  &year.narrow),
                 PLUMB_OK);
    expect_equal(plumb_tcp_listen(year.world->b.stack, endpoint_of(0, IDLE_PORT), 1, on_idle_accept,
                                  0, &year.kept),
                 PLUMB_OK);
    expect_equal(plumb_tcp_connect(year.world->a.stack,
                                   endpoint_of(year.world->b.address, IDLE_PORT), 0, on_idle, 0,
                                   &year.idle),
                 PLUMB_OK);
    plumb_tcp_set_option(year.idle, PLUMB_TCP_KEEPALIVE, KEEPALIVE_MS);
    world_run(year.world, 10 * SECOND);
}

static void a_year_of_connections(void **state) {
    (void)state;
    begin();
    struct counters before = counters_now(&year.world->a);
    for (unsigned day = 0; day < DAYS; day++)
        one_day();
    struct plumb_tcp_info info;
    plumb_tcp_get_info(year.idle, &info);
    expect_equal(info.state, PLUMB_TCP_STATE_ESTABLISHED);
    expect(year.world->now_us > DAYS * DAY);
    print_message("%u connections of %u, %u refused, %u accepted, %u ended in order, %u wraps\n",
                  year.done, year.begun, year.refused, year.accepted, year.served, year.wraps);
    expect_equal(year.begun, year.done + year.refused);
    expect(year.done >= DAYS * VISITS * VISIT);
    expect(year.refused > DAYS);    /* of the crowds */
    expect(year.wraps > DAYS / 10); /* where the day had room for it */
    expect(counters_moved(&year.world->a, &before, "tcp_timeout") > 0);
    plumb_tcp_close(year.idle);
    plumb_tcp_unlisten(year.open);
    plumb_tcp_unlisten(year.narrow);
    plumb_tcp_unlisten(year.kept);
    world_run(year.world, HOUR);
    expect_equal(side_buffers_used(&year.world->a), 0);
    expect_equal(side_buffers_used(&year.world->b), 0);
    world_end(year.world);
}

/* A lease of a day is renewed at its half (RFC 2131 section 4.4.5). */
static void a_year_of_leases(void **state) {
    (void)state;
    enum { LEASE_S = 86400 };
    struct client client;
    client_begin(&client, 0);
    server_lease(&client, LEASE_S);
    for (unsigned half = 0; half < 2 * DAYS; half++) {
        client_await(&client, REQUEST, LEASE_S / 2 + 10);
        server_say(&client, ACK, LEASE_S);
        expect_equal(client_address(&client), LEASED);
    }
    client_end(&client);
}

HARNESS_MAIN(cmocka_unit_test(a_year_of_connections), cmocka_unit_test(a_year_of_leases))
