// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A TAP device as smoltcp's Device, with one buffer each way that is used for every frame:
//! smoltcp has taken a received frame, and the kernel a sent one, when the call returns.

use std::ffi::CString;
use std::io::{Error, ErrorKind};

use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;

const FRAME: usize = 1514;

pub struct Tap {
    pub descriptor: i32,
    pub received: u32,
    pub sent: u32,
    budget: u32,
    inward: Box<[u8; FRAME]>,
    outward: Box<[u8; FRAME]>,
}

pub struct Inward<'a>(&'a [u8]);

pub struct Outward<'a> {
    descriptor: i32,
    sent: &'a mut u32,
    buffer: &'a mut [u8; FRAME],
}

impl Tap {
    pub fn open(name: &str) -> Result<Tap, Error> {
        let path = CString::new("/dev/net/tun").unwrap();
        let flags = libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC;
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        if name.len() >= request.ifr_name.len() {
            return Err(Error::from(ErrorKind::InvalidInput));
        }
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
        let descriptor = unsafe { libc::open(path.as_ptr(), flags) };
        if descriptor < 0 || unsafe { libc::ioctl(descriptor, libc::TUNSETIFF, &request) } < 0 {
            return Err(Error::last_os_error());
        }
        Ok(Tap {
            descriptor,
            received: 0,
            sent: 0,
            budget: 0,
            inward: Box::new([0; FRAME]),
            outward: Box::new([0; FRAME]),
        })
    }

    /// Until the next call no more frames than this are passed up.
    pub fn allow(&mut self, budget: u32) {
        self.budget = budget;
    }

    /// Whether the last turn may have left frames behind.
    pub fn is_spent(&self) -> bool {
        self.budget == 0
    }
}

impl Device for Tap {
    type RxToken<'a> = Inward<'a>;
    type TxToken<'a> = Outward<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Inward<'_>, Outward<'_>)> {
        if self.budget == 0 {
            return None;
        }
        let to = self.inward.as_mut_ptr().cast();
        let length = unsafe { libc::read(self.descriptor, to, FRAME) };
        if length <= 0 {
            return None;
        }
        self.budget -= 1;
        self.received += 1;
        let outward = Outward {
            descriptor: self.descriptor,
            sent: &mut self.sent,
            buffer: &mut self.outward,
        };
        Some((Inward(&self.inward[..length as usize]), outward))
    }

    fn transmit(&mut self, _: Instant) -> Option<Outward<'_>> {
        Some(Outward {
            descriptor: self.descriptor,
            sent: &mut self.sent,
            buffer: &mut self.outward,
        })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = FRAME;
        capabilities
    }
}

impl RxToken for Inward<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(self.0)
    }
}

impl TxToken for Outward<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, f: F) -> R {
        let frame = &mut self.buffer[..length];
        let result = f(frame);
        // What the queue has no room for is lost, as on a wire.
        if unsafe { libc::write(self.descriptor, frame.as_ptr().cast(), length) } > 0 {
            *self.sent += 1;
        }
        result
    }
}
