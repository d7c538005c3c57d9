/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Segments near what is expected, time and the user's calls, into a connection that begins in
 * each state of TCP, with options and without: what is read is what was sent, in order; what
 * the stack sends is what its user gave; what holds of a connection (src/tcp/tcp.h) holds
 * after each step; and in the end every buffer is at home.
 *
 * The input is a byte for the situation, one for what is missing from the pools, and steps of
 * 16 bytes, struct step.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes/bytes.h"
#include "live.h"
#include "random.h"
#include "stack/stack.h"
#include "tcp/tcp.h"

enum { HEAD = 2, STEP = 16, STEPS_MOST = 48, PORT = 7, PEER_PORT = 4000 };

enum kind { SEGMENT, SEGMENTS_SAME, TIME, SEND, READ, SHUT, CLOSE, ABORT, SETTING, ICMP, KINDS };

enum flag { STAMPED = 1, BLOCKS = 2, RAW = 4, UNSETTLED = 8, WRONG = 16, FAR = 32 };

struct step {
    uint8_t kind;   /* enum kind, by what remains */
    uint8_t tcp;    /* flags of the header */
    uint8_t flags;  /* enum flag */
    uint8_t length; /* of payload, in steps of 8 bytes */
    int16_t ahead;  /* from the number expected; times 4096 when far */
    int16_t acked;  /* from all that was sent */
    uint16_t window;
    int8_t option[6]; /* SACK blocks from what is acknowledged, in steps of 64; or raw */
};
_Static_assert(sizeof(struct step) == STEP, "steps lie side by side");

/* Where the peer and the user of the connection are. */
struct mine {
    struct plumb_tcp *connection; /* null: the user has none */
    struct plumb_tcp_listener *listener;
    uint32_t sequence, acknowledgement; /* what the stack expects, and all that it has sent */
    uint32_t stamp, echo;
    bool silent; /* what arrives is left unread */
};

