# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What rx-align compares: strategies, rates, and the columns in which the default is to lead."""

from dataclasses import dataclass

IN_PLACE, COPIED = "in-place", "copied"
FULL, FIXED = "full", "fixed"  # rates
LOAD = 60.0  # percent of the slowest strategy's time, at the fixed rate
# Columns that the default has to lead in, by rate; of throughput more is better. With
# waiting for the client in it, throughput depends on this host, and no floor stands on it.
COLUMNS = {
    FULL: ("throughput_busy", "instructions_per_byte", "touches_per_byte"),
    FIXED: ("cpu_load", "instructions_per_byte", "touches_per_byte"),
}
LEAD = "to_best_other"


@dataclass(frozen=True)
class Strategy:
    """A way to live with it, and its builds by how iperf reads what it receives."""

    name: str
    presets: dict[str, str]


STRATEGIES = (
    Strategy("default", {IN_PLACE: "zynq", COPIED: "zynq-copy"}),
    Strategy("shift", {IN_PLACE: "zynq-shift", COPIED: "zynq-shift-copy"}),
    Strategy("shift-newlib", {COPIED: "zynq-shift-newlib"}),
    Strategy("halfword", {IN_PLACE: "zynq-word", COPIED: "zynq-word-copy"}),
    Strategy("halfword-bytes", {COPIED: "zynq-word-bytes"}),
    Strategy("halfword-16", {COPIED: "zynq-word-halfwords"}),
    Strategy("pull", {IN_PLACE: "zynq-pull", COPIED: "zynq-pull-copy"}),
    Strategy("trap", {IN_PLACE: "zynq-trap", COPIED: "zynq-trap-copy"}),
)
