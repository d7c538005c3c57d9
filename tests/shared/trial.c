/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The trial: see trial.h. */
#include "trial.h"

#include "poison.h"

static const uint8_t address_a[6] = {2, 0, 0, 0, 0, 1}, address_b[6] = {2, 0, 0, 0, 0, 2};
static const uint8_t nobody[6], everyone[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

#define IPV4_A FRAME_IPV4(10, 0, 0, 1)
#define IPV4_B FRAME_IPV4(10, 0, 0, 2)

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return #condition;                                                                     \
    } while (0)

/* Passes on what a step returned. */
#define TRY(step)                                                                                  \
    do {                                                                                           \
        const char *failure_ = (step);                                                             \
        if (failure_)                                                                              \
            return failure_;                                                                       \
    } while (0)

static bool same(const uint8_t *a, const uint8_t *b, unsigned length) {
    while (length--)
        if (*a++ != *b++)
            return false;
    return true;
}

static uint8_t pattern(uint32_t offset) {
    return (uint8_t)(offset * 7 + (offset >> 8) * 13 + (offset >> 16));
}

/* ---- hosts ---- */

static void on_datagram(struct plumb_udp *socket, struct plumb_packet *payload,
                        const struct plumb_udp_source *source, void *context) {
    struct trial_host *host = context;
    (void)socket;
    (void)source;
    host->delivered++;
    host->datagram_length =
        (uint16_t)plumb_packet_copy_out(payload, 0, host->datagram, sizeof host->datagram);
}

/* Sends back what arrives, as far as it fits. */
static void on_echo(struct plumb_tcp *connection, unsigned events, void *context) {
    (void)context;
    if (events & PLUMB_TCP_CLOSED)
        return;
    for (;;) {
        struct plumb_iovec vector;
        if (!plumb_tcp_peek(connection, &vector, 1))
            break;
        int sent = plumb_tcp_send(connection, vector.data, vector.length);
        if (sent <= 0)
            break;
        plumb_tcp_consume(connection, (size_t)sent);
    }
    struct plumb_tcp_info info;
    plumb_tcp_get_info(connection, &info);
    if (info.state == PLUMB_TCP_STATE_CLOSE_WAIT && !plumb_tcp_readable(connection))
        plumb_tcp_close(connection);
}

/* What an attacker sends is looked at and thrown away. */
static void on_discard(struct plumb_tcp *connection, unsigned events, void *context) {
    (void)context;
    if (events & PLUMB_TCP_CLOSED)
        return;
    plumb_tcp_consume(connection, plumb_tcp_readable(connection));
    if (events & PLUMB_TCP_PEER_CLOSED)
        plumb_tcp_close(connection);
}

/* How long a peer may be silent, and how long it takes to find out. */
enum { KEEPALIVE_MS = 1000, CALM_US = 15000000 };

static void on_accept(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                      void *context) {
    plumb_tcp_handler *const *handler = context;
    (void)listener;
    plumb_tcp_set_handler(connection, *handler, 0);
    /* As a server does that wants its slots back from peers which have gone; refused where it
     * is left out. */
    plumb_tcp_set_option(connection, PLUMB_TCP_KEEPALIVE, KEEPALIVE_MS);
}

static plumb_tcp_handler *const discard = on_discard, *const echo = on_echo;

static const char *host_pools(struct trial_host *host) {
    CHECK(plumb_pool_create(&host->segments, host->segment, host->segment_bytes, TRIAL_PACKETS,
                            TRIAL_BUFFER, 0) == PLUMB_OK);
    CHECK(plumb_pool_create(&host->headers, host->header, host->header_bytes, TRIAL_PACKETS,
                            TRIAL_HEADER, 0) == PLUMB_OK);
    CHECK(plumb_pool_create(&host->receive, host->received, host->receive_bytes, TRIAL_PACKETS,
                            TRIAL_BUFFER, 0) == PLUMB_OK);
    return 0;
}

