# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Records, goals, and the readers of console, iperf and linker map."""

import json
import subprocess
from pathlib import Path

import pytest
from helpers import MISSED
from rich.console import Console as Terminal

from lab import bench, experiments, goals, iperf, records, report, sizes, tools
from lab.console import Console
from lab.errors import LabError
from lab.paths import ROOT
from lab.records import Record


def test_a_record_has_the_schema_s_fields_in_order(tmp_path):
    path = tmp_path / "results.jsonl"
    records.write(path, [Record("throughput", "zynq", "tcp_rx", "throughput", 1.5, "Mbit/s")])
    assert list(json.loads(path.read_text())) == list(records.FIELDS)
    assert records.read(path)[0].value == 1.5
    assert records.read(path)[0].schema == 2


def test_median_and_spread():
    about = {"experiment": "e", "board": "b", "case": "c", "metric": "m", "unit": "u"}
    record = records.of_values([1.0, 2.0, 3.0, 4.0, 100.0], **about)
    assert (record.value, record.spread, record.repeats) == (3.0, 2.0, 5)
    assert records.of_values([7.0], **about).spread == 0


@pytest.mark.parametrize(("value", "is_met"), [(0.6, True), (0.61, False)])
def test_a_floor_is_met_at_its_limit_and_not_past_it(value, is_met):
    found = [
        Record("throughput", "zynq", "tcp_rx", "instructions_per_byte", value, "")
    ]
    verdicts = goals.judge(found, "zynq", "O2", 16)
    verdict = next(v for v in verdicts if v.what.startswith("tcp_rx instructions"))
    assert verdict.is_met is is_met


def test_what_was_not_measured_is_not_met():
    verdicts = goals.judge([], "zynq", "O2", 16)
    assert verdicts and not any(verdict.is_met for verdict in verdicts)


GOAL = {
    "experiment": "checksum",
    "board": "armv5",
    "variant": "asm",
    "case": "length=1460 offset=* opt=O2 compiler=gcc",
    "metric": "instructions_per_byte",
    "of": 2,
    "at_most": 0.36,
}


def summed(values: list[float], **about: str) -> list[Record]:
    """Records of one routine at one offset after the other."""
    whole = {"variant": "asm", "opt": "O2", "board": "armv5"} | about
    return [
        Record(
            "checksum",
            whole["board"],
            f"length=1460 offset={offset} opt={whole['opt']} compiler=gcc",
            "instructions_per_byte",
            value,
            "",
            variant=whole["variant"],
        )
        for offset, value in enumerate(values)
    ]


def test_a_goal_s_pattern_is_judged_on_the_worst_case():
    met = goals.verdict(GOAL, summed([0.35, 0.36]))
    assert met.is_met and met.case == "length=1460 offset=1 opt=O2 compiler=gcc"
    missed = goals.verdict(GOAL, summed([0.37, 0.35]))
    assert not missed.is_met and "offset=0" in missed.case
    both = summed([0.35, 0.35]) + summed([0.36, 0.35], variant="c")
    assert goals.verdict(GOAL | {"variant": "*"}, both).case.startswith("c length=1460 offset=0 ")
    least = {name: value for name, value in GOAL.items() if name != "at_most"} | {"at_least": 0.36}
    assert goals.verdict(least, summed([0.37, 0.35])).case.count("offset=1") == 1
    assert not goals.verdict(least, summed([0.37, 0.35])).is_met


@pytest.mark.parametrize("other", [{"variant": "c"}, {"opt": "Os"}, {"board": "armv7a"}])
def test_a_goal_is_not_judged_on_what_it_is_not_about(other):
    verdict = goals.verdict(GOAL, summed([0.1, 0.1], **other))
    assert verdict.value is None and verdict.is_failure


def test_a_goal_for_several_cases_is_not_met_by_some_of_them():
    verdict = goals.verdict(GOAL, summed([0.1]))
    assert verdict.is_failure and "only 1 of 2" in verdict.text
    cases = [f"length=1460 offset={offset} *" for offset in range(2)]
    assert goals.verdict(GOAL | {"case": cases}, summed([0.1, 0.2, 9.0])).value == 0.2


