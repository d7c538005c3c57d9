/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The Cadence GEM as an interface of lwIP's. The device is found and set up by Plumb's
 * driver; the two rings, as long as Plumb's, are worked here, in lwIP's buffers.
 *
 * At stock levels frames are copied, as by the skeleton that lwIP comes with: received
 * ones into its pool, sent ones into a buffer of the ring. From level 2 on nothing is: a
 * received buffer is passed up as a custom pbuf and comes back when that is freed, and a
 * sent one is held by its reference count until the device has read it.
 *
 * What lwIP writes into a received buffer are headers, so these lines alone are thrown
 * away before the device has it again. A device that met no free descriptor is stopped,
 * drained and started again. Errors of transmission are not looked for.
 */
#include "internal.h"
#include "zynq.h"

#include "lwip/etharp.h"
#include "lwip/pbuf.h"
#include "netif/ethernet.h"

#include "gem_netif.h"

enum {
    IN_PLACE = PEER_LEVEL >= 2,
    RX_RING = CONFIG_PLUMB_GEM_RX_DESCRIPTORS,
    TX_RING = CONFIG_PLUMB_GEM_TX_DESCRIPTORS,
    BUFFERS = IN_PLACE ? 512 : RX_RING,
    BUFFER = 1536,
    WRITTEN = 128, /* of a received buffer, by lwIP: no headers are longer */
};

#define PACKETS  __attribute__((section(".packets"), aligned(PLUMB_DMA_LINE)))
#define UNCACHED __attribute__((section(".uncached"), aligned(PLUMB_DMA_LINE)))
#define RARE     __attribute__((cold, noinline))

/* A received frame's memory, and what lwIP knows it by. */
struct buffer {
    struct pbuf_custom custom; /* the first member */
    uint8_t *memory;
};

static PACKETS uint8_t receive_memory[BUFFERS * BUFFER + PLUMB_DMA_LINE];
static PACKETS struct buffer buffers[BUFFERS];
static UNCACHED struct plumb_gem_descriptor rx_ring[RX_RING + 1];
static UNCACHED struct plumb_gem_descriptor tx_ring[TX_RING + 1];
static struct buffer *rx_held[RX_RING];
static struct pbuf *tx_held[TX_RING];
static struct buffer *spare; /* linked by their pbufs' next */
static unsigned rx_next, tx_next, tx_oldest, tx_used;
static bool rx_stopped, tx_queued;
static struct plumb_gem gem;

struct peer_frames peer_frames;

/* ---- receiving ---- */

static void give_back(struct pbuf *pbuf) {
    pbuf->next = spare ? &spare->custom.pbuf : NULL;
    spare = (void *)pbuf;
}

static inline void publish(unsigned index, struct buffer *buffer) {
    struct plumb_gem_descriptor *descriptor = &rx_ring[index];

    plumb_dma_sync_for_device(&zynq_dma, buffer->memory, WRITTEN, PLUMB_DMA_FROM_DEVICE);
    rx_held[index] = buffer;
    descriptor->control = 0;
    gem_write_barrier();
    descriptor->address =
        (uint32_t)(uintptr_t)buffer->memory | (index + 1 == RX_RING ? RX_WRAP : 0);
}

static struct pbuf *pass_up_buffer(unsigned index, unsigned length) {
    struct buffer *buffer = rx_held[index], *fresh = spare;

    if (!fresh) {
        publish(index, buffer);
        return NULL;
    }
    spare = (void *)fresh->custom.pbuf.next;
    publish(index, fresh);
    length += ETH_PAD_SIZE;
    plumb_dma_sync_for_cpu(&zynq_dma, buffer->memory, length, PLUMB_DMA_FROM_DEVICE);
    return pbuf_alloced_custom(PBUF_RAW, (u16_t)length, PBUF_REF, &buffer->custom, buffer->memory,
                               BUFFER);
}

