/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * BSD sockets (POSIX.1-2017, XSH 2.10) over the native API, without a C library.
 *
 * Every function returns a value or a negative error number, PLUMB_EAGAIN and the like; none
 * sets errno: <plumb/posix.h> gives all of it POSIX's names and errno. Names, numbers and
 * layouts are those of Linux, with a prefix. docs/sockets.md says what differs.
 *
 * A struct plumb_sockets belongs to one stack and holds its descriptors, small numbers from 0.
 * What waiting and locking mean is said by a port:
 *
 *     none          nothing ever waits: what would, returns -PLUMB_EAGAIN
 *     superloop     waiting polls the stack (ports/superloop)
 *     threads       any thread may call, one polls (ports/threads)
 *
 * The lock. There is one for each stack. Each function below takes it when it begins and gives
 * it back when it ends or waits, and plumb_sockets_run() holds it while it polls. So whoever has
 * threads calls nothing of the native API but between plumb_sockets_lock() and _unlock(), and
 * handlers of the native API, which run within a poll, call no function of this header.
 *
 *     static PLUMB_SOCKETS_MEMORY(memory);
 *     struct plumb_sockets *sockets;
 *     plumb_sockets_create(&sockets, memory, sizeof memory, stack, &port);
 *     int server = plumb_socket(sockets, PLUMB_AF_INET, PLUMB_SOCK_STREAM, 0);
 */
#ifndef PLUMB_SOCKET_H
#define PLUMB_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <plumb/tcp.h>
#include <plumb_config.h>

