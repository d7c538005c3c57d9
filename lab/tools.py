# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The programs and files that the lab needs, and how they get here."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from glob import glob
from pathlib import Path

from .errors import MissingTool
from .paths import ROOT

TEST = frozenset({"test"})
# `./plumb bench --experiment NAME` is known here by NAME.
BYTES = frozenset({"checksum", "copy"}) | TEST  # measure the byte routines, beside others'
ISAS = BYTES | {"ether-copy", "strict-align"}  # build for every instruction set
FIRMWARE = frozenset({"ether-copy", "strict-align", "rx-align", "rx-path"})  # boot a board
LINUX = frozenset({"linux"})  # boots programs of this host
HOST = frozenset({"impairment"})  # measures them
BUILD = ISAS | FIRMWARE | LINUX | HOST | {"build", "run", "bench", "audit", "size"}
BOARD = FIRMWARE | {"run", "bench", "audit"} | TEST
BENCH = FIRMWARE | LINUX | {"bench", "audit"} | TEST
PEER = frozenset({"peer"})  # `./plumb bench --peer`, beside what the bench needs

# The file by which clang's sanitizers are known to be here.
CLANG_RUNTIME = "/usr/lib/llvm-14/lib/clang/14*/lib/linux/libclang_rt.asan-*.a"
# The C libraries that Plumb's copy is measured against.
NEWLIB_ARM = "/usr/lib/arm-none-eabi/newlib/libc.a"
PICOLIBC = "/usr/lib/picolibc/{}/lib/**/libc.a"
GLIBC = "/usr/{}/lib/libc.a"
GLIBCS = (
    ("arm-linux-gnueabi", "armel"),
    ("aarch64-linux-gnu", "arm64"),
    ("mips-linux-gnu", "mips"),
    ("mipsel-linux-gnu", "mipsel"),
    ("riscv64-linux-gnu", "riscv64"),
    ("sparc64-linux-gnu", "sparc64"),
)
DEBIAN_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


@dataclass(frozen=True)
class Tool:
    """A program on the path, or a file of a package (an absolute path, or a pattern)."""

    name: str
    package: str
    needed_by: frozenset[str]
    version: tuple[str, ...] = ("--version",)

    @property
    def label(self) -> str:
        """What a user knows it as."""
        return self.package if self.name.startswith("/") else self.name

    def path(self) -> Path | None:
        """Where it is, or None."""
        if self.name.startswith("/"):
            return next(map(Path, glob(self.name)), None)
        search = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
        found = shutil.which(self.name, path=search)
        return Path(found) if found else None

    def version_found(self) -> str:
        """Its version as it says itself; for a file, its package's."""
        path = self.path()
        if path is None:
            return ""
        if self.name.startswith("/"):
            command = ["dpkg-query", "-W", "-f", "${Version}", self.package]
        else:
            command = [str(path), *self.version]
        return first_version(output_of(command))


