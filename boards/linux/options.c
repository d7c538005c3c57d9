/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Reads the command line. */
#include "options.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: %s [options]\n"
    "  --tap NAME         TAP device to use, made when it does not exist (tap0)\n"
    "  --address A        the stack's IPv4 address; without --dhcp it is fixed (10.0.2.15)\n"
    "  --netmask M        (255.255.255.0)\n"
    "  --gateway G        (10.0.2.2)\n"
    "  --dhcp             ask a DHCP server first, fall back on the address; the default when\n"
    "                     no address is given\n"
    "  --ethernet MAC     the stack's Ethernet address (a random local one)\n"
    "  --pcap FILE        write every frame to FILE\n"
    "  --offload WHAT     left to the device as far as it offers it: none, checksums, or\n"
    "                     segments, which is both (segments)\n"
    "  --bytes NAME       copy and sum bytes by these routines (the best for the processor)\n"
    "  --arguments TEXT   for the application, which says what it takes\n"
    "Ends on SIGTERM or SIGINT; status 3 when a packet was lost to a leak.\n";

static _Noreturn void refuse(const char *program, const char *what, const char *value) {
    fprintf(stderr, "%s: %s: %s\n", program, what, value);
    fprintf(stderr, usage, program);
    exit(2);
}

static plumb_ipv4 parse_ipv4(const char *program, const char *text) {
    struct in_addr address;
    if (inet_pton(AF_INET, text, &address) != 1)
        refuse(program, "not an IPv4 address", text);
    return (plumb_ipv4){address.s_addr};
}

static struct plumb_ethernet_address parse_ethernet(const char *program, const char *text) {
    unsigned b[6];
    uint8_t bytes[6];
    char rest;
    if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%c", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5],
               &rest) != 6 ||
        b[0] & 1)
        refuse(program, "not the Ethernet address of a station", text);
    for (unsigned i = 0; i < 6; i++)
        bytes[i] = (uint8_t)b[i];
    return plumb_ethernet_address(bytes);
}

static enum plumb_tap_offload parse_offload(const char *program, const char *text) {
    static const char *const words[] = {[PLUMB_TAP_OFFLOAD_NONE] = "none",
                                        [PLUMB_TAP_OFFLOAD_CHECKSUMS] = "checksums",
                                        [PLUMB_TAP_OFFLOAD_SEGMENTS] = "segments"};
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!strcmp(text, words[i]))
            return (enum plumb_tap_offload)i;
    refuse(program, "neither none, checksums nor segments", text);
}

static const struct option known[] = {
    {"tap", required_argument, NULL, 't'},
    {"address", required_argument, NULL, 'a'},
    {"netmask", required_argument, NULL, 'm'},
    {"gateway", required_argument, NULL, 'g'},
    {"dhcp", no_argument, NULL, 'd'},
    {"ethernet", required_argument, NULL, 'e'},
    {"pcap", required_argument, NULL, 'p'},
    {"bytes", required_argument, NULL, 'b'},
    {"offload", required_argument, NULL, 'o'},
    {"help", no_argument, NULL, 'h'},
    {"arguments", required_argument, NULL, 'A'},
    {NULL, 0, NULL, 0},
};

static void take(struct options *options, int letter, const char *program) {
    switch (letter) {
    case 't':
        options->tap = optarg;
        break;
    case 'a':
        options->address.address = parse_ipv4(program, optarg);
        options->address.fixed = true;
        break;
    case 'm':
        options->address.netmask = parse_ipv4(program, optarg);
        break;
    case 'g':
        options->address.gateway = parse_ipv4(program, optarg);
        break;
    case 'e':
        options->ethernet = parse_ethernet(program, optarg);
        options->has_ethernet = true;
        break;
    case 'p':
        options->capture = optarg;
        break;
    case 'b':
        options->routines = optarg;
        break;
    case 'A':
        options->arguments = optarg;
        break;
    case 'o':
        options->offload = parse_offload(program, optarg);
        break;
    case 'h':
        printf(usage, program);
        exit(0);
    default: /* getopt_long has said what is wrong */
        exit(2);
    }
}

void options_parse(struct options *options, int argc, char **argv) {
    int letter;
    bool dhcp = false;
    *options = (struct options){.tap = "tap0",
                                .offload = PLUMB_TAP_OFFLOAD_SEGMENTS,
                                .routines = "",
                                .arguments = "",
                                .address = board_default_address};
    while ((letter = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (letter == 'd')
            dhcp = true;
        else
            take(options, letter, argv[0]);
    }
    if (optind < argc)
        refuse(argv[0], "unexpected argument", argv[optind]);
    if (dhcp)
        options->address.fixed = false;
}
