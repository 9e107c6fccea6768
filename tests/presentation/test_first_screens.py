"""Every kind of page in a real browser: a verdict and a figure on the first screen, no sideways scroll on a phone."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commands import calprobe
from proofs import few_of
from sources import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser

RUNS = ROOT / "tests" / "golden" / "runs"
FEW = "--bootstrap 60"
# The command that writes each kind of page. An overview has its matrices for a verdict, a page of replies its count.
PAGES = {
    "scored": f"report clm {FEW}",
    "several scored": f"report clm mlm {FEW}",
    "asked": f"report audit --variants surface_paraphrase {FEW}",
    "audit": f"report audit {FEW}",
    "several asked": f"report audit audit-overconfident {FEW}",
    "stated": f"report stated {FEW}",
    "wording": f"report wording {FEW}",
    "labels": f"report labels {FEW}",
    "sampled": f"report answers {FEW}",
    "compare": f"compare clm mlm --intersect {FEW}",
    "compare asked": f"compare audit audit-overconfident {FEW}",
    "within": f"compare audit {FEW}",
    "ways": f"compare chat audit --variants surface_paraphrase {FEW}",
    "overview": f"report . {FEW}",
    "replies": "show audit",
}
# What is looked for on pages that have no sentences.
OTHERS = {"replies": ("#count", "article")}
KINDS = few_of(PAGES, lambda kind: kind in ("asked", "compare asked", "replies"))
Open = Callable[[str], Path]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Open:
    """Write the page of a kind, once."""
    folder = tmp_path_factory.mktemp("pages")
    shutil.copytree(RUNS, folder / "runs")

    def write(kind: str) -> Path:
        page = folder / f"{kind.replace(' ', '-')}.html"
        if not page.exists():
            command, *arguments = PAGES[kind].split()
            paths = [folder / "runs" / name if (RUNS / name).is_dir() else name for name in arguments]
            done = calprobe(command, *paths, "--html", page)
            assert done.returncode == 0, done.stderr
        return page

    return write


@pytest.mark.parametrize("kind", KINDS)
def test_a_verdict_and_a_figure_are_on_the_first_screen(kind: str, written: Open, browser: Browser) -> None:
    verdict, figure = OTHERS.get(kind, (".verdicts", "figure > svg"))
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(written(kind).as_uri())
    told, drawn = (page.locator(selector).first.bounding_box() for selector in (verdict, figure))
    context.close()
    assert told is not None
    assert drawn is not None
    assert told["y"] + min(told["height"], 100) <= 800
    assert drawn["y"] + min(0.75 * drawn["height"], 400) <= 800  # of a long one the first rows


@pytest.mark.parametrize("kind", KINDS)
def test_a_phone_does_not_scroll_sideways(kind: str, written: Open, browser: Browser) -> None:
    context = browser.new_context(offline=True, viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto(written(kind).as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    width = page.evaluate("document.documentElement.scrollWidth")
    context.close()
    assert width <= 390
