/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The stage, and the scenes without TCP: see scenes.h; those with it are in scenes_tcp.c. */
#include "scenes.h"

#include <string.h>

#include <plumb_config.h>

#include "scenes_tcp.h"

/* ---- the stage ---- */

void stage_begin(struct stage *stage, const struct scene *scene) {
    const struct plumb_wire_faults faults = {
        .loss = 400, .duplication = 200, .reordering = 800, .delay_us = 2000, .jitter_us = 500};
    struct world_options options = {.seed = 11, .receive_count = 64, .segment_count = 64};

    if (scene->lossy)
        options.faults = faults;
    *stage = (struct stage){.scene = scene, .world = world_pair(&options)};
    struct side *sides[2] = {&stage->world->a, &stage->world->b};
    for (unsigned i = 0; i < 2; i++)
        expect_equal(plumb_sockets_create(&stage->sockets[i], stage->sockets_memory[i],
                                          sizeof stage->sockets_memory[i], sides[i]->stack, NULL),
                     PLUMB_OK);
}

void stage_end(struct stage *stage) {
    plumb_sockets_destroy(stage->sockets[0]);
    plumb_sockets_destroy(stage->sockets[1]);
    world_end(stage->world);
}

static bool never(void *context) {
    (void)context;
    return false;
}

void stage_run(struct stage *stage, bool (*done)(void *context), void *context, unsigned seconds) {
    uint64_t end = stage->world->now_us + seconds * SECOND;

    while (stage->world->now_us < end) {
        uint64_t left = end - stage->world->now_us, step = left;
        if (stage->meanwhile) {
            uint64_t passed = stage->world->now_us - stage->began_us;
            if (passed >= stage->meanwhile_us) {
                void (*meanwhile)(struct stage *) = stage->meanwhile;
                stage->meanwhile = NULL;
                meanwhile(stage);
                continue;
            }
            if (step > stage->meanwhile_us - passed)
                step = stage->meanwhile_us - passed;
        }
        if (world_run_until(stage->world, done, context, step))
            return;
    }
}

bool stage_play(struct stage *stage) {
    stage->told = 0;
    stage->began_us = stage->world->now_us;
    bool well = stage->scene->play(stage);
    /* TIME_WAIT, reassembly, what waits for a neighbour. */
    stage_run(stage, never, NULL, CONFIG_PLUMB_TCP_TIME_WAIT_MS / 1000 + 130);
    return well;
}

/* Named counters of what was lost or put off because something was not there. */
static uint32_t missed_by(const struct side *side) {
    static const enum plumb_counter counters[] = {
        PLUMB_COUNTER_arp_queue,           PLUMB_COUNTER_arp_evicted,
        PLUMB_COUNTER_arp_no_buffer,       PLUMB_COUNTER_ipv4_fragment_quota,
        PLUMB_COUNTER_ipv4_no_buffer,      PLUMB_COUNTER_udp_socket,
        PLUMB_COUNTER_tcp_backlog,         PLUMB_COUNTER_tcp_no_buffer,
        PLUMB_COUNTER_tcp_reordered_full,  PLUMB_COUNTER_tcp_no_buffer_out,
        PLUMB_COUNTER_tcp_cookie,          PLUMB_COUNTER_tcp_time_wait_reused,
        PLUMB_COUNTER_tcp_half_open_reused};
    uint32_t missed = side->netif->counters[PLUMB_NETIF_rx_no_buffer];

    for (unsigned i = 0; i < sizeof counters / sizeof *counters; i++)
        missed += plumb_counter(side->stack, counters[i]);
    return missed;
}

uint32_t stage_missed(const struct stage *stage) {
    return missed_by(&stage->world->a) + missed_by(&stage->world->b) + stage->told;
}

/* ---- datagrams ---- */

struct datagrams {
    struct stage *stage;
    struct plumb_udp *a, *b;
    unsigned length, sent, back, refused;
    bool wrong;
};

static void on_echo(struct plumb_udp *socket, struct plumb_packet *payload,
                    const struct plumb_udp_source *source, void *context) {
    struct datagrams *datagrams = context;
    if (plumb_udp_reply(socket, payload, source) != PLUMB_OK)
        datagrams->stage->told++;
}

static void on_back(struct plumb_udp *socket, struct plumb_packet *payload,
                    const struct plumb_udp_source *source, void *context) {
    static uint8_t bytes[8192];
    struct datagrams *datagrams = context;
    (void)socket;
    (void)source;
    datagrams->wrong |= payload->total != datagrams->length;
    plumb_packet_copy_out(payload, 0, bytes, sizeof bytes);
    for (unsigned i = 0; i < payload->total; i++)
        datagrams->wrong |= bytes[i] != pattern_at(1, i);
    datagrams->back++;
}

