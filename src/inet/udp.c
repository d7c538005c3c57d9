/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * UDP (RFC 768, RFC 1122 section 4.1): a small table of sockets.
 */
#include <plumb/udp.h>

#include "bytes/bytes.h"
#include "inet/fragment.h"
#include "inet/ports.h"
#include "inet/udp.h"
#include "packet/packet.h"

#if defined(PL_UDP_REMEMBERS_WAY) || defined(CONFIG_PLUMB_UDP_EXPECT)
#define READDRESSED
#endif

struct udp_state {
#ifdef CONFIG_PLUMB_UDP_EXPECT
    struct pl_udp_flow flow;
#endif
    struct plumb_udp sockets[CONFIG_PLUMB_UDP_SOCKETS];
};

/* The socket bound to exactly this address before one bound to any. */
static struct plumb_udp *find(struct udp_state *state, const struct plumb_netif *netif,
                              plumb_ipv4 address, uint16_t port) {
    struct plumb_udp *any = NULL;

    for (unsigned i = 0; i < CONFIG_PLUMB_UDP_SOCKETS; i++) {
        struct plumb_udp *socket = &state->sockets[i];
        if (!socket->handler || socket->local.port != port ||
            (socket->only && netif && socket->only != netif))
            continue;
        if (socket->local.address.be == address.be)
            return socket;
        if (socket->local.address.be == 0)
            any = socket;
    }
    return any;
}

static bool checksum_passes(const struct pl_ipv4_header *ip, const struct pl_udp_header *header,
                            const struct plumb_packet *packet) {
    if (header->checksum.be == 0 || packet->flags & PLUMB_PACKET_CHECKSUM_GOOD)
        return true;
    uint32_t pseudo = pl_sum_pseudo(pl_sum_addresses(ip->source.be, ip->destination.be),
                                    PL_PROTOCOL_UDP, packet->total);
    return pl_fold(pseudo + pl_packet_sum(packet)) == 0xffff;
}

/* The first thing wrong with a datagram, or -1; trims what is behind it. */
static int datagram_fault(const struct pl_ipv4_header *ip, struct plumb_packet *packet) {
    const struct pl_udp_header *header = (const void *)packet->data;

    if (packet->length < sizeof *header)
        return PLUMB_COUNTER_udp_short;
    unsigned length = plumb_get16(header->length);
    if (length < sizeof *header || length > packet->total)
        return PLUMB_COUNTER_udp_length;
    if (length < packet->total)
        plumb_packet_trim_to(packet, length);
    return checksum_passes(ip, header, packet) ? -1 : PLUMB_COUNTER_udp_checksum;
}

#ifdef CONFIG_PLUMB_UDP_EXPECT

/* A datagram was found to be for this socket: the next one that is like it may be taken at
 * the first look. */
static inline void expect_more(struct udp_state *state, struct plumb_udp *socket,
                               const struct plumb_udp_source *source,
                               const struct pl_ipv4_header *ip, const struct plumb_packet *packet) {
    const uint32_t first = plumb_put32(0xffff0000).be;
    const pl_header_word *word = (const void *)ip;
    const pl_header_word *ports = (const void *)packet->data;
    struct plumb_netif *netif = source->netif;
    struct pl_udp_flow *flow = &state->flow;

    if (netif->observer || source->to.be != netif->ipv4.be ||
        packet->flags & PLUMB_PACKET_BROADCAST || !pl_ipv4_expected(ip, PL_PROTOCOL_UDP))
        return;
    pl_forget_flows(socket->stack); /* there is one flow, whatever the interface */
    *flow = (struct pl_udp_flow){
        .socket = socket,
        .source = *source,
        .ip = {word[0].be & first, word[1].be & ~first, word[2].be & first},
        .ports = ports->be,
    };
    const uint32_t addresses = pl_sum_addresses(source->from.address.be, source->to.be);
    flow->ip_sum = addresses + pl_first_half_of(flow->ip[0]) + pl_second_half_of(flow->ip[1]) +
                   pl_first_half_of(flow->ip[2]);
    flow->pseudo_sum = addresses + PLUMB_SWAP16(PL_PROTOCOL_UDP) + pl_words_fold(flow->ports);
    netif->expected_flow = flow;
}

