/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <plumb/error.h>

const char *plumb_error_text(int error) {
    static const char *const texts[] = {
        [-PLUMB_OK] = "no error",
        [-PLUMB_ERROR_INVALID] = "invalid argument",
        [-PLUMB_ERROR_NO_MEMORY] = "memory too small for this configuration",
        [-PLUMB_ERROR_NO_BUFFER] = "no packet free",
        [-PLUMB_ERROR_NO_CONNECTION] = "no connection, listener or socket free",
        [-PLUMB_ERROR_WOULD_BLOCK] = "no room now",
        [-PLUMB_ERROR_IN_USE] = "address and port in use",
        [-PLUMB_ERROR_NO_ROUTE] = "no route",
        [-PLUMB_ERROR_UNREACHABLE] = "unreachable",
        [-PLUMB_ERROR_REFUSED] = "connection refused",
        [-PLUMB_ERROR_RESET] = "connection reset by the peer",
        [-PLUMB_ERROR_TIMED_OUT] = "timed out",
        [-PLUMB_ERROR_CLOSED] = "closed",
        [-PLUMB_ERROR_TOO_LONG] = "too long",
        [-PLUMB_ERROR_ALIGNMENT] = "frames land where this build may not load words",
        [-PLUMB_ERROR_DEVICE] = "device error",
        [-PLUMB_ERROR_ABORTED] = "aborted",
    };

    if (error > 0 || error <= -(int)(sizeof texts / sizeof *texts))
        return "unknown error";
    return texts[-error];
}
