/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The TAP driver and what goes beside its frames: a virtio header in front of each. The device is
 * one end of a pair of kernel sockets; the test, or another stack, has the other.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/virtio_net.h>

#include "harness.h"
#include "tap.h"

enum { PACKETS = 400, BUFFER = PLUMB_DMA_WHOLE_LINES(1600), LONGEST = 66000, SUPER = 60000 };
enum { PORT = 80, BYTES = 3000000, PART = 30000, SEED = 5, TURNS_MOST = 100000, MSS = 1448 };

struct host {
    struct plumb_packet descriptors[PACKETS];
    _Alignas(PLUMB_DMA_LINE) uint8_t buffers[PACKETS * BUFFER];
    struct plumb_pool pool;
    PLUMB_STACK_MEMORY(memory);
    struct plumb *stack;
    struct plumb_tap tap;
};

/* A frame on its way, with its header. */
struct parcel {
    struct virtio_net_hdr header;
    uint8_t bytes[LONGEST];
};

static struct host hosts[2];
static int other; /* the test's end */
static struct parcel parcel;
static struct plumb_packet *taken; /* what the driver passed up last */
static unsigned taken_count;

static const struct frame_path path = {.from_ethernet = {2, 0, 0, 0, 0, 9},
                                       .to_ethernet = {2, 0, 0, 0, 0, 1},
                                       .from = 0x0a000009,
                                       .to = 0x0a000001,
                                       .from_port = 4000,
                                       .to_port = PORT};

static void take(struct plumb_netif *netif, struct plumb_packet *packet) {
    (void)netif;
    plumb_packet_put(taken);
    taken = packet;
    taken_count++;
}

static int adopt(struct host *host, unsigned index, int fd, enum plumb_tap_offload offload) {
    const struct plumb_tap_config config = {
        .name = index ? "b" : "a",
        .pool = &host->pool,
        .address = plumb_ethernet_address((const uint8_t[]){2, 0, 0, 0, 0, (uint8_t)(1 + index)}),
        .offload = offload,
    };

    expect_equal(
        plumb_pool_create(&host->pool, host->descriptors, host->buffers, PACKETS, BUFFER, NULL),
        PLUMB_OK);
    return plumb_tap_adopt(&host->tap, fd, &config);
}

static void open_pair(int ends[2]) {
    const int room = 1 << 20;

    expect_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    for (unsigned i = 0; i < 2; i++)
        expect_equal(setsockopt(ends[i], SOL_SOCKET, SO_SNDBUF, &room, sizeof room), 0);
}

/* A driver without a stack. */
static struct plumb_netif *begin(enum plumb_tap_offload offload) {
    struct plumb_netif *netif = &hosts[0].tap.netif;
    int ends[2];

    open_pair(ends);
    other = ends[1];
    expect_equal(adopt(&hosts[0], 0, ends[0], offload), PLUMB_OK);
    netif->input = take;
    taken_count = 0;
    expect_equal(netif->driver->start(netif), PLUMB_OK);
    return netif;
}

static void end(struct plumb_netif *netif) {
    plumb_packet_put(taken);
    taken = NULL;
    netif->driver->stop(netif);
    plumb_tap_close(&hosts[0].tap);
    close(other);
    expect_equal(hosts[0].pool.free_count, PACKETS);
}

/* Has the driver read a frame; whether it was passed up. */
static bool receive(struct plumb_netif *netif, size_t length) {
    const unsigned before = taken_count;

    expect_equal(send(other, &parcel, sizeof parcel.header + length, 0),
                 (ssize_t)(sizeof parcel.header + length));
    expect_equal(netif->driver->poll(netif, 0, 4), taken_count - before);
    return taken_count != before;
}

/* ---- frames as a kernel gives them ---- */

/* A TCP segment of many, complete but for its checksum. */
static size_t make_super(unsigned payload) {
    struct frame frame = {0};

    frame_tcp(&frame, &path, 1000, 2000, TCP_ACK, 1000, NULL, 0, NULL, 0);
    memcpy(parcel.bytes, frame.bytes, frame.length);
    for (unsigned i = 0; i < payload; i++)
        parcel.bytes[frame.length + i] = pattern_at(SEED, i);
    parcel.header = (struct virtio_net_hdr){.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
                                            .gso_type = VIRTIO_NET_HDR_GSO_TCPV4,
                                            .hdr_len = FRAME_TCP_PAYLOAD,
                                            .gso_size = MSS,
                                            .csum_start = FRAME_TRANSPORT,
                                            .csum_offset = 16};
    return frame.length + payload;
}