#ifdef __cplusplus
extern "C" {
#endif

struct plumb;
struct plumb_sockets;

/* ---- errors ---- */

enum plumb_errno {
    PLUMB_EBADF = 9,
    PLUMB_EAGAIN = 11, /* and EWOULDBLOCK */
    PLUMB_ENOMEM = 12,
    PLUMB_EACCES = 13,
    PLUMB_EINVAL = 22,
    PLUMB_ENFILE = 23,
    PLUMB_EPIPE = 32,
    PLUMB_EDOM = 33,
    PLUMB_EDESTADDRREQ = 89,
    PLUMB_EMSGSIZE = 90,
    PLUMB_EPROTOTYPE = 91,
    PLUMB_ENOPROTOOPT = 92,
    PLUMB_EPROTONOSUPPORT = 93,
    PLUMB_ESOCKTNOSUPPORT = 94,
    PLUMB_EOPNOTSUPP = 95,
    PLUMB_EAFNOSUPPORT = 97,
    PLUMB_EADDRINUSE = 98,
    PLUMB_EADDRNOTAVAIL = 99,
    PLUMB_ENETDOWN = 100,
    PLUMB_ENETUNREACH = 101,
    PLUMB_ECONNABORTED = 103,
    PLUMB_ECONNRESET = 104,
    PLUMB_ENOBUFS = 105,
    PLUMB_EISCONN = 106,
    PLUMB_ENOTCONN = 107,
    PLUMB_ETIMEDOUT = 110,
    PLUMB_ECONNREFUSED = 111,
    PLUMB_EHOSTUNREACH = 113,
    PLUMB_EALREADY = 114,
    PLUMB_EINPROGRESS = 115,
};

/* ---- the port ---- */

/* What sockets ask of an operating system, or of none. `context` is passed to each. Times are
 * those that the stack is polled with, microseconds. */
struct plumb_socket_port {
    void *context;
    uint64_t (*now_us)(void *context);

    /* The lock, or both null where there is one thread of control. Not taken twice. */
    void (*lock)(void *context);
    void (*unlock)(void *context);

    /* With the lock held: gives it back, waits until wake() is called or `until_us` has come
     * (PLUMB_NEVER: it never does), and takes it again. May return earlier. Where nobody else
     * polls the stack, it does, by plumb_sockets_run(); there the lock is null. */
    void (*wait)(void *context, uint64_t until_us);

    /* With the lock held: ends all waits. Or null. */
    void (*wake)(void *context);

    /* With the lock held: the stack has to be polled sooner than it asked for last. Or null. */
    void (*poll_soon)(void *context);
};

/* ---- a stack's sockets ---- */

/* Bytes that plumb_sockets_create() needs. */
#define PLUMB_SOCKETS_BYTES (64 + (5 * sizeof(void *) + 64) * CONFIG_PLUMB_SOCKETS_MOST)

/* Declares static storage for the sockets of one stack. */
#define PLUMB_SOCKETS_MEMORY(name) uint64_t name[(PLUMB_SOCKETS_BYTES + 7) / 8]

/* Makes the sockets of a stack in `memory` (aligned to 8) of `size` bytes. `port` stays the
 * caller's and unchanged; null: nothing waits and there is no lock. Returns PLUMB_OK,
 * PLUMB_ERROR_INVALID or PLUMB_ERROR_NO_MEMORY. */
int plumb_sockets_create(struct plumb_sockets **sockets, void *memory, size_t size,
                         struct plumb *stack, const struct plumb_socket_port *port);

/* Aborts connections and forgets all descriptors, before the stack is destroyed. Nobody may be
 * waiting. */
void plumb_sockets_destroy(struct plumb_sockets *sockets);

/* plumb_poll() of the stack under the lock, after which whoever waits is woken if anything has
 * changed. Returns what plumb_poll() does. */
uint64_t plumb_sockets_run(struct plumb_sockets *sockets, uint64_t now_us);

/* For calls of the native API where there are threads. */
void plumb_sockets_lock(struct plumb_sockets *sockets);
void plumb_sockets_unlock(struct plumb_sockets *sockets);

struct plumb *plumb_sockets_stack(const struct plumb_sockets *sockets);

/* ---- addresses ---- */

typedef uint32_t plumb_socklen;

enum { PLUMB_AF_UNSPEC = 0, PLUMB_AF_INET = 2 };

struct plumb_in_addr {
    uint32_t s_addr; /* network byte order */
};

struct plumb_sockaddr_in {
    uint16_t sin_family; /* PLUMB_AF_INET */
    uint16_t sin_port;   /* network byte order */
    struct plumb_in_addr sin_addr;
    uint8_t sin_zero[8];
};

/* What an address of any family begins with. */
struct plumb_sockaddr {
    uint16_t sa_family;
    uint8_t sa_data[14];
};

struct plumb_sockaddr_storage {
    uint16_t ss_family;
    uint16_t ss_rest[13];
};

/* An IPv4 address and port for the functions below. */
static inline struct plumb_sockaddr_in plumb_sockaddr_of(struct plumb_endpoint endpoint) {
    struct plumb_sockaddr_in address = {PLUMB_AF_INET, 0, {endpoint.address.be}, {0}};
    address.sin_port = plumb_put16(endpoint.port).be;
    return address;
}

/* ---- making, and ending ---- */

enum { PLUMB_SOCK_STREAM = 1, PLUMB_SOCK_DGRAM = 2, PLUMB_SOCK_NONBLOCK = 04000 };
enum { PLUMB_IPPROTO_TCP = 6, PLUMB_IPPROTO_UDP = 17 };

/* The descriptor, or -PLUMB_EAFNOSUPPORT, -PLUMB_EPROTONOSUPPORT, -PLUMB_EPROTOTYPE,
 * -PLUMB_ESOCKTNOSUPPORT, or -PLUMB_ENFILE when there are CONFIG_PLUMB_SOCKETS_MOST. */
int plumb_socket(struct plumb_sockets *sockets, int domain, int type, int protocol);

int plumb_bind(struct plumb_sockets *sockets, int fd, const void *address, plumb_socklen length);
int plumb_listen(struct plumb_sockets *sockets, int fd, int backlog);

/* `address` and `length` may be null. accept4's flag is PLUMB_SOCK_NONBLOCK. */
int plumb_accept(struct plumb_sockets *sockets, int fd, void *address, plumb_socklen *length);
int plumb_accept4(struct plumb_sockets *sockets, int fd, void *address, plumb_socklen *length,
                  int flags);

int plumb_connect(struct plumb_sockets *sockets, int fd, const void *address, plumb_socklen length);

enum { PLUMB_SHUT_RD, PLUMB_SHUT_WR, PLUMB_SHUT_RDWR };
int plumb_shutdown(struct plumb_sockets *sockets, int fd, int how);

/* Waits only with SO_LINGER. */
int plumb_close(struct plumb_sockets *sockets, int fd);

int plumb_getsockname(struct plumb_sockets *sockets, int fd, void *address, plumb_socklen *length);
int plumb_getpeername(struct plumb_sockets *sockets, int fd, void *address, plumb_socklen *length);

/* ---- sending and receiving ---- */

enum plumb_msg {
    PLUMB_MSG_OOB = 1, /* refused: there is no urgent data */
    PLUMB_MSG_PEEK = 2,
    PLUMB_MSG_TRUNC = 0x20, /* datagrams: in, return the whole length; out, it was cut */
    PLUMB_MSG_DONTWAIT = 0x40,
    PLUMB_MSG_WAITALL = 0x100,
    PLUMB_MSG_NOSIGNAL = 0x4000, /* always so: there are no signals */
};

struct plumb_iov {
    void *iov_base;
    size_t iov_len;
};

struct plumb_msghdr {
    void *msg_name;
    plumb_socklen msg_namelen;
    struct plumb_iov *msg_iov;
    size_t msg_iovlen;
    void *msg_control; /* nothing is read from it or written to it */
    size_t msg_controllen;
    int msg_flags; /* out */
};

/* All return the bytes sent or received, at most INT_MAX. */
int plumb_send(struct plumb_sockets *sockets, int fd, const void *bytes, size_t length, int flags);
int plumb_sendto(struct plumb_sockets *sockets, int fd, const void *bytes, size_t length, int flags,
                 const void *to, plumb_socklen to_length);
int plumb_sendmsg(struct plumb_sockets *sockets, int fd, const struct plumb_msghdr *message,
                  int flags);
int plumb_writev(struct plumb_sockets *sockets, int fd, const struct plumb_iov *vectors, int count);

int plumb_recv(struct plumb_sockets *sockets, int fd, void *bytes, size_t length, int flags);
int plumb_recvfrom(struct plumb_sockets *sockets, int fd, void *bytes, size_t length, int flags,
                   void *from, plumb_socklen *from_length);
int plumb_recvmsg(struct plumb_sockets *sockets, int fd, struct plumb_msghdr *message, int flags);
int plumb_readv(struct plumb_sockets *sockets, int fd, const struct plumb_iov *vectors, int count);

/* ---- options ---- */

enum { PLUMB_SOL_SOCKET = 1, PLUMB_SOL_TCP = PLUMB_IPPROTO_TCP };

enum plumb_so { /* int, where nothing else is said */
                PLUMB_SO_REUSEADDR = 2,
                PLUMB_SO_TYPE = 3,  /* to be read */
                PLUMB_SO_ERROR = 4, /* to be read, which clears it */
                PLUMB_SO_BROADCAST = 6,
                PLUMB_SO_SNDBUF = 7, /* bytes, not doubled */
                PLUMB_SO_RCVBUF = 8,
                PLUMB_SO_KEEPALIVE = 9,
                PLUMB_SO_LINGER = 13,     /* struct plumb_linger */
                PLUMB_SO_RCVTIMEO = 20,   /* struct plumb_timeval; zero: for ever */
                PLUMB_SO_SNDTIMEO = 21,   /* the same; also of connect() */
                PLUMB_SO_ACCEPTCONN = 30, /* to be read, as the next two */
                PLUMB_SO_PROTOCOL = 38,
                PLUMB_SO_DOMAIN = 39,
};

enum plumb_tcp_so {
    PLUMB_TCP_SO_NODELAY = 1,
    PLUMB_TCP_SO_MAXSEG = 2,        /* bytes of payload sent at once; can be lowered */
    PLUMB_TCP_SO_KEEPIDLE = 4,      /* seconds */
    PLUMB_TCP_SO_INFO = 11,         /* to be read: struct plumb_tcp_info */
    PLUMB_TCP_SO_USER_TIMEOUT = 18, /* milliseconds */
};

struct plumb_linger {
    int l_onoff;
    int l_linger; /* seconds; 0: close() sends a RST */
};

struct plumb_timeval {
    int64_t tv_sec;
    int64_t tv_usec;
};

int plumb_getsockopt(struct plumb_sockets *sockets, int fd, int level, int option, void *value,
                     plumb_socklen *length);
int plumb_setsockopt(struct plumb_sockets *sockets, int fd, int level, int option,
                     const void *value, plumb_socklen length);

enum { PLUMB_F_GETFL = 3, PLUMB_F_SETFL = 4, PLUMB_O_NONBLOCK = 04000 };

/* F_GETFL, and F_SETFL of PLUMB_O_NONBLOCK. */
int plumb_fcntl(struct plumb_sockets *sockets, int fd, int command, int argument);

enum { PLUMB_FIONREAD = 0x541b, PLUMB_FIONBIO = 0x5421 };

/* FIONREAD: bytes that a read would return; FIONBIO: the same as O_NONBLOCK. */
int plumb_ioctl(struct plumb_sockets *sockets, int fd, unsigned long request, int *argument);

/* ---- waiting for several ---- */

enum plumb_pollbit {
    PLUMB_POLLIN = 1,
    PLUMB_POLLPRI = 2, /* never */
    PLUMB_POLLOUT = 4,
    PLUMB_POLLERR = 8,
    PLUMB_POLLHUP = 0x10,
    PLUMB_POLLNVAL = 0x20,
    PLUMB_POLLRDHUP = 0x2000,
};

struct plumb_pollfd {
    int fd; /* negative: passed over */
    int16_t events;
    int16_t revents;
};

/* poll(2), as plumb_poll() is the stack's. Milliseconds; negative: for ever. */
int plumb_pollfds(struct plumb_sockets *sockets, struct plumb_pollfd *fds, unsigned count,
                  int timeout_ms);

#define PLUMB_FD_SETSIZE CONFIG_PLUMB_SOCKETS_MOST

typedef struct {
    uint32_t bits[(PLUMB_FD_SETSIZE + 31) / 32];
} plumb_fd_set;

static inline void plumb_fd_zero(plumb_fd_set *set) {
    *set = (plumb_fd_set){{0}};
}

static inline void plumb_fd_add(int fd, plumb_fd_set *set) {
    set->bits[(unsigned)fd / 32] |= 1U << (unsigned)fd % 32;
}

static inline void plumb_fd_remove(int fd, plumb_fd_set *set) {
    set->bits[(unsigned)fd / 32] &= ~(1U << (unsigned)fd % 32);
}

static inline bool plumb_fd_has(int fd, const plumb_fd_set *set) {
    return set->bits[(unsigned)fd / 32] >> (unsigned)fd % 32 & 1;
}

/* Sets and time may be null, the latter: for ever. `count` is at most PLUMB_FD_SETSIZE. */
int plumb_select(struct plumb_sockets *sockets, int count, plumb_fd_set *readable,
                 plumb_fd_set *writable, plumb_fd_set *exceptional,
                 const struct plumb_timeval *timeout);

#ifdef __cplusplus
}
#endif

#endif
