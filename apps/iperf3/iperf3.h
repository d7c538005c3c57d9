/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * An iperf 3 endpoint: what its files share.
 *
 *   main.c         start; the look, every 10 ms of a test, at what time brings about
 *   arguments.c    what the user wants
 *   control.c      the control connection's bytes (pure)
 *   exchange.c     parameters and results as JSON (pure)
 *   channel.c      the control connection: reading items, sending them
 *   server.c       a test as the server
 *   client.c       a test as the client
 *   guests.c       connections that have shown no cookie yet, or are turned away
 *   test.c         what both do: begin, end, results
 *   tcp.c, udp.c   moving bytes
 *   report.c       lines for the console, marks for measuring
 *
 * One test at a time. Its state is the phase; each phase but the transfer itself has a time
 * within which it has to end, and the transfer one within which something has to move.
 * Whatever goes wrong ends in test_fail(): the peer is told where the protocol has words for
 * it, every connection of the test is closed, and the phase is idle again.
 */
#ifndef IPERF3_H
#define IPERF3_H

#include <plumb/plumb.h>

#include "arguments.h"
#include "board.h"
#include "control.h"
#include "exchange.h"

enum {
    IPERF3_PATTERN = 4096, /* bytes given to one send */
    IPERF3_GUESTS = 8,
    IPERF3_OUT = CONTROL_TEXT_MOST + 64, /* bytes of control waiting for room */
    IPERF3_CONTROL_LIMIT_MS = 5000,      /* a phase of the control connection */
    IPERF3_GUEST_LIMIT_MS = 3000,
    IPERF3_GRACE_MS = 15000, /* beyond a transfer's time, and for what is left out */
    IPERF3_QUIET_MS = 250,   /* nothing more is under way */
    IPERF3_DRAIN_LIMIT_MS = 3000,
};

/* Of a test. A server goes from COOKIE on, a client from OPENING. */
enum phase {
    PHASE_IDLE,
    PHASE_OPENING,    /* client: the control connection, then the server's first state */
    PHASE_COOKIE,     /* server: the client's cookie */
    PHASE_PARAMETERS, /* server: the client's parameters */
    PHASE_STREAMS,    /* streams are opened */
    PHASE_STARTING,   /* client: all streams are open; the server says when */
    PHASE_RUNNING,
    PHASE_DRAINING, /* the client has said that it is over; what is under way still counts */
    PHASE_RESULTS,  /* the peer's results */
    PHASE_DISPLAY,  /* the last word */
};

/* Receiving of datagrams. */
struct arrival {
    uint64_t highest; /* number; counted from 1 */
    uint64_t lost;    /* numbers skipped, less those that came late */
    uint64_t late;    /* out of order */
    uint32_t transit; /* microseconds, of the last */
    uint32_t jitter;  /* microseconds, times 16 */
    uint64_t omitted, omitted_lost;
};

struct stream {
    struct iperf3 *app;
    struct plumb_tcp *connection;
    struct plumb_udp *socket;
    struct plumb_endpoint peer;
    bool sends;
    bool open;      /* client: the other end has answered */
    uint16_t order; /* server: in which its connection was accepted */
    uint64_t bytes, packets;
    uint64_t first_us, last_us; /* bytes moved */
    uint64_t due_ns;            /* sending at a rate: when the next block is due */
    size_t room;                /* of the empty send buffer */
    uint32_t retransmitted;     /* before what counts began */
    struct arrival arrival;
};

/* A connection beside the test. */
struct guest {
    struct iperf3 *app;
    struct plumb_tcp *connection; /* null: free */
    bool leaves;                  /* all was said; it is to close */
    uint16_t order;
    uint8_t have;
    uint8_t cookie[CONTROL_COOKIE];
    uint64_t until_us;
};

struct iperf3 {
    struct plumb *stack;
    struct plumb_netif *netif;
    struct plumb_tcp_listener *listener;
    struct plumb_udp *socket; /* server: all its streams' */
    struct plumb_timer look;
    struct arguments arguments;
    struct guest guests[IPERF3_GUESTS];
    uint16_t accepted;
    bool over; /* client: the application ends */
    int exit_status;

