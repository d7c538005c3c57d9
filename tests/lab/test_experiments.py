# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The experiments on the byte routines: as a user runs them, and what they rest on."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from browser import PHONE, look
from helpers import plumb, processes_with, until

from lab import experiments, goals, lock, peers, programs, usermode
from lab.errors import LabError, MissingTool
from lab.experiments import bytes as counting
from lab.experiments import runner
from lab.experiments.base import Experiment, Run, Table, case_of, parts_of
from lab.isa import isa
from lab.paths import ROOT
from lab.profile import Interval
from lab.programs import Program, Unit
from lab.records import FIELDS, Record, read

# One that has no room for a mistake in byte order, and one with everything to link.
SUMMED = ("armv5", "mips32be")
COPIED = ("thumb2", "rv64")
OFFSETS = tuple(range(4))
PAIRS = (*((to, start) for to in OFFSETS for start in OFFSETS), (0, 4), (4, 0))


def quick(name: str, isas: tuple[str, ...], folder: Path):
    """A quick run of an experiment on some instruction sets; what it said and recorded."""
    chosen = [word for isa in isas for word in ("--isa", isa)]
    done = plumb("bench", "--experiment", name, "--quick", *chosen, "--out", folder)
    assert (folder / "results.jsonl").exists(), done.stdout
    return done, read(folder / "results.jsonl")


@pytest.fixture(scope="module")
def summed(tmp_path_factory: pytest.TempPathFactory):
    """The checksum on two instruction sets."""
    folder = tmp_path_factory.mktemp("checksum")
    return *quick("checksum", SUMMED, folder), folder


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory):
    """The copy on two others."""
    folder = tmp_path_factory.mktemp("copy")
    return *quick("copy", COPIED, folder), folder


def cases(records: list[Record], board: str, metric: str, stack: str, variant: str) -> set[str]:
    """The cases of one routine."""
    about = (board, metric, stack, variant)
    return {r.case for r in records if (r.board, r.metric, r.stack, r.variant) == about}


def test_the_checksum_is_measured_at_every_length_and_offset(summed):
    _, records, _ = summed
    routines = [("plumb", "c"), ("plumb", "asm"), *(("lwip", f"algorithm-{n}") for n in (1, 2, 3))]
    wanted = {
        case_of(length=length, offset=offset, opt=opt, compiler="gcc")
        for length in counting.LENGTHS
        for offset in OFFSETS
        for opt in ("O2", "Os")
    }
    for board in SUMMED:
        for routine in routines:
            found = cases(records, board, "instructions_per_byte", *routine)
            assert wanted <= found, (board, routine)
            assert any(case.startswith("chain ") for case in found), (board, routine)
        assert cases(records, board, "text_bytes", "plumb", "asm") >= {"opt=Os compiler=gcc"}


def test_the_copy_is_measured_for_every_pair_against_every_library(copied):
    _, records, _ = copied
    libraries = {"thumb2": {"newlib", "picolibc"}, "rv64": {"newlib", "picolibc", "glibc"}}
    wanted = {
        prefix + case_of(**{"length": length, "to": to, "from": start, "opt": "O2"})
        for prefix in ("", "fused ")
        for length in counting.LENGTHS
        for to, start in PAIRS
    }
    for board, stacks in libraries.items():
        there = {r.stack for r in records if r.board == board}
        assert there >= {"plumb", "simple", *stacks}
        found = cases(records, board, "instructions_per_byte", "plumb", "asm")
        assert wanted <= {case.removesuffix(" compiler=gcc") for case in found}
    variants = {r.variant for r in records}
    assert {"byte-loop", "halfwords", "generic", "shipped", "nano", "release"} <= variants
    assert "generic+algorithm-3" in variants


@pytest.mark.parametrize("run", ["summed", "copied"])
def test_records_say_what_they_were_made_with(run: str, request: pytest.FixtureRequest):
    _, records, folder = request.getfixturevalue(run)
    for line in (folder / "results.jsonl").read_text().splitlines():
        assert list(json.loads(line)) == list(FIELDS)
    for record in records:
        if record.experiment != "goal":
            assert record.tools["emulator"].startswith("qemu-")
            assert record.tools["compiler"] and record.tools["commit"]
            parts = parts_of(record.case)
            assert f"-{parts['opt']}" in record.tools["flags"].split()


@pytest.mark.parametrize("run", ["summed", "copied"])
def test_only_the_goals_of_what_was_measured_are_judged(run: str, request):
    done, records, _ = request.getfixturevalue(run)
    verdicts = [r for r in records if r.experiment == "goal"]
    measured = {r.board for r in records if r.experiment != "goal"}
    name = next(r.experiment for r in records if r.experiment != "goal")
    of_these = [g for g in goals.load() if g["experiment"] == name and g["board"] in measured]
    assert verdicts and len(verdicts) == len(of_these)
    assert done.returncode == int(not all(r.value for r in verdicts)), done.stdout
    assert ("NOT met" in done.stdout) == bool(done.returncode)


