/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The scenes with TCP: see scenes_tcp.h. */
#include "scenes_tcp.h"

#include <string.h>

enum { BYTES = 6000, LENT = 4, LENT_BYTES = 2000, LIMIT_S = 400 };

struct end {
    struct flow *flow;
    struct end *other;
    struct plumb_tcp *connection; /* null before and after */
    uint32_t sent, got, seed;
    unsigned variant;
    bool active, wrong, heard_end, over;
    int error;
};

struct flow {
    struct stage *stage;
    struct end a, b;
    struct plumb_tcp_listener *listener;
    struct plumb_reference lent[LENT];
    unsigned lent_next, released;
    uint32_t may_read_ms; /* b reads from then on */
    bool too_long;        /* a router has a word for a */
    struct frame word;
    uint8_t bytes[BYTES + LENT * LENT_BYTES];
};

/* ---- the user at either end ---- */

static uint32_t wanted(const struct end *end) {
    return end->variant == REFERENCE && end->active ? LENT * LENT_BYTES : BYTES;
}

static void released(struct plumb_reference *reference) {
    struct flow *flow = reference->context;
    flow->released++;
}

static void lend(struct end *end) {
    struct flow *flow = end->flow;
    while (flow->lent_next < LENT) {
        struct plumb_reference *lent = &flow->lent[flow->lent_next];
        *lent = (struct plumb_reference){.memory = flow->bytes + flow->lent_next * LENT_BYTES,
                                         .length = LENT_BYTES,
                                         .release = released,
                                         .context = flow};
        int result = plumb_tcp_send_reference(end->connection, lent);
        if (result != PLUMB_OK) {
            flow->stage->told += result != PLUMB_ERROR_CLOSED;
            return;
        }
        end->sent += LENT_BYTES;
        flow->lent_next++;
    }
}

static void push(struct end *end) {
    uint8_t bytes[700];
    if (end->variant == HALF && !end->active && !end->heard_end)
        return;
    if (end->variant == REFERENCE && end->active) {
        lend(end);
        return;
    }
    while (end->sent < BYTES) {
        uint32_t length = BYTES - end->sent;
        length = length < sizeof bytes ? length : sizeof bytes;
        for (uint32_t i = 0; i < length; i++)
            bytes[i] = pattern_at(end->seed, end->sent + i);
        size_t room = plumb_tcp_writable(end->connection);
        int taken = plumb_tcp_send(end->connection, bytes, length);
        if (taken < 0)
            return;
        end->flow->stage->told += (size_t)taken < (room < length ? room : length);
        end->sent += (uint32_t)taken;
        if ((uint32_t)taken < length)
            return;
    }
}

static void pull(struct end *end) {
    uint8_t bytes[700];
    int length;
    if (!end->active && plumb_now_ms(end->flow->stage->world->b.stack) < end->flow->may_read_ms)
        return;
    while ((length = plumb_tcp_read(end->connection, bytes, sizeof bytes)) > 0)
        for (int i = 0; i < length; i++)
            end->wrong |= bytes[i] != pattern_at(end->other->seed, end->got++);
}

static void leave(struct end *end) {
    plumb_tcp_close(end->connection);
    end->connection = NULL;
    end->over = true;
}

/* Ends its part of it when its turn has come. */
static void finish(struct end *end) {
    bool all = end->sent == wanted(end) && end->got == wanted(end->other);
    if (end->variant == ABORT && end->active) {
        if (!all || end->other->got < wanted(end))
            return;
        plumb_tcp_abort(end->connection);
        end->connection = NULL;
        end->over = true;
    } else if (end->variant == BOTH || (end->variant == HALF && end->active)) {
        if (end->sent == wanted(end))
            plumb_tcp_shutdown(end->connection);
        if (all && end->heard_end)
            leave(end);
    } else if (all && (end->heard_end || end->active != (end->variant == B_FIRST))) {
        if (end->variant != ABORT)
            leave(end);
    }
}

