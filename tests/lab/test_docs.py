# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The documents: that they are complete, and point at what is there."""

import re

import pytest

from lab.paths import ROOT

PAGES = sorted(p for p in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.md")))
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
CODE = re.compile(r"^    (PLUMB_ERROR_\w+) = (-\d+),", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    targets = [t for t in LINK.findall(page.read_text()) if not re.match(r"\w+:", t)]
    assert not [t for t in targets if not (page.parent / t).exists()]


def test_every_error_is_explained():
    codes = CODE.findall((ROOT / "include/plumb/error.h").read_text())
    text = (ROOT / "docs/errors.md").read_text()
    assert len(codes) == 16
    for name, value in codes:
        assert f"\n## {name}\n\n" in text, name
        assert f"\n| {value} | [`{name}`](#{name.lower()}) |" in text, name
