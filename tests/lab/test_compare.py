# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`./plumb compare` and `./plumb history`, and how they find and read runs."""

import io
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from helpers import plumb
from rich.console import Console as Terminal

from lab import compare, history, metrics, recorded, records, report, runs
from lab.errors import LabError
from lab.paths import ROOT
from lab.records import Record

TOOLS = {"commit": "0123456789ab", "flags": "-marm -O2", "network": "user"}


def one(metric: str, value: float, spread: float = 0.0, **about: str) -> Record:
    """A record of a transfer."""
    whole = {"experiment": "throughput", "board": "zynq", "case": "tcp_rx"} | about
    return Record(metric=metric, value=value, spread=spread, unit="", tools=TOOLS, **whole)


def file(path: Path, *found: Record) -> Path:
    """A file of records."""
    path.parent.mkdir(parents=True, exist_ok=True)
    records.write(path, found)
    return path


def change(metric: str, before: float, after: float, spread: float = 0.0) -> compare.Change:
    """One value's change."""
    (key,) = compare.by_key([one(metric, before)])
    return compare.Change(key, one(metric, before, spread), one(metric, after))


@pytest.mark.parametrize(
    ("metric", "before", "after", "verdict"),
    [
        ("instructions_per_byte", 1.0, 1.1, "worse"),
        ("instructions_per_byte", 1.0, 0.9, "better"),
        ("throughput", 100.0, 110.0, "better"),
        ("throughput", 100.0, 90.0, "worse"),
        ("touches_per_byte", 1.0, 2.0, "worse"),
        ("text_bytes", 1000.0, 999.0, "better"),
        ("udp_loss", 0.0, 1.0, "worse"),
        ("connections", 1000.0, 999.0, "worse"),
        ("ratio_to_memcpy", 1.0, 0.5, "worse"),
        ("idle_share", 10.0, 20.0, "changed"),
        ("throughput_client", 700.0, 300.0, "changed"),
        ("never_heard_of", 1.0, 2.0, "changed"),
        ("goal_met", 1.0, 0.0, "worse"),
        ("misaligned_accesses", 3.0, 3.0, "same"),
    ],
)
def test_which_way_is_worse_is_known_by_metric(metric, before, after, verdict):
    assert change(metric, before, after).verdict == verdict


def test_a_change_within_the_spread_is_none():
    assert change("instructions_per_byte", 1.0, 1.1, spread=0.2).verdict == "within spread"
    assert change("instructions_per_byte", 1.0, 1.3, spread=0.2).verdict == "worse"


def rounded(value: float, rounding: float, spread: float = 0.0) -> Record:
    """A value as a page that rounds it tells of it."""
    return replace(one("throughput", value, spread), rounding=rounding)


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (rounded(562.8, 0.05), 562.85, "within spread"),
        (rounded(562.8, 0.05), 562.75, "within spread"),
        (rounded(562.8, 0.05), 562.86, "better"),
        (rounded(562.8, 0.05, 0.1), 562.95, "within spread"),
        (rounded(562.8, 0.05, 0.1), 562.64, "worse"),
    ],
)
def test_a_rounded_value_is_no_more_exact_than_its_last_digit(before, after, verdict):
    (key,) = compare.by_key([before])
    assert compare.Change(key, before, one("throughput", after)).verdict == verdict


@pytest.mark.parametrize(
    ("case", "metric", "after", "verdict"),
    [
        ("udp_rx", "instructions_per_byte", 0.93, "within spread"),
        ("udp_rx", "throughput_busy", 1.07, "within spread"),
        ("udp_rx", "instructions_per_byte", 0.91, "better"),
        ("udp_rx", "instructions_per_packet", 1.09, "worse"),
        ("udp_rx", "touches_per_byte", 1.01, "worse"),
        ("tcp_rx", "instructions_per_byte", 0.99, "better"),
    ],
)
def test_what_depends_on_this_host_s_pace_has_a_tolerance(case, metric, after, verdict):
    before = one(metric, 1.0, case=case)
    (key,) = compare.by_key([before])
    assert compare.Change(key, before, one(metric, after, case=case)).verdict == verdict


