/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * TCP (RFC 9293): theory of operation.
 *
 * A connection lives in one slot of a fixed table, in one bucket of a hash where
 * connections are linked (PLUMB_TCP_LINKED); else the table is looked through.
 * Input checks a segment and changes the connection; what follows from that
 * (events for the user, acknowledgements, sends) waits until the batch of frames
 * is drained: the connection is put on the pending list, and settling calls the
 * user's handler once and then the output once. So a burst of segments costs one
 * call and one acknowledgement.
 *
 * Sending. The send queue is a list of segments, each one packet whose `data` is
 * its payload, `sequence` its first byte's number and `sum` its payload's sum:
 *
 *     send_first ──> ... ──> send_unsent ──> ... ──> send_last
 *     |   sent, not acknowledged   |      never sent, or to be sent again   |
 *     send_unacked           send_next                         send_end
 *
 * Segments are cut when the user's bytes are queued and sent whole; only the
 * timer sends a part of one, when the window takes no more. A time-out moves send_unsent and
 * send_next back to the front: what was sent is sent again by the ordinary path. send_most is the
 * highest number ever sent; acknowledgements up to it are good. Headers are written in front of the
 * payload where it lies on a word and no device still reads the packet; otherwise a packet of their
 * own goes in front. Plain acknowledgements are noted in `deferred` and acted on when settling.
 *
 * Receiving. Payload in order stays in the packets it came in, linked from
 * receive_first, until the user consumes it; payload out of order waits in
 * `reordered`, sorted. Memory the user has posted is filled at once, summing and
 * copying in one pass. A connection that holds much unread gets no
 * more when its pool runs low, so that acknowledgements and other connections
 * always find buffers.
 *
 * Time. A connection, or where they are not linked the table, has one timer on the
 * wheel; a connection has some deadlines. Moving a
 * deadline away leaves the timer alone; when it fires too early it is set anew.
 * So the retransmission time-out costs one store per acknowledgement.
 *
 * What holds, in every state, whenever no function of this folder runs:
 *  - send_unacked <= send_next <= send_most, modulo 2^32, and send_first's
 *    sequence is send_unacked when there is one;
 *  - receive_edge never moves back: a window once offered is kept;
 *  - `reordered` holds no byte below receive_next;
 *  - a slot is free when its state is CLOSED, no user has it and it is not
 *    pending.
 */
#ifndef PL_TCP_H
#define PL_TCP_H

#include <plumb/tcp.h>
#include <plumb/timer.h>

#include "inet/ipv4.h"
#include "packet/packet.h"

#define PL_TCP_HEADER 20

struct pl_tcp_header {
    pl_net32 ports; /* source, destination */
    pl_net32 sequence;
    pl_net32 acknowledgement;
    uint8_t offset; /* in words, in the upper 4 bits */
    uint8_t flags;
    plumb_be16 window;
    plumb_be16 checksum;
    plumb_be16 urgent;
};
_Static_assert(sizeof(struct pl_tcp_header) == PL_TCP_HEADER, "TCP header");

enum pl_tcp_flag {
    PL_TCP_FIN = 1,
    PL_TCP_SYN = 2,
    PL_TCP_RST = 4,
    PL_TCP_PSH = 8,
    PL_TCP_ACK = 16,
    PL_TCP_ECE = 64,
    PL_TCP_CWR = 128,
};

/* A checked segment, its fields in host order. */
struct pl_segment {
    uint32_t sequence;
    uint32_t acknowledgement;
    uint32_t window; /* as in the header, not scaled */
    uint32_t length; /* payload, bytes; without SYN and FIN */
    uint8_t flags;
    uint8_t options_length;
    bool delivered; /* the payload has already been copied to posted memory */
#ifdef CONFIG_PLUMB_TCP_TIMESTAMPS
    uint32_t timestamp, timestamp_echo; /* of a connection that agreed on them */
#endif
    struct pl_tcp_state *tcp;
    struct plumb_netif *netif; /* where it came in */
    const struct pl_ipv4_header *ip;
    const struct pl_tcp_header *header;
    struct plumb_packet *packet; /* null once somebody has taken it */
};

enum pl_tcp_connection_flag {
    PL_TCP_PENDING = 1,          /* to be settled */
    PL_TCP_USER = 2,             /* a user holds the pointer */
    PL_TCP_ACCEPT = 4,           /* to be offered to the listener's user, when settling */
    PL_TCP_ACK_NOW = 8,          /* acknowledge when settling */
    PL_TCP_FIN_QUEUED = 16,      /* the user has shut down: a FIN follows the queue */
    PL_TCP_FIN_SENT = 32,        /* and has been sent, at send_next - 1 */
    PL_TCP_WANT_WRITABLE = 64,   /* the user met a full buffer */
    PL_TCP_NO_DELAY = 128,       /* Nagle off */
    PL_TCP_TIMING = 256,         /* timed_sequence is being timed */
    PL_TCP_RECOVERY = 512,       /* fast recovery (RFC 6582) */
    PL_TCP_PROBING = 1024,       /* the oldest segment out is a zero-window probe */
    PL_TCP_WATCHED = 2048,       /* each acknowledgement is looked at by itself: selective.c */
    PL_TCP_SCALING = 4096,       /* window scale was agreed on */
    PL_TCP_SYN_REPEATED = 8192,  /* the SYN had to be sent again */
    PL_TCP_LISTENED = 16384,     /* the listener's, whose user has not been offered it */
    PL_TCP_FIN_RECEIVED = 32768, /* receive_next has passed the peer's FIN */
};

/* What became of a segment in the send queue, in its `mark`: scoreboard.c. */
enum pl_tcp_mark {
    PL_TCP_SACKED = 1,
    PL_TCP_LOST = 2,
    PL_TCP_RESENT = 4,
    PL_TCP_REPEATED = 8,
};

/* What F-RTO has done since a time-out. */
enum pl_tcp_undo_step { PL_TCP_UNDO_NONE, PL_TCP_UNDO_SENT_OLDEST, PL_TCP_UNDO_SENT_NEW };

/* What both SYNs have agreed on, and what else is a bit. */
enum pl_tcp_agreed {
    PL_TCP_TIMESTAMPS = 1, /* RFC 7323: each segment but a RST carries them */
    PL_TCP_SACK = 2,       /* RFC 2018 */
    PL_TCP_ECN = 4,        /* RFC 3168; and what follows from that: */
    PL_TCP_ECHO = 8,       /* something marked has come: ECE until the peer says CWR */
    PL_TCP_REDUCED = 16,   /* the window was reduced: CWR with the next new payload */
    PL_TCP_BLIND = 32,     /* no record was to be had: recovers as without SACK; see loss.c */
    PL_TCP_RENO = 64,      /* the user wants no CUBIC */
};

/* And in a handshake: windows are scaled. */
enum { PL_TCP_SCALED = 128 };

enum pl_tcp_deadline {
    PL_TCP_RETRANSMIT, /* or probe a closed window */
    PL_TCP_IDLE,       /* keepalive; end of TIME_WAIT or of an abandoned FIN_WAIT_2 */
    PL_TCP_ACKNOWLEDGE,
    PL_TCP_RETRY, /* for want of a packet or of room in the ring */
    PL_TCP_DEADLINES,
};

/* Beside the bits of deadlines: what PL_TCP_RETRANSMIT is set for; the time-out if neither. */
enum pl_tcp_wait { PL_TCP_FOR_ORDER = 16, PL_TCP_FOR_PROBE = 32 };

/* The last two share one time, the earlier: an acknowledgement may always come early. */
#define PL_TCP_DEADLINE_TIMES 3

static inline unsigned pl_tcp_deadline_time(enum pl_tcp_deadline which) {
    return which < PL_TCP_RETRY ? which : PL_TCP_ACKNOWLEDGE;
}

/* What a window or a buffer may hold, bytes. */
#ifdef CONFIG_PLUMB_TCP_WINDOW_SCALE
typedef uint32_t pl_tcp_size;
#else
typedef uint16_t pl_tcp_size;
_Static_assert(CONFIG_PLUMB_TCP_SEND_BUFFER <= UINT16_MAX &&
                   CONFIG_PLUMB_TCP_RECEIVE_BUFFER <= UINT16_MAX,
               "larger buffers need scaled windows");