def test_nothing_is_rounded_in_our_favour():
    verdict = goals.verdict(GOAL, summed([0.36, 0.3600001]))
    assert verdict.is_failure
    assert (verdict.measured, verdict.text) == ("0.3601", "NOT met by 0.0001")
    verdict = goals.verdict(GOAL, summed([0.1, 0.35999999]))
    assert verdict.is_met and verdict.text == "met by 0"
    least = {name: value for name, value in GOAL.items() if name != "at_most"} | {"at_least": 15}
    verdict = goals.verdict(least, summed([14.99999, 16.0]))
    assert verdict.is_failure and verdict.measured == "14.9999"


def test_only_what_this_machine_cannot_measure_may_be_missing():
    needy = GOAL | {"needs": "avx512bw"}
    there = goals.verdict(needy, [], lacks=frozenset())
    assert there.is_failure and there.text == "NOT met: not measured"
    absent = goals.verdict(needy, [], lacks=frozenset({"avx512bw"}))
    assert not absent.is_failure and not absent.is_met
    assert absent.text == "not measurable here: avx512bw"
    assert goals.as_records([there, absent], "", {}) == goals.as_records([there], "", {})


def test_an_experiment_is_judged_by_its_own_goals_on_its_own_boards(monkeypatch):
    strangers = [GOAL | {"board": "rv32"}, GOAL | {"experiment": "copy"}]
    monkeypatch.setattr(goals, "load", lambda: [GOAL, *strangers])
    (verdict,) = goals.judge_experiment(summed([0.1, 0.1]), "checksum", ("armv5",))
    assert verdict.is_met and verdict.board == "armv5"


def test_the_goals_are_ones_that_can_be_judged():
    known = {"experiment", "board", "variant", "case", "metric", "stack", "opt", "of", "said"}
    known |= {"needs", "at_most", "at_least", "plus_per_connection"}
    written = goals.load()
    assert len({json.dumps(goal) for goal in written}) == len(written)
    for goal in written:
        assert set(goal) <= known, goal
        assert ("at_most" in goal) != ("at_least" in goal), goal
        if goal["experiment"] in experiments.EXPERIMENTS:
            boards = experiments.load(goal["experiment"]).boards()
            assert goal["board"] in boards, goal


def test_the_floor_of_memory_grows_with_the_connections():
    found = [Record("size", "zynq", "total", "ram_bytes", 16384 + 512 * 16, "B")]
    few, enough = (goals.judge(found, "zynq", "Os", n)[-1] for n in (15, 16))
    assert not few.is_met and enough.is_met


def test_console_reads_its_protocol_in_any_pieces():
    text = (
        b"noise\r\nplumb: board=zynq app=iperf build=-O2 -marm\r\n"
        b"plumb: ready address=10.0.2.15\r\n"
        b"transfer: case=tcp_rx bytes=100 packets=2 datagrams_lost=0 acks=1 time_us=9 new=3\r\n"
        b"counter: gem0.rx_no_buffer=3\r\ntransfer: nonsense\r\n"
    )
    for size in (1, 7, len(text)):
        console = Console()
        for start in range(0, len(text), size):
            console.feed(text[start : start + size])
        assert console.address == "10.0.2.15"
        assert console.build == "-O2 -marm"
        assert [t.bytes for t in console.transfers] == [100]
        assert console.counters == {"gem0.rx_no_buffer": 3}
        assert console.malformed == ["transfer: nonsense"]


def test_console_reads_a_fault():
    console = Console()
    console.feed(b"fault: kind=data_abort address=0x00001235 pc=0x00008010 lr=0x1 status=0x1\n")
    console.feed(b"fault: r0=0x00000007 r1=0xffffffff\n")
    assert console.fault.kind == "data_abort"
    assert console.fault.values["address"] == 0x1235
    assert console.fault.values["r1"] == 0xFFFFFFFF


def test_recorded_tables_replace_what_is_between_the_marks_of_a_page(tmp_path):
    page = tmp_path / "README.md"
    page.write_text(f"above\n{report.README_BEGIN}\nold\n{report.README_END}\nbelow\n")
    found = [Record("throughput", "zynq", "tcp_rx", "throughput", 1.5, "Mbit/s")]
    tables = [report.case_table(found, report.SPEED)]
    for _ in range(2):  # and again, as often as one likes
        report.fill_readme(page, [["board", "zynq"]], tables)
    text = page.read_text()
    assert text.startswith(f"above\n{report.README_BEGIN}\n\n")
    assert text.endswith(f"\n\n{report.README_END}\nbelow\n")
    assert text.count("| TCP receive | 1.5 |") == 1 and "old" not in text
    page.write_text(f"{report.README_BEGIN} and no end")
    with pytest.raises(LabError, match="no place"):
        report.fill_readme(page, [], tables)


