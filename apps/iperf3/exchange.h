/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the two ends of a test tell each other in JSON: the client what is to be done, and in
 * the end each the other what it has seen of it.
 */
#ifndef IPERF3_EXCHANGE_H
#define IPERF3_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json.h"

enum {
    IPERF3_STREAMS = 16, /* of both directions */
    PARAMETERS_LONGEST_S = 86400,
    IPERF3_TCP_LENGTH = 131072,
    IPERF3_UDP_LENGTH = 1448,
    IPERF3_UDP_LEAST = 16, /* bytes of a datagram: its head */
    IPERF3_UDP_MOST = 65507,
};

enum congestion { CONGESTION_ANY, CONGESTION_RENO, CONGESTION_CUBIC };

struct parameters {
    bool udp;
    bool reverse;       /* the server sends */
    bool bidirectional; /* both do */
    bool nodelay;
    bool wide; /* datagrams are counted in 64 bits */
    uint8_t congestion;
    uint32_t time_s, omit_s;
    uint32_t parallel; /* streams of a direction */
    uint32_t length;   /* bytes of a datagram, or of a block */
    uint32_t window;   /* bytes of socket buffers; 0: as they are */
    uint64_t bytes;    /* after which the client ends the test; 0: it does not say */
    uint64_t blocks;   /* or after so many blocks */
    uint64_t rate;     /* bits per second and stream; 0: no limit */
};

/* What a client means that says nothing. */
extern const struct parameters exchange_default;

/* Reads and checks them; CODE_NONE, or why they are refused. What this endpoint has never
 * heard of is passed over, as newer clients say more. */
unsigned exchange_read_parameters(struct parameters *parameters, const char *text, size_t length);

/* Whether they make a test; CODE_NONE, or why not. */
unsigned exchange_check(const struct parameters *parameters);

void exchange_write_parameters(const struct parameters *parameters, struct json_writer *writer);

struct result {
    uint64_t bytes;
    uint64_t jitter_ns;
    uint64_t start_us, end_us;
    uint64_t lost, packets;
    uint64_t omitted_lost, omitted_packets;
    uint32_t id;
    int32_t retransmits; /* below 0: not known */
};

struct results {
    unsigned count;
    struct result streams[IPERF3_STREAMS];
};

/* False: no results. Streams beyond the sixteenth are passed over. */
bool exchange_read_results(struct results *results, const char *text, size_t length);

void exchange_write_results(const struct results *results, int has_retransmits,
                            struct json_writer *writer);

#endif