/* A UDP datagram, its checksum that of the pseudo header. */
static size_t make_partial(struct frame *whole) {
    static const char text[] = "what the device is to sum";

    *whole = (struct frame){0};
    frame_udp(whole, &path, text, sizeof text);
    memcpy(parcel.bytes, whole->bytes, whole->length);
    const uint32_t sum = frame_sum(whole->bytes + FRAME_NETWORK + 12, 8, 17U + 8 + sizeof text);
    parcel.bytes[FRAME_TRANSPORT + 6] = (uint8_t)(sum >> 8);
    parcel.bytes[FRAME_TRANSPORT + 7] = (uint8_t)sum;
    parcel.header = (struct virtio_net_hdr){
        .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .csum_start = FRAME_TRANSPORT, .csum_offset = 6};
    return whole->length;
}

static void segments_come_as_one(void **state) {
    struct plumb_netif *netif = begin(PLUMB_TAP_OFFLOAD_SEGMENTS);
    static uint8_t bytes[SUPER];
    (void)state;
    expect(receive(netif, make_super(SUPER)));
    expect_equal(taken->total, SUPER + FRAME_TCP_PAYLOAD);
    expect(taken->flags & PLUMB_PACKET_CHECKSUM_GOOD);
    expect_equal(plumb_packet_copy_out(taken, FRAME_TCP_PAYLOAD, bytes, SUPER), SUPER);
    for (unsigned i = 0; i < SUPER; i++)
        expect_equal(bytes[i], pattern_at(SEED, i));
    expect(receive(netif, make_super(10))); /* and a short one behind it */
    expect_equal(taken->total, 10 + FRAME_TCP_PAYLOAD);
    expect(!taken->more);
    end(netif);
}

static void a_checksum_is_filled_in(void **state) {
    struct plumb_netif *netif = begin(PLUMB_TAP_OFFLOAD_CHECKSUMS);
    struct frame whole;
    (void)state;
    size_t length = make_partial(&whole);
    expect(receive(netif, length));
    expect_equal(memcmp(taken->data, whole.bytes, length), 0);
    length = make_super(500);
    parcel.header.gso_type = VIRTIO_NET_HDR_GSO_NONE;
    expect(receive(netif, length));
    expect(taken->flags & PLUMB_PACKET_CHECKSUM_GOOD);
    /* Of what the header does not speak, nothing is believed. */
    parcel.header.flags = 0;
    expect(receive(netif, length));
    expect(!(taken->flags & PLUMB_PACKET_CHECKSUM_GOOD));
    /* Nor is a TCP checksum good where another field is to be filled in. */
    parcel.header.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
    parcel.header.csum_start = FRAME_TCP_PAYLOAD;
    expect(receive(netif, length));
    expect(!(taken->flags & PLUMB_PACKET_CHECKSUM_GOOD));
    end(netif);
}

/* ---- headers that cannot be ---- */

static void expect_bad(struct plumb_netif *netif, size_t length, unsigned count) {
    expect(!receive(netif, length));
    expect_equal(netif->counters[PLUMB_NETIF_rx_bad_offload], count);
    for (unsigned i = 0; i < hosts[0].tap.landings; i++)
        expect(!hosts[0].tap.landing[i]->more && !hosts[0].tap.landing[i]->flags);
}

#define BAD(change)                                                                                \
    do {                                                                                           \
        length = make_super(SUPER);                                                                \
        change;                                                                                    \
        expect_bad(netif, length, ++count);                                                        \
    } while (0)