static void on_event(struct plumb_tcp *connection, unsigned events, void *context) {
    struct end *end = context;
    pull(end);
    end->heard_end |= events & PLUMB_TCP_PEER_CLOSED;
    if (events & PLUMB_TCP_CLOSED) {
        end->error = plumb_tcp_error(connection);
        end->over = true;
        end->connection = NULL;
        return;
    }
    push(end);
    finish(end);
}

static void on_accept(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                      void *context) {
    struct flow *flow = context;
    (void)listener;
    if (flow->b.connection || flow->b.over)
        return;
    flow->b.connection = connection;
    plumb_tcp_set_handler(connection, on_event, &flow->b);
    plumb_tcp_set_option(connection, PLUMB_TCP_KEEPALIVE, 5000);
    push(&flow->b);
}

/* ---- around it ---- */

/* A router that passes no more than 800 bytes, and says so. */
static bool narrow(void *context, uint8_t *bytes, uint16_t length) {
    struct flow *flow = context;
    if (length <= 800 || bytes[12] != 8 || bytes[23] != 6)
        return true;
    struct frame_path path = world_path(flow->stage->world, 0, 0);
    frame_icmp(&flow->word, &path, 3, 4, 786, bytes + FRAME_NETWORK, 28);
    flow->too_long = true;
    return false;
}

/* The reader comes to read, the router gets to its word, the other's bytes are seen. */
static void turn(struct world *world, void *context) {
    struct flow *flow = context;
    if (flow->too_long) {
        flow->too_long = false;
        plumb_wire_inject(world->a.end, flow->word.bytes, flow->word.length);
    }
    if (flow->a.connection && flow->a.variant == ABORT)
        finish(&flow->a);
    if (flow->b.connection && flow->may_read_ms && plumb_tcp_readable(flow->b.connection) &&
        plumb_now_ms(world->b.stack) >= flow->may_read_ms)
        on_event(flow->b.connection, 0, &flow->b);
}

/* Strangers begin handshakes, and leave it at that. */
static void take_backlog(struct flow *flow) {
    struct world *world = flow->stage->world;
    struct frame_path path = world_path(world, 4000, SCENE_PORT);
    struct frame frame;
    memcpy(path.to_ethernet, world->b.ethernet, 6);
    path.from_ethernet[5] = 77;
    path.to = world->b.address;
    for (unsigned i = 0; i < 3; i++) {
        path.from = FRAME_IPV4(10, 0, 0, 60 + i);
        frame_tcp(&frame, &path, 1000 * i, 0, TCP_SYN, 1000, 0, 0, 0, 0);
        plumb_wire_inject(world->b.end, frame.bytes, frame.length);
        world_settle(world);
    }
}

static bool is_over(void *context) {
    const struct flow *flow = context;
    return flow->a.over && flow->b.over;
}

static bool open_flow(struct flow *flow) {
    struct world *world = flow->stage->world;
    unsigned variant = flow->stage->scene->variant;
    int result = plumb_tcp_listen(world->b.stack, endpoint_of(0, SCENE_PORT),
                                  variant == COOKIES ? 2 : 4, on_accept, flow, &flow->listener);

    if (result == PLUMB_OK) {
        if (variant == SMALL_WINDOW)
            plumb_tcp_listener_receive_buffer(flow->listener, 2000);
        if (variant == COOKIES)
            take_backlog(flow);
        result = plumb_tcp_connect(world->a.stack, endpoint_of(world->b.address, SCENE_PORT), 0,
                                   on_event, &flow->a, &flow->a.connection);
    }
    flow->stage->told += result != PLUMB_OK;
    return result == PLUMB_OK;
}

/* What is left after a play that did not end well. */
static void clear_away(struct flow *flow) {
    struct end *ends[2] = {&flow->a, &flow->b};
    for (unsigned i = 0; i < 2; i++)
        if (ends[i]->connection)
            plumb_tcp_abort(ends[i]->connection);
    if (flow->listener)
        plumb_tcp_unlisten(flow->listener);
    flow->stage->world->turn = NULL;
    plumb_wire_set_filter(flow->stage->world->a.end, NULL, NULL);
    world_settle(flow->stage->world);
}