#endif

/* What there is of it in each build is a matter of Kconfig's menu TCP. */
struct plumb_tcp {
    struct pl_tcp_state *tcp;
    struct plumb_netif *netif;
    plumb_tcp_handler *handler;
    union {
        void *context;                       /* the handler's */
        struct plumb_tcp_listener *listener; /* with PL_TCP_LISTENED: nobody has it yet */
    };
#ifdef CONFIG_PLUMB_TCP_LINKED
    struct plumb_tcp *bucket_next;
    struct plumb_tcp *pending_next;
#endif

    plumb_ipv4 remote;
    uint32_t ports; /* as in a received header */
#ifdef CONFIG_PLUMB_TCP_REMEMBER
    struct pl_neighbour *neighbour; /* a guess, checked before each use */
    uint32_t address_sum;
#endif

    pl_tcp_size congestion_window;
    pl_tcp_size slow_start_threshold;
    pl_tcp_size congestion_acked; /* bytes acknowledged towards the next increase */
    uint16_t mss;                 /* what is sent at most; until the peer's SYN has been taken, what
                                     the user allows */
#ifdef CONFIG_PLUMB_TCP_PMTUD
    uint16_t mss_most; /* what was agreed on: `mss` unless the path takes less */
#endif
    uint16_t rto_ms;
    uint16_t reordered_count;
    uint16_t send_window_most; /* the largest that a header of the peer's has offered */
    uint16_t flags;            /* enum pl_tcp_connection_flag */
    uint8_t state;             /* enum plumb_tcp_state */
    uint8_t events;            /* enum plumb_tcp_event, to be told */
    union {
        uint8_t retries; /* time-outs in a row, or unanswered probes */
        int8_t error;    /* once it is CLOSED */
    };
    uint8_t duplicates;       /* duplicate acknowledgements in a row */
    uint8_t challenge_second; /* the present one of challenges, of 1024 ms */
    uint8_t challenges;       /* left in this second */
#ifdef CONFIG_PLUMB_TCP_PMTUD
    uint8_t path_period; /* when the path was found to take less, of 8192 ms */
#endif
    uint8_t deadlines; /* a bit per enum pl_tcp_deadline that is set */
    uint8_t agreed;    /* enum pl_tcp_agreed */
#ifdef CONFIG_PLUMB_TCP_WINDOW_SCALE
    uint8_t send_scale;
#endif
#ifdef CONFIG_PLUMB_TCP_LOSSES
    uint8_t loss; /* its record, counted from 1; 0: nothing was lost */
#endif
#ifdef CONFIG_PLUMB_TCP_ACKNOWLEDGE_BATCH
    uint8_t deferred_count; /* acknowledgements noted in this batch, up to UINT8_MAX */
    uint32_t deferred;      /* the last of them */
#endif

    uint32_t send_unacked; /* until it is acknowledged, the SYN's number */
    uint32_t send_next;
    uint32_t send_most;
    pl_tcp_size send_window;
    uint32_t window_sequence; /* SND.WL1. SND.WL2 is never above send_unacked: what is old by
                                 it is refused anyway */
#ifdef CONFIG_PLUMB_TCP_EXPECT
    uint32_t window_word; /* offset, flags and window in a header that brings nothing new, as they
                             lie in memory; 0: not known */
#endif
    struct plumb_packet *send_first, *send_last, *send_unsent;
    pl_tcp_size send_queued; /* bytes in the send queue */
    pl_tcp_size receive_queued;
#ifdef CONFIG_PLUMB_TCP_BUFFER_LIMITS
    pl_tcp_size send_limit;
    pl_tcp_size receive_limit;
#endif

    uint32_t receive_next;
    uint32_t receive_edge;  /* the right edge of the window offered */
    uint32_t receive_acked; /* receive_next as last acknowledged */
    struct plumb_packet *receive_first, *receive_last;
    struct plumb_packet *reordered;
#ifdef CONFIG_PLUMB_TCP_POST
    uint8_t *posted; /* null: no memory is */
    uint32_t posted_length;
    uint32_t posted_filled;
#endif

#ifdef CONFIG_PLUMB_TCP_TIMESTAMPS
    uint32_t timestamp_offset; /* from the stack's milliseconds to our clock */
    uint32_t timestamp_recent; /* TS.Recent: the peer's that is echoed */
#endif

    uint32_t recover; /* send_most when recovery began */

    uint32_t timed_sequence;
    uint32_t timed_us;
    uint32_t srtt_us; /* smoothed round trip; 0: none yet */
    uint32_t rttvar_us;
    uint32_t progress_ms; /* when the peer last acknowledged anything, or sending began */
    uint32_t heard_ms;    /* when anything valid last arrived */
    uint32_t deadline_ms[PL_TCP_DEADLINE_TIMES];
#ifdef CONFIG_PLUMB_TCP_LINKED
    struct plumb_timer timer;
#endif
#ifdef CONFIG_PLUMB_TCP_USER_TIMEOUT
    uint32_t user_timeout_ms;
#endif
#ifdef CONFIG_PLUMB_TCP_KEEPALIVE
    uint32_t keepalive_ms; /* 0: not asked for */
#endif
#ifdef CONFIG_PLUMB_TCP_STATISTICS
    uint32_t segments_in, segments_out, acks_out, retransmitted;
#endif
};
_Static_assert(sizeof(struct plumb_tcp) <= PLUMB_CONNECTION_BYTES_,
               "plumb_create() needs what <plumb/stack.h> says");

#ifdef CONFIG_PLUMB_TCP_LOSSES
/* What a connection remembers once something of its was lost, or seems to have been; loss.c. */
struct pl_tcp_loss {
    struct plumb_tcp *owner; /* null: free */
#ifdef CONFIG_PLUMB_TCP_CUBIC
    pl_tcp_size cubic_most;     /* W_max; 0: there was no loss */
    pl_tcp_size cubic_friendly; /* W_est; 0: no epoch has begun */
    uint32_t cubic_begun_ms;
    uint16_t cubic_plateau_ms; /* K */
#endif
#ifdef CONFIG_PLUMB_TCP_UNDO
    uint8_t undo_count;      /* segments sent again since the last reduction, up to UINT8_MAX */
    uint8_t undo_step;       /* enum pl_tcp_undo_step */
    pl_tcp_size undo_window; /* before that reduction; 0: nothing to go back to */
    pl_tcp_size undo_threshold;
#endif
#ifdef CONFIG_PLUMB_TCP_ECN
    uint32_t marked; /* send_most at the last reduction */
#endif
#ifdef CONFIG_PLUMB_TCP_RACK
    pl_tcp_size left_network; /* bytes between send_unacked and send_next that are not in it */
    uint32_t rack_sent_us;    /* when that was sent which was sent last of what was delivered, */
    uint32_t rack_end;        /* where it ends, */
    uint32_t rack_rtt_us;     /* and how long it took */
    uint32_t rack_least_us;   /* the shortest round trip; 0: none yet */
    uint32_t probe_end;
    pl_tcp_size prr_delivered, prr_out; /* since recovery began */
    uint16_t prr_ratio;                 /* of the threshold to what was out, 65536ths less 1 */
    uint8_t rack_flags;                 /* enum pl_tcp_rack_flag */
    uint8_t rack_widenings;  /* of the reordering window, quarters of the shortest round trip */
    uint8_t rack_recoveries; /* until it shrinks again */
#endif
#if defined(CONFIG_PLUMB_TCP_UNDO) && defined(CONFIG_PLUMB_TCP_CUBIC)
    uint16_t undo_most; /* W_max before the last reduction, in units of 64 bytes */
#endif
};
_Static_assert(CONFIG_PLUMB_TCP_LOSSES <= UINT8_MAX, "a record's number fits a byte");
_Static_assert(sizeof(struct pl_tcp_loss) <= PLUMB_LOSS_BYTES_, "as <plumb/stack.h> says");
#endif