static void what_cannot_be_is_dropped(void **state) {
    struct plumb_netif *netif = begin(PLUMB_TAP_OFFLOAD_SEGMENTS);
    struct virtio_net_hdr *header = &parcel.header;
    unsigned count = 0;
    size_t length;
    (void)state;
    BAD(header->gso_size = 0);
    BAD(header->gso_type = VIRTIO_NET_HDR_GSO_UDP);
    BAD(header->gso_type = VIRTIO_NET_HDR_GSO_TCPV6);
    BAD(header->gso_type = VIRTIO_NET_HDR_GSO_ECN);
    BAD(header->flags = 0);
    BAD(header->flags |= 0x80);
    BAD(header->hdr_len = (uint16_t)(length + 1));
    BAD(header->hdr_len = UINT16_MAX);
    BAD(header->csum_start = UINT16_MAX);
    BAD(header->csum_offset = UINT16_MAX);
    BAD(header->csum_start = (uint16_t)(length - 17));
    BAD(header->csum_start = FRAME_TRANSPORT + 1); /* of a frame in several buffers */
    BAD(parcel.bytes[FRAME_NETWORK + 9] = 17);
    BAD(parcel.bytes[FRAME_NETWORK] = 0x65);
    BAD(parcel.bytes[FRAME_NETWORK] = 0x40);
    BAD(parcel.bytes[FRAME_NETWORK + 6] = 0x20); /* a fragment */
    BAD(parcel.bytes[12] = 0x86);
    BAD(length = FRAME_TRANSPORT + 19; header->hdr_len = 0);
    BAD(length = 13; header->hdr_len = 0);
    BAD(length = FRAME_TRANSPORT; header->hdr_len = 0; header->gso_type = 0);
    expect(receive(netif, make_super(SUPER))); /* and all goes on */
    end(netif);
}

static void what_is_too_long_is_dropped(void **state) {
    struct plumb_netif *netif = begin(PLUMB_TAP_OFFLOAD_SEGMENTS);
    size_t length = make_super(1520);
    (void)state;
    parcel.header.gso_type = VIRTIO_NET_HDR_GSO_NONE;
    expect(!receive(netif, length)); /* longer than the MTU, and not said to be several */
    expect(!receive(netif, make_super(UINT16_MAX + 1 - FRAME_TCP_PAYLOAD)));
    expect_equal(netif->counters[PLUMB_NETIF_rx_too_long], 2);
    expect(receive(netif, make_super(UINT16_MAX - FRAME_TCP_PAYLOAD)));
    /* What is cut off within the header is no frame. */
    expect_equal(send(other, &parcel, 4, 0), 4);
    expect_equal(netif->driver->poll(netif, 0, 4), 0);
    expect_equal(netif->counters[PLUMB_NETIF_rx_error], 1);
    end(netif);
}

static void an_empty_pool_costs_frames(void **state) {
    struct plumb_netif *netif = begin(PLUMB_TAP_OFFLOAD_SEGMENTS);
    struct plumb_packet *kept = NULL;
    (void)state;
    while (hosts[0].pool.free_count > 10) {
        struct plumb_packet *packet = plumb_packet_take(&hosts[0].pool, 0);
        packet->next = kept;
        kept = packet;
    }
    expect(!receive(netif, make_super(SUPER)));
    expect_equal(netif->counters[PLUMB_NETIF_rx_no_buffer], 1);
    expect(receive(netif, make_super(3000)));
    expect_equal(taken->total, 3000 + FRAME_TCP_PAYLOAD);
    while (kept) {
        struct plumb_packet *next = kept->next;
        plumb_packet_put(kept);
        kept = next;
    }
    expect(receive(netif, make_super(SUPER)));
    end(netif);
}

/* ---- sent ---- */

/* A frame in two fragments that leaves its checksum to the device. */
static struct plumb_packet *packet_of(const struct frame *frame, unsigned flags) {
    struct plumb_packet *front = plumb_packet_take(&hosts[0].pool, 2);
    struct plumb_packet *rest = plumb_packet_take(&hosts[0].pool, 0);
    const unsigned headers = FRAME_TCP_PAYLOAD;

    memcpy(front->data, frame->bytes, headers);
    memcpy(rest->data, frame->bytes + headers, frame->length - headers);
    front->length = (uint16_t)headers;
    rest->length = (uint16_t)(frame->length - headers);
    front->total = frame->length;
    front->more = rest;
    front->flags = (uint8_t)(PLUMB_PACKET_CHECKSUM_OFFLOAD | flags);
    front->mark = 100;
    return front;
}

