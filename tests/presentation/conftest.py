"""The contents of one page, for all tests of pages, and a browser to look at pages with."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from coarse_smoothing import coarse_smoothing
from page_samples import contents_of

from calprobe.studies.scored.contents import ReportContents

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def contents(tmp_path_factory: pytest.TempPathFactory) -> ReportContents:
    with coarse_smoothing():  # as in the modules that show them
        return contents_of(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")  # of a session, the driver of another folder's tests could not start beside it
def browser() -> Iterator[Browser]:
    """One for a module, with a profile of its own that ends with it."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine")
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with driver.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield started
        started.close()
