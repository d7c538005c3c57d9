# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Boots a board through labgrid, follows its console, says what went wrong with it."""

import os
import re
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pexpect import TIMEOUT

from .console import Console
from .elf import Program
from .errors import BoardError, LabError, NotUnderstood
from .network import BOARD_ADDRESS, HOST_ADDRESS, NETMASK, Network
from .paths import LAB
from .place import Place

READY_LIMIT_S = 20.0
LAST_WORDS_S = 1.5

BOOT_ADDRESS = 0x00100000
BOOT_MAGIC = 0x504C4D42
BOOT_VERSION = 1
BOOT_STATIC_ADDRESS = 1
BOOT_ROUTINES = 2
BOOT_MISALIGNED = 4
BOOT_ARGUMENTS = 8
BOOT_NAME_BYTES = 16
BOOT_ARGUMENTS_BYTES = 128  # the null at their end included

# Of the fault status register of ARMv7, short descriptors.
FAULT_CAUSE = 0x40F
FAULT_ALIGNMENT = 1


@dataclass(frozen=True)
class Kind:
    """What the lab has to know of a board beforehand."""

    name: str
    presets: dict[str, str]  # by optimisation
    smallest: str  # preset of the firmware whose size is a floor; empty: none is
    generic: str  # preset of the image that chooses its byte routines; empty: each does
    ns_per_instruction: int | None
    is_emulated: bool

    def preset(self, opt: str) -> str:
        """The CMake preset of an optimisation."""
        if opt not in self.presets:
            known = ", ".join(self.presets)
            raise NotUnderstood(f"{self.name} is not built with {opt!r}, but: {known}")
        return self.presets[opt]


KINDS = {
    "zynq": Kind("zynq", {"O2": "zynq", "Os": "zynq-os"}, "zynq-size", "zynq-generic", 16, True),
    "linux": Kind("linux", {"O2": "linux"}, "", "", None, False),
}


def kind_of(name: str) -> Kind:
    """A board by its name."""
    if name not in KINDS:
        raise NotUnderstood(f"there is no board {name!r}; there are: {', '.join(KINDS)}")
    return KINDS[name]


@dataclass
class Setup:
    """How to boot: everything but the board itself."""

    firmware: Path
    network: Network
    plugin: str = ""  # as the emulator's -plugin option takes it
    second_plugin: str = ""  # of an emulated board
    pcap: Path | None = None
    keep_own_clock: bool = True  # one instruction lasts as long as any other, exactly
    # Of a generic image only, which alone says what became of them.
    routines: str = ""  # by name; empty: the best for the processor
    takes_misaligned: bool = False  # the processor, instead of trapping
    arguments: str = ""  # for the application
    offload: str = ""  # what a program leaves to its TAP device; empty: all it can
    place: Place | None = None  # where the board is, if it is not emulated here
    words: dict[int, int] = field(default_factory=dict)  # left in memory too, by address
    on_line: Callable[[str], None] = field(default=lambda line: None)


def address_word(text: str) -> int:
    """An IPv4 address as the little-endian word whose bytes lie in network order."""
    return int.from_bytes(bytes(int(part) for part in text.split(".")), "little")


def words_of(data: bytes) -> list[int]:
    """Bytes as the little-endian words that they lie in memory as."""
    return [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]


def arguments_words(text: str) -> list[int]:
    """What the application is to know, as the firmware finds it; none if that is nothing."""
    if len(text.encode()) >= BOOT_ARGUMENTS_BYTES:
        raise NotUnderstood(f"no application takes {BOOT_ARGUMENTS_BYTES} bytes of arguments")
    return words_of(text.encode().ljust(BOOT_ARGUMENTS_BYTES, b"\0")) if text else []


def boot_words(setup: Setup) -> list[int]:
    """What the lab leaves in memory for the firmware to find."""
    flags = BOOT_STATIC_ADDRESS if setup.network.is_static else 0
    flags |= BOOT_ROUTINES if setup.routines else 0
    flags |= BOOT_MISALIGNED if setup.takes_misaligned else 0
    flags |= BOOT_ARGUMENTS if setup.arguments else 0
    return [
        BOOT_MAGIC,
        BOOT_VERSION,
        *words_of(os.urandom(16)),
        flags,
        address_word(BOARD_ADDRESS),
        address_word(NETMASK),
        address_word(HOST_ADDRESS),
        *words_of(setup.routines.encode().ljust(BOOT_NAME_BYTES, b"\0")),
        *arguments_words(setup.arguments),
    ]