def test_recording_writes_the_page_and_the_readme(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "ROOT", tmp_path)
    readme = tmp_path / "README.md"
    readme.write_text(f"{report.README_BEGIN}{report.README_END}")
    run = bench.Bench(bench.Options(record=True, out=tmp_path / "out"), Terminal())
    table = (["", "n"], [["a row", "7"]])
    run._write_pages([["board", "zynq"]], [table, table], "a note")
    assert "| a row | 7 |" in readme.read_text()
    assert "| a row | 7 |" in (tmp_path / "docs/results.md").read_text()


@pytest.mark.parametrize("unfit", [{"tap": True}, {"repeat": 1}])
def test_only_the_ordinary_run_is_recorded(tmp_path, unfit):
    with pytest.raises(LabError, match="ordinary run"):
        bench.Bench(bench.Options(record=True, out=tmp_path, **unfit), Terminal())


def test_what_is_recorded_meets_every_goal_but_those_that_are_missed():
    page = (ROOT / "docs/results.md").read_text()
    unmet = [line for line in page.splitlines() if "NOT met" in line]
    assert all(any(what in line for what in MISSED) for line in unmet)
    limits = [goal for goal in goals.load() if goal["experiment"] in goals.OF_THE_BENCH]
    assert page.count("met by") == len(limits)
    assert ".text smallest" in page


def test_the_readme_has_a_place_for_results():
    text = (ROOT / "README.md").read_text()
    assert text.find(report.README_BEGIN) < text.find(report.README_END)
    assert text.count(report.README_BEGIN) == text.count(report.README_END) == 1


TCP = "[  1] 0.0000-0.0165 sec  16.0 MBytes  8150 Mbits/sec\n"
UDP = "[  1] 0.0000-0.5760 sec  4.00 MBytes  58.3 Mbits/sec   0.125 ms 12/2855 (0.42%)\n"


def test_iperf_s_reports():
    assert iperf.parse(TCP).mbit_per_s == 8150
    report = iperf.parse(TCP + "[  1] Server Report:\n" + UDP)
    assert (report.jitter_ms, report.lost, report.datagrams) == (0.125, 12, 2855)
    assert report.loss_percent == pytest.approx(0.4203, abs=1e-3)
    with pytest.raises(Exception, match="reported nothing"):
        iperf.parse("connect failed")


MAP = """
Linker script and memory map

 .text.plumb_poll
                0x0000000000008000       0x40 src/libplumb.a(stack.c.obj)
 .text          0x0000000000008040       0x10 /usr/lib/libgcc.a(_udivsi3.o)
 .rodata.names  0x0000000000009000        0x8 src/libplumb.a(counters.c.obj)
 .text.rx       0x0000000000008060       0x20 drivers/gem/libplumb_gem.a(rx.c.obj)
 .text.gone     0x0000000000000000       0x99 src/libplumb.a(stack.c.obj)
 .text.board    0x0000000000008080      0x100 boards/zynq/CMakeFiles/zynq_iperf.dir/main.c.obj
 .bss.memory    0x0000000000010000      0x200 boards/zynq/CMakeFiles/zynq_iperf.dir/main.c.obj
 .packets       0x0000000000020000     0x9000 boards/zynq/CMakeFiles/zynq_iperf.dir/main.c.obj
 .bss.state     0x0000000000010200       0x30 apps/CMakeFiles/app_iperf.dir/iperf/main.c.obj
 .debug_info    0x0000000000000000       0x30 apps/CMakeFiles/app_iperf.dir/iperf/main.c.obj
"""


def test_sizes_count_what_is_plumb_s_and_no_more():
    found = sizes.parse(MAP)
    total = sizes.total(found)
    assert (total.text, total.rodata, total.data, total.bss) == (0x60, 8, 0, 0x230)
    assert found["src/stack"].text == 0x40
    assert found[sizes.GIVEN].bss == 0x200


def test_what_recording_writes_is_no_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tools, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    names = ("README.md", "docs/results-copy.md", "docs/lab.md")
    for name in names:
        (tmp_path / name).write_text("before")
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-q", "-m", "first")):
        subprocess.run(["git", "-C", tmp_path, *words], check=True)
    for name in names[:2]:
        (tmp_path / name).write_text("after")
    assert len(tools.commit()) == 12
    (tmp_path / names[2]).write_text("after")
    assert tools.commit().endswith("+changes")
