/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Named counters: one for every reason a frame can be dropped, and a few for
 * events. These two lists are the only place where a counter is declared.
 *
 *   DROP(name, text)    a frame, or a segment's payload, ended here; moves by
 *                       exactly one per frame that is dropped
 *   EVENT(name, text)   something worth counting happened; no frame was lost
 *
 * All counters are 32 bits wide and wrap.
 */
#ifndef PLUMB_COUNTERS_H
#define PLUMB_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct plumb;

/* Of a network interface; moved by its driver. */
#define PLUMB_NETIF_COUNTERS(DROP, EVENT)                                                          \
    EVENT(rx_frames, "frames received and passed up")                                              \
    EVENT(tx_frames, "frames given to the device")                                                 \
    DROP(rx_no_buffer, "no replacement buffer: the frame was dropped, its buffer recycled")        \
    DROP(rx_error, "the device reported an error in the frame")                                    \
    DROP(rx_orphan, "start without end of frame, or end without start")                            \
    DROP(rx_too_long, "the frame is longer than the interface takes")                              \
    DROP(rx_bad_offload, "what the device says of the frame beside it cannot be")                  \
    EVENT(rx_overrun, "the device had no descriptor for a frame (used-bit-read)")                  \
    EVENT(rx_restart, "reception was stopped and started again")                                   \
    EVENT(tx_full, "the transmit ring was full; the sender tries again")                           \
    DROP(tx_error, "the device reported an error while sending")                                   \
    EVENT(link_up, "the link came up")                                                             \
    EVENT(link_down, "the link went down")

