/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What a device with checksum offload does to a frame, by bytes.
 */
#ifndef PLUMB_WIRE_OFFLOAD_H
#define PLUMB_WIRE_OFFLOAD_H

#include <stdbool.h>
#include <stdint.h>

/* Fills in the IPv4, TCP and UDP checksums of a frame that has them. */
void pl_wire_fill_checksums(uint8_t *frame, unsigned length);

/* The IPv4 header's checksum and a TCP's or UDP's are present and right. */
bool pl_wire_checksums_good(const uint8_t *frame, unsigned length);

#endif
