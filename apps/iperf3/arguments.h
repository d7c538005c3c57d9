/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What a user wants of this endpoint, said as to the iperf3 program. */
#ifndef IPERF3_ARGUMENTS_H
#define IPERF3_ARGUMENTS_H

#include <plumb/address.h>

#include "exchange.h"

enum { IPERF3_PORT = 5201 };

struct arguments {
    bool client;                  /* -c ADDRESS; else a server */
    struct plumb_endpoint server; /* -p PORT: where a client finds it, or where it listens */
    struct parameters parameters; /* -u -R --bidir -N -t -O -P -l -w -n -k -b */
};

/* Words parted by blanks; K, M and G behind a number are powers of 1024, or behind that of -b
 * of 1000. Null, or the first word that is not understood. */
const char *arguments_read(struct arguments *arguments, const char *text);

#endif
