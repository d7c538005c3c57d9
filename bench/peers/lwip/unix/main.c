/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * lwIP in a process of this host: the command line, which is that of Plumb's linux board as far
 * as it goes, and the loop: frames, timers, idle. SIGTERM ends it.
 */
#include "board.h"

#include <plumb/processor.h>

#include "lwip/init.h"
#include "lwip/sys.h"
#include "lwip/timeouts.h"
#include "netif/ethernet.h"

#include "tap_netif.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUDGET = 64 }; /* frames a turn, as Plumb's */

static struct netif interface;
static char *device = "tap0";
static ip4_addr_t address, netmask, gateway;
static uint32_t now;

uint32_t sys_now(void) {
    return now;
}

_Noreturn void peer_panic(const char *text) {
    fprintf(stderr, "panic: lwip: %s\n", text);
    exit(1);
}

/* Sleeps until a frame or the next timer. A function of its own, which a tool that counts leaves
 * out by name. */
__attribute__((noipa)) void board_idle(uint32_t sleep);
__attribute__((noipa)) void board_idle(uint32_t sleep) {
    struct pollfd watched = {.fd = tap_netif_descriptor(), .events = POLLIN};

    poll(&watched, 1, sleep > 60000 ? 60000 : (int)sleep);
}

static void take_address(ip4_addr_t *to, const char *text) {
    if (inet_pton(AF_INET, text, &to->addr) != 1) {
        fprintf(stderr, "not an IPv4 address: %s\n", text);
        exit(2);
    }
}

static void take_options(int argc, char **argv) {
    static const struct option known[] = {{"tap", required_argument, NULL, 't'},
                                          {"address", required_argument, NULL, 'a'},
                                          {"netmask", required_argument, NULL, 'm'},
                                          {"gateway", required_argument, NULL, 'g'},
                                          {NULL, 0, NULL, 0}};
    int letter;

    take_address(&address, "10.0.2.15");
    take_address(&netmask, "255.255.255.0");
    take_address(&gateway, "10.0.2.2");
    while ((letter = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (letter == 't')
            device = optarg;
        else if (letter == 'a')
            take_address(&address, optarg);
        else if (letter == 'm')
            take_address(&netmask, optarg);
        else if (letter == 'g')
            take_address(&gateway, optarg);
        else
            exit(2);
    }
}

static void add_interface(void) {
    if (!netif_add(&interface, &address, &netmask, &gateway, device, tap_netif_init,
                   ethernet_input)) {
        fprintf(stderr, "panic: %s: %s\n", device, strerror(errno));
        exit(1);
    }
    netif_set_default(&interface);
    netif_set_up(&interface);
    netif_set_link_up(&interface);
}

int main(int argc, char **argv) {
    take_options(argc, argv);
    board_print("plumb: bytes=%s\n", plumb_processor_routines()); /* and has them chosen */
    board_print("plumb: board=linux app=lwip build=%s\n", PEER_BUILD);
    lwip_init();
    add_interface();
    application_start();
    board_print("plumb: ready address=%I\n", address.addr);
    for (;;) {
        now = (uint32_t)(board_now_us() / 1000);
        unsigned frames = tap_netif_poll(&interface, BUDGET);
        sys_check_timeouts();
        uint32_t sleep = sys_timeouts_sleeptime();
        if (frames < BUDGET && sleep)
            board_idle(sleep);
    }
}