static void on_refused(struct plumb_udp *socket, struct plumb_endpoint to, int error,
                       void *context) {
    struct datagrams *datagrams = context;
    (void)socket;
    (void)to;
    datagrams->refused += error == PLUMB_ERROR_REFUSED;
}

static bool all_back(void *context) {
    const struct datagrams *datagrams = context;
    return datagrams->back == datagrams->sent;
}

static void send_datagram(struct datagrams *datagrams, uint32_t address, uint16_t port) {
    static uint8_t bytes[8192];
    for (unsigned i = 0; i < datagrams->length; i++)
        bytes[i] = pattern_at(1, i);
    if (plumb_udp_send(datagrams->a, endpoint_of(address, port), bytes, datagrams->length) ==
        PLUMB_OK)
        datagrams->sent++;
    else
        datagrams->stage->told++;
}

static bool open_both(struct datagrams *datagrams, plumb_udp_handler *at_b) {
    struct world *world = datagrams->stage->world;
    datagrams->stage->told += plumb_udp_open(world->a.stack, endpoint_of(0, 0), on_back, datagrams,
                                             &datagrams->a) != PLUMB_OK;
    datagrams->stage->told += plumb_udp_open(world->b.stack, endpoint_of(0, SCENE_PORT), at_b,
                                             datagrams, &datagrams->b) != PLUMB_OK;
    if (datagrams->a)
        plumb_udp_set_error_handler(datagrams->a, on_refused);
    return datagrams->a && datagrams->b;
}

static void close_both(struct datagrams *datagrams) {
    if (datagrams->a)
        plumb_udp_close(datagrams->a);
    if (datagrams->b)
        plumb_udp_close(datagrams->b);
}

/* Three datagrams of `variant` bytes, each there and back, and one for a port that nobody has. */
static bool play_datagrams(struct stage *stage) {
    struct datagrams datagrams = {.stage = stage, .length = stage->scene->variant};
    bool well = open_both(&datagrams, on_echo);

    for (unsigned i = 0; i < 3 && well; i++) {
        /* Nobody waits for a neighbour with more than one frame: the first goes before. */
        send_datagram(&datagrams, stage->world->b.address, SCENE_PORT);
        stage_run(stage, all_back, &datagrams, 2);
        if (datagrams.length > 1472 && !datagrams.back && i < 2)
            datagrams.sent = 0;
    }
    well = well && datagrams.sent >= 2 && datagrams.back == datagrams.sent && !datagrams.wrong;
    if (datagrams.a && datagrams.length <= 1472) {
        send_datagram(&datagrams, stage->world->b.address, SCENE_PORT + 1);
        stage_run(stage, never, NULL, 2);
        well = well && datagrams.refused == 1;
    }
    close_both(&datagrams);
    return well;
}

/* One that somebody is asked for who is not there, as often as ARP asks. */
static bool play_nobody(struct stage *stage) {
    struct datagrams datagrams = {.stage = stage, .length = 10};
    struct counters before = counters_now(&stage->world->a);
    bool well = open_both(&datagrams, on_echo);

    if (well)
        send_datagram(&datagrams, FRAME_IPV4(10, 0, 0, 99), SCENE_PORT);
    stage_run(stage, never, NULL, 10);
    close_both(&datagrams);
    return well && counters_moved(&stage->world->a, &before, "arp_queue") == 1;
}

/* ---- frames made by hand, as if from b ---- */

static struct frame_path path_from_b(const struct stage *stage) {
    return world_path(stage->world, 5000, 5001);
}

static bool play_ping(struct stage *stage) {
    struct frame_path path = path_from_b(stage);
    struct counters before = counters_now(&stage->world->b);
    struct frame frame;

    for (unsigned i = 0; i < 3; i++) {
        frame_icmp(&frame, &path, 8, 0, 0x12340001 + i, "ping", 4);
        world_inject(stage->world, &frame);
        stage_run(stage, never, NULL, 1);
    }
    return counters_moved(&stage->world->b, &before, "icmp_type") == 3;
}

/* The first part of a datagram whose rest never comes. */
static bool play_expiry(struct stage *stage) {
    struct frame_path path = path_from_b(stage);
    struct counters before = counters_now(&stage->world->a), there = counters_now(&stage->world->b);
    struct frame frame;

    frame_fragment(&frame, &path, 17, 9, 0x2000, "first of two: 24 bytes..", 24);
    world_inject(stage->world, &frame);
    stage_run(stage, never, NULL, CONFIG_PLUMB_IPV4_REASSEMBLY_MS / 1000 + 5);
    return counters_moved(&stage->world->a, &before, "ipv4_fragment_timeout") == 1 &&
           counters_moved(&stage->world->b, &there, "icmp_quote") == 1;
}

/* ---- DHCP ---- */

struct server {
    bool asked;
    struct frame answer;
};

/* What the client asks for is answered, at the next turn; by hand, as no Plumb listens to
 * hosts without an address. */
