/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * An exchange over one TCP connection, as every stack's program of it does: both ends send so
 * many bytes of their own at once, shut their side down, and read to the other's end. Each says
 * on its console what went out and what came in, by length and hash:
 *
 *     exchange: sent=1048576 sent_hash=7e1b91f2fee0eb8d received=... received_hash=...
 *
 * What it is to do the environment says, in EXCHANGE: `listen PORT BYTES SEED`, or
 * `connect ADDRESS PORT BYTES SEED`.
 */
#ifndef EXCHANGE_H
#define EXCHANGE_H

#include "board.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

/* FNV-1a of 64 bits over all bytes that passed in one direction. */
struct exchange_sum {
    uint64_t hash, count;
};
#define EXCHANGE_SUM ((struct exchange_sum){0xcbf29ce484222325U, 0})

struct exchange {
    bool connects;
    uint32_t address; /* network order */
    uint16_t port;
    uint32_t left; /* bytes not yet made */
    uint32_t random;
    struct exchange_sum sent, received;
    /* What is made and not yet sent. */
    uint8_t bytes[4096];
    unsigned begin, end;
};

static inline void exchange_add(struct exchange_sum *sum, const uint8_t *bytes, size_t length) {
    for (size_t i = 0; i < length; i++)
        sum->hash = (sum->hash ^ bytes[i]) * 0x100000001b3U;
    sum->count += length;
}

/* Makes more when all is sent (xorshift32, a byte a step); false at the end. */
static inline bool exchange_fill(struct exchange *exchange) {
    if (exchange->begin < exchange->end)
        return true;
    unsigned length = exchange->left < sizeof exchange->bytes ? (unsigned)exchange->left
                                                              : (unsigned)sizeof exchange->bytes;
    for (unsigned i = 0; i < length; i++) {
        exchange->random ^= exchange->random << 13;
        exchange->random ^= exchange->random >> 17;
        exchange->random ^= exchange->random << 5;
        exchange->bytes[i] = (uint8_t)exchange->random;
    }
    exchange_add(&exchange->sent, exchange->bytes, length);
    exchange->left -= length;
    exchange->begin = 0;
    exchange->end = length;
    return length > 0;
}

static inline void exchange_tell(const struct exchange *exchange) {
    board_print("exchange: sent=%llu sent_hash=%016llx received=%llu received_hash=%016llx\n",
                (unsigned long long)exchange->sent.count, (unsigned long long)exchange->sent.hash,
                (unsigned long long)exchange->received.count,
                (unsigned long long)exchange->received.hash);
}

static inline _Noreturn void exchange_fail(const char *what) {
    board_print("panic: exchange: %s\n", what);
    board_exit(1);
}

/* Reads what is to be done. */
static inline void exchange_begin(struct exchange *exchange) {
    const char *text = getenv("EXCHANGE");
    char address[16] = "";
    unsigned port = 0, length = 0, seed = 0;
    bool listens = text && sscanf(text, "listen %u %u %u", &port, &length, &seed) == 3;

    *exchange = (struct exchange){.sent = EXCHANGE_SUM, .received = EXCHANGE_SUM};
    exchange->connects =
        text && sscanf(text, "connect %15s %u %u %u", address, &port, &length, &seed) == 4;
    if (exchange->connects && inet_pton(AF_INET, address, &exchange->address) != 1)
        exchange_fail(address);
    if (!listens && !exchange->connects)
        exchange_fail("EXCHANGE says neither listen nor connect");
    if (port - 1 >= 65535 || !seed)
        exchange_fail("EXCHANGE wants a port and a seed other than 0");
    exchange->port = (uint16_t)port;
    exchange->left = length;
    exchange->random = seed;
}

#endif
