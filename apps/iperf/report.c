/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Transfers: when one begins, when it ends, and what is said then.
 *
 * What holds: from board_measure_start() to board_measure_stop() nothing is
 * printed. An interval lasts from the first payload of any stream until no
 * stream is left; the directions of a two-way test share one.
 */
#include "iperf.h"

static const char *const names[TRANSFERS] = {"tcp_rx", "tcp_tx", "udp_rx", "udp_tx"};

static void print_drops(const struct iperf *iperf) {
    const struct plumb_counter_info *info;
    for (unsigned i = 0; (info = plumb_counter_info(i)); i++) {
        uint32_t value = plumb_counter(iperf->stack, (enum plumb_counter)i);
        if (info->drop && value)
            board_print("counter: %s=%lu\n", info->name, (unsigned long)value);
    }
    for (unsigned i = 0; (info = plumb_netif_counter_info(i)); i++) {
        uint32_t value = iperf->netif->counters[i];
        if (info->drop && value)
            board_print("counter: %s.%s=%lu\n", iperf->netif->name, info->name,
                        (unsigned long)value);
    }
}

static void print_group(const char *name, const struct group *group) {
    const struct tally *t = &group->tally;
    board_print("transfer: case=%s bytes=%llu packets=%lu datagrams_lost=%lu acks=%lu "
                "time_us=%llu\n",
                name, (unsigned long long)t->bytes, (unsigned long)t->packets,
                (unsigned long)t->lost, (unsigned long)t->acks,
                (unsigned long long)(group->last_us - group->first_us));
}

static void finish(struct iperf *iperf) {
    bool measured = iperf->measuring;
    if (measured)
        board_measure_stop();
    iperf->measuring = false;
    for (unsigned i = 0; i < TRANSFERS; i++) {
        if (iperf->groups[i].begun)
            print_group(names[i], &iperf->groups[i]);
        iperf->groups[i] = (struct group){0};
    }
    if (measured)
        print_drops(iperf);
}

void report_join(struct iperf *iperf, enum transfer transfer) {
    iperf->groups[transfer].members++;
}

void report_begin(struct iperf *iperf, enum transfer transfer) {
    struct group *group = &iperf->groups[transfer];
    if (group->begun)
        return;
    group->begun = true;
    if (!iperf->measuring) {
        iperf->measuring = true;
        board_measure_start();
    }
    group->first_us = group->last_us = board_now_us();
}

void report_leave(struct iperf *iperf, enum transfer transfer, const struct tally *tally) {
    struct group *group = &iperf->groups[transfer];
    unsigned left = 0;
    group->members--;
    if (tally->bytes) {
        group->last_us = board_now_us();
        group->tally.bytes += tally->bytes;
        group->tally.packets += tally->packets;
        group->tally.lost += tally->lost;
        group->tally.acks += tally->acks;
    }
    for (unsigned i = 0; i < TRANSFERS; i++)
        left += iperf->groups[i].members;
    if (!left)
        finish(iperf);
}
