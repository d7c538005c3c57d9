/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The instance: creation, interfaces, names, and what is left when it goes. */
#include <string.h>

#include <plumb_config.h>

#include "peer.h"
#include "stack/stack.h"

static struct plumb_packet descriptors[2][8];
static _Alignas(PLUMB_DMA_LINE) uint8_t memory[2][8 * 384];
static struct plumb_pool pools[2];

static struct plumb_options options_create(void) {
    for (unsigned i = 0; i < 2; i++)
        expect_equal(plumb_pool_create(&pools[i], descriptors[i], memory[i], 8, 384, 0), PLUMB_OK);
    return (struct plumb_options){.segments = &pools[0], .headers = &pools[1]};
}

static void creation_checks_what_it_is_given(void **state) {
    (void)state;
    static PLUMB_STACK_MEMORY(place);
    struct plumb_options options = options_create();
    struct plumb *stack;
    expect_equal(plumb_create(&stack, place, sizeof place, &options), PLUMB_OK);
    plumb_destroy(stack);
    expect_equal(plumb_create(&stack, (uint8_t *)place + 4, sizeof place - 8, &options),
                 PLUMB_ERROR_INVALID);
    expect_equal(plumb_create(&stack, 0, sizeof place, &options), PLUMB_ERROR_INVALID);
    expect_equal(plumb_create(&stack, place, 100, &options), PLUMB_ERROR_NO_MEMORY);
    options.segments = 0;
    expect_equal(plumb_create(&stack, place, sizeof place, &options), PLUMB_ERROR_INVALID);
    options = options_create();
    pools[0].capacity = PLUMB_SEGMENT_LEAST - 64;
    expect_equal(plumb_create(&stack, place, sizeof place, &options), PLUMB_ERROR_INVALID);
    options = options_create();
    pools[1].capacity = PLUMB_HEADER_LEAST - 64;
    expect_equal(plumb_create(&stack, place, sizeof place, &options), PLUMB_ERROR_INVALID);
    options = options_create();
    options.headers = 0;
    expect_equal(plumb_create(&stack, place, sizeof place, &options), PLUMB_ERROR_INVALID);
}

/* The memory is exactly as large as needed or larger: one byte too few is refused, and
 * with the least that is taken the sanitizer watches its end. */
static void smallest_memory_is_enough(void **state) {
    (void)state;
    struct plumb_options options = options_create();
    size_t least = 0;
    static PLUMB_STACK_MEMORY(place);
    struct plumb *stack;
    while (plumb_create(&stack, place, least, &options) != PLUMB_OK)
        least += 8;
    expect(least <= PLUMB_STACK_BYTES);
    plumb_destroy(stack);
    memset(place, 0x5a, sizeof place);
    expect_equal(plumb_create(&stack, place, least, &options), PLUMB_OK);
    for (unsigned i = 0; i < 100; i++)
        plumb_poll(stack, i * MILLISECOND);
    plumb_destroy(stack);
    for (size_t i = least; i < sizeof place; i++)
        expect_equal(((uint8_t *)place)[i], 0x5a);
}

static unsigned expired;

static void count_expiry(struct plumb *stack, struct plumb_timer *timer) {
    (void)stack;
    (void)timer;
    expired++;
}

/* Whatever a clock's origin: a timer armed before it was known counts from there. */
static void time_begins_at_the_first_poll(void **state) {
    (void)state;
    static const uint64_t origins[] = {0, 1, 3519000000U, UINT64_MAX / 2};
    static PLUMB_STACK_MEMORY(place);
    for (unsigned i = 0; i < sizeof origins / sizeof *origins; i++) {
        struct plumb_options options = options_create();
        struct plumb_timer timer = {0};
        struct plumb *stack;
        expect_equal(plumb_create(&stack, place, sizeof place, &options), PLUMB_OK);
        expired = 0;
        plumb_timer_start(stack, &timer, 1000, count_expiry);
        plumb_poll(stack, origins[i]);
        plumb_poll(stack, origins[i] + 999 * MILLISECOND);
        expect_equal(expired, 0);
        plumb_poll(stack, origins[i] + 1001 * MILLISECOND);
        expect_equal(expired, 1);
        plumb_destroy(stack);
    }
}