static void what_is_left_to_the_device_is_said(void **state) {
    struct plumb_netif *netif = begin(PLUMB_TAP_OFFLOAD_SEGMENTS);
    struct frame frame = {0};
    uint8_t bytes[400] = {7};
    (void)state;
    frame_tcp(&frame, &path, 1, 2, TCP_ACK, 9, NULL, 0, bytes, sizeof bytes);
    struct plumb_packet *packet = packet_of(&frame, PLUMB_PACKET_SEGMENTS);
    expect_equal(netif->driver->transmit(netif, packet), PLUMB_OK);
    expect_equal(recv(other, &parcel, sizeof parcel, 0),
                 (ssize_t)(sizeof parcel.header + frame.length));
    expect_equal(parcel.header.flags, VIRTIO_NET_HDR_F_NEEDS_CSUM);
    expect_equal(parcel.header.gso_type, VIRTIO_NET_HDR_GSO_TCPV4);
    expect_equal(parcel.header.gso_size, 100);
    expect_equal(parcel.header.hdr_len, FRAME_TCP_PAYLOAD);
    expect_equal(parcel.header.csum_start, FRAME_TRANSPORT);
    expect_equal(parcel.header.csum_offset, 16);
    /* Summing from there on gives the checksum that the frame was built with. */
    const uint32_t sum =
        frame_sum(parcel.bytes + FRAME_TRANSPORT, frame.length - FRAME_TRANSPORT, 0);
    expect_equal((uint16_t)~sum, frame_get16(&frame, FRAME_TRANSPORT + 16));
    expect_equal(memcmp(packet->data, frame.bytes, FRAME_TCP_PAYLOAD), 0); /* as it was */
    /* No header can be made of what is no datagram. */
    packet->data[FRAME_NETWORK] = 0x4f;
    expect_equal(netif->driver->transmit(netif, packet), PLUMB_OK);
    expect_equal(netif->counters[PLUMB_NETIF_tx_error], 1);
    expect(recv(other, &parcel, sizeof parcel, 0) < 0);
    plumb_packet_put(packet);
    end(netif);
}

/* ---- two stacks ---- */

struct stream {
    struct plumb_tcp *connection;
    uint32_t seed, sent, received;
    bool peer_closed;
};

static struct stream streams[2];
static unsigned longer; /* frames that were longer than the MTU */

static void send_more(struct stream *stream) {
    static uint8_t bytes[PART];

    while (stream->sent < BYTES) {
        const uint32_t left = BYTES - stream->sent, length = left < PART ? left : PART;
        for (unsigned i = 0; i < length; i++)
            bytes[i] = pattern_at(stream->seed, stream->sent + i);
        int count = plumb_tcp_send(stream->connection, bytes, length);
        if (count <= 0)
            return;
        stream->sent += (uint32_t)count;
    }
    if (stream->sent == BYTES) {
        stream->sent++;
        plumb_tcp_shutdown(stream->connection);
    }
}

static void handle(struct plumb_tcp *connection, unsigned events, void *context) {
    struct stream *stream = context;
    struct plumb_iovec vector;

    stream->connection = connection;
    if (events & (PLUMB_TCP_CONNECTED | PLUMB_TCP_WRITABLE))
        send_more(stream);
    while (events & PLUMB_TCP_READABLE && plumb_tcp_peek(connection, &vector, 1)) {
        for (uint32_t i = 0; i < vector.length; i++)
            expect_equal(vector.data[i], pattern_at(stream->seed ^ 1, stream->received + i));
        stream->received += (uint32_t)vector.length;
        plumb_tcp_consume(connection, vector.length);
    }
    stream->peer_closed |= (events & PLUMB_TCP_PEER_CLOSED) != 0;
}

static void accepted(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                     void *context) {
    (void)listener;
    plumb_tcp_set_handler(connection, handle, context);
    streams[1].connection = connection;
    send_more(&streams[1]);
}

static void observe(struct plumb_netif *netif, const struct plumb_packet *packet, bool sent,
                    void *context) {
    (void)context;
    longer += sent && packet->total > netif->mtu + 14;
}

