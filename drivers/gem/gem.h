/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Cadence GEM (Gigabit Ethernet MAC), as in the Zynq-7000, the ZynqMP, SiFive's
 * FU540 and, under the name MACB, older AVR32 and AT91 parts.
 *
 * Frames are received by reference into the stack, and sent by gathering their
 * fragments. One queue is used; the others are parked. Descriptors are the
 * 32-bit form: buffers and rings lie in the first 4 GB of bus addresses.
 *
 *     plumb_gem_create(&gem, &config);             probes the device
 *     plumb_netif_attach(stack, &gem.netif);       starts it
 *
 * An interrupt only has to end an idle wait:
 *
 *     plumb_gem_acknowledge(&gem);
 *     if (!plumb_gem_pending(&gem))
 *         wait for an interrupt or the stack's deadline
 */
#ifndef PLUMB_GEM_H
#define PLUMB_GEM_H

#include <stdbool.h>
#include <stdint.h>

#include <plumb/dma.h>
#include <plumb/netif.h>
#include <plumb/packet.h>
#include <plumb_config.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As the device reads and writes them; in memory that is not cached. */
struct plumb_gem_descriptor {
    volatile uint32_t address;
    volatile uint32_t control;
};

/* A ring's memory: `count` + 1 descriptors, of which the last parks the unused
 * queues; and `count` pointers to the packets that the others stand for. */
struct plumb_gem_ring {
    struct plumb_gem_descriptor *descriptors; /* aligned to 8 */
    uintptr_t bus;                            /* where the device finds them */
    struct plumb_packet **held;
    uint8_t **mapped; /* the transmit ring's only: where each fragment begins */
    uint32_t count;   /* 4 to 1024; of the transmit ring one stays free */
};

/* Search the management bus for a PHY. */
#define PLUMB_GEM_PHY_ANY 0xFF

/* Management clock: the device's bus clock divided by (must end below 2.5 MHz). */
enum plumb_gem_mdc {
    PLUMB_GEM_MDC_DIV_8,
    PLUMB_GEM_MDC_DIV_16,
    PLUMB_GEM_MDC_DIV_32,
    PLUMB_GEM_MDC_DIV_48,
    PLUMB_GEM_MDC_DIV_64,
    PLUMB_GEM_MDC_DIV_96,
    PLUMB_GEM_MDC_DIV_128,
    PLUMB_GEM_MDC_DIV_224,
};

struct plumb_gem_config {
    const char *name; /* of the interface; a string that stays */
    uintptr_t registers;
    struct plumb_ethernet_address address;
    uint16_t mtu;                /* 0: 1500; at most 1500 */
    uint8_t phy;                 /* address on the management bus, or PLUMB_GEM_PHY_ANY */
    uint8_t mdc_divisor;         /* enum plumb_gem_mdc */
    uint8_t landing;             /* enum plumb_landing wanted; netif.landing says what it became */
    bool checksum_offload;       /* let the device sum, where it can */
    const struct plumb_dma *dma; /* or null */

    /* The driver's alone. Its buffers lie one behind the other, and behind the
     * last one PLUMB_DMA_LINE bytes belong to nobody: see PLUMB_GEM_OFFSET_EVERY. */
    struct plumb_pool *rx_pool;
    uint32_t rx_buffer; /* bytes used of each: a multiple of 64, 128 to 1536 */

#ifdef CONFIG_PLUMB_GEM_RX_PULL
    struct plumb_pool *rx_small; /* for received headers: as many buffers, of 192 bytes */
#endif

#ifdef CONFIG_PLUMB_GEM_RX_COPIES
    struct plumb_pool *rx_copies; /* for frames that are copied: all, or those that fit */
#endif

    struct plumb_gem_ring rx;
    struct plumb_gem_ring tx;

    /* Told when the link comes up, for boards that clock the device by speed
     * (10, 100 or 1000 Mbit/s); or null. */
    void (*speed)(void *context, unsigned mbits);
    void *context;
};

