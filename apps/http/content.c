/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What there is to be had:
 *
 *   /            a page, which is part of the image
 *   /counters    the stack's and the interface's counters, and this server's, as JSON
 *   /bytes/N     N bytes of a pattern, whose byte n is the (n mod 64)th of `alphabet`
 */
#include "http.h"
#include "json.h"

enum { PERIOD = 64, PATTERN = 4096 };

#define MOST_BYTES 1000000000000000ULL

static const char index_page[] = {
#include "index.inc"
};
static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char json_type_name[] = "application/json", plain_type[] = "text/plain; charset=utf-8";
static char pattern[PATTERN + PERIOD];

void content_start(void) {
    for (unsigned i = 0; i < sizeof pattern; i++)
        pattern[i] = alphabet[i % PERIOD];
}

static bool is_same(const char *a, const char *b) {
    for (; *a && *a == *b; a++)
        b++;
    return *a == *b;
}

/* The text behind a beginning, or null. */
static const char *behind(const char *text, const char *beginning) {
    for (; *beginning; text++)
        if (*text != *beginning++)
            return NULL;
    return text;
}

static bool read_count(const char *digits, uint64_t *count) {
    if (!*digits)
        return false;
    for (*count = 0; *digits; digits++) {
        if (*digits < '0' || *digits > '9' || *count > MOST_BYTES)
            return false;
        *count = *count * 10 + (unsigned)(*digits - '0');
    }
    return *count <= MOST_BYTES;
}

static void write_stack(const struct http *http, struct json_writer *w) {
    const struct plumb_counter_info *info;
    json_write_open(w, "stack", '{');
    for (unsigned i = 0; (info = plumb_counter_info(i)); i++)
        json_write_unsigned(w, info->name, plumb_counter(http->stack, (enum plumb_counter)i));
    json_write_close(w, '}');
}

static void write_interface(const struct http *http, struct json_writer *w) {
    const struct plumb_counter_info *info;
    json_write_open(w, "interface", '{');
    json_write_string(w, "name", http->netif->name);
    json_write_open(w, "counters", '{');
    for (unsigned i = 0; (info = plumb_netif_counter_info(i)); i++)
        json_write_unsigned(w, info->name, http->netif->counters[i]);
    json_write_close(w, '}');
    json_write_close(w, '}');
}

static void write_server(const struct http *http, struct json_writer *w) {
    unsigned open = 0;
    for (unsigned i = 0; i < HTTP_CONNECTIONS; i++)
        open += http->connections[i].state != HTTP_FREE;
    json_write_open(w, "http", '{');
    json_write_unsigned(w, "connections", open);
    json_write_unsigned(w, "requests", http->requests);
    json_write_unsigned(w, "refused", http->refused);
    json_write_unsigned(w, "expired", http->expired);
    json_write_close(w, '}');
}

static struct http_page *take_page(struct http *http) {
    for (struct http_page *p = http->pages; p < http->pages + HTTP_PAGES; p++) {
        if (p->used)
            continue;
        p->used = true;
        return p;
    }
    return NULL;
}

static void find_counters(struct http *http, struct content *content) {
    struct json_writer writer;
    content->page = take_page(http);
    if (!content->page) {
        content->status = 503;
        return;
    }
    json_write_begin(&writer, content->page->bytes, HTTP_PAGE_BYTES);
    json_write_open(&writer, NULL, '{');
    json_write_unsigned(&writer, "uptime_us", board_now_us());
    write_server(http, &writer);
    write_stack(http, &writer);
    write_interface(http, &writer);
    json_write_close(&writer, '}');
    content->bytes = content->page->bytes;
    content->type = json_type_name;
    content->length = writer.length;
    if (writer.overflow) {
        content_release(content);
        content->status = 503;
    }
}

/* A refusal's body is its reason. */
static void explain(struct content *content) {
    content->type = plain_type;
    content->bytes = request_reason(content->status);
    for (content->length = 0; content->bytes[content->length];)
        content->length++;
}

void content_find(struct http *http, struct content *content, const char *path) {
    const char *count = behind(path, "/bytes/");
    content->page = NULL;
    if (content->status == 200 && is_same(path, "/")) {
        content->type = "text/html; charset=utf-8";
        content->bytes = index_page;
        content->length = sizeof index_page;
    } else if (content->status == 200 && is_same(path, "/counters")) {
        find_counters(http, content);
    } else if (content->status == 200 && count && read_count(count, &content->length)) {
        content->type = "application/octet-stream";
        content->bytes = NULL;
    } else if (content->status == 200) {
        content->status = 404;
    }
    if (content->status != 200)
        explain(content);
}

void content_release(struct content *content) {
    if (content->page)
        content->page->used = false;
    content->page = NULL;
}

size_t content_at(const struct content *content, uint64_t offset, const void **bytes) {
    uint64_t left = content->length - offset;
    if (content->bytes) {
        *bytes = content->bytes + offset;
        return (size_t)left;
    }
    *bytes = pattern + offset % PERIOD;
    return left < PATTERN ? (size_t)left : PATTERN;
}
