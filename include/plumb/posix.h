/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * <plumb/socket.h> under POSIX's names and with errno, for code written for <sys/socket.h>.
 *
 * Everything is a macro. Include it behind all other headers, and in files whose descriptors are
 * all Plumb's: close(), poll() and select() there are about nothing else. The C library has to
 * have <errno.h> with POSIX's numbers; plumb_posix (ports/posix) is to be linked.
 *
 *     plumb_posix_use(sockets);
 *     int fd = socket(AF_INET, SOCK_STREAM, 0);
 *     if (connect(fd, (struct sockaddr *)&there, sizeof there) < 0 && errno == ECONNREFUSED) ...
 */
#ifndef PLUMB_POSIX_H
#define PLUMB_POSIX_H

#include <errno.h>

#include <plumb/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whose sockets the names below are about; to be called before any. */
void plumb_posix_use(struct plumb_sockets *sockets);

struct plumb_sockets *plumb_posix_sockets(void);

/* A result of <plumb/socket.h>'s: itself, or -1 with errno set. */
int plumb_posix_result(int result);

#ifdef __cplusplus
}
#endif

#define PLUMB_POSIX_(call, ...) plumb_posix_result(call(plumb_posix_sockets(), __VA_ARGS__))

#define socket(...)      PLUMB_POSIX_(plumb_socket, __VA_ARGS__)
#define bind(...)        PLUMB_POSIX_(plumb_bind, __VA_ARGS__)
#define listen(...)      PLUMB_POSIX_(plumb_listen, __VA_ARGS__)
#define accept(...)      PLUMB_POSIX_(plumb_accept, __VA_ARGS__)
#define accept4(...)     PLUMB_POSIX_(plumb_accept4, __VA_ARGS__)
#define connect(...)     PLUMB_POSIX_(plumb_connect, __VA_ARGS__)
#define shutdown(...)    PLUMB_POSIX_(plumb_shutdown, __VA_ARGS__)
#define close(...)       PLUMB_POSIX_(plumb_close, __VA_ARGS__)
#define getsockname(...) PLUMB_POSIX_(plumb_getsockname, __VA_ARGS__)
#define getpeername(...) PLUMB_POSIX_(plumb_getpeername, __VA_ARGS__)
#define send(...)        PLUMB_POSIX_(plumb_send, __VA_ARGS__)
#define sendto(...)      PLUMB_POSIX_(plumb_sendto, __VA_ARGS__)
#define sendmsg(...)     PLUMB_POSIX_(plumb_sendmsg, __VA_ARGS__)
#define writev(...)      PLUMB_POSIX_(plumb_writev, __VA_ARGS__)
#define write(...)       PLUMB_POSIX_(plumb_send, __VA_ARGS__, 0)
#define recv(...)        PLUMB_POSIX_(plumb_recv, __VA_ARGS__)
#define recvfrom(...)    PLUMB_POSIX_(plumb_recvfrom, __VA_ARGS__)
#define recvmsg(...)     PLUMB_POSIX_(plumb_recvmsg, __VA_ARGS__)
#define readv(...)       PLUMB_POSIX_(plumb_readv, __VA_ARGS__)
#define read(...)        PLUMB_POSIX_(plumb_recv, __VA_ARGS__, 0)
#define getsockopt(...)  PLUMB_POSIX_(plumb_getsockopt, __VA_ARGS__)
#define setsockopt(...)  PLUMB_POSIX_(plumb_setsockopt, __VA_ARGS__)
#define fcntl(...)       PLUMB_POSIX_(plumb_fcntl, __VA_ARGS__)
#define ioctl(...)       PLUMB_POSIX_(plumb_ioctl, __VA_ARGS__)
#define poll(...)        PLUMB_POSIX_(plumb_pollfds, __VA_ARGS__)
#define select(...)      PLUMB_POSIX_(plumb_select, __VA_ARGS__)

/* Types. */
#define sockaddr         plumb_sockaddr
#define sockaddr_in      plumb_sockaddr_in
#define sockaddr_storage plumb_sockaddr_storage
#define in_addr          plumb_in_addr
#define socklen_t        plumb_socklen
#define msghdr           plumb_msghdr
#define iovec            plumb_iov
#define linger           plumb_linger
#define timeval          plumb_timeval
#define pollfd           plumb_pollfd
#define tcp_info         plumb_tcp_info
#define fd_set           plumb_fd_set
#define in_addr_t        uint32_t
#define in_port_t        uint16_t