#else

static inline void expect_more(struct udp_state *state, struct plumb_udp *socket,
                               const struct plumb_udp_source *source,
                               const struct pl_ipv4_header *ip, const struct plumb_packet *packet) {
    (void)state;
    (void)socket;
    (void)source;
    (void)ip;
    (void)packet;
}

#endif

void pl_udp_input(struct plumb *stack, void *state, struct plumb_netif *netif,
                  const struct pl_ipv4_header *ip, struct plumb_packet *packet) {
    const struct pl_udp_header *header = (const void *)packet->data;
    int fault = datagram_fault(ip, packet);

    if (fault >= 0) {
        pl_drop(stack, (enum plumb_counter)fault, packet);
        return;
    }
    struct plumb_udp_source source = {
        .from = {pl_net32_get(ip->source), plumb_get16(header->source)},
        .to = pl_net32_get(ip->destination),
        .netif = netif,
    };
    struct plumb_udp *socket = find(state, netif, source.to, plumb_get16(header->destination));
    if (!socket) {
        pl_icmp_unreachable(stack, netif, PL_ICMP_UNREACHABLE_PORT, ip, packet);
        pl_drop(stack, PLUMB_COUNTER_udp_port, packet);
        return;
    }
    expect_more(state, socket, &source, ip, packet);
    pl_packet_pull(packet, sizeof *header);
    socket->handler(socket, packet, &source, socket->context);
    plumb_packet_put(packet);
}

bool pl_udp_error(struct plumb *stack, void *state, const struct pl_ipv4_header *quoted,
                  const void *payload, int error, unsigned mtu) {
    const struct pl_udp_header *header = payload;
    struct plumb_udp *socket =
        find(state, NULL, pl_net32_get(quoted->source), plumb_get16(header->source));
    const struct plumb_endpoint to = {pl_net32_get(quoted->destination),
                                      plumb_get16(header->destination)};

    (void)stack;
    (void)mtu;
    if (!socket)
        return false;
    if (socket->failed)
        socket->failed(socket, to, error, socket->context);
    return true;
}

static bool port_in_use(void *state, uint16_t port) {
    struct udp_state *own = state;

    for (unsigned i = 0; i < CONFIG_PLUMB_UDP_SOCKETS; i++)
        if (own->sockets[i].handler && own->sockets[i].local.port == port)
            return true;
    return false;
}

int plumb_udp_open(struct plumb *stack, struct plumb_endpoint local, plumb_udp_handler *handler,
                   void *context, struct plumb_udp **out) {
    struct udp_state *state = pl_layer_state(stack, &pl_udp_layer);
    struct plumb_udp *socket = state->sockets;

    if (!handler)
        return PLUMB_ERROR_INVALID;
    if (local.port == 0)
        local.port = pl_port_choose(plumb_random(stack), port_in_use, state);
    for (unsigned i = 0; i < CONFIG_PLUMB_UDP_SOCKETS; i++)
        if (state->sockets[i].handler && state->sockets[i].local.port == local.port &&
            state->sockets[i].local.address.be == local.address.be)
            return PLUMB_ERROR_IN_USE;
    while (socket < state->sockets + CONFIG_PLUMB_UDP_SOCKETS && socket->handler)
        socket++;
    if (socket == state->sockets + CONFIG_PLUMB_UDP_SOCKETS || local.port == 0)
        return PLUMB_ERROR_NO_CONNECTION;
    pl_forget_flows(stack); /* it may be more to the point than another */
    *socket =
        (struct plumb_udp){.stack = stack, .handler = handler, .context = context, .local = local};
    *out = socket;
    return PLUMB_OK;
}

void plumb_udp_close(struct plumb_udp *socket) {
    socket->handler = NULL;
    pl_forget_flows(socket->stack);
}

