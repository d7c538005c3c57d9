/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * An iperf 2 endpoint: what its files share.
 *
 *   main.c          start, the table of streams, the once-a-second look at it
 *   header.c        the client's header, as bytes from a stranger
 *   tcp_server.c    accepting, the header, receiving in place
 *   tcp_client.c    sending over TCP
 *   udp_server.c    receiving datagrams, the server report
 *   udp_client.c    sending datagrams at a rate
 *   obey.c          what the client asked for, over either protocol (-R, -d, -r)
 *   report.c        transfers: marks for measuring, a line for each at its end
 *
 * A stream is one TCP connection, or one UDP peer. It receives, or sends, or
 * both; for each direction it takes part in a transfer, which parallel streams
 * share. Everything is bounded: streams by the table, a stream's life by the
 * time without progress, what is sent by the amount asked for.
 */
#ifndef IPERF_H
#define IPERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <plumb/plumb.h>

#include "board.h"

enum {
    IPERF_PORT = 5001,
    IPERF_STREAMS = 16,
#ifdef CONFIG_PLUMB_IPERF_SEND_REFERENCE
    IPERF_PATTERN = 16060, /* bytes given to one send */
#else
    IPERF_PATTERN = 2920,
#endif
    IPERF_RECEIVED = 65536,    /* bytes lent at once, when they are copied */
    IPERF_LOANS = 64,          /* of the pattern, when it is sent by reference */
    IPERF_PATTERN_PERIOD = 20, /* of ten digits, and of the word */
    IPERF_DATAGRAM_HEAD = 76,  /* id, time, and an empty client header */
    IPERF_DATAGRAM_LEAST = 52,
    IPERF_DATAGRAM_MOST = 1470,
    IPERF_HEADER = 60,               /* bytes of a client's header that mean something here */
    IPERF_SECOND = 977,              /* in ticks, see tick_now() */
    IPERF_IDLE = 30 * IPERF_SECOND,  /* a stream without progress for so long is ended */
    IPERF_YIELD = IPERF_SECOND / 2,  /* a finished UDP stream's place is not taken before */
    IPERF_LINGER = 5 * IPERF_SECOND, /* a finished UDP stream answers repeated questions so long */
};

/* Of the client's first flags. */
enum {
    ASKS_DUAL_NOW = 0x00000001,   /* with ASKS_BACK: -d, not -r */
    ASKS_BOUNCEBACK = 0x00800000, /* not served here */
    ASKS_ACK = 0x02000000,        /* -X */
    ASKS_LONG_ID = 0x08000000,    /* UDP: 16 bytes before the header, not 12 */
};
#define ASKS_BACK 0x80000000U /* -d, -r: connect back and send */

/* Of the second flags. */
enum {
    ASKS_PACKETS = 0x0080, /* the rate is in packets */
    ASKS_REVERSE = 0x0400, /* -R: send instead of receiving, on the same connection */
    ASKS_DUPLEX = 0x0800,  /* --full-duplex: do both on it */
};

/* What a client asked for. */
struct request {
    uint32_t flags;
    uint32_t port;   /* to connect back to */
    uint32_t length; /* of a datagram; 0: not said */
    uint32_t rate;   /* per second, bits or packets; 0: no limit */
    int32_t amount;  /* above 0: bytes; below: units of -10 ms */
    uint32_t flags2;
};

/* A transfer is a protocol and a direction: 2 * enum protocol + enum direction. */
enum protocol { PROTOCOL_TCP, PROTOCOL_UDP };
enum direction { RECEIVING, SENDING };
enum { TRANSFERS = 4 };

/* Streams of one protocol and direction that overlap in time. */
struct group {
    bool begun;
    uint64_t first_us, last_us; /* payload moved */
    uint64_t bytes;
    uint32_t packets, lost, acks;
};

/* Receiving of datagrams. */
struct arrival {
    uint32_t highest; /* id */
    uint32_t lost;    /* ids skipped, not yet reduced by those that came late */
    uint32_t late;
    uint32_t jitter; /* microseconds, times 16 */
    uint32_t transit;
    uint32_t first_us, last_us; /* wrap after an hour */
};

/* Sending. */
struct departure {
    uint32_t left;   /* bytes still to be sent */
    uint32_t until;  /* or the tick up to which to send */
    bool timed;      /* which of the two decides */
    bool finishing;  /* all was handed to the stack, or sent */
    uint8_t phase;   /* TCP: where in the pattern the next byte stands */
    uint8_t finals;  /* UDP: how often the last datagram is still to be sent */
    uint32_t next;   /* UDP: when the next datagram is due, in 64ths of a microsecond */
    uint32_t gap;    /* UDP: between datagrams, in the same; 0: no limit */
    uint32_t id;     /* UDP: of the next datagram */
    uint32_t length; /* UDP: of a datagram */
};

