# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`./plumb bench`: builds, boots, measures, prints, records."""

import json
import re
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console as Terminal

from . import build, comparison, connections, footprint, goals, lines, measure, page, records
from . import report, sizes
from . import variants as varying
from .board import Board, Kind, Setup, kind_of
from .elf import Program
from .errors import LabError, NotUnderstood
from .iperf import PORT
from .network import Network, TapNetwork, UserNetwork, enter_namespace
from .paths import BUILD, OUT, ROOT
from .profile import Profile
from .records import Record
from .terminal import for_tables, steps

CONNECTIONS = 1000
QUICK_REPEATS = 1
RECORDED_REPEATS = 5
WIDTH = 120
OF_FIRMWARE = frozenset(("default", case) for case in measure.CASES)
PEER_REPEATS = 2  # of counts that hardly differ


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    board: str = "zynq"
    tap: bool = False
    repeat: int = 5
    out: Path | None = None
    pcap: Path | None = None
    opt: str = "O2"
    record: bool = False
    peer: str = ""


class Bench:
    """One run."""

    def __init__(self, options: Options, terminal: Terminal) -> None:
        self.options = options
        self.terminal = terminal
        self.kind: Kind = kind_of(options.board)
        self.preset = self.kind.preset(options.opt)
        if options.record and (options.tap or options.repeat < RECORDED_REPEATS):
            raise NotUnderstood(
                "what is recorded is the ordinary run: no --tap, no --quick, "
                f"{RECORDED_REPEATS} repeats or more"
            )
        self.boots = boots_of(options)
        self.out = options.out or OUT / time.strftime("%Y%m%d-%H%M%S")
        self.out.mkdir(parents=True, exist_ok=True)
        self.samples: list[measure.Sample] = []
        self.records: list[Record] = []

    def run(self) -> int:
        """Everything; the exit status."""
        self.uses_tap = self.options.tap or not self.kind.is_emulated
        if self.uses_tap:
            enter_namespace()
        count = self.options.repeat * len(measure.CASES) * (1 if self.kind.is_emulated else 2)
        count += sum(self._repeats_of(boot) * len(boot.errands) for boot in self.boots)
        with steps(self.terminal, count + CONNECTIONS / 50 + 2) as self._step:
            self._build()
            self._measure()
            for boot in self.boots:
                self._measure_variant(boot)
            self._measure_sizes()
        return self._finish()

    # ---- building ----

    def _build(self) -> None:
        self._step("building", 0)
        self.firmware = build.firmware(self.preset, "iperf")
        self.folder = BUILD / self.preset
        self._step("building -Os")
        if "Os" in self.kind.presets:
            self.small = build.firmware(self.kind.presets["Os"], "iperf")
            self.smallest = build.firmware(self.kind.smallest, "iperf")
        self.tools = measure.tools_of(
            self.kind, self.folder, "tap" if self.uses_tap else "user"
        )

    # ---- measuring ----

    def _network(self, ports: tuple[int, ...] = (PORT,)) -> Network:
        return TapNetwork() if self.uses_tap else UserNetwork(ports)

    def _measure(self) -> None:
        self.network = self._network()
        try:
            if self.kind.is_emulated:
                self._boot(is_counted=True, with_connections=True)
            else:
                self._boot(is_counted=False, with_connections=True)
                self._boot(is_counted=True, with_connections=False)
        finally:
            self.network.close()
        self._record_samples()

    def _boot(self, is_counted: bool, with_connections: bool) -> None:
        profile = Profile(self.firmware, self.out / "counter") if is_counted else None
        setup = Setup(
            self.firmware,
            self.network,
            plugin=profile.option() if profile else "",
            pcap=self.options.pcap.resolve() if self.options.pcap and with_connections else None,
        )
        self._step("booting", 0)
        with Board(self.kind, setup) as board:
            board.wait_ready()
            self.samples += measure.series(
                board, self.network, self.options.repeat, profile, self._step
            )
            if with_connections:
                self._connect(board)
                self._count_lost(board)

    def _repeats_of(self, boot: varying.Boot) -> int:
        is_peers = boot.errands[0].stack != "plumb"
        return min(self.options.repeat, PEER_REPEATS) if is_peers else self.options.repeat

    def _measure_variant(self, boot: varying.Boot) -> None:
        """A firmware of another make, on a network of its own."""
        self._step(f"building {boot.name}", 0)
        firmware = boot.firmware()
        profile = Profile(firmware, self.out / "counter" / boot.name, boot.about)
        network = self._network(boot.ports)
        try:
            with Board(self.kind, Setup(firmware, network, plugin=profile.option())) as board:
                board.wait_ready()
                samples = measure.series(
                    board, network, self._repeats_of(boot), profile, self._step, boot.errands
                )
        finally:
            network.close()
        made_with = measure.tools_of(self.kind, firmware.parent, self.tools["network"])
        made_with["flags"] += f" {boot.more_flags}" if boot.more_flags else ""
        self.samples += samples
        self.records += measure.records(samples, self.kind, network, made_with)

    def _count_lost(self, board: Board) -> None:
        value = float(measure.lost_buffers(board))
        self.records.append(self._one("throughput", "all", "lost_buffers", value))

    def _connect(self, board: Board) -> None:
        what = f"{CONNECTIONS} connections"
        self._step(what, 0)
        value = connections.run(
            board, self.network, CONNECTIONS, lambda: self._step(what, 1 / 50)
        )
        self.records.append(self._one("connections", "tcp", "connections", float(value)))

    def _one(self, experiment: str, case: str, metric: str, value: float) -> Record:
        return Record(experiment, self.kind.name, case, metric, value, "", tools=self.tools)

    def _record_samples(self) -> None:
        plain = [s for s in self.samples if s.counted is None]
        counted = [s for s in self.samples if s.counted is not None]
        made = measure.records(plain or counted, self.kind, self.network, self.tools)
        if plain:
            names = {(r.case, r.metric) for r in made}
            more = measure.records(counted, self.kind, self.network, self.tools)
            made += [r for r in more if (r.case, r.metric) not in names]
        self.records = made + self.records

    def _measure_sizes(self) -> None:
        if "Os" not in self.kind.presets:
            return
        self._step("sizes")
        found = sizes.parse(self.small.with_suffix(".map").read_text())
        whole = sizes.total(found)
        flags = build.compiler_and_flags(BUILD / self.kind.presets["Os"])[1]
        about = {"unit": "B", "tools": {**self.tools, "flags": flags}}
        for folder, size in {**found, "total": whole}.items():
            for kind, value in asdict(size).items():
                self.records.append(
                    Record("size", self.kind.name, folder, f"{kind}_bytes", value, **about)
                )
        ram = whole.data + whole.bss
        self.records.append(Record("size", self.kind.name, "total", "ram_bytes", ram, **about))
        count = sizes.descriptors(self.small)
        self.records.append(
            Record("size", self.kind.name, sizes.DESCRIPTORS, "bss_bytes", count, **about)
        )
        self._measure_smallest()
        for subject in footprint.of_plumb() + (footprint.of_lwip() if self.options.peer else ()):
            self._step(f"{subject.stack} {subject.variant}", 0)
            self.records += footprint.records(subject, self.kind.name, self.tools)

    def _measure_smallest(self) -> None:
        """Code alone: link-time optimisation, no console; variant `smallest`."""
        found = lines.by_folder(self.smallest)
        flags = build.compiler_and_flags(BUILD / self.kind.smallest)[1] + " -flto"
        about = {"variant": "smallest", "tools": {**self.tools, "flags": flags}}
        for folder, value in {**found, "total": sum(found.values())}.items():
            name = self.kind.name
            self.records.append(Record("size", name, folder, "text_bytes", value, "B", **about))

    # ---- the end ----

    def _finish(self) -> int:
        verdicts = goals.judge(
            self.records, self.kind.name, self.options.opt, connections_of(self.folder)
        )
        self.records += goals.as_records(verdicts, self.kind.name, self.tools)
        records.write(self.out / "results.jsonl", self.records)
        self._write_profile()
        self._show(verdicts)
        return 0 if all(verdict.is_met for verdict in verdicts) else 1

    def _write_profile(self) -> None:
        with (self.out / "profile.jsonl").open("w") as file:
            for sample in self.samples:
                if sample.counted is not None:
                    whose = {"stack": sample.stack, "variant": sample.variant}
                    about = {"board": self.kind.name, **whose, "case": sample.case}
                    transfer = {"transfer": asdict(sample.board)}
                    file.write(json.dumps({**about, **transfer, **sample.counted.as_record()}) + "\n")

    def _show(self, verdicts: list[goals.Verdict]) -> None:
        network = "TAP" if self.uses_tap else "user-mode network"
        head = report.header(self.tools, self.kind.name, network, self.options.repeat)
        tables = [
            report.case_table(self.records, report.SPEED),
            report.case_table(self.records, report.COST),
            comparison.table(self.records, self.kind.name, self.options.opt),
            comparison.by_register(self.records),
            comparison.touches(self.records),
            report.size_table(self.records),
            report.goal_table(verdicts),
        ]
        note = report.CLOCKS if self.kind.is_emulated else report.HOST_CLOCK
        note += f" {comparison.NOTE}" if tables[2][1] else ""
        report.show(self.terminal, head, tables, note)
        self._show_culprits()
        self.terminal.print(f"records: {self.out / 'results.jsonl'}", soft_wrap=True)
        self.terminal.print(f"to look at: {page.write(self.out, verdicts)}", soft_wrap=True)
        if self.options.record:
            self._write_pages(head, tables, note)

    def _write_pages(self, head: report.Rows, tables: list, note: str) -> None:
        name = self.kind.name
        command = f"./plumb bench --board {name} --record"
        if name == "zynq":  # first, as it can be refused
            report.fill_readme(ROOT / "README.md", head, tables[:3])
        page = ROOT / ("docs/results.md" if name == "zynq" else f"docs/results-{name}.md")
        report.write_markdown(page, head, tables, note, command)

    def _show_culprits(self) -> None:
        if not self.kind.is_emulated:
            return  # a host's compiler joins accesses as its processor allows
        program = Program(self.firmware)
        counted = [s.counted for s in self.samples if (s.variant, s.case) in OF_FIRMWARE]
        culprits = {c["pc"] for interval in counted if interval for c in interval.culprits}
        for pc in sorted(culprits):
            self.terminal.print(f"misaligned access at {pc:#010x}  {program.place(pc)}")


def boots_of(options: Options) -> tuple[varying.Boot, ...]:
    """What is booted beside the firmware asked for; a peer where one was asked for."""
    is_default = options.opt == "O2"
    ours = varying.PLUMB.get(options.board, ()) if is_default else ()
    if not options.peer:
        return ours
    if options.peer not in varying.PEERS:
        raise NotUnderstood(f"there is no peer {options.peer!r}, but: {', '.join(varying.PEERS)}")
    if options.board != "zynq" or not is_default:
        raise NotUnderstood(f"{options.peer} is measured on zynq at O2 only")
    return ours + varying.PEERS[options.peer]


def connections_of(folder: Path) -> int:
    """How many TCP connections a build holds at once."""
    text = (folder / "config/plumb_config.h").read_text()
    match = re.search(r"CONFIG_PLUMB_TCP_CONNECTIONS (\d+)", text)
    if not match:
        raise LabError(f"{folder}/config/plumb_config.h does not say how many connections")
    return int(match.group(1))


def run(options: Options) -> int:
    """Runs the bench; the exit status."""
    return Bench(options, for_tables(WIDTH)).run()