def test_every_metric_that_is_recorded_is_known():
    page = (ROOT / "docs/design.md").read_text().partition("| metric | unit | is |")[2]
    table = page.partition("\n\n")[0]
    first_cells = [line.split("|")[1] for line in table.splitlines() if line.count("|") > 3]
    names = [name for cell in first_cells for name in cell.split("`")[1::2]]
    assert len(names) > 20
    judged_by_nobody = {n for n in names if metrics.of(n).better is metrics.Better.NEITHER}
    assert judged_by_nobody == {
        n for n, m in metrics.KNOWN.items() if m.better is metrics.Better.NEITHER
    } & set(names)


@pytest.mark.parametrize(
    ("after", "gate", "status"),
    [(1.05, "4", 1), (1.05, "6", 0), (1.0, "0", 0), (0.5, "0", 0), (1.0001, "0", 1)],
)
def test_the_gate_lets_through_what_it_is_told_to(tmp_path, after, gate, status):
    old = file(tmp_path / "a.jsonl", one("instructions_per_byte", 1.0), one("throughput", 9.0))
    new = file(tmp_path / "b.jsonl", one("instructions_per_byte", after), one("throughput", 9.0))
    done = plumb("compare", old, new, "--gate", gate)
    assert done.returncode == status, done.stdout
    assert ("got worse by more\n" in done.stdout.replace("nothing got", "")) == bool(status)


def test_from_nothing_to_something_is_more_than_any_gate(tmp_path):
    old = file(tmp_path / "a.jsonl", one("misaligned_accesses", 0.0))
    new = file(tmp_path / "b.jsonl", one("misaligned_accesses", 1.0))
    done = plumb("compare", old, new, "--gate", "1000000")
    assert done.returncode == 1 and "from none" in done.stdout
    assert plumb("compare", new, old, "--gate", "0").returncode == 0


def test_what_only_one_has_is_named(tmp_path):
    both = one("instructions_per_byte", 1.0)
    old = file(tmp_path / "a.jsonl", both, one("throughput", 1.0, case="gone"))
    new = file(tmp_path / "b.jsonl", both, one("throughput", 1.0, case="fresh", variant="copy"))
    for words in ((), ("--markdown",)):
        done = plumb("compare", old, new, "--gate", "0", *words)
        assert done.returncode == 0
        missing, _, rest = done.stdout.partition("Missing:")[2].partition("New:")
        assert "zynq plumb default gone: throughput" in missing and "fresh" not in missing
        assert "zynq plumb copy fresh: throughput" in rest and "gone" not in rest
        assert "1 missing, 1 new" in done.stdout


def test_what_only_one_has_is_listed_when_it_is_asked_for(tmp_path):
    both = one("throughput", 1.0)
    many = [one("throughput", 1.0, case=f"fresh{n}") for n in range(compare.LISTED_MAX + 1)]
    old, new = file(tmp_path / "a.jsonl", both), file(tmp_path / "b.jsonl", both, *many)
    brief = plumb("compare", old, new).stdout
    assert f"New: {len(many)} records (--all lists them)." in brief and "fresh" not in brief
    whole = plumb("compare", old, new, "--all").stdout
    assert all(f"* throughput zynq plumb default fresh{n}: " in whole for n in range(len(many)))


def test_markdown_is_a_table_of_it(tmp_path):
    old = file(tmp_path / "a.jsonl", one("instructions_per_byte", 1.0, 0.001))
    new = file(tmp_path / "b.jsonl", one("instructions_per_byte", 1.25, case="tcp_rx"))
    text = plumb("compare", old, new, "--markdown", "--gate", "3").stdout
    row = "| zynq tcp_rx | default | instructions_per_byte | 1.000 ± 0.001 | 1.250 | +25.0 % | worse |"
    assert row in text.splitlines()
    assert "**gate 3 %: 1 got worse by more**" in text.splitlines()


ODD = "[red]a|b[/red] [/x] `c` *d* <e> \\\\| [/]"  # names are whatever somebody makes of them


