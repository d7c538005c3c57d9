/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Deadlines of a connection, and the retransmission time-out (RFC 6298).
 */
#include "tcp/tcp.h"

#define LARGEST_RTO_MS 60000
/* How long a connection that no user has may go without progress. */
#define ORPHAN_MS 120000

static void fire(struct plumb *stack, struct plumb_timer *timer);

void pl_tcp_start_timer(struct plumb_tcp *connection, uint32_t delay_ms) {
    plumb_timer_start(pl_tcp_stack(connection), pl_tcp_timer(connection), delay_ms, fire);
}

void pl_tcp_set_deadline(struct plumb_tcp *connection, enum pl_tcp_deadline which,
                         uint32_t delay_ms) {
    pl_tcp_move_deadline(connection, which, delay_ms);
}

void pl_tcp_round_trip_of_many(struct plumb_tcp *connection, uint32_t sample_us, unsigned shift) {
    if (pl_tcp_in_hystart(connection))
        pl_tcp_hystart_note(connection, sample_us);
    if (connection->srtt_us == 0) {
        connection->srtt_us = sample_us ? sample_us : 1;
        connection->rttvar_us = sample_us / 2;
    } else {
        uint32_t error = sample_us > connection->srtt_us ? sample_us - connection->srtt_us
                                                         : connection->srtt_us - sample_us;
        connection->rttvar_us += (error / 4 >> shift) - (connection->rttvar_us / 4 >> shift);
        connection->srtt_us += (sample_us / 8 >> shift) - (connection->srtt_us / 8 >> shift);
        if (connection->srtt_us == 0)
            connection->srtt_us = 1;
    }
    uint32_t variance_us = 4 * connection->rttvar_us;
    uint32_t rto_ms = (connection->srtt_us + (variance_us > 1000 ? variance_us : 1000)) / 1000 + 1;
    if (rto_ms < CONFIG_PLUMB_TCP_MIN_RTO_MS)
        rto_ms = CONFIG_PLUMB_TCP_MIN_RTO_MS;
    connection->rto_ms = (uint16_t)(rto_ms < LARGEST_RTO_MS ? rto_ms : LARGEST_RTO_MS);
}

uint32_t pl_tcp_backed_off(const struct plumb_tcp *connection) {
    uint32_t rto_ms = connection->rto_ms;

    for (unsigned i = 0; i < connection->retries && rto_ms < LARGEST_RTO_MS; i++)
        rto_ms *= 2;
    return rto_ms < LARGEST_RTO_MS ? rto_ms : LARGEST_RTO_MS;
}

void pl_tcp_time_oldest(struct plumb_tcp *connection) {
    if (pl_tcp_has_deadline(connection, PL_TCP_RETRANSMIT))
        return;
    if (pl_tcp_racks(connection) && connection->state >= PLUMB_TCP_STATE_ESTABLISHED)
        pl_tcp_tail_arm(connection);
    else
        pl_tcp_set_deadline(connection, PL_TCP_RETRANSMIT, pl_tcp_backed_off(connection));
}

/* Is the oldest byte held back by a closed window? */
static bool probing(const struct plumb_tcp *connection) {
    return connection->send_window == 0 || connection->flags & PL_TCP_PROBING;
}

/* Has the peer been silent for too long? One that answers probes is alive,
 * however long its window stays closed (RFC 9293 section 3.8.6.1), but nobody
 * waits for ever on behalf of a user who has gone. */
static bool given_up(const struct plumb_tcp *connection) {
    uint32_t now_ms = pl_tcp_stack(connection)->now_ms;
    uint32_t stuck_ms = now_ms - connection->progress_ms;

#ifdef CONFIG_PLUMB_TCP_USER_TIMEOUT
    if (connection->user_timeout_ms && stuck_ms >= connection->user_timeout_ms)
        return true;
#endif
    if (connection->state < PLUMB_TCP_STATE_ESTABLISHED)
        return connection->retries >= CONFIG_PLUMB_TCP_SYN_RETRIES;
    if (!(connection->flags & (PL_TCP_USER | PL_TCP_ACCEPT)) && stuck_ms >= ORPHAN_MS)
        return true;
    if (probing(connection) && now_ms - connection->heard_ms < 3 * LARGEST_RTO_MS)
        return false;
    return connection->retries >= CONFIG_PLUMB_TCP_RETRIES;
}

