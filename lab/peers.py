# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Others' code that Plumb is measured against: fetched, checked, kept in build/peers.

lwIP comes as Debian's source package. It is fetched by apt-get with a configuration of
its own, so that the system's sources and lists stay as they are; what arrives is
checked against the sum written here, and a file that was put there by hand will do as
well. newlib's sources are a package that is installed (lab/tools.py); C libraries that
were built by others are taken apart where they lie: of each its memcpy, renamed so
that several stand in one program.
"""

import hashlib
import lzma
import shutil
import struct
import subprocess
import tarfile
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from . import build, lock
from .errors import LabError, MissingTool
from .paths import BUILD
from .tools import DEBIAN_KEYRING, output_of

PEERS = BUILD / "peers"
SOURCES = f"deb-src [signed-by={DEBIAN_KEYRING}] http://deb.debian.org/debian bookworm main\n"
FETCH_LIMIT_S = 180
NEWLIB_SOURCES = Path("/usr/src/newlib/newlib-3.3.0.tar.xz")
NEWLIB_VERSION = "3.3.0"


@dataclass(frozen=True)
class Source:
    """A source package of Debian's, and what of it is wanted."""

    package: str
    version: str
    archive: str
    sha256: str
    wanted: tuple[str, ...]  # files, and folders with all they hold, below the archive's top


LWIP = Source(
    "lwip",
    "2.1.3+dfsg1-2",
    "lwip_2.1.3+dfsg1.orig.tar.xz",
    "0a8276d09fc4e97bbba2f953d74af2388fc2195ea156be9d7589e297a68fde24",
    ("src/core", "src/include", "src/netif/ethernet.c"),
)


def lwip() -> Path:
    """The folder of lwIP's sources."""
    folder = PEERS / f"lwip-{LWIP.version}"
    with _lock():
        if not all((folder / name).exists() for name in LWIP.wanted):
            archive = PEERS / LWIP.archive
            if not archive.exists():
                _fetch(LWIP)
            _check(archive, LWIP)
            _unpack(archive, folder, LWIP.wanted)
    return folder


def newlib() -> Path:
    """The folder of newlib's sources: its generic memcpy, and the headers."""
    folder = PEERS / f"newlib-{NEWLIB_VERSION}"
    with _lock():
        if not folder.is_dir():
            wanted = ("newlib/libc/string/memcpy.c",)
            _unpack(NEWLIB_SOURCES, folder, (*wanted, "newlib/libc/include"))
    return folder


def _lock() -> AbstractContextManager[None]:
    """One lab at a time; another's folder is there when it was its turn."""
    return lock.held(PEERS / ".lock", "fetching others' code")


def apt_options(folder: Path) -> list[str]:
    """apt-get's own world below a folder: lists, cache, and the one line of sources."""
    return [
        f"-oDir::Etc::SourceList={folder}/sources.list",
        "-oDir::Etc::SourceParts=/dev/null",
        f"-oDir::State::Lists={folder}/lists",
        f"-oDir::Cache={folder}/cache",
        "-oAPT::Sandbox::User=",  # the folders are the user's
        "-oAcquire::Retries=1",
        "-oAcquire::http::Timeout=20",
    ]


def fetch_command(source: Source, folder: Path) -> list[str]:
    """How its archive gets into the folder it is run in."""
    wanted = f"{source.package}={source.version}"
    return ["apt-get", *apt_options(folder), "-qq", "source", "--download-only", wanted]


def _fetch(source: Source) -> None:
    folder = PEERS / "apt"
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "sources.list").write_text(SOURCES)
    update = ["apt-get", *apt_options(folder), "-qq", "update"]
    fetch = fetch_command(source, folder)
    trouble = run(update, PEERS) or run(fetch, PEERS)
    if trouble:
        lines = (" ".join(command) for command in (update, fetch))
        raise MissingTool(
            f"could not fetch the sources of {source.package} (is there a network?); "
            f"put {source.archive} into {PEERS}, or try:\ncd {PEERS} && {' && '.join(lines)}\n"
            f"it said: {trouble}"
        )
    shutil.rmtree(folder / "lists")


def run(command: list[str], folder: Path) -> str:
    """Runs a command of apt's in a folder; what went wrong, or an empty string."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=FETCH_LIMIT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return str(problem)
    told = done.stdout.strip().splitlines() or [f"status {done.returncode}"]
    return told[-1] if done.returncode else ""


def _check(archive: Path, source: Source) -> None:
    if not archive.exists():
        raise LabError(f"{source.package} {source.version} came without {source.archive}")
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != source.sha256:
        raise LabError(
            f"{archive} is not what it should be: its SHA-256 is {found}, and not "
            f"{source.sha256}; remove it, and it is fetched again"
        )


def _unpack(archive: Path, folder: Path, wanted: tuple[str, ...]) -> None:
    """What is wanted of an archive, without its top folder."""
    fresh = folder.with_name(folder.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        _extract(archive, fresh, wanted)
    except (tarfile.TarError, lzma.LZMAError, EOFError) as problem:
        raise LabError(f"{archive} cannot be read: {problem}") from problem
    for name in wanted:
        if not (fresh / name).exists():
            raise LabError(f"{archive} holds no {name}")
    shutil.rmtree(folder, ignore_errors=True)  # of a lab that wanted less of it
    fresh.replace(folder)


def _extract(archive: Path, folder: Path, wanted: tuple[str, ...]) -> None:
    with tarfile.open(archive) as opened:
        for member in opened:
            inside = member.name.partition("/")[2]
            if member.isfile() and any(Path(inside).is_relative_to(name) for name in wanted):
                path = folder / inside
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(opened.extractfile(member).read())


# ---- memcpy of C libraries as they are shipped ----

OBJCOPY, NM = "llvm-objcopy-19", "llvm-nm-19"
NEWLIB = "/usr/lib/arm-none-eabi/newlib"
PICOLIBC = "/usr/lib/picolibc"


@dataclass(frozen=True)
class Library:
    """A memcpy in an archive; `variant` says which of a library's builds this is."""

    stack: str
    variant: str
    archive: str
    symbol: str = "memcpy"
    helpers: tuple[str, ...] = ()  # members that it calls

    @property
    def name(self) -> str:
        """What its memcpy is called in a program."""
        return f"{self.stack}_{self.variant}_memcpy"