void plumb_udp_set_error_handler(struct plumb_udp *socket, plumb_udp_error_handler *handler) {
    socket->failed = handler;
}

uint16_t plumb_udp_port(const struct plumb_udp *socket) {
    return socket->local.port;
}

/* Payload that a buffer holds behind the headers. */
static size_t longest_taken(const struct plumb_udp *socket) {
    return socket->stack->options.segments->capacity - (size_t)PL_HEADROOM;
}

struct plumb_packet *plumb_udp_take(struct plumb_udp *socket, size_t length) {
    if (length > longest_taken(socket))
        return NULL;
    struct plumb_packet *packet = plumb_packet_take(socket->stack->options.segments, PL_HEADROOM);
    if (packet)
        packet->length = packet->total = (uint16_t)length;
    return packet;
}

/* Writes a header for what is `behind` bytes long with the sum `sum`. */
static inline void write_header(const struct plumb_udp *socket, pl_header_word *word,
                                plumb_ipv4 source, struct plumb_endpoint to, uint32_t behind,
                                uint32_t sum, bool offload) {
    const uint32_t total = PL_UDP_HEADER + behind;
    const uint32_t ports = plumb_put32((uint32_t)socket->local.port << 16 | to.port).be;
    const uint32_t length = plumb_put32(total << 16).be;
    uint16_t checksum = 0;

    if (!offload) {
        sum += pl_sum_pseudo(pl_sum_addresses(source.be, to.address.be), PL_PROTOCOL_UDP,
                             (uint16_t)total) +
               pl_words_fold(pl_words_add(ports, length));
        checksum = (uint16_t)~pl_fold(sum);
        /* A sum of zero goes out as all ones: zero means there is none. */
        if (!checksum)
            checksum = 0xffff;
    }
    word[0].be = ports;
    word[1].be = length | pl_second_half(checksum);
}

static uint32_t payload_sum(const struct plumb_packet *packet, bool offload) {
    if (offload)
        return 0;
    return packet->flags & PLUMB_PACKET_SUMMED ? packet->sum : pl_packet_sum(packet);
}

static void push_header(const struct plumb_udp *socket, plumb_ipv4 source, struct plumb_endpoint to,
                        struct plumb_packet *packet, bool offload) {
    uint32_t sum = payload_sum(packet, offload), behind = packet->total;

    write_header(socket, pl_packet_push(packet, PL_UDP_HEADER), source, to, behind, sum, offload);
    if (offload)
        packet->flags |= PLUMB_PACKET_CHECKSUM_OFFLOAD;
}

static plumb_ipv4 source_of(const struct plumb_udp *socket, const struct pl_route *route) {
    return socket->local.address.be ? socket->local.address : route->netif->ipv4;
}

#ifdef PL_UDP_REMEMBERS_WAY

/* The next datagram may go the same way. What ends that by a change of routes is told by
 * readdressed(). */
static void remember_way(struct plumb_udp *socket, plumb_ipv4 remote,
                         const struct pl_route *route) {
    if (route->broadcast)
        return;
    socket->remote = remote;
    socket->next_hop = route->next_hop;
    socket->netif = route->netif;
    socket->neighbour = pl_neighbour_resolve(socket->stack, route->netif, route->next_hop);
}

static inline bool knows_way(const struct plumb_udp *socket, plumb_ipv4 remote,
                             const struct plumb_packet *packet) {
    const struct pl_neighbour *neighbour = socket->neighbour;

    return neighbour && socket->remote.be == remote.be &&
           neighbour->address.be == socket->next_hop.be && neighbour->netif == socket->netif &&
           pl_neighbour_has_front(neighbour) && ((uintptr_t)packet->data & 3) == 0 &&
           packet->total + PL_UDP_HEADER + PL_IPV4_HEADER <= socket->netif->mtu;
}

