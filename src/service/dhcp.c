/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The DHCP client (RFC 2131 section 4.4, RFC 2132), over the public API.
 *
 *   SELECTING --OFFER--> REQUESTING --ACK--> BOUND --T1--> RENEWING --T2--> REBINDING
 *       ^                    |NAK, silence     ^------ACK-----|------ACK------|
 *       +--------------------+<----------------NAK, end of the lease----------+
 *
 * While it has no lease it asks again and again, and after the patience runs out
 * the fallback address is used meanwhile. It asks for answers by broadcast, as it
 * cannot take any other before it has an address.
 */
#include <plumb/dhcp.h>
#include <plumb/error.h>
#include <plumb/stack.h>

#ifdef CONFIG_PLUMB_DHCP

enum { SELECTING, REQUESTING, BOUND, RENEWING, REBINDING };

enum { DISCOVER = 1, OFFER, REQUEST, DECLINE, ACK, NAK, RELEASE };

enum {
    OPTION_PAD = 0,
    OPTION_NETMASK = 1,
    OPTION_ROUTER = 3,
    OPTION_NAME_SERVER = 6,
    OPTION_REQUESTED_ADDRESS = 50,
    OPTION_LEASE = 51,
    OPTION_TYPE = 53,
    OPTION_SERVER = 54,
    OPTION_PARAMETERS = 55,
    OPTION_RENEW = 58,
    OPTION_REBIND = 59,
    OPTION_END = 255,
};

#define CLIENT_PORT 68
#define SERVER_PORT 67
/* The shortest message that old relays let through, and the longest that every
 * client must take: 576 bytes less the headers. */
#define SHORTEST 300
#define LONGEST  548
#define COOKIE   0x63825363
/* No lease is trusted for longer, so that milliseconds fit 31 bits. */
#define LONGEST_LEASE_S  2000000U
#define SHORTEST_RETRY_S 60U

/* The options that hold a number or an address, first 4 bytes of each. */
static const uint8_t kept_options[] = {OPTION_NETMASK, OPTION_ROUTER, OPTION_NAME_SERVER,
                                       OPTION_LEASE,   OPTION_RENEW,  OPTION_REBIND,
                                       OPTION_SERVER};
enum { NETMASK, ROUTER, NAME_SERVER, LEASE, RENEW, REBIND, SERVER, KEPT };

/* What an answer says; options not given are 0. */
struct answer {
    uint8_t type;
    uint32_t address;
    uint32_t option[KEPT];
};

/* RFC 2131 figure 1, on a word in every buffer that it is built in or copied to. */
struct message {
    uint8_t operation, hardware_type, hardware_length, hops;
    plumb_be32 transaction;
    plumb_be16 seconds, flags;
    plumb_be32 client, yours, server, relay;
    struct plumb_ethernet_address hardware;
    uint8_t unused[202];
    plumb_be32 cookie;
    uint8_t options[LONGEST - 240];
};
_Static_assert(sizeof(struct message) == LONGEST, "DHCP message");

/* ---- sending ---- */

static uint8_t *put_option(uint8_t *to, uint8_t option, plumb_ipv4 value) {
    to[0] = option;
    to[1] = 4;
    plumb_put32_any((void *)(to + 2), plumb_get32(value));
    return to + 6;
}

static void fill_fixed(const struct plumb_dhcp *dhcp, struct message *message) {
    bool renewing = dhcp->state >= BOUND;

    for (unsigned i = 0; i < SHORTEST; i++)
        ((uint8_t *)message)[i] = 0;
    message->operation = 1; /* BOOTREQUEST */
    message->hardware_type = 1;
    message->hardware_length = 6;
    message->transaction = plumb_put32(dhcp->transaction);
    message->seconds =
        plumb_put16((uint16_t)((plumb_now_ms(dhcp->stack) - dhcp->started_ms) / 1000));
    if (renewing)
        message->client = dhcp->netif->ipv4;
    else
        message->flags = plumb_put16(0x8000); /* answer by broadcast */
    plumb_ethernet_copy(&message->hardware, &dhcp->netif->address);
    message->cookie = plumb_put32(COOKIE);
}