/* What the device makes of a receive offset, as a frame in loopback showed. */
enum plumb_gem_offset {
    PLUMB_GEM_OFFSET_UNUSED,  /* not asked for */
    PLUMB_GEM_OFFSET_ABSENT,  /* it has none (as with receive-side coalescing) */
    PLUMB_GEM_OFFSET_FIRST,   /* in the first buffer of a frame, whose room shrinks: hardware */
    PLUMB_GEM_OFFSET_EVERY,   /* in every buffer, each overrun by it: QEMU's emulation */
    PLUMB_GEM_OFFSET_ASSUMED, /* no frame came back; taken to be as documented */
};

/* An interface. The user may read the fields up to the line; the rest is the driver's. */
struct plumb_gem {
    struct plumb_netif netif; /* the first member */
    uint32_t revision;        /* the device's identification register */
    uint8_t phy;              /* the address found */
    uint8_t offset;           /* enum plumb_gem_offset */
    bool statistics_stay;     /* QEMU: reading a statistics register does not clear it */
    uint16_t mbits;           /* speed of the link */

    /* ---- the driver's ---- */
    uint64_t poll_us; /* time of the last poll */
    uint64_t link_us; /* when to look at the link */
    struct plumb_gem_config config;
    uint32_t control;     /* the network control register's lasting bits */
    uintptr_t bus_offset; /* from a receive buffer's address to the device's for it */
    uint32_t rx_next;     /* the descriptor looked at next */
    uint32_t rx_pad;      /* bytes in front of a frame's first byte */
    uint32_t rx_more_pad; /* the same in the buffers behind a frame's first */
    uint32_t rx_first;    /* frame bytes that fit the first buffer */
    uint32_t frame_limit; /* longest frame taken or sent */
    uint32_t rx_whole;    /* the lesser of the two; 0 within a frame of several buffers */
#ifdef CONFIG_PLUMB_GEM_RX_BREAK
    uint32_t rx_break; /* longest frame that is copied */
#endif
    struct plumb_packet *rx_head; /* a frame of which the end has not come */
    struct plumb_packet *rx_tail;
    uint32_t tx_next;   /* the descriptor filled next */
    uint32_t tx_oldest; /* the oldest not yet reclaimed; tx_next when there is none */
    uint32_t tx_told;   /* tx_next when the device was last told */
    bool rx_stopped;    /* reception is off until the ring is drained */
    bool rx_dropping;   /* the rest of the present frame is being thrown away */
    bool tx_unmaps;     /* the end of a mapping asks for a call */
    bool tx_waiting;    /* a frame was refused: completion is to wake */
    uint32_t statistics[12];
    uint32_t statistics_raw[12];
};

/* Takes the device out of reset, finds the PHY, and probes what the receive
 * offset does; `config` is copied. The receive pool must be full. Returns
 * PLUMB_OK, PLUMB_ERROR_INVALID (configuration), PLUMB_ERROR_NO_BUFFER (fewer
 * receive buffers than descriptors) or PLUMB_ERROR_DEVICE (no PHY answers). */
int plumb_gem_create(struct plumb_gem *gem, const struct plumb_gem_config *config);

/* Reads the station address that is stored in the device: true when it is one. */
bool plumb_gem_stored_address(uintptr_t registers, struct plumb_ethernet_address *address);

/* Clears what interrupts the device has raised. */
void plumb_gem_acknowledge(struct plumb_gem *gem);

/* Is there something for a poll to do? Asked after the above, it is not too late:
 * what comes later raises an interrupt. To be asked before each wait: whether the device
 * stands still is seen here, or by a poll that finds nothing. */
bool plumb_gem_pending(const struct plumb_gem *gem);

/* "first", "every" ...: what enum plumb_gem_offset says, for a console. */
const char *plumb_gem_offset_text(enum plumb_gem_offset offset);

/* The device's own counts since it was created, the probe's frame included. */
struct plumb_gem_statistics {
    uint32_t tx_frames;
    uint32_t tx_underruns;
    uint32_t tx_excessive_collisions;
    uint32_t tx_late_collisions;
    uint32_t rx_frames;
    uint32_t rx_undersized;
    uint32_t rx_oversized;
    uint32_t rx_fcs_errors;
    uint32_t rx_symbol_errors;
    uint32_t rx_alignment_errors;
    uint32_t rx_no_descriptor;
    uint32_t rx_overruns;
};

void plumb_gem_statistics(struct plumb_gem *gem, struct plumb_gem_statistics *statistics);

#ifdef __cplusplus
}
#endif

#endif
