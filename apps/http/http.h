/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A small HTTP/1.1 server: what its files share.
 *
 *   main.c      start; connections: who waits for what, and for how long
 *   request.c   the head of a request (pure)
 *   content.c   what there is to be had: a page, the counters, as many bytes as one likes
 *   respond.c   answers: head and body into the send buffer, as it has room
 *
 * It stands on the native API and not on sockets: one thread of control serves as many
 * connections as there are, each with a handler that goes on where it stopped, and none waits
 * for another.
 *
 * A connection reads a head, answers it, passes over the request's body, and reads the next
 * head. Requests that come while an answer is under way stay with the stack, unconsumed, which
 * holds the peer back. Every state has a time within which it has to move.
 */
#ifndef HTTP_H
#define HTTP_H

#include "board.h"
#include "request.h"

enum {
    HTTP_PORT = 80,
    HTTP_CONNECTIONS = CONFIG_PLUMB_TCP_CONNECTIONS,
    HTTP_PAGES = 4, /* made for a request and not yet taken by the stack */
    HTTP_PAGE_BYTES = 8192,
    HTTP_HEAD_LIMIT_MS = 5000,  /* from a head's first byte to its last */
    HTTP_IDLE_LIMIT_MS = 15000, /* between requests */
    HTTP_MOVE_LIMIT_MS = 10000, /* an answer of which the peer takes nothing */
    HTTP_LINGER_MS = 1000,      /* for the peer to close */
    HTTP_DRAIN_MS = 30000,      /* for it to take what was sent */
};

enum http_state {
    HTTP_FREE,
    HTTP_IDLE,   /* no byte of a request yet */
    HTTP_HEAD,   /* some */
    HTTP_ANSWER, /* the answer is being sent */
    HTTP_SKIP,   /* the request's body is passed over */
    HTTP_LINGER, /* our end is closed; what comes is thrown away */
};

/* A page that is the same for nobody else. */
struct http_page {
    bool used;
    char bytes[HTTP_PAGE_BYTES];
};

/* What an answer has for a body. */
struct content {
    unsigned status;
    const char *type;
    const char *bytes;      /* null: generated */
    struct http_page *page; /* that the bytes lie in, or null */
    uint64_t length;
};

struct http_connection {
    struct http *http;
    struct plumb_tcp *tcp;
    enum http_state state;
    uint64_t until_us, end_us; /* of the state; of lingering */
    bool peer_closed;
    struct request request;
    struct request_text text; /* the request's head; then the answer's */
    unsigned head_sent;
    uint64_t body_sent;
    uint32_t skipped;
    struct content content;
};

struct http {
    struct plumb *stack;
    struct plumb_netif *netif;
    struct plumb_tcp_listener *listener;
    struct plumb_timer look;
    uint32_t requests, refused, expired;
    struct http_page pages[HTTP_PAGES];
    struct http_connection connections[HTTP_CONNECTIONS];
};

/* content.c */
void content_start(void);
void content_find(struct http *http, struct content *content, const char *path);
void content_release(struct content *content);
/* Points at bytes of the body from `offset` on; returns how many lie there. */
size_t content_at(const struct content *content, uint64_t offset, const void **bytes);

/* respond.c */
void respond_begin(struct http_connection *connection);
/* True when all of it is the stack's. */
bool respond_more(struct http_connection *connection, bool *moved);

#endif
