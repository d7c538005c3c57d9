/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Answers. The head of one is written where the request's was, of which nothing is needed
 * any more. There is no Date: a server without a clock gives none (RFC 9110 section 6.6.1).
 */
#include "http.h"

static void put(struct request_text *text, const char *string) {
    while (*string && text->length < REQUEST_HEAD)
        text->bytes[text->length++] = *string++;
}

static void put_number(struct request_text *text, uint64_t value) {
    char digits[24], *at = digits + sizeof digits - 1;
    *at = 0;
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    put(text, at);
}

static void write_head(struct http_connection *c) {
    struct request_text *text = &c->text;
    text->length = 0;
    put(text, "HTTP/1.1 ");
    put_number(text, c->content.status);
    put(text, " ");
    put(text, request_reason(c->content.status));
    put(text, "\r\nServer: Plumb\r\nContent-Type: ");
    put(text, c->content.type);
    put(text, "\r\nContent-Length: ");
    put_number(text, c->content.length);
    if (c->content.status == 405)
        put(text, "\r\nAllow: GET, HEAD");
    if (c->content.status == 503)
        put(text, "\r\nRetry-After: 1");
    put(text, c->content.page ? "\r\nCache-Control: no-store" : "");
    put(text,
        c->request.keep ? "\r\nConnection: keep-alive\r\n\r\n" : "\r\nConnection: close\r\n\r\n");
}

void respond_begin(struct http_connection *c) {
    c->content = (struct content){.status = c->request.status};
    content_find(c->http, &c->content, c->request.path);
    c->head_sent = 0;
    c->body_sent = 0;
    write_head(c);
    c->http->requests++;
    c->http->refused += c->content.status != 200;
}

/* What was taken of so many bytes; nothing if the connection takes no more. */
static size_t send_some(struct http_connection *c, const void *bytes, size_t length, bool *moved) {
    int sent = plumb_tcp_send(c->tcp, bytes, length);
    *moved |= sent > 0;
    return sent > 0 ? (size_t)sent : 0;
}

bool respond_more(struct http_connection *c, bool *moved) {
    size_t length = c->text.length - c->head_sent;
    const void *bytes = c->text.bytes + c->head_sent;
    if (length)
        c->head_sent += (unsigned)send_some(c, bytes, length, moved);
    if (c->head_sent < c->text.length)
        return false;
    while (!c->request.head && c->body_sent < c->content.length) {
        length = content_at(&c->content, c->body_sent, &bytes);
        size_t sent = send_some(c, bytes, length, moved);
        c->body_sent += sent;
        if (sent < length)
            return false;
    }
    content_release(&c->content);
    return true;
}
