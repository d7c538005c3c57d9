/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * How connections begin and end, and settling.
 */
#include "tcp/tcp.h"

#include "bytes/bytes.h"
#include "inet/ports.h"

/* Well within the 2^31 ms that a timer takes, probes included. */
#define LONGEST_KEEPALIVE_MS (7U * 24 * 3600 * 1000)

/* Ports passed over at most, at random. */
#define PORT_STEP 8

static bool is_free(const struct plumb_tcp *connection) {
    return connection->state == PLUMB_TCP_STATE_CLOSED &&
           !(connection->flags & (PL_TCP_USER | PL_TCP_PENDING));
}

/* Which of two that may give way goes first: any TIME_WAIT before any abandoned
 * FIN_WAIT_2, then the one that would end first. */
static bool gives_way_before(const struct plumb_tcp *a, const struct plumb_tcp *b) {
    if (a->state != b->state)
        return a->state == PLUMB_TCP_STATE_TIME_WAIT;
    return pl_before(a->deadline_ms[PL_TCP_IDLE], b->deadline_ms[PL_TCP_IDLE]);
}

/* A free slot, or else the one that gives way first, or null. */
static struct plumb_tcp *find_slot(struct pl_tcp_state *tcp) {
    struct plumb_tcp *oldest = NULL;

    for (unsigned i = 0; i < CONFIG_PLUMB_TCP_CONNECTIONS; i++) {
        struct plumb_tcp *connection = &tcp->connections[i];
        if (is_free(connection))
            return connection;
        bool idle = connection->state == PLUMB_TCP_STATE_TIME_WAIT ||
                    connection->state == PLUMB_TCP_STATE_FIN_WAIT_2;
        if (!idle || connection->flags & (PL_TCP_USER | PL_TCP_PENDING))
            continue;
        if (!oldest || gives_way_before(connection, oldest))
            oldest = connection;
    }
    return oldest;
}

bool pl_tcp_has_slot(struct pl_tcp_state *tcp) {
    return find_slot(tcp) != NULL;
}

uint64_t pl_tcp_hash(const struct plumb *stack, plumb_ipv4 local, plumb_ipv4 remote,
                     uint32_t ports) {
    return pl_keyed_hash(stack, (uint64_t)local.be << 32 | remote.be, ports);
}

void pl_tcp_begin(struct plumb_tcp *connection, struct pl_tcp_state *tcp, struct plumb_netif *netif,
                  plumb_ipv4 remote, uint32_t ports) {
    *connection = (struct plumb_tcp){.tcp = tcp};
    connection->netif = netif;
    connection->remote = remote;
    connection->ports = ports;
#ifdef CONFIG_PLUMB_TCP_REMEMBER
    connection->address_sum = pl_sum_addresses(netif->ipv4.be, remote.be);
#endif
    connection->mss = 536;
    connection->rto_ms = 1000;
#ifdef CONFIG_PLUMB_TCP_BUFFER_LIMITS
    connection->send_limit = CONFIG_PLUMB_TCP_SEND_BUFFER;
    connection->receive_limit = CONFIG_PLUMB_TCP_RECEIVE_BUFFER;
#endif
    connection->progress_ms = connection->heard_ms = tcp->stack->now_ms;
    connection->challenge_second = (uint8_t)(pl_tcp_second(tcp->stack) - 1);
}

struct plumb_tcp *pl_tcp_allocate(struct pl_tcp_state *tcp, struct plumb_netif *netif,
                                  plumb_ipv4 remote, uint32_t ports) {
    struct plumb_tcp *connection = find_slot(tcp);

    if (!connection)
        return NULL;
    if (!is_free(connection)) {
        pl_count(tcp->stack, PLUMB_COUNTER_tcp_time_wait_reused);
        pl_tcp_end(connection, PLUMB_OK);
    }
    pl_tcp_begin(connection, tcp, netif, remote, ports);
    pl_tcp_enter_table(connection);
    return connection;
}

void pl_tcp_end(struct plumb_tcp *connection, int error) {
    if (connection->state == PLUMB_TCP_STATE_CLOSED)
        return;
    pl_tcp_leave_listener(connection);
    pl_tcp_leave_table(connection);
    pl_tcp_unexpect(connection);
    pl_tcp_forget_duplicate(connection);
    pl_tcp_forget_loss(connection);
    connection->state = PLUMB_TCP_STATE_CLOSED;
    connection->error = (int8_t)error;
    connection->deadlines = 0;
#ifdef CONFIG_PLUMB_TCP_ACKNOWLEDGE_BATCH
    connection->deferred_count = 0;
#endif
#ifdef CONFIG_PLUMB_TCP_LINKED
    plumb_timer_stop(&connection->timer);
#endif
    pl_tcp_drop_sent(connection);
    if (connection->flags & PL_TCP_USER) {
        pl_tcp_tell(connection, PLUMB_TCP_CLOSED);
    } else {
        pl_tcp_drop_received(connection);
    }
}