struct situation {
    struct mine mine;
    struct live live;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

static struct mine mine;
static struct frame frame, sent;

/* ---- the user ---- */

/* What either side sends at a number, whichever the connection. */
static uint8_t byte_of(uint32_t sequence) {
    return (uint8_t)(sequence * 7 + (sequence >> 8) * 13);
}

static void read_all(struct plumb_tcp *connection) {
    uint8_t bytes[512];
    uint32_t sequence = connection->receive_next - connection->receive_queued -
                        !!(connection->flags & PL_TCP_FIN_RECEIVED);
    int length;

    while ((length = plumb_tcp_read(connection, bytes, sizeof bytes)) > 0)
        for (int i = 0; i < length; i++)
            live_expect(bytes[i] == byte_of(sequence++), "a wrong byte is read");
}

static void on_event(struct plumb_tcp *connection, unsigned events, void *context) {
    (void)context;
    if (!mine.silent || events & PLUMB_TCP_CLOSED)
        read_all(connection);
    if (events & PLUMB_TCP_CLOSED)
        mine.connection = NULL;
}

static void on_accept(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                      void *context) {
    (void)listener;
    (void)context;
    if (mine.connection)
        return; /* and it is refused */
    mine.connection = connection;
    plumb_tcp_set_handler(connection, on_event, NULL);
}

static void user_sends(unsigned length) {
    uint8_t bytes[2048];

    if (!mine.connection)
        return;
    length = length % sizeof bytes;
    uint32_t sequence = mine.connection->send_unacked + mine.connection->send_queued;
    for (unsigned i = 0; i < length; i++)
        bytes[i] = byte_of(sequence + i);
    int taken = plumb_tcp_send(mine.connection, bytes, length);
    live_expect(taken <= (int)length, "more was taken than was given");
}

static void user_sets(const struct step *step) {
    if (!mine.connection)
        return;
    switch (step->flags % 6) {
    case 0:
        plumb_tcp_set_option(mine.connection, PLUMB_TCP_NODELAY, step->tcp & 1);
        break;
    case 1:
        plumb_tcp_set_option(mine.connection, PLUMB_TCP_KEEPALIVE, step->window);
        break;
    case 2:
        plumb_tcp_set_option(mine.connection, PLUMB_TCP_RECEIVE_BUFFER, step->window);
        break;
    case 3:
        plumb_tcp_set_option(mine.connection, PLUMB_TCP_SEND_BUFFER, step->window);
        break;
    case 4:
        plumb_tcp_set_option(mine.connection, PLUMB_TCP_CONGESTION, step->tcp & 1);
        break;
    default:
        mine.silent ^= true;
    }
}

/* ---- what the stack sends ---- */

/* The stack's clock, to be echoed. */
static void learn_stamp(unsigned end) {
    for (unsigned at = FRAME_TCP_PAYLOAD; at + 10 <= end && sent.bytes[at];) {
        if (sent.bytes[at] == 8)
            mine.echo = frame_get32(&sent, at + 2);
        at += sent.bytes[at] == 1 ? 1U : sent.bytes[at + 1] < 2 ? 40U : sent.bytes[at + 1];
    }
}

static void learn(void) {
    if (sent.length < FRAME_TCP_PAYLOAD || frame_get16(&sent, 12) != 0x0800 || sent.bytes[23] != 6)
        return;
    unsigned flags = sent.bytes[47], end = FRAME_TRANSPORT + (sent.bytes[46] >> 4) * 4U;
    uint32_t sequence = frame_get32(&sent, FRAME_TRANSPORT + 4);
    live_expect(end >= FRAME_TCP_PAYLOAD && end <= sent.length, "a wrong data offset is sent");
    if (flags & TCP_RST || frame_get16(&sent, FRAME_TRANSPORT) != PORT)
        return;
    if (flags & TCP_SYN)
        mine.acknowledgement = sequence + 1;
    if (flags & TCP_ACK)
        mine.sequence = frame_get32(&sent, FRAME_TRANSPORT + 8);
    learn_stamp(end);
    for (unsigned i = end; i < sent.length; i++)
        live_expect(sent.bytes[i] == byte_of(sequence + i - end), "a wrong byte is sent");
    uint32_t next = sequence + (sent.length - end) + !!(flags & (TCP_SYN | TCP_FIN));
    if ((int32_t)(next - mine.acknowledgement) > 0)
        mine.acknowledgement = next;
}

/* ---- what holds of a connection ---- */

static void check_reordered(const struct plumb_tcp *connection) {
    unsigned count = 0;
    const struct plumb_packet *before = NULL;

    for (const struct plumb_packet *p = connection->reordered; p;
         before = p, p = p->next, count++) {
        live_expect(!pl_before(p->sequence, connection->receive_next), "what is old waits");
        live_expect(!before || !pl_before(p->sequence, before->sequence), "what waits is unsorted");
    }
    live_expect(count == connection->reordered_count, "what waits is miscounted");
}

static void check_queues(const struct plumb_tcp *connection) {
    uint32_t queued = 0, unread = 0, sequence = connection->send_unacked;
    bool found = !connection->send_unsent;

    if (connection->state >= PLUMB_TCP_STATE_ESTABLISHED)
        for (const struct plumb_packet *p = connection->send_first; p; p = p->next) {
            live_expect(p->sequence == sequence, "the send queue has a gap");
            live_expect(p->total == p->length && p->total, "a segment that is none");
            sequence += p->total;
            queued += p->total;
            found |= p == connection->send_unsent;
            live_expect(p->next || p == connection->send_last, "the last segment is another");
        }
    live_expect(connection->state < PLUMB_TCP_STATE_ESTABLISHED ||
                    (queued == connection->send_queued && found),
                "the send queue is miscounted");
    for (const struct plumb_packet *p = connection->receive_first; p; p = p->next)
        unread += p->total;
    live_expect(unread == connection->receive_queued, "what is unread is miscounted");
}

/* What has something to send, or to end by itself, has a time when it is looked at again. */
static void check_time(const struct plumb_tcp *connection) {
    const uint16_t fin = PL_TCP_FIN_QUEUED | PL_TCP_FIN_SENT;
    bool sends = connection->send_first || connection->send_unacked != connection->send_most ||
                 (connection->flags & fin) == PL_TCP_FIN_QUEUED;

    if (connection->state == PLUMB_TCP_STATE_TIME_WAIT)
        live_expect(pl_tcp_has_deadline(connection, PL_TCP_IDLE), "TIME_WAIT for ever");
    else if (sends)
        live_expect(pl_tcp_has_deadline(connection, PL_TCP_RETRANSMIT) ||
                        pl_tcp_has_deadline(connection, PL_TCP_RETRY),
                    "something is never sent again");
    if (connection->state == PLUMB_TCP_STATE_FIN_WAIT_2 && !(connection->flags & PL_TCP_USER))
        live_expect(pl_tcp_has_deadline(connection, PL_TCP_IDLE), "FIN_WAIT_2 for ever");
    live_expect(!(connection->deadlines & ((1U << PL_TCP_DEADLINES) - 1)) ||
                    plumb_timer_running(pl_tcp_timer((struct plumb_tcp *)(uintptr_t)connection)),
                "a deadline without a timer");
}

static void check_connections(void) {
    const struct pl_tcp_state *tcp = pl_layer_state(live.host[0].stack, &pl_tcp_layer);

    for (unsigned i = 0; i < CONFIG_PLUMB_TCP_CONNECTIONS; i++) {
        const struct plumb_tcp *connection = &tcp->connections[i];
        if (connection->state == PLUMB_TCP_STATE_CLOSED)
            continue;
        live_expect(!pl_after(connection->send_unacked, connection->send_next) &&
                        !pl_after(connection->send_next, connection->send_most),
                    "send numbers are out of order");
        live_expect(!pl_after(connection->receive_next, connection->receive_edge),
                    "more was taken than was offered");
        live_expect(connection->state < PLUMB_TCP_STATE_ESTABLISHED || connection->mss >= 36,
                    "a size that is none");
        check_time(connection);
        check_queues(connection);
        check_reordered(connection);
    }
}

/* The stack comes to rest, and what it has sent is looked at. */
static void settle(void) {
    unsigned count = 0;

    live_settle();
    while (live_take(&sent)) {
        learn();
        live_expect(++count <= 2 * LIVE_QUEUE, "there is no end to what is sent");
    }
    check_connections();
}

/* ---- what is sent to it ---- */

static struct frame_path path_in(void) {
    return (struct frame_path){.from_ethernet = {2, 0, 0, 0, 0, 2},
                               .to_ethernet = {2, 0, 0, 0, 0, 1},
                               .from = FRAME_IPV4(10, 0, 0, 2),
                               .to = FRAME_IPV4(10, 0, 0, 1),
                               .from_port = PEER_PORT,
                               .to_port = PORT};
}

static void put32(uint8_t *to, uint32_t value) {
    for (unsigned i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> (24 - 8 * i));
}

static const uint8_t syn_options[] = {2, 4, 5, 0xb4, 1, 3, 3, 2, 4, 2, 1, 1};

/* Writes the options of a step, whole words of them; returns their length. */
static unsigned write_options(const struct step *step, uint8_t *to) {
    unsigned length = 0;

    if (step->flags & STAMPED) {
        memcpy(to, (const uint8_t[]){1, 1, 8, 10}, 4);
        put32(to + 4, mine.stamp + (step->flags & RAW ? (uint32_t)step->option[5] : 0U));
        put32(to + 8, mine.echo);
        length = 12;
    }
    if (step->tcp & TCP_SYN) {
        memcpy(to + length, syn_options, sizeof syn_options);
        return length + sizeof syn_options;
    }
    if (step->flags & BLOCKS) {
        unsigned blocks = 1 + (unsigned)(step->length & 1) + (step->option[0] & 1);
        memcpy(to + length, (const uint8_t[]){1, 1, 5, (uint8_t)(2 + 8 * blocks)}, 4);
        length += 4;
        for (unsigned i = 0; i < 2 * blocks; i++, length += 4)
            put32(to + length, mine.acknowledgement + (uint32_t)(step->option[i % 6] * 64));
    } else if (step->flags & RAW) {
        memcpy(to + length, step->option, 6);
        to[length + 6] = to[length + 7] = 0;
        length += 8;
    }
    return length;
}

static void give_segment(const struct step *step) {
    const struct frame_path path = path_in();
    uint8_t options[40], payload[2040];
    unsigned length = step->length * 8U;
    uint32_t sequence = mine.sequence + (uint32_t)step->ahead * (step->flags & FAR ? 4096U : 1U);

    length = length > 1400 ? length % 1400 : length;
    for (unsigned i = 0; i < length; i++)
        payload[i] = byte_of(sequence + i);
    if (step->tcp & TCP_SYN)
        length = 0;
    unsigned written = write_options(step, options);
    frame_tcp(&frame, &path, sequence, mine.acknowledgement + (uint32_t)step->acked, step->tcp,
              step->window, options, written, payload, length);
    if (step->flags & WRONG && step->option[0] == 77)
        frame.bytes[FRAME_TRANSPORT + 16] ^= 1;
    live_give(&frame);
    mine.stamp++;
}

/* An error about the oldest segment out. */
static void give_error(const struct step *step) {
    const struct frame_path path = path_in(), back = frame_path_back(&path);
    struct frame quoted;

    frame_tcp(&quoted, &back, mine.acknowledgement + (uint32_t)step->acked - 1, mine.sequence,
              TCP_ACK, 1000, 0, 0, frame.bytes, step->length);
    frame_icmp(&frame, &path, step->flags & 1 ? 3 : 11, step->tcp % 6, step->window,
               quoted.bytes + FRAME_NETWORK, 28);
    live_give(&frame);
}

static void user_ends(const struct step *step, enum kind kind) {
    if (!mine.connection)
        return;
    if (kind == SHUT) {
        plumb_tcp_shutdown(mine.connection);
        return;
    }
    if (kind == CLOSE && step->flags & 1)
        read_all(mine.connection);
    if (kind == CLOSE)
        plumb_tcp_close(mine.connection);
    else
        plumb_tcp_abort(mine.connection);
    mine.connection = NULL;
}

static void take_step(const struct step *step) {
    enum kind kind = step->kind % KINDS;

    switch (kind) {
    case TIME:
        live_wait((uint32_t)step->window << (step->flags % 12));
        break;
    case SEND:
        user_sends(step->window);
        break;
    case READ:
        if (mine.connection)
            read_all(mine.connection);
        break;
    case SHUT:
    case CLOSE:
    case ABORT:
        user_ends(step, kind);
        break;
    case SETTING:
        user_sets(step);
        break;
    case ICMP:
        give_error(step);
        break;
    default:
        give_segment(step);
        if (step->flags & UNSETTLED)
            return; /* another comes in the same poll */
    }
    settle();
}

/* ---- situations ---- */

enum { STATES = 14, SITUATIONS = 2 * STATES };

static struct situation *situations[SITUATIONS];
static bool with_options;

/* A step with exactly these flags, at the numbers expected. */
static void peer(unsigned flags, unsigned eighths) {
    const struct step step = {.tcp = (uint8_t)flags,
                              .length = (uint8_t)eighths,
                              .flags = with_options ? STAMPED : 0,
                              .window = 8000};
    take_step(&step);
}

static void peer_begins(void) {
    const struct frame_path path = path_in();
    uint8_t options[24];
    const struct step syn = {.tcp = TCP_SYN, .flags = STAMPED};
    unsigned length = with_options ? write_options(&syn, options) : 0;

    mine.sequence = 100000;
    mine.stamp = 5;
    frame_tcp(&frame, &path, mine.sequence, 0, TCP_SYN, 8000, options, length, 0, 0);
    live_give(&frame);
    settle();
}

static void user_begins(void) {
    struct plumb_endpoint there = {plumb_put32(FRAME_IPV4(10, 0, 0, 2)), PEER_PORT};

    mine.sequence = 100000;
    plumb_tcp_unlisten(mine.listener);
    mine.listener = NULL;
    live_expect(
        !plumb_tcp_connect(live.host[0].stack, there, PORT, on_event, NULL, &mine.connection),
        "no connection");
    settle();
}

static void establish(void) {
    peer_begins();
    peer(TCP_ACK, 0);
    live_expect(mine.connection != NULL, "nothing is established");
}

/* A gap, and something behind it. */
static void leave_gap(void) {
    const struct step step = {.tcp = TCP_ACK,
                              .length = 20,
                              .ahead = 500,
                              .flags = with_options ? STAMPED : 0,
                              .window = 8000};
    take_step(&step);
}

static void reach(unsigned state) {
    if (state == 0)
        return; /* a listener */
    if (state == 1) {
        user_begins();
        return;
    }
    if (state == 2) { /* both at once */
        user_begins();
        peer(TCP_SYN, 0);
        return;
    }
    if (state == 3) {
        peer_begins();
        return;
    }
    establish();
    if (state == 5 || state == 6) { /* with something out, and with a gap */
        user_sends(1900);
        settle();
        if (state == 6)
            leave_gap();
    }
    if (state == 7) /* nobody reads */
        mine.silent = true;
    if (state == 8 || state == 12) /* CLOSE_WAIT, and LAST_ACK by what follows */
        peer(TCP_ACK | TCP_FIN, 2);
    if (state >= 9)
        plumb_tcp_shutdown(mine.connection); /* FIN_WAIT_1 */
    settle();
    if (state == 10 || state == 13) /* FIN_WAIT_2, TIME_WAIT */
        peer(TCP_ACK, 0);
    if (state == 13)
        peer(TCP_ACK | TCP_FIN, 2);
    if (state == 11) { /* CLOSING */
        const struct step fin = {.tcp = TCP_ACK | TCP_FIN,
                                 .acked = -1,
                                 .window = 8000,
                                 .flags = with_options ? STAMPED : 0};
        take_step(&fin);
    }
}

static void prepare(unsigned index) {
    const struct frame_path path = path_in();
    struct plumb_endpoint any = {.port = PORT};
    static const uint8_t nobody[6];

    live_create(1);
    mine = (struct mine){0};
    with_options = index & 1;
    live_expect(!plumb_tcp_listen(live.host[0].stack, any, 2, on_accept, NULL, &mine.listener),
                "no listener");
    frame_arp(&frame, path.to_ethernet, 1, path.from_ethernet, path.from, nobody, path.to);
    live_give(&frame);
    settle();
    reach(index / 2);
    settle();
    situations[index] = malloc(sizeof *situations[index]);
    situations[index]->mine = mine;
    memcpy(&situations[index]->live, &live, live_size());
}

/* ---- running ---- */

/* Packets that somebody else has: of each pool so many quarters. */
static struct plumb_packet *hog(struct plumb_pool *pool, unsigned quarters,
                                struct plumb_packet *before) {
    unsigned leave = pool->count - pool->count * quarters / 4U;

