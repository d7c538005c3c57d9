// SPDX-License-Identifier: Apache-2.0 OR MIT
//! smoltcp in a process of this host, over TAP: the command line, which is that of Plumb's linux
//! board as far as it goes, and the loop: frames, timers, the application, idle. With EXCHANGE in
//! the environment the application is that, else iperf. SIGTERM ends it.

mod exchange;
mod iperf;
mod tap;

use std::net::Ipv4Addr;

use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::socket::tcp;
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{EthernetAddress, IpCidr};

use exchange::Exchange;
use iperf::Iperf;
use tap::Tap;

const BUDGET: u32 = 64; // frames a turn, as Plumb's
const RECEIVE_BUFFER: usize = 65535; // windows as large as Plumb's
const SEND_BUFFER: usize = 64240;
const ETHERNET: EthernetAddress = EthernetAddress([0x02, 0x53, 0x4d, 0x4f, 0x4c, 0x54]);

struct Options {
    tap: String,
    address: Ipv4Addr,
    prefix: u8,
}

fn refuse(what: &str) -> ! {
    eprintln!("peer: {what}");
    std::process::exit(2);
}

fn options() -> Options {
    let mut found =
        Options { tap: "tap0".into(), address: Ipv4Addr::new(10, 0, 2, 15), prefix: 24 };
    let mut words = std::env::args().skip(1);
    while let Some(name) = words.next() {
        let value = words.next().unwrap_or_else(|| refuse(&format!("{name} wants a value")));
        let address = || value.parse().unwrap_or_else(|_| refuse(&format!("no address: {value}")));
        match name.as_str() {
            "--tap" => found.tap = value,
            "--address" => found.address = address(),
            "--netmask" => found.prefix = u32::from(address()).leading_ones() as u8,
            "--gateway" => _ = address(), // all there is is on the link
            _ => refuse(&format!("unknown option {name}")),
        }
    }
    found
}

/// Sleeps until a frame or the next timer: a function that a tool that counts leaves out by name.
#[no_mangle]
#[inline(never)]
pub extern "C" fn board_idle(descriptor: i32, milliseconds: i32) {
    let mut watched = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    unsafe { libc::poll(&mut watched, 1, milliseconds) };
}

enum Application {
    Iperf(Iperf),
    Exchange(Exchange),
}

fn main() {
    let options = options();
    let mut tap = Tap::open(&options.tap).unwrap_or_else(|problem| {
        eprintln!("panic: {}: {problem}", options.tap);
        std::process::exit(1);
    });
    let mut config = Config::new(ETHERNET.into());
    config.random_seed = std::process::id().into();
    let mut interface = Interface::new(config, &mut tap, Instant::now());
    interface.update_ip_addrs(|addresses| {
        addresses.push(IpCidr::new(options.address.into(), options.prefix)).unwrap();
    });
    let mut sockets = SocketSet::new(vec![]);
    let handle = sockets.add(tcp::Socket::new(
        tcp::SocketBuffer::new(vec![0; RECEIVE_BUFFER]),
        tcp::SocketBuffer::new(vec![0; SEND_BUFFER]),
    ));
    println!("plumb: board=linux app=smoltcp build=rustc");
    let mut application = match std::env::var("EXCHANGE") {
        Ok(text) => {
            Application::Exchange(Exchange::new(&text, handle, &mut interface, &mut sockets))
        }
        Err(_) => Application::Iperf(Iperf::new(handle)),
    };
    println!("plumb: ready address={}", options.address);
    loop {
        tap.allow(BUDGET);
        interface.poll(Instant::now(), &mut tap, &mut sockets);
        let is_spent = tap.is_spent();
        let has_more = match &mut application {
            Application::Iperf(iperf) => iperf.turn(&mut sockets, &tap),
            Application::Exchange(exchange) => exchange.turn(&mut sockets),
        };
        if has_more || is_spent {
            continue;
        }
        let delay = interface.poll_delay(Instant::now(), &sockets);
        if delay != Some(Duration::ZERO) {
            let most = Duration::from_secs(60);
            let delay = delay.unwrap_or(most).min(most);
            board_idle(tap.descriptor, delay.total_millis().max(1) as i32);
        }
    }
}
