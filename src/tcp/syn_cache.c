/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Handshakes in entries of their own (RFC 4987 section 3.5), 44 bytes on a 32-bit target:
 * only the last ACK makes a connection of one. So a flood of SYNs takes no connection from
 * anybody.
 *
 * What holds:
 *  - An entry lies in one set of a few, which a keyed hash of its addresses and ports
 *    chooses: nobody outside can aim at one, and looking takes as long however many there are.
 *  - A SYN that finds no place, its listener's backlog or its set being full, is answered by
 *    a cookie (cookie.c) and leaves nothing here. Without cookies the oldest gives way.
 *  - `half_open` of a listener counts its entries.
 *  - Entries share one timer, which fires no later than the first of their deadlines.
 *
 * What sends for an entry is a connection on the stack, made of it when it is wanted.
 */
#include "tcp/tcp.h"

#ifdef CONFIG_PLUMB_TCP_SYN_CACHE

#define WAYS     16U
#define SETS     (CONFIG_PLUMB_TCP_HANDSHAKES > WAYS ? CONFIG_PLUMB_TCP_HANDSHAKES / WAYS : 1)
#define SET_SIZE (CONFIG_PLUMB_TCP_HANDSHAKES / SETS)

#define FIRST_RTO_MS   1000U
#define LARGEST_RTO_MS 60000U
/* Challenges that one handshake may provoke. */
#define CHALLENGES 8

/* Who talks to whom. */
struct key {
    plumb_ipv4 local, remote;
    uint32_t ports;
};

static struct key key_of(const struct pl_segment *segment) {
    return (struct key){
        .local = pl_net32_get(segment->ip->destination),
        .remote = pl_net32_get(segment->ip->source),
        .ports = pl_net32_get(segment->header->ports).be,
    };
}

/* ---- entries ---- */

/* The low half of the hash is told to the world, as the initial number. */
static struct pl_tcp_handshake *set_of(struct pl_tcp_state *tcp, uint64_t hash) {
    return &tcp->handshakes[(uint32_t)(hash >> 32) % SETS * SET_SIZE];
}

static struct pl_tcp_handshake *find(struct pl_tcp_state *tcp, const struct key *key) {
    struct pl_tcp_handshake *entry = tcp->handshakes;

    if (!tcp->handshake_count)
        return NULL;
    if (SETS > 1)
        entry = set_of(tcp, pl_tcp_hash(tcp->stack, key->local, key->remote, key->ports));
    for (unsigned i = 0; i < SET_SIZE; i++, entry++)
        if (entry->listener && entry->ports == key->ports && entry->remote.be == key->remote.be &&
            entry->netif->ipv4.be == key->local.be)
            return entry;
    return NULL;
}

/* The entry is free again; what counts it is the caller's. */
static void forget(struct pl_tcp_state *tcp, struct pl_tcp_handshake *entry) {
    entry->listener = NULL;
    tcp->handshake_count--;
}

static void drop(struct pl_tcp_state *tcp, struct pl_tcp_handshake *entry) {
    entry->listener->half_open--;
    forget(tcp, entry);
}

#ifndef CONFIG_PLUMB_TCP_SYN_COOKIES

/* The one that has waited longest, of `count` from `entry` on and of one listener, or (null)
 * of any; or null. */
static struct pl_tcp_handshake *oldest(struct pl_tcp_handshake *entry, unsigned count,
                                       const struct plumb_tcp_listener *listener) {
    struct pl_tcp_handshake *found = NULL;

    for (; count--; entry++)
        if (entry->listener && (!listener || entry->listener == listener) &&
            (!found || pl_before(entry->made_us, found->made_us)))
            found = entry;
    return found;
}

static void displace(struct pl_tcp_state *tcp, struct pl_tcp_handshake *entry) {
    if (!entry)
        return;
    pl_count(tcp->stack, PLUMB_COUNTER_tcp_half_open_reused);
    drop(tcp, entry);
}

#endif

/* A free entry of the set for one more handshake of a listener's, or null. */
static struct pl_tcp_handshake *
find_free(struct pl_tcp_state *tcp, const struct plumb_tcp_listener *listener, uint64_t hash) {
    struct pl_tcp_handshake *entry = set_of(tcp, hash);
    struct pl_tcp_handshake *end = entry + SET_SIZE;

#ifdef CONFIG_PLUMB_TCP_SYN_COOKIES
    if (listener->half_open >= listener->backlog)
        return NULL;
#else
    if (listener->half_open >= listener->backlog)
        displace(tcp, oldest(tcp->handshakes, SETS * SET_SIZE, listener));
#endif
    while (entry < end && entry->listener)
        entry++;
    if (entry < end)
        return entry;
#ifdef CONFIG_PLUMB_TCP_SYN_COOKIES
    return NULL;
#else
    entry = oldest(end - SET_SIZE, SET_SIZE, NULL);
    displace(tcp, entry);
    return entry;
#endif
}

