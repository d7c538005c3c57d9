/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The HTTP application: start, the table of connections, and what each of them does next.
 *
 * A full table makes room by closing who has waited longest for a request of its own; who is
 * amid something is left until its time is up.
 */
#include "http.h"

enum { LOOK_MS = 100, SPARE = 1 };

static struct http http;
static plumb_timer_handler look;

static void set_state(struct http_connection *c, enum http_state state, uint32_t limit_ms) {
    c->state = state;
    c->until_us = board_now_us() + limit_ms * 1000ULL;
}

static void forget(struct http_connection *c) {
    content_release(&c->content);
    c->tcp = NULL;
    c->state = HTTP_FREE;
}

static void wait_for_request(struct http_connection *c) {
    c->text.length = c->text.line = 0;
    c->text.begun = c->text.has_line = c->text.whole = c->text.complete = false;
    set_state(c, HTTP_IDLE, HTTP_IDLE_LIMIT_MS);
}

static void leave(struct http_connection *c) {
    plumb_tcp_close(c->tcp);
    forget(c);
}

/* Bytes unread would make a reset of the end, and that may overtake the answer. */
static void linger(struct http_connection *c) {
    plumb_tcp_consume(c->tcp, plumb_tcp_readable(c->tcp));
    if (c->peer_closed) {
        leave(c);
        return;
    }
    plumb_tcp_shutdown(c->tcp);
    set_state(c, HTTP_LINGER, HTTP_LINGER_MS);
    c->end_us = board_now_us() + HTTP_DRAIN_MS * 1000ULL;
}

static void take_request(struct http_connection *c) {
    request_read(&c->request, &c->text);
    c->skipped = 0;
    respond_begin(c);
    set_state(c, HTTP_ANSWER, HTTP_MOVE_LIMIT_MS);
}

static void read_head(struct http_connection *c) {
    struct plumb_iovec vector;
    while (!c->text.complete && plumb_tcp_peek(c->tcp, &vector, 1)) {
        plumb_tcp_consume(c->tcp, request_take(&c->text, vector.data, vector.length));
        if (c->state == HTTP_IDLE)
            set_state(c, HTTP_HEAD, HTTP_HEAD_LIMIT_MS);
    }
    if (c->text.complete)
        take_request(c);
}

static void send_answer(struct http_connection *c) {
    bool moved = false, done = respond_more(c, &moved);
    if (moved)
        set_state(c, HTTP_ANSWER, HTTP_MOVE_LIMIT_MS);
    if (done && c->request.keep)
        set_state(c, HTTP_SKIP, HTTP_MOVE_LIMIT_MS);
    else if (done)
        linger(c);
}

static void skip_body(struct http_connection *c) {
    size_t length = plumb_tcp_readable(c->tcp), left = c->request.body - c->skipped;
    length = length < left ? length : left;
    plumb_tcp_consume(c->tcp, length);
    c->skipped += (uint32_t)length;
    if (length)
        set_state(c, HTTP_SKIP, HTTP_MOVE_LIMIT_MS);
    if (length == left)
        wait_for_request(c);
}

/* As far as it goes: what is left waits for the next event, or for the look. */
static void step(struct http_connection *c) {
    enum http_state before;
    do {
        before = c->state;
        if (c->state == HTTP_IDLE || c->state == HTTP_HEAD)
            read_head(c);
        else if (c->state == HTTP_ANSWER)
            send_answer(c);
        else if (c->state == HTTP_SKIP)
            skip_body(c);
        else if (c->state == HTTP_LINGER)
            plumb_tcp_consume(c->tcp, plumb_tcp_readable(c->tcp));
    } while (c->state != before);
}

static void handler(struct plumb_tcp *tcp, unsigned events, void *context) {
    struct http_connection *c = context;
    (void)tcp;
    if (events & PLUMB_TCP_CLOSED) {
        forget(c);
        return;
    }
    c->peer_closed |= (events & PLUMB_TCP_PEER_CLOSED) != 0;
    step(c);
    if (c->peer_closed && c->state != HTTP_FREE && c->state != HTTP_ANSWER)
        leave(c); /* but for an answer, which it may still read */
}

