/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A DHCP client and whatever comes from a server's port. The interface never has an address
 * that no host could have, a lease comes from an answer to a request only, and in the end
 * every buffer is at home.
 *
 * The input is a list of messages, each behind 4 bytes: flags, seconds that pass before it,
 * the type of the message, the length of its options.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <plumb_config.h>

#include "trial.h"

enum { NO_TRANSACTION = 1, NO_COOKIE = 2, NO_TYPE = 4, ANOTHER = 8, HEAD = 4 };

#define LEASED FRAME_IPV4(10, 0, 0, 77)

int LLVMFuzzerTestOneInput(const uint8_t *script, size_t size);

static struct trial trial;
static struct plumb_dhcp dhcp;

static void expect_that(bool right, const char *what) {
    if (right)
        return;
    fprintf(stderr, "dhcp: %s\n", what);
    abort();
}

/* A message to the client, with what the flags say wrong, and these options. */
static void make_message(const uint8_t *head, const uint8_t *options, unsigned length) {
    struct frame_path path = trial.hostile.path;
    struct frame *frame = &trial.frame;
    uint8_t fixed[240] = {2, 1, 6};
    path.from_port = 67;
    path.to_port = 68;
    path.to = 0xffffffff;
    memset(path.to_ethernet, 0xff, 6);
    frame_udp(frame, &path, fixed, sizeof fixed);
    frame_put32(frame, FRAME_UDP_PAYLOAD + 4, dhcp.transaction + (head[0] & NO_TRANSACTION));
    frame_put32(frame, FRAME_UDP_PAYLOAD + 16, head[0] & ANOTHER ? LEASED ^ head[1] : LEASED);
    memcpy(frame->bytes + FRAME_UDP_PAYLOAD + 28, trial.hostile.path.to_ethernet, 6);
    if (!(head[0] & NO_COOKIE))
        frame_put32(frame, FRAME_UDP_PAYLOAD + 236, 0x63825363);
    if (!(head[0] & NO_TYPE))
        frame_append(frame, (const uint8_t[]){53, 1, head[2] % 9, 54, 4, 10, 0, 0, 2}, 9);
    frame_append(frame, options, length);
    frame_finish(frame);
}

static bool host_could_have(uint32_t address) {
    uint32_t first = address >> 24;
    return !address || (first && first != 127 && first < 224);
}

static void strike(const uint8_t *head, const uint8_t *options, unsigned length) {
    if (head[1])
        expect_that(!trial_wait(&trial, head[1] * 1000000U), "no rest");
    make_message(head, options, length);
    const uint32_t ignored = dhcp.ignored, before = plumb_get32(trial.a.netif->ipv4);
    const uint8_t state = dhcp.state;
    expect_that(!plumb_wire_inject(&trial.wire.end[0], trial.frame.bytes, trial.frame.length),
                "no frame on the wire");
    expect_that(!trial_wait(&trial, 0), "no rest");
    uint32_t address = plumb_get32(trial.a.netif->ipv4);
    expect_that(host_could_have(address), "an address that no host could have");
    expect_that(dhcp.ignored - ignored <= 1, "one message was ignored twice");
    if (head[0] & (NO_TRANSACTION | NO_COOKIE))
        expect_that(dhcp.state == state && address == before, "a stranger was believed");
}

int LLVMFuzzerTestOneInput(const uint8_t *script, size_t size) {
    struct plumb_dhcp_options options = {.patience_ms = 3000};
    const char *failure = trial_begin(&trial, PLUMB_LANDING_OFFSET, 0, 1);
    expect_that(!failure, failure);
    memset(&dhcp, 0, sizeof dhcp);
    expect_that(!plumb_dhcp_start(&dhcp, trial.a.stack, trial.a.netif, &options), "no client");
    expect_that(!trial_wait(&trial, 0), "no rest");
    while (size >= HEAD) {
        const uint8_t *head = script;
        size_t length = head[3];
        script += HEAD;
        size -= HEAD;
        length = length < size ? length : size;
        strike(head, script, (unsigned)length);
        script += length;
        size -= length;
    }
    plumb_dhcp_stop(&dhcp);
    expect_that(!trial_wait(&trial, 0), "no rest");
    failure = trial_end(&trial);
    expect_that(!failure, failure);
    return 0;
}
