/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The command line of a program of the linux board. */
#ifndef PLUMB_LINUX_OPTIONS_H
#define PLUMB_LINUX_OPTIONS_H

#include "run.h"
#include "tap.h"

struct options {
    const char *tap;                        /* TAP device */
    const char *capture;                    /* pcap file, or null */
    enum plumb_tap_offload offload;         /* what is left to the device, if it offers it */
    const char *routines;                   /* byte routines by name, or empty */
    const char *arguments;                  /* the application's, or empty */
    struct plumb_ethernet_address ethernet; /* valid when has_ethernet */
    bool has_ethernet;
    struct board_address address;
};

/* Ends the process with status 2 and a message when the arguments are wrong. */
void options_parse(struct options *options, int argc, char **argv);

#endif
