# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Code by source file, from the line table, beside what the linker's map says."""

from pathlib import Path

import pytest

from lab import build, lines, sizes
from lab.errors import LabError


def test_both_ways_agree_where_both_work():
    program = build.firmware("zynq-os", "iperf")
    by_map = sizes.total(sizes.parse(program.with_suffix(".map").read_text())).text
    by_lines = sum(lines.by_folder(program).values())
    assert abs(by_map - by_lines) < by_map / 50


def test_neither_board_nor_c_library_counts():
    program = build.firmware("zynq-os", "iperf")
    files, folders = lines.by_file(program), lines.by_folder(program)
    assert files["src/bytes/libc.c"] > 0
    assert any(name.startswith("boards/zynq") for name in files)
    counted = sum(size for name, size in files.items() if name.startswith(("src/", "apps/")))
    assert counted > sum(s for n, s in folders.items() if n.startswith(("src/", "apps/")))
    assert not any(name.startswith("boards") for name in folders)


def test_a_firmware_without_console_says_nothing():
    assert b"plumb: ready" in build.firmware("zynq-os", "iperf").read_bytes()
    assert b"plumb: ready" not in build.firmware("zynq-size", "iperf").read_bytes()


def test_a_file_without_lines_is_refused(tmp_path: Path):
    bare = tmp_path / "bare.elf"
    build.run(
        ["arm-none-eabi-strip", "-o", str(bare), str(build.firmware("zynq-os", "iperf"))], "strip"
    )
    with pytest.raises(LabError, match="line table"):
        lines.by_file(bare)
