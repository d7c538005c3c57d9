/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the examples share, so that each shows its API and nothing else: two
 * stacks in one process, 10.0.0.1 and 10.0.0.2, joined by an in-process wire, in
 * virtual time. On a board there is one stack, made the same way, and the loop
 * is the board's.
 */
#ifndef EXAMPLE_PAIR_H
#define EXAMPLE_PAIR_H

#include <stdbool.h>

#include <plumb/plumb.h>

struct pair {
    struct plumb *server; /* 10.0.0.1 */
    struct plumb *client; /* 10.0.0.2 */
};

/* Makes both stacks; ends the process when it cannot. */
struct pair pair_create(void);

/* Polls both until `*done`, at most 60 seconds of virtual time. Then destroys
 * them and returns the example's exit status: 0 when it was done and every packet
 * is back in its pool. */
int pair_run(struct pair *pair, const bool *done);

/* Polls both once; returns when to do so again. */
uint64_t pair_turn(struct pair *pair, uint64_t now);

/* Ends the process with a message when `result` is an error. */
void pair_check(int result, const char *what);

/* A port of the server. */
struct plumb_endpoint pair_server(uint16_t port);

#endif