/* ---- from and to connections ---- */

/* Notes what a SYN has agreed on with a connection that begins. */
static void note_agreed(struct pl_tcp_handshake *entry, const struct plumb_tcp *connection) {
    entry->mss = connection->mss;
    entry->agreed = connection->agreed;
#ifdef CONFIG_PLUMB_TCP_TIMESTAMPS
    entry->timestamp_recent = connection->timestamp_recent;
#endif
#ifdef CONFIG_PLUMB_TCP_WINDOW_SCALE
    entry->send_scale = connection->send_scale;
    if (connection->flags & PL_TCP_SCALING)
        entry->agreed |= PL_TCP_SCALED;
#endif
}

/* Brings a connection that begins to where its entry is. */
static void recall(struct plumb_tcp *connection, const struct pl_tcp_handshake *entry) {
    connection->state = PLUMB_TCP_STATE_SYN_RECEIVED;
    connection->listener = entry->listener;
    connection->flags |= PL_TCP_LISTENED;
    pl_tcp_take_limit(connection, entry->listener);
    pl_tcp_number(connection, entry->initial);
    connection->send_next = connection->send_most = entry->initial + 1;
    connection->receive_next = connection->receive_acked = connection->receive_edge =
        entry->peer_initial + 1;
    pl_tcp_receive_window(connection);
    connection->mss = entry->mss;
    pl_tcp_begin_path(connection);
    connection->agreed = entry->agreed & (uint8_t)~PL_TCP_SCALED;
#ifdef CONFIG_PLUMB_TCP_TIMESTAMPS
    if (pl_tcp_agreed(connection, PL_TCP_TIMESTAMPS)) {
        connection->timestamp_recent = entry->timestamp_recent;
        pl_tcp_start_clock(connection);
    }
#endif
#ifdef CONFIG_PLUMB_TCP_WINDOW_SCALE
    if (entry->agreed & PL_TCP_SCALED)
        pl_tcp_agree_scale(connection, entry->send_scale);
#endif
    pl_tcp_congestion_start(connection);
    if (entry->retries) {
        connection->flags |= PL_TCP_SYN_REPEATED;
    } else if (entry->made_us) {
        connection->flags |= PL_TCP_TIMING;
        connection->timed_us = entry->made_us;
    }
}

/* Sends for an entry, as the connection would that it may become. */
static void send(struct pl_tcp_state *tcp, const struct pl_tcp_handshake *entry, uint8_t flags) {
    struct plumb_tcp stranger;
    struct pl_route route;

    if (!pl_route_find(tcp->stack, entry->netif, entry->remote, &route))
        return;
    pl_tcp_begin(&stranger, tcp, entry->netif, entry->remote, entry->ports);
    recall(&stranger, entry);
    pl_tcp_send_once(&stranger, entry->initial + !(flags & PL_TCP_SYN), flags);
}

static void challenge(struct pl_tcp_state *tcp, struct pl_tcp_handshake *entry) {
    if (entry->challenges == 0) {
        pl_count(tcp->stack, PLUMB_COUNTER_tcp_challenge_limited);
        return;
    }
    entry->challenges--;
    pl_count(tcp->stack, PLUMB_COUNTER_tcp_challenge);
    send(tcp, entry, PL_TCP_ACK);
}

/* ---- time ---- */

static void fire(struct plumb *stack, struct plumb_timer *timer);

/* Has the timer fire by then. */
static void wait_for(struct pl_tcp_state *tcp, uint32_t deadline_ms) {
    struct plumb_timer *timer = &tcp->handshake_timer;

    if (!plumb_timer_running(timer) || pl_after(timer->expires_ms, deadline_ms))
        plumb_timer_start(tcp->stack, timer, deadline_ms - tcp->stack->now_ms, fire);
}

/* The peer has not answered in time (RFC 6298 section 5). */
static void repeat(struct pl_tcp_state *tcp, struct pl_tcp_handshake *entry) {
    if (entry->retries >= CONFIG_PLUMB_TCP_SYN_RETRIES) {
        drop(tcp, entry);
        return;
    }
    uint32_t rto_ms = FIRST_RTO_MS << ++entry->retries;
    entry->deadline_ms = tcp->stack->now_ms + (rto_ms < LARGEST_RTO_MS ? rto_ms : LARGEST_RTO_MS);
    pl_count(tcp->stack, PLUMB_COUNTER_tcp_timeout);
    send(tcp, entry, PL_TCP_SYN | PL_TCP_ACK);
}

