/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Frames into a live stack with a listener and a socket: each is accounted for, answered
 * by one frame at most and without a byte of another's, and in the end every buffer is at
 * home (tests/shared/trial.h).
 *
 * The input is a list of frames, each behind 4 bytes:
 *
 *     flags, milliseconds that pass before it, length (2 bytes, low one first)
 *
 * A frame may ask for its lengths and checksums to be set right, and for its TCP numbers to
 * be taken as distances from the connection's. The mutator works on that list: bytes of a
 * frame change, frames come, go, change places, and come again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trial.h"

enum { FINISH = 1, RELATIVE = 2, FRAMES_MOST = 40, HEAD = 4, LONGEST = 1518 };

struct item {
    uint8_t flags, wait_ms;
    uint16_t length;
    uint8_t bytes[LONGEST];
};

struct list {
    unsigned count;
    struct item items[FRAMES_MOST];
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

static void parse(struct list *list, const uint8_t *data, size_t size) {
    list->count = 0;
    while (size >= HEAD && list->count < FRAMES_MOST) {
        struct item *item = &list->items[list->count++];
        size_t length = (size_t)(data[2] | data[3] << 8);
        size -= HEAD;
        length = length > LONGEST ? LONGEST : length;
        length = length > size ? size : length;
        item->flags = data[0];
        item->wait_ms = data[1];
        item->length = (uint16_t)length;
        memcpy(item->bytes, data + HEAD, length);
        data += HEAD + length;
        size -= length;
    }
}

static size_t unparse(const struct list *list, uint8_t *data, size_t most) {
    size_t size = 0;
    for (unsigned i = 0; i < list->count; i++) {
        const struct item *item = &list->items[i];
        if (size + HEAD + item->length > most)
            break;
        const uint8_t head[HEAD] = {item->flags, item->wait_ms, (uint8_t)item->length,
                                    (uint8_t)(item->length >> 8)};
        memcpy(data + size, head, HEAD);
        memcpy(data + size + HEAD, item->bytes, item->length);
        size += HEAD + item->length;
    }
    return size;
}

/* ---- running ---- */

static struct trial trial;

/* Where headers lie, if it looks like IPv4. */
static bool locate(struct frame *frame) {
    frame->network = frame->transport = 0;
    if (frame->length < FRAME_TRANSPORT || frame_get16(frame, 12) != 0x0800)
        return false;
    frame->network = FRAME_NETWORK;
    frame->transport = (uint16_t)(FRAME_NETWORK + (frame->bytes[FRAME_NETWORK] & 15) * 4);
    return frame->transport >= FRAME_TRANSPORT && frame->transport <= frame->length;
}

static void make_frame(const struct item *item) {
    struct frame *frame = &trial.frame;
    frame->length = item->length;
    memcpy(frame->bytes, item->bytes, item->length);
    if (!locate(frame))
        return;
    unsigned tcp = frame->transport;
    if (item->flags & RELATIVE && frame->bytes[23] == 6 && frame->length >= tcp + 12U) {
        frame_put32(frame, tcp + 4, frame_get32(frame, tcp + 4) + trial.hostile.sequence);
        frame_put32(frame, tcp + 8, frame_get32(frame, tcp + 8) + trial.hostile.acknowledgement);
    }
    if (item->flags & FINISH)
        frame_finish(frame);
}

static void expect_well(const char *failure) {
    if (!failure)
        return;
    fprintf(stderr, "frames: %s\n", failure);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct list list;
    parse(&list, data, size);
    /* In whole buffers or in parts. */
    expect_well(trial_begin(&trial, PLUMB_LANDING_OFFSET, size & 1 ? 128 : 0, 1));
    for (unsigned i = 0; i < list.count; i++) {
        if (list.items[i].wait_ms)
            expect_well(trial_wait(&trial, list.items[i].wait_ms * 1000U));
        make_frame(&list.items[i]);
        expect_well(trial_strike(&trial));
    }
    expect_well(trial_end(&trial));
    return 0;
}

/* ---- mutating ---- */

static void copy_frame(struct item *item, const struct frame *frame) {
    item->length = frame->length > LONGEST ? LONGEST : frame->length;
    memcpy(item->bytes, frame->bytes, item->length);
}

/* A good one of some kind, its TCP numbers near those of whatever connection there is. */
static void new_item(struct item *item, struct random *random) {
    static struct hostile hostile;
    struct frame frame;
    hostile = (struct hostile){
        .random = {random_next(random)},
        .path = {.from_ethernet = {2, 0, 0, 0, 0, 2},
                 .to_ethernet = {2, 0, 0, 0, 0, 1},
                 .from = FRAME_IPV4(10, 0, 0, 2),
                 .to = FRAME_IPV4(10, 0, 0, 1),
                 .from_port = 40000,
                 .to_port = TRIAL_PORT},
        .open_port = TRIAL_PORT,
    };
    hostile_good(&hostile, &frame);
    *item = (struct item){.flags = RELATIVE | FINISH,
                          .wait_ms = (uint8_t)(random_below(random, 4) ? 0 : 50)};
    copy_frame(item, &frame);
}

static void insert(struct list *list, unsigned at, const struct item *item) {
    if (list->count == FRAMES_MOST)
        list->count--;
    memmove(&list->items[at + 1], &list->items[at], (list->count - at) * sizeof *item);
    list->items[at] = *item;
    list->count++;
}

/* A byte of the headers becomes one on which parsers stumble. */
static void spoil(struct item *item, struct random *random) {
    static const uint8_t values[] = {0, 1, 2, 3, 4, 7, 8, 15, 16, 20, 40, 127, 128, 254, 255};
    unsigned limit = item->length < 80 ? item->length : 80;
    if (limit > 12)
        item->bytes[12 + random_below(random, limit - 12)] =
            values[random_below(random, sizeof values)];
}

static void mutate(struct list *list, struct random *random) {
    static struct item copy;
    unsigned at = list->count ? random_below(random, list->count) : 0;
    struct item *item = &list->items[at];
    switch (list->count ? random_below(random, 9) : 0) {
    case 0:
        new_item(&copy, random);
        insert(list, at, &copy);
        break;
    case 1:
        copy = *item;
        insert(list, random_below(random, list->count), &copy);
        break;
    case 2:
        memmove(item, item + 1, (--list->count - at) * sizeof *item);
        break;
    case 3:
        copy = *item;
        *item = list->items[random_below(random, list->count)];
        break;
    case 4:
        item->flags ^= (uint8_t)(1U << random_below(random, 2));
        break;
    case 5:
        item->wait_ms = (uint8_t)random_next(random);
        break;
    case 6:
        item->length = (uint16_t)LLVMFuzzerMutate(item->bytes, item->length, LONGEST);
        break;
    default:
        spoil(item, random);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    static struct list list;
    struct random random = {seed};
    parse(&list, data, size);
    for (unsigned times = 1 + random_below(&random, 4); times--;)
        mutate(&list, &random);
    size = unparse(&list, data, most);
    if (size)
        return size;
    data[0] = 0;
    return 1;
}
