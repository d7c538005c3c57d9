/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * One transfer through impairments, in real time: what its files share.
 *
 *     subject ── left device ── relay: the wire's faults, both ways ── right device ── Linux
 *
 *   main.c   the command line, who is started and ended, the line that tells
 *   ends.c   namespaces and devices: where the relay takes frames and puts them
 *   flow.c   Linux's ends of the connection, and what is measured of it
 *   relay.c  frames from one device to the other through the wire, by the clock
 *
 * The subject, a program of Plumb's or this host's kernel, listens; Linux on the right
 * connects, and then one of them sends for as long as was asked for. Either end has a
 * namespace of its own, which ends with this process.
 */
#ifndef IMPAIR_H
#define IMPAIR_H

#include <stdbool.h>
#include <stdint.h>

#include <plumb/address.h>

#include "wire.h"

enum { PORT = 5001 };
#define LEFT_ADDRESS  0x0a010001U /* host byte order; the netmask is 24 bits */
#define RIGHT_ADDRESS 0x0a010002U

struct impair_options {
    const char *program;   /* the subject; null: this host's kernel */
    const char *algorithm; /* of Linux's sender */
    const char *capture;   /* where the program writes its frames, or null */
    bool receives;         /* the subject, instead of sending */
    unsigned seconds;
    uint64_t seed;
    struct plumb_wire_faults faults; /* in either direction */
};

/* ends.c. All of them end the process when they cannot. */
_Noreturn void give_up(const char *what);
void namespace_enter(void); /* a new one; devices and sockets made from now on are in it */
int device_of_linux(uint32_t address); /* the kernel's own end; returns where its frames are */
int device_of_program(const char *name);

/* flow.c: of Linux. */
struct flow_result {
    uint64_t bytes;      /* that arrived, or were acknowledged */
    uint64_t elapsed_us; /* from when the connection was there until it was asked for or ended */
    int32_t error;       /* an errno; 0: none */
    bool connected;
    bool ended; /* by itself, before its time */
};
int flow_listen(const char *algorithm);
int flow_socket(const char *algorithm);
_Noreturn void flow_serve(int listener);
struct flow_result flow_measure(int connection, const struct impair_options *options);

/* relay.c */
struct relay_result {
    uint32_t frames[2], lost[2], overflowed[2]; /* from the left, from the right */
    uint32_t refused;                           /* by a device, or for want of a place */
    uint32_t late;                              /* frames delivered a millisecond late or more */
    uint64_t latest_us;
};
/* Relays until `done` can be read. */
struct relay_result relay_run(const int device[2], int done, const struct impair_options *options);
uint64_t clock_us(void);

#endif