struct stream {
    struct iperf *iperf;
    bool used;
    uint8_t protocol;
    uint8_t active; /* a bit per direction that is under way */
    bool begun;     /* TCP: the header was taken */
    bool owns_socket;
    struct plumb_tcp *connection;
    struct plumb_udp *socket;
    struct plumb_endpoint peer;
    uint32_t touched; /* the tick of the last progress */
    struct request request;
    uint64_t bytes[2];   /* by direction */
    uint32_t packets[2]; /* UDP */
    struct arrival arrival;
    struct departure departure;
};

/* The pattern, or a part of it, while the stack sends from it. */
struct loan {
    struct plumb_reference reference; /* the first member */
    struct loan *next;                /* while it is not lent */
};

struct iperf {
    struct plumb *stack;
    struct plumb_netif *netif;
    struct plumb_tcp_listener *listener;
    struct plumb_udp *socket;
    struct plumb_timer look, pace;
    bool draining; /* TCP: a stream's last byte is under way */
#ifdef CONFIG_PLUMB_IPERF_SEND_REFERENCE
    bool loans_wanted; /* a stream found none */
    struct loan *loans_free;
    struct loan loans[IPERF_LOANS];
#endif
#ifdef CONFIG_PLUMB_IPERF_RECEIVE_COPY
    uint32_t received[IPERF_RECEIVED / 4];
#endif
    uint32_t second_us; /* UDP: when `seconds` of the client's clock began */
    uint32_t seconds;
    unsigned ended, told; /* streams refused or expired; of which the console knows */
    bool measuring;
    unsigned members; /* directions of streams that are under way */
    struct group groups[TRANSFERS];
    struct stream streams[IPERF_STREAMS];
    /* A datagram's head and, right behind it, the pattern: so that both protocols
     * send from the same bytes. */
    uint32_t words[(IPERF_DATAGRAM_HEAD + IPERF_PATTERN + IPERF_PATTERN_PERIOD) / 4];
};

/* main.c */
struct stream *stream_new(struct iperf *iperf, unsigned protocol, struct plumb_endpoint peer);
/* Ends both directions, and the stream. A TCP connection stays: it is the
 * caller's to close. */
void stream_end(struct stream *stream);
void stream_touch(struct stream *stream);
uint32_t stream_age(const struct stream *stream);
/* A UDP stream that has ended, and only answers. */
bool stream_lingers(const struct stream *stream);
/* Time in ticks of 1024 microseconds. */
uint32_t tick_now(void);

/* header.c: how many of the bytes at hand are needed before a request can be
 * read; 0 when they are not a header but data. */
unsigned header_needs(const uint8_t *bytes, unsigned length);
/* Reads what `length` bytes hold; what is missing reads as not asked for. */
void header_read(struct request *request, const uint8_t *bytes, unsigned length);
uint32_t load32(const uint8_t *bytes);

/* tcp_server.c */
plumb_tcp_acceptor tcp_accept;
plumb_tcp_handler tcp_stream_handler;

/* tcp_client.c */
void tcp_connected(struct stream *stream);
void tcp_send_more(struct stream *stream);
void tcp_poll(struct iperf *iperf);
#ifdef CONFIG_PLUMB_IPERF_SEND_REFERENCE
void tcp_loans_start(struct iperf *iperf);
#else
static inline void tcp_loans_start(struct iperf *iperf) {
    (void)iperf;
}
#endif

/* udp_server.c */
plumb_udp_handler udp_datagram;
uint32_t arrival_lost(const struct arrival *arrival);

/* udp_client.c */
void udp_set_clock(struct iperf *iperf, uint32_t seconds, uint32_t microseconds);
void udp_send_start(struct stream *stream, uint32_t length);
plumb_udp_handler udp_answered;

/* obey.c: a stream that has joined receiving and whose request is known; datagrams
 * it sends are of the length given, or as the request says. */
void stream_obey(struct stream *stream, uint32_t datagram);
/* All of the client's bytes are here. */
void stream_received(struct stream *stream);
/* What is to be sent, and whether it was. */
void departure_start(struct stream *stream);
bool departure_over(const struct departure *departure);

/* report.c */
void report_join(struct stream *stream, enum direction direction);
void report_begin(struct stream *stream, enum direction direction);
/* Nothing happens to a direction that is not under way. */
void report_leave(struct stream *stream, enum direction direction);

#endif