/* All three headers at once. */
static int send_same_way(struct plumb_udp *socket, struct plumb_endpoint to,
                         struct plumb_packet *packet) {
    struct plumb_netif *netif = socket->netif;
    bool offload = netif->capabilities & PLUMB_CAPABILITY_TX_CHECKSUM;
    plumb_ipv4 source = socket->local.address.be ? socket->local.address : netif->ipv4;
    pl_header_word *word = (void *)(packet->data - PL_UDP_HEADER);
    uint32_t behind = packet->total;

    write_header(socket, word, source, to, behind, payload_sum(packet, offload), offload);
    if (offload)
        packet->flags |= PLUMB_PACKET_CHECKSUM_OFFLOAD;
    word -= PL_IPV4_HEADER / 4;
    pl_ipv4_write_header(word, PL_IPV4_HEADER + PL_UDP_HEADER + behind, PL_PROTOCOL_UDP, source,
                         to.address, pl_sum_addresses(source.be, to.address.be));
    pl_packet_push(packet, PL_UDP_HEADER + PL_IPV4_HEADER + PL_ETHERNET_HEADER);
    return pl_link_send_front(socket->neighbour, packet, word);
}

static void forget_way(struct plumb_udp *socket) {
    socket->neighbour = NULL;
}

#else

static inline void remember_way(const struct plumb_udp *socket, plumb_ipv4 remote,
                                const struct pl_route *route) {
    (void)socket;
    (void)remote;
    (void)route;
}

static inline bool knows_way(const struct plumb_udp *socket, plumb_ipv4 remote,
                             const struct plumb_packet *packet) {
    (void)socket;
    (void)remote;
    (void)packet;
    return false;
}

static inline int send_same_way(const struct plumb_udp *socket, struct plumb_endpoint to,
                                const struct plumb_packet *packet) {
    (void)socket;
    (void)to;
    (void)packet;
    return PLUMB_ERROR_NO_ROUTE;
}

static inline void forget_way(const struct plumb_udp *socket) {
    (void)socket;
}

#endif

void plumb_udp_restrict(struct plumb_udp *socket, struct plumb_netif *netif) {
    socket->only = netif;
    pl_forget_flows(socket->stack);
    forget_way(socket);
}

static int send_any_way(struct plumb_udp *socket, struct plumb_endpoint to,
                        struct plumb_packet *packet) {
    struct plumb *stack = socket->stack;
    struct pl_route route;

    if (!pl_route_find(stack, socket->only, to.address, &route))
        return PLUMB_ERROR_NO_ROUTE;
    plumb_ipv4 source = source_of(socket, &route);
    bool offload = route.netif->capabilities & PLUMB_CAPABILITY_TX_CHECKSUM;
#ifdef CONFIG_PLUMB_IPV4_FRAGMENTS
    /* A device sums only what it is given at once. */
    offload &= pl_ipv4_fits(&route, packet->total + PL_UDP_HEADER);
#endif
    push_header(socket, source, to, packet, offload);
    int result = pl_ipv4_send(stack, &route, packet, PL_PROTOCOL_UDP, source, to.address);
    if (result == PLUMB_OK)
        remember_way(socket, to.address, &route);
    return result;
}

#ifdef READDRESSED

static void readdressed(struct plumb *stack, void *state, struct plumb_netif *netif,
                        plumb_ipv4 before) {
    struct udp_state *own = state;

    (void)netif;
    (void)before;
    pl_forget_flows(stack);
    for (unsigned i = 0; i < CONFIG_PLUMB_UDP_SOCKETS; i++)
        forget_way(&own->sockets[i]);
}

#endif

int plumb_udp_send_packet(struct plumb_udp *socket, struct plumb_endpoint to,
                          struct plumb_packet *packet) {
    int result = knows_way(socket, to.address, packet) ? send_same_way(socket, to, packet)
                                                       : send_any_way(socket, to, packet);

    plumb_packet_put(packet);
    pl_settle(socket->stack);
    return result;
}

/* Of few that are left to receive with none is sent from: a device that sends slowly would
 * keep them. */
