/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What lwIP's applications and the programs that carry them share, whatever the board:
 *
 *   iperf.c       TCP, over lwIP's raw interface
 *   echo.c        UDP, likewise
 *
 * zynq/ is a firmware over the Cadence GEM, unix/ a process over TAP.
 */
#ifndef PEER_H
#define PEER_H

#include <stdint.h>

/* The application: when the interface has its address. */
void application_start(void);

/* echo.c */
void echo_start(void);

/* Frames since the start; the interface counts them. */
struct peer_frames {
    uint32_t received, sent;
};
extern struct peer_frames peer_frames;

#endif
