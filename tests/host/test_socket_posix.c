/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Sockets under POSIX's names, waiting by the superloop's port: a client that could be anybody's.
 */
#include <string.h>

#include "socket_rig.h"
#include "superloop.h"

static struct rig rig;
static struct plumb_superloop loop;
static int server = -1, listener;

/* The other end, which is somebody else: it answers with what it got. */
static void answer(void) {
    char bytes[100];
    if (server < 0)
        server = plumb_accept(rig.b, listener, NULL, NULL);
    int length = plumb_recv(rig.b, server, bytes, sizeof bytes, 0);
    if (length > 0)
        plumb_send(rig.b, server, bytes, (size_t)length, 0);
    else if (length == 0)
        plumb_close(rig.b, server);
}

static uint64_t now_us(void) {
    return rig.world->now_us;
}

/* Time passes, and the other end gets its turn. */
static void idle(uint64_t deadline_us) {
    uint64_t left = deadline_us - rig.world->now_us;
    world_run(rig.world, left < 100 * MILLISECOND ? left : 100 * MILLISECOND);
    answer();
}

#include <plumb/posix.h>

static void begin(void) {
    static PLUMB_SOCKETS_MEMORY(memory);
    struct plumb_sockets *sockets;

    rig_create(&rig, NULL, true);
    server = -1;
    plumb_superloop_create(&loop, now_us, idle);
    expect_equal(
        plumb_sockets_create(&sockets, memory, sizeof memory, rig.world->a.stack, &loop.port),
        PLUMB_OK);
    plumb_superloop_begin(&loop, sockets);
    plumb_posix_use(sockets);
    listener = rig_listen(&rig, 1);
}

static void end(void) {
    plumb_sockets_destroy(plumb_posix_sockets());
    rig_end(&rig);
}

static struct sockaddr_in server_address(uint16_t port) {
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(0x0a000002);
    return address;
}

static void a_client_of_no_system(void **state) {
    (void)state;
    begin();
    struct sockaddr_in there = server_address(RIG_PORT), own;
    socklen_t length = sizeof own;
    struct pollfd one;
    char bytes[100];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    expect_equal(connect(fd, (struct sockaddr *)&there, sizeof there), 0);
    expect_equal(getsockname(fd, (struct sockaddr *)&own, &length), 0);
    expect(ntohs(own.sin_port) >= 49152);
    expect_equal(ntohl(own.sin_addr.s_addr), 0x0a000001);
    expect_equal(write(fd, "hello", 5), 5);
    one = (struct pollfd){fd, POLLIN, 0};
    expect_equal(poll(&one, 1, 1000), 1);
    expect_equal(read(fd, bytes, sizeof bytes), 5);
    expect_equal(shutdown(fd, SHUT_WR), 0);
    expect_equal(read(fd, bytes, sizeof bytes), 0);
    expect_equal(close(fd), 0);
    end();
}

static void errno_is_set(void **state) {
    (void)state;
    begin();
    struct sockaddr_in there = server_address(9);
    fd_set set;
    struct timeval time = {0, 30000};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    errno = 0;
    expect_equal(connect(fd, (struct sockaddr *)&there, sizeof there), -1);
    expect_equal(errno, ECONNREFUSED);
    expect_equal(write(fd, "x", 1), -1);
    expect_equal(errno, ENOTCONN);
    expect_equal(close(17), -1);
    expect_equal(errno, EBADF);
    expect_equal(socket(AF_INET, 99, 0), -1);
    expect_equal(errno, EPROTOTYPE);
    there = server_address(RIG_PORT);
    expect_equal(connect(fd, (struct sockaddr *)&there, sizeof there), 0);
    expect_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL, 0) | O_NONBLOCK), 0);
    expect_equal(read(fd, &time, 1), -1);
    expect_equal(errno, EAGAIN);
    FD_ZERO(&set);
    FD_SET(fd, &set);
    uint64_t before = rig.world->now_us;
    expect_equal(select(fd + 1, &set, NULL, NULL, &time), 0);
    expect_equal(rig.world->now_us - before, 30000);
    expect(!FD_ISSET(fd, &set));
    end();
}

HARNESS_MAIN(cmocka_unit_test(a_client_of_no_system), cmocka_unit_test(errno_is_set))