static bool ended_well(const struct flow *flow) {
    int b_error = flow->a.variant == ABORT ? PLUMB_ERROR_RESET : PLUMB_OK;
    return is_over((void *)(uintptr_t)flow) && !flow->a.wrong && !flow->b.wrong &&
           flow->a.error == PLUMB_OK && flow->b.error == b_error &&
           flow->a.got == wanted(&flow->b) && flow->b.got == wanted(&flow->a) &&
           (flow->a.variant != REFERENCE || flow->released == LENT);
}

bool play_tcp(struct stage *stage) {
    static struct flow flow;
    unsigned variant = stage->scene->variant;

    flow = (struct flow){.stage = stage};
    flow.a = (struct end){.flow = &flow, .other = &flow.b, .seed = 3, .variant = variant};
    flow.b = (struct end){.flow = &flow, .other = &flow.a, .seed = 4, .variant = variant};
    flow.a.active = true;
    for (uint32_t i = 0; i < sizeof flow.bytes; i++)
        flow.bytes[i] = pattern_at(flow.a.seed, i);
    if (variant == SMALL_WINDOW)
        flow.may_read_ms = plumb_now_ms(stage->world->b.stack) + 3000;
    if (variant == NARROW_PATH)
        plumb_wire_set_filter(stage->world->a.end, narrow, &flow);
    stage->world->turn = turn;
    stage->world->context = &flow;
    if (open_flow(&flow)) {
        stage_run(stage, is_over, &flow, LIMIT_S);
        world_run(stage->world, SECOND);
    }
    bool well = ended_well(&flow);
    clear_away(&flow);
    return well;
}

/* ---- sockets ---- */

struct program {
    struct stage *stage;
    struct plumb_sockets *a, *b;
    int listener, client, server, datagram_a, datagram_b;
    unsigned sent, echoed, back;
    bool wrong, shut, ended, datagram_there;
    uint64_t datagram_due_us;
};

static bool is_told(int result) {
    return result == -PLUMB_ENOBUFS || result == -PLUMB_ENFILE || result == -PLUMB_ECONNRESET;
}

/* Counts what a call tells that it has not got. */
static int heard(struct program *program, int result) {
    program->stage->told += is_told(result);
    return result;
}

static bool is_connected(const struct program *program) {
    struct plumb_sockaddr_in peer;
    plumb_socklen length = sizeof peer;
    return plumb_getpeername(program->a, program->client, &peer, &length) == 0;
}

static void program_send(struct program *program) {
    uint8_t bytes[600];
    if (!is_connected(program))
        return;
    while (program->sent < BYTES) {
        unsigned left = BYTES - program->sent, length = left < sizeof bytes ? left : sizeof bytes;
        for (unsigned i = 0; i < length; i++)
            bytes[i] = pattern_at(5, program->sent + i);
        int taken = plumb_send(program->a, program->client, bytes, length, 0);
        /* All fits the buffer: what is not taken wants packets. */
        program->stage->told += taken < (int)length;
        if (taken <= 0)
            break;
        program->sent += (unsigned)taken;
    }
    if (program->sent == BYTES && !program->shut)
        program->shut = plumb_shutdown(program->a, program->client, PLUMB_SHUT_WR) == 0;
}

/* b sends back what it can, and closes when nothing more comes. */
static void program_echo(struct program *program) {
    uint8_t bytes[600];
    for (;;) {
        int length = plumb_recv(program->b, program->server, bytes, sizeof bytes, PLUMB_MSG_PEEK);
        if (length == 0) {
            plumb_close(program->b, program->server);
            program->server = -1;
            return;
        }
        if (length < 0)
            return;
        int taken = plumb_send(program->b, program->server, bytes, (size_t)length, 0);
        program->stage->told += taken != length;
        if (taken <= 0)
            return;
        plumb_recv(program->b, program->server, bytes, (size_t)taken, 0);
    }
}