struct plumb_tcp_listener {
    struct pl_tcp_state *tcp;
    plumb_tcp_acceptor *acceptor; /* null: the slot is free */
    void *context;
    struct plumb_endpoint local;
    uint16_t backlog;
    uint16_t half_open;
#ifdef CONFIG_PLUMB_TCP_BUFFER_LIMITS
    pl_tcp_size receive_limit; /* of its connections */
#endif
#ifdef CONFIG_PLUMB_TCP_MSS_LIMIT
    uint16_t mss; /* of those, at most */
#endif
#ifdef CONFIG_PLUMB_TCP_SYN_CACHE
    plumb_tcp_room *room; /* or null */
#endif
};

#ifdef CONFIG_PLUMB_TCP_SYN_CACHE
/* A connection until the last ACK of its handshake; see syn_cache.c. */
struct pl_tcp_handshake {
    struct plumb_tcp_listener *listener; /* null: the entry is free */
    struct plumb_netif *netif;
    plumb_ipv4 remote;
    uint32_t ports;
    uint32_t initial, peer_initial; /* the numbers of both SYNs */
    uint32_t deadline_ms;           /* when ours is due again */
    uint32_t made_us;
#ifdef CONFIG_PLUMB_TCP_TIMESTAMPS
    uint32_t timestamp_recent;
#endif
    uint16_t mss;
    uint8_t send_scale;
    uint8_t agreed;     /* enum pl_tcp_agreed, PL_TCP_SCALED */
    uint8_t retries;    /* how often ours was sent again */
    uint8_t challenges; /* left, in all */
};
#endif

/* Of ephemeral ports; a power of 2. */
#define PL_TCP_PORT_COUNTERS 8

struct pl_tcp_state {
    struct plumb *stack;      /* set at creation, as in every layer that asks for it */
    struct plumb_tcp *recent; /* the connection of the last segment */
#ifdef CONFIG_PLUMB_TCP_LINKED
    struct plumb_tcp *pending, *pending_last;
    struct plumb_tcp *buckets[CONFIG_PLUMB_TCP_HASH_BUCKETS];
#else
    bool pending; /* some connection may be */
    struct plumb_timer timer;
#endif
#ifdef CONFIG_PLUMB_TCP_KEEPALIVE
    void (*keepalive)(struct plumb_tcp *connection); /* null while nobody has asked for it */
#endif
#ifdef CONFIG_PLUMB_TCP_POST
    const struct pl_tcp_post *post; /* null while nobody has posted any */
#endif
#ifdef CONFIG_PLUMB_TCP_SACK
    /* Bytes that came again, and to whom; to be told by its next ACK, unless none did. */
    const struct plumb_tcp *duplicate_owner;
    uint32_t duplicate_begin, duplicate_end;
#endif
    uint16_t port_counters[PL_TCP_PORT_COUNTERS];
    struct plumb_tcp_listener listeners[CONFIG_PLUMB_TCP_LISTENERS];
#ifdef CONFIG_PLUMB_TCP_SYN_CACHE
    struct plumb_timer handshake_timer;
    uint32_t handshake_count; /* entries in use */
    struct pl_tcp_handshake handshakes[CONFIG_PLUMB_TCP_HANDSHAKES];
#endif
#ifdef CONFIG_PLUMB_TCP_SYN_COOKIES
    uint32_t cookie_ms; /* when the last one was sent */
    bool cookies;       /* one was, and none of them has been found too old */
#endif
#ifdef CONFIG_PLUMB_TCP_LOSSES
    struct pl_tcp_loss losses[CONFIG_PLUMB_TCP_LOSSES];
#endif
    struct plumb_tcp connections[CONFIG_PLUMB_TCP_CONNECTIONS];
};

extern const struct pl_layer pl_tcp_layer;

static inline bool pl_before(uint32_t a, uint32_t b) {
    return (int32_t)(a - b) < 0;
}

static inline bool pl_after(uint32_t a, uint32_t b) {
    return (int32_t)(a - b) > 0;
}

static inline uint16_t pl_tcp_local_port(const struct plumb_tcp *connection) {
    plumb_be32 ports = {connection->ports};
    return (uint16_t)plumb_get32(ports);
}

static inline uint16_t pl_tcp_remote_port(const struct plumb_tcp *connection) {
    plumb_be32 ports = {connection->ports};
    return (uint16_t)(plumb_get32(ports) >> 16);
}

/* Ours, which is the interface's: when that has another the connection ends. */
static inline plumb_ipv4 pl_tcp_local(const struct plumb_tcp *connection) {
    return connection->netif->ipv4;
}

static inline struct plumb *pl_tcp_stack(const struct plumb_tcp *connection) {
    return connection->tcp->stack;
}

/* Whether all of this was agreed on; false at once of what the build leaves out. */
static inline bool pl_tcp_agreed(const struct plumb_tcp *connection, unsigned what) {
    const unsigned built =
        PL_TCP_TIMESTAMPS * PLUMB_IS_SET_(CONFIG_PLUMB_TCP_TIMESTAMPS) +
        PL_TCP_SACK * PLUMB_IS_SET_(CONFIG_PLUMB_TCP_SACK) +
        (PL_TCP_ECN | PL_TCP_ECHO | PL_TCP_REDUCED) * PLUMB_IS_SET_(CONFIG_PLUMB_TCP_ECN);

    return (connection->agreed & built & what) != 0;
}

/* The time in units of 1024 ms, for the limit of challenges. */
static inline uint8_t pl_tcp_second(const struct plumb *stack) {
    return (uint8_t)(stack->now_ms >> 10);
}

/* Bytes sent and not acknowledged, SYN and FIN included. */
static inline uint32_t pl_tcp_in_flight(const struct plumb_tcp *connection) {
    return connection->send_next - connection->send_unacked;
}

/* How many bytes the send buffer takes, and the receive buffer. */
static inline uint32_t pl_tcp_send_limit(const struct plumb_tcp *connection) {
#ifdef CONFIG_PLUMB_TCP_BUFFER_LIMITS
    return connection->send_limit;
#else
    (void)connection;
    return CONFIG_PLUMB_TCP_SEND_BUFFER;
#endif
}

static inline uint32_t pl_tcp_receive_limit(const struct plumb_tcp *connection) {
#ifdef CONFIG_PLUMB_TCP_BUFFER_LIMITS
    return connection->receive_limit;
#else
    (void)connection;
    return CONFIG_PLUMB_TCP_RECEIVE_BUFFER;
#endif
}

/* A received header's window, bytes. */
static inline uint32_t pl_tcp_scaled(const struct plumb_tcp *connection, uint32_t window) {
#ifdef CONFIG_PLUMB_TCP_WINDOW_SCALE
    return window << connection->send_scale;
#else
    (void)connection;
    return window;
#endif
}

static inline uint32_t pl_tcp_address_sum(const struct plumb_tcp *connection) {
#ifdef CONFIG_PLUMB_TCP_REMEMBER
    return connection->address_sum;
#else
    return pl_sum_addresses(pl_tcp_local(connection).be, connection->remote.be);
#endif
}

/* Counts by `count` in one of a connection's own counters. */
#ifdef CONFIG_PLUMB_TCP_STATISTICS
#define pl_tcp_tally(connection, counter, count) ((connection)->counter += (count))
#else
#define pl_tcp_tally(connection, counter, count) ((void)(connection))
#endif

/* The timestamps option with two NOPs in front, so that its values lie on words, and how
 * such a header's sixth word looks. */
#define PL_TCP_STAMP      12U
#define PL_TCP_STAMP_WORD plumb_put32(0x0101080a).be
/* Round trips that the clock of timestamps, a millisecond, measures well. */
#define PL_TCP_COARSE_MS 8U

/* Bytes of options in each segment of a connection that carries payload. */
static inline unsigned pl_tcp_stamp_length(const struct plumb_tcp *connection) {
    return pl_tcp_agreed(connection, PL_TCP_TIMESTAMPS) ? PL_TCP_STAMP : 0;
}

/* Is it an acknowledgement of more than was acknowledged, noted ones included? */
static inline bool pl_tcp_advances(const struct plumb_tcp *connection, uint32_t acknowledgement) {
    uint32_t before = connection->send_unacked;

#ifdef CONFIG_PLUMB_TCP_ACKNOWLEDGE_BATCH
    if (connection->deferred_count)
        before = connection->deferred;
#endif
    return acknowledgement - before - 1 < connection->send_most - before;
}

