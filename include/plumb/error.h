/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Error codes. Every public function that can fail returns one of these as a
 * negative int; zero or a positive count is success. docs/errors.md says for
 * each code when it arises and what to do.
 */
#ifndef PLUMB_ERROR_H
#define PLUMB_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

enum plumb_error {
    PLUMB_OK = 0,
    PLUMB_ERROR_INVALID = -1,       /* an argument is outside its documented range */
    PLUMB_ERROR_NO_MEMORY = -2,     /* the memory given is smaller than the configuration needs */
    PLUMB_ERROR_NO_BUFFER = -3,     /* a pool of packets is empty; try again after a poll */
    PLUMB_ERROR_NO_CONNECTION = -4, /* every connection, listener or socket slot is in use */
    PLUMB_ERROR_WOULD_BLOCK = -5,   /* no room now; an event says when there is */
    PLUMB_ERROR_IN_USE = -6,        /* the local address and port are taken */
    PLUMB_ERROR_NO_ROUTE = -7,      /* no interface has an address and a way there */
    PLUMB_ERROR_UNREACHABLE = -8,   /* the peer's host, port or protocol was reported unreachable */
    PLUMB_ERROR_REFUSED = -9,       /* nobody has the port at the peer, who said so */
    PLUMB_ERROR_RESET = -10,        /* the peer reset an established connection */
    PLUMB_ERROR_TIMED_OUT = -11,    /* the peer did not answer within the documented time */
    PLUMB_ERROR_CLOSED = -12,       /* the connection is closed for this operation */
    PLUMB_ERROR_TOO_LONG = -13,     /* the datagram does not fit the interface or a buffer */
    PLUMB_ERROR_ALIGNMENT = -14, /* the driver lands headers where this build may not load words */
    PLUMB_ERROR_DEVICE = -15,    /* the device did not answer as its data sheet says */
    PLUMB_ERROR_ABORTED = -16,   /* the connection was aborted on this side */
};

/* A short English text for a code above, or "unknown error". Never NULL. */
const char *plumb_error_text(int error);

#ifdef __cplusplus
}
#endif

#endif
