# SPDX-License-Identifier: Apache-2.0 OR MIT
"""lwIP as firmware of a board, or as a process: its configurations, and how each is built.

The ports are bench/peers/lwip/zynq and, as a process of this host over TAP,
bench/peers/lwip/unix; lwIP's sources come by lab/peers.py. A configuration
is measured as stack `lwip` and its own name as variant; what is sent and received in
another manner has the manner's name behind it, as Plumb's own variants have
(`tuned-copy`, `tuned-reference`, `tuned-hw-checksum`).
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from . import build, peers, work
from .paths import BUILD, ROOT
from .payload import EVERYTHING, HEADERS, Buffers
from .profile import Firmware

PORT_FOLDER = ROOT / "bench/peers/lwip/zynq"
UNIX_FOLDER = ROOT / "bench/peers/lwip/unix"
TOOLCHAIN = ROOT / "boards/zynq/toolchain.cmake"
BOARD = "zynq"
OTHER_PORT = 5002  # of its iperf: receives by copy, sends by reference

RULES: work.Rules = {
    "receive": ("bench/peers/*:gem_netif_poll", "*/netif/ethernet.c:ethernet_input"),
    "transmit": (
        "bench/peers/*:transmit",
        "bench/peers/*:send_more",
        "*/core/tcp_out.c:*",
        "*/core/udp.c:udp_send*",
        "*/ipv4/ip4.c:ip4_output*",
    ),
    "idle": ("bench/peers/*:board_idle",),
}


@dataclass(frozen=True)
class Configuration:
    """One of the ways in which lwIP is shown."""

    name: str
    title: str  # over a column
    level: int  # as lwipopts.h has it
    is_lto: bool = False
    has_hardware_checksum: bool = False  # is measured with it as well


# What copies payload into lwIP's heap. With stock options it copies Ethernet addresses too,
# twelve bytes a packet, which are counted with it.
COPYING = ("memcpy", "pl_copy", "pl_copy_sum")
PBUF = 16  # bytes of a struct pbuf, before its payload


def counted(one: Configuration) -> Firmware:
    """What the counting has to know of a configuration."""
    pad = 2 if one.level >= 2 else 0  # ETH_PAD_SIZE
    pool = 4 if one.level >= 2 else 16  # PBUF_POOL_SIZE
    behind = {protocol: pad + length for protocol, length in HEADERS.items()}
    in_pool = {protocol: PBUF + begin for protocol, begin in behind.items()}
    buffers = (
        Buffers("receive_memory", 1536, behind),
        Buffers("held_for:memory", None, HEADERS),
        Buffers("memp_memory_PBUF_POOL_base", None, in_pool, count=pool),
        Buffers("ram_heap", EVERYTHING, copied_by=COPYING),
        Buffers("memp_memory_POOL_1600_base", EVERYTHING, copied_by=COPYING),
        Buffers("pattern", EVERYTHING),
        Buffers("application", EVERYTHING),
    )
    return Firmware(RULES, lambda program: buffers)


CONFIGURATIONS = (
    Configuration("stock", "lwIP stock", 0),
    Configuration("stock-1460", "MSS 1460", 1),
    Configuration("tuned", "tuned", 2, has_hardware_checksum=True),
    Configuration("assembly", "+ asm", 3),
    Configuration("best", "best", 4, is_lto=True, has_hardware_checksum=True),
)


@cache
def firmware(one: Configuration, is_hardware_checksum: bool = False) -> Path:
    """Builds iperf and echo over lwIP."""
    about = {
        "PEER_LEVEL": one.level,
        "PEER_LTO": "ON" if one.is_lto else "OFF",
        "PEER_HARDWARE_CHECKSUM": "ON" if is_hardware_checksum else "OFF",
    }
    name = f"lwip-{one.name}" + ("-hw-checksum" if is_hardware_checksum else "")
    return project(name, about, "peer") / "peer.elf"


def project(name: str, about: dict[str, object], target: str) -> Path:
    """Configures and builds a target of the port; the folder it lies in."""
    options = {"CMAKE_BUILD_TYPE": "Release", "LWIP_SOURCES": peers.lwip(), **about}
    words = [f"-D{key}={value}" for key, value in options.items()]
    words += ["-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", f"-DCMAKE_TOOLCHAIN_FILE={TOOLCHAIN}"]
    return build.project(PORT_FOLDER, BUILD / name, target, words).parent


@cache
def process(name: str, program: str = "peer") -> Path:
    """Builds a program over lwIP for this host, by a configuration's name: `peer`, which is iperf
    and echo, or `exchange` (tests/interop)."""
    one = next(c for c in CONFIGURATIONS if c.name == name)
    words = [f"-DLWIP_SOURCES={peers.lwip()}", f"-DPEER_LEVEL={one.level}"]
    words += ["-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    return build.project(UNIX_FOLDER, BUILD / f"lwip-{name}-unix", program, words)
