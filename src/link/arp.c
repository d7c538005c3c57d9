/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Neighbours: ARP (RFC 826), its ageing, and announcements (RFC 5227).
 *
 * What holds:
 *  - The table is bounded. An entry that we needed (solicited) is displaced
 *    only for another that we need; one that a stranger's request made is
 *    displaced by anything, and displaces only its own kind.
 *  - A known neighbour's hardware address never changes; only once it no longer
 *    answers is the entry given up, and somebody else believed.
 *  - An unresolved neighbour holds one packet at most.
 */
#include "link/link.h"

#include "bytes/bytes.h"
#include "packet/packet.h"

/* Requests in a row, a second apart, before a neighbour is given up. */
#define REQUESTS_MOST 3
#define TICK_MS       1000
/* At most one announcement per conflict and this time (RFC 5227 section 2.4). */
#define DEFENCE_MS 10000
/* An entry nobody used for this long is forgotten. */
#define FORGET_MS (10U * 60 * 1000)

/* RFC 826 for Ethernet and IPv4. One of the two 32-bit addresses is misaligned
 * wherever the header lies. */
struct arp_packet {
    plumb_be16 hardware_type;
    plumb_be16 protocol_type;
    uint8_t hardware_length;
    uint8_t protocol_length;
    plumb_be16 operation;
    struct plumb_ethernet_address sender_hardware;
    plumb_be32_half sender;
    struct plumb_ethernet_address target_hardware;
    plumb_be32_half target;
};
_Static_assert(sizeof(struct arp_packet) == 28, "ARP packet");

enum { OPERATION_REQUEST = 1, OPERATION_REPLY = 2 };

struct link_state {
    struct plumb_timer tick;
    uint32_t defended_ms; /* when our address was last defended, if ever */
    bool defended;
    struct pl_neighbour neighbours[CONFIG_PLUMB_ARP_ENTRIES];
};

static const struct plumb_ethernet_address broadcast = {{0xffff, 0xffff, 0xffff}};
static const struct plumb_ethernet_address nobody = {{0, 0, 0}};
static const plumb_be16 type_arp = PLUMB_BE16(PL_ETHERTYPE_ARP);
static const plumb_be16 type_ipv4 = PLUMB_BE16(PL_ETHERTYPE_IPV4);

static struct plumb_ethernet_address *hardware_of(struct pl_neighbour *neighbour) {
    return &neighbour->front.header.destination;
}

static struct link_state *state_of(const struct plumb *stack) {
    return pl_layer_state(stack, &pl_link_layer);
}

static void send_arp(struct plumb_netif *netif, unsigned operation,
                     const struct plumb_ethernet_address *to,
                     const struct plumb_ethernet_address *target_hardware, plumb_ipv4 target) {
    struct plumb *stack = netif->stack;
    struct plumb_packet *packet = plumb_packet_take(stack->options.headers, PL_HEADROOM);

    if (!packet) {
        pl_count(stack, PLUMB_COUNTER_arp_no_buffer);
        return;
    }
    struct arp_packet *arp = pl_packet_push(packet, sizeof *arp);
    arp->hardware_type = plumb_put16(1);
    arp->protocol_type = type_ipv4;
    arp->hardware_length = 6;
    arp->protocol_length = 4;
    arp->operation = plumb_put16((uint16_t)operation);
    plumb_ethernet_copy(&arp->sender_hardware, &netif->address);
    plumb_to_half(&arp->sender, netif->ipv4);
    plumb_ethernet_copy(&arp->target_hardware, target_hardware);
    plumb_to_half(&arp->target, target);
    pl_ethernet_output(netif, to, type_arp, packet);
    plumb_packet_put(packet);
}

static void ask(struct pl_neighbour *neighbour) {
    bool known = pl_neighbour_known(neighbour);

    neighbour->asked++;
    send_arp(neighbour->netif, OPERATION_REQUEST, known ? hardware_of(neighbour) : &broadcast,
             &nobody, neighbour->address);
}

static void announce(struct plumb_netif *netif) {
    send_arp(netif, OPERATION_REQUEST, &broadcast, &nobody, netif->ipv4);
}

