/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * HTTP requests (RFC 9112): the head of one, gathered from a stream and then read where it
 * lies. Pure: bytes in, a request or the status that refuses it out.
 */
#ifndef HTTP_REQUEST_H
#define HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    REQUEST_HEAD = 2048,    /* bytes of request line and fields; more is 431 */
    REQUEST_LINE = 1024,    /* bytes of the request line; more is 414 */
    REQUEST_BODY = 1 << 20, /* bytes of a body that nobody reads; more is 413 */
};

/* The head as it comes. */
struct request_text {
    unsigned length;
    unsigned line; /* bytes since the last end of a line, a carriage return not counted */
    bool begun;    /* behind empty lines in front, which are passed over */
    bool has_line; /* the request line is whole */
    bool whole;    /* the empty line has come */
    bool complete; /* it is whole, or too long */
    char bytes[REQUEST_HEAD];
};

struct request {
    unsigned status;  /* 200: it can be served; else why not */
    bool head;        /* the answer has no body */
    bool keep;        /* the connection stays after the answer */
    uint32_t body;    /* bytes to be passed over behind the head */
    const char *path; /* decoded, ends with a null; without the query */
};

/* Takes bytes up to the end of the head; returns how many. `complete` says that it is whole,
 * or too long, which request_read() tells. */
size_t request_take(struct request_text *text, const uint8_t *bytes, size_t length);

/* Reads a complete head, which it changes: the path lies in it. */
void request_read(struct request *request, struct request_text *text);

/* The reason phrase of a status that this server gives. */
const char *request_reason(unsigned status);

#endif
