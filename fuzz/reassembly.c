/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Fragments of four datagrams, in whatever pieces and order: what is delivered is what the
 * datagram holds, what waits is bounded, every frame is waiting, delivered or counted, and
 * in the end every buffer is at home.
 *
 * Each is from a source of its own. The input is a list of fragments of 4 bytes: which datagram and
 * flags, offset in units of 8 bytes, length (2 bytes, low one first).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <plumb_config.h>

#include "trial.h"

enum { WHICH = 3, MORE = 4, LET_EXPIRE = 8, REPEAT = 16, PORT = 7, LONGEST = 4000, EACH = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *script, size_t size);

static struct trial trial;
static const uint16_t lengths[4] = {48, 600, 1480, LONGEST};

static void expect_that(bool right, const char *what) {
    if (right)
        return;
    fprintf(stderr, "reassembly: %s\n", what);
    abort();
}

static void expect_well(const char *failure) {
    expect_that(!failure, failure);
}

/* Byte `at` of datagram `which`; it begins with a UDP header that has no checksum. */
static uint8_t byte_of(unsigned which, unsigned at) {
    const uint8_t header[8] = {(uint8_t)which,         1, 0, PORT, (uint8_t)(lengths[which] >> 8),
                               (uint8_t)lengths[which]};
    return at < 8 ? header[at] : (uint8_t)(at * 7 + at / 256 + which * 31);
}

static void on_datagram(struct plumb_udp *socket, struct plumb_packet *payload,
                        const struct plumb_udp_source *source, void *context) {
    static uint8_t bytes[LONGEST];
    unsigned which = source->from.port >> 8;
    (void)socket;
    (void)context;
    expect_that(which < 4 && payload->total == lengths[which] - 8, "a wrong length was delivered");
    plumb_packet_copy_out(payload, 0, bytes, sizeof bytes);
    for (unsigned i = 0; i < payload->total; i++)
        expect_that(bytes[i] == byte_of(which, i + 8), "a wrong byte was delivered");
}

static void strike(const uint8_t *step) {
    unsigned which = step[0] & WHICH, offset = step[1] * 8U;
    unsigned length = (unsigned)(step[2] | step[3] << 8) % 1481;
    struct frame_path path = trial.hostile.path;
    uint8_t bytes[1480];
    path.from += which; /* no source may have all that may wait */
    for (unsigned i = 0; i < length; i++)
        bytes[i] = byte_of(which, offset + i);
    frame_fragment(&trial.frame, &path, 17, which, offset / 8 | (step[0] & MORE ? 0x2000U : 0),
                   bytes, length);
    if (offset || step[0] & MORE)
        expect_well(trial_strike(&trial));
    expect_that(trial.a.receive.count - trial.a.receive.free_count <=
                    CONFIG_PLUMB_IPV4_REASSEMBLY_PACKETS,
                "more waits than may");
}

int LLVMFuzzerTestOneInput(const uint8_t *script, size_t size) {
    struct plumb_endpoint any = {.port = PORT};
    struct plumb_udp *socket;
    expect_well(trial_begin(&trial, PLUMB_LANDING_OFFSET, size & 4 ? 256 : 0, 1));
    expect_that(!plumb_udp_open(trial.a.stack, any, on_datagram, 0, &socket), "no socket");
    for (; size >= EACH; script += EACH, size -= EACH) {
        strike(script);
        if (script[0] & REPEAT)
            strike(script);
        if (script[0] & LET_EXPIRE)
            expect_well(trial_wait(&trial, (CONFIG_PLUMB_IPV4_REASSEMBLY_MS + 1000U) * 1000U));
    }
    expect_well(trial_end(&trial));
    return 0;
}
