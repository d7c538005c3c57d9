/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The heads of HTTP requests, right and wrong, however they are cut. */
#include <string.h>

#include "harness.h"
#include "request.h"

static struct request_text text;
static struct request request;

/* Takes a text in pieces of so many; how many bytes of it the head was. */
static size_t take(const char *bytes, size_t length, size_t piece) {
    size_t used = 0;
    memset(&text, 0, sizeof text);
    while (used < length && !text.complete) {
        size_t left = length - used;
        used += request_take(&text, (const uint8_t *)bytes + used, left < piece ? left : piece);
    }
    if (text.complete)
        request_read(&request, &text);
    return used;
}

static unsigned status_of(const char *bytes) {
    take(bytes, strlen(bytes), 4096);
    if (!text.complete)
        fail_msg("it waits for the rest of %s", bytes);
    return request.status;
}

#define HOST "Host: a\r\n"

static void heads_are_taken_however_they_are_cut(void **state) {
    (void)state;
    const char bytes[] = "\r\n\r\nGET /a%20b?c HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabcGET";
    for (size_t piece = 1; piece < sizeof bytes; piece++) {
        assert_int_equal(take(bytes, sizeof bytes - 1, piece), sizeof bytes - 1 - 6);
        expect(text.complete && request.status == 200 && request.keep && !request.head);
        expect(request.body == 3 && !strcmp(request.path, "/a b"));
    }
    for (size_t length = 0; length < sizeof bytes - 1 - 6; length++) {
        take(bytes, length, 1);
        expect(!text.complete);
    }
}

