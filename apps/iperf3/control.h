/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * iperf 3's control connection, byte by byte: a cookie, states of one byte, JSON behind its
 * length, and two words that say why a server gives up. Which of them comes next follows from
 * the state of the test, and so whoever reads says what it wants.
 */
#ifndef IPERF3_CONTROL_H
#define IPERF3_CONTROL_H

#include <stddef.h>
#include <stdint.h>

enum {
    CONTROL_COOKIE = 37,      /* bytes: 36 characters and a null */
    CONTROL_TEXT_MOST = 8192, /* bytes of JSON; a longer one is refused unread */
    CONTROL_ERROR_BYTES = 8,  /* iperf's own error code, and errno */
};

/* States, as they stand on the wire. */
enum control_state {
    STATE_TEST_START = 1,
    STATE_TEST_RUNNING = 2,
    STATE_TEST_END = 4,
    STATE_PARAMETERS = 9,
    STATE_CREATE_STREAMS = 10,
    STATE_SERVER_TERMINATE = 11,
    STATE_CLIENT_TERMINATE = 12,
    STATE_RESULTS = 13,
    STATE_DISPLAY = 14,
    STATE_DONE = 16,
    STATE_ERROR = 254, /* -2: two words follow */
    STATE_BUSY = 255,  /* -1: access denied, another test is running */
};

/* iperf's codes for what goes wrong, which its clients put into words. */
enum control_code {
    CODE_NONE = 0,
    CODE_DURATION = 5,
    CODE_STREAMS = 6,
    CODE_BLOCK = 7,
    CODE_OMIT = 12,
    CODE_NO_SCTP = 18,
    CODE_UDP_BLOCK = 20,
    CODE_REVERSE_BIDIRECTIONAL = 25,
    CODE_CLOSED = 109,
    CODE_MESSAGE = 110,
    CODE_PARAMETERS = 114,
    CODE_RESULTS = 117,
    CODE_TERMINATED = 120,
    CODE_BUSY = 121,
    CODE_CONGESTION = 134,
    CODE_SILENT = 144,
    CODE_STREAM = 204,
    CODE_STREAM_CLOSED = 207,
};

enum control_item {
    ITEM_NONE, /* more bytes are needed */
    ITEM_COOKIE,
    ITEM_STATE,
    ITEM_TEXT,
    ITEM_ERROR,
    ITEM_TOO_LONG, /* a text's length is more than is taken; nothing can follow */
};

struct control {
    enum control_item wanted;
    uint32_t have;                 /* bytes of it that have come */
    uint32_t length;               /* of the text, once its first four bytes are there */
    uint8_t bytes[CONTROL_COOKIE]; /* a cookie, a state, a length or an error */
    char text[CONTROL_TEXT_MOST];
};

/* What comes next: a cookie, a state, a text or an error. */
void control_want(struct control *control, enum control_item item);

/* Takes bytes as they come; `used` says how many. Returns the item that they complete, and
 * leaves the rest for the next call; or ITEM_NONE, all bytes used. */
enum control_item control_read(struct control *control, const uint8_t *bytes, size_t length,
                               size_t *used);

uint32_t control_word(const uint8_t *bytes);

#endif