static void free_neighbour(struct plumb *stack, struct pl_neighbour *neighbour) {
    if (neighbour->waiting)
        pl_drop(stack, PLUMB_COUNTER_arp_queue, neighbour->waiting);
    pl_forget_flows(stack); /* one may be answered through it */
    *neighbour = (struct pl_neighbour){.state = PL_NEIGHBOUR_FREE};
}

static struct pl_neighbour *find(struct link_state *state, const struct plumb_netif *netif,
                                 plumb_ipv4 address) {
    for (unsigned i = 0; i < CONFIG_PLUMB_ARP_ENTRIES; i++) {
        struct pl_neighbour *neighbour = &state->neighbours[i];
        if (neighbour->address.be == address.be && neighbour->state != PL_NEIGHBOUR_FREE &&
            neighbour->netif == netif)
            return neighbour;
    }
    return NULL;
}

/* How willingly an entry gives way: 0 not at all. */
static unsigned eviction_rank(const struct pl_neighbour *neighbour, bool solicited) {
    if (neighbour->state == PL_NEIGHBOUR_FREE)
        return 5;
    if (!neighbour->solicited)
        return 4;
    if (!solicited)
        return 0;
    /* Who has not answered gives way to anyone before a peer that has. */
    if (neighbour->state == PL_NEIGHBOUR_INCOMPLETE)
        return 3;
    return neighbour->used ? 1 : 2;
}

/* A free entry, or the oldest of those that give way most willingly. */
static struct pl_neighbour *make_room(struct plumb *stack, struct link_state *state,
                                      bool solicited) {
    struct pl_neighbour *best = NULL;
    unsigned best_rank = 0;

    for (unsigned i = 0; i < CONFIG_PLUMB_ARP_ENTRIES; i++) {
        struct pl_neighbour *neighbour = &state->neighbours[i];
        unsigned rank = eviction_rank(neighbour, solicited);
        if (rank == 0 || rank < best_rank)
            continue;
        if (rank > best_rank || (int32_t)(neighbour->changed_ms - best->changed_ms) < 0) {
            best = neighbour;
            best_rank = rank;
        }
    }
    if (best) {
        stack->counters[PLUMB_COUNTER_arp_evicted] += best->state != PL_NEIGHBOUR_FREE;
        free_neighbour(stack, best);
    }
    return best;
}

static void tick(struct plumb *stack, struct plumb_timer *timer);

static struct pl_neighbour *add(struct plumb *stack, struct link_state *state,
                                struct plumb_netif *netif, plumb_ipv4 address, bool solicited) {
    struct pl_neighbour *neighbour = make_room(stack, state, solicited);

    if (!neighbour)
        return NULL;
    neighbour->address = address;
    neighbour->netif = netif;
    neighbour->solicited = solicited;
    neighbour->changed_ms = stack->now_ms;
    neighbour->state = PL_NEIGHBOUR_INCOMPLETE;
    if (!plumb_timer_running(&state->tick))
        plumb_timer_start(stack, &state->tick, TICK_MS, tick);
    return neighbour;
}

struct pl_neighbour *pl_neighbour_resolve(struct plumb *stack, struct plumb_netif *netif,
                                          plumb_ipv4 address) {
    struct link_state *state = state_of(stack);
    struct pl_neighbour *neighbour = find(state, netif, address);

    if (!neighbour) {
        neighbour = add(stack, state, netif, address, true);
        ask(neighbour);
    }
    return neighbour;
}

int pl_link_send(struct plumb *stack, struct pl_neighbour *neighbour, struct plumb_packet *packet) {
    /* Asked when there was nothing to send yet, and perhaps nobody to hear it. */
    if (!neighbour->used && neighbour->state == PL_NEIGHBOUR_INCOMPLETE &&
        neighbour->changed_ms != stack->now_ms)
        ask(neighbour);
    neighbour->used = true;
    neighbour->solicited = true;
    if (pl_neighbour_known(neighbour))
        return pl_ethernet_output(neighbour->netif, hardware_of(neighbour), type_ipv4, packet);
    if (packet->flags & PLUMB_PACKET_RETAINED)
        return PLUMB_ERROR_WOULD_BLOCK;
    if (neighbour->waiting)
        pl_drop(stack, PLUMB_COUNTER_arp_queue, neighbour->waiting);
    plumb_packet_hold(packet);
    neighbour->waiting = packet;
    return PLUMB_OK;
}

