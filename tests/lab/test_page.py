# SPDX-License-Identifier: Apache-2.0 OR MIT
"""report.html, as a browser without a network shows it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from browser import DESK, PHONE, Seen, look

from lab import charts, goals, page, records, runs
from lab.records import Record

TOOLS = {
    "emulator": "an emulator 1.2.3",
    "compiler": "a compiler 4.5.6",
    "flags": "-O2 -mstrict",
    "client": "iperf 2.1.8",
    "commit": "0123456789ab",
    "network": "user",
}
CASES = ("tcp_rx", "tcp_tx", "udp_rx", "udp_tx")
STACKS = (("plumb", "default"), ("plumb", "copy"), ("lwip", "tuned"))
FUNCTIONS = {"pl_sum": 5000, "pl_tcp_input": 3000, "<b>&amp;</script>": 1000, "seldom": 1}
EVIL = "src/</script><script>document.title='owned'</script>"


def measured() -> list[Record]:
    """What a bench of several variants finds."""
    about = {"experiment": "throughput", "board": "zynq", "repeats": 5, "tools": TOOLS}
    made = []
    for number, case in enumerate(CASES, 1):
        for stack, variant in STACKS:
            whose = {"case": case, "stack": stack, "variant": variant} | about
            values = {
                "throughput": (400.0 + number, 2.0),
                "instructions_per_byte": (0.5 * number, 0.01),
                "instructions_per_packet": (700.0 * number, 3.0),
                "touches_per_byte": (1.0 * number, 0.0),
                "misaligned_accesses": (0.0, 0.0),
            }
            made += [
                Record(metric=metric, value=value, spread=spread, unit="", **whose)
                for metric, (value, spread) in values.items()
            ]
    size = {"experiment": "size", "board": "zynq", "unit": "B", "tools": TOOLS}
    for folder in ("src/tcp", "drivers/gem", EVIL, "total"):
        for kind in ("text_bytes", "rodata_bytes", "data_bytes", "bss_bytes"):
            made.append(Record(case=folder, metric=kind, value=12345.0, **size))
    made.append(Record("connections", "zynq", "tcp", "connections", 1000.0, "", tools=TOOLS))
    return made


def profiled() -> list[dict]:
    """The functions of each transfer."""
    functions = [{"name": name, "instructions": count} for name, count in FUNCTIONS.items()]
    return [
        {"board": "zynq", "case": case, "transfer": {"bytes": 10000}, "functions": functions}
        for case in CASES
    ]


def left_by(folder: Path, found: list[Record]) -> Path:
    """A run's folder."""
    folder.mkdir(parents=True)
    records.write(folder / "results.jsonl", found)
    lines = [json.dumps(line) + "\n" for line in profiled()]
    (folder / "profile.jsonl").write_text("".join(lines))
    return folder


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory):
    """The page of a run that has one before it, and of that one."""
    out = tmp_path_factory.mktemp("out")
    faster = [
        replace(r, value=r.value * 1.25) if r.metric == "instructions_per_byte" else r
        for r in measured()
    ]
    verdicts = goals.judge(measured(), "zynq", "O2", 16)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "OUT", out)
        first = page.write(left_by(out / "20300101-000000", faster), verdicts)
        second = page.write(left_by(out / "20300102-000000", measured()), verdicts)
        yield first, second


@pytest.fixture(scope="module")
def desk(pages) -> Seen:
    return look(pages[1], DESK)


@pytest.fixture(scope="module")
def phone(pages) -> Seen:
    return look(pages[1], PHONE, is_dark=True)


@pytest.fixture(params=["desk", "phone"])
def seen(request: pytest.FixtureRequest) -> Seen:
    return request.getfixturevalue(request.param)


def test_it_asks_for_nothing_and_complains_of_nothing(seen: Seen):
    assert seen.requests == []
    assert seen.console == []


def test_its_charts_are_drawn(seen: Seen):
    assert len(seen.charts) >= 6
    assert all(marks > 0 for marks in seen.charts), seen.charts
    assert seen.whiskers >= 3 * len(CASES) * len(STACKS)


def test_every_case_and_variant_can_be_read(seen: Seen):
    for record in measured():
        assert record.case in seen.text, record
    for name in ("TCP receive", "UDP transmit", "(copy)", "(lwip tuned)", "pl_tcp_input"):
        assert name in seen.text


def test_it_sets_plumb_beside_its_peer(seen: Seen):
    assert "Instructions per byte, beside others" in seen.text
    assert "TCP receive, read in place" in seen.text


def test_it_says_how_it_was_measured(seen: Seen):
    for value in TOOLS.values():
        assert value in seen.text
    assert "16 ns" in seen.text