@pytest.mark.parametrize("run", ["summed", "copied"])
def test_its_page_needs_nothing_but_itself(run: str, request: pytest.FixtureRequest):
    _, records, folder = request.getfixturevalue(run)
    seen = look(folder / "report.html", PHONE)
    assert (seen.requests, seen.console, seen.outside, seen.small) == ([], [], [], [])
    assert len(seen.charts) >= 3 and all(marks > 0 for marks in seen.charts)
    for record in records:
        assert record.board in seen.text
        if record.experiment != "goal":
            words = parts_of(record.case).values()
            assert record.case in seen.text or all(word in seen.text for word in words)
    for board in {r.board for r in records if r.experiment != "goal"}:
        assert isa(board).title in seen.text


# ---- goals and the exit status ----


class Fixed(Experiment):
    """An experiment that finds what it is told to."""

    name, title, question = "checksum", "Fixed", "Nothing."

    def __init__(self, value: float) -> None:
        self.value = value

    def boards(self) -> tuple[str, ...]:
        return ("armv5",)

    def measure(self, run: Run) -> list[Record]:
        return [Record("checksum", "armv5", "a case", "instructions", self.value, "")]

    def tables(self, records: list[Record]) -> list[Table]:
        return [Table("A table", ["", "n"], [[r.case, str(r.value)] for r in records])]

    def plot(self, records: list[Record]) -> list:
        return []


