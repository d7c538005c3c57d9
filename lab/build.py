# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Builds firmware, host programs and the emulator's plugin."""

import json
import os
import re
import shlex
import signal
import subprocess
from functools import cache
from pathlib import Path

from . import lock
from .errors import LabError, NotUnderstood
from .paths import BUILD, LAB, ROOT

# How the linker may leave out what is not used; of no account to who reads the flags.
SECTIONS = ("-ffunction-sections", "-fdata-sections", "-fno-common")
# The sources of each of the emulator's plugins, in lab/plugin.
PLUGINS = {
    "count": ("count.c", "map.c", "calls.c", "decode.c", "buffers.c"),
    "bounds": ("bounds.c", "map.c"),
    "lines": ("lines.c", "map.c"),
    "memory": ("memory.c", "arm.c", "cache.c", "memory_system.c", "memory_parameters.c", "map.c"),
}
PLUGIN_FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra")

# What a board's programs are called in CMake, in front of an application's name.
TARGETS = {"linux": "plumb", "zynq": "zynq"}

_PROGRESS = re.compile(r"\[\d+/\d+\] ")


def run(command: list[str], what: str) -> None:
    """Runs a build step; its output is shown only if it fails.

    It has a process group of its own, so that an end asked for ends all of it.
    """
    step = subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        process_group=0,
    )
    try:
        output, _ = step.communicate()
    except BaseException:
        os.killpg(step.pid, signal.SIGKILL)
        step.wait()
        raise
    if step.returncode:
        told = [line for line in output.splitlines() if not _PROGRESS.match(line)]
        raise LabError("\n".join([f"{what} failed: {shlex.join(command)}", *told]))


@cache
def preset(
    name: str, more: tuple[str, ...] = (), suffix: str = "", target: str = "all"
) -> Path:
    """Configures and builds a CMake preset, once; returns its build folder. With `more`
    settings of Kconfig beside its own, that is the preset's with a suffix."""
    folder = BUILD / (name + suffix)
    beside = ["-B", str(folder), f"-DPLUMB_SETTINGS={';'.join([*settings(name), *more])}"]
    with lock.held(BUILD / f"{folder.name}.lock", f"building {folder.name}"):
        run(["cmake", "--preset", name, *(beside if more else ())], f"configuring {folder.name}")
        run(["cmake", "--build", str(folder), "--target", target], f"building {folder.name}")
    return folder


def project(source: Path, folder: Path, target: str, options: list[str]) -> Path:
    """Configures and builds a target of another CMake project of this tree; its program's path
    in the build folder."""
    configure = ["cmake", "-S", str(source), "-B", str(folder), "-G", "Ninja", *options]
    with lock.held(BUILD / f"{folder.name}.lock", f"building {folder.name}"):
        run(configure, f"configuring {folder.name}")
        run(["cmake", "--build", str(folder), "--target", target], f"building {folder.name}")
    return folder / target


def presets() -> dict[str, dict]:
    """The CMake presets, by name."""
    listed = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
    return {preset["name"]: preset for preset in listed}


def settings(name: str) -> list[str]:
    """The settings of Kconfig that a preset makes, or inherits."""
    found = presets().get(name, {})
    own = found.get("cacheVariables", {}).get("PLUMB_SETTINGS")
    if own is None and "inherits" in found:
        return settings(found["inherits"])
    return own.split(";") if own else []


def firmware(name: str, app: str, more: tuple[str, ...] = (), suffix: str = "") -> Path:
    """Builds a preset and returns the program of one application."""
    # A variant is built for the one; a preset for all that ask.
    target = f"{TARGETS[name.partition('-')[0]]}_{app}" if suffix else "all"
    folder = preset(name, more, suffix, target)
    for path in (folder / f"{app}.elf", folder / f"boards/linux/plumb_{app}"):
        if path.is_file():
            return path
    known = ", ".join(applications(folder)) or "none"
    raise NotUnderstood(f"{name} has no application {app!r}; there are: {known}")


def applications(folder: Path) -> list[str]:
    """The applications that a build folder holds programs of."""
    programs = [path.name for path in folder.glob("boards/linux/plumb_*") if path.is_file()]
    firmware_files = [path.stem for path in folder.glob("*.elf")]
    return sorted(firmware_files + [name.removeprefix("plumb_") for name in programs])


def plugin(name: str = "count") -> Path:
    """A plugin of the emulator's, built with the host's compiler when it is out of date."""
    sources = [str(LAB / "plugin" / source) for source in PLUGINS[name]]
    newest = max(path.stat().st_mtime for path in (LAB / "plugin").iterdir())
    library = BUILD / f"lab/lib{name}.so"
    with lock.held(BUILD / "lab/lock", "building the plugin"):
        if not library.exists() or newest > library.stat().st_mtime:
            fresh = library.with_suffix(".new")
            run(["gcc", *PLUGIN_FLAGS, "-o", str(fresh), *sources], "building the plugin")
            fresh.replace(library)
    return library


def compiler_and_flags(folder: Path) -> tuple[str, str]:
    """The compiler of a build folder, with its version, and how it compiles the stack."""
    entries = json.loads((folder / "compile_commands.json").read_text())
    entry = next(e for e in entries if Path(e["file"]).is_relative_to(ROOT / "src"))
    words = shlex.split(entry["command"])
    done = subprocess.run([words[0], "-dumpfullversion"], capture_output=True, text=True)
    skipped = ("-W", "-I", "-isystem", "-D", "-o", "-c", "-g", "-std", *SECTIONS)
    flags = [word for word in words[1:] if word.startswith("-") and not word.startswith(skipped)]
    return f"{Path(words[0]).name} {done.stdout.strip()}", " ".join(flags)
