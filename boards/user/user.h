/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A process of Linux's, without a C library, as a board: for programs that run in
 * QEMU's user mode on every instruction set.
 *
 * It offers board_write(), board_print(), board_exit() and the measuring marks of
 * board.h, and calls user_main(); there is no network and no clock.
 */
#ifndef PLUMB_USER_H
#define PLUMB_USER_H

#include <stdbool.h>
#include <stddef.h>

#include "board.h"

/* Of what user_protect() takes, and of no smaller unit: every emulator's page. */
enum { USER_PAGE = 65536 };

/* The program; its result is the exit status. */
int user_main(int count, char **arguments);

/* Makes USER_PAGE-aligned pages untouchable, or usable again. False: refused. */
bool user_protect(void *pages, size_t length, bool usable);

/* Whether two texts are the same. */
bool user_same(const char *one, const char *other);

#endif
