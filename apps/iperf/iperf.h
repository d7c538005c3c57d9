/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * An iperf 2 endpoint: what its files share.
 *
 *   main.c        start, the table of streams, the once-a-second look at it
 *   header.c      the client's header, as bytes from a stranger
 *   tcp_server.c  accepting, the header, receiving in place
 *   tcp_client.c  connecting back (-d, -r) and sending (-R)
 *   udp_server.c  receiving datagrams, the server report
 *   udp_client.c  sending datagrams at a rate
 *   report.c      transfers: marks for measuring, a line for each at its end
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
    IPERF_PATTERN = 2920,      /* bytes given to one send */
    IPERF_PATTERN_PERIOD = 20, /* of ten digits, and of the word */
    IPERF_DATAGRAM_HEAD = 76,  /* id, time, and an empty client header */
    IPERF_DATAGRAM_LEAST = 52,
    IPERF_DATAGRAM_MOST = 1470,
    IPERF_SECOND = 977,                 /* in ticks, see stream_age() */
    IPERF_TCP_IDLE = 60 * IPERF_SECOND, /* a stream without progress for so long is ended */
    IPERF_UDP_IDLE = 10 * IPERF_SECOND,
    IPERF_LINGER = 5 * IPERF_SECOND, /* a finished UDP stream answers repeated questions so long */
    IPERF_LONGEST_US = 600000000,    /* of sending by UDP, whose peer may be made up */
    IPERF_HEADER = 60,               /* bytes of a client's header that mean something here */
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
    uint16_t flags2;
    uint16_t port;   /* to connect back to; 0: none that exists */
    uint16_t length; /* of a datagram; 0: not said */
    int32_t amount;  /* above 0: bytes; below: units of -10 ms */
    uint32_t rate;   /* per second, bits or packets; 0: no limit */
};

static inline bool asks_back_now(const struct request *request) {
    return request->flags & ASKS_BACK && request->flags & ASKS_DUAL_NOW;
}

static inline bool asks_back_later(const struct request *request) {
    return request->flags & ASKS_BACK && !(request->flags & ASKS_DUAL_NOW);
}

enum transfer { TCP_RX, TCP_TX, UDP_RX, UDP_TX, TRANSFERS };

/* What a stream, or all streams of a transfer, moved in one direction. */
struct tally {
    uint64_t bytes;
    uint32_t packets, lost, acks;
};

/* Streams of one direction and protocol that overlap in time. */
struct group {
    unsigned members;
    bool begun;
    uint64_t first_us, last_us; /* payload moved */
    struct tally tally;
};

enum stream_kind { STREAM_FREE, STREAM_TCP, STREAM_UDP };

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
    uint32_t left;     /* bytes still to be sent */
    uint64_t until_us; /* or to be sent until then; 0: the bytes decide */
    uint32_t next;     /* UDP: when the next datagram is due, in 64ths of a microsecond */
    uint32_t gap;      /* UDP: between datagrams, in the same; 0: no limit */
    uint32_t id;       /* UDP: of the next datagram */
    uint16_t length;   /* UDP: of a datagram */
    uint8_t phase;     /* TCP: where in the pattern the next byte stands */
    uint8_t finals;    /* UDP: how often the last datagram is still to be sent */
    bool finishing;    /* all was handed to the stack, or sent */
    bool timed;        /* UDP: the bytes do not decide */
};

struct stream {
    struct iperf *iperf;
    uint8_t kind; /* enum stream_kind */
    bool receiving, sending;
    bool begun; /* TCP: the header was taken */
    bool done;  /* UDP: only lingers */
    struct plumb_tcp *connection;
    struct plumb_udp *socket;
    bool own_socket;
    struct plumb_endpoint peer;
    uint32_t touched; /* the tick of the last progress */
    struct request request;
    struct tally received, sent;
    struct arrival arrival;
    struct departure departure;
};

struct iperf {
    struct plumb *stack;
    struct plumb_netif *netif;
    struct plumb_tcp_listener *listener;
    struct plumb_udp *socket;
    struct plumb_timer look, pace;
    unsigned draining;  /* TCP streams whose last byte is under way */
    bool hurried;       /* UDP: something could be sent as soon as there is room */
    uint64_t second_us; /* UDP: when `seconds` of the client's clock began */
    uint32_t seconds;
    uint16_t refused, expired, told; /* streams; `told` of both are on the console */
    bool measuring;
    struct group groups[TRANSFERS];
    struct stream streams[IPERF_STREAMS];
    /* A datagram's head and, right behind it, the pattern: so that both protocols
     * send from the same bytes. */
    _Alignas(4) uint8_t bytes[IPERF_DATAGRAM_HEAD + IPERF_PATTERN + IPERF_PATTERN_PERIOD];
};

/* main.c */
struct stream *stream_new(struct iperf *iperf, enum stream_kind kind, struct plumb_endpoint peer);
void stream_free(struct stream *stream);
void stream_touch(struct stream *stream);
/* Ticks of 1024 microseconds since the last progress. */
uint32_t stream_age(const struct stream *stream);

/* header.c: how many of the bytes at hand are needed before a request can be
 * read; 0 when they are not a header but data. */
unsigned header_needs(const uint8_t *bytes, unsigned length);
/* Reads what `length` bytes hold; what is missing or absurd reads as not asked for. */
void header_read(struct request *request, const uint8_t *bytes, unsigned length);
uint32_t load32(const uint8_t *bytes);
void store32(uint8_t *bytes, uint32_t value);

/* tcp_server.c */
int tcp_server_start(struct iperf *iperf);
void tcp_stream_handler(struct plumb_tcp *connection, unsigned events, void *context);
/* Ends both directions, with what was moved, and the stream. */
void tcp_stream_end(struct stream *stream);

/* tcp_client.c */
void tcp_connect_back(struct iperf *iperf, const struct request *request, plumb_ipv4 to);
void tcp_connected(struct stream *stream);
void tcp_send_start(struct stream *stream);
void tcp_send_more(struct stream *stream);
void tcp_sent(struct stream *stream);
void tcp_poll(struct iperf *iperf);

/* udp_server.c */
int udp_server_start(struct iperf *iperf);
void udp_stream_end(struct stream *stream);

/* udp_client.c */
void udp_connect_back(struct iperf *iperf, const struct request *request, plumb_ipv4 to);
void udp_set_clock(struct iperf *iperf, uint32_t seconds, uint32_t microseconds);
void udp_send_start(struct stream *stream, uint16_t length);
bool udp_poll(struct iperf *iperf);

/* report.c */
void report_join(struct iperf *iperf, enum transfer transfer);
void report_begin(struct iperf *iperf, enum transfer transfer);
void report_leave(struct iperf *iperf, enum transfer transfer, const struct tally *tally);

#endif