def test_names_are_shown_as_they_are(tmp_path):
    about = {"case": ODD, "board": "[b]", "variant": "two\nlines"}
    old = file(tmp_path / "a.jsonl", one("instructions_per_byte", 1.0, **about))
    new = file(tmp_path / "b.jsonl", one("instructions_per_byte", 1.25, **about))
    done = plumb("compare", old, new)
    assert done.returncode == 0 and f"[b] {ODD}" in done.stdout
    (row,) = [
        line
        for line in plumb("compare", old, new, "--markdown").stdout.splitlines()
        if line.startswith("| [b]")
    ]
    assert re.sub(r"\\(.)", r"\1", row).startswith(f"| [b] {ODD} | two lines | instructions")
    assert len(re.sub(r"\\.", "", row).split("|")) == len(compare.COLUMNS) + 2


def test_a_transfer_fits_a_hundred_columns(tmp_path):
    old = file(tmp_path / "a.jsonl", one("instructions_by_register_per_byte", 0.84, 0.0012))
    new = file(tmp_path / "b.jsonl", one("instructions_by_register_per_byte", 0.85, 0.0012))
    lines = plumb("compare", old, new).stdout.splitlines()
    assert max(map(len, lines)) <= 100 and not any(line.endswith(" ") for line in lines)
    (row,) = (line.split() for line in lines if line.startswith("instructions_by_"))
    assert " ".join(row[1:]) == "0.840 ± 0.001 0.850 ± 0.001 +1.19 % worse"


@pytest.mark.parametrize("width", [80, 40])
def test_a_narrow_terminal_cuts_nothing(tmp_path, width):
    """Or names that differ at their end only could not be told apart."""
    old = file(tmp_path / "a.jsonl", one("throughput_busy", 612.5, 3.0))
    new = file(tmp_path / "b.jsonl", one("throughput_busy", 712.5, 3.0))
    terminal = Terminal(file=io.StringIO(), width=width)
    compare.run(runs.find(str(old)), runs.find(str(new)), terminal)
    assert "…" not in terminal.file.getvalue()


def test_what_was_made_otherwise_is_said(tmp_path):
    record = one("instructions_per_byte", 1.0)
    old = file(tmp_path / "a.jsonl", record)
    new = file(tmp_path / "b.jsonl", replace(record, tools=TOOLS | {"flags": "-marm -Os"}))
    assert "not the same: flags: -marm -O2  →  -marm -Os" in plumb("compare", old, new).stdout
    other = replace(one("text_bytes", 1.0), tools=TOOLS | {"flags": "-mthumb -Os"})
    new = file(tmp_path / "b.jsonl", record, other)
    assert "flags" not in plumb("compare", old, new).stdout, "of what only one of them has"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "holds no record"),
        ("{nonsense", "line 1 is no record"),
        ("[1, 2]", "line 1 is no record"),
        ('{"value": 1}', "line 1 is no record: it has no experiment, board, case, metric, unit"),
        ("SCHEMA99", "of schema 99"),
        ("VALUE", "its value is '1'"),
        ("SCHEMA0", "of schema 0"),
        ("SCHEMA2", "of schema '2'"),
        ("NAN", "its value is nan"),
        ("INFINITE", "its value is inf"),
        ("BEYOND", "its value is 1000"),
        ("SPREAD", "its spread is -1"),
        ("TOOLS", "its tools are {'compiler': ['gcc']}"),
        ("FIELD", "it has a field 'colour'"),
        ("[" * 100000, "line 1 is no record"),
        ("\0\377", "is no file of records"),
    ],
)
def test_a_file_that_is_none_is_refused_by_name(tmp_path, text, complaint):
    good = file(tmp_path / "good.jsonl", one("throughput", 1.0))
    whole = json.loads(good.read_text())
    made = {
        "SCHEMA99": json.dumps(whole | {"schema": 99}),
        "VALUE": json.dumps(whole | {"value": "1"}),
        "SCHEMA0": json.dumps(whole | {"schema": 0}),
        "SCHEMA2": json.dumps(whole | {"schema": "2"}),
        "NAN": json.dumps(whole | {"value": math.nan}),
        "INFINITE": json.dumps(whole | {"value": math.inf}),
        "BEYOND": json.dumps(whole | {"value": 10**400}),
        "SPREAD": json.dumps(whole | {"spread": -1}),
        "TOOLS": json.dumps(whole | {"tools": {"compiler": ["gcc"]}}),
        "FIELD": json.dumps(whole | {"colour": "red"}),
    }
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(made.get(text, text).encode("latin-1"))
    done = plumb("compare", good, bad)
    assert done.returncode == 1
    (line,) = done.stdout.splitlines()
    assert line.startswith("plumb: ") and str(bad) in line and complaint in line