static bool on_client(void *context, uint8_t *bytes, uint16_t length) {
    enum { TYPE = FRAME_UDP_PAYLOAD + 242 };
    struct server *server = context;
    if (length <= TYPE || bytes[23] != 17 || bytes[37] != 67 || bytes[TYPE] == 7)
        return true;
    const uint8_t options[] = {0x63, 0x82, 0x53, 0x63, 53, 1, bytes[TYPE] == 1 ? 2 : 5,
                               54,   4,    10,   0,    0,  2, 51,
                               4,    0,    0,    2,    0,  1, 4,
                               255,  255,  255,  0,    255};
    struct frame_path path = {
        .from = FRAME_IPV4(10, 0, 0, 2), .to = 0xffffffff, .from_port = 67, .to_port = 68};
    uint8_t message[236] = {2, 1, 6};
    memset(path.to_ethernet, 0xff, 6);
    memcpy(path.from_ethernet, (const uint8_t[]){2, 0, 0, 0, 0, 2}, 6);
    memcpy(message + 4, bytes + FRAME_UDP_PAYLOAD + 4, 4);
    memcpy(message + 16, (const uint8_t[]){10, 0, 0, 1}, 4);
    memcpy(message + 28, bytes + FRAME_UDP_PAYLOAD + 28, 16);
    frame_udp(&server->answer, &path, message, sizeof message);
    frame_append(&server->answer, options, sizeof options);
    frame_finish(&server->answer);
    server->asked = true;
    return true;
}

static void answer_client(struct world *world, void *context) {
    struct server *server = context;
    if (server->asked)
        plumb_wire_inject(world->a.end, server->answer.bytes, server->answer.length);
    server->asked = false;
}

static bool is_bound(void *context) {
    const struct plumb_dhcp *dhcp = context;
    return dhcp->bound;
}

static bool play_dhcp(struct stage *stage) {
    struct plumb_dhcp_options options = {.patience_ms = 0};
    struct plumb_dhcp dhcp = {0};
    struct server server = {0};
    struct side *a = &stage->world->a;

    plumb_netif_set_ipv4(a->netif, PLUMB_IPV4_ANY, PLUMB_IPV4_ANY, PLUMB_IPV4_ANY);
    plumb_wire_set_filter(a->end, on_client, &server);
    stage->world->turn = answer_client;
    stage->world->context = &server;
    bool well = plumb_dhcp_start(&dhcp, a->stack, a->netif, &options) == PLUMB_OK;
    stage->told += !well;
    if (well) {
        stage_run(stage, is_bound, &dhcp, 100);
        well = dhcp.bound && plumb_get32(a->netif->ipv4) == a->address;
        stage_run(stage, never, NULL, 600); /* past the time to renew, and the lease */
        well = well && dhcp.bound;
        plumb_dhcp_stop(&dhcp);
        stage->told += dhcp.unsent;
    }
    stage_run(stage, never, NULL, 1);
    stage->world->turn = NULL;
    plumb_wire_set_filter(a->end, NULL, NULL);
    plumb_netif_set_ipv4(a->netif, ipv4_of(a->address), ipv4_of(0xffffff00U), PLUMB_IPV4_ANY);
    return well;
}

/* ---- the list ---- */

const struct scene scenes[] = {
    {.name = "a closes first", .play = play_tcp, .variant = A_FIRST, .survives = true},
    {.name = "b closes first", .play = play_tcp, .variant = B_FIRST, .survives = true},
    {.name = "both close at once", .play = play_tcp, .variant = BOTH, .survives = true},
    {.name = "half closed", .play = play_tcp, .variant = HALF, .survives = true},
    {.name = "abort", .play = play_tcp, .variant = ABORT, .survives = true},
    {.name = "by reference", .play = play_tcp, .variant = REFERENCE, .survives = true},
    {.name = "a small window", .play = play_tcp, .variant = SMALL_WINDOW, .survives = true},
#ifdef CONFIG_PLUMB_TCP_PMTUD
    {.name = "a narrow path", .play = play_tcp, .variant = NARROW_PATH, .survives = true},
#endif
    {.name = "cookies", .play = play_tcp, .variant = COOKIES, .survives = true},
    {.name = "loss, a closes first",
     .play = play_tcp,
     .variant = A_FIRST,
     .lossy = true,
     .survives = true},
    {.name = "loss, half closed",
     .play = play_tcp,
     .variant = HALF,
     .lossy = true,
     .survives = true},
    {.name = "sockets", .play = play_sockets, .survives = true},
    {.name = "datagrams", .play = play_datagrams, .variant = 500},
    {.name = "fragments", .play = play_datagrams, .variant = 4000, .takes_several = true},
    {.name = "nobody there", .play = play_nobody},
    {.name = "ping", .play = play_ping},
    {.name = "a fragment expires", .play = play_expiry},
    {.name = "DHCP", .play = play_dhcp},
};
const unsigned scene_count = sizeof scenes / sizeof *scenes;