static const char *host_attach(struct trial_host *host, struct plumb_wire_end *end, uint64_t seed,
                               uint32_t address) {
    struct plumb_options options = {
        .seed = {seed, address}, .segments = &host->segments, .headers = &host->headers};
    struct plumb_endpoint any = {.port = TRIAL_PORT};
    CHECK(plumb_create(&host->stack, host->memory, sizeof host->memory, &options) == PLUMB_OK);
    host->netif = &end->netif;
    CHECK(plumb_netif_attach(host->stack, host->netif) == PLUMB_OK);
    CHECK(plumb_netif_set_ipv4(host->netif, plumb_put32(address), plumb_put32(0xffffff00U),
                               PLUMB_IPV4_ANY) == PLUMB_OK);
    CHECK(plumb_udp_open(host->stack, any, on_datagram, host, &host->udp) == PLUMB_OK);
    return 0;
}

static bool host_quiet(const struct trial_host *host) {
    return host->segments.free_count == host->segments.count &&
           host->headers.free_count == host->headers.count &&
           host->receive.free_count == host->receive.count;
}

static int host_listen(struct trial_host *host, plumb_tcp_handler *const *handler) {
    struct plumb_endpoint any = {.port = TRIAL_PORT};
    return plumb_tcp_listen(host->stack, any, 8, on_accept, (void *)(uintptr_t)handler,
                            &host->listener);
}

/* ---- frames in and out ---- */

/* The next frame that the stack has sent. */
static bool collect(struct trial *trial) {
    struct frame *reply = &trial->reply;
    reply->length = plumb_wire_collect(&trial->wire.end[1], trial->now_us, reply->bytes);
    trial->replies += reply->length != 0;
    return reply->length != 0;
}

static void drain(struct trial *trial) {
    while (collect(trial))
        ;
}

/* Polls the stack under attack until it is content. */
static const char *settle(struct trial *trial) {
    for (unsigned turns = 0; turns < 1000; turns++)
        if (plumb_poll(trial->a.stack, trial->now_us) > trial->now_us)
            return 0;
    return "the stack always wants another turn";
}

static const char *inject(struct trial *trial) {
    /* What the frame will be written to held something else before. */
    unsigned used = trial->fragment ? trial->fragment : TRIAL_BUFFER;
    poison(&trial->a.receive, FRAME_LONGEST / used + 1, used);
    CHECK(plumb_wire_inject(&trial->wire.end[0], trial->frame.bytes, trial->frame.length) ==
          PLUMB_OK);
    trial->injected++;
    return settle(trial);
}

/* ---- beginning and end ---- */

const char *trial_begin(struct trial *trial, enum plumb_landing landing, uint16_t fragment,
                        uint64_t seed) {
    struct plumb_wire_end_options ends[2] = {
        {.name = "trial0", .pool = &trial->a.receive, .fragment = fragment},
        {.name = "trial1", .pool = &trial->b.receive, .fragment = fragment},
    };
    ends[0].address = plumb_ethernet_address(address_a);
    ends[1].address = plumb_ethernet_address(address_b);
    ends[0].landing = ends[1].landing = (uint8_t)landing;
    trial->now_us = 1000000;
    trial->injected = trial->dropped = trial->replies = 0;
    trial->waiting = trial->ahead = 0;
    trial->fragment = fragment;
    TRY(host_pools(&trial->a));
    TRY(host_pools(&trial->b));
    CHECK(plumb_wire_create(&trial->wire, trial->frames, TRIAL_FRAMES, seed, ends) == PLUMB_OK);
    TRY(host_attach(&trial->a, &trial->wire.end[0], seed, IPV4_A));
    trial->b.stack = 0;
    trial->hostile = (struct hostile){
        .random = {seed},
        .path = {.from = IPV4_B, .to = IPV4_A, .from_port = 40000, .to_port = TRIAL_PORT},
        .open_port = TRIAL_PORT,
    };
    for (unsigned i = 0; i < 6; i++) {
        trial->hostile.path.from_ethernet[i] = address_b[i];
        trial->hostile.path.to_ethernet[i] = address_a[i];
    }
    CHECK(host_listen(&trial->a, &discard) == PLUMB_OK);
    TRY(settle(trial));
    drain(trial);
    return 0;
}