/* Does the user want what comes next in memory posted for it? */
static inline bool pl_tcp_is_posting(const struct plumb_tcp *connection) {
#ifdef CONFIG_PLUMB_TCP_POST
    return connection->posted != NULL;
#else
    (void)connection;
    return false;
#endif
}

/* What puts it there. */
static inline const struct pl_tcp_post *pl_tcp_poster(const struct plumb_tcp *connection) {
#ifdef CONFIG_PLUMB_TCP_POST
    return connection->tcp->post;
#else
    (void)connection;
    return NULL;
#endif
}

/* Nothing is wanted there any more. */
static inline void pl_tcp_unpost(struct plumb_tcp *connection) {
#ifdef CONFIG_PLUMB_TCP_POST
    connection->posted = NULL;
#else
    (void)connection;
#endif
}

/* So much more has been delivered there. */
static inline void pl_tcp_count_posted(struct plumb_tcp *connection, uint32_t length) {
#ifdef CONFIG_PLUMB_TCP_POST
    connection->posted_filled += length;
#else
    (void)connection;
    (void)length;
#endif
}

/* Does the device fill in the checksums? */
static inline bool pl_tcp_is_offloaded(const struct plumb_tcp *connection) {
    return connection->netif->capabilities & PLUMB_CAPABILITY_TX_CHECKSUM;
}

/* ---- table.c: which connection, and which are pending ---- */

struct plumb_tcp *pl_tcp_find(struct pl_tcp_state *tcp, plumb_ipv4 local, plumb_ipv4 remote,
                              uint32_t ports);

/* A connection is to be found from now on, or no more. */
void pl_tcp_enter_table(struct plumb_tcp *connection);
void pl_tcp_leave_table(struct plumb_tcp *connection);

/* Has the connection settled after this batch. */
void pl_tcp_pend(struct plumb_tcp *connection);

/* The next one that is pending, behind `before` (null: the first), or null. */
struct plumb_tcp *pl_tcp_next_pending(struct pl_tcp_state *tcp, const struct plumb_tcp *before);

/* The first of the pending has been settled. */
void pl_tcp_unpend(struct plumb_tcp *connection);

/* ---- connection.c: how they begin and end, and settling ---- */

/* The keyed hash of a connection's addresses and ports. */
uint64_t pl_tcp_hash(const struct plumb *stack, plumb_ipv4 local, plumb_ipv4 remote,
                     uint32_t ports);

/* An initial number (RFC 6528 section 3): the hash, and a clock of 4 microseconds. */
static inline uint32_t pl_tcp_initial(const struct plumb *stack, uint64_t hash) {
    return (uint32_t)hash + (uint32_t)(stack->now_us >> 2);
}

/* What is sent begins at this number. */
static inline void pl_tcp_number(struct plumb_tcp *connection, uint32_t initial) {
    connection->send_unacked = connection->send_next = connection->send_most = initial;
}

/* Sets all that a new connection begins with, in a slot or elsewhere. */
void pl_tcp_begin(struct plumb_tcp *connection, struct pl_tcp_state *tcp, struct plumb_netif *netif,
                  plumb_ipv4 remote, uint32_t ports);

/* Would there be a slot? */
bool pl_tcp_has_slot(struct pl_tcp_state *tcp);

/* Takes a slot (an old TIME_WAIT gives way) and puts it into its bucket, in
 * state CLOSED for the caller to set, and its numbers; null when there is none. */
struct plumb_tcp *pl_tcp_allocate(struct pl_tcp_state *tcp, struct plumb_netif *netif,
                                  plumb_ipv4 remote, uint32_t ports);

/* Ends a connection: queues are put, deadlines cleared, the slot becomes free
 * unless a user is still to be told `error` by a CLOSED event. */
void pl_tcp_end(struct plumb_tcp *connection, int error);

/* Has the user told of events when settling. */
void pl_tcp_tell(struct plumb_tcp *connection, unsigned events);

/* Has an acknowledgement sent when settling. */
void pl_tcp_acknowledge_now(struct plumb_tcp *connection);

/* TIME_WAIT, for its time from now on. */
void pl_tcp_enter_time_wait(struct plumb_tcp *connection);

void pl_tcp_settle(struct plumb *stack, void *state);

/* All of plumb_tcp_connect() but the SYN, which is pl_tcp_send_syn()'s: in between the user sets
 * what that is to tell. */
int pl_tcp_prepare(struct plumb *stack, struct plumb_endpoint remote, uint16_t local_port,
                   plumb_tcp_handler *handler, void *context, struct plumb_tcp **connection);

/* What we offer to scale by: enough for the largest buffer, 1 MiB, that a user may ask for once
 * the connection stands; a window then counts in units of 32 bytes. */
#define PL_TCP_RECEIVE_SCALE 5

/* What buffers may hold, bytes. */
#ifdef CONFIG_PLUMB_TCP_WINDOW_SCALE
#define PL_TCP_LARGEST_BUFFER (1U << 20)
#else
#define PL_TCP_LARGEST_BUFFER UINT16_MAX
#endif

/* ---- listen.c ---- */

/* A connection that begins has its listener's buffer and segments. */
static inline void pl_tcp_take_limit(struct plumb_tcp *connection,
                                     const struct plumb_tcp_listener *listener) {
#ifdef CONFIG_PLUMB_TCP_BUFFER_LIMITS
    connection->receive_limit = listener->receive_limit;
#endif
#ifdef CONFIG_PLUMB_TCP_MSS_LIMIT
    connection->mss = listener->mss;
#endif
    (void)connection;
    (void)listener;
}

#ifdef CONFIG_PLUMB_TCP_SYN_CACHE
/* May one more handshake of a listener's end in a connection now? */
bool pl_tcp_has_room(struct plumb_tcp_listener *listener);
#endif

/* A SYN for which no connection exists; takes or drops the packet. Where it follows one
 * that has just ended, `above` is the highest number that was sent there; else null. */
void pl_tcp_passive_open(struct pl_segment *segment, const uint32_t *above);

/* The listener at an address and port, or null. */
struct plumb_tcp_listener *pl_tcp_find_listener(struct pl_tcp_state *tcp, plumb_ipv4 local,
                                                uint32_t ports);

/* The initial number for an answer; above *above, if that is not null. */
uint32_t pl_tcp_choose_initial(const struct plumb *stack, uint64_t hash, const uint32_t *above);

/* A connection that its listener's user has not been offered ends. */
void pl_tcp_leave_listener(struct plumb_tcp *connection);

/* ---- half_open.c, or syn_cache.c ---- */

/* Answers a SYN to a listener; false when there is no place. */
bool pl_tcp_take_syn(struct plumb_tcp_listener *listener, struct pl_segment *segment,
                     const uint32_t *above);

/* The handshakes of a listener that is no more are reset. */
void pl_tcp_reset_handshakes(struct plumb_tcp_listener *listener);

#ifdef CONFIG_PLUMB_TCP_SYN_CACHE
/* A segment of no connection: is it of a handshake? Then takes or drops the packet. */
bool pl_tcp_take_handshake(struct pl_segment *segment);

/* The interface has another address. */
void pl_tcp_readdress_handshakes(struct pl_tcp_state *tcp, const struct plumb_netif *netif);
#else
static inline bool pl_tcp_take_handshake(const struct pl_segment *segment) {
    (void)segment;
    return false;
}

static inline void pl_tcp_readdress_handshakes(const struct pl_tcp_state *tcp,
                                               const struct plumb_netif *netif) {
    (void)tcp;
    (void)netif;
}
#endif

/* ---- cookie.c ---- */

#ifdef CONFIG_PLUMB_TCP_SYN_COOKIES
/* The initial number of an answer by which alone its connection can be opened. What of the
 * SYN does not fit it is cleared in `stranger`. */
uint32_t pl_tcp_make_cookie(struct plumb_tcp *stranger);

/* Does a segment acknowledge such a number? Then sets what it says in `entry`. */
bool pl_tcp_read_cookie(const struct pl_segment *segment, struct pl_tcp_handshake *entry);
#endif

/* Of a connection whose last ACK of the handshake is being taken, and none of which was timed: was
 * its SYN-ACK a cookie? */