static void fill_options(const struct plumb_dhcp *dhcp, uint8_t type, uint8_t *option) {
    const unsigned wanted = SERVER; /* all that come before it */

    *option++ = OPTION_TYPE;
    *option++ = 1;
    *option++ = type;
    if (dhcp->state == REQUESTING) {
        option = put_option(option, OPTION_REQUESTED_ADDRESS, dhcp->offered);
        option = put_option(option, OPTION_SERVER, dhcp->server);
    }
    *option++ = OPTION_PARAMETERS;
    *option++ = (uint8_t)wanted;
    for (unsigned i = 0; i < wanted; i++)
        *option++ = kept_options[i];
    *option = OPTION_END;
}

/* A message for the caller to give its options; null is as good as lost. */
static struct plumb_packet *begin_message(struct plumb_dhcp *dhcp) {
    struct plumb_packet *packet = plumb_udp_take(dhcp->socket, SHORTEST);

    if (packet)
        fill_fixed(dhcp, (void *)packet->data);
    else
        dhcp->unsent++;
    return packet;
}

static void send(struct plumb_dhcp *dhcp, uint8_t type) {
    struct plumb_packet *packet = begin_message(dhcp);
    struct plumb_endpoint to = {PLUMB_IPV4_BROADCAST, SERVER_PORT};

    if (!packet)
        return;
    if (dhcp->state == RENEWING)
        to.address = dhcp->server;
    fill_options(dhcp, type, ((struct message *)(void *)packet->data)->options);
    plumb_udp_send_packet(dhcp->socket, to, packet);
}

/* By itself, for a firmware that never stops its client does not need it. */
static void send_release(struct plumb_dhcp *dhcp) {
    struct plumb_packet *packet = begin_message(dhcp);
    struct plumb_endpoint to = {dhcp->server, SERVER_PORT};

    if (!packet)
        return;
    uint8_t *option = ((struct message *)(void *)packet->data)->options;
    *option++ = OPTION_TYPE;
    *option++ = 1;
    *option++ = RELEASE;
    option = put_option(option, OPTION_SERVER, dhcp->server);
    *option = OPTION_END;
    plumb_udp_send_packet(dhcp->socket, to, packet);
}

/* ---- states and time ---- */

static void on_timer(struct plumb *stack, struct plumb_timer *timer);

static void tell(struct plumb_dhcp *dhcp) {
    if (dhcp->options.handler)
        dhcp->options.handler(dhcp, dhcp->options.context);
}

/* Sends again after 1, 2, 4 ... 64 s, give or take half a second, and when the
 * patience runs out. */
static void wait_backed_off(struct plumb_dhcp *dhcp) {
    unsigned shift = dhcp->tries < 6 ? dhcp->tries : 6;
    uint32_t delay_ms = (1000U << shift) - 512 + (plumb_random(dhcp->stack) & 1023);
    uint32_t left_ms = dhcp->started_ms + dhcp->options.patience_ms - plumb_now_ms(dhcp->stack);

    if (left_ms - 1 < delay_ms) /* not when it is 0 or past */
        delay_ms = left_ms;
    else
        dhcp->tries++;
    plumb_timer_start(dhcp->stack, &dhcp->timer, delay_ms, on_timer);
}

static void begin_exchange(struct plumb_dhcp *dhcp, uint8_t state) {
    dhcp->state = state;
    dhcp->tries = 0;
    if (state != REQUESTING)
        dhcp->transaction = plumb_random(dhcp->stack);
}

static void discover(struct plumb_dhcp *dhcp) {
    if (dhcp->state != SELECTING)
        begin_exchange(dhcp, SELECTING);
    send(dhcp, DISCOVER);
    wait_backed_off(dhcp);
}

static void use_fallback(struct plumb_dhcp *dhcp) {
    const struct plumb_dhcp_options *options = &dhcp->options;

    if (dhcp->netif->ipv4.be != 0 || options->fallback.be == 0)
        return;
    if (plumb_netif_set_ipv4(dhcp->netif, options->fallback, options->fallback_netmask,
                             options->fallback_gateway) == PLUMB_OK)
        tell(dhcp);
}

/* From the beginning, with the whole of the patience. */
static void ask_anew(struct plumb_dhcp *dhcp) {
    dhcp->started_ms = plumb_now_ms(dhcp->stack);
    begin_exchange(dhcp, SELECTING);
    discover(dhcp);
}

static void lose_lease(struct plumb_dhcp *dhcp) {
    dhcp->bound = false;
    plumb_netif_set_ipv4(dhcp->netif, PLUMB_IPV4_ANY, PLUMB_IPV4_ANY, PLUMB_IPV4_ANY);
    ask_anew(dhcp);
    tell(dhcp);
}

