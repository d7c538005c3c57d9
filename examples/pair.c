/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The scaffolding of the examples. It owns the pools, both stacks and the wire. */
#include "pair.h"

#include <stdio.h>
#include <stdlib.h>

#include "wire.h"

enum {
    PACKETS = 256,
    BYTES = PLUMB_DMA_WHOLE_LINES(1600),
    FRAMES = 128,
    REFERENCES = 32,
    LIMIT_US = 60000000
};

struct host {
    struct plumb_packet descriptors[PACKETS];
    struct plumb_packet reference_descriptors[REFERENCES];
    _Alignas(PLUMB_DMA_LINE) uint8_t buffers[PACKETS * BYTES];
    struct plumb_pool pool, references;
    PLUMB_STACK_MEMORY(memory);
};

static const plumb_ipv4 addresses[2] = {PLUMB_IPV4(10, 0, 0, 1), PLUMB_IPV4(10, 0, 0, 2)};
static const plumb_ipv4 netmask = PLUMB_IPV4(255, 255, 255, 0);
static struct host hosts[2];
static struct plumb_wire wire;
static struct plumb_wire_frame frames[FRAMES];

void pair_check(int result, const char *what) {
    if (result < 0) {
        fprintf(stderr, "%s: %s\n", what, plumb_error_text(result));
        exit(1);
    }
}

struct plumb_endpoint pair_server(uint16_t port) {
    return (struct plumb_endpoint){addresses[0], port};
}

static void make_pools(struct host *host) {
    pair_check(
        plumb_pool_create(&host->pool, host->descriptors, host->buffers, PACKETS, BYTES, NULL),
        "pool");
    pair_check(plumb_pool_create(&host->references, host->reference_descriptors, NULL, REFERENCES,
                                 0, NULL),
               "reference pool");
}

static struct plumb *make_stack(unsigned index) {
    struct host *host = &hosts[index];
    struct plumb *stack;
    const struct plumb_options options = {
        .seed = {index + 1, 2}, /* a product takes random bits */
        .segments = &host->pool,
        .headers = &host->pool,
        .references = &host->references,
    };
    pair_check(plumb_create(&stack, host->memory, sizeof host->memory, &options), "stack");
    pair_check(plumb_netif_attach(stack, &wire.end[index].netif), "interface");
    pair_check(
        plumb_netif_set_ipv4(&wire.end[index].netif, addresses[index], netmask, PLUMB_IPV4_ANY),
        "address");
    return stack;
}

struct pair pair_create(void) {
    const struct plumb_wire_end_options ends[2] = {
        {.name = "server",
         .address = plumb_ethernet_address((const uint8_t[]){2, 0, 0, 0, 0, 1}),
         .pool = &hosts[0].pool},
        {.name = "client",
         .address = plumb_ethernet_address((const uint8_t[]){2, 0, 0, 0, 0, 2}),
         .pool = &hosts[1].pool},
    };
    make_pools(&hosts[0]);
    make_pools(&hosts[1]);
    pair_check(plumb_wire_create(&wire, frames, FRAMES, 1, ends), "wire");
    return (struct pair){.server = make_stack(0), .client = make_stack(1)};
}

static uint64_t earliest(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static int destroy(struct pair *pair) {
    int missing = 0;
    plumb_destroy(pair->server);
    plumb_destroy(pair->client);
    for (unsigned i = 0; i < 2; i++)
        missing += PACKETS - hosts[i].pool.free_count + REFERENCES - hosts[i].references.free_count;
    if (missing)
        fprintf(stderr, "%d packets are missing from the pools\n", missing);
    return missing ? 1 : 0;
}

uint64_t pair_turn(struct pair *pair, uint64_t now) {
    uint64_t next = earliest(plumb_poll(pair->server, now), plumb_poll(pair->client, now));
    next = earliest(next, plumb_wire_due(&wire));
    return next > now ? next : now; /* nothing to do before: time leaps */
}

int pair_run(struct pair *pair, const bool *done) {
    uint64_t now = 0;
    while (!*done && now < LIMIT_US)
        now = pair_turn(pair, now);
    if (!*done)
        fprintf(stderr, "not done after 60 seconds of virtual time\n");
    return destroy(pair) || !*done;
}
