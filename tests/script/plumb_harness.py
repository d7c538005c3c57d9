# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The stack in virtual time, by way of its shared library (ports/harness/plumb_harness.h)."""

import ctypes
import errno
import socket
import struct
from ctypes import POINTER, byref, c_int, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from pathlib import Path

NEVER = 2**64 - 1
ROOM = 65536

# Linux's numbers, which are the library's.
CONSTANTS = {
    "SO_REUSEADDR": (1, 2),
    "SO_TYPE": (1, 3),
    "SO_ERROR": (1, 4),
    "SO_BROADCAST": (1, 6),
    "SO_SNDBUF": (1, 7),
    "SO_RCVBUF": (1, 8),
    "SO_KEEPALIVE": (1, 9),
    "SO_LINGER": (1, 13),
    "TCP_NODELAY": (6, 1),
    "TCP_MAXSEG": (6, 2),
    "TCP_KEEPIDLE": (6, 4),
    "TCP_USER_TIMEOUT": (6, 18),
}
POLL_BITS = {"IN": 1, "OUT": 4, "ERR": 8, "HUP": 16, "NVAL": 32, "RDHUP": 0x2000}


class Options(ctypes.Structure):
    """struct plumb_harness_options"""

    _fields_ = (
        ("size", c_uint32),
        ("level", c_uint32),
        ("seed", c_uint64 * 2),
        ("address", c_uint8 * 4),
        ("gateway", c_uint8 * 4),
        ("ethernet", c_uint8 * 6),
        ("prefix", c_uint8),
        ("reserved", c_uint8),
        ("mtu", c_uint16),
    )


class Pollfd(ctypes.Structure):
    """struct plumb_pollfd"""

    _fields_ = (("fd", c_int), ("events", ctypes.c_int16), ("revents", ctypes.c_int16))


def load(path: Path) -> ctypes.CDLL:
    """The library, its functions typed where int is not right."""
    library = ctypes.CDLL(str(path))
    for name, result, arguments in (
        ("plumb_harness_create", c_void_p, (POINTER(Options),)),
        ("plumb_harness_destroy", c_int, (c_void_p,)),
        ("plumb_harness_poll", c_uint64, (c_void_p, c_uint64)),
        ("plumb_harness_ip_in", c_int, (c_void_p, c_void_p, c_size_t)),
        ("plumb_harness_ip_out", c_int, (c_void_p, c_void_p, c_size_t)),
        ("plumb_harness_ethernet_in", c_int, (c_void_p, c_void_p, c_size_t)),
        ("plumb_harness_ethernet_out", c_int, (c_void_p, c_void_p, c_size_t)),
        ("plumb_harness_sockets", c_void_p, (c_void_p,)),
        ("plumb_send", c_int, (c_void_p, c_int, c_void_p, c_size_t, c_int)),
        ("plumb_recv", c_int, (c_void_p, c_int, c_void_p, c_size_t, c_int)),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def sockaddr(address: str, port: int) -> bytes:
    """struct plumb_sockaddr_in"""
    return struct.pack("=H2s4s8x", 2, port.to_bytes(2, "big"), socket.inet_aton(address))


def named(result: int) -> int | str:
    """A result, an error by its name."""
    return errno.errorcode.get(-result, str(result)) if result < 0 else result


class Harness:
    """One host. Results are values, or names of errors."""

    def __init__(self, library: ctypes.CDLL, seed: int = 1, **options: object) -> None:
        self.library = library
        given = Options(size=ctypes.sizeof(Options), seed=(seed, 2))
        for name, value in options.items():
            text = isinstance(value, str)
            setattr(given, name, (c_uint8 * 4)(*socket.inet_aton(value)) if text else value)
        self.handle = library.plumb_harness_create(byref(given))
        if not self.handle:
            raise ValueError("plumb_harness_create refused its options")
        self.sockets = c_void_p(library.plumb_harness_sockets(self.handle))
        self.ethernet = given.level == 1

    def close(self) -> int:
        """Ends it; the buffers that are missing."""
        handle, self.handle = self.handle, None
        return self.library.plumb_harness_destroy(handle)

    def poll(self, now_us: int) -> int:
        """Does what there is to do; when to call next."""
        return self.library.plumb_harness_poll(self.handle, now_us)

    def put(self, packet: bytes) -> int:
        """A packet, or frame, to be received."""
        call = "plumb_harness_ethernet_in" if self.ethernet else "plumb_harness_ip_in"
        return getattr(self.library, call)(self.handle, packet, len(packet))

    def take(self) -> bytes | None:
        """The next packet, or frame, that was sent."""
        call = "plumb_harness_ethernet_out" if self.ethernet else "plumb_harness_ip_out"
        room = ctypes.create_string_buffer(ROOM)
        length = getattr(self.library, call)(self.handle, room, ROOM)
        return room.raw[:length] if length > 0 else None

    def call(self, name: str, *arguments: object) -> int | str:
        """A function of <plumb/socket.h>."""
        return named(getattr(self.library, f"plumb_{name}")(self.sockets, *arguments))

    def send(self, fd: int, data: bytes, flags: int = 0) -> int | str:
        """send()"""
        return self.call("send", fd, data, len(data), flags)

    def recv(self, fd: int, length: int, flags: int = 0) -> bytes | str:
        """recv(): what came, or the error's name."""
        room = ctypes.create_string_buffer(max(length, 1))
        result = self.call("recv", fd, room, length, flags)
        return result if isinstance(result, str) else room.raw[:result]

    def getsockopt(self, fd: int, option: str) -> int | str:
        """An option that is an int."""
        value, length = c_int(), c_uint32(4)
        result = self.call("getsockopt", fd, *CONSTANTS[option], byref(value), byref(length))
        return result if isinstance(result, str) else value.value

    def setsockopt(self, fd: int, option: str, *values: int) -> int | str:
        """An option of one or more ints."""
        packed = struct.pack(f"={len(values)}i", *values)
        return self.call("setsockopt", fd, *CONSTANTS[option], packed, len(packed))

    def ready(self, fd: int) -> str:
        """What poll says: names of bits, in order, joined by |."""
        one = Pollfd(fd, 0x2007, 0)
        self.call("pollfds", byref(one), 1, 0)
        return "|".join(name for name, bit in POLL_BITS.items() if one.revents & bit) or "0"
