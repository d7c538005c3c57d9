/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A harness is one block of memory: stack, sockets, interface and pools.
 */
#include "plumb_harness.h"

#include "link.h"
#include <plumb/error.h>
#include <plumb/stack.h>

#include <stdlib.h>
#include <string.h>

enum { PACKETS = 1024, HEADERS = 512, HEADER_BYTES = 128, LARGEST_MTU = 9000, FRONT = 128 };

struct plumb_harness {
    struct plumb *stack;
    struct plumb_sockets *sockets;
    struct link link;
    struct plumb_pool receive, segments, headers;
    struct plumb_packet descriptors[2 * PACKETS + HEADERS];
    PLUMB_STACK_MEMORY(stack_memory);
    PLUMB_SOCKETS_MEMORY(sockets_memory);
    _Alignas(PLUMB_DMA_LINE) uint8_t header_bytes[HEADERS * HEADER_BYTES];
    uint8_t *buffers;
};

/* ---- options ---- */

/* Those of a caller who knows fewer, completed. */
static struct plumb_harness_options complete(const struct plumb_harness_options *given) {
    static const uint8_t none[6], ethernet[6] = {2, 0, 0, 0, 0, 1}, address[4] = {10, 0, 0, 1};
    struct plumb_harness_options options = {0};

    memcpy(&options, given, given->size < sizeof options ? given->size : sizeof options);
    if (!memcmp(options.address, none, sizeof options.address))
        memcpy(options.address, address, sizeof address);
    if (!memcmp(options.ethernet, none, sizeof options.ethernet))
        memcpy(options.ethernet, ethernet, sizeof ethernet);
    if (!options.prefix)
        options.prefix = 24;
    if (!options.mtu)
        options.mtu = 1500;
    return options;
}

static plumb_ipv4 address_of(const uint8_t bytes[4]) {
    return (plumb_ipv4)PLUMB_IPV4(bytes[0], bytes[1], bytes[2], bytes[3]);
}

/* The first address of the network that is not the host's. */
static plumb_ipv4 other_address(plumb_ipv4 address, uint32_t netmask, unsigned prefix) {
    uint32_t own = plumb_get32(address), other = (own & netmask) + (prefix < 31);

    if (prefix == 32)
        return PLUMB_IPV4_ANY;
    return plumb_put32(other == own ? other + 1 : other);
}

static int configure(struct plumb_harness *harness, const struct plumb_harness_options *options) {
    uint32_t netmask = ~(uint32_t)((UINT64_C(1) << (32 - options->prefix)) - 1);
    plumb_ipv4 address = address_of(options->address), gateway = address_of(options->gateway);

    if (!gateway.be)
        gateway = other_address(address, netmask, options->prefix);
    int result = plumb_netif_attach(harness->stack, &harness->link.netif);
    return result
               ? result
               : plumb_netif_set_ipv4(&harness->link.netif, address, plumb_put32(netmask), gateway);
}

/* ---- making ---- */

static int make_pools(struct plumb_harness *harness, uint16_t mtu) {
    uint16_t bytes = (uint16_t)PLUMB_DMA_WHOLE_LINES(mtu + FRONT < 512 ? 512U : mtu + FRONT + 0U);
    struct plumb_packet *descriptors = harness->descriptors;

    harness->buffers = aligned_alloc(PLUMB_DMA_LINE, (size_t)2 * PACKETS * bytes);
    if (!harness->buffers)
        return PLUMB_ERROR_NO_MEMORY;
    int result =
        plumb_pool_create(&harness->receive, descriptors, harness->buffers, PACKETS, bytes, NULL);
    if (!result)
        result =
            plumb_pool_create(&harness->segments, descriptors + PACKETS,
                              harness->buffers + (size_t)PACKETS * bytes, PACKETS, bytes, NULL);
    if (!result)
        result = plumb_pool_create(&harness->headers, descriptors + 2 * PACKETS,
                                   harness->header_bytes, HEADERS, HEADER_BYTES, NULL);
    return result;
}

static int make_stack(struct plumb_harness *harness, const struct plumb_harness_options *options) {
    const struct plumb_options create = {
        .seed = {options->seed[0], options->seed[1]},
        .segments = &harness->segments,
        .headers = &harness->headers,
    };
    int result =
        plumb_create(&harness->stack, harness->stack_memory, sizeof harness->stack_memory, &create);

    if (!result)
        result = plumb_sockets_create(&harness->sockets, harness->sockets_memory,
                                      sizeof harness->sockets_memory, harness->stack, NULL);
    return result;
}

static int make(struct plumb_harness *harness, const struct plumb_harness_options *options) {
    int result = make_pools(harness, options->mtu);

    link_create(&harness->link, &harness->receive, options->ethernet, options->mtu,
                options->level == PLUMB_HARNESS_IP);
    if (!result)
        result = make_stack(harness, options);
    return result ? result : configure(harness, options);
}

static void unmake(struct plumb_harness *harness) {
    if (harness->stack)
        plumb_destroy(harness->stack);
    link_destroy(&harness->link);
}

struct plumb_harness *plumb_harness_create(const struct plumb_harness_options *given) {
    const struct plumb_harness_options options = complete(given);
    struct plumb_harness *harness;

    if (options.prefix > 32 || options.mtu > LARGEST_MTU || options.mtu < 68 ||
        options.level > PLUMB_HARNESS_ETHERNET)
        return NULL;
    harness = aligned_alloc(_Alignof(struct plumb_harness), sizeof *harness);
    if (!harness)
        return NULL;
    memset(harness, 0, sizeof *harness);
    if (make(harness, &options) == PLUMB_OK)
        return harness;
    unmake(harness);
    free(harness->buffers);
    free(harness);
    return NULL;
}

static int missing(const struct plumb_pool *pool) {
    return pool->count - pool->free_count;
}

int plumb_harness_destroy(struct plumb_harness *harness) {
    plumb_sockets_destroy(harness->sockets);
    unmake(harness);
    int count =
        missing(&harness->receive) + missing(&harness->segments) + missing(&harness->headers);
    free(harness->buffers);
    free(harness);
    return count;
}

/* ---- use ---- */

/* A poll takes so many frames; what is left is taken at once, too. */
uint64_t plumb_harness_poll(struct plumb_harness *harness, uint64_t now_us) {
    uint64_t next;

    do
        next = plumb_sockets_run(harness->sockets, now_us);
    while (next <= now_us);
    return next;
}

int plumb_harness_ip_in(struct plumb_harness *harness, const void *packet, size_t length) {
    return harness->link.ip ? link_put(&harness->link, packet, length) : -PLUMB_EOPNOTSUPP;
}

int plumb_harness_ip_out(struct plumb_harness *harness, void *packet, size_t room) {
    return harness->link.ip ? link_take(&harness->link, packet, room) : -PLUMB_EOPNOTSUPP;
}

int plumb_harness_ethernet_in(struct plumb_harness *harness, const void *frame, size_t length) {
    return harness->link.ip ? -PLUMB_EOPNOTSUPP : link_put(&harness->link, frame, length);
}

int plumb_harness_ethernet_out(struct plumb_harness *harness, void *frame, size_t room) {
    return harness->link.ip ? -PLUMB_EOPNOTSUPP : link_take(&harness->link, frame, room);
}

struct plumb_sockets *plumb_harness_sockets(struct plumb_harness *harness) {
    return harness->sockets;
}

struct plumb *plumb_harness_stack(struct plumb_harness *harness) {
    return harness->stack;
}
