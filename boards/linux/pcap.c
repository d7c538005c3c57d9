/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The pcap writer. It owns the file. The format is that of libpcap 2.4 in the
 * host's byte order, which readers tell from the magic number.
 */
#include "pcap.h"

#include <plumb/stack.h>

struct file_header {
    uint32_t magic;
    uint16_t major, minor;
    uint32_t zone, accuracy, longest, link;
};

struct frame_header {
    uint32_t seconds, microseconds, kept, length;
};

bool pcap_open(struct pcap *pcap, const char *path, uint64_t origin_us) {
    const struct file_header header = {
        .magic = 0xa1b2c3d4, .major = 2, .minor = 4, .longest = 65535, .link = 1 /* Ethernet */};
    pcap->origin_us = origin_us;
    pcap->file = fopen(path, "wb");
    return pcap->file && fwrite(&header, sizeof header, 1, pcap->file) == 1;
}

void pcap_observe(struct plumb_netif *netif, const struct plumb_packet *packet, bool sent,
                  void *context) {
    struct pcap *pcap = context;
    uint64_t now = pcap->origin_us + plumb_now_us(netif->stack);
    const struct frame_header header = {.seconds = (uint32_t)(now / 1000000),
                                        .microseconds = (uint32_t)(now % 1000000),
                                        .kept = packet->total,
                                        .length = packet->total};
    (void)sent;
    fwrite(&header, sizeof header, 1, pcap->file);
    for (; packet; packet = packet->more)
        fwrite(packet->data, 1, packet->length, pcap->file);
}

bool pcap_close(struct pcap *pcap) {
    bool good = !ferror(pcap->file);
    return fclose(pcap->file) == 0 && good;
}