int pl_link_broadcast(struct plumb_netif *netif, struct plumb_packet *packet) {
    return pl_ethernet_output(netif, &broadcast, type_ipv4, packet);
}

/* The neighbour has answered, or spoken up when we knew no better. */
static void confirm(struct plumb *stack, struct pl_neighbour *neighbour,
                    const struct plumb_ethernet_address *hardware, bool reachable) {
    struct plumb_packet *waiting = neighbour->waiting;

    plumb_ethernet_copy(hardware_of(neighbour), hardware);
#ifndef __OPTIMIZE_SIZE__
    plumb_ethernet_copy(&neighbour->front.header.source, &neighbour->netif->address);
    neighbour->front.header.type = type_ipv4;
#endif
    neighbour->state = reachable ? PL_NEIGHBOUR_REACHABLE : PL_NEIGHBOUR_STALE;
    neighbour->changed_ms = stack->now_ms;
    neighbour->asked = 0;
    neighbour->waiting = NULL;
    if (waiting) {
        if (pl_ethernet_output(neighbour->netif, hardware_of(neighbour), type_ipv4, waiting) !=
            PLUMB_OK)
            pl_count(stack, PLUMB_COUNTER_arp_queue);
        plumb_packet_put(waiting);
    }
}

/* The next ticks ask a known neighbour whether it is still there. */
static void probe(struct pl_neighbour *neighbour) {
    neighbour->state = PL_NEIGHBOUR_PROBE;
    neighbour->asked = 0;
}

/* Someone else claims a known neighbour's address: whoever it was is asked whether
 * still there, and keeps it if so. If not the entry ends within seconds, and then
 * everybody is asked. So nobody takes an address by claiming it. */
static void take_claim(struct plumb *stack, struct pl_neighbour *neighbour) {
    pl_count(stack, PLUMB_COUNTER_arp_conflict);
    if (neighbour->state == PL_NEIGHBOUR_STALE)
        probe(neighbour);
}

/* Takes what a packet says of its sender. A stranger is learned from a request to
 * us, as it will want an answer. False when nothing was believed. */
static bool learn(struct plumb *stack, struct link_state *state, struct plumb_netif *netif,
                  const struct arp_packet *arp, bool for_us) {
    plumb_ipv4 sender = plumb_from_half(&arp->sender);
    bool answer = arp->operation.be == PLUMB_SWAP16(OPERATION_REPLY);
    struct pl_neighbour *neighbour = find(state, netif, sender);

    if (!neighbour && for_us && !answer && sender.be != 0)
        neighbour = add(stack, state, netif, sender, false);
    else if (!neighbour)
        return false;
    if (!neighbour)
        return true; /* answered, if not remembered */
    bool same = plumb_ethernet_equal(hardware_of(neighbour), &arp->sender_hardware);
    bool asked = neighbour->asked != 0;
    if (pl_neighbour_known(neighbour) && !same) {
        take_claim(stack, neighbour);
        return false;
    }
    if (neighbour->state == PL_NEIGHBOUR_REACHABLE)
        return true;
    if (answer && !asked && !same)
        return false;
    confirm(stack, neighbour, &arp->sender_hardware, answer && asked);
    return true;
}

bool pl_ipv4_is_host(plumb_ipv4 address) {
    uint32_t first = plumb_get32(address) >> 24;

    return first != 0 && first != 127 && first < 224;
}

static bool valid(const struct arp_packet *arp) {
    uint16_t operation = plumb_get16(arp->operation);

    return arp->hardware_type.be == PLUMB_SWAP16(1) && arp->protocol_type.be == type_ipv4.be &&
           arp->hardware_length == 6 && arp->protocol_length == 4 &&
           (operation == OPERATION_REQUEST || operation == OPERATION_REPLY) &&
           !(*(const uint8_t *)&arp->sender_hardware & 1) &&
           (arp->sender.be == 0 || pl_ipv4_is_host(plumb_from_half(&arp->sender)));
}

/* Another host claims our address: say once more whose it is, but not for ever
 * in answer to each other. */
