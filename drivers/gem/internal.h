/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Registers and descriptors of the Cadence GEM, and what the driver's files
 * offer each other. Register names follow the Zynq-7000 manual (UG585).
 */
#ifndef PL_GEM_INTERNAL_H
#define PL_GEM_INTERNAL_H

#include <plumb/error.h>

#include "gem.h"
#include "gem_port.h"

enum pl_gem_register {
    NWCTRL = 0x000,
    NWCFG = 0x004,
    NWSR = 0x008,
    DMACR = 0x010,
    TXSR = 0x014,
    RXQBASE = 0x018,
    TXQBASE = 0x01C,
    RXSR = 0x020,
    ISR = 0x024,
    IER = 0x028,
    IDR = 0x02C,
    PHYMNTNC = 0x034,
    HASHBOT = 0x080,
    HASHTOP = 0x084,
    SPADDR1BOT = 0x088,
    SPADDR1TOP = 0x08C,
    MODULE_ID = 0x0FC,
    RX_FRAMES = 0x158,
    DESIGN_CFG1 = 0x280,
    DESIGN_CFG2 = 0x284,
    DESIGN_CFG6 = 0x294,
    TXQ1BASE = 0x440, /* a word each, up to queue 7 */
    RXQ1BASE = 0x480,
};

/* NWCTRL */
#define NWCTRL_LOOPBACK         (1U << 1)
#define NWCTRL_RX               (1U << 2)
#define NWCTRL_TX               (1U << 3)
#define NWCTRL_MANAGEMENT       (1U << 4)
#define NWCTRL_CLEAR_STATISTICS (1U << 5)
#define NWCTRL_TX_START         (1U << 9)

/* NWCFG */
#define NWCFG_100          (1U << 0)
#define NWCFG_FULL_DUPLEX  (1U << 1)
#define NWCFG_LONG_FRAMES  (1U << 8) /* up to 1536 bytes */
#define NWCFG_1000         (1U << 10)
#define NWCFG_RX_PAD(n)    ((uint32_t)(n) << 14)
#define NWCFG_STRIP_FCS    (1U << 17)
#define NWCFG_MDC(n)       ((uint32_t)(n) << 18)
#define NWCFG_BUS_WIDTH(n) ((uint32_t)(n) << 21)
#define NWCFG_RX_CHECKSUM  (1U << 24)

#define NWSR_MANAGEMENT_IDLE (1U << 2)

/* DMACR */
#define DMACR_BURST_16     0x10U
#define DMACR_RX_MEMORY    (3U << 8) /* all of the packet buffers' memory */
#define DMACR_TX_MEMORY    (1U << 10)
#define DMACR_TX_CHECKSUM  (1U << 11)
#define DMACR_RX_BUFFER(n) ((uint32_t)(n) / 64 << 16)

/* TXSR: what stops transmission, and everything. */
#define TXSR_ERRORS 0x154U /* retry limit, buffers exhausted, underrun, bus error */
#define TXSR_ALL    0x1FFU

/* RXSR */
#define RXSR_NO_BUFFER (1U << 0)
#define RXSR_OVERRUN   (1U << 2)
#define RXSR_BUS_ERROR (1U << 3)
#define RXSR_STOPS     (RXSR_NO_BUFFER | RXSR_OVERRUN | RXSR_BUS_ERROR)
#define RXSR_ALL       0xFU

/* ISR, IER, IDR */
#define INTERRUPT_RX_DONE    (1U << 1)
#define INTERRUPT_RX_USED    (1U << 2)
#define INTERRUPT_TX_DONE    (1U << 7)
#define INTERRUPT_RX_OVERRUN (1U << 10)
#define INTERRUPT_ALL        0x07FFFFFFU

/* DESIGN_CFG2, 6 */
#define CFG2_TX_PACKET_BUFFER (1U << 21)
#define CFG6_COALESCING       (1U << 26)
#define CFG6_QUEUES           0xFEU

/* Descriptors: receive, address word */
#define RX_USED 1U
#define RX_WRAP 2U
/* receive, control word */
#define RX_LENGTH         0x1FFFU
#define RX_START          (1U << 14)
#define RX_END            (1U << 15)
#define RX_CHECKSUM(word) ((word) >> 22 & 3)
#define RX_CHECKSUM_ALL   (3U << 22)
#define RX_CHECKSUM_TCP   2 /* and 3: UDP; below, not verified to the payload */
/* transmit, control word */
#define TX_USED   (1U << 31)
#define TX_WRAP   (1U << 30)
#define TX_LAST   (1U << 15)
#define TX_LENGTH 0x3FFFU

#define ETHERNET_TAGGED_HEADER 18 /* with an 802.1Q tag */

static inline struct plumb_gem *pl_gem_of(struct plumb_netif *netif) {
    return (void *)netif;
}

static inline uint32_t pl_gem_read(const struct plumb_gem *gem, unsigned offset) {
    return gem_port_read(gem->config.registers + offset);
}

static inline void pl_gem_write(const struct plumb_gem *gem, unsigned offset, uint32_t value) {
    gem_port_write(gem->config.registers + offset, value);
}

/* mdio.c: the PHY. */
int pl_gem_phy_find(struct plumb_gem *gem);
void pl_gem_link_start(struct plumb_gem *gem);
void pl_gem_link_poll(struct plumb_gem *gem, uint64_t now_us);

/* probe.c: fills in the fields about the receive offset and the statistics. */
int pl_gem_probe(struct plumb_gem *gem);

/* gem.c: the network configuration register's value, but for what the link's
 * speed decides. */
uint32_t pl_gem_network_configuration(const struct plumb_gem *gem);

/* gem.c: between a fill of the rings and their emptying. */
void pl_gem_enable(struct plumb_gem *gem, unsigned rx_buffer, uint32_t more_control);
void pl_gem_disable(struct plumb_gem *gem);

/* rx.c */
int pl_gem_rx_map(struct plumb_gem *gem);
int pl_gem_rx_fill(struct plumb_gem *gem);
void pl_gem_rx_empty(struct plumb_gem *gem);
unsigned pl_gem_poll(struct plumb_netif *netif, uint64_t now_us, unsigned budget);

/* rx.c, for those that take frames out of the ring by themselves: drops the one that is being
 * collected, and what is still to come of it. */
void pl_gem_rx_drop(struct plumb_gem *gem, enum plumb_netif_counter counter, bool ended);

/* tx.c: is there a frame that has not been reclaimed? */
static inline bool pl_gem_tx_busy(const struct plumb_gem *gem) {
    return gem->tx_oldest != gem->tx_next;
}

void pl_gem_tx_clear(struct plumb_gem *gem);
void pl_gem_tx_empty(struct plumb_gem *gem);
void pl_gem_tx_reclaim(struct plumb_gem *gem);
int pl_gem_transmit(struct plumb_netif *netif, struct plumb_packet *packet);
void pl_gem_flush(struct plumb_netif *netif);

/* Has the device look at the transmit ring. */
static inline void pl_gem_tx_start(const struct plumb_gem *gem) {
    gem_write_barrier();
    pl_gem_write(gem, NWCTRL, gem->control | NWCTRL_TX_START);
}

#endif
