# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The tree itself: formatting, warnings, options, and use by other CMake projects."""

import subprocess
import sys

import pytest

from lab import build
from lab.paths import ROOT

MADE = (".git", ".venv", "build", "out")
PRESETS = ("zynq", "zynq-os", "zynq-size", "zynq-word", "linux", "host-gcc", "host-clang")


def call(*words: object, **options: object) -> str:
    """Runs a command that must succeed; its output."""
    done = subprocess.run(
        list(map(str, words)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        **options,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def sources(*patterns: str) -> list[str]:
    """The tree's files, without what is made."""
    tops = [path for path in ROOT.iterdir() if path.name not in MADE]
    found = [f for top in tops for f in ([top] if top.is_file() else top.rglob("*"))]
    names = [str(f.relative_to(ROOT)) for f in found if any(f.match(p) for p in patterns)]
    return sorted(name for name in names if not name.startswith("cmake/default/"))


@pytest.mark.parametrize("preset", PRESETS)
def test_it_builds_without_a_warning(preset):
    build.preset(preset)  # every preset makes warnings errors


def test_it_is_formatted():
    call("clang-format", "--dry-run", "-Werror", *sources("*.c", "*.h"), cwd=ROOT)


def test_every_source_names_its_licence():
    named = sources("*.c", "*.h", "*.S", "*.ld", "*.py", "*.cmake", "*CMakeLists.txt", "*Kconfig")
    bare = [n for n in named if "Apache-2.0 OR MIT" not in (ROOT / n).read_text()[:300]]
    assert not bare


def test_the_committed_defaults_are_what_kconfig_says(tmp_path):
    header = tmp_path / "plumb_config.h"
    call(sys.executable, ROOT / "cmake/kconfig.py", ROOT / "Kconfig", header)
    assert header.read_text() == (ROOT / "cmake/default/plumb_config.h").read_text()


MAIN = """
#include <plumb/plumb.h>

static PLUMB_STACK_MEMORY(memory);

int main(void)
{
    static struct plumb_packet descriptors[4];
    static _Alignas(64) uint8_t bytes[4][1600];
    static struct plumb_pool pool;
    struct plumb_options options = {.segments = &pool, .headers = &pool};
    struct plumb *stack;
    if (plumb_pool_create(&pool, descriptors, bytes, 4, sizeof bytes[0], 0))
        return 1;
    return plumb_create(&stack, memory, sizeof memory, &options);
}
"""
WAYS = {
    "add_subdirectory": f"add_subdirectory({ROOT} plumb)",
    "FetchContent": (
        f"include(FetchContent)\nFetchContent_Declare(plumb SOURCE_DIR {ROOT})\n"
        "FetchContent_MakeAvailable(plumb)"
    ),
    "find_package": "find_package(plumb 0.1 REQUIRED)",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory):
    """An installed copy."""
    folder = tmp_path_factory.mktemp("installed")
    call("cmake", "-G", "Ninja", "-S", ROOT, "-B", folder / "build")
    call("cmake", "--build", folder / "build")
    call("cmake", "--install", folder / "build", "--prefix", folder / "prefix")
    return folder / "prefix"


@pytest.mark.parametrize("way", WAYS)
def test_another_project_uses_it(way, tmp_path, installed):
    (tmp_path / "main.c").write_text(MAIN)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(user C)\n"
        f"{WAYS[way]}\nadd_executable(user main.c)\n"
        "target_link_libraries(user PRIVATE plumb::plumb)\n"
    )
    prefix = f"-DCMAKE_PREFIX_PATH={installed}"
    call("cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "build", prefix)
    call("cmake", "--build", tmp_path / "build")
    call(tmp_path / "build/user")
