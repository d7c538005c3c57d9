/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Two stacks over the in-process wire, in QEMU's user mode: full segments of TCP one way,
 * sent by copy, and copied on arrival to memory that the receiver has posted. A line
 * before each transfer says where both users' memory lies:
 *
 *     case transfer data=OFFSET segments=COUNT mss=BYTES
 *
 *     transfer [taken|traps [ROUTINES]]
 */
#include <plumb/plumb.h>

#include <plumb_config.h>

#include "strict.h"
#include "wire.h"

enum {
    PACKETS = 192,
    BUFFER = PLUMB_DMA_WHOLE_LINES(1600),
    FRAMES = 128,
    SEGMENTS = 300,
    ROOM = SEGMENTS * 1460,
    OFFSETS = 2,
    PORT = 5001,
    LIMIT_US = 60000000,
};

#ifdef CONFIG_PLUMB_NETWORK_HEADER_ALIGNED
#define LANDING PLUMB_LANDING_OFFSET
#else
#define LANDING PLUMB_LANDING_WORD
#endif

struct host {
    struct plumb_packet packets[PACKETS];
    _Alignas(PLUMB_DMA_LINE) uint8_t buffers[PACKETS * BUFFER];
    struct plumb_pool pool;
    PLUMB_STACK_MEMORY(memory);
    struct plumb *stack;
};

static struct host hosts[2];
static struct plumb_wire wire;
static struct plumb_wire_frame frames[FRAMES];
static const plumb_ipv4 netmask = PLUMB_IPV4(255, 0, 0, 0);
static const plumb_ipv4 addresses[2] = {PLUMB_IPV4(10, 0, 0, 1), PLUMB_IPV4(10, 0, 0, 2)};

static _Alignas(8) uint8_t sent[ROOM + OFFSETS], received[ROOM + OFFSETS];
static struct plumb_tcp *sender, *receiver;
static uint32_t bytes; /* of a transfer: of so many full segments */
static uint32_t queued, offset;

static void must(int result, const char *what) {
    if (result < 0) {
        board_print("panic: %s: %s\n", what, plumb_error_text(result));
        board_exit(1);
    }
}

/* ---- users ---- */

static void send_more(void) {
    while (queued < bytes) {
        int taken = plumb_tcp_send(sender, sent + offset + queued, bytes - queued);
        must(taken, "send");
        if (!taken)
            return;
        queued += (uint32_t)taken;
    }
}

static void sender_event(struct plumb_tcp *connection, unsigned events, void *context) {
    (void)connection;
    (void)context;
    if (events & PLUMB_TCP_WRITABLE)
        send_more();
}

static void receiver_event(struct plumb_tcp *connection, unsigned events, void *context) {
    (void)connection;
    (void)events;
    (void)context;
}

static void accept_event(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                         void *context) {
    (void)listener;
    (void)context;
    plumb_tcp_set_handler(connection, receiver_event, NULL);
    receiver = connection;
}

/* ---- both hosts ---- */

static void make_host(unsigned index) {
    struct host *host = &hosts[index];
    const struct plumb_options options = {
        .seed = {index + 1, 2}, .segments = &host->pool, .headers = &host->pool};
    must(plumb_create(&host->stack, host->memory, sizeof host->memory, &options), "stack");
    must(plumb_netif_attach(host->stack, &wire.end[index].netif), "interface");
    must(plumb_netif_set_ipv4(&wire.end[index].netif, addresses[index], netmask, PLUMB_IPV4_ANY),
         "address");
}

static void make_hosts(void) {
    struct plumb_wire_end_options ends[2];
    for (unsigned i = 0; i < 2; i++) {
        struct host *host = &hosts[i];
        must(plumb_pool_create(&host->pool, host->packets, host->buffers, PACKETS, BUFFER, NULL),
             "pool");
        ends[i] = (struct plumb_wire_end_options){
            .name = "wire",
            .address = plumb_ethernet_address((const uint8_t[]){2, 0, 0, 0, 0, (uint8_t)(i + 1)}),
            .pool = &host->pool,
            .landing = LANDING,
        };
    }
    must(plumb_wire_create(&wire, frames, FRAMES, 1, ends), "wire");
    make_host(0);
    make_host(1);
}

/* Time goes on to whatever is due next. */
static void run_until(bool (*done)(void), const char *what) {
    static uint64_t now;
    uint64_t limit = now + LIMIT_US;
    while (!done()) {
        uint64_t next = plumb_poll(hosts[0].stack, now), other = plumb_poll(hosts[1].stack, now);
        uint64_t due = plumb_wire_due(&wire);
        next = other < next ? other : next;
        next = due < next ? due : next;
        now = next > now ? next : now;
        must(now < limit ? PLUMB_OK : PLUMB_ERROR_TIMED_OUT, what);
    }
}

static bool is_open(void) {
    struct plumb_tcp_info info;
    plumb_tcp_get_info(sender, &info);
    return receiver && info.state == PLUMB_TCP_STATE_ESTABLISHED;
}

static bool has_arrived(void) {
    return plumb_tcp_posted(receiver) == bytes;
}

static void transfer(void) {
    struct plumb_tcp_info before, after;

    plumb_tcp_get_info(sender, &before);
    bytes = SEGMENTS * (uint32_t)before.mss;
    queued = 0;
    board_print("case transfer data=%u segments=%u mss=%u\n", offset, (unsigned)SEGMENTS,
                (unsigned)before.mss);
    board_measure_start();
    plumb_tcp_post(receiver, received + offset, bytes);
    send_more();
    run_until(has_arrived, "transfer");
    board_measure_stop();
    plumb_tcp_get_info(sender, &after);
    for (uint32_t i = 0; i < bytes; i++)
        must(received[offset + i] == sent[offset + i] ? PLUMB_OK : PLUMB_ERROR_INVALID, "data");
    must(after.segments_out - before.segments_out == SEGMENTS ? PLUMB_OK : PLUMB_ERROR_INVALID,
         "a segment was not full");
}

int user_main(int count, char **arguments) {
    struct plumb_tcp_listener *listener;

    strict_choose(count, arguments);
    for (uint32_t i = 0; i < sizeof sent; i++)
        sent[i] = (uint8_t)(i * 7 + i / 251);
    make_hosts();
    must(plumb_tcp_listen(hosts[1].stack, (struct plumb_endpoint){addresses[1], PORT}, 4,
                          accept_event, NULL, &listener),
         "listen");
    must(plumb_tcp_connect(hosts[0].stack, (struct plumb_endpoint){addresses[1], PORT}, 0,
                           sender_event, NULL, &sender),
         "connect");
    run_until(is_open, "handshake");
    for (offset = 0; offset < OFFSETS; offset++)
        transfer();
    board_print("end\n");
    return 0;
}
