/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The device as a whole: creation, start and stop.
 *
 * The driver never waits in its data path, and nothing of it runs in an
 * interrupt. Multiword registers are the device's byte order, little endian.
 */
#include "internal.h"
#include "rx_copy.h"
#include "rx_frame.h"

enum {
    DEFAULT_MTU = 1500,
    RX_PAD = 2,        /* puts the network header on a word */
    TX_LATE_US = 2000, /* when frames are looked after whose sending woke nobody */
    SMALLEST_BUFFER = 128,
    LARGEST_BUFFER = 1536,
};

static bool ring_valid(const struct plumb_gem_ring *ring) {
    return ring->count - 4 <= 1020 && ring->bus % 8 == 0 && !((uint64_t)ring->bus >> 32);
}

static bool config_valid(const struct plumb_gem_config *config) {
    return config->mtu <= DEFAULT_MTU && config->rx_buffer >= SMALLEST_BUFFER &&
           config->rx_buffer <= LARGEST_BUFFER && config->rx_buffer % 64 == 0 &&
           config->rx_buffer <= config->rx_pool->capacity && ring_valid(&config->rx) &&
           ring_valid(&config->tx) && pl_gem_rx_frame_fits(config) && pl_gem_rx_copy_fits(config);
}

uint32_t pl_gem_network_configuration(const struct plumb_gem *gem) {
    uint32_t bus_width = pl_gem_read(gem, DESIGN_CFG1) >> 25 & 7;
    uint32_t value = NWCFG_LONG_FRAMES | NWCFG_STRIP_FCS | NWCFG_RX_PAD(gem->rx_pad) |
                     NWCFG_MDC(gem->config.mdc_divisor) | NWCFG_BUS_WIDTH(bus_width / 2);

    if (gem->netif.capabilities & PLUMB_CAPABILITY_RX_CHECKSUM)
        value |= NWCFG_RX_CHECKSUM;
    return value;
}

static void write_address(struct plumb_gem *gem) {
    const uint16_t *half = gem->netif.address.half;

    pl_gem_write(gem, SPADDR1BOT, half[0] | (uint32_t)half[1] << 16);
    pl_gem_write(gem, SPADDR1TOP, half[2]);
    pl_gem_write(gem, HASHBOT, 0);
    pl_gem_write(gem, HASHTOP, 0);
}

/* Queue 0 is ours; each of the others, where there are any, meets a descriptor
 * that it may not use. */
static void write_queues(struct plumb_gem *gem) {
    const struct plumb_gem_ring *rx = &gem->config.rx, *tx = &gem->config.tx;
    uint32_t queues = pl_gem_read(gem, DESIGN_CFG6) & CFG6_QUEUES;
    uint32_t parked = (uint32_t)sizeof(struct plumb_gem_descriptor);

    rx->descriptors[rx->count].control = 0;
    rx->descriptors[rx->count].address = RX_USED | RX_WRAP;
    tx->descriptors[tx->count].address = 0;
    tx->descriptors[tx->count].control = TX_USED | TX_WRAP;
    gem_write_barrier();
    for (unsigned i = 1; i < 8; i++) {
        if (queues >> i & 1) {
            pl_gem_write(gem, RXQ1BASE + 4 * (i - 1), (uint32_t)rx->bus + parked * rx->count);
            pl_gem_write(gem, TXQ1BASE + 4 * (i - 1), (uint32_t)tx->bus + parked * tx->count);
        }
    }
    pl_gem_write(gem, RXQBASE, (uint32_t)rx->bus);
    pl_gem_write(gem, TXQBASE, (uint32_t)tx->bus);
}

void pl_gem_disable(struct plumb_gem *gem) {
    gem->control = NWCTRL_MANAGEMENT;
    pl_gem_write(gem, IDR, INTERRUPT_ALL);
    pl_gem_write(gem, NWCTRL, gem->control);
    pl_gem_write(gem, TXSR, TXSR_ALL);
    pl_gem_write(gem, RXSR, RXSR_ALL);
    plumb_gem_acknowledge(gem);
}

void pl_gem_enable(struct plumb_gem *gem, unsigned rx_buffer, uint32_t more_control) {
    uint32_t dma = DMACR_BURST_16 | DMACR_RX_MEMORY | DMACR_TX_MEMORY | DMACR_RX_BUFFER(rx_buffer);

    if (gem->netif.capabilities & PLUMB_CAPABILITY_TX_CHECKSUM)
        dma |= DMACR_TX_CHECKSUM;
    pl_gem_write(gem, DMACR, dma);
    write_address(gem);
    write_queues(gem);
    gem->control |= NWCTRL_RX | NWCTRL_TX | more_control;
    pl_gem_write(gem, NWCTRL, gem->control);
}