/* Nobody is asked on behalf of an interface that has gone. */
static void detached_with_a_gateway(void **state) {
    (void)state;
    struct world *world = world_single(&(struct world_options){.gateway = true});
    world_drain(world);
    plumb_netif_detach(world->a.netif);
    assert_null(world_collect_any(world));
    for (unsigned i = 0; i < 50; i++) {
        world->now_us += 100 * MILLISECOND;
        plumb_poll(world->a.stack, world->now_us);
    }
    world_end(world);
}

/* The connection has ended by then and its user has not been told; world_end sees
 * whether its packets came home. */
static void destroyed_after_a_detach_with_unread_bytes(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    user.keep_unread = true;
    peer_send(&peer, TCP_ACK, "hello", 5);
    plumb_netif_detach(world->a.netif);
    world_end(world);
}

/* SipHash-2-4 of the bytes 0 to 15 under the key 0 to 15: its authors' vector. */
static void keyed_hash_is_siphash(void **state) {
    (void)state;
    static struct plumb stack;
    stack.options.seed[0] = 0x0706050403020100U;
    stack.options.seed[1] = 0x0f0e0d0c0b0a0908U;
    expect(pl_keyed_hash(&stack, 0x0706050403020100U, 0x0f0e0d0c0b0a0908U) == 0x3f2acc7f57c29bdbU);
}

static void names_of_counters(void **state) {
    (void)state;
    for (unsigned i = 0; i < PLUMB_COUNTER_COUNT; i++) {
        const struct plumb_counter_info *info = plumb_counter_info(i);
        assert_non_null(info);
        expect(strlen(info->name) > 4 && strlen(info->text) > 8);
        for (unsigned k = 0; k < i; k++)
            expect(strcmp(info->name, plumb_counter_info(k)->name));
    }
    for (unsigned i = 0; i < PLUMB_NETIF_COUNTER_COUNT; i++)
        assert_non_null(plumb_netif_counter_info(i));
    assert_null(plumb_counter_info(PLUMB_COUNTER_COUNT));
    assert_null(plumb_netif_counter_info(PLUMB_NETIF_COUNTER_COUNT));
    expect(plumb_counter_info(PLUMB_COUNTER_tcp_checksum)->drop);
    expect(!plumb_counter_info(PLUMB_COUNTER_tcp_opened)->drop);
}

static void texts_of_errors(void **state) {
    (void)state;
    for (int i = 0; i > PLUMB_ERROR_ABORTED - 1; i--) {
        expect(strlen(plumb_error_text(i)) > 1);
        expect(strcmp(plumb_error_text(i), "unknown error"));
        for (int k = 0; k > i; k--)
            expect(strcmp(plumb_error_text(i), plumb_error_text(k)));
    }
    assert_string_equal(plumb_error_text(PLUMB_ERROR_ABORTED - 1), "unknown error");
    assert_string_equal(plumb_error_text(1), "unknown error");
}

/* A build that loads words from headers takes no interface that lands them elsewhere. */
static void landing_is_checked(void **state) {
    (void)state;
    struct world *world = world_single(0);
    struct plumb_netif *netif = &world->wire.end[1].netif;
    netif->landing = PLUMB_LANDING_WORD;
#ifdef CONFIG_PLUMB_NETWORK_HEADER_ALIGNED
    expect_equal(plumb_netif_attach(world->a.stack, netif), PLUMB_ERROR_ALIGNMENT);
#else
    expect_equal(plumb_netif_attach(world->a.stack, netif), PLUMB_OK);
#endif
    world_end(world);
}

static void an_interface_belongs_to_one_stack(void **state) {
    (void)state;
    struct world *world = world_single(0);
    expect_equal(plumb_netif_attach(world->a.stack, world->a.netif), PLUMB_ERROR_INVALID);
    world->wire.end[1].netif.mtu = 67;
    expect_equal(plumb_netif_attach(world->a.stack, &world->wire.end[1].netif),
                 PLUMB_ERROR_INVALID);
    world->wire.end[1].netif.mtu = 9001;
    expect_equal(plumb_netif_attach(world->a.stack, &world->wire.end[1].netif),
                 PLUMB_ERROR_INVALID);
    world_end(world);
}