static struct pbuf *pass_up_copy(unsigned index, unsigned length) {
    struct buffer *buffer = rx_held[index];
    struct pbuf *pbuf = pbuf_alloc(PBUF_RAW, (u16_t)length, PBUF_POOL);

    plumb_dma_sync_for_cpu(&zynq_dma, buffer->memory, length, PLUMB_DMA_FROM_DEVICE);
    if (pbuf)
        pbuf_take(pbuf, buffer->memory, (u16_t)length);
    publish(index, buffer);
    return pbuf;
}

/* Whether a descriptor was the processor's. */
static inline bool receive(struct netif *netif) {
    unsigned index = rx_next;
    struct pbuf *pbuf = NULL;

    if (!(rx_ring[index].address & RX_USED))
        return false;
    gem_read_barrier();
    uint32_t control = rx_ring[index].control;
    rx_next = index + 1 == RX_RING ? 0 : index + 1;
    if ((control & (RX_START | RX_END)) != (RX_START | RX_END))
        publish(index, rx_held[index]);
    else if (IN_PLACE)
        pbuf = pass_up_buffer(index, control & RX_LENGTH);
    else
        pbuf = pass_up_copy(index, control & RX_LENGTH);
    if (pbuf) {
        peer_frames.received++;
        if (netif->input(pbuf, netif) != ERR_OK)
            pbuf_free(pbuf);
    }
    return true;
}

/* The ring is drained. Whether to look again: after the device was stopped, and after
 * it was started. */
static RARE bool restart(void) {
    if (!rx_stopped) {
        pl_gem_write(&gem, RXSR, RXSR_ALL);
        pl_gem_write(&gem, NWCTRL, gem.control & ~NWCTRL_RX);
    } else {
        rx_next = 0;
        pl_gem_write(&gem, RXQBASE, (uint32_t)(uintptr_t)rx_ring);
        gem_write_barrier();
        pl_gem_write(&gem, NWCTRL, gem.control);
    }
    rx_stopped = !rx_stopped;
    return true;
}

/* ---- sending ---- */

static void release(void) {
    uint32_t control;

    pbuf_free(tx_held[tx_oldest]);
    do {
        control = tx_ring[tx_oldest].control;
        tx_ring[tx_oldest].control = (control & TX_WRAP) | TX_USED;
        tx_oldest = tx_oldest + 1 == TX_RING ? 0 : tx_oldest + 1;
        tx_used--;
    } while (!(control & TX_LAST));
}

static inline void reclaim(void) {
    while (tx_used && (tx_ring[tx_oldest].control & TX_USED))
        release();
}

void gem_netif_flush(void) {
    if (!tx_queued)
        return;
    tx_queued = false;
    gem_write_barrier();
    pl_gem_write(&gem, NWCTRL, gem.control | NWCTRL_TX_START);
}

/* A frame's own memory: a copy, where sending takes one. */
static struct pbuf *held_for(struct pbuf *pbuf) {
    static PACKETS uint8_t memory[IN_PLACE ? 1 : TX_RING][BUFFER];
    static struct pbuf copies[IN_PLACE ? 1 : TX_RING];

    if (IN_PLACE) {
        pbuf_ref(pbuf);
        return pbuf;
    }
    struct pbuf *copy = &copies[tx_next];
    *copy = (struct pbuf){.payload = memory[tx_next], .len = pbuf->tot_len, .ref = 2};
    pbuf_copy_partial(pbuf, copy->payload, pbuf->tot_len, 0);
    return copy;
}