static inline bool spares_buffers(const struct plumb_pool *pool) {
    return pool->free_count >= pool->count / 4;
}

/* May a received datagram's buffer be written to and sent from? Not while somebody else holds
 * it. */
static inline bool may_turn(const struct plumb_packet *payload) {
    return payload->references == 1 && spares_buffers(payload->pool) &&
           payload->data - payload->owner.memory >=
               PL_UDP_HEADER + PL_IPV4_HEADER + PL_ETHERNET_HEADER;
}

#if defined(PL_UDP_REMEMBERS_WAY) && defined(CONFIG_PLUMB_UDP_EXPECT)

/* The way back has become known: all that is the same in each reply is prepared. The
 * interface must leave nothing in a cache of what is written: all of it is sent. */
static __attribute__((noinline)) bool learn_reply(const struct plumb_udp *socket,
                                                  const struct plumb_packet *payload,
                                                  struct pl_udp_flow *flow) {
    const struct plumb_udp_source *source = &flow->source;
    struct plumb_netif *netif = source->netif;
    pl_header_word header[PL_IPV4_HEADER / 4];

    if (flow->turn_below || socket->netif != netif || netif->landing != PLUMB_LANDING_OFFSET ||
        netif->capabilities != PLUMB_CAPABILITY_TX_WRITES_BACK ||
        !knows_way(socket, source->from.address, payload))
        return false;
    pl_ipv4_write_header(header, 0, PL_PROTOCOL_UDP, source->to, source->from.address,
                         pl_sum_addresses(source->from.address.be, source->to.be));
    flow->reply_sum = (uint16_t)~pl_second_half_of(header[2].be);
    for (unsigned i = 0; i < 4; i++)
        flow->reply.word[i] = header[i + 1].be;
    flow->reply.word[4] = flow->ports >> 16 | flow->ports << 16;
    flow->neighbour = socket->neighbour;
    flow->turn_below = netif->mtu - (PL_IPV4_HEADER + PL_UDP_HEADER) + 1U;
    return payload->total < flow->turn_below;
}

_Static_assert(offsetof(struct pl_udp_flow, source) == 0, "a flow begins with its source");

/* The flow of a datagram that may go back under its own checksum, or null. Nothing of that
 * changes when both ends change their places. What can have happened since the first look is
 * asked here; whatever ends a flow has taken it off its interface. */
static inline struct pl_udp_flow *flow_to_turn(const struct plumb_udp *socket,
                                               const struct plumb_packet *payload,
                                               const struct plumb_udp_source *source) {
    struct pl_udp_flow *flow = source->netif->expected_flow;

    if ((const void *)source != flow || socket != flow->socket)
        return NULL;
    if (payload->references != 1 || payload->flags != PLUMB_PACKET_SUMMED || payload->dirty ||
        payload->mark != payload->total || !spares_buffers(payload->pool))
        return NULL;
    return payload->total < flow->turn_below || learn_reply(socket, payload, flow) ? flow : NULL;
}

/* Its IPv4 length, and all of its UDP header but the ports, stay as they came. */
static inline int turn_round(struct pl_udp_flow *flow, struct plumb_packet *payload) {
    struct plumb_netif *netif = flow->source.netif;
    uint8_t *network = payload->data - (PL_UDP_HEADER + PL_IPV4_HEADER);
    struct pl_ipv4_header *ip = (void *)network;
    const uint32_t total = payload->total + PL_UDP_HEADER + PL_IPV4_HEADER + PL_ETHERNET_HEADER;

    payload->flags = 0;
    payload->total = (uint16_t)total;
    ip->service = 0;
    *(struct pl_udp_reply_words *)(void *)(network + 4) = flow->reply;
    ip->checksum.be = (uint16_t)~pl_fold(flow->reply_sum + ip->total_length.be);
    payload->length = (uint16_t)total; /* not beside total: a compiler would join them */
    payload->data = network - PL_ETHERNET_HEADER;
    pl_link_write_front(flow->neighbour, network);
    int result = netif->driver->transmit(netif, payload); /* that nobody observes */
    if (result != PLUMB_OK)
        payload->dirty = true;
    return result;
}