/* An interface is taken off in the middle of everything, and comes back. */
static void detached_in_the_middle(void **state) {
    (void)state;
    struct user user = {0};
    struct peer peer;
    struct world *world = connected(&user, &peer, 0);
    static uint8_t bytes[20000];
    plumb_tcp_send(user.connection, bytes, sizeof bytes);
    world_settle(world);
    peer_send_at(&peer, peer.sequence + 1000, peer.acknowledgement, TCP_ACK, bytes, 100);
    plumb_netif_detach(world->a.netif);
    world_settle(world);
    expect_equal(user.events & PLUMB_TCP_CLOSED, PLUMB_TCP_CLOSED);
    expect_equal(user.error, PLUMB_ERROR_UNREACHABLE);
    expect_equal(side_buffers_used(&world->a), 0);
    world_drain(world);
    expect_equal(plumb_netif_attach(world->a.stack, world->a.netif), PLUMB_OK);
    expect_equal(plumb_netif_set_ipv4(world->a.netif, ipv4_of(world->a.address),
                                      ipv4_of(0xffffff00U), PLUMB_IPV4_ANY),
                 PLUMB_OK);
    world_drain(world);
    world_introduce(world);
    peer = peer_at(world, 40001, 80);
    peer_connect(&peer);
    expect_equal(user.accepted, 2);
    disconnected(world, &user);
}

/* Destroyed with connections in every state: each packet goes home. */
static void destroyed_in_the_middle(void **state) {
    (void)state;
    for (unsigned stop = 1; stop < 60; stop++) {
        struct world *world = world_pair(&(struct world_options){
            .seed = stop, .faults = {.delay_us = 3000, .rate = 20000000, .loss = 500}});
        struct user server = {.keep_unread = true}, client = {0};
        static uint8_t bytes[60000];
        user_listen(&server, &world->b, 80);
        user_connect(&client, &world->a, world->b.address, 80);
        for (unsigned i = 0; i < stop; i++) {
            if (client.connection && client.events & PLUMB_TCP_CONNECTED)
                plumb_tcp_send(client.connection, bytes, sizeof bytes);
            if (i > 40 && client.connection)
                plumb_tcp_shutdown(client.connection);
            world_run(world, 1500);
        }
        world_end(world);
        server.connection = client.connection = 0;
        server.listener = 0;
        user_end(&server);
        user_end(&client);
    }
}

/* Two worlds side by side do not know of each other. */
static void instances_share_nothing(void **state) {
    (void)state;
    struct world *one = world_single(&(struct world_options){.seed = 5});
    struct world *two = world_single(&(struct world_options){.seed = 5});
    struct frame frame;
    struct frame_path path = world_path(one, 0, 0);
    frame_icmp(&frame, &path, 8, 0, 1, "one", 3);
    world_introduce(one);
    world_introduce(two);
    world_inject(one, &frame);
    expect(world_collect(one) != 0);
    assert_null(world_collect(two));
    expect_equal(plumb_counter(two->a.stack, PLUMB_COUNTER_icmp_echo), 0);
    world_end(one);
    world_introduce(two);
    world_inject(two, &frame);
    expect(world_collect(two) != 0);
    world_end(two);
}

HARNESS_MAIN(cmocka_unit_test(creation_checks_what_it_is_given),
             cmocka_unit_test(smallest_memory_is_enough),
             cmocka_unit_test(time_begins_at_the_first_poll),
             cmocka_unit_test(detached_with_a_gateway),
             cmocka_unit_test(destroyed_after_a_detach_with_unread_bytes),
             cmocka_unit_test(keyed_hash_is_siphash), cmocka_unit_test(names_of_counters),
             cmocka_unit_test(texts_of_errors), cmocka_unit_test(landing_is_checked),
             cmocka_unit_test(an_interface_belongs_to_one_stack),
             cmocka_unit_test(detached_in_the_middle), cmocka_unit_test(destroyed_in_the_middle),
             cmocka_unit_test(instances_share_nothing))
