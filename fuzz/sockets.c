/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A program of socket calls on two hosts, in any order: each returns what it may, only bytes
 * that were sent are received, and when the sockets are destroyed every buffer is at home.
 *
 * The input is a list of calls of 4 bytes: the call and whose it is, the descriptor, and two
 * that mean what the call makes of them.
 */
#include <stdlib.h>
#include <string.h>

#include <plumb/socket.h>

#include "live.h"

enum { CALL = 4, CALLS_MOST = 200, SENT_BYTE = 0x5a, LARGEST = 3000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct rig {
    struct plumb_sockets *sockets[2];
    uint64_t memory[2][(PLUMB_SOCKETS_BYTES + 7) / 8];
};

static struct rig rig, rig_before;
static struct live *before;

static void begin(void) {
    if (!before) {
        live_create(2);
        for (unsigned i = 0; i < 2; i++)
            live_expect(!plumb_sockets_create(&rig.sockets[i], rig.memory[i], sizeof rig.memory[i],
                                              live.host[i].stack, NULL),
                        "no sockets");
        before = malloc(sizeof *before);
        memcpy(before, &live, sizeof live);
        rig_before = rig;
    }
    memcpy(&live, before, sizeof live);
    rig = rig_before;
}

static struct plumb_sockaddr_in address_of(unsigned choice) {
    static const uint32_t addresses[] = {FRAME_IPV4(10, 0, 0, 1),   FRAME_IPV4(10, 0, 0, 2),
                                         FRAME_IPV4(10, 0, 0, 3),   0,
                                         FRAME_IPV4(10, 0, 0, 255), 0xffffffff};
    struct plumb_endpoint endpoint = {plumb_put32(addresses[(choice >> 3) % 6]),
                                      (uint16_t)(choice & 7)};

    return plumb_sockaddr_of(endpoint);
}

/* Zero or more, or an error that there is. */
static int checked(int result, int most) {
    live_expect(result <= most, "a call returns more than it may");
    live_expect(result > -200, "a call returns no error that there is");
    return result;
}

static void receive(struct plumb_sockets *sockets, int fd, unsigned length, int flags) {
    static uint8_t bytes[LARGEST];
    struct plumb_sockaddr_in from;
    plumb_socklen size = sizeof from;

    length = length * 16 % LARGEST;
    memset(bytes, 0, length);
    int got = checked(plumb_recvfrom(sockets, fd, bytes, length, flags, &from, &size), LARGEST);
    for (int i = 0; i < got && i < (int)length; i++)
        live_expect(bytes[i] == SENT_BYTE, "a byte is received that was not sent");
}

static void send(struct plumb_sockets *sockets, int fd, unsigned to, unsigned length) {
    static uint8_t bytes[LARGEST];
    struct plumb_sockaddr_in there = address_of(to);

    length = length * 16 % LARGEST;
    memset(bytes, SENT_BYTE, length);
    checked(to & 64 ? plumb_sendto(sockets, fd, bytes, length, 0, &there, sizeof there)
                    : plumb_send(sockets, fd, bytes, length, to & 7),
            (int)length);
}

static void set_option(struct plumb_sockets *sockets, int fd, unsigned which, unsigned value) {
    static const int levels[] = {PLUMB_SOL_SOCKET, PLUMB_IPPROTO_TCP};
    struct plumb_linger linger = {(int)(value & 1), (int)(value >> 1)};
    int word = value & 128 ? -(int)value : (int)value * 64, level = levels[which & 1];
    plumb_socklen length = sizeof word;

    if (which & 2)
        checked(plumb_setsockopt(sockets, fd, level, (int)which >> 2, &linger, sizeof linger), 0);
    else
        checked(plumb_setsockopt(sockets, fd, level, (int)which >> 2, &word, sizeof word), 0);
    checked(plumb_getsockopt(sockets, fd, level, (int)which >> 2, &word, &length), 0);
}

static void look(struct plumb_sockets *sockets, int fd) {
    struct plumb_pollfd one = {fd, PLUMB_POLLIN | PLUMB_POLLOUT | PLUMB_POLLRDHUP, 0};
    struct plumb_sockaddr_in address;
    plumb_socklen length = sizeof address;
    int waiting = 0;

    checked(plumb_pollfds(sockets, &one, 1, 0), 1);
    if (checked(plumb_ioctl(sockets, fd, PLUMB_FIONREAD, &waiting), 0) == 0)
        live_expect(waiting >= 0 && waiting <= 1 << 20, "more waits than can");
    checked(plumb_getsockname(sockets, fd, &address, &length), 0);
    checked(plumb_getpeername(sockets, fd, &address, &length), 0);
}

static void call(const uint8_t *bytes) {
    struct plumb_sockets *sockets = rig.sockets[bytes[0] & 1];
    const unsigned x = bytes[2], y = bytes[3];
    struct plumb_sockaddr_in address = address_of(x);
    int fd = bytes[1] % (CONFIG_PLUMB_SOCKETS_MOST + 1);

    switch ((bytes[0] >> 1) % 15) {
    case 0:
    case 1:
        checked(plumb_socket(sockets, PLUMB_AF_INET,
                             (x & 1 ? PLUMB_SOCK_STREAM : PLUMB_SOCK_DGRAM) |
                                 (x & 2 ? 0 : PLUMB_SOCK_NONBLOCK),
                             0),
                CONFIG_PLUMB_SOCKETS_MOST - 1);
        break;
    case 2:
        checked(plumb_bind(sockets, fd, &address, sizeof address), 0);
        break;
    case 3:
        checked(plumb_listen(sockets, fd, (int8_t)x), 0);
        break;
    case 4:
        checked(plumb_accept4(sockets, fd, NULL, NULL, x & 1 ? PLUMB_SOCK_NONBLOCK : 0),
                CONFIG_PLUMB_SOCKETS_MOST - 1);
        break;
    case 5:
        checked(plumb_connect(sockets, fd, &address, sizeof address), 0);
        break;
    case 6:
    case 7:
        send(sockets, fd, x, y);
        break;
    case 8:
    case 9:
        receive(sockets, fd, x, y & PLUMB_MSG_PEEK);
        break;
    case 10:
        checked(plumb_shutdown(sockets, fd, (int)(x % 4)), 0);
        break;
    case 11:
        checked(plumb_close(sockets, fd), 0);
        break;
    case 12:
        set_option(sockets, fd, x, y);
        break;
    case 13:
        look(sockets, fd);
        break;
    default:
        live_wait(x << (y % 20));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    begin();
    for (unsigned count = 0; size >= CALL && count < CALLS_MOST; count++) {
        call(data);
        live_settle();
        data += CALL;
        size -= CALL;
    }
    plumb_sockets_destroy(rig.sockets[0]);
    plumb_sockets_destroy(rig.sockets[1]);
    live_end();
    return 0;
}