TOOLS = (
    Tool("cmake", "cmake", BUILD),
    Tool("ninja", "ninja-build", BUILD),
    Tool("gcc", "gcc", BUILD),
    Tool("/usr/include/stdio.h", "libc6-dev", BUILD),
    Tool("arm-none-eabi-gcc", "gcc-arm-none-eabi", BUILD),
    Tool("qemu-system-arm", "qemu-system-arm", BOARD),
    Tool("iperf", "iperf", BENCH, ("-v",)),
    Tool("ip", "iproute2", BENCH, ("-V",)),
    Tool("iperf3", "iperf3", TEST),
    Tool("curl", "curl", TEST),
    Tool("wrk", "wrk", TEST, ("-v",)),
    Tool("nmap", "nmap", TEST),
    Tool("ethtool", "ethtool", TEST),
    Tool("qemu-x86_64", "qemu-user", BENCH | ISAS),
    Tool("clang", "clang", TEST),
    Tool("llvm-cov-14", "llvm-14", TEST),
    Tool("clang-format", "clang-format", TEST),
    Tool("cppcheck", "cppcheck", TEST),
    Tool(CLANG_RUNTIME, "libclang-rt-14-dev", TEST),
    Tool("/usr/include/cmocka.h", "libcmocka-dev", TEST),
    Tool("ping", "iputils-ping", TEST, ("-V",)),
    Tool("tcpdump", "tcpdump", TEST),
    Tool("tshark", "tshark", TEST),
    Tool("dnsmasq", "dnsmasq-base", TEST),
    Tool("chromium", "chromium", TEST),  # looks at report.html
    Tool("chromedriver", "chromium-driver", TEST),
    Tool("git", "git", BENCH | ISAS | HOST),
    Tool("riscv64-unknown-elf-gcc", "gcc-riscv64-unknown-elf", ISAS),
    Tool("mips-linux-gnu-gcc", "gcc-mips-linux-gnu", ISAS),
    Tool("mipsel-linux-gnu-gcc", "gcc-mipsel-linux-gnu", ISAS),
    Tool("sparc64-linux-gnu-gcc", "gcc-sparc64-linux-gnu", ISAS),
    Tool("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu", ISAS),
    Tool("riscv64-linux-gnu-gcc", "gcc-riscv64-linux-gnu", TEST),
    Tool("arm-linux-gnueabi-gcc", "gcc-arm-linux-gnueabi", TEST),
    Tool("clang-19", "clang-19", ISAS),  # for LoongArch, of which Debian 12 has no gcc
    Tool("ld.lld-19", "lld-19", ISAS),
    Tool("llvm-objcopy-19", "llvm-19", BYTES),
    Tool("llvm-objdump-19", "llvm-19", frozenset({"ether-copy", "strict-align"}) | TEST),
    Tool(NEWLIB_ARM, "libnewlib-arm-none-eabi", BYTES),
    Tool("/usr/src/newlib/newlib-3.3.0.tar.xz", "newlib-source", BYTES),
    Tool(PICOLIBC.format("arm-none-eabi"), "picolibc-arm-none-eabi", BYTES),
    Tool(PICOLIBC.format("riscv64-unknown-elf"), "picolibc-riscv64-unknown-elf", BYTES),
    *(Tool(GLIBC.format(triplet), f"libc6-dev-{name}-cross", BYTES) for triplet, name in GLIBCS),
    Tool("cargo", "cargo-web", PEER | LINUX | TEST),  # Debian's later one: smoltcp needs Rust 1.91
    Tool("rustc", "rustc-web", PEER | LINUX | TEST),
    Tool(DEBIAN_KEYRING, "debian-archive-keyring", BYTES | PEER | LINUX),
)


def output_of(command: list[str]) -> str:
    """What a command prints, on either stream; empty if it cannot run."""
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace")


def first_version(text: str) -> str:
    """The first thing in a text that looks like a version."""
    match = re.search(r"\d+(?:\.\d+)+", text)
    return match.group(0) if match else text.strip().splitlines()[0] if text.strip() else ""


def git(*words: str) -> str:
    """What git says of this tree, whoever owns it."""
    here = ["-C", str(ROOT), "-c", f"safe.directory={ROOT}"]
    return output_of(["git", *here, *words]).strip()


# What recording writes changes nothing that is measured.
RECORDED = (":!docs/results*.md", ":!README.md")


def commit() -> str:
    """The tree's commit, and whether anything but recorded results differs from it."""
    name = git("rev-parse", "--short=12", "HEAD")
    changes = git("status", "--porcelain", "-uno", "--", ".", *RECORDED)
    return name + ("+changes" if changes else "")


def missing(command: str) -> list[Tool]:
    """What a command of the lab needs and is not here."""
    return [tool for tool in TOOLS if command in tool.needed_by and tool.path() is None]


def install_command(tools: Iterable[Tool]) -> list[str]:
    """The command that installs tools, without what makes it root's."""
    packages = dict.fromkeys(tool.package for tool in tools)
    return ["apt-get", "install", "-y", "--no-install-recommends", *packages]


def install_line(tools: Iterable[Tool]) -> str:
    """The same as a user types it."""
    return " ".join((["sudo"] if os.geteuid() else []) + install_command(tools))


def can_be_root() -> bool:
    """Whether root's commands can run without asking anyone."""
    if os.geteuid() == 0:
        return True
    return bool(shutil.which("sudo")) and (
        subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode == 0
    )


def ensure(command: str) -> None:
    """Installs what a command needs, or says how to and gives up."""
    absent = missing(command)
    if not absent:
        return
    line = install_line(absent)
    if not (shutil.which("apt-get") and can_be_root()):
        raise MissingTool(f"{command} needs what is not installed; install it with:\n{line}")
    print(f"plumb: installing {', '.join(tool.package for tool in absent)}", flush=True)
    install = install_command(absent)
    if not (apt(install) or (apt(["apt-get", "update"]) and apt(install))):
        raise MissingTool(f"could not install what is missing (is there a network?):\n{line}")
    still = missing(command)
    if still:
        names = ", ".join(tool.label for tool in still)
        raise MissingTool(f"installed, and still not found: {names}")


def apt(command: list[str]) -> bool:
    """Runs an apt command as root; True if it succeeded."""
    prefix = [] if os.geteuid() == 0 else ["sudo", "-n"]
    done = subprocess.run(
        [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", *command],
        stdout=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )
    return done.returncode == 0
