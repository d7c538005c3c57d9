// SPDX-License-Identifier: Apache-2.0 OR MIT
//! iperf 2 over TCP: what an unmodified client asks for with -n, and with -R.
//!
//! What is received is counted where it lies in smoltcp's buffer, what is sent is copied there.

use std::hint::black_box;
use std::time::Instant;

use smoltcp::iface::{SocketHandle, SocketSet};
use smoltcp::socket::tcp::{Socket, State};

use crate::tap::Tap;

const PORT: u16 = 5001;
const HEADER: usize = 36; // of the client's: as far as its second flags
const AMOUNT_AT: usize = 20;
const FLAGS2_AT: usize = 32;
const ASKS_REVERSE: u32 = 0x0400;
const CHUNK: usize = 8 * 1460;

/// Marks around what is measured: a tool that counts finds them by name. They differ, or the
/// compiler makes one of both.
#[no_mangle]
#[inline(never)]
pub extern "C" fn board_measure_start() {
    black_box(1);
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn board_measure_stop() {
    black_box(2);
}

struct Transfer {
    is_sending: bool,
    left: usize,
    bytes: u64,
    begun: Instant,
    received: u32,
    sent: u32,
}

pub struct Iperf {
    handle: SocketHandle,
    pattern: Vec<u8>,
    transfer: Option<Transfer>,
    is_over: bool, // of this connection
}

fn load(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

impl Iperf {
    pub fn new(handle: SocketHandle) -> Iperf {
        let pattern = (0..CHUNK).map(|i| b'0' + (i % 10) as u8).collect();
        Iperf { handle, pattern, transfer: None, is_over: false }
    }

    /// Does what there is to do; whether smoltcp has something to send for it.
    pub fn turn(&mut self, sockets: &mut SocketSet, tap: &Tap) -> bool {
        let socket = sockets.get_mut::<Socket>(self.handle);
        match socket.state() {
            State::Closed | State::TimeWait => {
                self.report(tap);
                socket.abort();
                socket.listen(PORT).expect("a port to listen on");
                self.is_over = false;
                return false;
            }
            State::Listen | State::SynSent | State::SynReceived => return false,
            _ => (),
        }
        if self.transfer.is_none() && !self.is_over {
            self.begin(socket, tap);
        }
        let Some(transfer) = &mut self.transfer else { return false };
        let before = transfer.bytes;
        if transfer.is_sending {
            send_more(socket, transfer, &self.pattern);
        } else {
            while socket.can_recv() {
                let length = socket.recv(|bytes| (bytes.len(), bytes.len())).unwrap_or(0);
                transfer.bytes += length as u64;
            }
            if !socket.may_recv() {
                self.report(tap);
                sockets.get_mut::<Socket>(self.handle).close();
                return true;
            }
        }
        before != self.transfer.as_ref().map_or(before, |now| now.bytes)
    }

    fn begin(&mut self, socket: &mut Socket, tap: &Tap) {
        let mut header = [0; HEADER];
        if socket.recv_queue() < HEADER && socket.may_recv() {
            return;
        }
        let length = socket.peek_slice(&mut header).unwrap_or(0);
        let asks_reverse = load(&header, FLAGS2_AT) >> 16 & ASKS_REVERSE != 0;
        let is_sending = length == HEADER && asks_reverse;
        board_measure_start();
        self.transfer = Some(Transfer {
            is_sending,
            left: if is_sending { load(&header, AMOUNT_AT) as usize } else { 0 },
            bytes: 0,
            begun: Instant::now(),
            received: tap.received,
            sent: tap.sent,
        });
    }

    fn report(&mut self, tap: &Tap) {
        let Some(transfer) = self.transfer.take() else { return };
        self.is_over = true;
        board_measure_stop();
        let (inward, outward) = (tap.received - transfer.received, tap.sent - transfer.sent);
        let (case, packets, acks) = match transfer.is_sending {
            true => ("tcp_tx", outward, 0),
            false => ("tcp_rx", inward, outward),
        };
        println!(
            "transfer: case={case} bytes={} packets={packets} datagrams_lost=0 acks={acks} time_us={}",
            transfer.bytes,
            transfer.begun.elapsed().as_micros()
        );
    }
}

fn send_more(socket: &mut Socket, transfer: &mut Transfer, pattern: &[u8]) {
    while socket.can_recv() {
        let _ = socket.recv(|bytes| (bytes.len(), ()));
    }
    while transfer.left > 0 {
        let length = transfer.left.min(CHUNK);
        let sent = socket.send_slice(&pattern[..length]).unwrap_or(0);
        transfer.left -= sent;
        transfer.bytes += sent as u64;
        if sent < length {
            return;
        }
    }
    socket.close();
}