static void host_end(struct trial_host *host) {
    if (host->stack)
        plumb_destroy(host->stack);
    host->stack = 0;
}

const char *trial_end(struct trial *trial) {
    host_end(&trial->a);
    host_end(&trial->b);
    CHECK(host_quiet(&trial->a));
    CHECK(host_quiet(&trial->b));
    CHECK(trial->wire.end[0].statistics.changed == 0);
    CHECK(trial->wire.end[1].statistics.changed == 0);
    return 0;
}

/* ---- ARP ---- */

/* We ask, the stack answers: its words at both placements are stored right. */
static const char *arp_answered(struct trial *trial) {
    frame_arp(&trial->frame, everyone, 1, address_b, IPV4_B, nobody, IPV4_A);
    TRY(inject(trial));
    CHECK(collect(trial));
    const struct frame *reply = &trial->reply;
    CHECK(frame_get16(reply, 12) == 0x0806 && frame_get16(reply, 20) == 2);
    CHECK(same(reply->bytes, address_b, 6) && same(reply->bytes + 6, address_a, 6));
    CHECK(same(reply->bytes + 22, address_a, 6) && frame_get32(reply, 28) == IPV4_A);
    CHECK(same(reply->bytes + 32, address_b, 6) && frame_get32(reply, 38) == IPV4_B);
    CHECK(!collect(trial));
    return 0;
}

/* The stack asks, we answer: what waited goes out. */
static const char *arp_asked(struct trial *trial) {
    static const uint8_t other[6] = {2, 0, 0, 0, 0, 9};
    const uint32_t address = FRAME_IPV4(10, 0, 0, 9);
    struct plumb_endpoint to = {plumb_put32(address), 9};
    CHECK(plumb_udp_send(trial->a.udp, to, "waits", 5) == PLUMB_OK);
    TRY(settle(trial));
    CHECK(collect(trial));
    const struct frame *sent = &trial->reply;
    CHECK(frame_get16(sent, 12) == 0x0806 && frame_get16(sent, 20) == 1);
    CHECK(same(sent->bytes, everyone, 6) && frame_get32(sent, 28) == IPV4_A);
    CHECK(frame_get32(sent, 38) == address);
    frame_arp(&trial->frame, address_a, 2, other, address, address_a, IPV4_A);
    TRY(inject(trial));
    CHECK(collect(trial));
    CHECK(frame_get16(sent, 12) == 0x0800 && same(sent->bytes, other, 6));
    CHECK(frame_get32(sent, 30) == address && frame_checksums_good(sent));
    CHECK(same(sent->bytes + FRAME_UDP_PAYLOAD, (const uint8_t *)"waits", 5));
    CHECK(!collect(trial));
    return 0;
}

const char *trial_arp(struct trial *trial) {
    TRY(arp_answered(trial));
    return arp_asked(trial);
}

/* ---- attacks ---- */

static uint32_t counter(const struct trial *trial, enum plumb_counter which) {
    return plumb_counter(trial->a.stack, which);
}

/* Incoming frames dropped so far, by all names. */
static uint32_t drops(const struct trial *trial) {
    uint32_t sum = 0;
    for (unsigned i = 0; i < PLUMB_COUNTER_COUNT; i++)
        if (plumb_counter_info(i)->drop)
            sum += counter(trial, (enum plumb_counter)i);
    for (unsigned i = 0; i < PLUMB_NETIF_COUNTER_COUNT; i++)
        if (plumb_netif_counter_info(i)->drop)
            sum += trial->a.netif->counters[i];
    /* These count what was to go out. */
    return sum - counter(trial, PLUMB_COUNTER_arp_queue) -
           counter(trial, PLUMB_COUNTER_arp_no_buffer) -
           counter(trial, PLUMB_COUNTER_ipv4_no_route) -
           counter(trial, PLUMB_COUNTER_ipv4_no_buffer) -
           trial->a.netif->counters[PLUMB_NETIF_tx_error];
}

