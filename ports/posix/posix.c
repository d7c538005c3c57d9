/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * errno, and the one set of sockets that POSIX's functions, which have no argument for it, are
 * about.
 */
#include <plumb/posix.h>

static struct plumb_sockets *the_sockets;

void plumb_posix_use(struct plumb_sockets *sockets) {
    the_sockets = sockets;
}

struct plumb_sockets *plumb_posix_sockets(void) {
    return the_sockets;
}

/* The C library's number for one of ours. */
static int number_of(int error) {
    static const struct {
        int ours, theirs;
    } numbers[] = {
        {PLUMB_EBADF, EBADF},
        {PLUMB_EAGAIN, EAGAIN},
        {PLUMB_ENOMEM, ENOMEM},
        {PLUMB_EACCES, EACCES},
        {PLUMB_EINVAL, EINVAL},
        {PLUMB_ENFILE, ENFILE},
        {PLUMB_EPIPE, EPIPE},
        {PLUMB_EDOM, EDOM},
        {PLUMB_EDESTADDRREQ, EDESTADDRREQ},
        {PLUMB_EMSGSIZE, EMSGSIZE},
        {PLUMB_EPROTOTYPE, EPROTOTYPE},
        {PLUMB_ENOPROTOOPT, ENOPROTOOPT},
        {PLUMB_EPROTONOSUPPORT, EPROTONOSUPPORT},
        {PLUMB_ESOCKTNOSUPPORT, EPROTOTYPE}, /* not POSIX's */
        {PLUMB_EOPNOTSUPP, EOPNOTSUPP},
        {PLUMB_EAFNOSUPPORT, EAFNOSUPPORT},
        {PLUMB_EADDRINUSE, EADDRINUSE},
        {PLUMB_EADDRNOTAVAIL, EADDRNOTAVAIL},
        {PLUMB_ENETDOWN, ENETDOWN},
        {PLUMB_ENETUNREACH, ENETUNREACH},
        {PLUMB_ECONNABORTED, ECONNABORTED},
        {PLUMB_ECONNRESET, ECONNRESET},
        {PLUMB_ENOBUFS, ENOBUFS},
        {PLUMB_EISCONN, EISCONN},
        {PLUMB_ENOTCONN, ENOTCONN},
        {PLUMB_ETIMEDOUT, ETIMEDOUT},
        {PLUMB_ECONNREFUSED, ECONNREFUSED},
        {PLUMB_EHOSTUNREACH, EHOSTUNREACH},
        {PLUMB_EALREADY, EALREADY},
        {PLUMB_EINPROGRESS, EINPROGRESS},
    };

    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].ours == error)
            return numbers[i].theirs;
    return EINVAL;
}

int plumb_posix_result(int result) {
    if (result >= 0)
        return result;
    errno = number_of(-result);
    return -1;
}