static inline bool pl_tcp_from_cookie(const struct plumb_tcp *connection) {
#ifdef CONFIG_PLUMB_TCP_SYN_COOKIES
    return connection->state == PLUMB_TCP_STATE_SYN_RECEIVED &&
           !(connection->flags & PL_TCP_SYN_REPEATED);
#else
    (void)connection;
    return false;
#endif
}

/* ---- input.c ---- */

void pl_tcp_input(struct plumb *stack, void *state, struct plumb_netif *netif,
                  const struct pl_ipv4_header *ip, struct plumb_packet *packet);

/* A segment of a connection that is neither CLOSED nor in SYN_SENT. */
void pl_tcp_input_synchronised(struct plumb_tcp *connection, struct pl_segment *segment);

bool pl_tcp_icmp_error(struct plumb *stack, void *state, const struct pl_ipv4_header *quoted,
                       const void *payload, int error, unsigned mtu);

/* ---- expect.c ---- */

#ifdef CONFIG_PLUMB_TCP_EXPECT

/* Every frame: takes it at once, or passes it to Ethernet. */
void pl_tcp_first_look(struct plumb_netif *netif, struct plumb_packet *packet);

/* A segment was taken in the ordinary way: is its like to be looked for? */
void pl_tcp_expect(struct plumb_tcp *connection, struct plumb_netif *netif);

/* The window was taken from a header that said `window`. */
static inline void pl_tcp_expect_window(struct plumb_tcp *connection, uint32_t window) {
    uint32_t length = PL_TCP_HEADER + pl_tcp_stamp_length(connection);

    connection->window_word = plumb_put32(length << 26 | (uint32_t)PL_TCP_ACK << 16 | window).be;
}

/* No longer as it was when the above said so. */
static inline void pl_tcp_unexpect(const struct plumb_tcp *connection) {
    if (connection->netif->expected == connection)
        connection->netif->expected = NULL;
}

#else

static inline void pl_tcp_expect(const struct plumb_tcp *connection,
                                 const struct plumb_netif *netif) {
    (void)connection;
    (void)netif;
}

static inline void pl_tcp_expect_window(const struct plumb_tcp *connection, uint32_t window) {
    (void)connection;
    (void)window;
}

static inline void pl_tcp_unexpect(const struct plumb_tcp *connection) {
    (void)connection;
}

#endif

/* Drops a segment's packet, counted. */
void pl_tcp_drop(struct pl_segment *segment, enum plumb_counter counter);

/* ---- options.c ---- */

enum pl_tcp_option_kind {
    PL_TCP_OPTION_END = 0,
    PL_TCP_OPTION_NOP = 1,
    PL_TCP_OPTION_MSS = 2,
    PL_TCP_OPTION_SCALE = 3,
    PL_TCP_OPTION_SACK_PERMITTED = 4,
    PL_TCP_OPTION_SACK = 5,
    PL_TCP_OPTION_TIMESTAMPS = 8,
};

/* The first option of a segment that has this kind and this length (0: any), or null. What is
 * malformed ends the list; other kinds and lengths are stepped over. */
const uint8_t *pl_tcp_option(const struct pl_segment *segment, uint8_t kind, unsigned length);

/* Writes the options of a segment with these flags and without payload; returns their
 * length, a multiple of 4. */
unsigned pl_tcp_build_options(struct plumb_tcp *connection, uint32_t flags, pl_header_word *to);

#ifdef CONFIG_PLUMB_TCP_WINDOW_SCALE
/* Both scale their windows, the peer by so many bits. */
void pl_tcp_agree_scale(struct plumb_tcp *connection, uint8_t scale);
#endif

/* Smaller ones make a sender spend more on headers than on bytes; Linux's floor. */
#define PL_TCP_SMALLEST_MSS 48

/* What the interface carries, without headers. */
static inline uint16_t pl_tcp_interface_mss(const struct plumb_tcp *connection) {
    return (uint16_t)(connection->netif->mtu - PL_IPV4_HEADER - PL_TCP_HEADER);
}

/* Takes the peer's SYN: its number, its window (never scaled) and its options. */
void pl_tcp_synchronise(struct plumb_tcp *connection, const struct pl_segment *segment);

/* ---- sack_receive.c ---- */

/* Where a packet of `reordered` ends, its FIN included. */
static inline uint32_t pl_tcp_reordered_end(const struct plumb_packet *packet) {
    return packet->sequence + packet->total + packet->mark;
}

#ifdef CONFIG_PLUMB_TCP_SACK

/* How many packets were ever kept out of order, by all connections: tells which of two came
 * first. */
static inline uint32_t pl_tcp_reordered_count(const struct plumb_tcp *connection) {
    return plumb_counter(pl_tcp_stack(connection), PLUMB_COUNTER_tcp_reordered);
}

/* A packet is to wait in `reordered`. */
static inline void pl_tcp_note_arrival(const struct plumb_tcp *connection,
                                       struct plumb_packet *packet) {
    packet->sum = pl_tcp_reordered_count(connection);
}

/* These bytes came again. */
void pl_tcp_note_duplicate(const struct plumb_tcp *connection, uint32_t begin, uint32_t end);

/* Nobody is to be told of them. */
void pl_tcp_forget_duplicate(const struct plumb_tcp *connection);

/* Is there anything to tell of a connection that agreed on it? */
bool pl_tcp_has_blocks(const struct plumb_tcp *connection);

/* Writes the option with two NOPs in front; returns the length of both. */
unsigned pl_tcp_write_blocks(struct plumb_tcp *connection, pl_header_word *to);

static inline bool pl_tcp_tells_blocks(const struct plumb_tcp *connection) {
    return pl_tcp_agreed(connection, PL_TCP_SACK) && pl_tcp_has_blocks(connection);
}

#else

static inline void pl_tcp_note_arrival(const struct plumb_tcp *connection,
                                       const struct plumb_packet *packet) {
    (void)connection;
    (void)packet;
}

static inline void pl_tcp_note_duplicate(const struct plumb_tcp *connection, uint32_t begin,
                                         uint32_t end) {
    (void)connection;
    (void)begin;
    (void)end;
}

static inline void pl_tcp_forget_duplicate(const struct plumb_tcp *connection) {
    (void)connection;
}

static inline unsigned pl_tcp_write_blocks(const struct plumb_tcp *connection,
                                           const pl_header_word *to) {
    (void)connection;
    (void)to;
    return 0;
}

static inline bool pl_tcp_tells_blocks(const struct plumb_tcp *connection) {
    (void)connection;
    return false;
}

#endif

/* ---- ecn.c ---- */

/* Beside the flags of a segment that is to be sent: its datagram may be marked. */
#define PL_TCP_CAPABLE 0x10000U

#ifdef CONFIG_PLUMB_TCP_ECN

/* Agrees on it when the peer's SYN does. */
void pl_tcp_agree_on_ecn(struct plumb_tcp *connection, const struct pl_segment *syn);

/* Takes the marks and echoes of a segment, before its acknowledgement is. */
void pl_tcp_note_ecn(struct plumb_tcp *connection, const struct pl_segment *segment);

/* What goes with these flags. */
uint32_t pl_tcp_ecn_flags(const struct plumb_tcp *connection, uint32_t flags);

static inline void pl_tcp_take_ecn(struct plumb_tcp *connection, const struct pl_segment *segment) {
    if (pl_tcp_agreed(connection, PL_TCP_ECN))
        pl_tcp_note_ecn(connection, segment);
}

/* The window was reduced, for whatever reason (section 6.1.2). */
void pl_tcp_note_reduced(struct plumb_tcp *connection);

/* What goes with payload, which is new or not. */
static inline uint32_t pl_tcp_payload_flags(struct plumb_tcp *connection, bool fresh) {
    uint32_t flags = 0;

    if (!pl_tcp_agreed(connection, PL_TCP_ECN))
        return 0;
    if (pl_tcp_agreed(connection, PL_TCP_ECHO))
        flags |= PL_TCP_ECE;
    if (fresh)
        flags |= pl_tcp_agreed(connection, PL_TCP_REDUCED) ? PL_TCP_CAPABLE | PL_TCP_CWR
                                                           : PL_TCP_CAPABLE;
    return flags;
}

#else

