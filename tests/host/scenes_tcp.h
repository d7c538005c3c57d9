/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The scenes with TCP: see scenes.h. */
#ifndef PLUMB_TEST_SCENES_TCP_H
#define PLUMB_TEST_SCENES_TCP_H

#include "scenes.h"

/* a connects to b, bytes go both ways, and somebody ends it. */
enum {
    A_FIRST,      /* closes, when all has gone both ways */
    B_FIRST,      /* the other */
    BOTH,         /* at once */
    HALF,         /* b begins to send when a has shut down */
    ABORT,        /* a resets; b, asking for signs of life, finds out */
    REFERENCE,    /* a sends what it lends */
    SMALL_WINDOW, /* and b reads late */
    NARROW_PATH,  /* what is large does not pass, and a router says so */
    COOKIES,      /* strangers have taken all of the backlog */
};

bool play_tcp(struct stage *stage);

/* The same and a datagram by sockets, that nobody waits in. */
bool play_sockets(struct stage *stage);

#endif
