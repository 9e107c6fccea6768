"""The site builds without a warning, notices a broken link, and fetches nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
# What a browser loads by itself when a page is opened.
LOADED = re.compile(r"""<(?:script|img|link|iframe|source)\b[^>]*?\b(?:src|href)=["']?(https?:)?//""")


def build(docs: Path, site: Path) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("mkdocs", reason="the documentation's packages are not installed: pip install '.[docs]'")
    config = docs / "site" / "mkdocs.yml"
    command = [sys.executable, "-P", "-m", "mkdocs", "build", "--strict", "-f", str(config), "-d", str(site)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    built = build(DOCS, tmp_path / "site")
    assert built.returncode == 0, built.stderr
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) > len(list(DOCS.rglob("*.md")))  # and one for what is not found
    assert [page.name for page in pages if LOADED.search(page.read_text("utf-8"))] == []
    styles = [style.read_text("utf-8") for style in (tmp_path / "site").rglob("*.css")]
    assert [style for style in styles if re.search(r"@import|url\(['\"]?https?:", style)] == []


@pytest.mark.parametrize("link", ["nowhere.md", "methods.md#no-such-section"])
def test_a_broken_link_fails_the_build(tmp_path: Path, link: str) -> None:
    docs = tmp_path / "docs"
    shutil.copytree(DOCS, docs)
    with (docs / "index.md").open("a", encoding="utf-8") as page:
        page.write(f"\n[broken]({link})\n")
    built = build(docs, tmp_path / "site")
    assert built.returncode != 0
    assert link.partition("#")[0] in built.stderr