    /* The test. */
    enum phase phase;
    uint64_t until_us; /* of the phase */
    bool client;
    bool measuring;
    bool omitting;
    struct plumb_tcp *control;
    struct plumb_endpoint peer;
    uint8_t cookie[CONTROL_COOKIE];
    struct parameters parameters;
    unsigned streams_wanted, count;
    uint64_t begun_us, moved_us; /* what counts, and when a byte last moved */
    struct stream streams[IPERF3_STREAMS];
    struct control reader;
    struct results own, results; /* and the peer's */
    uint16_t out_length, out_sent;
    uint8_t out[IPERF3_OUT];
    uint32_t datagram[IPERF3_UDP_MOST / 4 + 1]; /* a head, and what both protocols send */
};

/* main.c */
void look_start(struct iperf3 *app);
void phase_set(struct iperf3 *app, enum phase phase, uint32_t limit_ms);

/* channel.c */
plumb_tcp_handler channel_handler;
void channel_send(struct iperf3 *app, const void *bytes, size_t length);
void channel_send_state(struct iperf3 *app, enum control_state state);
/* A text that json_write_*() has put behind room for its length, at channel_text(). */
void channel_text_begin(struct iperf3 *app, struct json_writer *writer);
void channel_text_end(struct iperf3 *app, const struct json_writer *writer);
void channel_flush(struct iperf3 *app);

/* server.c, client.c: an item of the control connection. */
void server_item(struct iperf3 *app, enum control_item item);
void client_item(struct iperf3 *app, enum control_item item);
plumb_tcp_acceptor server_accept;
/* All streams are there. */
void server_begin(struct iperf3 *app);
void server_drained(struct iperf3 *app);
void client_start(struct iperf3 *app);
void client_stream_open(struct stream *stream);
void client_look(struct iperf3 *app, uint64_t now_us);
void client_drained(struct iperf3 *app);

/* guests.c */
bool guest_welcome(struct iperf3 *app, struct plumb_tcp *connection);
/* Sends a last word and sees the connection off, without hurry. */
void guest_turn_away(struct iperf3 *app, struct plumb_tcp *connection, const uint8_t *word,
                     size_t length);
/* Whether there are any. */
bool guests_look(struct iperf3 *app, uint64_t now_us);

/* test.c */
void test_fail(struct iperf3 *app, unsigned code);
void test_end(struct iperf3 *app);
struct stream *stream_new(struct iperf3 *app);
bool stream_sends(const struct iperf3 *app, unsigned index);
void test_run(struct iperf3 *app);
void test_omitted(struct iperf3 *app);
void test_drain(struct iperf3 *app);
bool test_is_quiet(const struct iperf3 *app, uint64_t now_us);
void test_conclude(struct iperf3 *app);
void test_send_results(struct iperf3 *app);
void test_close_streams(struct iperf3 *app);
uint64_t test_bytes(const struct iperf3 *app, bool sent);
/* Bytes that are still to be sent. */
uint64_t test_left(const struct iperf3 *app);

/* tcp.c, udp.c */
plumb_tcp_handler tcp_stream_handler;
void tcp_prepare(struct stream *stream);
void tcp_send_more(struct stream *stream);
plumb_udp_handler udp_server_datagram, udp_client_datagram;
void udp_send_due(struct stream *stream, uint64_t now_us);
void udp_greet(struct stream *stream);
void stream_moved(struct stream *stream, uint64_t bytes, uint64_t now_us);
/* How long a block of so many bytes takes at the rate asked for, in nanoseconds. */
uint64_t stream_gap_ns(const struct stream *stream, uint64_t bytes);

/* report.c */
void report_begin(struct iperf3 *app);
void report_end(struct iperf3 *app);
void report_peer(const struct iperf3 *app);
const char *report_reason(unsigned code);

#endif