void pl_tcp_enter_time_wait(struct plumb_tcp *connection) {
    connection->state = PLUMB_TCP_STATE_TIME_WAIT;
    pl_tcp_drop_sent(connection);
    pl_tcp_clear_deadline(connection, PL_TCP_RETRANSMIT);
    pl_tcp_set_deadline(connection, PL_TCP_IDLE, CONFIG_PLUMB_TCP_TIME_WAIT_MS);
    if (connection->flags & PL_TCP_USER) {
        pl_tcp_tell(connection, PLUMB_TCP_CLOSED);
    }
}

void pl_tcp_tell(struct plumb_tcp *connection, unsigned events) {
    connection->events = (uint8_t)(connection->events | events);
    pl_tcp_pend(connection);
}

void pl_tcp_acknowledge_now(struct plumb_tcp *connection) {
    connection->flags |= PL_TCP_ACK_NOW;
    pl_tcp_pend(connection);
}

/* Shows a new connection to the listener's user, who takes it or not. */
static void offer(struct plumb_tcp *connection) {
    struct plumb_tcp_listener *listener = connection->listener;

    connection->flags &= (uint16_t) ~(PL_TCP_ACCEPT | PL_TCP_LISTENED);
    connection->context = NULL;
    connection->flags |= PL_TCP_USER;
    listener->acceptor(listener, connection, listener->context);
    if (connection->flags & PL_TCP_USER && !connection->handler)
        plumb_tcp_abort(connection);
}

static void tell_user(struct plumb_tcp *connection) {
    if (connection->flags & PL_TCP_ACCEPT)
        offer(connection);
    unsigned events = connection->events;
    if (!events || !(connection->flags & PL_TCP_USER) || !connection->handler)
        return;
    connection->events = 0;
    connection->handler(connection, events, connection->context);
    if (events & PLUMB_TCP_CLOSED) {
        connection->flags &= (uint16_t)~PL_TCP_USER;
        pl_tcp_drop_received(connection);
    }
}

/* Handlers are called from polls only; what the user calls from elsewhere may
 * send at once, and events wait. */
static void send_all_pending(struct pl_tcp_state *tcp) {
    struct plumb_tcp *connection = NULL;

    while ((connection = pl_tcp_next_pending(tcp, connection)) != NULL) {
        pl_tcp_output(connection);
        if (tcp->stack->ending) /* nobody will be told, or read what there is */
            pl_tcp_drop_received(connection);
    }
}

static void settle_all_pending(struct pl_tcp_state *tcp) {
    struct plumb_tcp *connection;

    while (tcp->pending && (connection = pl_tcp_next_pending(tcp, NULL)) != NULL) {
        pl_tcp_settle_deferred(connection);
        tell_user(connection);
        pl_tcp_output(connection);
        /* Only now: what the handler did is in what was just sent. */
        pl_tcp_unpend(connection);
        if (connection->events && connection->flags & PL_TCP_USER && connection->handler)
            pl_tcp_pend(connection);
    }
}

void pl_tcp_settle(struct plumb *stack, void *state) {
    struct pl_tcp_state *tcp = state;

    if (!tcp->pending)
        return;
    if (stack->in_poll)
        settle_all_pending(tcp);
    else
        send_all_pending(tcp);
}

struct port_question {
    struct pl_tcp_state *tcp;
    plumb_ipv4 remote;
    uint16_t remote_port;
    plumb_ipv4 local;
};

static uint32_t join_ports(uint16_t remote, uint16_t local) {
    return plumb_put32((uint32_t)remote << 16 | local).be;
}

/* Where to begin to look (RFC 6056 section 3.3.4, double-hash): for each peer at a secret place,
 * and from there on upwards, so that a port comes again as late as it can; peers that share a
 * counter do not tell each other how many connections there are. */
static uint32_t first_port(struct pl_tcp_state *tcp, const struct port_question *question) {
    uint64_t hash =
        pl_tcp_hash(tcp->stack, question->local, question->remote, question->remote_port);
    uint16_t *counter = &tcp->port_counters[(hash >> 32) % PL_TCP_PORT_COUNTERS];

    *counter = (uint16_t)(*counter + 1 + plumb_random(tcp->stack) % PORT_STEP);
    return (uint32_t)hash + *counter;
}

static bool port_in_use(void *context, uint16_t port) {
    const struct port_question *question = context;

    for (unsigned i = 0; i < CONFIG_PLUMB_TCP_LISTENERS; i++)
        if (question->tcp->listeners[i].acceptor && question->tcp->listeners[i].local.port == port)
            return true;
    return pl_tcp_find(question->tcp, question->local, question->remote,
                       join_ports(question->remote_port, port)) != NULL;
}

