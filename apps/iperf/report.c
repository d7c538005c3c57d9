/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Transfers: when one begins, when it ends, and what is said then.
 *
 * What holds: from board_measure_start() to board_measure_stop() nothing is
 * printed. An interval lasts from the first payload of any stream until no
 * stream is left; the directions of a two-way test share one.
 */
#include "iperf.h"

static const char names[TRANSFERS][8] = {"tcp_rx", "tcp_tx", "udp_rx", "udp_tx"};

static void print_drop(const char *owner, const char *dot, const struct plumb_counter_info *info,
                       uint32_t value) {
    if (info->drop && value)
        board_print("counter: %s%s%s=%u\n", owner, dot, info->name, (unsigned)value);
}

static void print_drops(const struct iperf *iperf) {
    const struct plumb_counter_info *info;
    const struct plumb_netif *netif = iperf->netif;
    for (unsigned i = 0; (info = plumb_counter_info(i)); i++)
        print_drop("", "", info, plumb_counter(iperf->stack, (enum plumb_counter)i));
    for (unsigned i = 0; (info = plumb_netif_counter_info(i)); i++)
        print_drop(netif->name, ".", info, netif->counters[i]);
}

static void print_group(const char *name, const struct group *group) {
    board_print("transfer: case=%s bytes=%llu packets=%u datagrams_lost=%u acks=%u time_us=%llu\n",
                name, (unsigned long long)group->bytes, (unsigned)group->packets,
                (unsigned)group->lost, (unsigned)group->acks,
                (unsigned long long)(group->last_us - group->first_us));
}

static void finish(struct iperf *iperf) {
    if (!iperf->measuring)
        return;
    board_measure_stop();
    iperf->measuring = false;
    for (unsigned i = 0; i < TRANSFERS; i++) {
        if (iperf->groups[i].begun)
            print_group(names[i], &iperf->groups[i]);
        iperf->groups[i].begun = false;
    }
    print_drops(iperf);
}

static struct group *group_of(struct stream *stream, enum direction direction) {
    return &stream->iperf->groups[2 * stream->protocol + direction];
}

void report_join(struct stream *stream, enum direction direction) {
    stream->active = (uint8_t)(stream->active | 1U << direction);
    stream->iperf->members++;
}

void report_begin(struct stream *stream, enum direction direction) {
    struct group *group = group_of(stream, direction);
    if (group->begun)
        return;
    *group = (struct group){.begun = true};
    if (!stream->iperf->measuring) {
        stream->iperf->measuring = true;
        board_measure_start();
    }
    group->first_us = group->last_us = board_now_us();
}

static void count_segments(struct group *group, const struct plumb_tcp *connection,
                           enum direction direction) {
    struct plumb_tcp_info info;
    plumb_tcp_get_info(connection, &info);
    group->packets += direction == SENDING ? info.segments_out : info.segments_in;
    group->acks += info.acks_out;
}

void report_leave(struct stream *stream, enum direction direction) {
    struct group *group = group_of(stream, direction);
    if (!(stream->active >> direction & 1))
        return;
    stream->active = (uint8_t)(stream->active ^ 1U << direction);
    if (group->begun) {
        group->last_us = board_now_us();
        group->bytes += stream->bytes[direction];
        group->packets += stream->packets[direction];
        if (stream->protocol == PROTOCOL_TCP)
            count_segments(group, stream->connection, direction);
        else if (direction == RECEIVING)
            group->lost += arrival_lost(&stream->arrival);
    }
    if (!--stream->iperf->members)
        finish(stream->iperf);
}