static void repeat_syn(struct plumb_tcp *connection) {
    connection->flags |= PL_TCP_SYN_REPEATED;
    pl_count(pl_tcp_stack(connection), PLUMB_COUNTER_tcp_timeout);
    pl_tcp_send_syn(connection);
}

/* The oldest byte out was not acknowledged in time, or none could be sent. */
static void repeat_oldest(struct plumb_tcp *connection) {
    struct plumb *stack = pl_tcp_stack(connection);

    if (probing(connection)) {
        connection->flags |= PL_TCP_PROBING;
        pl_count(stack, PLUMB_COUNTER_tcp_probe);
    } else if (pl_tcp_in_flight(connection)) {
        pl_count(stack, PLUMB_COUNTER_tcp_timeout);
        pl_tcp_suspect_path(connection);
        pl_tcp_recovery_timeout(connection);
    }
    pl_tcp_rewind(connection);
    pl_tcp_send_oldest(connection);
    pl_tcp_pend(connection);
}

static void retransmit(struct plumb_tcp *connection) {
    if (pl_tcp_rack_timer(connection))
        return;
    if (given_up(connection)) {
        pl_tcp_end(connection, PLUMB_ERROR_TIMED_OUT);
        return;
    }
    bool synchronised = connection->state >= PLUMB_TCP_STATE_ESTABLISHED;
    if (synchronised)
        repeat_oldest(connection);
    else
        repeat_syn(connection);
    if (connection->retries < UINT8_MAX)
        connection->retries++;
    pl_tcp_set_deadline(connection, PL_TCP_RETRANSMIT, pl_tcp_backed_off(connection));
}

/* TIME_WAIT and abandoned connections end; others are asked for a sign of life. */
static void idle(struct plumb_tcp *connection) {
    bool orphan = !(connection->flags & (PL_TCP_USER | PL_TCP_ACCEPT));

    if (connection->state == PLUMB_TCP_STATE_TIME_WAIT ||
        (orphan && connection->state == PLUMB_TCP_STATE_FIN_WAIT_2))
        pl_tcp_end(connection, PLUMB_OK);
#ifdef CONFIG_PLUMB_TCP_KEEPALIVE
    else if (connection->keepalive_ms)
        connection->tcp->keepalive(connection);
#endif
}

static void run(struct plumb_tcp *connection, enum pl_tcp_deadline which) {
    switch (which) {
    case PL_TCP_RETRANSMIT:
        retransmit(connection);
        break;
    case PL_TCP_ACKNOWLEDGE:
        pl_tcp_acknowledge_now(connection);
        break;
    case PL_TCP_IDLE:
        idle(connection);
        break;
    default:
        pl_tcp_offer_room(connection);
        pl_tcp_pend(connection);
        break;
    }
}

/* Runs what is due of a connection, and has the timer fire for the rest. */
static void look(struct plumb_tcp *connection) {
    uint32_t now_ms = pl_tcp_stack(connection)->now_ms;

    for (unsigned which = 0; which < PL_TCP_DEADLINES; which++) {
        if (!pl_tcp_has_deadline(connection, which) ||
            pl_after(connection->deadline_ms[pl_tcp_deadline_time(which)], now_ms))
            continue;
        pl_tcp_clear_deadline(connection, which);
        run(connection, which);
    }
    for (unsigned which = 0; which < PL_TCP_DEADLINES; which++)
        if (pl_tcp_has_deadline(connection, which))
            pl_tcp_set_deadline(connection, which,
                                connection->deadline_ms[pl_tcp_deadline_time(which)] - now_ms);
}

static void fire(struct plumb *stack, struct plumb_timer *timer) {
    (void)stack;
#ifdef CONFIG_PLUMB_TCP_LINKED
    look((void *)((uint8_t *)timer - offsetof(struct plumb_tcp, timer)));
#else
    struct pl_tcp_state *tcp = (void *)((uint8_t *)timer - offsetof(struct pl_tcp_state, timer));

    for (unsigned i = 0; i < CONFIG_PLUMB_TCP_CONNECTIONS; i++)
        if (tcp->connections[i].deadlines)
            look(&tcp->connections[i]);
#endif
}