/* Frames that their takers count by themselves. */
static uint32_t accepted(const struct trial *trial) {
    return counter(trial, PLUMB_COUNTER_icmp_echo) + trial->a.delivered;
}

/* The ethertype, a tag stepped over; *network is set to what follows. */
static unsigned type_of(const struct frame *frame, unsigned *network) {
    *network = frame->length >= 18 && frame_get16(frame, 12) == 0x8100 ? 18 : 14;
    return frame->length >= *network ? frame_get16(frame, *network - 2) : 0;
}

static bool is_fragment(const struct frame *frame) {
    unsigned network;
    return type_of(frame, &network) == 0x0800 && frame->length >= network + 20 &&
           frame_get16(frame, network + 6) & 0x3fff;
}

/* May this frame be taken without moving a counter of its own? */
static bool may_be_taken(const struct frame *frame) {
    unsigned network, type = type_of(frame, &network);
    if (type == 0x0806 || is_fragment(frame))
        return true;
    if (type != 0x0800 || frame->length < network + 28)
        return false;
    unsigned protocol = frame->bytes[network + 9];
    unsigned icmp = frame->bytes[network + (frame->bytes[network] & 15U) * 4];
    return protocol == 6 || (protocol == 1 && (icmp == 3 || icmp == 11));
}

/* From a segment of ours the attacker learns where we are. */
static void learn(struct trial *trial) {
    const struct frame *reply = &trial->reply;
    if (reply->length < FRAME_TCP_PAYLOAD || frame_get16(reply, 12) != 0x0800 ||
        reply->bytes[23] != 6 || reply->bytes[47] & TCP_RST)
        return;
    trial->hostile.sequence = frame_get32(reply, FRAME_TRANSPORT + 8);
    trial->hostile.acknowledgement =
        frame_get32(reply, FRAME_TRANSPORT + 4) + (reply->bytes[47] & TCP_SYN ? 1 : 0);
}

static bool is_fin(const struct frame *frame) {
    return frame->length >= FRAME_TCP_PAYLOAD && frame_get16(frame, 12) == 0x0800 &&
           frame->bytes[23] == 6 && frame->bytes[47] & TCP_FIN;
}

/* Is the reply an acknowledgement with blocks (RFC 2018)? Payload has no room for them: what
 * the stack's user answers goes by itself. */
static bool tells_blocks(const struct frame *reply) {
    unsigned end = FRAME_TRANSPORT + (reply->bytes[46] >> 4) * 4U;
    if (reply->length < FRAME_TCP_PAYLOAD || frame_get16(reply, 12) != 0x0800 ||
        reply->bytes[23] != 6 || end > reply->length)
        return false;
    for (unsigned i = FRAME_TCP_PAYLOAD; i + 1 < end;) {
        if (reply->bytes[i] == 5)
            return true;
        i += reply->bytes[i] == 1 ? 1U : reply->bytes[i + 1] ? reply->bytes[i + 1] : 40U;
    }
    return false;
}

/* At most one reply (and what had waited for an ARP answer, or tells of fragments or blocks;
 * and, as the user closes when the peer has, a FIN), and nothing in it that was not received. */
static const char *check_replies(struct trial *trial) {
    unsigned network, most = type_of(&trial->frame, &network) == 0x0806 ? 2 : 1, count = 0;
    bool closed = false;
    most += trial->waiting != 0;
    while (collect(trial)) {
        CHECK(!poison_shows(&trial->reply));
        CHECK(frame_checksums_good(&trial->reply));
        learn(trial);
        most += tells_blocks(&trial->reply) && count == 0;
        count += closed || !is_fin(&trial->reply);
        closed |= is_fin(&trial->reply);
    }
    if (count > most)
        return "more than one reply to a frame";
    return 0;
}

