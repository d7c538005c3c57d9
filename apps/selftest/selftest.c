/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Tries the stack on this very processor, without a network: its byte routines
 * against a byte-wise reference, then stacks of its own
 * over the in-process wire get ARP both ways, bad frames by the thousand, and
 * afterwards a ping, datagrams and connections; every landing that the build takes, in
 * whole buffers and in fragments. A board that emulates misaligned accesses does that
 * first, form by form. On a board that traps misaligned loads, one
 * such load ends it.
 *
 * Prints `selftest: passed N`, N the frames injected, or `selftest: FAILED ...`, and
 * ends the run with 0 or 1. The board's own stack and interface are left alone.
 */
#include "board.h"
#include "bytes_check.h"
#include "emulation_check.h"
#include "trial.h"

#include <plumb_config.h>

enum { BAD_FRAMES = 2000 };

/* Too large for a stack; and of one at a time. */
static struct trial trial;
static uint32_t injected;

static const char *attacks(void) {
    static const enum trial_attack kinds[] = {TRIAL_RANDOM, TRIAL_MUTATED, TRIAL_GOOD,
                                              TRIAL_OPTION_SOUP};
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *failure = trial_attack(&trial, kinds[i], BAD_FRAMES);
        if (failure)
            return failure;
    }
    return 0;
}

static const char *one_trial(enum plumb_landing landing, uint16_t fragment) {
    const char *failure = trial_begin(&trial, landing, fragment, 1);
    if (!failure)
        failure = trial_arp(&trial);
    if (!failure)
        failure = attacks();
    if (!failure)
        failure = trial_exchange(&trial);
    if (!failure)
        failure = trial_end(&trial);
    injected += trial.injected;
    board_print("selftest: landing=%s fragment=%u frames=%u dropped=%u %s\n",
                landing == PLUMB_LANDING_WORD ? "word" : "offset", fragment, trial.injected,
                trial.dropped, failure ? "failed" : "ok");
    return failure;
}

static const char *all_trials(void) {
    static const enum plumb_landing landings[] = {
        PLUMB_LANDING_OFFSET,
#ifndef CONFIG_PLUMB_NETWORK_HEADER_ALIGNED
        PLUMB_LANDING_WORD,
#endif
    };
    for (unsigned i = 0; i < sizeof landings / sizeof *landings; i++)
        for (uint16_t fragment = 0; fragment <= 128; fragment += 128) {
            const char *failure = one_trial(landings[i], fragment);
            if (failure)
                return failure;
        }
    return 0;
}

static const char *bytes(void) {
    static _Alignas(8) uint8_t from[BYTES_CHECK_MOST], to[BYTES_CHECK_MOST];
    const struct bytes_memory memory = {.from = from, .to = to, .length = sizeof from};
    struct bytes_failure failure;

    if (bytes_check(&memory, &failure)) {
        board_print("selftest: bytes ok\n");
        return 0;
    }
    board_print("selftest: %s length=%u to=%u from=%u: %s\n", failure.routine, failure.length,
                failure.to, failure.from, failure.what);
    return failure.routine;
}

#ifdef CONFIG_PLUMB_ZYNQ_EMULATE_MISALIGNED

/* Between the marks, so that the board tells how many it emulated. */
static const char *emulation(void) {
    board_measure_start();
    const char *failure = emulation_check();
    board_measure_stop();
    board_print("selftest: emulation %s accesses=%u\n", failure ? failure : "ok",
                emulation_check_count());
    return failure;
}

#else

static const char *emulation(void) {
    return 0;
}

#endif

void app_start(struct plumb *stack, struct plumb_netif *netif) {
    (void)stack;
    (void)netif;
    const char *failure = bytes();
    if (!failure)
        failure = emulation();
    if (!failure)
        failure = all_trials();
    if (failure)
        board_print("selftest: FAILED %s\n", failure);
    else
        board_print("selftest: passed %u\n", injected);
    board_exit(failure ? 1 : 0);
}

void app_ready(struct plumb *stack, struct plumb_netif *netif) {
    (void)stack;
    (void)netif;
}

bool app_poll(struct plumb *stack) {
    (void)stack;
    return false;
}