#endif

static int reply_by_copy(struct plumb_udp *socket, const struct plumb_packet *payload,
                         struct plumb_endpoint to) {
    struct plumb_packet *packet = plumb_udp_take(socket, payload->total);

    if (!packet)
        return payload->total > longest_taken(socket) ? PLUMB_ERROR_TOO_LONG
                                                      : PLUMB_ERROR_NO_BUFFER;
    plumb_packet_copy_out(payload, 0, packet->data, payload->total);
    return plumb_udp_send_packet(socket, to, packet);
}

static __attribute__((noinline)) int reply_any_way(struct plumb_udp *socket,
                                                   struct plumb_packet *payload,
                                                   const struct plumb_udp_source *source) {
    if (!may_turn(payload))
        return reply_by_copy(socket, payload, source->from);
    payload->dirty = true;
    payload->flags = 0;
    int result = send_any_way(socket, source->from, payload);
    pl_settle(socket->stack);
    return result;
}

int plumb_udp_reply(struct plumb_udp *socket, struct plumb_packet *payload,
                    const struct plumb_udp_source *source) {
#if defined(PL_UDP_REMEMBERS_WAY) && defined(CONFIG_PLUMB_UDP_EXPECT)
    struct pl_udp_flow *flow = flow_to_turn(socket, payload, source);

    if (flow) {
        int result = turn_round(flow, payload);
        if (!socket->stack->settling)
            pl_settle(socket->stack);
        return result;
    }
#endif
    return reply_any_way(socket, payload, source);
}

#ifdef CONFIG_PLUMB_IPV4_FRAGMENTS

/* More than a buffer holds: sent in fragments, each copied from where the payload lies,
 * which a descriptor stands for that nobody keeps. */
static int send_long(struct plumb_udp *socket, struct plumb_endpoint to, const void *payload,
                     size_t length) {
    struct plumb *stack = socket->stack;
    struct plumb_packet lent = {.data = (uint8_t *)(uintptr_t)payload};
    struct pl_route route;

    if (length > PL_IPV4_PAYLOAD_MOST - PL_UDP_HEADER)
        return PLUMB_ERROR_TOO_LONG;
    if (!pl_route_find(stack, socket->only, to.address, &route))
        return PLUMB_ERROR_NO_ROUTE;
    struct plumb_packet *packet = plumb_packet_take(stack->options.headers, PL_HEADROOM);
    if (!packet)
        return PLUMB_ERROR_NO_BUFFER;
    plumb_ipv4 source = source_of(socket, &route);
    lent.length = lent.total = packet->total = (uint16_t)length;
    packet->more = &lent;
    push_header(socket, source, to, packet, false);
    int result = pl_fragment_send(stack, &route, packet, PL_PROTOCOL_UDP, source, to.address);
    packet->more = NULL;
    plumb_packet_put(packet);
    pl_settle(stack);
    return result;
}

#else

static int send_long(struct plumb_udp *socket, struct plumb_endpoint to, const void *payload,
                     size_t length) {
    (void)socket;
    (void)to;
    (void)payload;
    (void)length;
    return PLUMB_ERROR_TOO_LONG;
}

#endif

int plumb_udp_send(struct plumb_udp *socket, struct plumb_endpoint to, const void *payload,
                   size_t length) {
    if (length > longest_taken(socket))
        return send_long(socket, to, payload, length);
    struct plumb_packet *packet = plumb_udp_take(socket, length);
    if (!packet)
        return PLUMB_ERROR_NO_BUFFER;
    packet->sum = pl_copy_sum(packet->data, payload, length);
    packet->flags = PLUMB_PACKET_SUMMED;
    return plumb_udp_send_packet(socket, to, packet);
}

const struct pl_layer pl_udp_layer = {
    .state_size = sizeof(struct udp_state),
#ifdef READDRESSED
    .readdressed = readdressed,
#endif
};