int pl_tcp_prepare(struct plumb *stack, struct plumb_endpoint remote, uint16_t local_port,
                   plumb_tcp_handler *handler, void *context, struct plumb_tcp **out) {
    struct pl_tcp_state *tcp = pl_layer_state(stack, &pl_tcp_layer);
    struct pl_route route;

    if (!handler || !remote.port || !remote.address.be)
        return PLUMB_ERROR_INVALID;
    if (!pl_route_find(stack, NULL, remote.address, &route) || route.netif->ipv4.be == 0)
        return PLUMB_ERROR_NO_ROUTE;
    if (route.broadcast)
        return PLUMB_ERROR_INVALID;
    struct port_question question = {tcp, remote.address, remote.port, route.netif->ipv4};
    if (local_port == 0)
        local_port = pl_port_choose(first_port(tcp, &question), port_in_use, &question);
    else if (pl_tcp_find(tcp, question.local, remote.address, join_ports(remote.port, local_port)))
        return PLUMB_ERROR_IN_USE;
    if (local_port == 0)
        return PLUMB_ERROR_NO_CONNECTION;
    struct plumb_tcp *connection =
        pl_tcp_allocate(tcp, route.netif, remote.address, join_ports(remote.port, local_port));
    if (!connection)
        return PLUMB_ERROR_NO_CONNECTION;
    connection->state = PLUMB_TCP_STATE_SYN_SENT;
#ifdef CONFIG_PLUMB_TCP_MSS_LIMIT
    connection->mss = pl_tcp_interface_mss(connection);
    pl_tcp_begin_path(connection);
#endif
#ifdef CONFIG_PLUMB_TCP_TIMESTAMPS
    pl_tcp_start_clock(connection);
#endif
    pl_tcp_number(connection,
                  pl_tcp_initial(stack, pl_tcp_hash(stack, question.local, connection->remote,
                                                    connection->ports)));
    connection->flags |= PL_TCP_USER;
    connection->handler = handler;
    connection->context = context;
    *out = connection;
    return PLUMB_OK;
}

int plumb_tcp_connect(struct plumb *stack, struct plumb_endpoint remote, uint16_t local_port,
                      plumb_tcp_handler *handler, void *context, struct plumb_tcp **out) {
    int result = pl_tcp_prepare(stack, remote, local_port, handler, context, out);

    if (result == PLUMB_OK) {
        pl_tcp_send_syn(*out);
        pl_settle(stack);
    }
    return result;
}

void plumb_tcp_set_handler(struct plumb_tcp *connection, plumb_tcp_handler *handler,
                           void *context) {
    connection->handler = handler;
    connection->context = context;
    if (!handler)
        pl_tcp_unexpect(connection);
    if (connection->events)
        pl_tcp_pend(connection);
}

void plumb_tcp_shutdown(struct plumb_tcp *connection) {
    switch (connection->state) {
    case PLUMB_TCP_STATE_ESTABLISHED:
        connection->state = PLUMB_TCP_STATE_FIN_WAIT_1;
        break;
    case PLUMB_TCP_STATE_CLOSE_WAIT:
        connection->state = PLUMB_TCP_STATE_LAST_ACK;
        break;
    case PLUMB_TCP_STATE_SYN_SENT:
    case PLUMB_TCP_STATE_SYN_RECEIVED: /* the handshake goes on; see establish() */
        break;
    default:
        return;
    }
    pl_tcp_unexpect(connection);
    connection->flags |= PL_TCP_FIN_QUEUED;
    connection->progress_ms = pl_tcp_stack(connection)->now_ms;
    pl_tcp_pend(connection);
    pl_settle(pl_tcp_stack(connection));
}

void plumb_tcp_close(struct plumb_tcp *connection) {
    if ((connection->state != PLUMB_TCP_STATE_CLOSED &&
         connection->state < PLUMB_TCP_STATE_ESTABLISHED) ||
        connection->receive_queued || connection->reordered) {
        plumb_tcp_abort(connection);
        return;
    }
    connection->flags &= (uint16_t)~PL_TCP_USER;
    connection->handler = NULL;
    pl_tcp_unpost(connection);
    if (connection->state == PLUMB_TCP_STATE_FIN_WAIT_2)
        pl_tcp_set_deadline(connection, PL_TCP_IDLE, CONFIG_PLUMB_TCP_TIME_WAIT_MS);
    plumb_tcp_shutdown(connection);
}