static int gem_start(struct plumb_netif *netif) {
    struct plumb_gem *gem = pl_gem_of(netif);
    int result = pl_gem_rx_fill(gem);

    if (result != PLUMB_OK)
        return result;
    pl_gem_tx_clear(gem);
    pl_gem_write(gem, NWCFG, pl_gem_network_configuration(gem));
    pl_gem_link_start(gem);
    pl_gem_enable(gem, gem->config.rx_buffer, 0);
    pl_gem_write(gem, IER, INTERRUPT_RX_DONE | INTERRUPT_RX_USED | INTERRUPT_RX_OVERRUN);
    return PLUMB_OK;
}

static void gem_stop(struct plumb_netif *netif) {
    struct plumb_gem *gem = pl_gem_of(netif);

    pl_gem_disable(gem);
    pl_gem_rx_empty(gem);
    pl_gem_tx_empty(gem);
    netif->link_up = false;
}

static uint64_t gem_deadline(const struct plumb_netif *netif) {
    const struct plumb_gem *gem = (const void *)netif;

    return pl_gem_tx_busy(gem) ? gem->poll_us + TX_LATE_US : gem->link_us;
}

static const struct plumb_netif_driver driver = {
    .start = gem_start,
    .stop = gem_stop,
    .poll = pl_gem_poll,
    .transmit = pl_gem_transmit,
    .flush = pl_gem_flush,
    .deadline = gem_deadline,
};

/* Receive checksums are verified by every GEM; sums to send need the device to
 * hold a whole frame. */
static uint8_t capabilities_of(const struct plumb_gem *gem) {
    if (!gem->config.checksum_offload)
        return PLUMB_CAPABILITY_TX_WRITES_BACK;
    if (pl_gem_read(gem, DESIGN_CFG2) & CFG2_TX_PACKET_BUFFER)
        return PLUMB_CAPABILITY_TX_WRITES_BACK | PLUMB_CAPABILITY_RX_CHECKSUM |
               PLUMB_CAPABILITY_TX_CHECKSUM;
    return PLUMB_CAPABILITY_TX_WRITES_BACK | PLUMB_CAPABILITY_RX_CHECKSUM;
}

static void fill_netif(struct plumb_gem *gem) {
    struct plumb_netif *netif = &gem->netif;

    netif->driver = &driver;
    netif->name = gem->config.name;
    netif->address = gem->config.address;
    netif->mtu = gem->config.mtu ? gem->config.mtu : DEFAULT_MTU;
    netif->landing = gem->config.landing;
    netif->capabilities = capabilities_of(gem);
    gem->frame_limit = netif->mtu + ETHERNET_TAGGED_HEADER;
    gem->rx_pad = PL_GEM_RX_PADDED && netif->landing == PLUMB_LANDING_OFFSET ? RX_PAD : 0;
}

int plumb_gem_create(struct plumb_gem *gem, const struct plumb_gem_config *config) {
    int result;

    if (!config_valid(config))
        return PLUMB_ERROR_INVALID;
    *gem = (struct plumb_gem){0};
    gem->config = *config;
    gem->tx_unmaps = config->dma && config->dma->unmap;
    gem->revision = pl_gem_read(gem, MODULE_ID);
    fill_netif(gem);
    pl_gem_disable(gem);
    pl_gem_write(gem, NWCTRL, gem->control | NWCTRL_CLEAR_STATISTICS);
    pl_gem_write(gem, NWCFG, pl_gem_network_configuration(gem) | NWCFG_FULL_DUPLEX);
    result = pl_gem_rx_map(gem);
    if (result == PLUMB_OK)
        result = pl_gem_phy_find(gem);
    if (result == PLUMB_OK)
        result = pl_gem_probe(gem);
    return result;
}

bool plumb_gem_stored_address(uintptr_t registers, struct plumb_ethernet_address *address) {
    uint32_t bottom = gem_port_read(registers + SPADDR1BOT);
    uint32_t top = gem_port_read(registers + SPADDR1TOP);

    address->half[0] = (uint16_t)bottom;
    address->half[1] = (uint16_t)(bottom >> 16);
    address->half[2] = (uint16_t)top;
    return (bottom | (top & 0xFFFF)) != 0 && !(bottom & 1);
}

/* Revisions differ in whether a read or a write of ones clears. */
void plumb_gem_acknowledge(struct plumb_gem *gem) {
    uint32_t status = pl_gem_read(gem, ISR);

    if (status)
        pl_gem_write(gem, ISR, status);
}

/* The receive status too: a device that stands still is the next poll's to start,
 * and the interrupt that said so has just been cleared. */
bool plumb_gem_pending(const struct plumb_gem *gem) {
    const struct plumb_gem_ring *rx = &gem->config.rx, *tx = &gem->config.tx;

    return (rx->descriptors[gem->rx_next].address & RX_USED) || gem->rx_stopped ||
           (pl_gem_read(gem, RXSR) & RXSR_STOPS) ||
           (gem->tx_waiting && (tx->descriptors[gem->tx_oldest].control & TX_USED));
}
