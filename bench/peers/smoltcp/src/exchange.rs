// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The exchange that tests/interop/exchange.h describes.

use smoltcp::iface::{Interface, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{Socket, State};
use smoltcp::wire::IpAddress;

const LOCAL_PORT: u16 = 50000;
const CHUNK: usize = 4096;

/// FNV-1a of 64 bits.
struct Sum {
    hash: u64,
    count: u64,
}

impl Sum {
    fn new() -> Sum {
        Sum { hash: 0xcbf29ce484222325, count: 0 }
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x100000001b3);
        }
        self.count += bytes.len() as u64;
    }
}

pub struct Exchange {
    handle: SocketHandle,
    left: usize,
    random: u32,
    bytes: Vec<u8>, // made and not yet sent
    sent: Sum,
    received: Sum,
    has_begun: bool,
    is_shut: bool,
    has_told: bool,
}

impl Exchange {
    /// `text` is EXCHANGE's.
    pub fn new(
        text: &str,
        handle: SocketHandle,
        interface: &mut Interface,
        sockets: &mut SocketSet,
    ) -> Exchange {
        let words: Vec<&str> = text.split(' ').collect();
        let socket = sockets.get_mut::<Socket>(handle);
        let number = |at: usize| words[at].parse::<u32>().expect("EXCHANGE has a number there");
        let next = match words[0] {
            "listen" => {
                socket.listen(number(1) as u16).expect("a port to listen on");
                2
            }
            "connect" => {
                let remote: IpAddress = words[1].parse().expect("EXCHANGE has an address");
                let to = (remote, number(2) as u16);
                socket.connect(interface.context(), to, LOCAL_PORT).expect("a connection");
                3
            }
            _ => panic!("EXCHANGE says neither listen nor connect"),
        };
        Exchange {
            handle,
            left: number(next) as usize,
            random: number(next + 1),
            bytes: Vec::new(),
            sent: Sum::new(),
            received: Sum::new(),
            has_begun: false,
            is_shut: false,
            has_told: false,
        }
    }

    fn fill(&mut self) {
        let length = self.left.min(CHUNK);
        for _ in 0..length {
            self.random ^= self.random << 13;
            self.random ^= self.random >> 17;
            self.random ^= self.random << 5;
            self.bytes.push(self.random as u8);
        }
        self.sent.add(&self.bytes);
        self.left -= length;
    }

    /// Does what there is to do; whether smoltcp has something to send for it.
    pub fn turn(&mut self, sockets: &mut SocketSet) -> bool {
        let socket = sockets.get_mut::<Socket>(self.handle);
        self.has_begun |= socket.may_send();
        if !self.has_begun || self.has_told {
            return false;
        }
        if socket.state() == State::Closed && !(self.is_shut && !socket.may_recv()) {
            println!("panic: exchange: the connection was reset, or gave up");
            std::process::exit(1);
        }
        let before = (self.sent.count, self.received.count, self.is_shut);
        while socket.can_recv() {
            let received = &mut self.received;
            let _ = socket.recv(|bytes| {
                received.add(bytes);
                (bytes.len(), ())
            });
        }
        let is_at_end = !socket.may_recv();
        self.send_more(sockets);
        if self.is_shut && is_at_end {
            self.has_told = true;
            println!(
                "exchange: sent={} sent_hash={:016x} received={} received_hash={:016x}",
                self.sent.count, self.sent.hash, self.received.count, self.received.hash
            );
        }
        before != (self.sent.count, self.received.count, self.is_shut)
    }

    fn send_more(&mut self, sockets: &mut SocketSet) {
        let socket = sockets.get_mut::<Socket>(self.handle);
        while !self.is_shut {
            if self.bytes.is_empty() {
                self.fill();
            }
            if self.bytes.is_empty() {
                socket.close();
                self.is_shut = true;
                return;
            }
            let count = socket.send_slice(&self.bytes).unwrap_or(0);
            self.bytes.drain(..count);
            if count == 0 {
                return;
            }
        }
    }
}
