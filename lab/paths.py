# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Where things lie in the tree."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAB = ROOT / "lab"
BUILD = ROOT / "build"
OUT = ROOT / "out"