class Board:
    """A board that runs; leave the context and it is off."""

    def __init__(self, kind: Kind, setup: Setup) -> None:
        self.kind = kind
        self.setup = setup
        self.console = Console()
        self.program = Program(setup.firmware)
        self.has_ended = False
        self._target = None
        self._driver = None
        self._power = None
        self._log = tempfile.NamedTemporaryFile(prefix="plumb-emulator-", suffix=".log")

    def __enter__(self) -> "Board":
        try:
            self._start()
        except BaseException:
            self.off()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.off()

    def _start(self) -> None:
        # Slow to import, and of no use to commands that boot nothing.
        from labgrid import Environment

        from . import drivers  # noqa: F401 - registers them

        variables = {
            "LG_FIRMWARE": str(self.setup.firmware.resolve()),
            "LG_NIC": self.setup.network.nic(),
            "LG_ARGUMENTS": shlex.join(self._arguments()),
            "LG_LOG": self._log.name,
        }
        os.environ.update(variables)
        place = self.setup.place
        if place:
            place.export()
        file = place.environment if place else LAB / f"boards/{self.kind.name}.yaml"
        try:
            self._target = Environment(str(file)).get_target("main")
            if self._target is None:
                raise LabError(f"{file} has no target named main")
            self._driver = self._target.get_driver("ConsoleProtocol")
            self._power = self._target.get_driver("PowerProtocol")
            if place:
                self._start_at(place)
            else:
                self._power.on()
        except LabError:
            raise
        except Exception as problem:
            raise self._failure(f"did not start ({problem})") from problem

    def _start_at(self, place: Place) -> None:
        """Whatever state it was left in."""
        firmware = self.setup.firmware.resolve()
        self._power.off()
        place.run_command("plumb_stage", firmware)
        self._power.on()
        place.run_command("plumb_load", firmware)

    def _arguments(self) -> list[str]:
        if self.setup.place:
            return []
        return self._emulator_arguments() if self.kind.is_emulated else self._program_arguments()

    def _emulator_arguments(self) -> list[str]:
        words = ["-no-reboot"]
        table = {BOOT_ADDRESS + 4 * i: word for i, word in enumerate(boot_words(self.setup))}
        for address, word in {**table, **self.setup.words}.items():
            words += ["-device", f"loader,addr={address:#x},data={word:#x},data-len=4"]
        if self.setup.keep_own_clock:
            words += ["-icount", "shift=4"]
        for plugin in (self.setup.plugin, self.setup.second_plugin):
            words += ["-plugin", plugin] if plugin else []
        if self.setup.pcap:
            words += ["-object", f"filter-dump,id=dump,netdev=net0,file={self.setup.pcap}"]
        return words

    def _program_arguments(self) -> list[str]:
        words = ["qemu-x86_64", "-plugin", self.setup.plugin] if self.setup.plugin else []
        words += [str(self.setup.firmware.resolve()), "--tap", self.setup.network.name]
        words += ["--address", BOARD_ADDRESS, "--netmask", NETMASK, "--gateway", HOST_ADDRESS]
        words += [] if self.setup.network.is_static else ["--dhcp"]
        if self.setup.pcap:
            words += ["--pcap", str(self.setup.pcap)]
        if self.setup.routines:
            words += ["--bytes", self.setup.routines]
        if self.setup.offload:
            words += ["--offload", self.setup.offload]
        if self.setup.arguments:
            words += ["--arguments", self.setup.arguments]
        return words

    def stop(self, limit_s: float = 10.0) -> int:
        """Has a program end in order; its status, which is 0 if it has lost no packet."""
        self._driver.ask_to_end()
        deadline = time.monotonic() + limit_s
        while not self.has_ended:
            if time.monotonic() > deadline:
                raise self._failure(f"did not end within {limit_s:g} s")
            self.pump(0.1)
        return self.exit_status()

    def off(self) -> None:
        """Switches the board off; may be called twice."""
        if self._power is not None:
            self._power.off()
        if self._target is not None:
            self._target.cleanup()
        self._driver = self._power = self._target = None

    # ---- the console ----

    def pump(self, wait_s: float) -> bool:
        """Takes in what the console says within a time; False if it said nothing."""
        if self.has_ended:
            return False
        try:
            data = self._driver.read(size=4096, timeout=wait_s, max_size=4096)
        except TIMEOUT:
            return False
        except OSError:
            data = b""
        self.has_ended = not data
        for line in self.console.feed(data):
            self.setup.on_line(line)
        return bool(data)

    def check_faults(self) -> None:
        """Raises if the board has faulted."""
        if self.console.fault or self.console.panic:
            self._hear_out()
            raise self._failure(self._fault_text())

    def check(self) -> None:
        """Raises if the board has faulted or is gone."""
        self.check_faults()
        if self.has_ended:
            raise self._failure("ended by itself" + self._status_text())

    def wait(self, is_done: Callable[[], bool], limit_s: float, what: str) -> None:
        """Follows the console until something is so; raises if it does not come about."""
        deadline = time.monotonic() + limit_s
        while not is_done():
            self.check()
            if time.monotonic() > deadline:
                raise self._failure(f"{what} within {limit_s:g} s", self._where_it_is())
            self.pump(0.05)
        while self.pump(0):
            pass

    def wait_ready(self, limit_s: float = READY_LIMIT_S) -> None:
        """Waits for the board to know its address."""
        self.wait(lambda: bool(self.console.address), limit_s, "did not come up")
        if self.setup.routines not in ("", self.console.routines):
            raise self._failure(f"has no choice of byte routines: {self.setup.routines} wanted")

    def wait_ready_or_ended(self) -> None:
        """The same for an application that may have done its work before that."""
        self.wait(
            lambda: self.has_ended or bool(self.console.address), READY_LIMIT_S, "did not come up"
        )
        self.check_faults()

    def processor_time_ns(self) -> int:
        """What a board that is a program has taken so far of this host's processors."""
        return self._driver.processor_time_ns()

    def exit_status(self) -> int:
        """The status a board ended with; raises if it was not by its own will."""
        self.check_faults()
        status = self._exit_status()
        if status is None:
            raise self._failure("ended by itself")
        return status

    def follow(self, process: subprocess.Popen, limit_s: float, what: str) -> None:
        """Follows the console until a client has ended."""
        try:
            self.wait(lambda: process.poll() is not None, limit_s, f"hangs: no end of {what}")
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()

    def function_now(self) -> str:
        """The function an emulated board is in; empty if nobody knows."""
        try:
            pc = self._pc()
        except TimeoutError as problem:
            raise self._failure(f"hangs: {problem}") from problem
        return "" if pc is None else self.program.symbol_at(pc).partition("+")[0]

    def hung(self) -> BoardError:
        """What to raise for a board that was seen not to get on."""
        return self._failure("hangs: it does not leave one function", self._where_it_is())

    def _hear_out(self) -> None:
        deadline = time.monotonic() + LAST_WORDS_S
        while time.monotonic() < deadline and not self.has_ended:
            self.pump(0.1)

    # ---- what went wrong ----

    def _fault_text(self) -> str:
        fault = self.console.fault
        if fault is None:
            return f"panic: {self.console.panic}"
        text = f"fault: {fault.kind}"
        values = fault.values
        if "address" in values:
            text += f" at address {values['address']:#010x}"
        if fault.kind == "data_abort" and values.get("status", 0) & FAULT_CAUSE == FAULT_ALIGNMENT:
            text += ", an alignment fault"
        for name in ("pc", "lr"):
            if name in values:
                text += f"\n  {name:<3} {values[name]:#010x}  {self.program.place(values[name])}"
        others = [n for n in values if n not in ("address", "pc", "lr")]
        for start in range(0, len(others), 6):
            row = others[start : start + 6]
            text += "\n  " + " ".join(f"{name}={values[name]:#010x}" for name in row)
        return text

    def _exit_status(self) -> int | None:
        """What a board that has ended said of it on its console, or by its process's end."""
        if self.console.exit_status is not None:
            return self.console.exit_status
        return getattr(self._driver, "ended_with", lambda: None)()

    def _status_text(self) -> str:
        status = self._exit_status()
        return "" if status is None else f" with status {status}"

    def _pc(self) -> int | None:
        registers = getattr(self._driver, "registers", lambda: "")()
        match = re.search(r"R15=([0-9a-f]{8})", registers)
        return int(match.group(1), 16) if match else None

    def _where_it_is(self) -> str:
        try:
            pc = self._pc()
        except TimeoutError as problem:
            return f"\n  where it is is unknown: {problem}"
        return "" if pc is None else f"\n  it is at pc {pc:#010x}  {self.program.place(pc)}"

    def _failure(self, what: str, more: str = "") -> BoardError:
        text = f"board {self.kind.name}: {what}{more}"
        self._log.seek(0)
        log = self._log.read().decode("utf-8", "replace").splitlines()
        complaints = [line for line in log if "warning:" not in line]
        if complaints:
            text += "\n  ".join(["\nthe emulator says:", *complaints])
        last = self.console.last()
        text += "\nlast lines of the console:" if last else "\nthe console said nothing."
        return BoardError("\n  | ".join([text, *last]))
