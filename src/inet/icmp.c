/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * ICMP (RFC 792, RFC 1122 section 3.2.2): echo, unreachable messages, and
 * errors about what we sent. Redirects and the rest are counted and ignored.
 * One budget a second bounds all that we send.
 */
#include "bytes/bytes.h"
#include "inet/ipv4.h"
#include "packet/packet.h"

enum {
    TYPE_ECHO_REPLY = 0,
    TYPE_UNREACHABLE = PL_ICMP_UNREACHABLE,
    TYPE_ECHO = 8,
    TYPE_TIME_EXCEEDED = 11,
    TYPE_PARAMETER = 12,
};

#define CODE_FRAGMENTATION_NEEDED 4
#define CODE_REASSEMBLY           1
#define QUOTED_PAYLOAD            8

struct icmp_header {
    uint8_t type;
    uint8_t code;
    plumb_be16 checksum;
    plumb_be16 identifier;
    plumb_be16 sequence;
};

struct inet_state {
    uint32_t second_began_ms;
    uint32_t sent_in_second;
};

/* May one more message be sent in this second? */
static bool within_rate(struct plumb *stack) {
    struct inet_state *state = pl_layer_state(stack, &pl_inet_layer);

    if (stack->now_ms - state->second_began_ms >= 1000) {
        state->second_began_ms = stack->now_ms;
        state->sent_in_second = 0;
    }
    if (state->sent_in_second >= CONFIG_PLUMB_ICMP_RATE) {
        pl_count(stack, PLUMB_COUNTER_icmp_limited);
        return false;
    }
    state->sent_in_second++;
    return true;
}

static void send_to(struct plumb *stack, struct plumb_netif *netif, struct plumb_packet *packet,
                    plumb_ipv4 to) {
    struct pl_route route;

    if (!pl_route_find(stack, netif, to, &route))
        pl_count(stack, PLUMB_COUNTER_ipv4_no_route);
    else if (pl_ipv4_send(stack, &route, packet, PL_PROTOCOL_ICMP, netif->ipv4, to) != PLUMB_OK)
        pl_count(stack, PLUMB_COUNTER_ipv4_no_buffer);
}

/* The request becomes the reply where it lies: only the type and the addresses
 * change. */
static void answer_echo(struct plumb *stack, struct plumb_netif *netif,
                        const struct pl_ipv4_header *header, struct plumb_packet *packet) {
    struct icmp_header *icmp = (void *)packet->data;
    plumb_ipv4 to = pl_net32_get(header->source);

    pl_count(stack, PLUMB_COUNTER_icmp_echo);
    if (within_rate(stack)) {
        packet->dirty = true;
        icmp->type = TYPE_ECHO_REPLY;
        icmp->checksum.be = pl_checksum_replace(icmp->checksum.be, PLUMB_SWAP16(TYPE_ECHO << 8), 0);
        /* 0 and 0xffff are the same number, but over a message of zeroes only the
         * latter verifies, and it does everywhere. */
        if (icmp->checksum.be == 0)
            icmp->checksum.be = 0xffff;
        packet->flags = 0;
        send_to(stack, netif, packet, to);
    }
    plumb_packet_put(packet);
}

/* A message about a packet of ours: to the protocol that sent it. The last field of one that
 * asks for fragments is the next link's MTU (RFC 1191 section 4). */
static void take_error(struct plumb *stack, int error, struct plumb_netif *netif,
                       struct plumb_packet *packet) {
    const struct icmp_header *icmp = (const void *)packet->data;
    const struct pl_ipv4_header *quoted = (const void *)(packet->data + sizeof(struct icmp_header));
    unsigned room = packet->length - (unsigned)sizeof(struct icmp_header);
    unsigned header_length = 0;
    const struct pl_protocol *protocol = NULL;

    if (room >= PL_IPV4_HEADER)
        header_length = (quoted->version_length & 15U) * 4;
    if (header_length >= PL_IPV4_HEADER && room >= header_length + QUOTED_PAYLOAD &&
        quoted->version_length >> 4 == 4 && quoted->source.be == netif->ipv4.be)
        protocol = pl_protocol_find(quoted->protocol);
    if (protocol && protocol->error &&
        protocol->error(stack, stack->states[protocol->layer], quoted,
                        (const uint8_t *)quoted + header_length, error,
                        plumb_get16(icmp->sequence)))
        plumb_packet_put(packet);
    else
        pl_drop(stack, PLUMB_COUNTER_icmp_quote, packet);
}