/* The pause before the next request for the same lease: half of what is left
 * (RFC 2131 section 4.4.5). */
static void wait_half(struct plumb_dhcp *dhcp, uint32_t until_s, uint32_t age_s) {
    uint32_t left_s = until_s - age_s;
    uint32_t pause_s = left_s / 2 > SHORTEST_RETRY_S ? left_s / 2 : SHORTEST_RETRY_S;

    plumb_timer_start(dhcp->stack, &dhcp->timer, 1000U * (pause_s < left_s ? pause_s : left_s),
                      on_timer);
}

static void keep_lease(struct plumb_dhcp *dhcp) {
    uint32_t age_s = (plumb_now_ms(dhcp->stack) - dhcp->leased_ms) / 1000;

    if (age_s >= dhcp->lease_s) {
        lose_lease(dhcp);
        return;
    }
    uint8_t state = age_s >= dhcp->rebind_s ? REBINDING : RENEWING;
    if (dhcp->state != state)
        begin_exchange(dhcp, state);
    send(dhcp, REQUEST);
    wait_half(dhcp, state == REBINDING ? dhcp->lease_s : dhcp->rebind_s, age_s);
}

static void on_timer(struct plumb *stack, struct plumb_timer *timer) {
    struct plumb_dhcp *dhcp = (void *)((uint8_t *)timer - offsetof(struct plumb_dhcp, timer));

    (void)stack;
    if (dhcp->state >= BOUND) {
        keep_lease(dhcp);
        return;
    }
    if (dhcp->state == REQUESTING && dhcp->tries < 4) {
        send(dhcp, REQUEST);
        wait_backed_off(dhcp);
    } else {
        discover(dhcp);
    }
    /* Last: its user may end the client when told. */
    if (plumb_now_ms(dhcp->stack) - dhcp->started_ms >= dhcp->options.patience_ms)
        use_fallback(dhcp);
}

/* ---- answers ---- */

static void take_option(struct answer *answer, const uint8_t *option) {
    if (option[0] == OPTION_TYPE && option[1] == 1)
        answer->type = option[2];
    for (unsigned i = 0; i < KEPT; i++)
        if (option[0] == kept_options[i] && option[1] >= 4)
            answer->option[i] = plumb_get32_any((const void *)(option + 2));
}

/* Is it an answer to what we asked, well-formed? Fills in what it says. */
static bool parse(const struct plumb_dhcp *dhcp, const struct message *message, size_t length,
                  struct answer *answer) {
    const uint8_t *option = message->options, *end = (const uint8_t *)message + length;

    if (length < offsetof(struct message, options) || message->operation != 2 ||
        message->hardware_type != 1 || message->hardware_length != 6 ||
        plumb_get32(message->transaction) != dhcp->transaction ||
        plumb_get32(message->cookie) != COOKIE ||
        !plumb_ethernet_equal(&message->hardware, &dhcp->netif->address))
        return false;
    *answer = (struct answer){.address = plumb_get32(message->yours)};
    while (option < end && *option != OPTION_END) {
        if (*option == OPTION_PAD) {
            option++;
            continue;
        }
        if (end - option < 2 || end - option < 2 + option[1])
            return false;
        take_option(answer, option);
        option += 2 + option[1];
    }
    return answer->type == NAK || answer->address != 0;
}

/* The server's times where they follow each other, else the usual parts of the
 * lease (RFC 2131 section 4.4.5). */
static void take_times(struct plumb_dhcp *dhcp, const struct answer *answer) {
    uint32_t lease_s = answer->option[LEASE];
    uint32_t renew_s = answer->option[RENEW], rebind_s = answer->option[REBIND];

    if (lease_s > LONGEST_LEASE_S)
        lease_s = LONGEST_LEASE_S;
    if (lease_s < 2 * SHORTEST_RETRY_S)
        lease_s = 2 * SHORTEST_RETRY_S;
    if (!renew_s || renew_s >= rebind_s || rebind_s >= lease_s) {
        renew_s = lease_s / 2;
        rebind_s = lease_s - lease_s / 8;
    }
    dhcp->lease_s = lease_s;
    dhcp->renew_s = renew_s;
    dhcp->rebind_s = rebind_s;
}