void plumb_tcp_abort(struct plumb_tcp *connection) {
    struct plumb *stack = pl_tcp_stack(connection);

    connection->flags &= (uint16_t)~PL_TCP_USER;
    connection->handler = NULL;
    pl_tcp_unpost(connection);
    if (connection->state == PLUMB_TCP_STATE_CLOSED ||
        connection->state == PLUMB_TCP_STATE_TIME_WAIT) {
        pl_tcp_drop_received(connection);
        return;
    }
    if (connection->state != PLUMB_TCP_STATE_SYN_SENT)
        pl_tcp_send_reset(connection);
    pl_tcp_end(connection, PLUMB_ERROR_ABORTED);
    pl_settle(stack);
}

int plumb_tcp_error(const struct plumb_tcp *connection) {
    return connection->state == PLUMB_TCP_STATE_CLOSED ? connection->error : PLUMB_OK;
}

#ifdef CONFIG_PLUMB_TCP_KEEPALIVE
static void set_keepalive(struct plumb_tcp *connection, uint32_t idle_ms) {
    connection->keepalive_ms = idle_ms;
    connection->tcp->keepalive = pl_tcp_keepalive;
    if (idle_ms && connection->state != PLUMB_TCP_STATE_CLOSED &&
        connection->state != PLUMB_TCP_STATE_TIME_WAIT)
        pl_tcp_set_deadline(connection, PL_TCP_IDLE, idle_ms);
}
#endif

int plumb_tcp_set_option(struct plumb_tcp *connection, enum plumb_tcp_option option,
                         uint32_t value) {
    switch (option) {
    case PLUMB_TCP_NODELAY:
        if (value)
            connection->flags |= PL_TCP_NO_DELAY;
        else
            connection->flags &= (uint16_t)~PL_TCP_NO_DELAY;
        break;
    case PLUMB_TCP_CONGESTION:
        return pl_tcp_congestion_choose(connection, value);
#ifdef CONFIG_PLUMB_TCP_KEEPALIVE
    case PLUMB_TCP_KEEPALIVE:
        if (value > LONGEST_KEEPALIVE_MS)
            return PLUMB_ERROR_INVALID;
        set_keepalive(connection, value);
        break;
#endif
#ifdef CONFIG_PLUMB_TCP_USER_TIMEOUT
    case PLUMB_TCP_USER_TIMEOUT:
        connection->user_timeout_ms = value;
        break;
#endif
#ifdef CONFIG_PLUMB_TCP_BUFFER_LIMITS
    case PLUMB_TCP_SEND_BUFFER:
    case PLUMB_TCP_RECEIVE_BUFFER:
        if (value == 0 || value > PL_TCP_LARGEST_BUFFER)
            return PLUMB_ERROR_INVALID;
        if (option == PLUMB_TCP_SEND_BUFFER)
            connection->send_limit = (pl_tcp_size)value;
        else
            connection->receive_limit = (pl_tcp_size)value;
        break;
#endif
    default:
        return PLUMB_ERROR_INVALID;
    }
    return PLUMB_OK;
}

void plumb_tcp_get_info(const struct plumb_tcp *connection, struct plumb_tcp_info *info) {
    *info = (struct plumb_tcp_info){
        .state = (enum plumb_tcp_state)connection->state,
        .local = {pl_tcp_local(connection), pl_tcp_local_port(connection)},
        .remote = {connection->remote, pl_tcp_remote_port(connection)},
        .mss = connection->mss,
        .rto_ms = connection->rto_ms,
        .srtt_us = connection->srtt_us,
        .congestion_window = connection->congestion_window,
        .slow_start_threshold =
            pl_tcp_in_hystart(connection) ? UINT32_MAX : connection->slow_start_threshold,
        .send_window = connection->send_window,
        .receive_window = connection->receive_edge - connection->receive_next,
#ifdef CONFIG_PLUMB_TCP_STATISTICS
        .segments_in = connection->segments_in,
        .segments_out = connection->segments_out,
        .acks_out = connection->acks_out,
        .retransmitted = connection->retransmitted,
#endif
    };
}

/* Connections from an address that is no longer ours cannot go on. */
static void readdressed(struct plumb *stack, void *state, struct plumb_netif *netif,
                        plumb_ipv4 before) {
    struct pl_tcp_state *tcp = state;

    (void)stack;
    netif->expected = NULL;
    if (netif->ipv4.be == before.be)
        return;
    pl_tcp_readdress_handshakes(tcp, netif);
    for (unsigned i = 0; i < CONFIG_PLUMB_TCP_CONNECTIONS; i++)
        if (tcp->connections[i].netif == netif)
            pl_tcp_end(&tcp->connections[i], PLUMB_ERROR_UNREACHABLE);
}

const struct pl_layer pl_tcp_layer = {
    .state_size = sizeof(struct pl_tcp_state),
    .wants_stack = true,
    .readdressed = readdressed,
};
