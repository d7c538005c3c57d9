# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Which functions begin which kind of work: receive, transmit, idle.

The work that a processor does is divided by calls, not by code, as one checksum serves
both directions. What runs below a function that begins a kind is of that kind, down to
the next function that begins one. To tell an application what has arrived is receive
work, and what it then sends is transmit work; so is an acknowledgement sent while
receiving, while a received one is receive work until something is sent. What runs below
none of them (the loop, the timers' wheel) is `other`.

A rule is `FILE:FUNCTION`, both with wildcards, the file as the line table has it.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from .elf import Function, Program
from .errors import LabError
from .lines import Sources

KINDS = ("receive", "transmit", "idle", "other")

Rules = Mapping[str, tuple[str, ...]]

PLUMB: Rules = {
    "receive": (
        "drivers/gem/rx.c:*",
        "drivers/tap/tap.c:tap_poll",
        "src/link/*:pl_ethernet_input",
        "src/tcp/*:pl_tcp_tell",
        "apps/iperf/tcp_server.c:*",
        "apps/iperf/udp_server.c:*",
    ),
    "transmit": (
        "drivers/gem/tx.c:*",
        "drivers/tap/tap.c:tap_transmit",
        "src/link/*:pl_link_*",
        "src/link/*:pl_ethernet_output",
        "src/link/arp.c:send_arp",
        "src/inet/*:pl_ipv4_send*",
        "src/inet/udp.c:plumb_udp_send*",
        "src/inet/udp.c:plumb_udp_take",
        "src/inet/udp.c:plumb_udp_reply",
        "src/tcp/output.c:*",
        "src/tcp/send.c:plumb_tcp_send*",
        "apps/iperf/tcp_client.c:*",
        "apps/iperf/udp_client.c:*",
    ),
    "idle": ("boards/*:board_idle",),
}


def begins(program: Program, rules: Rules) -> list[tuple[str, Function]]:
    """The functions of a program that begin a kind of work; each kind must have one."""
    sources = Sources(program.path)
    found = [
        (kind, function)
        for function in program.functions
        for kind in [kind_of(f"{sources.at(function.address)}:{function.name}", rules)]
        if kind
    ]
    missing = set(rules) - {kind for kind, _ in found}
    if missing:
        raise LabError(f"{program.path}: no function is known to {', '.join(sorted(missing))}")
    return found


def kind_of(name: str, rules: Rules) -> str:
    """The kind of work that `FILE:FUNCTION` begins; empty: none. Clones that a compiler
    made of a function (NAME.part.0, NAME.constprop.0) go with it."""
    path, _, function = name.rpartition(":")
    plain = f"{path}:{function.partition('.')[0]}"
    for kind, patterns in rules.items():
        if any(fnmatchcase(plain, pattern) for pattern in patterns):
            return kind
    return ""


def unused(program: Path, rules: Rules) -> list[str]:
    """The rules that no function of a program goes by."""
    sources, functions = Sources(program.path), program.functions
    names = [f"{sources.at(f.address)}:{f.name.partition('.')[0]}" for f in functions]
    patterns = [pattern for kind in rules.values() for pattern in kind]
    return [p for p in patterns if not any(fnmatchcase(name, p) for name in names)]
