# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The unmodified iperf client: how it is called, and what it reports."""

import re
import subprocess
from dataclasses import dataclass

from .errors import LabError
from .network import Network

PORT = 5001

_REPORT = re.compile(
    r"^\[\s*[\w*]+\]\s+[\d.]+-\s*([\d.]+) sec\s+[\d.]+ MBytes\s+([\d.]+) Mbits/sec"
    r"(?:\s+([\d.]+) ms\s+(-?\d+)/\s*(\d+) \(([-+.\d]+|-?nan)%\))?",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Report:
    """A transfer as iperf saw it; over UDP, as its receiver did."""

    mbit_per_s: float
    seconds: float
    jitter_ms: float | None = None
    lost: int | None = None
    datagrams: int | None = None

    @property
    def loss_percent(self) -> float | None:
        """Datagrams lost, of those sent."""
        if self.lost is None or not self.datagrams:
            return None
        return 100.0 * self.lost / self.datagrams


def parse(text: str) -> Report:
    """The last report in a client's output (a sum, where there is one, comes last)."""
    found = _REPORT.findall(text)
    if not found:
        raise LabError(f"iperf reported nothing:\n{text.strip()}")
    seconds, rate, jitter, lost, total, _ = found[-1]
    if not jitter:
        return Report(float(rate), float(seconds))
    return Report(float(rate), float(seconds), float(jitter), int(lost), int(total))


def command(network: Network, options: list[str], port: int = PORT) -> list[str]:
    """A client's command line; it dies with the lab."""
    address, number = network.endpoint(port)
    words = ["iperf", "-c", address, "-p", str(number), "-f", "m", *options]
    return ["setpriv", "--pdeathsig", "KILL", *words]


def start(network: Network, options: list[str], port: int = PORT) -> subprocess.Popen:
    """Starts a client whose output is to be read at its end."""
    return subprocess.Popen(
        command(network, options, port),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