static inline void pl_tcp_agree_on_ecn(const struct plumb_tcp *connection,
                                       const struct pl_segment *syn) {
    (void)connection;
    (void)syn;
}

static inline void pl_tcp_take_ecn(const struct plumb_tcp *connection,
                                   const struct pl_segment *segment) {
    (void)connection;
    (void)segment;
}

static inline uint32_t pl_tcp_ecn_flags(const struct plumb_tcp *connection, uint32_t flags) {
    (void)connection;
    (void)flags;
    return 0;
}

static inline void pl_tcp_note_reduced(const struct plumb_tcp *connection) {
    (void)connection;
}

static inline uint32_t pl_tcp_payload_flags(const struct plumb_tcp *connection, bool fresh) {
    (void)connection;
    (void)fresh;
    return 0;
}

#endif

/* ---- timestamps.c ---- */

#ifdef CONFIG_PLUMB_TCP_TIMESTAMPS

/* Reads the timestamps of a segment; false when it has to be dropped for them, and was. */
bool pl_tcp_check_timestamps(struct plumb_tcp *connection, struct pl_segment *segment);

/* Takes those of a segment whose sequence number is acceptable. */
void pl_tcp_note_timestamps(struct plumb_tcp *connection, const struct pl_segment *segment);

/* Takes the round trip that an echo of ours tells, with an acknowledgement of new bytes. */
void pl_tcp_measure_echo(struct plumb_tcp *connection, uint32_t echo);

static inline bool pl_tcp_timestamps_pass(struct plumb_tcp *connection,
                                          struct pl_segment *segment) {
    return !pl_tcp_agreed(connection, PL_TCP_TIMESTAMPS) ||
           pl_tcp_check_timestamps(connection, segment);
}

static inline void pl_tcp_take_timestamps(struct plumb_tcp *connection,
                                          const struct pl_segment *segment) {
    if (pl_tcp_agreed(connection, PL_TCP_TIMESTAMPS))
        pl_tcp_note_timestamps(connection, segment);
}

/* Sets where our clock begins. */
void pl_tcp_start_clock(struct plumb_tcp *connection);

/* Agrees on timestamps when the peer's SYN has them; RFC 7323 section 3.2. */
void pl_tcp_agree_on_timestamps(struct plumb_tcp *connection, const struct pl_segment *syn);

/* Writes the option as it is laid out in all segments but a SYN; RFC 7323 appendix A. */
static inline void pl_tcp_write_stamp(const struct plumb_tcp *connection, pl_header_word *to) {
    to[0].be = PL_TCP_STAMP_WORD;
    to[1].be = plumb_put32(pl_tcp_stack(connection)->now_ms + connection->timestamp_offset).be;
    to[2].be = plumb_put32(connection->timestamp_recent).be;
}

/* Do the peer's echoes measure the round trip? Where it is short against their clock, one
 * segment at a time is timed in microseconds instead. */
static inline bool pl_tcp_echoes_measure(const struct plumb_tcp *connection) {
    return pl_tcp_agreed(connection, PL_TCP_TIMESTAMPS) &&
           connection->srtt_us >= PL_TCP_COARSE_MS * 1000U;
}

#else

static inline bool pl_tcp_timestamps_pass(const struct plumb_tcp *connection,
                                          const struct pl_segment *segment) {
    (void)connection;
    (void)segment;
    return true;
}

static inline void pl_tcp_take_timestamps(const struct plumb_tcp *connection,
                                          const struct pl_segment *segment) {
    (void)connection;
    (void)segment;
}

static inline void pl_tcp_agree_on_timestamps(const struct plumb_tcp *connection,
                                              const struct pl_segment *syn) {
    (void)connection;
    (void)syn;
}

static inline void pl_tcp_write_stamp(const struct plumb_tcp *connection,
                                      const pl_header_word *to) {
    (void)connection;
    (void)to;
}

static inline bool pl_tcp_echoes_measure(const struct plumb_tcp *connection) {
    (void)connection;
    return false;
}

#endif

/* ---- acknowledge.c ---- */

/* The acknowledgement and window of an acceptable segment; false when it
 * acknowledges what was never sent (and was answered). */
bool pl_tcp_take_acknowledgement(struct plumb_tcp *connection, const struct pl_segment *segment);

/* Acts on the acknowledgements that were only noted. */
#ifdef CONFIG_PLUMB_TCP_ACKNOWLEDGE_BATCH
void pl_tcp_take_deferred(struct plumb_tcp *connection);

static inline void pl_tcp_settle_deferred(struct plumb_tcp *connection) {
    if (connection->deferred_count)
        pl_tcp_take_deferred(connection);
}

/* Notes the acknowledgement of a segment that brings nothing else, not even a window, if
 * it is of new bytes and there is nothing special about the connection. */
static inline bool pl_tcp_defer(struct plumb_tcp *connection, uint32_t sequence,
                                uint32_t acknowledgement) {
    const uint16_t special = PL_TCP_RECOVERY | PL_TCP_PROBING | PL_TCP_FIN_QUEUED | PL_TCP_WATCHED;
    uint32_t count = connection->deferred_count;
    uint32_t before = count ? connection->deferred : connection->send_unacked;

    if (acknowledgement - before - 1 >= connection->send_most - before ||
        connection->flags & special || connection->duplicates)
        return false;
    connection->window_sequence = sequence;
    connection->deferred = acknowledgement;
    if (count < UINT8_MAX)
        connection->deferred_count = (uint8_t)(count + 1);
    if (!(connection->flags & PL_TCP_PENDING))
        pl_tcp_pend(connection);
    return true;
}
#else
static inline void pl_tcp_settle_deferred(struct plumb_tcp *connection) {
    (void)connection;
}

static inline bool pl_tcp_defer(const struct plumb_tcp *connection, uint32_t sequence,
                                uint32_t acknowledgement) {
    (void)connection;
    (void)sequence;
    (void)acknowledgement;
    return false;
}
#endif

/* A user waits for room who has not met a full buffer by sending. */
static inline void pl_tcp_want_writable(struct plumb_tcp *connection) {
    connection->flags |= PL_TCP_WANT_WRITABLE;
}

/* Moves send_unacked, which lies behind, up to `acknowledgement`. */
void pl_tcp_advance(struct plumb_tcp *connection, uint32_t acknowledgement);

/* Tells a user who met a full buffer of room again, once it is worth a call. */
void pl_tcp_offer_room(struct plumb_tcp *connection);

/* ---- receive.c ---- */

/* Bytes that the receive buffer still takes. */
uint32_t pl_tcp_receive_room(const struct plumb_tcp *connection);

/* The window to advertise now, bytes, kept at or beyond receive_edge. */
uint32_t pl_tcp_receive_window(struct plumb_tcp *connection);

/* Queues the payload and FIN of an acceptable segment, in order or not. */
void pl_tcp_take_payload(struct plumb_tcp *connection, struct pl_segment *segment);

/* Copies from the front of the queue without consuming; returns how much. */
size_t pl_tcp_copy_queued(const struct plumb_tcp *connection, void *to, size_t length);

/* Drops everything received and not consumed. */
void pl_tcp_drop_received(struct plumb_tcp *connection);

/* Takes what was received in order and not consumed off the connection, for whoever reads it
 * after its end. */
struct plumb_packet *pl_tcp_take_received(struct plumb_tcp *connection, struct plumb_packet **last);

/* ---- post.c ---- */

/* What posted memory needs of the receive path, reached through the table so
 * that a firmware which never posts does not carry it. */
struct pl_tcp_post {
    /* When the payload is the next in order and fits, copies it and returns true
     * with its sum. The bytes count only once the segment is taken. */
    bool (*copy)(struct plumb_tcp *connection, uint32_t sequence, const struct plumb_packet *packet,
                 unsigned header_length, uint32_t *sum);
    /* Copies what fits; the rest stays in the packet. */
    void (*fill)(struct plumb_tcp *connection, struct plumb_packet *packet);
};

/* ---- send.c ---- */

void pl_tcp_drop_sent(struct plumb_tcp *connection);

/* ---- output.c ---- */

/* Sends what may be sent now, and an acknowledgement if one is due. */
void pl_tcp_output(struct plumb_tcp *connection);