static void fire(struct plumb *stack, struct plumb_timer *timer) {
    struct pl_tcp_state *tcp =
        (void *)((uint8_t *)timer - offsetof(struct pl_tcp_state, handshake_timer));

    for (unsigned i = 0; i < SETS * SET_SIZE; i++) {
        struct pl_tcp_handshake *entry = &tcp->handshakes[i];
        if (entry->listener && !pl_after(entry->deadline_ms, stack->now_ms))
            repeat(tcp, entry);
        if (entry->listener)
            wait_for(tcp, entry->deadline_ms);
    }
}

/* ---- the SYN ---- */

static void fill(struct pl_tcp_handshake *entry, struct plumb_tcp_listener *listener,
                 const struct plumb_tcp *stranger) {
    struct plumb *stack = pl_tcp_stack(stranger);
    uint32_t now_us = (uint32_t)stack->now_us;

    *entry = (struct pl_tcp_handshake){
        .listener = listener,
        .netif = stranger->netif,
        .remote = stranger->remote,
        .ports = stranger->ports,
        .initial = stranger->send_unacked,
        .peer_initial = stranger->receive_next - 1,
        .deadline_ms = stack->now_ms + FIRST_RTO_MS,
        .made_us = now_us ? now_us : UINT32_MAX, /* 0: not timed */
        .challenges = CHALLENGES,
    };
    note_agreed(entry, stranger);
    listener->half_open++;
    listener->tcp->handshake_count++;
    wait_for(listener->tcp, entry->deadline_ms);
}

bool pl_tcp_take_syn(struct plumb_tcp_listener *listener, struct pl_segment *segment,
                     const uint32_t *above) {
    struct pl_tcp_state *tcp = listener->tcp;
    struct key key = key_of(segment);
    uint64_t hash = pl_tcp_hash(tcp->stack, key.local, key.remote, key.ports);
    struct plumb_tcp stranger;

    /* Where no connection could come of it, the peer had better try again. */
    if (!pl_tcp_has_slot(tcp))
        return false;
    struct pl_tcp_handshake *entry = find_free(tcp, listener, hash);
    /* Nor by a cookie, which nobody would repeat. */
    if (!entry && !pl_tcp_has_room(listener))
        return false;
    pl_tcp_begin(&stranger, tcp, segment->netif, key.remote, key.ports);
    stranger.state = PLUMB_TCP_STATE_SYN_RECEIVED;
    stranger.listener = listener;
    stranger.flags |= PL_TCP_LISTENED;
    pl_tcp_take_limit(&stranger, listener);
    pl_tcp_synchronise(&stranger, segment);
    pl_tcp_number(&stranger, pl_tcp_choose_initial(tcp->stack, hash, above));
#ifdef CONFIG_PLUMB_TCP_SYN_COOKIES
    if (!entry)
        pl_tcp_number(&stranger, pl_tcp_make_cookie(&stranger));
    else
#endif
        fill(entry, listener, &stranger);
    pl_tcp_send_once(&stranger, stranger.send_unacked, PL_TCP_SYN | PL_TCP_ACK);
    return true;
}

/* ---- what follows it ---- */

/* The last ACK: from here on there is a connection. `entry` is not in use any more, yet
 * still counted by its listener. */
static void promote(const struct pl_tcp_handshake *entry, struct plumb_tcp *connection,
                    struct pl_segment *segment) {
    recall(connection, entry);
    pl_tcp_input_synchronised(connection, segment);
    /* The ACK was dropped for something else that is wrong with it: another may come. */
    if (connection->state == PLUMB_TCP_STATE_SYN_RECEIVED)
        pl_tcp_time_oldest(connection);
}

/* A connection for an entry; null when there is none, and the packet is dropped. */
static struct plumb_tcp *allocate(const struct pl_tcp_handshake *entry,
                                  struct pl_segment *segment) {
    struct pl_route route;
    struct plumb_tcp *connection = NULL;

    if (pl_route_find(segment->tcp->stack, entry->netif, entry->remote, &route))
        connection = pl_tcp_allocate(segment->tcp, entry->netif, entry->remote, entry->ports);
    if (!connection)
        pl_tcp_drop(segment, PLUMB_COUNTER_tcp_backlog);
    return connection;
}

/* RFC 5961 section 3.2, as for any other connection. */
static void take_reset(struct pl_segment *segment, struct pl_tcp_handshake *entry,
                       uint32_t offset) {
    if (offset == 0) {
        drop(segment->tcp, entry);
        return;
    }
    if (offset < CONFIG_PLUMB_TCP_RECEIVE_BUFFER)
        challenge(segment->tcp, entry);
    pl_tcp_drop(segment, PLUMB_COUNTER_tcp_reset);
}