    while (pool->free_count > leave) {
        struct plumb_packet *packet = plumb_packet_take(pool, 0);
        packet->next = before;
        before = packet;
    }
    return before;
}

static void put_all(struct plumb_packet *packet) {
    while (packet) {
        struct plumb_packet *next = packet->next;
        plumb_packet_put(packet);
        packet = next;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct plumb_packet *taken = NULL;
    struct step step;

    if (!situations[0])
        for (unsigned i = 0; i < SITUATIONS; i++)
            prepare(i);
    if (size < HEAD)
        return 0;
    const struct situation *situation = situations[data[0] % SITUATIONS];
    memcpy(&live, &situation->live, live_size());
    mine = situation->mine;
    taken = hog(&live.host[0].segments, data[1] & 3, taken);
    taken = hog(&live.host[0].headers, data[1] >> 2 & 3, taken);
    taken = hog(&live.host[0].receive, data[1] >> 4 & 3, taken);
    data += HEAD;
    size -= HEAD;
    for (unsigned count = 0; size >= STEP && count < STEPS_MOST; count++) {
        memcpy(&step, data, STEP);
        take_step(&step);
        data += STEP;
        size -= STEP;
    }
    settle();
    put_all(taken);
    settle();
    live_end();
    return 0;
}

/* ---- mutating ---- */

/* A step that does something where the connection is. */
static struct step new_step(struct random *random) {
    static const uint8_t flags[] = {
        TCP_ACK, TCP_ACK,           TCP_ACK | TCP_PSH, TCP_ACK | TCP_FIN, TCP_RST,
        TCP_SYN, TCP_SYN | TCP_ACK, TCP_ACK | TCP_URG, TCP_ACK | TCP_ECE, TCP_FIN,
        0};
    static const int16_t near[] = {0, 0, 0, 0, -1, 1, -8, 8, 100, 500, 568, 1136, -568, 8000};
    const unsigned nears = sizeof near / sizeof *near;
    struct step step = {
        .kind = (uint8_t)(random_below(random, 3) ? SEGMENT : random_below(random, KINDS)),
        .tcp = flags[random_below(random, sizeof flags)],
        .flags = (uint8_t)(random_next(random) & (STAMPED | BLOCKS | UNSETTLED)),
        .length = (uint8_t)(random_below(random, 2) ? random_below(random, 180) : 0),
        .ahead = near[random_below(random, nears)],
        .acked = (int16_t)-near[random_below(random, nears)],
        .window = (uint16_t)random_next(random)};

    for (unsigned i = 0; i < sizeof step.option; i++)
        step.option[i] = (int8_t)(random_below(random, 40) - 36);
    return step;
}

static void mutate(uint8_t *steps, unsigned *count, unsigned most, struct random *random) {
    unsigned at = *count ? random_below(random, *count) : 0;
    uint8_t *here = steps + (size_t)at * STEP;
    unsigned what = *count ? random_below(random, 8) : 0;

    if (what < 3 && *count < most) { /* one more, new or the same again */
        const struct step step = new_step(random);
        memmove(here + STEP, here, (size_t)(*count - at) * STEP);
        if (what < 2)
            memcpy(here, &step, STEP);
        ++*count;
    } else if (what == 3) {
        memmove(here, here + STEP, (size_t)(--*count - at) * STEP);
    } else if (what == 4) {
        uint8_t held[STEP], *other = steps + (size_t)random_below(random, *count) * STEP;
        memcpy(held, here, STEP);
        memcpy(here, other, STEP);
        memcpy(other, held, STEP);
    } else {
        LLVMFuzzerMutate(here, STEP, STEP);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    struct random random = {seed};
    unsigned room = most < HEAD + STEP ? 0 : (unsigned)(most - HEAD) / STEP;
    unsigned count = size < HEAD ? 0 : (unsigned)(size - HEAD) / STEP;

    if (most < HEAD + STEP)
        return size;
    if (size < HEAD)
        data[0] = data[1] = 0;
    if (!random_below(&random, 8))
        data[0] = (uint8_t)random_below(&random, SITUATIONS);
    if (!random_below(&random, 16))
        data[1] = random_below(&random, 2) ? 0 : (uint8_t)random_next(&random);
    for (unsigned times = 1 + random_below(&random, 3); times--;)
        mutate(data + HEAD, &count, room < STEPS_MOST ? room : STEPS_MOST, &random);
    return HEAD + (size_t)count * STEP;
}
