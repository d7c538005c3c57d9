# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Collects the host tests: each test of each cmocka program is one pytest item of its name.

A program prints the names of its tests for `--list`, and runs one for
`--run NAME --pcap FILE`. They are built and run by each compiler, under its
address and undefined-behaviour sanitizers. The capture of a failed one is kept
in out/failed/.

As root, everything runs in a network namespace of its own, which ends with it; so does
each of several workers.
"""

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
import wire
from xdist.scheduler import LoadScopeScheduling

from lab import build, cbmc, coverage, network, peers, smoltcp
from lab.errors import LabError
from lab.paths import OUT

HOST_PRESETS = ("host-gcc", "host-clang")
ITEM_LIMIT_S = 240
LIST_LIMIT_S = 20
FAILED = OUT / "failed"


def pytest_configure(config: pytest.Config) -> None:
    """Fetches what comes over the network, and then leaves it, before anything opens a socket."""
    if config.option.collectonly:
        return
    with suppress(LabError):  # whoever needs it says so
        peers.lwip()
    with suppress(LabError):
        smoltcp.fetch()
    with suppress(LabError):
        cbmc.command()
    if os.geteuid() == 0:
        with suppress(LabError):  # a container without the right to: tests over TAP say so
            network.enter_namespace()


def pytest_collect_file(parent: pytest.Collector, file_path: Path) -> pytest.Collector | None:
    """tests/host/CMakeLists.txt stands for all host tests."""
    if file_path.name == "CMakeLists.txt" and file_path.parent.name == "host":
        return HostTests.from_parent(parent, path=file_path)
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The host tests come last: they are many and short, and keep every worker busy to the end."""
    items.sort(key=lambda item: isinstance(item, HostTest))


def pytest_xdist_setupnodes(config: pytest.Config, specs: object) -> None:
    """What every worker will ask for is built once, before they are there."""
    with suppress(LabError):  # a worker says so
        for preset in HOST_PRESETS:
            build.preset(preset)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling:
    """Hands tests to workers."""
    config.option.loadscopereorder = False
    return Scheduling(config, log)


class Scheduling(LoadScopeScheduling):
    """A worker has a file, of which the tests share boards and builds, or a host program."""

    def _split_scope(self, nodeid: str) -> str:
        file, *inner = nodeid.split("::")
        return f"{file}::{inner[0]}" if file.endswith("CMakeLists.txt") else file


class HostTests(pytest.File):
    """All programs of all compilers."""

    def collect(self):
        """Builds, and finds the programs."""
        for preset in HOST_PRESETS:
            folder = build.preset(preset)
            for program in sorted(folder.glob("tests/host/test_*")):
                if program.is_file() and os.access(program, os.X_OK):
                    title = f"{preset}-{program.name}"
                    yield HostProgram.from_parent(self, name=title, program=program)


class HostProgram(pytest.Collector):
    """A program by one compiler; in a JUnit report the class of its tests."""

    def __init__(self, *, program: Path, **rest: object) -> None:
        super().__init__(**rest)
        self.program = program

    def collect(self):
        """Asks it for its tests."""
        listed = subprocess.run(
            [self.program, "--list"],
            capture_output=True,
            text=True,
            timeout=LIST_LIMIT_S,
            check=True,
        )
        for name in listed.stdout.split():
            yield HostTest.from_parent(self, name=name, program=self.program)


class HostFailure(Exception):
    """A host test's output."""


class HostTest(pytest.Item):
    """One test of one program."""

    def __init__(self, *, program: Path, **rest: object) -> None:
        super().__init__(**rest)
        self.program = program

    def runtest(self) -> None:
        """Runs it. If it fails it runs once more, with a capture that stays: not at first,
        as a frame that is observed takes no short cut."""
        failure = self.failure_of()
        if failure:
            FAILED.mkdir(parents=True, exist_ok=True)
            capture = FAILED / f"{self.parent.name}-{self.name}.pcap"
            again = "fails" if self.failure_of("--pcap", str(capture)) else "passes"
            raise HostFailure(f"{failure}\ncapture: {capture} (with it, the test {again})")

    def failure_of(self, *options: str) -> str:
        """What it said when it failed; nothing if it passed."""
        try:
            done = subprocess.run(
                [str(self.program), "--run", self.name, *options],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=ITEM_LIMIT_S,
                env={**os.environ, "UBSAN_OPTIONS": "print_stacktrace=1"},
            )
        except subprocess.TimeoutExpired as late:
            output = (late.stdout or b"").decode("utf-8", "replace")
            return f"no end within {ITEM_LIMIT_S} s\n{output}"
        return f"exit {done.returncode}\n{done.stdout}" if done.returncode else ""

    def repr_failure(self, excinfo, style=None):
        """A host test's own output says it all."""
        if isinstance(excinfo.value, HostFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self):
        """Where it is listed."""
        return self.path, None, f"{self.parent.name}-{self.name}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item):
    """Lets a fixture see whether its test failed."""
    outcome = yield
    report = outcome.get_result()
    if report.when == "call":
        item.stash[FAILED_KEY] = report.failed


FAILED_KEY = pytest.StashKey[bool]()


@pytest.fixture
def capture(request: pytest.FixtureRequest, tmp_path: Path):
    """Where a test's board writes its frames; kept in out/failed/ if the test fails, or if
    something of what the board has sent is malformed."""
    path = tmp_path / f"{request.node.name.replace('/', '_')}.pcap"
    yield path
    has_failed = request.node.stash.get(FAILED_KEY, True)
    wrong = [] if has_failed or not path.exists() else wire.wrong_frames(path, leaves_sums=True)
    if (has_failed or wrong) and path.exists():
        FAILED.mkdir(parents=True, exist_ok=True)
        print(f"capture: {shutil.move(path, FAILED / path.name)}")
    assert not wrong, wrong


def pytest_sessionstart(session: pytest.Session) -> None:
    """What an earlier run counted is not this one's; one of many workers lets it be."""
    if not hasattr(session.config, "workerinput"):
        coverage.TABLE.unlink(missing_ok=True)


def pytest_terminal_summary(terminalreporter) -> None:
    """Which branches were taken, where that was counted."""
    if coverage.TABLE.exists():
        terminalreporter.section("branches of src/ that the host's tests take")
        terminalreporter.write(coverage.TABLE.read_text())
