"""The site builds without a warning, notices a broken link, and fetches nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DOCS = Path(__file__).resolve().parents[2] / "docs"
# What a browser loads by itself when a page is opened.
LOADED = re.compile(r"""<(?:script|img|link|iframe|source)\b[^>]*?\b(?:src|href)=["']?(https?:)?//""")


def build(docs: Path, site: Path) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("mkdocs", reason="the documentation's packages are not installed: pip install '.[docs]'")
    config = docs / "site" / "mkdocs.yml"
    command = [sys.executable, "-P", "-m", "mkdocs", "build", "--strict", "-f", str(config), "-d", str(site)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = build(DOCS, place := tmp_path_factory.mktemp("docs") / "site")
    assert built.returncode == 0, built.stderr
    return place


def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > len(list(DOCS.rglob("*.md")))  # and one for what is not found
    assert [page.name for page in pages if LOADED.search(page.read_text("utf-8"))] == []
    styles = [style.read_text("utf-8") for style in site.rglob("*.css")]
    assert [style for style in styles if re.search(r"@import|url\(['\"]?https?:", style)] == []


@pytest.mark.proof
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
def test_pages_opened_from_a_folder_search_and_copy_commands_alone(site: Path) -> None:
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--headless", "--no-sandbox"])
        page = browser.new_context(offline=True).new_page()
        page.goto((site / "quick-start.html").as_uri())
        copied = page.evaluate("[...document.querySelectorAll('[data-copy]')].map(code => code.dataset.copy)")
        assert copied[:2] == ["calprobe score --model tiny-clm", "calprobe report runs/tiny-clm-mini"]
        page.locator("input.md-search__input").click()
        page.wait_for_function("typeof __index === 'object' && document.querySelector('iframe')")
        page.wait_for_timeout(500)
        page.keyboard.type("paraphrases", delay=20)
        page.locator(".md-search-result__item").first.wait_for(timeout=20_000)
        assert "matching documents" in page.locator(".md-search-result__meta").inner_text()
        browser.close()


def test_no_page_has_the_marks_of_an_unresolved_merge() -> None:
    pages = [*DOCS.rglob("*.md"), *DOCS.parent.glob("*.md")]
    assert DOCS.parent / "CHANGELOG.md" in pages
    marks = re.compile(r"^(<{7} |>{7} |={7}$)", re.MULTILINE)
    assert [page.name for page in pages if marks.search(page.read_text("utf-8"))] == []


@pytest.mark.proof
def test_broken_links_fail_the_build(tmp_path: Path) -> None:
    links = ("nowhere.md", "methods/metrics.md#no-such-section")
    docs = tmp_path / "docs"
    shutil.copytree(DOCS, docs)
    with (docs / "index.md").open("a", encoding="utf-8") as page:
        page.write("".join(f"\n[broken]({link})\n" for link in links))
    built = build(docs, tmp_path / "site")
    assert built.returncode != 0
    assert all(link in built.stderr for link in links)
