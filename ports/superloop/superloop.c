/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "superloop.h"

static uint64_t now_us(void *context) {
    const struct plumb_superloop *loop = context;

    return loop->now_us();
}

static void wait(void *context, uint64_t until_us) {
    plumb_superloop_turn(context, until_us);
}

void plumb_superloop_create(struct plumb_superloop *loop, uint64_t (*now)(void),
                            void (*idle)(uint64_t deadline_us)) {
    *loop = (struct plumb_superloop){
        .port = {.context = loop, .now_us = now_us},
        .now_us = now,
        .idle = idle,
    };
}

void plumb_superloop_begin(struct plumb_superloop *loop, struct plumb_sockets *sockets) {
    loop->sockets = sockets;
    loop->port.wait = wait;
}

void plumb_superloop_turn(struct plumb_superloop *loop, uint64_t until_us) {
    uint64_t next = plumb_sockets_run(loop->sockets, loop->now_us());

    if (next > until_us)
        next = until_us;
    if (next > loop->now_us())
        loop->idle(next);
}
