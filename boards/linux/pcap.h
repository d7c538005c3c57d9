/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Writes what an interface sends and receives to a file in pcap format, which
 * tshark and tcpdump read. Time stamps are the stack's own time plus `origin_us`,
 * so that a run in virtual time gives the same file each time.
 *
 *     pcap_open(&pcap, "run.pcap", 0);
 *     plumb_netif_observe(&netif, pcap_observe, &pcap);
 *     ...
 *     pcap_close(&pcap);
 */
#ifndef PLUMB_PCAP_H
#define PLUMB_PCAP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <plumb/netif.h>

struct pcap {
    FILE *file;
    uint64_t origin_us;
};

/* False, with errno, when the file cannot be written. */
bool pcap_open(struct pcap *pcap, const char *path, uint64_t origin_us);

/* A plumb_netif_observer; the context is the struct pcap. Several interfaces
 * may share one file. */
void pcap_observe(struct plumb_netif *netif, const struct plumb_packet *packet, bool sent,
                  void *context);

/* False when something could not be written since the file was opened. */
bool pcap_close(struct pcap *pcap);

#endif