/* Sends a segment, whatever the windows say. */
void pl_tcp_send_whole(struct plumb_tcp *connection, struct plumb_packet *segment);

/* Sends the oldest segment out again, whatever the windows say. */
void pl_tcp_send_oldest(struct plumb_tcp *connection);

/* Goes back to the oldest unacknowledged byte. */
void pl_tcp_rewind(struct plumb_tcp *connection);

void pl_tcp_send_syn(struct plumb_tcp *connection);
void pl_tcp_send_ack(struct plumb_tcp *connection);
/* An ACK of one byte back, which the peer answers (RFC 9293 section 3.8.4). */
void pl_tcp_send_probe(struct plumb_tcp *connection);
void pl_tcp_send_reset(struct plumb_tcp *connection);

/* An ACK that must not be provoked too often (RFC 5961 section 7, RFC 9293
 * section 3.10.7.4): rate limited per connection, by a random limit. */
void pl_tcp_challenge(struct plumb_tcp *connection);

/* Sends for a connection that is in no table: once, if there is a packet. */
void pl_tcp_send_once(struct plumb_tcp *stranger, uint32_t sequence, uint8_t flags);

/* Answers a segment that belongs to no connection (RFC 9293 section 3.10.7.1). */
void pl_tcp_reset_stranger(const struct pl_segment *segment);

/* ---- path.c ---- */

#ifdef CONFIG_PLUMB_TCP_PMTUD
/* A datagram of `total` bytes was too large for a link that takes `mtu` (0: it does not say).
 * False when that cannot be. */
bool pl_tcp_path_too_small(struct plumb_tcp *connection, uint32_t total, uint32_t mtu);

/* The oldest segment was not acknowledged in time: for its size? */
void pl_tcp_suspect_path(struct plumb_tcp *connection);

/* The path was found to take less than what was agreed on; perhaps it takes more now. */
void pl_tcp_raise_size(struct plumb_tcp *connection);

/* Leaves in a segment what may be sent at most; false when there is no packet for the rest. */
bool pl_tcp_split(struct plumb_tcp *connection, struct plumb_packet *segment);

/* What was agreed on is all that is known of the path. */
static inline void pl_tcp_begin_path(struct plumb_tcp *connection) {
    connection->mss_most = connection->mss;
}

/* The user wants no larger segments. */
static inline void pl_tcp_limit_mss(struct plumb_tcp *connection, uint16_t bytes) {
    if (bytes < connection->mss_most)
        connection->mss_most = bytes;
    if (bytes < connection->mss)
        connection->mss = bytes;
}

static inline void pl_tcp_look_at_path(struct plumb_tcp *connection) {
    if (connection->mss != connection->mss_most)
        pl_tcp_raise_size(connection);
}

/* Makes a segment small enough to be sent, if it is not; false when that cannot be now. */
static inline bool pl_tcp_fit(struct plumb_tcp *connection, struct plumb_packet *segment) {
    return segment->total <= connection->mss || pl_tcp_split(connection, segment);
}
#else
static inline bool pl_tcp_path_too_small(const struct plumb_tcp *connection, uint32_t total,
                                         uint32_t mtu) {
    (void)connection;
    (void)total;
    (void)mtu;
    return true;
}

static inline void pl_tcp_suspect_path(const struct plumb_tcp *connection) {
    (void)connection;
}

static inline void pl_tcp_begin_path(const struct plumb_tcp *connection) {
    (void)connection;
}

static inline void pl_tcp_limit_mss(struct plumb_tcp *connection, uint16_t bytes) {
    if (bytes < connection->mss)
        connection->mss = bytes;
}

static inline void pl_tcp_look_at_path(const struct plumb_tcp *connection) {
    (void)connection;
}

static inline bool pl_tcp_fit(const struct plumb_tcp *connection,
                              const struct plumb_packet *segment) {
    (void)connection;
    (void)segment;
    return true;
}
#endif

/* ---- keepalive.c ---- */

/* The connection has been idle up to its PL_TCP_IDLE deadline. */
void pl_tcp_keepalive(struct plumb_tcp *connection);

/* ---- timers.c ---- */

static inline struct plumb_timer *pl_tcp_timer(struct plumb_tcp *connection) {
#ifdef CONFIG_PLUMB_TCP_LINKED
    return &connection->timer;
#else
    return &connection->tcp->timer;
#endif
}

/* Has the connection's timer fire after so long, or earlier. */
void pl_tcp_start_timer(struct plumb_tcp *connection, uint32_t delay_ms);

void pl_tcp_set_deadline(struct plumb_tcp *connection, enum pl_tcp_deadline which,
                         uint32_t delay_ms);

/* Is one of those set that share a time? */
static inline bool pl_tcp_has_either(const struct plumb_tcp *connection) {
    return connection->deadlines >> PL_TCP_ACKNOWLEDGE & 3;
}

/* The same inline, as mostly it is a few stores. */
static inline void pl_tcp_move_deadline(struct plumb_tcp *connection, enum pl_tcp_deadline which,
                                        uint32_t delay_ms) {
    uint32_t at = pl_tcp_stack(connection)->now_ms + delay_ms;
    const struct plumb_timer *timer = pl_tcp_timer(connection);
    uint32_t *time = &connection->deadline_ms[pl_tcp_deadline_time(which)];

    if (which < PL_TCP_ACKNOWLEDGE || !pl_tcp_has_either(connection) || pl_before(at, *time))
        *time = at;
    connection->deadlines = (uint8_t)(connection->deadlines | 1U << which);
    if (!plumb_timer_running(timer) || pl_after(timer->expires_ms, at))
        pl_tcp_start_timer(connection, delay_ms);
}

static inline void pl_tcp_clear_deadline(struct plumb_tcp *connection, enum pl_tcp_deadline which) {
    connection->deadlines = (uint8_t)(connection->deadlines & ~(1U << which));
}

static inline bool pl_tcp_has_deadline(const struct plumb_tcp *connection,
                                       enum pl_tcp_deadline which) {
    return connection->deadlines >> which & 1;
}

/* Sets the retransmission deadline unless it is set. */
void pl_tcp_time_oldest(struct plumb_tcp *connection);

/* Takes a measured round trip into the time-out (RFC 6298 section 2), as one of 2^`shift` in
 * each round (RFC 7323 appendix G). */
void pl_tcp_round_trip_of_many(struct plumb_tcp *connection, uint32_t sample_us, unsigned shift);

static inline void pl_tcp_round_trip(struct plumb_tcp *connection, uint32_t sample_us) {
    pl_tcp_round_trip_of_many(connection, sample_us, 0);
}

/* The retransmission time-out with its back-off, ms. */
uint32_t pl_tcp_backed_off(const struct plumb_tcp *connection);

/* ---- congestion.c: the window ---- */

/* A threshold from here on is none: nothing was lost yet. What else it says is hystart.c's. */
#define PL_TCP_NO_THRESHOLD (1U << 31)

/* Is it in the first slow start, of which HyStart++ takes notes? */
static inline bool pl_tcp_in_hystart(const struct plumb_tcp *connection) {
#ifdef CONFIG_PLUMB_TCP_HYSTART
    return connection->slow_start_threshold >= PL_TCP_NO_THRESHOLD;
#else
    (void)connection;
    return false;
#endif
}

#ifdef CONFIG_PLUMB_TCP_HYSTART
/* A round trip in it took so long. */
void pl_tcp_hystart_note(struct plumb_tcp *connection, uint32_t sample_us);
#else
static inline void pl_tcp_hystart_note(const struct plumb_tcp *connection, uint32_t sample_us) {
    (void)connection;
    (void)sample_us;
}
#endif

/* By which algorithm: PLUMB_OK or PLUMB_ERROR_INVALID. */
int pl_tcp_congestion_choose(struct plumb_tcp *connection, uint32_t algorithm);

