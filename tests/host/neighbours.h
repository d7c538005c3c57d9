/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The neighbours of a single stack, played by hand: who asks, answers, claims and is reached. */
#ifndef PLUMB_TEST_NEIGHBOURS_H
#define PLUMB_TEST_NEIGHBOURS_H

#include "harness.h"

static const uint8_t everyone[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
static const uint8_t stranger[6] = {2, 0, 0, 0, 9, 9};

bool is_arp(const struct frame *frame, unsigned operation);
uint32_t arp_target(const struct frame *frame);

/* How many ARP requests for `address` were sent; the rest is thrown away. */
unsigned requests_sent(struct world *world, uint32_t address);

/* From a sender: a request (1) to everyone, an answer (2) to the stack. */
struct frame arp_frame(const struct world *world, unsigned operation, const uint8_t sender[6],
                       uint32_t sender_ipv4, uint32_t target_ipv4);
void arp_from(struct world *world, unsigned operation, const uint8_t sender[6],
              uint32_t sender_ipv4, uint32_t target_ipv4);

/* A socket to send from, that ignores what comes. */
struct plumb_udp *open_socket(struct world *world);

/* The stack asks for the test's address, and is answered. */
void meet_neighbour(struct world *world, struct plumb_udp *socket);

/* Sends one datagram to `address`; returns whether it went out to `hardware`. */
bool datagram_reaches(struct world *world, struct plumb_udp *socket, uint32_t address,
                      const uint8_t hardware[6]);

#endif