/* Why something of ours did not get there. */
static int error_of(uint8_t code) {
    switch (code) {
    case CODE_FRAGMENTATION_NEEDED:
        return PLUMB_ERROR_TOO_LONG;
    case PL_ICMP_UNREACHABLE_PORT:
        return PLUMB_ERROR_REFUSED;
    default:
        return PLUMB_ERROR_UNREACHABLE;
    }
}

void pl_icmp_input(struct plumb *stack, void *state, struct plumb_netif *netif,
                   const struct pl_ipv4_header *header, struct plumb_packet *packet) {
    const struct icmp_header *icmp = (const void *)packet->data;

    (void)state;
    if (packet->length < sizeof *icmp) {
        pl_drop(stack, PLUMB_COUNTER_icmp_short, packet);
    } else if (pl_packet_sum(packet) != 0xffff) {
        pl_drop(stack, PLUMB_COUNTER_icmp_checksum, packet);
    } else if (packet->flags & PLUMB_PACKET_BROADCAST) {
        pl_drop(stack, PLUMB_COUNTER_icmp_broadcast, packet);
    } else if (icmp->type == TYPE_ECHO && icmp->code == 0) {
        answer_echo(stack, netif, header, packet);
    } else if (icmp->type == TYPE_UNREACHABLE) {
        take_error(stack, error_of(icmp->code), netif, packet);
    } else if (icmp->type == TYPE_TIME_EXCEEDED) {
        take_error(stack, PLUMB_ERROR_TIMED_OUT, netif, packet);
    } else {
        pl_drop(stack, PLUMB_COUNTER_icmp_type, packet);
    }
}

/* Errors are never sent about errors, broadcasts or anything but a first
 * fragment; other fragments and doubtful sources do not get here. */
static void send_error(struct plumb *stack, struct plumb_netif *netif, uint8_t type, uint8_t code,
                       const struct pl_ipv4_header *header, const struct plumb_packet *packet) {
    unsigned header_length = (header->version_length & 15U) * 4;
    unsigned quoted = packet->length < QUOTED_PAYLOAD ? packet->length : QUOTED_PAYLOAD;

    if (packet->flags & PLUMB_PACKET_BROADCAST || !within_rate(stack))
        return;
    struct plumb_packet *message = plumb_packet_take(stack->options.segments, PL_HEADROOM);
    if (!message) {
        pl_count(stack, PLUMB_COUNTER_ipv4_no_buffer);
        return;
    }
    struct icmp_header *icmp = (void *)message->data;
    message->length = message->total = (uint16_t)(sizeof *icmp + header_length + quoted);
    *icmp = (struct icmp_header){type, code, {0}, {0}, {0}};
    pl_copy(icmp + 1, header, header_length + quoted);
    icmp->checksum.be = (uint16_t)~pl_sum(icmp, message->length);
    send_to(stack, netif, message, pl_net32_get(header->source));
    plumb_packet_put(message);
}

void pl_icmp_unreachable(struct plumb *stack, struct plumb_netif *netif, uint8_t code,
                         const struct pl_ipv4_header *header, const struct plumb_packet *packet) {
    send_error(stack, netif, TYPE_UNREACHABLE, code, header, packet);
}

/* Nothing is said about a message of ICMP: it may be an error itself. */
void pl_icmp_time_exceeded(struct plumb *stack, struct plumb_netif *netif,
                           const struct pl_ipv4_header *header, const struct plumb_packet *packet) {
    if (header->protocol != PL_PROTOCOL_ICMP)
        send_error(stack, netif, TYPE_TIME_EXCEEDED, CODE_REASSEMBLY, header, packet);
}

const struct pl_layer pl_inet_layer = {
    .state_size = sizeof(struct inet_state),
};