/* What other headers may have defined with the values of another system. */
#undef AF_UNSPEC
#undef AF_INET
#undef SOCK_STREAM
#undef SOCK_DGRAM
#undef SOCK_NONBLOCK
#undef IPPROTO_TCP
#undef IPPROTO_UDP
#undef SHUT_RD
#undef SHUT_WR
#undef SHUT_RDWR
#undef MSG_OOB
#undef MSG_PEEK
#undef MSG_TRUNC
#undef MSG_DONTWAIT
#undef MSG_WAITALL
#undef MSG_NOSIGNAL
#undef SOL_SOCKET
#undef SO_REUSEADDR
#undef SO_TYPE
#undef SO_ERROR
#undef SO_BROADCAST
#undef SO_SNDBUF
#undef SO_RCVBUF
#undef SO_KEEPALIVE
#undef SO_LINGER
#undef SO_RCVTIMEO
#undef SO_SNDTIMEO
#undef SO_ACCEPTCONN
#undef SO_PROTOCOL
#undef SO_DOMAIN
#undef TCP_NODELAY
#undef TCP_MAXSEG
#undef TCP_KEEPIDLE
#undef TCP_INFO
#undef TCP_USER_TIMEOUT
#undef F_GETFL
#undef F_SETFL
#undef O_NONBLOCK
#undef FIONREAD
#undef FIONBIO
#undef POLLIN
#undef POLLPRI
#undef POLLOUT
#undef POLLERR
#undef POLLHUP
#undef POLLNVAL
#undef POLLRDHUP
#undef FD_SETSIZE
#undef FD_ZERO
#undef FD_SET
#undef FD_CLR
#undef FD_ISSET
#undef INADDR_ANY
#undef INADDR_BROADCAST
#undef htons
#undef ntohs
#undef htonl
#undef ntohl

#define AF_UNSPEC        PLUMB_AF_UNSPEC
#define AF_INET          PLUMB_AF_INET
#define SOCK_STREAM      PLUMB_SOCK_STREAM
#define SOCK_DGRAM       PLUMB_SOCK_DGRAM
#define SOCK_NONBLOCK    PLUMB_SOCK_NONBLOCK
#define IPPROTO_TCP      PLUMB_IPPROTO_TCP
#define IPPROTO_UDP      PLUMB_IPPROTO_UDP
#define SHUT_RD          PLUMB_SHUT_RD
#define SHUT_WR          PLUMB_SHUT_WR
#define SHUT_RDWR        PLUMB_SHUT_RDWR
#define MSG_OOB          PLUMB_MSG_OOB
#define MSG_PEEK         PLUMB_MSG_PEEK
#define MSG_TRUNC        PLUMB_MSG_TRUNC
#define MSG_DONTWAIT     PLUMB_MSG_DONTWAIT
#define MSG_WAITALL      PLUMB_MSG_WAITALL
#define MSG_NOSIGNAL     PLUMB_MSG_NOSIGNAL
#define SOL_SOCKET       PLUMB_SOL_SOCKET
#define SO_REUSEADDR     PLUMB_SO_REUSEADDR
#define SO_TYPE          PLUMB_SO_TYPE
#define SO_ERROR         PLUMB_SO_ERROR
#define SO_BROADCAST     PLUMB_SO_BROADCAST
#define SO_SNDBUF        PLUMB_SO_SNDBUF
#define SO_RCVBUF        PLUMB_SO_RCVBUF
#define SO_KEEPALIVE     PLUMB_SO_KEEPALIVE
#define SO_LINGER        PLUMB_SO_LINGER
#define SO_RCVTIMEO      PLUMB_SO_RCVTIMEO
#define SO_SNDTIMEO      PLUMB_SO_SNDTIMEO
#define SO_ACCEPTCONN    PLUMB_SO_ACCEPTCONN
#define SO_PROTOCOL      PLUMB_SO_PROTOCOL
#define SO_DOMAIN        PLUMB_SO_DOMAIN
#define TCP_NODELAY      PLUMB_TCP_SO_NODELAY
#define TCP_MAXSEG       PLUMB_TCP_SO_MAXSEG
#define TCP_KEEPIDLE     PLUMB_TCP_SO_KEEPIDLE
#define TCP_INFO         PLUMB_TCP_SO_INFO
#define TCP_USER_TIMEOUT PLUMB_TCP_SO_USER_TIMEOUT
#define F_GETFL          PLUMB_F_GETFL
#define F_SETFL          PLUMB_F_SETFL
#define O_NONBLOCK       PLUMB_O_NONBLOCK
#define FIONREAD         PLUMB_FIONREAD
#define FIONBIO          PLUMB_FIONBIO
#define POLLIN           PLUMB_POLLIN
#define POLLPRI          PLUMB_POLLPRI
#define POLLOUT          PLUMB_POLLOUT
#define POLLERR          PLUMB_POLLERR
#define POLLHUP          PLUMB_POLLHUP
#define POLLNVAL         PLUMB_POLLNVAL
#define POLLRDHUP        PLUMB_POLLRDHUP
#define FD_SETSIZE       PLUMB_FD_SETSIZE
#define FD_ZERO          plumb_fd_zero
#define FD_SET           plumb_fd_add
#define FD_CLR           plumb_fd_remove
#define FD_ISSET         plumb_fd_has
#define INADDR_ANY       0U
#define INADDR_BROADCAST 0xffffffffU
#define htons(number)    (plumb_put16(number).be)
#define ntohs(number)    plumb_get16((plumb_be16){number})
#define htonl(number)    (plumb_put32(number).be)
#define ntohl(number)    plumb_get32((plumb_be32){number})

#endif
