/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The iperf 3 application: start, and a look at the test every so often, while there is one
 * or somebody waits at the door.
 */
#include "iperf3.h"

enum { LOOK_MS = 10, PACE_MS = 1, IDLE_US = 30000000 /* without a byte */ };

static struct iperf3 app;

static void look_at_transfer(uint64_t now) {
    if (app.omitting && now - app.begun_us >= app.parameters.omit_s * 1000000ULL)
        test_omitted(&app);
    for (struct stream *s = app.streams; s < app.streams + app.count; s++) {
        if (app.parameters.udp)
            udp_send_due(s, now);
        else
            tcp_send_more(s);
    }
    if (app.client)
        client_look(&app, now);
    if (app.phase == PHASE_RUNNING && (now >= app.until_us || now > app.moved_us + IDLE_US))
        test_fail(&app, CODE_SILENT);
}

static void look_at_drain(uint64_t now) {
    if (now < app.until_us && !test_is_quiet(&app, now))
        return;
    if (app.client)
        client_drained(&app);
    else
        server_drained(&app);
}

static void look(struct plumb *stack, struct plumb_timer *timer) {
    uint64_t now = board_now_us();
    bool guests = guests_look(&app, now);
    channel_flush(&app);
    if (app.phase == PHASE_RUNNING)
        look_at_transfer(now);
    else if (app.phase == PHASE_DRAINING)
        look_at_drain(now);
    else if (app.phase != PHASE_IDLE && now >= app.until_us)
        test_fail(&app, CODE_SILENT);
    if (app.over && now >= app.until_us)
        board_exit(app.exit_status);
    if (app.phase != PHASE_IDLE || guests || app.over)
        plumb_timer_start(stack, timer, app.phase == PHASE_RUNNING ? PACE_MS : LOOK_MS, look);
}

void look_start(struct iperf3 *of) {
    if (!plumb_timer_running(&of->look))
        plumb_timer_start(of->stack, &of->look, LOOK_MS, look);
}

void phase_set(struct iperf3 *of, enum phase phase, uint32_t limit_ms) {
    of->phase = phase;
    of->until_us = board_now_us() + limit_ms * 1000ULL;
    look_start(of);
}

static void check(int error) {
    if (error) {
        board_print("panic: iperf3: %s\n", plumb_error_text(error));
        board_exit(1);
    }
}

void app_start(struct plumb *stack, struct plumb_netif *netif) {
    const char *wrong = arguments_read(&app.arguments, board_arguments());
    const struct plumb_endpoint any = {.port = app.arguments.server.port};
    if (wrong || exchange_check(&app.arguments.parameters)) {
        board_print("panic: iperf3: not understood: %s\n", wrong ? wrong : board_arguments());
        board_exit(2);
    }
    app.stack = stack;
    app.netif = netif;
    app.exit_status = 1;
    for (unsigned i = 0; i < sizeof app.datagram / 4; i++)
        app.datagram[i] = 0x30313233;
    if (app.arguments.client)
        return;
    check(plumb_tcp_listen(stack, any, IPERF3_STREAMS, server_accept, &app, &app.listener));
    check(plumb_udp_open(stack, any, udp_server_datagram, &app, &app.socket));
}

void app_ready(struct plumb *stack, struct plumb_netif *netif) {
    (void)stack;
    if (!app.arguments.client)
        board_print("iperf3: listening address=%I port=%d\n", netif->ipv4.be,
                    app.arguments.server.port);
    else if (!app.client)
        client_start(&app);
}

bool app_poll(struct plumb *stack) {
    (void)stack;
    return false;
}