const char *trial_strike(struct trial *trial) {
    uint32_t drops_before = drops(trial), accepted_before = accepted(trial);
    uint32_t ahead_before = counter(trial, PLUMB_COUNTER_tcp_reordered);

    TRY(inject(trial));
    uint32_t dropped = drops(trial) - drops_before, taken = accepted(trial) - accepted_before;
    /* A fragment may wait, and end others with itself; a FIN ends what waits past it. */
    CHECK(dropped <= 1 + trial->waiting + trial->ahead);
    CHECK(taken <= 1);
    CHECK(dropped + taken <= 1 + trial->waiting + trial->ahead);
    trial->ahead += counter(trial, PLUMB_COUNTER_tcp_reordered) - ahead_before;
    if (is_fragment(&trial->frame))
        trial->waiting = trial->waiting + 1 - dropped;
    if (!dropped && !taken && !may_be_taken(&trial->frame))
        return "a frame vanished uncounted";
    trial->dropped += dropped;
    return check_replies(trial);
}

const char *trial_wait(struct trial *trial, uint32_t us) {
    trial->now_us += us;
    TRY(settle(trial));
    while (collect(trial))
        learn(trial);
    return 0;
}

const char *trial_attack(struct trial *trial, enum trial_attack kind, uint32_t count) {
    static void (*const make[])(struct hostile *, struct frame *) = {
        [TRIAL_RANDOM] = hostile_random,
        [TRIAL_MUTATED] = hostile_mutated,
        [TRIAL_GOOD] = hostile_good,
        [TRIAL_OPTION_SOUP] = hostile_option_soup,
    };
    while (count--) {
        make[kind](&trial->hostile, &trial->frame);
        TRY(trial_strike(trial));
        if (count % 8 == 0)
            TRY(trial_wait(trial, 1000));
        /* From other ports now and then, so that several connections are met. */
        if (count % 64 == 0)
            trial->hostile.path.from_port =
                (uint16_t)(40000 + random_below(&trial->hostile.random, 20));
    }
    return 0;
}

/* ---- the good exchange ---- */

/* Lets `us` pass for both hosts, or until `*done`. */
static const char *run(struct trial *trial, uint64_t us, const bool *done) {
    uint64_t end = trial->now_us + us;
    unsigned turns = 0;
    for (;;) {
        uint64_t next = plumb_poll(trial->a.stack, trial->now_us);
        uint64_t other = plumb_poll(trial->b.stack, trial->now_us);
        uint64_t due = plumb_wire_due(&trial->wire);
        next = other < next ? other : next;
        next = due < next ? due : next;
        if ((done && *done) || (next > trial->now_us && trial->now_us >= end))
            return 0;
        if (next > trial->now_us) {
            trial->now_us = next < end ? next : end;
            turns = 0;
        } else if (++turns > 10000) {
            return "the stacks always want another turn";
        }
    }
}

static void flow_push(struct trial_flow *flow, struct plumb_tcp *connection) {
    uint8_t bytes[512];
    while (flow->sent < TRIAL_BYTES) {
        unsigned length = TRIAL_BYTES - flow->sent;
        if (length > sizeof bytes)
            length = sizeof bytes;
        for (unsigned i = 0; i < length; i++)
            bytes[i] = pattern(flow->sent + i);
        int taken = plumb_tcp_send(connection, bytes, length);
        if (taken <= 0)
            return;
        flow->sent += (uint32_t)taken;
        if (flow->sent == TRIAL_BYTES)
            plumb_tcp_shutdown(connection);
    }
}

static void flow_pull(struct trial_flow *flow, struct plumb_tcp *connection) {
    uint8_t bytes[512];
    int length;
    while ((length = plumb_tcp_read(connection, bytes, sizeof bytes)) > 0)
        for (int i = 0; i < length; i++)
            flow->wrong |= bytes[i] != pattern(flow->echoed++);
}