/* Of the stack. */
#define PLUMB_STACK_COUNTERS(DROP, EVENT)                                                          \
    DROP(ethernet_short, "frame shorter than its header")                                          \
    DROP(ethernet_not_for_us, "destination is neither ours nor broadcast")                         \
    DROP(ethernet_source, "source address is a group address")                                     \
    DROP(ethernet_type, "no protocol for this ethertype")                                          \
    DROP(ethernet_vlan, "tagged for a VLAN other than the configured one")                         \
    DROP(arp_short, "ARP packet cut short")                                                        \
    DROP(arp_invalid, "ARP with wrong types, lengths, operation or sender")                        \
    DROP(arp_not_for_us, "ARP that concerns others")                                               \
    DROP(arp_unsolicited, "ARP reply or announcement nobody here asked for")                       \
    EVENT(arp_conflict, "ARP claims our own address, or another owner for a live neighbour")       \
    DROP(arp_queue, "packet displaced from, or expired in, a neighbour's queue of one")            \
    DROP(arp_no_buffer, "no packet to ask or answer with")                                         \
    EVENT(arp_evicted, "a neighbour made room for another")                                        \
    DROP(ipv4_short, "datagram cut short")                                                         \
    DROP(ipv4_version, "version is not 4")                                                         \
    DROP(ipv4_header_length, "header length below 20 or past the datagram")                        \
    DROP(ipv4_length, "total length below the header or past the frame")                           \
    DROP(ipv4_checksum, "header checksum wrong")                                                   \
    DROP(ipv4_option, "malformed option or source route")                                          \
    DROP(ipv4_source, "source address that no host may have")                                      \
    DROP(ipv4_not_for_us, "destination is not ours; Plumb does not forward")                       \
    DROP(ipv4_fragment, "fragment that is malformed, a duplicate or at odds with others")          \
    DROP(ipv4_fragment_timeout, "fragment whose datagram was not complete in time")                \
    DROP(ipv4_fragment_quota, "fragment beyond what its source, or all, may have waiting")         \
    EVENT(ipv4_reassembled, "datagrams put together from fragments")                               \
    EVENT(ipv4_fragmented, "datagrams sent in fragments")                                          \
    DROP(ipv4_protocol, "no such protocol here")                                                   \
    DROP(ipv4_no_route, "no interface or gateway for the destination")                             \
    DROP(ipv4_no_buffer, "no packet to send with")                                                 \
    DROP(icmp_short, "ICMP message cut short")                                                     \
    DROP(icmp_checksum, "ICMP checksum wrong")                                                     \
    DROP(icmp_broadcast, "echo request to a broadcast address")                                    \
    DROP(icmp_type, "ICMP type that needs no action")                                              \
    DROP(icmp_quote, "error message whose quoted packet is not one of ours")                       \
    EVENT(icmp_echo, "echo requests answered")                                                     \
    EVENT(icmp_limited, "ICMP replies and errors not sent because of the rate limit")              \
    DROP(udp_short, "UDP datagram cut short")                                                      \
    DROP(udp_length, "UDP length below 8 or past the datagram")                                    \
    DROP(udp_checksum, "UDP checksum wrong")                                                       \
    DROP(udp_port, "nobody listens on this UDP port")                                              \
    DROP(udp_socket, "datagram that its socket had no room for, or not from its peer")             \
    DROP(tcp_short, "TCP segment cut short")                                                       \
    DROP(tcp_offset, "TCP data offset below 5 or past the segment")                                \
    DROP(tcp_checksum, "TCP checksum wrong")                                                       \
    DROP(tcp_broadcast, "TCP segment to a broadcast or multicast address")                         \
    DROP(tcp_port, "no connection and no listener; answered by RST unless it is one")              \
    DROP(tcp_flags, "combination of flags that no state takes")                                    \
    DROP(tcp_sequence, "segment outside the receive window; answered by an ACK")                   \
    DROP(tcp_timestamp_missing, "segment without the timestamp agreed on")                         \
    DROP(tcp_timestamp_old, "timestamp from before the last one (PAWS); answered by an ACK")       \
    DROP(tcp_acknowledgement, "ACK for what was never sent")                                       \
    DROP(tcp_reset, "RST that was not exactly in sequence")                                        \
    DROP(tcp_syn, "SYN on a synchronised connection; challenged")                                  \
    DROP(tcp_backlog, "handshake with no free place; the peer tries again")                        \
    DROP(tcp_window, "payload beyond the window or past a FIN")                                    \
    DROP(tcp_no_buffer, "payload not kept: the pool is near its reserve")                          \
    DROP(tcp_reordered_full, "out-of-order payload not kept: the queue is full")                   \
    DROP(tcp_closed, "payload for a connection whose user has gone")                               \
    EVENT(tcp_opened, "connections that reached ESTABLISHED")                                      \
    EVENT(tcp_timeout, "retransmission time-outs")                                                 \
    EVENT(tcp_fast_retransmit, "fast retransmits entered")                                         \
    EVENT(tcp_retransmitted, "segments sent again")                                                \
    EVENT(tcp_loss_unkept, "losses of connections for which there was no record")                  \
    EVENT(tcp_undone, "windows put back: what was sent again had not been lost")                   \
    EVENT(tcp_tail_probe, "probes for a lost tail")                                                \
    EVENT(tcp_probe, "zero-window probes")                                                         \
    EVENT(tcp_keepalive, "keepalive probes")                                                       \
    EVENT(tcp_challenge, "challenge ACKs sent")                                                    \
    EVENT(tcp_challenge_limited, "challenge ACKs not sent because of the rate limit")              \
    EVENT(tcp_marked, "payload that a router has marked for congestion (ECN)")                     \
    EVENT(tcp_ecn, "reductions of the window because the peer said so (ECN)")                      \
    EVENT(tcp_duplicate, "segments that carried nothing new")                                      \
    EVENT(tcp_reordered, "segments kept out of order")                                             \
    EVENT(tcp_time_wait_reused, "TIME_WAIT connections closed early to make room")                 \
    EVENT(tcp_half_open_reused, "half-open connections closed early to make room")                 \
    EVENT(tcp_cookie, "SYNs answered by a cookie")                                                 \
    EVENT(tcp_cookie_opened, "connections opened by a cookie")                                     \
    EVENT(tcp_path_mtu, "segments of a connection made smaller, for what its path takes")          \
    EVENT(tcp_no_buffer_out, "segments put off for want of a packet")

#define PLUMB_COUNTER_ENUM_(name, text) PLUMB_COUNTER_##name,
enum plumb_counter {
    PLUMB_STACK_COUNTERS(PLUMB_COUNTER_ENUM_, PLUMB_COUNTER_ENUM_) PLUMB_COUNTER_COUNT
};
#undef PLUMB_COUNTER_ENUM_

#define PLUMB_COUNTER_ENUM_(name, text) PLUMB_NETIF_##name,
enum plumb_netif_counter {
    PLUMB_NETIF_COUNTERS(PLUMB_COUNTER_ENUM_, PLUMB_COUNTER_ENUM_) PLUMB_NETIF_COUNTER_COUNT
};
#undef PLUMB_COUNTER_ENUM_

struct plumb_counter_info {
    const char *name; /* "tcp_checksum" */
    const char *text; /* "TCP checksum wrong" */
    bool drop;        /* a frame was lost */
};

/* Name and meaning of counter `index` of the stack or of an interface;
 * null past the last. */
const struct plumb_counter_info *plumb_counter_info(unsigned index);
const struct plumb_counter_info *plumb_netif_counter_info(unsigned index);

/* The value of a counter of the stack. */
uint32_t plumb_counter(const struct plumb *stack, enum plumb_counter counter);

#ifdef __cplusplus
}
#endif

#endif
