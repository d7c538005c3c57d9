/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The moves of one build of moves.c, as a table. */
#ifndef BENCH_ETHER_H
#define BENCH_ETHER_H

#include <plumb/address.h>

struct ether_moves {
    const char *variant;
    void (*address)(struct plumb_ethernet_address *to, const struct plumb_ethernet_address *from);
    void (*type)(plumb_be16 *to, const plumb_be16 *from);
};

extern const struct ether_moves moves_by_halfwords, moves_by_bytes, moves_by_call;

#endif