static void begin_stack(unsigned index, int fd, enum plumb_tap_offload offload) {
    struct host *host = &hosts[index];
    const struct plumb_options options = {
        .seed = {index + 1, 2}, .segments = &host->pool, .headers = &host->pool};

    expect_equal(adopt(host, index, fd, offload), PLUMB_OK);
    expect_equal(plumb_create(&host->stack, host->memory, sizeof host->memory, &options), PLUMB_OK);
    plumb_poll(host->stack, 1000);
    expect_equal(plumb_netif_attach(host->stack, &host->tap.netif), PLUMB_OK);
    expect_equal(plumb_netif_set_ipv4(&host->tap.netif, ipv4_of(0x0a000001 + index),
                                      ipv4_of(0xffffff00), PLUMB_IPV4_ANY),
                 PLUMB_OK);
    plumb_netif_observe(&host->tap.netif, observe, NULL);
    streams[index] = (struct stream){.seed = SEED ^ index};
}

static void exchange(enum plumb_tap_offload offload) {
    struct plumb_tcp_listener *listener;
    uint64_t now_us = 1000;
    int ends[2];

    open_pair(ends);
    longer = 0;
    begin_stack(0, ends[0], offload);
    begin_stack(1, ends[1], offload);
    expect_equal(
        plumb_tcp_listen(hosts[1].stack, endpoint_of(0, PORT), 4, accepted, &streams[1], &listener),
        PLUMB_OK);
    expect_equal(plumb_tcp_connect(hosts[0].stack, endpoint_of(0x0a000002, PORT), 0, handle,
                                   &streams[0], &streams[0].connection),
                 PLUMB_OK);
    for (unsigned turn = 0; !streams[0].peer_closed || !streams[1].peer_closed; turn++) {
        expect(turn < TURNS_MOST);
        now_us += 200;
        plumb_poll(hosts[turn % 2].stack, now_us);
    }
    for (unsigned i = 0; i < 2; i++) {
        expect_equal(streams[i].received, BYTES);
        expect_equal(hosts[i].tap.netif.counters[PLUMB_NETIF_rx_bad_offload], 0);
        expect_equal(plumb_counter(hosts[i].stack, PLUMB_COUNTER_tcp_checksum), 0);
        expect_equal(plumb_counter(hosts[i].stack, PLUMB_COUNTER_ipv4_checksum), 0);
        expect_equal(plumb_counter(hosts[i].stack, PLUMB_COUNTER_tcp_retransmitted), 0);
        plumb_destroy(hosts[i].stack);
        plumb_tap_close(&hosts[i].tap);
        expect_equal(hosts[i].pool.free_count, PACKETS);
    }
}

static void two_stacks_leave_segments_to_the_device(void **state) {
    (void)state;
    exchange(PLUMB_TAP_OFFLOAD_SEGMENTS);
    expect(longer > BYTES / 65536);
}

static void two_stacks_leave_checksums_to_the_device(void **state) {
    (void)state;
    exchange(PLUMB_TAP_OFFLOAD_CHECKSUMS);
    expect_equal(longer, 0);
}

static void two_stacks_leave_nothing_to_the_device(void **state) {
    (void)state;
    exchange(PLUMB_TAP_OFFLOAD_NONE);
    expect_equal(longer, 0);
}

static void too_few_buffers_are_refused(void **state) {
    const struct plumb_tap_config config = {
        .name = "a", .pool = &hosts[0].pool, .offload = PLUMB_TAP_OFFLOAD_SEGMENTS};
    (void)state;
    expect_equal(
        plumb_pool_create(&hosts[0].pool, hosts[0].descriptors, hosts[0].buffers, 80, BUFFER, NULL),
        PLUMB_OK);
    expect_equal(plumb_tap_adopt(&hosts[0].tap, -1, &config), PLUMB_ERROR_INVALID);
}

HARNESS_MAIN(cmocka_unit_test(segments_come_as_one), cmocka_unit_test(a_checksum_is_filled_in),
             cmocka_unit_test(what_cannot_be_is_dropped),
             cmocka_unit_test(what_is_too_long_is_dropped),
             cmocka_unit_test(an_empty_pool_costs_frames),
             cmocka_unit_test(what_is_left_to_the_device_is_said),
             cmocka_unit_test(two_stacks_leave_segments_to_the_device),
             cmocka_unit_test(two_stacks_leave_checksums_to_the_device),
             cmocka_unit_test(two_stacks_leave_nothing_to_the_device),
             cmocka_unit_test(too_few_buffers_are_refused))