/* A segment of a handshake that is under way (RFC 9293 section 3.10.7.4, SYN-RECEIVED). */
static void take(struct pl_segment *segment, struct pl_tcp_handshake *entry) {
    uint32_t offset = segment->sequence - (entry->peer_initial + 1);
    struct plumb_tcp *connection;

    if (segment->flags & PL_TCP_RST) {
        take_reset(segment, entry, offset);
    } else if ((segment->flags & (PL_TCP_SYN | PL_TCP_ACK)) == PL_TCP_SYN) {
        /* The same again; or another by a peer that has forgotten, which our answer makes
         * it reset. */
        pl_count(segment->tcp->stack, PLUMB_COUNTER_tcp_duplicate);
        send(segment->tcp, entry, PL_TCP_SYN | PL_TCP_ACK);
    } else if (offset >= CONFIG_PLUMB_TCP_RECEIVE_BUFFER) {
        challenge(segment->tcp, entry);
        pl_tcp_drop(segment, PLUMB_COUNTER_tcp_sequence);
    } else if ((segment->flags & (PL_TCP_SYN | PL_TCP_ACK)) != PL_TCP_ACK) {
        pl_tcp_drop(segment, PLUMB_COUNTER_tcp_flags);
    } else if (segment->acknowledgement != entry->initial + 1) {
        pl_tcp_reset_stranger(segment);
        pl_tcp_drop(segment, PLUMB_COUNTER_tcp_acknowledgement);
    } else if (!pl_tcp_has_room(entry->listener)) {
        /* Our SYN-ACK, repeated, will have the peer say it again. */
        pl_tcp_drop(segment, PLUMB_COUNTER_tcp_backlog);
    } else if ((connection = allocate(entry, segment)) != NULL) {
        const struct pl_tcp_handshake done = *entry;
        forget(segment->tcp, entry);
        promote(&done, connection, segment);
    }
}

#ifdef CONFIG_PLUMB_TCP_SYN_COOKIES

/* Payload while there are cookies: the segment before it may be lost, whose number is the one
 * that tells the cookie. A reset would end what the peer takes for open; as it is, it sends the
 * first one again. */
static bool wait_for_first(struct pl_segment *segment) {
    const uint8_t kind = segment->flags & (PL_TCP_SYN | PL_TCP_RST | PL_TCP_ACK);

    if (!segment->tcp->cookies || kind != PL_TCP_ACK || !segment->length)
        return false;
    pl_tcp_drop(segment, PLUMB_COUNTER_tcp_acknowledgement);
    return true;
}

static bool take_cookie(struct pl_segment *segment, const struct key *key) {
    struct pl_tcp_handshake entry = {
        .netif = segment->netif,
        .remote = key->remote,
        .ports = key->ports,
        .initial = segment->acknowledgement - 1,
        .peer_initial = segment->sequence - 1,
    };

    entry.listener = pl_tcp_find_listener(segment->tcp, key->local, key->ports);
    if (!entry.listener)
        return false;
    if (!pl_tcp_read_cookie(segment, &entry))
        return wait_for_first(segment);
    if (!pl_tcp_has_room(entry.listener)) {
        pl_tcp_drop(segment, PLUMB_COUNTER_tcp_backlog);
        return true;
    }
    struct plumb_tcp *connection = allocate(&entry, segment);
    if (connection) {
        pl_count(segment->tcp->stack, PLUMB_COUNTER_tcp_cookie_opened);
        entry.listener->half_open++;
        promote(&entry, connection, segment);
    }
    return true;
}
#endif

bool pl_tcp_take_handshake(struct pl_segment *segment) {
    struct key key = key_of(segment);
    struct pl_tcp_handshake *entry = find(segment->tcp, &key);

    if (entry) {
        take(segment, entry);
        return true;
    }
#ifdef CONFIG_PLUMB_TCP_SYN_COOKIES
    return take_cookie(segment, &key);
#else
    return false;
#endif
}

/* ---- ends from our side ---- */

void pl_tcp_reset_handshakes(struct plumb_tcp_listener *listener) {
    struct pl_tcp_state *tcp = listener->tcp;

    for (unsigned i = 0; i < SETS * SET_SIZE; i++) {
        struct pl_tcp_handshake *entry = &tcp->handshakes[i];
        if (entry->listener != listener)
            continue;
        send(tcp, entry, PL_TCP_RST | PL_TCP_ACK);
        drop(tcp, entry);
    }
}

void pl_tcp_readdress_handshakes(struct pl_tcp_state *tcp, const struct plumb_netif *netif) {
    for (unsigned i = 0; i < SETS * SET_SIZE; i++) {
        struct pl_tcp_handshake *entry = &tcp->handshakes[i];
        if (entry->listener && entry->netif == netif)
            drop(tcp, entry);
    }
}

#endif