static err_t transmit(struct netif *netif, struct pbuf *pbuf) {
    unsigned first = tx_next, index = first, skip = ETH_PAD_SIZE;
    uint32_t first_control = 0;

    (void)netif;
    if (tx_used + pbuf_clen(pbuf) > TX_RING) {
        gem_netif_flush();
        reclaim();
        if (tx_used + pbuf_clen(pbuf) > TX_RING)
            return ERR_MEM;
    }
    tx_held[first] = pbuf = held_for(pbuf);
    for (;; pbuf = pbuf->next) {
        uint8_t *bytes = (uint8_t *)pbuf->payload + skip;
        uint32_t length = pbuf->len - skip;
        uint32_t control = length | (index + 1 == TX_RING ? TX_WRAP : 0);
        if (!pbuf->next)
            control |= TX_LAST;
        tx_ring[index].address =
            (uint32_t)plumb_dma_map(&zynq_dma, bytes, length, PLUMB_DMA_TO_DEVICE);
        if (index == first)
            first_control = control;
        else
            tx_ring[index].control = control;
        index = index + 1 == TX_RING ? 0 : index + 1;
        tx_used++;
        skip = 0;
        if (!pbuf->next)
            break;
    }
    gem_write_barrier();
    tx_ring[first].control = first_control;
    tx_next = index;
    tx_queued = true;
    peer_frames.sent++;
    return ERR_OK;
}

/* ---- both ---- */

void gem_netif_poll(struct netif *netif) {
    reclaim();
    do {
        while (receive(netif))
            ;
    } while ((rx_stopped || (pl_gem_read(&gem, RXSR) & RXSR_STOPS)) && restart());
}

void gem_netif_acknowledge(void) {
    plumb_gem_acknowledge(&gem);
}

bool gem_netif_pending(void) {
    return rx_ring[rx_next].address & RX_USED;
}

static void fill_rings(void) {
    for (unsigned i = 0; i < BUFFERS; i++) {
        buffers[i].memory = receive_memory + i * BUFFER;
        buffers[i].custom.custom_free_function = give_back;
        plumb_dma_sync_for_device(&zynq_dma, buffers[i].memory, BUFFER, PLUMB_DMA_FROM_DEVICE);
        if (i < RX_RING)
            publish(i, &buffers[i]);
        else
            give_back(&buffers[i].custom.pbuf);
    }
    for (unsigned i = 0; i < TX_RING; i++)
        tx_ring[i].control = TX_USED | (i + 1 == TX_RING ? TX_WRAP : 0);
}

/* As Plumb's driver starts it, but for the probe: this emulator's GEM pads by what it is
 * told, and a buffer holds a whole frame. */
static void start_device(void) {
    gem.config = (struct plumb_gem_config){
        .registers = ZYNQ_GEM0,
        .phy = PLUMB_GEM_PHY_ANY,
        .mdc_divisor = PLUMB_GEM_MDC_DIV_64,
        .rx = {.descriptors = rx_ring, .bus = (uintptr_t)rx_ring, .count = RX_RING},
        .tx = {.descriptors = tx_ring, .bus = (uintptr_t)tx_ring, .count = TX_RING},
    };
    gem.rx_pad = ETH_PAD_SIZE;
    gem.netif.capabilities = PEER_HARDWARE_CHECKSUM ? PLUMB_CAPABILITY_TX_CHECKSUM : 0;
    pl_gem_disable(&gem);
    pl_gem_write(&gem, NWCFG, pl_gem_network_configuration(&gem));
    if (pl_gem_phy_find(&gem))
        peer_panic("no PHY");
    pl_gem_link_start(&gem);
    pl_gem_enable(&gem, BUFFER, 0);
    pl_gem_write(&gem, IER, INTERRUPT_RX_DONE | INTERRUPT_RX_USED | INTERRUPT_RX_OVERRUN);
}

err_t gem_netif_init(struct netif *netif) {
    static const uint8_t ours[6] = {0x02, 0x50, 0x4C, 0x55, 0x4D, 0x42};

    gem.netif.address = plumb_ethernet_address(ours);
    for (unsigned i = 0; i < sizeof ours; i++)
        netif->hwaddr[i] = ours[i];
    netif->hwaddr_len = sizeof ours;
    netif->name[0] = 'g';
    netif->name[1] = 'e';
    netif->mtu = 1500;
    netif->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET;
    netif->output = etharp_output;
    netif->linkoutput = transmit;
    fill_rings();
    start_device();
    return ERR_OK;
}
