/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The PHY behind the management bus (IEEE 802.3 clause 22): finding it, and the
 * state of the link.
 *
 * The link is looked at once a second without waiting: each look collects what
 * the last one asked for, and asks again. Only when the link has come up are a
 * few registers read one after the other, for its speed.
 */
#include "internal.h"

enum {
    PHY_STATUS = 1,
    PHY_IDENTIFIER = 2,
    PHY_ADVERTISED = 4,
    PHY_PARTNER = 5,
    PHY_GIGABIT_CONTROL = 9,
    PHY_GIGABIT_STATUS = 10,
    STATUS_LINK = 1 << 2,
    ABILITY_100_FULL = 1 << 8,
    ABILITY_100_HALF = 1 << 7,
    ABILITY_10_FULL = 1 << 6,
    GIGABIT_FULL = 1 << 11, /* in the status; two bits lower in the control */
    LINK_PERIOD_US = 1000000,
    WAIT_READS = 20000, /* a frame takes 64 bits at 2.5 MHz or less, some 300 reads of a register */
    PHY_COUNT = 32,
    PHY_NOTHING = 0xFFFF, /* what a bus without an answer reads as */
};

#define MAINTENANCE_READ 0x60020000U /* clause 22, read, turn-around */

static void ask(const struct plumb_gem *gem, unsigned phy, unsigned number) {
    pl_gem_write(gem, PHYMNTNC, MAINTENANCE_READ | phy << 23 | number << 18);
}

static bool answered(const struct plumb_gem *gem) {
    return pl_gem_read(gem, NWSR) & NWSR_MANAGEMENT_IDLE;
}

static unsigned answer(const struct plumb_gem *gem) {
    return pl_gem_read(gem, PHYMNTNC) & 0xFFFF;
}

static bool wait(const struct plumb_gem *gem) {
    for (unsigned i = 0; i < WAIT_READS; i++)
        if (answered(gem))
            return true;
    return false;
}

/* Asks and waits; as from an absent PHY when the bus hangs. */
static unsigned read_phy(const struct plumb_gem *gem, unsigned phy, unsigned number) {
    if (!wait(gem))
        return PHY_NOTHING;
    ask(gem, phy, number);
    return wait(gem) ? answer(gem) : PHY_NOTHING;
}

static bool present(const struct plumb_gem *gem, unsigned phy) {
    unsigned identifier = read_phy(gem, phy, PHY_IDENTIFIER);
    return identifier != PHY_NOTHING && identifier != 0;
}

int pl_gem_phy_find(struct plumb_gem *gem) {
    bool any = gem->config.phy == PLUMB_GEM_PHY_ANY;
    unsigned phy = any ? 0 : gem->config.phy;

    while (!present(gem, phy)) {
        if (!any || ++phy == PHY_COUNT)
            return PLUMB_ERROR_DEVICE;
    }
    gem->phy = (uint8_t)phy;
    return PLUMB_OK;
}

static unsigned both(const struct plumb_gem *gem, unsigned advertised, unsigned partner,
                     unsigned shift) {
    return read_phy(gem, gem->phy, advertised) << shift & read_phy(gem, gem->phy, partner);
}

/* The best that both ends can do (IEEE 802.3 annex 28B.3), as the network
 * configuration register says it. */
static uint32_t negotiated(const struct plumb_gem *gem) {
    if (both(gem, PHY_GIGABIT_CONTROL, PHY_GIGABIT_STATUS, 2) & GIGABIT_FULL)
        return NWCFG_1000 | NWCFG_FULL_DUPLEX;
    unsigned ability = both(gem, PHY_ADVERTISED, PHY_PARTNER, 0);
    if (ability & ABILITY_100_FULL)
        return NWCFG_100 | NWCFG_FULL_DUPLEX;
    if (ability & ABILITY_100_HALF)
        return NWCFG_100;
    return ability & ABILITY_10_FULL ? NWCFG_FULL_DUPLEX : 0;
}

static void set_speed(struct plumb_gem *gem) {
    uint32_t speed = negotiated(gem);

    pl_gem_write(gem, NWCFG, pl_gem_network_configuration(gem) | speed);
    gem->mbits = speed & NWCFG_1000 ? 1000 : speed & NWCFG_100 ? 100 : 10;
    if (gem->config.speed)
        gem->config.speed(gem->config.context, gem->mbits);
}

static void set_link(struct plumb_gem *gem, unsigned status) {
    bool up = status != PHY_NOTHING && (status & STATUS_LINK);

    if (up == gem->netif.link_up)
        return;
    gem->netif.link_up = up;
    plumb_netif_count(&gem->netif, up ? PLUMB_NETIF_link_up : PLUMB_NETIF_link_down);
    if (up)
        set_speed(gem);
}

/* Takes the answer about the link and asks again. */
static void take_status(struct plumb_gem *gem, unsigned status) {
    set_link(gem, status);
    ask(gem, gem->phy, PHY_STATUS);
}

/* Twice: the link bit remembers that the link was down until it is read. */
void pl_gem_link_start(struct plumb_gem *gem) {
    read_phy(gem, gem->phy, PHY_STATUS);
    take_status(gem, read_phy(gem, gem->phy, PHY_STATUS));
}

void pl_gem_link_poll(struct plumb_gem *gem, uint64_t now_us) {
    gem->link_us = now_us + LINK_PERIOD_US;
    if (answered(gem))
        take_status(gem, answer(gem));
}