/* Who has waited longest, of those that wait for a request. */
static struct http_connection *longest_idle(void) {
    struct http_connection *found = NULL;
    for (struct http_connection *c = http.connections; c < http.connections + HTTP_CONNECTIONS; c++)
        if (c->state == HTTP_IDLE && (!found || c->until_us < found->until_us))
            found = c;
    return found;
}

/* Leaves a place free: the stack has as many, and who comes next needs one to be heard. */
static void make_room(void) {
    unsigned free = 0;
    for (unsigned i = 0; i < HTTP_CONNECTIONS; i++)
        free += http.connections[i].state == HTTP_FREE;
    struct http_connection *idle = free < SPARE ? longest_idle() : NULL;
    if (idle)
        leave(idle);
}

static void accept(struct plumb_tcp_listener *listener, struct plumb_tcp *tcp, void *context) {
    struct http_connection *c = http.connections;
    (void)listener;
    (void)context;
    while (c < http.connections + HTTP_CONNECTIONS && c->state != HTTP_FREE)
        c++;
    if (c == http.connections + HTTP_CONNECTIONS)
        return; /* who is not taken is reset */
    c->http = &http;
    c->tcp = tcp;
    c->peer_closed = false;
    if (!plumb_timer_running(&http.look))
        plumb_timer_start(http.stack, &http.look, LOOK_MS, look);
    plumb_tcp_set_handler(tcp, handler, c);
    plumb_tcp_set_option(tcp, PLUMB_TCP_NODELAY, 1);
    wait_for_request(c);
    make_room();
    if (c->state != HTTP_FREE)
        step(c);
}

static bool is_drained(const struct http_connection *c) {
    struct plumb_tcp_info info;
    plumb_tcp_get_info(c->tcp, &info);
    return info.state == PLUMB_TCP_STATE_FIN_WAIT_2;
}

/* A head that does not come to its end is answered; a peer that takes nothing is left. */
static void expire(struct http_connection *c, uint64_t now) {
    http.expired += c->state != HTTP_LINGER;
    if (c->state == HTTP_HEAD) {
        c->request = (struct request){.status = 408, .path = ""};
        respond_begin(c);
        set_state(c, HTTP_ANSWER, HTTP_LINGER_MS);
        step(c);
    } else if (c->state == HTTP_IDLE) {
        linger(c);
    } else if (c->state == HTTP_LINGER && is_drained(c)) {
        leave(c);
    } else if (c->state == HTTP_LINGER && now < c->end_us) {
        c->until_us += HTTP_LINGER_MS * 1000ULL;
    } else {
        plumb_tcp_abort(c->tcp);
        forget(c);
    }
}

static void look(struct plumb *stack, struct plumb_timer *timer) {
    uint64_t now = board_now_us();
    bool any = false;
    for (struct http_connection *c = http.connections; c < http.connections + HTTP_CONNECTIONS;
         c++) {
        if (c->state == HTTP_ANSWER)
            step(c);
        if (c->state != HTTP_FREE && now >= c->until_us)
            expire(c, now);
        any |= c->state != HTTP_FREE;
    }
    if (any)
        plumb_timer_start(stack, timer, LOOK_MS, look);
}

void app_start(struct plumb *stack, struct plumb_netif *netif) {
    const struct plumb_endpoint any = {PLUMB_IPV4_ANY, HTTP_PORT};
    http.stack = stack;
    http.netif = netif;
    content_start();
    int error = plumb_tcp_listen(stack, any, HTTP_CONNECTIONS, accept, NULL, &http.listener);
    if (error) {
        board_print("panic: http: %s\n", plumb_error_text(error));
        board_exit(1);
    }
}

void app_ready(struct plumb *stack, struct plumb_netif *netif) {
    (void)stack;
    board_print("http: http://%I/ /counters /bytes/N\n", netif->ipv4.be);
}

bool app_poll(struct plumb *stack) {
    (void)stack;
    return false;
}