static void statuses_are_right(void **state) {
    (void)state;
    const struct {
        unsigned status;
        const char *bytes;
    } cases[] = {
        {200, "GET / HTTP/1.1\r\n" HOST "\r\n"},
        {200, "GET / HTTP/1.1\n" HOST "\n"},
        {200, "HEAD / HTTP/1.0\r\n\r\n"},
        {200, "GET http://a/ HTTP/1.1\r\n" HOST "\r\n"},
        {200, "GET HTTP://a HTTP/1.1\r\n" HOST "\r\n"},
        {200, "GET / HTTP/1.9\r\n" HOST "\r\n"},
        {200, "GET / HTTP/1.1\r\nhOsT:\r\nX:\t y \r\n\r\n"},
        {200, "GET / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n" HOST HOST "\r\n"},
        {400, "GET /\r\n\r\n"},
        {400, "GET\r\n\r\n"},
        {400, " GET / HTTP/1.1\r\n" HOST "\r\n"},
        {400, "GET  / HTTP/1.1\r\n" HOST "\r\n"},
        {400, "GET / HTTP/1.1 \r\n" HOST "\r\n"},
        {400, "GET / http/1.1\r\n" HOST "\r\n"},
        {400, "GET / HTTP/11\r\n" HOST "\r\n"},
        {400, "GET a HTTP/1.1\r\n" HOST "\r\n"},
        {400, "GET /%zz HTTP/1.1\r\n" HOST "\r\n"},
        {400, "GET /%0 HTTP/1.1\r\n" HOST "\r\n"},
        {400, "GET /%00 HTTP/1.1\r\n" HOST "\r\n"},
        {400, "GET /\x01 HTTP/1.1\r\n" HOST "\r\n"},
        {400, "GET /\xff HTTP/1.1\r\n" HOST "\r\n"},
        {400, "G(T / HTTP/1.1\r\n" HOST "\r\n"},
        {400, "GET / HTTP/1.1\r\nHost : a\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n Host: a\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n" HOST " folded\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n" HOST "nothing\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n" HOST ": a\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n" HOST "X: a\rb\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n" HOST "X: \x7f\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nContent-Length: 2\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n" HOST "Content-Length: 1, 1\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"},
        {405, "POST / HTTP/1.1\r\n" HOST "\r\n"},
        {405, "OPTIONS * HTTP/1.1\r\n" HOST "\r\n"},
        {413, "GET / HTTP/1.1\r\n" HOST "Content-Length: 1048577\r\n\r\n"},
        {413, "GET / HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999999\r\n\r\n"},
        {501, "get / HTTP/1.1\r\n" HOST "\r\n"},
        {501, "BREW / HTTP/1.1\r\n" HOST "\r\n"},
        {501, "GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"},
        {505, "GET / HTTP/2.0\r\n" HOST "\r\n"},
        {505, "GET / HTTP/0.9\r\n" HOST "\r\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (status_of(cases[i].bytes) != cases[i].status)
            fail_msg("%u, not %u: %s", request.status, cases[i].status, cases[i].bytes);
}

static void the_connection_is_kept_or_not(void **state) {
    (void)state;
    const struct {
        bool keep;
        const char *bytes;
    } cases[] = {
        {true, "GET / HTTP/1.1\r\n" HOST "\r\n"},
        {false, "GET / HTTP/1.0\r\n\r\n"},
        {true, "GET / HTTP/1.0\r\nConnection: x , KEEP-alive\r\n\r\n"},
        {false, "GET / HTTP/1.1\r\n" HOST "Connection: Close\r\n\r\n"},
        {true, "GET / HTTP/1.1\r\n" HOST "Connection: closed,@,;\r\n\r\n"},
        {true, "POST / HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\n"},
        {true, "BREW / HTTP/1.1\r\n" HOST "\r\n"},
        {false, "GET / HTTP/1.1\r\n" HOST "X : a\r\n\r\n"},
        {false, "GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"},
        {false, "POST / HTTP/1.1\r\n" HOST "Content-Length: 1048577\r\n\r\n"},
        {false, "GET / HTTP/2.0\r\n" HOST "\r\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        status_of(cases[i].bytes);
        if (request.keep != cases[i].keep)
            fail_msg("kept: %d: %s", request.keep, cases[i].bytes);
    }
}

static void paths_are_decoded(void **state) {
    (void)state;
    const char *cases[][2] = {
        {"/", "/"},        {"/a/b?c#d", "/a/b"}, {"/%41%2f%7E", "/A/~"}, {"http://b:80/c?d", "/c"},
        {"http://b", "/"}, {"/%25%35", "/%5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char bytes[128] = "GET ";
        strcat(strcat(bytes, cases[i][0]), " HTTP/1.0\r\n\r\n");
        assert_int_equal(status_of(bytes), 200);
        assert_string_equal(request.path, cases[i][1]);
    }
}

static void heads_too_long_are_refused(void **state) {
    (void)state;
    static char bytes[1 << 16];
    const char line[] = "GET / HTTP/1.1\r\n";
    memset(bytes, 'a', sizeof bytes);
    assert_int_equal(take(bytes, sizeof bytes, 1460), REQUEST_LINE + 1);
    expect(text.complete && request.status == 414 && !request.keep);
    memcpy(bytes, line, sizeof line - 1);
    assert_int_equal(take(bytes, sizeof bytes, 1460), REQUEST_HEAD);
    expect(text.complete && request.status == 431 && !request.keep);
    bytes[REQUEST_HEAD - 1] = '\n'; /* a line's end, but no head's */
    take(bytes, sizeof bytes, 1);
    assert_int_equal(request.status, 431);
    memcpy(bytes + sizeof line - 1, "Host: ", 6);
    memcpy(bytes + REQUEST_HEAD - 4, "\r\n\r\n", 4);
    take(bytes, sizeof bytes, 7);
    assert_int_equal(request.status, 200);
}

HARNESS_MAIN(cmocka_unit_test(heads_are_taken_however_they_are_cut),
             cmocka_unit_test(statuses_are_right), cmocka_unit_test(the_connection_is_kept_or_not),
             cmocka_unit_test(paths_are_decoded), cmocka_unit_test(heads_too_long_are_refused))