void pl_tcp_congestion_start(struct plumb_tcp *connection);
/* `bytes` were acknowledged by `count` segments, while nothing was amiss. */
void pl_tcp_congestion_acked(struct plumb_tcp *connection, uint32_t bytes, uint32_t count);
/* The peer echoes a router's mark: as after a loss, but nothing is to be sent again. */
void pl_tcp_congestion_ecn(struct plumb_tcp *connection);
/* Something of what is out was lost: sets the threshold. */
void pl_tcp_congestion_lost(struct plumb_tcp *connection);
void pl_tcp_congestion_timeout(struct plumb_tcp *connection);
/* The window is as it was left, and grows from there. */
void pl_tcp_congestion_resume(struct plumb_tcp *connection);
/* Nothing was sent for longer than a time-out, and now something is to be. */
void pl_tcp_congestion_idle(struct plumb_tcp *connection);

/* ---- loss.c: what is remembered of losses ---- */

#ifdef CONFIG_PLUMB_TCP_LOSSES

/* The record of a connection, or null. */
static inline struct pl_tcp_loss *pl_tcp_loss(const struct plumb_tcp *connection) {
    return connection->loss ? &connection->tcp->losses[connection->loss - 1] : NULL;
}

/* Of a connection that has one. */
static inline struct pl_tcp_loss *pl_tcp_own_loss(const struct plumb_tcp *connection) {
    return &connection->tcp->losses[connection->loss - 1];
}

/* The same, made if there is none; null when all are in use. */
struct pl_tcp_loss *pl_tcp_keep_loss(struct plumb_tcp *connection);

/* The connection ends. */
void pl_tcp_forget_loss(struct plumb_tcp *connection);

#else

static inline void pl_tcp_keep_loss(const struct plumb_tcp *connection) {
    (void)connection;
}

static inline void pl_tcp_forget_loss(const struct plumb_tcp *connection) {
    (void)connection;
}

#endif

/* ---- scoreboard.c to selective.c: what was lost, where the peer selectively acknowledges ---- */

#ifdef CONFIG_PLUMB_TCP_RACK

/* Is the connection one of those? */
static inline bool pl_tcp_racks(const struct plumb_tcp *connection) {
    return (connection->agreed & (PL_TCP_SACK | PL_TCP_BLIND)) == PL_TCP_SACK;
}

/* Of what is out, bytes that have left the network. */
static inline uint32_t pl_tcp_left_network(const struct plumb_tcp *connection) {
    const struct pl_tcp_loss *loss = pl_tcp_loss(connection);

    return loss ? loss->left_network : 0;
}

/* Bytes that are in the network. */
static inline uint32_t pl_tcp_pipe(const struct plumb_tcp *connection) {
    return pl_tcp_in_flight(connection) - pl_tcp_left_network(connection);
}

/* An acknowledgement, of `ahead` bytes, perhaps none. False when it is to be taken as if the
 * peer had no SACK. */
bool pl_tcp_rack_acknowledgement(struct plumb_tcp *connection, const struct pl_segment *segment,
                                 uint32_t ahead);

/* What was out when no record was to be had is acknowledged. */
static inline void pl_tcp_open_eyes(struct plumb_tcp *connection) {
    if (connection->agreed & PL_TCP_BLIND && !(connection->flags & PL_TCP_RECOVERY) &&
        pl_after(connection->send_unacked, connection->recover))
        connection->agreed &= (uint8_t)~PL_TCP_BLIND;
}

/* Sets the deadline for what comes first, a probe of the tail or the time-out. */
void pl_tcp_tail_arm(struct plumb_tcp *connection);

/* The deadline has come; false when it was for the time-out. */
bool pl_tcp_rack_timer(struct plumb_tcp *connection);

/* All is to be sent again. */
void pl_tcp_forget_marks(struct plumb_tcp *connection);

/* Nothing was lost. */
void pl_tcp_forget_losses(struct plumb_tcp *connection);

/* So many bytes were sent: the probe follows them (RFC 8985 section 7.2), and so its deadline is
 * set anew when all is sent. */
static inline void pl_tcp_count_out(struct plumb_tcp *connection, uint32_t bytes) {
    if (!pl_tcp_racks(connection))
        return;
    if (connection->flags & PL_TCP_RECOVERY) {
        struct pl_tcp_loss *loss = pl_tcp_own_loss(connection);
        loss->prr_out = (pl_tcp_size)(loss->prr_out + bytes);
    }
    if (!(connection->deadlines & PL_TCP_FOR_ORDER))
        connection->deadlines &= (uint8_t) ~(1U << PL_TCP_RETRANSMIT | PL_TCP_FOR_PROBE);
}

/* A segment was sent, perhaps again. */
void pl_tcp_mark_sent(struct plumb_tcp *connection, struct plumb_packet *segment, bool again);

/* The first segment from `from` on that was lost and not sent again, or null. */
struct plumb_packet *pl_tcp_next_lost(const struct plumb_tcp *connection,
                                      struct plumb_packet *from);

/* Passes over what is to be sent again and the peer has. */
void pl_tcp_skip_sacked(struct plumb_tcp *connection);

#else

static inline bool pl_tcp_racks(const struct plumb_tcp *connection) {
    (void)connection;
    return false;
}

static inline void pl_tcp_count_out(const struct plumb_tcp *connection, uint32_t bytes) {
    (void)connection;
    (void)bytes;
}

static inline void pl_tcp_mark_sent(const struct plumb_tcp *connection,
                                    const struct plumb_packet *segment, bool again) {
    (void)connection;
    (void)segment;
    (void)again;
}

static inline void pl_tcp_forget_marks(const struct plumb_tcp *connection) {
    (void)connection;
}

static inline void pl_tcp_forget_losses(const struct plumb_tcp *connection) {
    (void)connection;
}

static inline bool pl_tcp_rack_timer(const struct plumb_tcp *connection) {
    (void)connection;
    return false;
}

static inline bool pl_tcp_rack_acknowledgement(const struct plumb_tcp *connection,
                                               const struct pl_segment *segment, uint32_t ahead) {
    (void)connection;
    (void)segment;
    (void)ahead;
    return false;
}

static inline void pl_tcp_open_eyes(const struct plumb_tcp *connection) {
    (void)connection;
}

static inline void pl_tcp_tail_arm(const struct plumb_tcp *connection) {
    (void)connection;
}

static inline uint32_t pl_tcp_pipe(const struct plumb_tcp *connection) {
    return pl_tcp_in_flight(connection);
}

#endif

/* ---- undo.c: what was not lost after all ---- */

#ifdef CONFIG_PLUMB_TCP_UNDO

/* The window is about to be reduced. */
void pl_tcp_undo_note(struct plumb_tcp *connection);
/* That is for good. */
void pl_tcp_undo_never(struct plumb_tcp *connection);
/* It was for a time-out, which may turn out to be for nothing. */
void pl_tcp_undo_timeout(struct plumb_tcp *connection);
/* An acknowledgement of `advanced` bytes, or a duplicate. */
void pl_tcp_undo_step(struct plumb_tcp *connection, uint32_t advanced);
/* A segment was sent again; one had arrived twice, true if that was the last of them; none had
 * to be sent again. */
void pl_tcp_undo_repeated(struct plumb_tcp *connection);
bool pl_tcp_undo_duplicate(struct plumb_tcp *connection);
void pl_tcp_undo_spurious(struct plumb_tcp *connection);

#else

static inline void pl_tcp_undo_note(const struct plumb_tcp *connection) {
    (void)connection;
}

static inline void pl_tcp_undo_never(const struct plumb_tcp *connection) {
    (void)connection;
}

static inline void pl_tcp_undo_timeout(const struct plumb_tcp *connection) {
    (void)connection;
}

static inline void pl_tcp_undo_step(const struct plumb_tcp *connection, uint32_t advanced) {
    (void)connection;
    (void)advanced;
}

static inline void pl_tcp_undo_repeated(const struct plumb_tcp *connection) {
    (void)connection;
}

static inline bool pl_tcp_undo_duplicate(const struct plumb_tcp *connection) {
    (void)connection;
    return false;
}

static inline void pl_tcp_undo_spurious(const struct plumb_tcp *connection) {
    (void)connection;
}

#endif

/* ---- recovery.c: what was lost, by duplicate acknowledgements ---- */

void pl_tcp_recovery_timeout(struct plumb_tcp *connection);
void pl_tcp_duplicate_acknowledgement(struct plumb_tcp *connection);
void pl_tcp_recovery_acknowledgement(struct plumb_tcp *connection, uint32_t bytes);

#endif