static void program_read(struct program *program) {
    uint8_t bytes[600];
    int length;
    while ((length = plumb_recv(program->a, program->client, bytes, sizeof bytes, 0)) > 0)
        for (int i = 0; i < length; i++)
            program->wrong |= bytes[i] != pattern_at(5, program->back++);
    heard(program, length);
    program->ended = length == 0;
}

static void program_datagram(struct program *program) {
    struct plumb_sockaddr_in there =
        plumb_sockaddr_of(endpoint_of(program->stage->world->b.address, SCENE_PORT));
    uint8_t bytes[100] = "datagram";
    if (program->datagram_a < 0 || program->datagram_b < 0)
        return;
    /* Again after a while, as it may be lost. */
    if (program->stage->world->now_us >= program->datagram_due_us) {
        program->datagram_due_us = program->stage->world->now_us + 3 * SECOND;
        heard(program, plumb_sendto(program->a, program->datagram_a, bytes, sizeof bytes, 0, &there,
                                    sizeof there));
    }
    if (plumb_recv(program->b, program->datagram_b, bytes, sizeof bytes, 0) == sizeof bytes)
        program->datagram_there = true;
}

/* One round of what can be done now. */
static bool program_step(void *context) {
    struct program *program = context;
    if (program->server < 0 && !program->echoed && program->listener >= 0) {
        program->server = heard(
            program, plumb_accept4(program->b, program->listener, NULL, NULL, PLUMB_SOCK_NONBLOCK));
        program->echoed = program->server >= 0;
    }
    program_send(program);
    if (program->server >= 0)
        program_echo(program);
    program_read(program);
    program_datagram(program);
    return program->ended && program->server < 0 && program->datagram_there;
}

static bool program_open(struct program *program) {
    struct plumb_sockaddr_in any = plumb_sockaddr_of(endpoint_of(0, SCENE_PORT)),
                             there = plumb_sockaddr_of(
                                 endpoint_of(program->stage->world->b.address, SCENE_PORT));
    const int stream = PLUMB_SOCK_STREAM | PLUMB_SOCK_NONBLOCK,
              datagram = PLUMB_SOCK_DGRAM | PLUMB_SOCK_NONBLOCK;
    program->listener = heard(program, plumb_socket(program->b, PLUMB_AF_INET, stream, 0));
    program->datagram_b = heard(program, plumb_socket(program->b, PLUMB_AF_INET, datagram, 0));
    program->datagram_a = heard(program, plumb_socket(program->a, PLUMB_AF_INET, datagram, 0));
    program->client = heard(program, plumb_socket(program->a, PLUMB_AF_INET, stream, 0));
    if (program->listener < 0 || program->datagram_b < 0 || program->client < 0)
        return false;
    int bound = plumb_bind(program->b, program->listener, &any, sizeof any);
    int told = heard(program, plumb_bind(program->b, program->datagram_b, &any, sizeof any));
    int listening = heard(program, plumb_listen(program->b, program->listener, 2));
    int begun = heard(program, plumb_connect(program->a, program->client, &there, sizeof there));
    program->stage->told += begun == -PLUMB_EADDRNOTAVAIL || begun == -PLUMB_EAGAIN;
    return !bound && !told && !listening && begun == -PLUMB_EINPROGRESS;
}

bool play_sockets(struct stage *stage) {
    struct program program = {
        .stage = stage, .a = stage->sockets[0], .b = stage->sockets[1], .server = -1};

    bool well = program_open(&program);
    if (well)
        stage_run(stage, program_step, &program, LIMIT_S);
    well =
        well && program.ended && program.back == BYTES && !program.wrong && program.datagram_there;
    plumb_close(program.a, program.client);
    plumb_close(program.a, program.datagram_a);
    plumb_close(program.b, program.server);
    plumb_close(program.b, program.listener);
    plumb_close(program.b, program.datagram_b);
    return well;
}
