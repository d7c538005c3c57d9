# SPDX-License-Identifier: Apache-2.0 OR MIT
"""CBMC, the model checker of the proofs in tests/proof: fetched, kept in build/cbmc.

Debian 12 has none. Debian 13's comes with the C library that it was built for, by
apt-get with a configuration of its own, which checks Debian's signatures; it is unpacked
and run where it lies, and the system stays as it is.
"""

import shutil
from functools import cache
from pathlib import Path

from . import lock, peers
from .errors import MissingTool
from .paths import BUILD
from .tools import DEBIAN_KEYRING

VERSION = "6.6.0-4"
FOLDER = BUILD / "cbmc"
SOURCES = f"deb [signed-by={DEBIAN_KEYRING}] http://deb.debian.org/debian trixie main\n"
# The libraries are Debian 13's of the day: security updates replace the files.
PACKAGES = (f"cbmc={VERSION}", "minisat", "libc6", "libstdc++6", "libgcc-s1")


@cache
def command() -> tuple[str, ...]:
    """How it is called: by its own loader, which finds its own libraries."""
    root = FOLDER / VERSION
    with lock.held(FOLDER / ".lock", "fetching CBMC"):
        if not root.is_dir():
            _fetch(root)
    loader = next(root.glob("usr/lib/*/ld-linux-*.so.*"))
    libraries = f"{loader.parent}:{root / 'usr/lib'}"
    return (str(loader), "--library-path", libraries, str(root / "usr/bin/cbmc"))


def _fetch(root: Path) -> None:
    world, fresh = FOLDER / "apt", root.with_name(root.name + ".new")
    for folder in (world, fresh):
        shutil.rmtree(folder, ignore_errors=True)
    for name in ("lists/partial", "cache/archives/partial"):
        (world / name).mkdir(parents=True)
    (world / "sources.list").write_text(SOURCES)
    apt = ["apt-get", *peers.apt_options(world), "-qq"]
    steps = [[*apt, "update"], [*apt, "download", *PACKAGES]]
    for step in steps:
        trouble = peers.run(step, world)
        if trouble:
            raise MissingTool(
                f"could not fetch CBMC {VERSION} (is there a network?); it said: {trouble}\n"
                f"try: cd {world} && {' && '.join(map(' '.join, steps))}"
            )
    for archive in sorted(world.glob("*.deb")):
        trouble = peers.run(["dpkg-deb", "-x", str(archive), str(fresh)], world)
        if trouble:
            raise MissingTool(f"{archive} cannot be unpacked: {trouble}")
    fresh.replace(root)
    shutil.rmtree(world)
