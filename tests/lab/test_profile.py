# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`./plumb profile` as a user runs it, and the files that it writes for others to read."""

import json
import re
from pathlib import Path

import pytest
from helpers import plumb

from lab import build, stacks, work
from lab.elf import Program
from lab.payload import Buffers, Place, touched
from lab.profile_tables import step_of
from lab.variables import find

CASE = "tcp_rx"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory):
    """One case, profiled."""
    folder = tmp_path_factory.mktemp("profile")
    return plumb("profile", "--case", CASE, "--out", folder), folder


def instructions(folder: Path) -> int:
    """All of the transfer's, idle ones included, by the plugin's own counters."""
    interval = json.loads((folder / "counter/counts.jsonl").read_text())
    return interval["instructions"] + interval["idle_instructions"]


def test_it_shows_the_path_and_the_functions(run) -> None:
    done, folder = run
    assert done.returncode == 0, done.stdout
    for text in (done.stdout, (folder / f"{CASE}.txt").read_text()):
        for name in ("driver", "link", "inet", "tcp", "app", "pl_sum", "pl_gem_poll"):
            assert re.search(rf"^{name} ", text, re.MULTILINE), name
    assert "payload touched 1.000 times" in done.stdout


def test_steps_and_kinds_of_work_sum_up_to_all(run) -> None:
    done, _ = run
    table = done.stdout.partition("instructions per packet")[2].partition("per packet ")[0]
    rows = [line.split() for line in table.splitlines()[2:] if line.strip()]
    values = {name: [float(v) for v in row] for name, *row in rows}
    whole = values.pop("all")
    for column, value in enumerate(whole):
        assert sum(row[column] for row in values.values()) == pytest.approx(value, abs=0.6)
    assert whole[0] > 10 * whole[1] > 0  # receiving, and some acknowledgements


def test_folded_stacks_sum_up_to_what_was_counted(run) -> None:
    _, folder = run
    lines = (folder / f"{CASE}.folded").read_text().splitlines()
    assert all(re.fullmatch(r"[^; ]+(;[^; ]+)* [1-9]\d*", line) for line in lines)
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == instructions(folder)
    assert len({line.rpartition(" ")[0] for line in lines}) == len(lines)


def check_speedscope(whole: dict) -> None:
    """The rules of speedscope's schema, for a file of sampled profiles."""
    assert whole["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    known = {"$schema", "shared", "profiles", "name", "activeProfileIndex", "exporter"}
    assert {"$schema", "shared", "profiles"} <= set(whole) <= known
    assert set(whole["shared"]) == {"frames"}
    frames = whole["shared"]["frames"]
    for frame in frames:
        assert isinstance(frame["name"], str)
        assert set(frame) <= {"name", "file", "line", "col"}
    assert 0 <= whole["activeProfileIndex"] < len(whole["profiles"])
    for profile in whole["profiles"]:
        check_sampled(profile, len(frames))


def check_sampled(profile: dict, frames: int) -> None:
    """The rules for one of them."""
    keys = {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
    units = ("bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds")
    assert set(profile) == keys
    assert profile["type"] == "sampled" and isinstance(profile["name"], str)
    assert profile["unit"] in units
    assert len(profile["samples"]) == len(profile["weights"]) > 0
    for sample, weight in zip(profile["samples"], profile["weights"], strict=True):
        assert weight >= 0 and sample
        assert all(isinstance(frame, int) and 0 <= frame < frames for frame in sample)
    assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])


def test_the_speedscope_file_keeps_the_schema_s_rules(run) -> None:
    _, folder = run
    whole = json.loads((folder / "profile.speedscope.json").read_text())
    check_speedscope(whole)
    assert [profile["name"] for profile in whole["profiles"]] == [CASE]
    assert whole["profiles"][0]["endValue"] == instructions(folder)
    whole["profiles"][0]["samples"][0].append(len(whole["shared"]["frames"]))
    with pytest.raises(AssertionError):
        check_speedscope(whole)


def test_stacks_of_a_small_tree() -> None:
    calls = [
        [0, "(outside)", "other", 0, 0],
        [0, "main", "other", 3, 3],
        [1, "poll", "receive", 0, 0],
        [2, "sum", "receive", 7, 9],
        [1, "sum", "transmit", 2, 2],
    ]
    found = stacks.of_calls(calls)
    assert found == {("main",): 3, ("main", "poll", "sum"): 7, ("main", "sum"): 2}
    assert stacks.folded(found) == "main 3\nmain;poll;sum 7\nmain;sum 2\n"


def test_others_are_profiled_along_the_same_path(tmp_path: Path) -> None:
    done = plumb("profile", "--app", "echo", "--variant", "lwip-tuned", "--out", tmp_path)
    assert done.returncode == 0, done.stdout
    table = done.stdout.partition("instructions per packet")[2].partition("per packet ")[0]
    rows = {line.split()[0]: line.split()[1:] for line in table.splitlines()[2:] if line.strip()}
    for step in ("driver", "link", "inet", "app"):
        assert float(rows[step][0]) > 20, step


def test_what_there_is_nothing_of_is_refused() -> None:
    for words in (("--case", "tcp"), ("--variant", "none"), ("--app", "selftest"), ("--board", "x")):
        done = plumb("profile", *words)
        assert done.returncode == 2 and words[1] in done.stdout, done.stdout


# ---- what it goes by ----


def test_every_rule_of_kinds_of_work_applies_to_some_function() -> None:
    programs = [build.firmware(board, "iperf") for board in ("zynq", "linux")]
    unused = [set(work.unused(Program(path), work.PLUMB)) for path in programs]
    assert not set.intersection(*unused)


def test_kinds_of_work_by_file_and_function() -> None:
    kind = lambda name: work.kind_of(name, work.PLUMB)  # noqa: E731
    assert kind("drivers/gem/rx.c:anything") == "receive"
    assert kind("src/tcp/output.c:pl_tcp_output.part.0") == "transmit"
    assert kind("boards/zynq/main.c:board_idle") == "idle"
    assert kind("src/bytes/arm/sum.S:pl_sum") == ""


def test_a_function_s_step_is_its_folder_s() -> None:
    assert step_of("drivers/gem/rx.c") == "driver"
    assert step_of("src/tcp/input.c") == "tcp"
    assert step_of("apps/iperf/main.c") == "app"
    assert step_of("") == step_of("/usr/lib/libgcc/lib1funcs.S") == "elsewhere"


def test_payload_begins_behind_the_headers() -> None:
    place = Place(Buffers("pool", 1536, {"tcp": 56, "udp": 44}), 0x1000, 1536 * 4, 1536)
    counted = [{"name": "pool", "loads": [[2, 10, 5], [40, 100, 3]], "stores": [[55, 2, 7]]}]
    assert touched(counted, [place], "tcp_rx") == (84 * 3, 7)
    assert touched(counted, [place], "udp_rx") == (96 * 3, 14)


def test_memory_is_found_with_the_size_of_its_rows() -> None:
    found = find(build.firmware("zynq", "iperf"), ["segment_memory", "iperf.words", "nothing"])
    assert set(found) == {"segment_memory", "iperf.words"}
    assert found["segment_memory"].row * 512 == found["segment_memory"].size
    assert found["iperf.words"].row == 4