@pytest.mark.parametrize(("value", "status"), [(7.0, 0), (7.000001, 1)])
def test_a_goal_that_is_not_met_is_the_exit_status(
    value: float, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    goal = {"experiment": "checksum", "board": "armv5", "variant": "default", "case": "a *"}
    monkeypatch.setattr(
        goals, "load", lambda: [goal | {"metric": "instructions", "at_most": 7}]
    )
    monkeypatch.setattr(runner, "load", lambda name: Fixed(value))
    monkeypatch.setattr(runner, "DOCS", tmp_path / "docs")
    (tmp_path / "docs").mkdir()
    options = runner.Options("checksum", out=tmp_path / "out", record=True)
    assert runner.run(options) == status
    page = (tmp_path / "docs/results-checksum.md").read_text()
    assert "| a case | 7." in page and ("NOT met" in page) == bool(status)


def test_what_cannot_be_run_is_refused():
    for words, complaint in (
        (("--experiment", "nonsense"), "there are: throughput, checksum, copy"),
        (("--experiment", "checksum", "--isa", "vax"), "knows no ISA 'vax'"),
        (("--experiment", "checksum", "--tap"), "for throughput only"),
        (("--experiment", "copy", "--quick", "--record"), "the whole experiment"),
        (("--isa", "armv5"), "not for throughput"),
    ):
        done = plumb("bench", *words, limit_s=60)
        assert done.returncode == 2 and complaint in done.stdout, (words, done.stdout)


@pytest.mark.parametrize(
    ("by_bytes", "by_halfwords", "told"),
    [
        (96.0, 95.0, "takes 4.0 % fewer instructions by bytes and 5.0 % fewer by halfwords."),
        (101.0, 100.04, "takes 1.0 % more instructions by bytes and as many by halfwords."),
        (100.04, 99.96, "as many instructions as with one, by bytes and by halfwords alike: in bulk"),
    ],
)
def test_a_copy_that_costs_a_packet_nothing_is_said_to(by_bytes, by_halfwords, told):
    values = {"call": 100.0, "bytes-interleaved": by_bytes, "halfwords": by_halfwords}
    found = [
        Record("ether-copy", "zynq", "tcp_tx", "instructions_per_packet", value, "", variant=name)
        for name, value in values.items()
    ]
    (answer,) = experiments.load("ether-copy").answers(found)
    assert told in answer


def test_every_experiment_has_a_name_of_its_own():
    for name in ("checksum", "copy"):
        assert experiments.load(name).name == name
    with pytest.raises(LabError, match="no experiment"):
        experiments.load("nonsense")


# ---- what is counted ----


def interval(instructions: int, misaligned: int = 0) -> Interval:
    """What the plugin counted of one call."""
    return Interval(instructions, instructions, 0, misaligned, [], [])


def test_what_an_empty_call_takes_is_subtracted_for_each_kind():
    one = counting.Build("armv5", "gcc", "O2")
    lines = [
        ("sum none empty length=20 offset=0", interval(9)),
        ("copy none empty length=20 to=0 from=0", interval(11)),
        ("sum plumb c length=20 offset=3", interval(49, 2)),
        ("copy plumb c length=20 to=1 from=2", interval(51)),
    ]
    cases = [usermode.Case(tuple(line.split()), counted) for line, counted in lines]
    found = list(counting._net(one, cases))
    assert [(f.kind, f.instructions, f.misaligned) for f in found] == [
        ("sum", 40, 2),
        ("copy", 40, 0),
    ]
    made = counting.records("checksum", found)
    case = "length=20 offset=3 opt=O2 compiler=gcc"
    values = {r.metric: r.value for r in made if r.case == case}
    assert values == {"instructions_per_byte": 2.0, "instructions": 40.0}
    (misaligned,) = [r.value for r in made if r.metric == "misaligned_accesses"]
    assert misaligned == 2


WRONG = """/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "measure.h"
static uint32_t sum_of_nothing(const void *bytes, size_t length) {
    (void)bytes;
    return (uint32_t)length;
}
ROUTINE(SUM, sum, "plumb", "wrong", sum_of_nothing);
"""


def test_a_routine_that_sums_wrong_is_not_measured(tmp_path: Path):
    source = tmp_path / "wrong.c"
    source.write_text(WRONG)
    units = (*programs.harness(), Unit(ROOT / "bench/bytes/measure.c"), Unit(source))
    one = counting.Build("armv5", "gcc", "O2")
    wanted = [Program("wrong", "armv5", "gcc", units)]
    (program,) = programs.build_all("test-wrong", wanted).values()
    with pytest.raises(LabError, match="wrong plumb wrong"):
        usermode.run(one.target, program, ["sum", "64"], tmp_path)


PARTS = """/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "user.h"
static const unsigned words[2] __attribute__((aligned(8))) = {1, 2};
int user_main(int count, char **arguments) {
    unsigned loaded;
    (void)count;
    (void)arguments;
    board_print("case parts\\n");
    board_measure_start();
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    __asm__ volatile("lwl %0, 1(%1)\\n\\tlwr %0, 4(%1)" : "=&r"(loaded) : "r"(words) : "memory");
#else
    __asm__ volatile("lwl %0, 4(%1)\\n\\tlwr %0, 1(%1)" : "=&r"(loaded) : "r"(words) : "memory");
#endif
    board_measure_stop();
    board_print("end\\n");
    return loaded == 0;
}
"""


@pytest.mark.parametrize("name", ["mips32be", "mips32le"])
def test_a_load_of_a_part_of_a_word_is_one_load(name: str, tmp_path: Path):
    source = tmp_path / "parts.c"
    source.write_text(PARTS)
    wanted = [Program("parts", name, "gcc", (*programs.harness(), Unit(source)))]
    (program,) = programs.build_all(f"test-parts-{name}", wanted).values()
    (case,) = usermode.run(counting.Build(name, "gcc", "O2").target, program, [], tmp_path)
    assert case.interval.misaligned_accesses == 0
    loads = [function["loads"] for function in case.interval.functions if function["loads"]]
    assert loads == [{"4": 2}]


# ---- peers ----


@pytest.fixture
def no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for peers, empty, and no server to fetch from."""
    monkeypatch.setattr(peers, "PEERS", tmp_path)
    nowhere = peers.SOURCES.replace("http://deb.debian.org", "http://127.0.0.1:9")
    assert nowhere != peers.SOURCES
    monkeypatch.setattr(peers, "SOURCES", nowhere)
    return tmp_path


def test_without_a_network_the_command_is_said(no_network: Path):
    with pytest.raises(MissingTool) as refusal:
        peers.lwip()
    assert refusal.value.status == 2
    said = str(refusal.value)
    for words in ("is there a network?", f"cd {no_network} && apt-get ", "lwip=2.1.3+dfsg1-2"):
        assert words in said
    assert peers.LWIP.archive in said


@pytest.fixture(scope="module")
def fetched() -> Path:
    """lwIP's archive, as it is fetched where there is a network."""
    peers.lwip()
    return peers.PEERS / peers.LWIP.archive


def test_an_archive_that_was_put_there_by_hand_will_do(fetched: Path, no_network: Path):
    shutil.copy(fetched, no_network)
    assert (peers.lwip() / "src/core/inet_chksum.c").exists()


def test_an_archive_that_is_not_what_it_should_be_is_refused(no_network: Path):
    (no_network / peers.LWIP.archive).write_bytes(b"something else")
    with pytest.raises(LabError, match="not what it should be.*; remove it"):
        peers.lwip()
    assert not list(no_network.glob("lwip-*"))


def test_an_archive_that_cannot_be_read_is_said(no_network: Path, monkeypatch):
    archive = no_network / "newlib.tar.xz"
    monkeypatch.setattr(peers, "NEWLIB_SOURCES", archive)
    whole = Path("/usr/src/newlib/newlib-3.3.0.tar.xz").read_bytes()
    for content in (b"something else", whole[:100_000]):
        archive.write_bytes(content)
        with pytest.raises(LabError, match=f"{archive} cannot be read"):
            peers.newlib()
        assert not (no_network / "newlib-3.3.0").exists()


@pytest.mark.parametrize(
    ("isa", "stack", "helpers"),
    [("armv5", "picolibc", set()), ("rv64", "glibc", {"_wordcopy_fwd_aligned"})],
)
def test_a_library_s_memcpy_is_all_that_is_seen_of_it(
    isa: str, stack: str, helpers: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(peers, "PEERS", tmp_path)
    library = next(one for one in peers.LIBRARIES[isa] if one.stack == stack)
    objects = peers.memcpy_objects(library, isa)
    symbols = peers.output_of([peers.NM, "--extern-only", "--defined-only", *map(str, objects)])
    seen = {line.split()[-1] for line in symbols.splitlines() if " T " in line}
    assert {library.name, *helpers} <= seen
    assert not [name for name in seen - {library.name} if not name.startswith("_wordcopy_")]
    with pytest.raises(LabError, match="defines no nonsense"):
        peers._member(replace(library, symbol="nonsense"))


# ---- what is refused, and waited for ----


def test_what_is_not_understood_installs_nothing(monkeypatch: pytest.MonkeyPatch):
    def ensure(command: str) -> None:
        raise MissingTool(f"{command} needs everything")

    monkeypatch.setattr(runner.tools, "ensure", ensure)
    with pytest.raises(LabError, match="knows no ISA 'vax'"):
        runner.run(runner.Options("checksum", isas=("vax",)))
    with pytest.raises(MissingTool, match="copy needs everything"):
        runner.run(runner.Options("copy"))


def test_where_results_cannot_go_is_said_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(runner.os, "access", lambda folder, mode: folder != tmp_path)
    with pytest.raises(LabError, match=f"cannot write in {tmp_path}"):
        runner.run(runner.Options("checksum", out=tmp_path))
    assert not list(tmp_path.iterdir())


def test_one_lab_waits_for_another(tmp_path: Path):
    path = tmp_path / "a/lock"
    with lock.held(path, "measuring"):
        with pytest.raises(LabError, match="another lab is measuring in this tree"):
            with lock.held(path, "measuring", limit_s=0.2):
                pass
    with lock.held(path, "measuring", limit_s=0):
        pass


def test_an_emulator_dies_with_the_lab(tmp_path: Path):
    mark = str(tmp_path / "endless")
    os.symlink(shutil.which("sleep"), mark)
    lines = "from pathlib import Path; from lab import isa, usermode; "
    lines += f"usermode.execute(isa.isa('x86_64'), Path({mark!r}), ['60'])"
    lab = subprocess.Popen([sys.executable, "-c", lines], cwd=ROOT)
    try:
        assert until(lambda: len(processes_with(f"qemu-x86_64 -cpu max {mark}")) == 1, 20)
    finally:
        lab.kill()
        lab.wait()
    assert until(lambda: not processes_with(mark), 5)


BY_BYTES = """/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "measure.h"
static void copy_short_by_bytes(void *to, const void *from, size_t length) {
    uint8_t *t = to;
    const uint8_t *f = from;
    for (; length >= 40; length -= 8, t += 8, f += 8)
        __builtin_memcpy(t, f, 8);
    while (length--)
        *t++ = *f++;
}
ROUTINE(COPY, copy, "plumb", "wrong", copy_short_by_bytes);
"""


def test_a_loop_over_bytes_of_short_lengths_is_counted(tmp_path: Path):
    source = tmp_path / "by_bytes.c"
    source.write_text(BY_BYTES)
    flags = ("-fno-tree-vectorize", "-fno-tree-loop-distribute-patterns")
    measured = Unit(source, flags=flags)
    units = (*programs.harness(), Unit(ROOT / "bench/bytes/measure.c"), measured)
    one = counting.Build("x86_64", "gcc", "O2")
    found = counting.count(Run(tmp_path), {Program("by-bytes", "x86_64", "gcc", units): one}, "copy")
    made = counting.records("copy", found)
    metrics = {r.metric: r.value for r in made if r.case == "all=cases opt=O2 compiler=gcc"}
    assert metrics == {"misaligned_accesses": metrics["misaligned_accesses"],
                       "byte_loads": 39, "byte_stores": 39}  # fmt: skip
    measured_lengths = {int(parts_of(r.case)["length"]) for r in made if "length=" in r.case}
    assert measured_lengths == set(counting.LENGTHS)