def test_it_fits_its_window(seen: Seen, request: pytest.FixtureRequest):
    assert seen.width <= (PHONE if "phone" in request.node.name else DESK)
    assert seen.outside == []
    assert not {"Cost", "Touches of payload"} & set(seen.cut)


def test_it_can_be_read_by_everyone(seen: Seen):
    assert (seen.small, seen.pale, seen.unnamed, seen.headless) == ([], [], [], [])


def test_names_are_text_and_nothing_else(seen: Seen):
    assert "owned" not in seen.title and EVIL in seen.text
    assert "<b>&amp;</script>" in seen.text


def test_it_tells_what_moved(pages, desk: Seen):
    assert "Against 20300101-000000" in desk.text
    assert "0 values worse, 12 better" in desk.text
    assert "-20.0 %" in desk.text
    assert "first run of its kind here" in look(pages[0]).text


def test_a_run_of_another_kind_is_not_compared_with(pages, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(runs, "OUT", pages[0].parent.parent)
    over_tap = [replace(r, tools=TOOLS | {"network": "tap"}) for r in measured()]
    folder = left_by(tmp_path / "20300103-000000", over_tap)
    assert runs.before(runs.read(folder / "results.jsonl")) is None
    folder = left_by(tmp_path / "20300104-000000", measured())
    assert runs.before(runs.read(folder / "results.jsonl")).name == "20300102-000000"


def test_goals_that_are_missed_are_said_first(tmp_path: Path):
    found = [replace(r, value=9.0) for r in measured()]
    written = page.write(left_by(tmp_path / "run", found), goals.judge(found, "zynq", "O2", 16))
    shown = look(written)
    head = shown.text.partition("Tables")[0]
    judged = [v for v in goals.judge(found, "zynq", "O2", 16) if v.is_measurable]
    met = sum(v.is_met for v in judged)
    assert met < len(judged) and f"{met} of {len(judged)} goals met" in head
    assert "NOT met" in shown.text


def test_many_variants_lie_below_each_other_and_short_datagrams_are_told_of_by_packet():
    about = {"experiment": "throughput", "board": "zynq", "unit": "", "value": 2.0}
    found = [
        Record(case=case, variant=f"v{number}", metric=metric, **about)
        for number in range(8)
        for case in ("udp_echo", "tcp_rx")
        for metric in ("instructions_per_byte", "instructions_per_packet")
    ]
    for variants, orientation in ((8, "h"), (3, None)):
        some = [r for r in found if int(r.variant[1:]) < variants]
        per_byte = charts.of_transfers(some, "instructions_per_byte", "")
        per_packet = charts.of_transfers(some, "instructions_per_packet", "")
        assert {trace.orientation for trace in per_byte.figure.data} == {orientation}
        assert [row[0] for row in per_byte.numbers.rows] == ["TCP receive"]
        assert [row[0] for row in per_packet.numbers.rows] == ["TCP receive", "UDP echo"]


def test_many_cases_are_named_by_their_parts():
    cases = [f"length={n} opt={opt}" for n in range(300) for opt in ("O2", "Os")]
    told = page.named(cases)
    assert told[0].startswith("600 cases") and told[2] == "opt=O2, Os"
    assert all(str(n) in told[1].removeprefix("length=").split(", ") for n in range(300))
    assert page.named(cases[:10]) == cases[:10]


WRONG = """<!DOCTYPE html><meta name="viewport" content="width=device-width">
<body style="background: #fff; color: #000">
<div class="chart"><svg></svg></div>
<p style="color: #999">pale</p><p style="font-size: 11px">small</p>
<p style="width: 500px">wide</p><table><tr><td>headless</td></tr></table>
<img src="https://example.org/a.png"><script>console.error("complaint"); nonsense();</script>
"""


def test_the_browser_would_see_what_is_wrong(tmp_path: Path):
    path = tmp_path / "wrong.html"
    path.write_text(WRONG)
    seen = look(path, PHONE)
    assert seen.requests == ["https://example.org/a.png"]
    assert any("complaint" in line for line in seen.console)
    assert any("nonsense" in line for line in seen.console)
    assert seen.charts == [0]
    assert seen.width > PHONE and any("wide" in one for one in seen.outside)
    assert len(seen.pale) == 1 and "pale" in seen.pale[0]
    assert len(seen.small) == 1 and "small" in seen.small[0]
    assert len(seen.headless) == 1 and len(seen.unnamed) == 2


def test_the_page_s_own_policy_refuses_a_request(pages, tmp_path: Path):
    text = pages[1].read_text()
    path = tmp_path / "asking.html"
    path.write_text(text.replace("<main", '<img src="https://example.org/a.png"><main'))
    seen = look(path)
    assert any("Content Security Policy" in line for line in seen.console)