def test_runs_without_anything_in_common_are_refused(tmp_path):
    old = file(tmp_path / "a.jsonl", one("throughput", 1.0))
    new = file(tmp_path / "b.jsonl", one("throughput", 1.0, board="linux"))
    done = plumb("compare", old, new)
    assert done.returncode == 1 and "nothing in common" in done.stdout
    for nonsense in ("-1", "nan", "x"):
        assert plumb("compare", old, new, "--gate", nonsense).returncode == 2
    done = plumb("compare", old, old, "--gate", "inf")
    assert done.returncode == 1 and "lets everything through" in done.stdout


# ---- runs by name ----


@pytest.fixture
def out(tmp_path, monkeypatch) -> Path:
    """A folder of runs: three that can be read, one that cannot, one that did not end."""
    monkeypatch.setattr(runs, "OUT", tmp_path)
    for day, value in (("02", 2.0), ("01", 1.0), ("04", 4.0)):
        folder = tmp_path / f"203001{day}-120000"
        other = one("instructions_per_byte", value, board="linux" if day == "04" else "zynq")
        file(folder / "results.jsonl", other)
    (tmp_path / "20300103-120000").mkdir()
    broken = tmp_path / "20300105-120000/results.jsonl"
    broken.parent.mkdir()
    broken.write_text("{nonsense\n")
    return tmp_path


def test_runs_are_found_by_name(out):
    def value(name: str) -> float:
        return runs.find(name).records[0].value

    assert value("20300101-120000") == 1 and value("20300102") == 2
    assert value(str(out / "20300104-120000")) == 4
    assert value(str(out / "20300104-120000/results.jsonl")) == 4
    for name, complaint in {
        "2030010": "can be any of",
        "20300103-120000": "did its run end",
        "nonsense": "no file, folder or run",
        "latest": "line 1 is no record",
    }.items():
        with pytest.raises(LabError, match=complaint):
            runs.find(name)
    (out / "20300105-120000/results.jsonl").unlink()
    assert value("latest") == 4
    with pytest.raises(LabError, match="of its kind"):
        runs.find("previous")
    file(out / "20300106-120000/results.jsonl", one("instructions_per_byte", 6.0))
    assert (value("previous"), value("latest")) == (2, 6), "the one of the same board"


def test_the_latest_is_of_what_it_is_compared_with(out):
    (out / "20300105-120000/results.jsonl").unlink()

    def names(*words: str) -> list[str]:
        return [run.name for run in runs.pair(*words)]

    assert names("20300101", "latest") == ["20300101-120000", "20300102-120000"]
    assert names("latest", "20300101") == ["20300102-120000", "20300101-120000"]
    file(out / "20300106-120000/results.jsonl", one("instructions", 6.0, experiment="copy"))
    assert names("20300104", "latest")[1] == "20300104-120000"
    with pytest.raises(LabError, match="in common with 20300106-120000, which is copy on zynq"):
        (out / "20300107-120000").mkdir()
        (out / "20300106-120000/results.jsonl").rename(out / "apart.jsonl")
        run = replace(runs.read(out / "apart.jsonl"), label="20300106-120000")
        runs.find("latest", run)


def test_accesses_of_old_records_are_not_taken_for_touches(tmp_path):
    old = replace(one("touches_per_byte", 0.5), schema=1)
    new = replace(one("touches_per_byte", 0.5), schema=records.SCHEMA)
    path = tmp_path / "results.jsonl"
    records.write(path, [old])
    assert runs.read(path).records[0].metric == "accesses_per_byte"
    if records.SCHEMA > 1:
        records.write(path, [new])
        assert runs.read(path).records[0].metric == "touches_per_byte"


