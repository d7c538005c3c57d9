/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Four small services, for trying a board out and for tests that look at every
 * byte: echo over TCP and UDP (port 7, RFC 862), discard (9, RFC 863) and
 * chargen (19, RFC 864) over TCP.
 *
 * Every thousand datagrams that come to be echoed are a measured transfer, of which a
 * line is printed: from the first to the one behind the last, which counts for none.
 *
 * chargen's byte n is 32 + n mod 95, so a reader knows each one. Its table of
 * generators is the only state; an echo keeps what it could not yet send where
 * it was received, unconsumed, which holds the peer back.
 */
#include "board.h"

enum { ECHO = 7, DISCARD = 9, CHARGEN = 19, PERIOD = 95, BACKLOG = 4, RUN = 1000 };

struct generator {
    struct plumb_tcp *connection; /* null: free */
    unsigned phase;               /* of the next byte */
};

static struct generator generators[CONFIG_PLUMB_TCP_CONNECTIONS];
static uint8_t pattern[PERIOD * 16];
static struct plumb_udp *echo_socket;
static struct {
    unsigned left;  /* datagrams that still count; 0: the next one ends a run, or begins one */
    uint32_t bytes; /* at most RUN times 65507 */
    bool begun;
    uint64_t begun_us;
} run;

static bool peer_is_done(struct plumb_tcp *connection) {
    struct plumb_tcp_info info;
    plumb_tcp_get_info(connection, &info);
    return info.state == PLUMB_TCP_STATE_CLOSE_WAIT;
}

static void echo(struct plumb_tcp *connection, unsigned events, void *context) {
    struct plumb_iovec vector;
    (void)context;
    if (events & PLUMB_TCP_CLOSED)
        return;
    while (plumb_tcp_peek(connection, &vector, 1)) {
        int sent = plumb_tcp_send(connection, vector.data, vector.length);
        if (sent <= 0)
            break;
        plumb_tcp_consume(connection, (size_t)sent);
        if ((size_t)sent < vector.length)
            break;
    }
    if (!plumb_tcp_readable(connection) && peer_is_done(connection))
        plumb_tcp_close(connection);
}

static void discard(struct plumb_tcp *connection, unsigned events, void *context) {
    (void)context;
    if (events & PLUMB_TCP_CLOSED)
        return;
    plumb_tcp_consume(connection, plumb_tcp_readable(connection));
    if (events & PLUMB_TCP_PEER_CLOSED)
        plumb_tcp_close(connection);
}

static void generate(struct plumb_tcp *connection, unsigned events, void *context) {
    struct generator *generator = context;
    int sent = 0;
    if (events & (PLUMB_TCP_CLOSED | PLUMB_TCP_PEER_CLOSED)) {
        if (!(events & PLUMB_TCP_CLOSED))
            plumb_tcp_abort(connection); /* nobody reads the rest */
        generator->connection = NULL;
        return;
    }
    plumb_tcp_consume(connection, plumb_tcp_readable(connection));
    do {
        generator->phase = (generator->phase + (unsigned)sent) % PERIOD;
        sent = plumb_tcp_send(connection, pattern + generator->phase, sizeof pattern - PERIOD);
    } while (sent == (int)(sizeof pattern - PERIOD));
    if (sent > 0)
        generator->phase = (generator->phase + (unsigned)sent) % PERIOD;
}

static void accept_generate(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                            void *context) {
    (void)listener;
    (void)context;
    for (unsigned i = 0; i < CONFIG_PLUMB_TCP_CONNECTIONS; i++) {
        if (generators[i].connection)
            continue;
        generators[i] = (struct generator){.connection = connection};
        plumb_tcp_set_handler(connection, generate, &generators[i]);
        generate(connection, 0, &generators[i]);
        return;
    }
}

static void accept_other(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                         void *context) {
    const bool *is_echo = context;
    (void)listener;
    plumb_tcp_set_handler(connection, *is_echo ? echo : discard, NULL);
}

static void begin_run(unsigned length) {
    run.begun = true;
    run.left = RUN - 1;
    run.bytes = length;
    run.begun_us = board_now_us();
    board_measure_start();
}

static void end_run(void) {
    board_measure_stop();
    board_print("transfer: case=udp_echo bytes=%u packets=%u time_us=%llu\n", (unsigned)run.bytes,
                RUN, (unsigned long long)(board_now_us() - run.begun_us));
    run.begun = false;
}

/* A datagram that begins a run or ends one. */
static __attribute__((noinline)) void echo_between(struct plumb_udp *socket,
                                                   struct plumb_packet *payload,
                                                   const struct plumb_udp_source *source) {
    if (run.begun)
        end_run();
    else
        begin_run(payload->total);
    plumb_udp_reply(socket, payload, source);
}

static void echo_datagram(struct plumb_udp *socket, struct plumb_packet *payload,
                          const struct plumb_udp_source *source, void *context) {
    (void)context;
    /* A forged datagram from another echo service would go to and fro for ever. */
    if (source->from.port < 1024)
        return;
    if (!run.left) {
        echo_between(socket, payload, source);
        return;
    }
    run.left--;
    run.bytes += payload->total;
    plumb_udp_reply(socket, payload, source);
}

static void check(int error) {
    if (error) {
        board_print("panic: echo: %s\n", plumb_error_text(error));
        board_exit(1);
    }
}

static struct plumb_endpoint at(uint16_t port) {
    return (struct plumb_endpoint){PLUMB_IPV4_ANY, port};
}

void app_start(struct plumb *stack, struct plumb_netif *netif) {
    static bool yes = true, no = false;
    static struct plumb_tcp_listener *listeners[3];
    (void)netif;
    for (unsigned i = 0; i < sizeof pattern; i++)
        pattern[i] = (uint8_t)(32 + i % PERIOD);
    check(plumb_tcp_listen(stack, at(ECHO), BACKLOG, accept_other, &yes, &listeners[0]));
    check(plumb_tcp_listen(stack, at(DISCARD), BACKLOG, accept_other, &no, &listeners[1]));
    check(plumb_tcp_listen(stack, at(CHARGEN), BACKLOG, accept_generate, NULL, &listeners[2]));
    check(plumb_udp_open(stack, at(ECHO), echo_datagram, NULL, &echo_socket));
}

void app_ready(struct plumb *stack, struct plumb_netif *netif) {
    (void)stack;
    board_print("echo: %I echo=7/tcp,7/udp discard=9/tcp chargen=19/tcp\n", netif->ipv4.be);
}

bool app_poll(struct plumb *stack) {
    (void)stack;
    return false;
}
