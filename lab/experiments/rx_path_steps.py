# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What rx-path compares: the driver's steps, and the cores and transfers they are measured by."""

from dataclasses import dataclass

from .firmware import Firmware

CORES = ("ap7000", "leon3")
BYTES = {"tcp_rx": "4M", "tcp_tx": "4M", "udp_rx": "2M", "udp_tx": "2M"}
SHORT_BYTES = "1M"  # where a hundred models look on
OFFERED = 60.0  # Mbit/s
SENSITIVE = ("baseline", "copy-break")
SENSITIVE_BOARD = "ATSTK1000"
PER_BYTE, THROUGHPUT = "modelled_cycles_per_byte", "modelled_throughput"
COUNTED = ("instructions_per_byte", "touches_per_byte")


@dataclass(frozen=True)
class Step:
    """One of the driver's ways, and the preset that has it."""

    variant: str
    preset: str

    @property
    def firmware(self) -> Firmware:
        """Its build."""
        return Firmware(self.variant, self.preset)


STEPS = (
    Step("baseline", "zynq-path-uncached"),
    Step("offset", "zynq-path-offset"),
    Step("cacheable", "zynq-path-cached"),
    Step("fragments", "zynq-path-fragments"),
    Step("copy-break", "zynq-path-break"),  # the default of buffers that hold a part
    Step("default", "zynq-path-whole"),
)
SMALL = tuple(step.variant for step in STEPS if step.variant != "default")