def _newlib(folder: str) -> tuple[Library, ...]:
    """As it is, and its build for size (nano)."""
    kinds = (("shipped", "libc.a"), ("nano", "libc_nano.a"))
    return tuple(Library("newlib", kind, f"{NEWLIB}{folder}/{name}") for kind, name in kinds)


def _picolibc(target: str, folder: str) -> tuple[Library, ...]:
    """What is linked unless one asks otherwise, built for size; and its build for speed."""
    kinds = (("shipped", ""), ("release", "/release"))
    return tuple(
        Library("picolibc", kind, f"{PICOLIBC}/{target}/lib{below}{folder}/libc.a")
        for kind, below in kinds
    )


def _arm(folder: str) -> tuple[Library, ...]:
    return _newlib(folder) + _picolibc("arm-none-eabi", folder)


def _glibc(triplet: str, symbol: str = "memcpy", helpers: tuple[str, ...] = ()) -> Library:
    """Where glibc chooses at start-up, `symbol` is the choice."""
    return Library("glibc", "shipped", f"/usr/{triplet}/libc.a", symbol, helpers)


_GLIBC_ARM = _glibc("arm-linux-gnueabi/lib")
LIBRARIES: dict[str, tuple[Library, ...]] = {
    "armv5": (*_arm(""), _GLIBC_ARM),
    "armv7a": (*_arm("/thumb/v7-a/nofp"), _GLIBC_ARM),
    "thumb1": _arm("/thumb/v6-m/nofp"),
    "thumb2": _arm("/thumb/v7-m/nofp"),
    "aarch64": (_glibc("aarch64-linux-gnu/lib", "__memcpy_generic"),),
    "mips32be": (_glibc("mips-linux-gnu/lib"),),
    "mips32le": (_glibc("mipsel-linux-gnu/lib"),),
    "rv32": _picolibc("riscv64-unknown-elf", "/rv32imac/ilp32"),
    "rv64": (
        *_picolibc("riscv64-unknown-elf", "/rv64imac/lp64"),
        _glibc("riscv64-linux-gnu/lib", helpers=("wordcopy.o",)),
    ),
    "x86_64": (_glibc("lib/x86_64-linux-gnu", "__memcpy_avx_unaligned"),),
}
# Said where the figures are.
ABSENT = {
    "thumb1": "glibc knows no M profile",
    "thumb2": "glibc knows no M profile",
    "sparcv8": "Debian's glibc is for 64-bit SPARC only",
    "rv32": "Debian's glibc is for RV64 only",
    "loongarch64": "Debian 12 has no C library for it",
}


def memcpy_objects(library: Library, isa_name: str) -> tuple[Path, ...]:
    """The objects of a library's memcpy, ready to be linked into a program."""
    archive = Path(library.archive)
    folder = PEERS / "memcpy" / f"{isa_name}-{library.stack}-{library.variant}"
    with _lock():
        done = folder / "done"
        if not done.exists() or done.stat().st_mtime < archive.stat().st_mtime:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            for member in (_member(library), *library.helpers):
                _take_out(library, member, folder)
            done.touch()
    return tuple(sorted(folder.glob("*.o")))


def _member(library: Library) -> str:
    """The member of the archive that defines the symbol."""
    lines = output_of([NM, "--defined-only", "--print-file-name", library.archive]).splitlines()
    for line in lines:
        place, _, rest = line.rpartition(": ")
        if rest.split()[1:] == ["T", library.symbol]:
            return place.rpartition(":")[2]
    raise LabError(f"{library.archive} defines no {library.symbol}")


def _take_out(library: Library, member: str, folder: Path) -> None:
    """One member, with nothing to be seen from outside but what is called there."""
    raw, path = folder / "raw", folder / member
    with raw.open("wb") as file:
        done = subprocess.run(["ar", "p", library.archive, member], stdout=file, timeout=60)
    if done.returncode or not raw.stat().st_size:
        raise LabError(f"{library.archive} holds no {member}")
    kept = [f"--keep-global-symbol={name}" for name in (library.symbol, "_wordcopy_*")]
    renamed = f"--redefine-sym={library.symbol}={library.name}"
    command = [OBJCOPY, "--strip-debug", "--wildcard", *kept, renamed, str(raw), str(path)]
    build.run(command, f"taking {member} out of {library.archive}")
    raw.unlink()
    _forget_float_abi(path)


def _forget_float_abi(path: Path) -> None:
    """Has an object of RISC-V, that touches no floating-point register, say so.

    A linker refuses to join what passes doubles in registers with what does not.
    """
    content = bytearray(path.read_bytes())
    machine_at, flags_at = 18, 48 if content[4] == 2 else 36
    riscv, float_abi = 243, 0x6
    if struct.unpack_from("<H", content, machine_at)[0] == riscv:
        flags = struct.unpack_from("<I", content, flags_at)[0]
        struct.pack_into("<I", content, flags_at, flags & ~float_abi)
        path.write_bytes(content)