def printed(query: history.Query, width: int = 200) -> str:
    """What history says."""
    text = io.StringIO()
    assert history.run(query, Terminal(width=width, file=text)) == 0
    return text.getvalue()


def test_history_tells_of_every_run_and_names_what_it_cannot_read(out, monkeypatch):
    monkeypatch.setattr(recorded, "history", lambda: iter(()))
    lines = printed(history.Query()).splitlines()
    assert "20300105-120000" in lines[0] and lines[0].startswith("left out: ")
    (head,) = (line for line in lines if "commit" in line)
    assert "zynq tcp_rx" in head and "linux tcp_rx" in head
    days = [line.split()[2] for line in lines if line.startswith("2030")]
    assert days == ["20300101-120000", "20300102-120000", "20300104-120000"]
    (bars,) = (line for line in lines if "over time" in line)
    assert "▁█" in bars
    assert "linux" not in printed(history.Query(board="z*"))


def test_history_without_what_is_asked_for_says_what_there_is(out, monkeypatch):
    monkeypatch.setattr(recorded, "history", lambda: iter(()))
    with pytest.raises(LabError, match="metrics there are: instructions_per_byte"):
        printed(history.Query("nonsense"))


def test_history_leaves_out_what_does_not_fit_and_names_it(out, monkeypatch):
    monkeypatch.setattr(recorded, "history", lambda: iter(()))
    found = [one("instructions_per_byte", 1.0, 0.1, case=f"case{n}") for n in range(9)]
    tools = TOOLS | {"commit": "0123456789ab+changes"}
    file(out / "20300106-120000/results.jsonl", *(replace(r, tools=tools) for r in found))
    lines = printed(history.Query(board="zynq"), width=100).splitlines()[1:]
    (row,) = (line for line in lines if "20300106-120000" in line)
    assert row.startswith("2030-01-06 12:00   20300106-120000   0123456+")
    (told,) = (n for n, line in enumerate(lines) if " more columns: " in line)
    assert all(len(line) <= 100 for line in lines)
    shown, left_out = "".join(lines[:told]), " ".join(lines[told:])
    for name in ["tcp_rx", *(f"case{n}" for n in range(9))]:
        assert (name in shown) != (name in left_out), name


def test_what_was_recorded_is_read_back():
    found = [
        one("throughput", 454.5, 0.7), one("instructions_per_byte", 0.947, 0.001),
        one("throughput", 52.6, case="udp_rx"), one("idle_share", 20.7),
    ]  # fmt: skip
    found = [replace(r, repeats=5) for r in found]
    head = [["board", "zynq, user-mode network"], ["commit", "0123456789ab"], ["repeats", "5"]]
    tables = [report.case_table(found, wanted) for wanted in (report.SPEED, report.COST)]
    parts = [report.markdown_table(*table) for table in ((["", ""], head), *tables)]
    read = {(r.case, r.metric): r for r in recorded.parse("\n\n".join(parts))}
    assert len(read) == 4
    assert read["tcp_rx", "throughput"].value == 454.5
    assert read["tcp_rx", "throughput"].spread == 0.7
    assert read["tcp_rx", "instructions_per_byte"].spread == 0.001
    assert read["tcp_rx", "instructions_per_byte"].rounding == 0.001, "the spread's as well"
    assert read["tcp_rx", "idle_share"].rounding == 0.05
    assert read["udp_rx", "throughput"].board == "zynq"
    assert read["tcp_rx", "throughput"].tools["commit"] == "0123456789ab"


def test_what_is_recorded_is_dated_by_its_commit(monkeypatch):
    said = {"status": "", "log": f"{'a' * 40} 1900000000"}
    monkeypatch.setattr(recorded.tools, "git", lambda word, *_: said[word])
    assert runs.find("recorded").when == 1900000000
    said["status"] = f" M {recorded.PAGE}"
    assert runs.find("recorded").when == (ROOT / recorded.PAGE).stat().st_mtime


def test_this_tree_s_recorded_results_can_be_compared_with():
    run = runs.find("recorded")
    cases = {r.case for r in run.records if r.metric == "instructions_per_byte"}
    assert {"tcp_rx", "tcp_tx"} <= cases and run.commit