static void on_flow(struct plumb_tcp *connection, unsigned events, void *context) {
    struct trial_flow *flow = context;
    if (events & PLUMB_TCP_CONNECTED)
        flow->connected = true;
    flow_pull(flow, connection);
    if (events & PLUMB_TCP_CLOSED) {
        flow->error = plumb_tcp_error(connection);
        flow->closed = true;
        return;
    }
    flow_push(flow, connection);
    if (events & PLUMB_TCP_PEER_CLOSED && flow->echoed == TRIAL_BYTES) {
        plumb_tcp_close(connection);
        flow->closed = true;
    }
}

/* Sends a pattern to the other's echo and compares what comes back. */
static const char *tcp_exchange(struct trial *trial, struct trial_host *from, uint32_t to) {
    struct plumb_endpoint remote = {plumb_put32(to), TRIAL_PORT};
    struct plumb_tcp *connection;
    trial->flow = (struct trial_flow){0};
    CHECK(plumb_tcp_connect(from->stack, remote, 0, on_flow, &trial->flow, &connection) ==
          PLUMB_OK);
    TRY(run(trial, 60000000, &trial->flow.closed));
    CHECK(trial->flow.connected);
    CHECK(!trial->flow.wrong);
    CHECK(trial->flow.echoed == TRIAL_BYTES);
    CHECK(trial->flow.closed && trial->flow.error == PLUMB_OK);
    return run(trial, 5000000, 0);
}

static const char *udp_exchange(struct trial *trial, struct trial_host *from, struct trial_host *to,
                                uint32_t address) {
    struct plumb_endpoint remote = {plumb_put32(address), TRIAL_PORT};
    uint32_t before = to->delivered;
    to->datagram_length = 0;
    CHECK(plumb_udp_send(from->udp, remote, "datagram", 8) == PLUMB_OK);
    TRY(run(trial, 3000000, 0));
    CHECK(to->delivered == before + 1 && to->datagram_length == 8);
    CHECK(same(to->datagram, (const uint8_t *)"datagram", 8));
    return 0;
}

static const char *ping(struct trial *trial) {
    uint32_t before = counter(trial, PLUMB_COUNTER_icmp_echo);
    frame_icmp(&trial->frame, &trial->hostile.path, 8, 0, 0x12340001, "ping", 4);
    TRY(inject(trial));
    CHECK(counter(trial, PLUMB_COUNTER_icmp_echo) == before + 1);
    while (collect(trial))
        if (frame_get16(&trial->reply, 12) == 0x0800 && trial->reply.bytes[23] == 1)
            return frame_get16(&trial->reply, FRAME_TRANSPORT) == 0 ? 0 : "not an echo reply";
    return "no echo reply";
}

/* Lets what the attack left die: time passes, nobody answers. */
static const char *calm(struct trial *trial, uint64_t us) {
    uint64_t end = trial->now_us + us;
    for (;;) {
        TRY(settle(trial));
        drain(trial);
        uint64_t next = plumb_poll(trial->a.stack, trial->now_us);
        if (trial->now_us >= end)
            return 0;
        trial->now_us = next < end ? next : end;
    }
}

const char *trial_exchange(struct trial *trial) {
    TRY(calm(trial, CALM_US));
    frame_arp(&trial->frame, address_a, 1, address_b, IPV4_B, address_a, IPV4_A);
    TRY(inject(trial));
    drain(trial);
    TRY(ping(trial));
    drain(trial);
    plumb_tcp_unlisten(trial->a.listener);
    CHECK(host_listen(&trial->a, &echo) == PLUMB_OK);
    TRY(host_attach(&trial->b, &trial->wire.end[1], trial->hostile.random.state, IPV4_B));
    CHECK(host_listen(&trial->b, &echo) == PLUMB_OK);
    TRY(run(trial, 1000000, 0));
    TRY(udp_exchange(trial, &trial->b, &trial->a, IPV4_A));
    TRY(udp_exchange(trial, &trial->a, &trial->b, IPV4_B));
    TRY(tcp_exchange(trial, &trial->b, IPV4_A));
    return tcp_exchange(trial, &trial->a, IPV4_B);
}