/* Configures the interface; a gateway that cannot be one is left out. */
static int use_lease(struct plumb_dhcp *dhcp, const struct answer *answer) {
    plumb_ipv4 address = plumb_put32(answer->address);
    plumb_ipv4 netmask = plumb_put32(answer->option[NETMASK]);
    plumb_ipv4 gateway = plumb_put32(answer->option[ROUTER]);

    if (netmask.be == 0)
        netmask = plumb_put32(0xffffff00);
    int result = plumb_netif_set_ipv4(dhcp->netif, address, netmask, gateway);
    return result == PLUMB_OK ? result
                              : plumb_netif_set_ipv4(dhcp->netif, address, netmask, PLUMB_IPV4_ANY);
}

static void take_ack(struct plumb_dhcp *dhcp, const struct answer *answer) {
    bool renewed = dhcp->state != REQUESTING && dhcp->netif->ipv4.be == dhcp->offered.be;

    if (!renewed && use_lease(dhcp, answer) != PLUMB_OK) {
        /* An address no host could have: ask for another. */
        begin_exchange(dhcp, SELECTING);
        wait_backed_off(dhcp);
        return;
    }
    take_times(dhcp, answer);
    dhcp->state = BOUND;
    dhcp->leased_ms = plumb_now_ms(dhcp->stack);
    dhcp->name_server = plumb_put32(answer->option[NAME_SERVER]);
    dhcp->bound = true;
    plumb_timer_start(dhcp->stack, &dhcp->timer, 1000U * dhcp->renew_s, on_timer);
    if (!renewed)
        tell(dhcp);
}

/* False when it is an answer to nothing that was asked. The client may be gone afterwards. */
static bool take_answer(struct plumb_dhcp *dhcp, const struct answer *answer) {
    bool asked = dhcp->state == REQUESTING || dhcp->state >= RENEWING;

    if (answer->type == OFFER && dhcp->state == SELECTING && answer->option[SERVER]) {
        dhcp->offered = plumb_put32(answer->address);
        dhcp->server = plumb_put32(answer->option[SERVER]);
        begin_exchange(dhcp, REQUESTING);
        send(dhcp, REQUEST);
        wait_backed_off(dhcp);
    } else if (answer->type == ACK && asked && answer->address == plumb_get32(dhcp->offered)) {
        take_ack(dhcp, answer);
    } else if (answer->type == NAK && asked) {
        if (dhcp->bound)
            lose_lease(dhcp);
        else
            discover(dhcp);
    } else {
        return false;
    }
    return true;
}

static void on_datagram(struct plumb_udp *socket, struct plumb_packet *payload,
                        const struct plumb_udp_source *source, void *context) {
    struct plumb_dhcp *dhcp = context;
    struct message message;
    struct answer answer;
    size_t length = plumb_packet_copy_out(payload, 0, &message, sizeof message);

    (void)socket;
    if (source->from.port != SERVER_PORT || !parse(dhcp, &message, length, &answer) ||
        !take_answer(dhcp, &answer))
        dhcp->ignored++;
}

/* ---- the user's side ---- */

int plumb_dhcp_start(struct plumb_dhcp *dhcp, struct plumb *stack, struct plumb_netif *netif,
                     const struct plumb_dhcp_options *options) {
    struct plumb_endpoint local = {PLUMB_IPV4_ANY, CLIENT_PORT};

    dhcp->stack = stack;
    dhcp->netif = netif;
    dhcp->options = *options;
    if (dhcp->options.patience_ms == 0)
        dhcp->options.patience_ms = CONFIG_PLUMB_DHCP_PATIENCE_MS;
    dhcp->bound = false;
    dhcp->ignored = dhcp->unsent = 0;
    int result = plumb_udp_open(stack, local, on_datagram, dhcp, &dhcp->socket);
    if (result != PLUMB_OK)
        return result;
    plumb_udp_restrict(dhcp->socket, netif);
    ask_anew(dhcp);
    return PLUMB_OK;
}

void plumb_dhcp_stop(struct plumb_dhcp *dhcp) {
    plumb_timer_stop(&dhcp->timer);
    if (dhcp->bound)
        send_release(dhcp);
    plumb_udp_close(dhcp->socket);
    dhcp->bound = false;
    plumb_netif_set_ipv4(dhcp->netif, PLUMB_IPV4_ANY, PLUMB_IPV4_ANY, PLUMB_IPV4_ANY);
}

#endif
