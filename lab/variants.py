# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the bench boots beside a board's default firmware: Plumb otherwise built or used,
and lwIP on the same board. Each boot is a firmware and what is asked of it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import build, echo, iperf, lwip
from .measure import ECHO, Errand
from .profile import PLUMB as COUNTED
from .profile import Firmware


@dataclass(frozen=True)
class Boot:
    """A firmware that is built when its turn comes, and the errands to run on it."""

    name: str
    firmware: Callable[[], Path]
    errands: tuple[Errand, ...]
    more_flags: str = ""  # than its compile commands show
    about: Firmware = COUNTED  # for the counting

    @property
    def ports(self) -> tuple[int, ...]:
        """What a client has to reach."""
        asked = (echo.PORT if e.case == ECHO else e.port for e in self.errands)
        return tuple(dict.fromkeys(asked))


def _plumb(variant: str, *cases: str) -> Boot:
    errands = tuple(Errand(case, variant) for case in cases)
    return Boot(variant, lambda: build.firmware(f"zynq-{variant}", "iperf"), errands)


# By board; what is not there has its default alone.
PLUMB: dict[str, tuple[Boot, ...]] = {
    "zynq": (
        Boot("echo", lambda: build.firmware("zynq", "echo"), (Errand(ECHO),)),
        _plumb("copy", "tcp_rx"),
        _plumb("reference", "tcp_tx"),
        _plumb("hw-checksum", "tcp_rx", "tcp_tx"),
    )
}


def _errand(case: str, variant: str, port: int = iperf.PORT) -> Errand:
    return Errand(case, variant, "lwip", port)


def _lwip(one: lwip.Configuration) -> tuple[Boot, ...]:
    name, other = one.name, lwip.OTHER_PORT
    flags, about = "-flto" if one.is_lto else "", lwip.counted(one)
    software = (
        _errand("tcp_rx", name),
        _errand("tcp_tx", name),
        _errand("tcp_rx", f"{name}-copy", other),
        _errand("tcp_tx", f"{name}-reference", other),
        _errand(ECHO, name),
    )
    boots = (Boot(name, lambda: lwip.firmware(one), software, flags, about),)
    if not one.has_hardware_checksum:
        return boots
    variant = f"{name}-hw-checksum"
    hardware = (_errand("tcp_rx", variant), _errand("tcp_tx", variant, other))
    return (*boots, Boot(variant, lambda: lwip.firmware(one, True), hardware, flags, about))


PEERS: dict[str, tuple[Boot, ...]] = {
    "lwip": tuple(boot for one in lwip.CONFIGURATIONS for boot in _lwip(one))
}
