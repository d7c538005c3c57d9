# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The commands of ./plumb."""

import functools
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import tools
from .errors import LabError, NotUnderstood

if TYPE_CHECKING:
    from rich.console import Console

INTERRUPTED = 130

app = typer.Typer(
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

BoardName = Annotated[str, typer.Option(help="The board: zynq or linux.")]
Tap = Annotated[bool, typer.Option("--tap", help="A TAP device in a namespace of its own (root).")]
Pcap = Annotated[Path | None, typer.Option(help="Write every frame to this file.")]
Out = Annotated[Path | None, typer.Option(help="Folder for the results.")]
Limit = Annotated[int, typer.Option(min=1, help="Rows of each table.")]
Opt = Annotated[str, typer.Option(help="The firmware's optimisation: O2 or Os.")]


def in_words(problem: OSError) -> str:
    """What the system refused, and of which file."""
    if problem.filename is None or problem.strerror is None:
        return str(problem) or type(problem).__name__
    return f"{problem.filename}: {problem.strerror}"


def check_writable(path: Path | None) -> None:
    """Raises now what would be raised when the file is written; leaves none behind."""
    if path is None or path.is_fifo() or path.is_char_device():
        return
    is_new = not os.path.lexists(path)
    with path.open("ab"):
        pass
    if is_new:
        path.unlink()


def terminal() -> "Console":
    """Where tables go; slow to import, and of no use to who prints none."""
    from .terminal import for_tables

    return for_tables()


def guarded(command: Callable[..., int]) -> Callable[..., None]:
    """Makes a command end with the status its outcome asks for."""

    @functools.wraps(command)
    def wrapper(*arguments: object, **options: object) -> None:
        try:
            status = command(*arguments, **options)
        except LabError as problem:
            print(f"plumb: {problem}", file=sys.stderr)
            status = problem.status
        except OSError as problem:
            print(f"plumb: {in_words(problem)}", file=sys.stderr)
            status = LabError.status
        except KeyboardInterrupt:
            print("plumb: interrupted", file=sys.stderr)
            status = INTERRUPTED
        raise typer.Exit(status)

    return wrapper


@app.callback()
def main_command(context: typer.Context) -> None:
    """Plumb: a TCP/IP stack, and the lab that measures it."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
@guarded
def doctor() -> int:
    """Print each tool, its version, and how to install what is missing."""
    from .doctor import run

    return run(terminal())


@app.command()
@guarded
def build(
    presets: Annotated[list[str] | None, typer.Argument(help="CMake presets.")] = None,
) -> int:
    """Build CMake presets (those of zynq and linux when none is named)."""
    from . import build as building

    tools.ensure("build")
    for name in presets or ["zynq", "zynq-os", "zynq-size", "linux"]:
        print(f"{name}: {building.preset(name)}", flush=True)
    return 0


@app.command()
@guarded
def bench(
    board: BoardName = "zynq",
    tap: Tap = False,
    repeat: Annotated[int, typer.Option(min=1, help="Repeats of each measurement.")] = 5,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="One repeat; of an experiment only what its goals are about."),
    ] = False,
    out: Out = None,
    pcap: Pcap = None,
    opt: Opt = "O2",
    record: Annotated[
        bool,
        typer.Option("--record", help="Write docs/results.md and README.md's, or an experiment's."),
    ] = False,
    experiment: Annotated[
        str,
        typer.Option(
            help="throughput, checksum, copy, ether-copy, strict-align, rx-align, rx-path, linux or "
            "impairment."
        ),
    ] = "throughput",
    peer: Annotated[
        str,
        typer.Option(
            help="Measure this stack on the same board as well: lwip; of linux, all there are: all."
        ),
    ] = "",
    isa: Annotated[
        list[str] | None, typer.Option(help="Of an experiment on many ISAs, only this (repeat).")
    ] = None,
    place: Annotated[
        str, typer.Option(envvar="LG_PLACE", help="A real board: its place at labgrid's coordinator.")
    ] = "",
    coordinator: Annotated[
        str, typer.Option(envvar="LG_COORDINATOR", help="The coordinator, HOST:PORT.")
    ] = "",
    environment: Annotated[
        Path | None, typer.Option(help="A real board: its labgrid environment, a YAML file.")
    ] = None,
) -> int:
    """Build, boot, run iperf against the board, print the table, write the records.

    With --experiment, measure something else than throughput; see docs/lab.md.
    """
    from . import bench as benching
    from . import experiments, place_bench
    from . import place as places

    check_writable(pcap)
    experiments.check(experiment)
    if (board, peer, experiment) == ("linux", "all", experiments.DEFAULT):
        board, peer, experiment = "zynq", "", "linux"
    if experiment != experiments.DEFAULT:
        if (board, tap, repeat, pcap, opt, peer) != ("zynq", False, 5, None, "O2", ""):
            others = "--board, --tap, --repeat, --pcap, --opt and --peer"
            raise NotUnderstood(f"{others} are for throughput only")
        if environment:
            raise NotUnderstood("--environment is for throughput only")
        return run_experiment(experiment, tuple(isa or ()), quick, out, record)
    if isa:
        raise NotUnderstood("--isa is for experiments on many ISAs, not for throughput")
    tools.ensure("bench")
    peer = peer or ("lwip" if record and board == "zynq" else "")  # the page has its columns
    if peer:
        tools.ensure("peer")
    repeats = benching.QUICK_REPEATS if quick else repeat
    options = benching.Options(board, tap, repeats, out, pcap, opt, record, peer)
    where = places.chosen(board, place, coordinator, environment)
    if where:
        return place_bench.run(options, where)
    return benching.run(options)


def run_experiment(
    name: str, isas: tuple[str, ...], quick: bool, out: Path | None, record: bool
) -> int:
    """Any experiment but throughput."""
    from .experiments import runner

    return runner.run(runner.Options(name, isas, quick, out, record))


@app.command()
@guarded
def profile(
    board: BoardName = "zynq",
    application: Annotated[str, typer.Option("--app", help="iperf or echo.")] = "iperf",
    variant: Annotated[
        str, typer.Option(help="What follows the board in a preset's name, or lwip-CONFIGURATION.")
    ] = "default",
    case: Annotated[
        list[str] | None,
        typer.Option(help="tcp_rx, tcp_tx, udp_rx, udp_tx; of echo, udp_echo (repeat); or all."),
    ] = None,
    tap: Tap = False,
    out: Out = None,
    sampled: Annotated[
        bool, typer.Option("--sampled", help="By a timer on the board, idle included.")
    ] = False,
) -> int:
    """Show where a transfer's instructions go, by function and along a packet's path.

    Exact, counted by the emulator, or sampled on the board; writes tables, folded stacks
    and a speedscope file.
    """
    from . import profiler

    options = profiler.Options(board, application, variant, tuple(case or ()), tap, out, sampled)
    profiler.check(options)
    tools.ensure("bench")
    return profiler.run(options)


@app.command()
@guarded
def run(
    application: Annotated[str, typer.Argument(help="A folder of apps/, such as iperf.")],
    board: BoardName = "zynq",
    tap: Tap = False,
    pcap: Pcap = None,
    opt: Opt = "O2",
    routines: Annotated[
        str, typer.Option("--bytes", help="Byte routines of a generic image: strict or unaligned.")
    ] = "",
    takes_misaligned: Annotated[
        bool,
        typer.Option("--takes-misaligned", help="A generic image on a core that does not trap."),
    ] = False,
    arguments: Annotated[
        str, typer.Option(help="For the application: iperf3 takes those of its namesake.")
    ] = "",
) -> int:
    """Boot an application, forward its ports, show its console until Ctrl-C."""
    from . import run as running

    check_writable(pcap)
    tools.ensure("run")
    options = running.Options(
        application, board, tap, pcap, opt, routines, takes_misaligned, arguments
    )
    return running.run(options, os.getpid())


@app.command()
@guarded
def compare(
    before: Annotated[str, typer.Argument(help="A run: see below.", metavar="A")],
    after: Annotated[str, typer.Argument(help="The one to judge.", metavar="B")],
    markdown: Annotated[bool, typer.Option("--markdown", help="As Markdown.")] = False,
    gate: Annotated[
        float | None,
        typer.Option(min=0, metavar="PERCENT", help="End with 1 if anything got worse by more."),
    ] = None,
    all_: Annotated[
        bool, typer.Option("--all", help="List what only one of them has, however much it is.")
    ] = False,
) -> int:
    """Print what changed from one run to another, by case and metric.

    A run is a folder, a file of records, a folder of out/ (or the beginning of its name),
    latest (that has anything in common with the other), previous, or recorded: what
    docs/results.md says.
    """
    from . import compare as comparing
    from . import runs

    return comparing.run(*runs.pair(before, after), terminal(), gate, markdown, all_)


@app.command(context_settings={"ignore_unknown_options": True})
@guarded
def audit(
    program: Annotated[
        Path | None, typer.Argument(metavar="[ELF]", help="A program; none: zynq's iperf.")
    ] = None,
    arguments: Annotated[
        list[str] | None, typer.Argument(help="What it is started with in user mode.")
    ] = None,
    board: Annotated[str, typer.Option(help="Boot it on this board.")] = "",
    case: Annotated[str, typer.Option(help="Of iperf's transfers, only this one.")] = "",
    static: Annotated[bool, typer.Option("--static", help="By its code alone.")] = False,
    seconds: Annotated[float, typer.Option(min=0.1, help="How long it may run.")] = 10.0,
    limit: Limit = 25,
    out: Out = None,
) -> int:
    """Print who loads and stores how wide, and who misaligned, by function and by line."""
    from . import audit as auditing
    from .elf import checked

    if program is not None:
        checked(program)
    if program is None or not static:
        tools.ensure("audit")
    options = auditing.Options(
        program, tuple(arguments or ()), board, case, static, seconds, limit, out
    )
    return auditing.run(options, terminal())


@app.command()
@guarded
def size(
    program: Annotated[
        str, typer.Argument(metavar="[BUILD]", help="A CMake preset, or an ELF file.")
    ] = "zynq-os",
    against: Annotated[
        str, typer.Option(metavar="BUILD", help="Print what changed since this one.")
    ] = "",
    application: Annotated[str, typer.Option("--app", help="Of a preset.")] = "iperf",
    limit: Limit = 25,
) -> int:
    """Print code, data, stack and structures of a build by file and function."""
    from . import anatomy

    return anatomy.run(program, against, application, limit, terminal())


@app.command()
@guarded
def history(
    metric: Annotated[str, typer.Option(help="What to follow.")] = "instructions_per_byte",
    case: Annotated[str, typer.Option(help="Only these cases (a pattern).")] = "*",
    board: Annotated[str, typer.Option(help="Only these boards (a pattern).")] = "*",
) -> int:
    """Print a metric over all runs in out/, and over what was recorded before."""
    from . import history as past

    return past.run(past.Query(metric, case, board), terminal())


@app.command()
@guarded
def fuzz(
    executions: Annotated[int, typer.Option(min=1, help="In all, of all targets.")] = 1_000_000,
    target: Annotated[list[str] | None, typer.Option(help="One of fuzz/; again for more.")] = None,
    out: Out = None,
) -> int:
    """Run the fuzz targets in turn for so many executions, and say what they found."""
    from . import fuzz as programs
    from .paths import ROOT

    tools.ensure("test")
    counts = programs.run(target or [], executions, (out or ROOT / "out/fuzz").resolve())
    print(programs.report(counts))
    return 1 if any(count.found for count in counts.values()) else 0


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
@guarded
def test(
    context: typer.Context,
    junit: Annotated[Path | None, typer.Option(help="Write a JUnit report.")] = None,
) -> int:
    """Run every test, as many at once as there are processors; or what is named: further
    arguments go to pytest."""
    from .paths import ROOT

    tools.ensure("test")
    extra = [f"--junit-xml={junit.resolve()}"] if junit else []
    extra += [] if context.args else ["--numprocesses=auto"]
    os.chdir(ROOT)
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "pytest", *extra, *context.args])


def main() -> None:
    """Runs the command line; asked to end, it ends as by Ctrl-C, cleaning up."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)  # a script's `&` makes it ignored
    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGHUP, interrupt)
    app(prog_name="./plumb")