static void defend(struct plumb *stack, struct link_state *state, struct plumb_netif *netif) {
    pl_count(stack, PLUMB_COUNTER_arp_conflict);
    if (state->defended && stack->now_ms - state->defended_ms < DEFENCE_MS)
        return;
    state->defended = true;
    state->defended_ms = stack->now_ms;
    announce(netif);
}

/* The first thing wrong with a packet, or -1. */
static int packet_fault(const struct plumb_netif *netif, const struct plumb_packet *packet,
                        const struct arp_packet *arp) {
    if (packet->length < sizeof *arp)
        return PLUMB_COUNTER_arp_short;
    if (!valid(arp))
        return PLUMB_COUNTER_arp_invalid;
    return netif->ipv4.be == 0 ? PLUMB_COUNTER_arp_not_for_us : -1;
}

void pl_arp_input(struct plumb *stack, void *state, struct plumb_netif *netif,
                  struct plumb_packet *packet) {
    const struct arp_packet *arp = (const void *)packet->data;
    int fault = packet_fault(netif, packet, arp);

    if (fault < 0 && arp->sender.be == netif->ipv4.be) {
        defend(stack, state, netif);
    } else if (fault < 0) {
        bool for_us = arp->target.be == netif->ipv4.be;
        bool learned = learn(stack, state, netif, arp, for_us);
        if (for_us && arp->operation.be == PLUMB_SWAP16(OPERATION_REQUEST))
            /* Also to a probe, which comes from nobody yet (RFC 5227 section 2.1.1). */
            send_arp(netif, OPERATION_REPLY, &arp->sender_hardware, &arp->sender_hardware,
                     plumb_from_half(&arp->sender));
        else if (!learned)
            fault = for_us || arp->target.be == arp->sender.be ? PLUMB_COUNTER_arp_unsolicited
                                                               : PLUMB_COUNTER_arp_not_for_us;
    }
    if (fault >= 0)
        pl_count(stack, (enum plumb_counter)fault);
    plumb_packet_put(packet);
}

/* A second of one neighbour's life. */
static void age(struct plumb *stack, struct pl_neighbour *neighbour) {
    uint32_t age_ms = stack->now_ms - neighbour->changed_ms;

    switch (neighbour->state) {
    case PL_NEIGHBOUR_INCOMPLETE:
    case PL_NEIGHBOUR_PROBE:
        if (neighbour->asked < REQUESTS_MOST)
            ask(neighbour);
        else
            free_neighbour(stack, neighbour);
        break;
    case PL_NEIGHBOUR_REACHABLE:
        if (age_ms < CONFIG_PLUMB_ARP_REACHABLE_MS)
            break;
        neighbour->state = PL_NEIGHBOUR_STALE;
        /* fall through */
    case PL_NEIGHBOUR_STALE:
        if (neighbour->used) {
            neighbour->used = false;
            probe(neighbour);
            ask(neighbour);
        } else if (age_ms >= FORGET_MS) {
            free_neighbour(stack, neighbour);
        }
        break;
    default:
        break;
    }
}

static void tick(struct plumb *stack, struct plumb_timer *timer) {
    struct link_state *state = state_of(stack);
    bool any = false;

    for (unsigned i = 0; i < CONFIG_PLUMB_ARP_ENTRIES; i++) {
        struct pl_neighbour *neighbour = &state->neighbours[i];
        if (neighbour->state == PL_NEIGHBOUR_FREE)
            continue;
        age(stack, neighbour);
        any |= neighbour->state != PL_NEIGHBOUR_FREE;
    }
    if (any)
        plumb_timer_start(stack, timer, TICK_MS, tick);
}

static void readdressed(struct plumb *stack, void *state, struct plumb_netif *netif,
                        plumb_ipv4 before) {
    struct link_state *own = state;

    (void)before;
    for (unsigned i = 0; i < CONFIG_PLUMB_ARP_ENTRIES; i++)
        if (own->neighbours[i].netif == netif)
            free_neighbour(stack, &own->neighbours[i]);
    if (netif->ipv4.be != 0)
        announce(netif);
    /* It will be wanted, and then by several at once. */
    if (netif->gateway.be != 0)
        pl_neighbour_resolve(stack, netif, netif->gateway);
}

const struct pl_layer pl_link_layer = {
    .state_size = sizeof(struct link_state),
    .readdressed = readdressed,
};
