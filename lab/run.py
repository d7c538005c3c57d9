# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`./plumb run`: boots an application and shows its console until Ctrl-C."""

import os
from dataclasses import dataclass
from pathlib import Path

from . import build
from .board import Board, Kind, Setup, kind_of
from .errors import NotUnderstood
from .network import BOARD_ADDRESS, Network, TapNetwork, UserNetwork, enter_namespace
from .watch import Watch

HIGHEST_STATUS = 255  # that a process can end with
PORTS = {"iperf": (5001,), "iperf3": (5201,), "http": (80,), "echo": (7, 9, 19), "sockets": (7,)}
ECHO = "bash -c 'exec 3<>/dev/{kind}/{address}/{port}; echo hello >&3; timeout 5 head -n1 <&3'"
# With what is on any Debian: a command, and what there is to say of it.
HINTS = {
    5001: (("iperf -c {address} -p {port}", "-u for UDP, -R for the other way{both_ways}"),),
    5201: (
        ("iperf3 -c {address} -p {port}", "-u for UDP, -R for the other way, --bidir for both"),
    ),
    80: (("curl http://{address}:{port}/", "/counters, /bytes/N"),),
    7: (
        (ECHO.replace("{kind}", "tcp"), "echo"),
        (ECHO.replace("{kind}", "udp"), "echo over UDP"),
    ),
    9: (("bash -c 'head -c 1M /dev/zero >/dev/tcp/{address}/{port}'", "discard"),),
    19: (("bash -c 'head -c 300 </dev/tcp/{address}/{port}'", "a pattern, for ever"),),
}
# The client's own port for the way back must not be the one forwarded.
BOTH_WAYS = {TapNetwork: "; -r, -d: both ways", UserNetwork: "; -r and -d need -L ANOTHER_PORT"}


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    app: str
    board: str = "zynq"
    tap: bool = False
    pcap: Path | None = None
    opt: str = "O2"
    routines: str = ""  # the byte routines, by name; empty: the best for the processor
    takes_misaligned: bool = False  # the processor, instead of trapping
    arguments: str = ""  # for the application


def say(text: str) -> None:
    """Prints at once: a reader may wait for it."""
    print(text, flush=True)


def explain(app: str, network: Network, pid: int) -> None:
    """Says how to reach the board from another terminal."""
    prefix = ""
    if isinstance(network, TapNetwork):
        # Whoever came with sudo needs it in the other terminal too.
        prefix = ("sudo " if "SUDO_USER" in os.environ else "") + f"nsenter -t {pid} -n "
        say(f"lab: from another terminal:\n  {prefix}ping -c 3 {BOARD_ADDRESS}")
    for port in PORTS.get(app, ()):
        address, number = network.endpoint(port)
        for command, remark in HINTS[port]:
            told = remark.format(both_ways=BOTH_WAYS[type(network)])
            say(f"lab: from another terminal ({told}):")
            say(f"  {prefix}{command.format(address=address, port=number)}")
    say("lab: Ctrl-C ends it")


def follow(board: Board) -> None:
    """Shows the console until the board ends; raises if it faults or hangs."""
    watch = Watch(board.function_now)
    while not board.has_ended:
        if board.pump(1.0):
            watch.reset()
        elif not board.has_ended and watch.is_hung():
            raise board.hung()
        board.check_faults()


def preset_of(options: Options, kind: Kind) -> str:
    """The build that can do what was asked for."""
    if options.takes_misaligned and not kind.generic:
        raise NotUnderstood(f"{kind.name}'s processor takes misaligned words or not, as it is")
    if not (kind.generic and (options.routines or options.takes_misaligned)):
        return kind.preset(options.opt)
    if options.opt != "O2":
        raise NotUnderstood("the image that chooses its byte routines is built with -O2 only")
    return kind.generic


def run(options: Options, pid: int) -> int:
    """Boots and follows; ends by Ctrl-C, or with the board."""
    kind = kind_of(options.board)
    uses_tap = options.tap or not kind.is_emulated
    preset = preset_of(options, kind)
    if uses_tap:
        enter_namespace()
    firmware = build.firmware(preset, options.app)
    network: Network = TapNetwork() if uses_tap else UserNetwork(PORTS.get(options.app, ()))
    pcap = options.pcap.resolve() if options.pcap else None
    # Not the board's own clock: a user waits for this one.
    setup = Setup(
        firmware,
        network,
        pcap=pcap,
        keep_own_clock=False,
        routines=options.routines,
        takes_misaligned=options.takes_misaligned,
        arguments=options.arguments,
        on_line=say,
    )
    try:
        with Board(kind, setup) as board:
            board.wait_ready_or_ended()
            if not board.has_ended:
                explain(options.app, network, pid)
            follow(board)
            status = board.exit_status()
            say(f"lab: the application ended with status {status}")
            return status if 0 <= status <= HIGHEST_STATUS else 1
    finally:
        network.close()
