/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The control connection of iperf 3, bytes from a stranger in whatever parts: cut differently
 * they say the same; parameters and results that are taken can be written, and are read again
 * as what they were.
 *
 * The input is a byte that says how the rest is cut, then bytes of control: first a cookie,
 * then states, and what follows each. Or the byte says that the rest is one text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "exchange.h"

enum { HASH = 16777619, TEXT_ALONE = 128 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_that(bool right, const char *what) {
    if (right)
        return;
    fprintf(stderr, "iperf3_control: %s\n", what);
    abort();
}

/* ---- texts ---- */

static void check_parameters(const char *text, size_t length) {
    static char again[2048];
    struct parameters p, q;
    struct json_writer writer;

    if (exchange_read_parameters(&p, text, length) != CODE_NONE)
        return;
    expect_that(exchange_check(&p) == CODE_NONE, "what was taken is refused");
    expect_that(p.parallel && p.parallel << p.bidirectional <= IPERF3_STREAMS, "too many streams");
    json_write_begin(&writer, again, sizeof again);
    exchange_write_parameters(&p, &writer);
    expect_that(!writer.overflow, "parameters do not fit");
    expect_that(exchange_read_parameters(&q, again, writer.length) == CODE_NONE,
                "what was written is refused");
    expect_that(p.udp == q.udp && p.reverse == q.reverse && p.bidirectional == q.bidirectional &&
                    p.parallel == q.parallel && p.time_s == q.time_s && p.length == q.length,
                "parameters change on the way");
}

static void check_results(const char *text, size_t length) {
    static char again[8192];
    static struct results r, s;
    struct json_writer writer;

    if (!exchange_read_results(&r, text, length))
        return;
    expect_that(r.count <= IPERF3_STREAMS, "results of more streams than there are");
    json_write_begin(&writer, again, sizeof again);
    exchange_write_results(&r, 1, &writer);
    if (writer.overflow)
        return;
    expect_that(exchange_read_results(&s, again, writer.length), "what was written is refused");
    expect_that(r.count == s.count, "results get lost on the way");
    for (unsigned i = 0; i < r.count; i++)
        expect_that(r.streams[i].bytes == s.streams[i].bytes && r.streams[i].id == s.streams[i].id,
                    "results change on the way");
}

static void check_text(const char *text, size_t length) {
    check_parameters(text, length);
    check_results(text, length);
}

/* ---- items ---- */

/* What follows an item, as a server would have it. */
static enum control_item follows(const struct control *control, enum control_item item) {
    if (item == ITEM_STATE)
        switch (control->bytes[0]) {
        case STATE_PARAMETERS:
        case STATE_RESULTS:
            return ITEM_TEXT;
        case STATE_ERROR:
            return ITEM_ERROR;
        default:
            break;
        }
    return ITEM_STATE;
}

/* Reads all, in parts of `cut` bytes, and returns what stands for everything that was read. */
static uint32_t read_all(const uint8_t *bytes, size_t size, size_t cut, bool look) {
    static struct control control;
    uint32_t hash = 2166136261U;
    enum control_item item = ITEM_COOKIE;

    control_want(&control, item);
    while (size && item != ITEM_TOO_LONG) {
        size_t part = size < cut ? size : cut, used = SIZE_MAX;
        item = control_read(&control, bytes, part, &used);
        expect_that(used <= part, "more was used than there was");
        expect_that(used || item != ITEM_NONE, "nothing was used, and nothing read");
        expect_that(item != ITEM_NONE || used == part, "bytes are left that belong to it");
        bytes += used;
        size -= used;
        if (item == ITEM_NONE)
            continue;
        hash = (hash ^ (uint32_t)item) * HASH;
        if (item == ITEM_TEXT) {
            expect_that(control.length <= CONTROL_TEXT_MOST, "a text that is too long");
            for (uint32_t i = 0; i < control.length; i++)
                hash = (hash ^ (uint8_t)control.text[i]) * HASH;
            if (look)
                check_text(control.text, control.length);
        }
        control_want(&control, follows(&control, item));
    }
    return hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size)
        return 0;
    if (data[0] & TEXT_ALONE) {
        check_text((const char *)data + 1, size - 1);
        return 0;
    }
    expect_that(read_all(data + 1, size - 1, data[0] % 61 + 1U, true) ==
                    read_all(data + 1, size - 1, size, false),
                "cut differently, they say something else");
    return 0;
}
