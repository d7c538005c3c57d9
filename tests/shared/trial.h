/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A stack under attack, and a good exchange with it afterwards: the same trial for
 * the host tests, at length and under sanitizers, and for a board that traps on
 * misaligned loads. Freestanding; all memory is in struct trial.
 *
 *     trial_begin(&trial, ...);           one stack, the trial is its only neighbour
 *     trial_arp(&trial);                  ARP, asked and answered, both ways
 *     trial_attack(&trial, kind, count);  bad frames, each accounted for
 *     trial_exchange(&trial);             a second stack: ping, UDP, TCP both ways
 *     trial_end(&trial);                  every packet is back
 *
 * Each returns null, or what went wrong; trial.frame then holds the last frame.
 */
#ifndef PLUMB_TEST_TRIAL_H
#define PLUMB_TEST_TRIAL_H

#include <plumb/plumb.h>

#include "hostile.h"
#include "wire.h"

enum {
    TRIAL_PACKETS = 96,
    TRIAL_BUFFER = PLUMB_DMA_WHOLE_LINES(1600),
    TRIAL_HEADER = 128,
    TRIAL_FRAMES = 64
};
enum { TRIAL_PORT = 5001, TRIAL_BYTES = 40000 };

enum trial_attack { TRIAL_RANDOM, TRIAL_MUTATED, TRIAL_GOOD, TRIAL_OPTION_SOUP };

struct trial_host {
    struct plumb *stack;
    struct plumb_netif *netif;
    struct plumb_pool segments, headers, receive;
    struct plumb_packet segment[TRIAL_PACKETS], header[TRIAL_PACKETS], received[TRIAL_PACKETS];
    _Alignas(PLUMB_DMA_LINE) uint8_t segment_bytes[TRIAL_PACKETS * TRIAL_BUFFER];
    _Alignas(PLUMB_DMA_LINE) uint8_t header_bytes[TRIAL_PACKETS * TRIAL_HEADER];
    _Alignas(PLUMB_DMA_LINE) uint8_t receive_bytes[TRIAL_PACKETS * TRIAL_BUFFER];
    PLUMB_STACK_MEMORY(memory);
    struct plumb_tcp_listener *listener;
    struct plumb_udp *udp;
    uint32_t delivered; /* datagrams */
    uint8_t datagram[64];
    uint16_t datagram_length;
};

/* One direction of the TCP exchange. */
struct trial_flow {
    uint32_t sent, echoed;
    bool wrong, connected, closed;
    int error;
};

struct trial {
    struct trial_host a, b; /* under attack; the good neighbour */
    struct plumb_wire wire;
    struct plumb_wire_frame frames[TRIAL_FRAMES];
    struct hostile hostile;
    struct trial_flow flow;
    struct frame frame; /* the last one injected */
    struct frame reply; /* and collected */
    uint64_t now_us;
    uint32_t injected, dropped, replies;
    uint32_t waiting; /* fragments that may not have been dropped yet, at most */
    uint32_t ahead;   /* and segments out of order, which a FIN before them ends */
    uint16_t fragment;
};

const char *trial_begin(struct trial *trial, enum plumb_landing landing, uint16_t fragment,
                        uint64_t seed);
const char *trial_arp(struct trial *trial);
const char *trial_attack(struct trial *trial, enum trial_attack kind, uint32_t count);
const char *trial_exchange(struct trial *trial);

/* One frame of an attack, trial->frame, which is accounted for; and time that passes. */
const char *trial_strike(struct trial *trial);
const char *trial_wait(struct trial *trial, uint32_t us);
const char *trial_end(struct trial *trial);

#endif
