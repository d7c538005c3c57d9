/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The linux board: an application and the stack in one process, over TAP.
 *
 * Owns the pools, the stack's memory and the wait. SIGTERM and SIGINT end it in
 * order: the stack is destroyed, and then every pool must hold all its packets
 * again; the exit status tells.
 */
#include "options.h"
#include "pcap.h"
#include "probe.h"
#include "tap.h"

#include <plumb_config.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum {
    RECEIVE_PACKETS = 1024, /* of which up to 43 wait for the longest frame */
    RECEIVE_BYTES = 1536,
    SEGMENT_PACKETS = 1024,
    SEGMENT_BYTES = PLUMB_DMA_WHOLE_LINES(1600),
    HEADER_PACKETS = 256,
    HEADER_BYTES = 128,
    REFERENCE_PACKETS = 256,
    STATUS_LEAK = 3,
};

/* A pool's storage and the pool. */
#define POOL(name, packets, bytes)                                                                 \
    static struct plumb_packet name##_descriptors[packets];                                        \
    static _Alignas(PLUMB_DMA_LINE) uint8_t name##_memory[packets][bytes];                         \
    static struct plumb_pool name

POOL(receive, RECEIVE_PACKETS, RECEIVE_BYTES);
POOL(segments, SEGMENT_PACKETS, SEGMENT_BYTES);
POOL(headers, HEADER_PACKETS, HEADER_BYTES);
static struct plumb_packet reference_descriptors[REFERENCE_PACKETS];
static struct plumb_pool references;

static PLUMB_STACK_MEMORY(stack_memory);
static struct plumb_tap tap;
static struct pcap capture;
static struct options options;
static int stop_fd;
static volatile sig_atomic_t stopping;

static _Noreturn void give_up(const char *what, const char *why) {
    fprintf(stderr, "panic: %s: %s\n", what, why);
    board_exit(1);
}

static void check(int error, const char *what) {
    if (error)
        give_up(what, plumb_error_text(error));
}

static void make_pools(void) {
    int error = plumb_pool_create(&receive, receive_descriptors, receive_memory, RECEIVE_PACKETS,
                                  RECEIVE_BYTES, NULL);
    if (!error)
        error = plumb_pool_create(&segments, segments_descriptors, segments_memory, SEGMENT_PACKETS,
                                  SEGMENT_BYTES, NULL);
    if (!error)
        error = plumb_pool_create(&headers, headers_descriptors, headers_memory, HEADER_PACKETS,
                                  HEADER_BYTES, NULL);
    if (!error)
        error =
            plumb_pool_create(&references, reference_descriptors, NULL, REFERENCE_PACKETS, 0, NULL);
    check(error, "pools");
}

static void fill_random(void *to, size_t length) {
    if (getrandom(to, length, 0) != (ssize_t)length)
        give_up("getrandom", strerror(errno));
}

static struct plumb *make_stack(void) {
    struct plumb *stack;
    struct plumb_options made = {
        .segments = &segments, .headers = &headers, .references = &references};
    fill_random(made.seed, sizeof made.seed);
    check(plumb_create(&stack, stack_memory, sizeof stack_memory, &made), "stack");
    return stack;
}

static struct plumb_ethernet_address random_ethernet(void) {
    uint8_t bytes[6];
    fill_random(bytes, sizeof bytes);
    bytes[0] = (uint8_t)((bytes[0] & 0xfc) | 0x02); /* locally administered, a station */
    return plumb_ethernet_address(bytes);
}

static void attach_tap(struct plumb *stack) {
    struct plumb_tap_config config = {
        .name = options.tap,
        .pool = &receive,
        .address = options.has_ethernet ? options.ethernet : random_ethernet(),
        .offload = options.offload,
    };
    int error = plumb_tap_open(&tap, &config);
    if (error == PLUMB_ERROR_DEVICE)
        give_up(options.tap, strerror(errno));
    check(error, options.tap);
    check(plumb_netif_attach(stack, &tap.netif), options.tap);
}

static void start_capture(const char *path) {
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    uint64_t wall_us = (uint64_t)wall.tv_sec * 1000000 + (uint64_t)wall.tv_nsec / 1000;
    if (!pcap_open(&capture, path, wall_us - board_now_us()))
        give_up(path, strerror(errno));
    plumb_netif_observe(&tap.netif, pcap_observe, &capture);
}

static void stop(int signal_number) {
    uint64_t one = 1;
    int error = errno;
    (void)signal_number;
    stopping = 1;
    if (write(stop_fd, &one, sizeof one) < 0)
        stopping = 1; /* nothing else is to be done: the counter is at its limit */
    errno = error;
}

static void catch_signals(void) {
    const struct sigaction action = {.sa_handler = stop};
    stop_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (stop_fd < 0 || sigaction(SIGTERM, &action, NULL) || sigaction(SIGINT, &action, NULL))
        give_up("signals", strerror(errno));
}

/* Sleeps until the deadline, a frame, or a signal. Kept a function of its own, so
 * that a tool that counts can leave it out by name. */
static __attribute__((noinline)) void board_idle(uint64_t deadline_us) {
    struct pollfd watched[2] = {{.fd = tap.fd, .events = POLLIN},
                                {.fd = stop_fd, .events = POLLIN}};
    uint64_t now = board_now_us();
    struct timespec wait = {0};
    if (deadline_us == PLUMB_NEVER)
        deadline_us = now + 60000000;
    if (deadline_us > now) {
        wait.tv_sec = (time_t)((deadline_us - now) / 1000000);
        wait.tv_nsec = (long)((deadline_us - now) % 1000000 * 1000);
    }
    ppoll(watched, 2, &wait, NULL);
}

static unsigned missing(const char *name, const struct plumb_pool *pool) {
    if (pool->free_count != pool->count)
        fprintf(stderr, "leak: pool %s lacks %d of %d packets\n", name,
                pool->count - pool->free_count, pool->count);
    return pool->free_count != pool->count;
}

static int finish(struct plumb *stack) {
    unsigned leaks = 0;
    plumb_destroy(stack);
    plumb_tap_close(&tap);
    leaks += missing("receive", &receive);
    leaks += missing("segments", &segments);
    leaks += missing("headers", &headers);
    leaks += missing("references", &references);
    if (capture.file && !pcap_close(&capture))
        give_up("capture", strerror(errno));
    return leaks ? STATUS_LEAK : 0;
}

const char *board_arguments(void) {
    return options.arguments;
}

int main(int argc, char **argv) {
    options_parse(&options, argc, argv);
#ifdef CONFIG_PLUMB_ALIGNMENT_GENERIC
    plumb_processor_misaligned(probe_misaligned());
#endif
    board_use_routines(options.routines);
    make_pools();
    struct plumb *stack = make_stack();
    attach_tap(stack);
    if (options.capture)
        start_capture(options.capture);
    catch_signals();
    board_begin(stack, &tap.netif, &options.address);
    while (!stopping) {
        uint64_t now_us = board_now_us(), deadline = board_turn(now_us);
        if (deadline > now_us && !stopping)
            board_idle(deadline);
    }
    return finish(stack);
}
