"""The contents of one page, for all tests of pages."""

from __future__ import annotations

import pytest
from coarse_smoothing import coarse_smoothing
from page_samples import contents_of

from calprobe.studies.scored.contents import ReportContents


@pytest.fixture(scope="session")
def contents(tmp_path_factory: pytest.TempPathFactory) -> ReportContents:
    with coarse_smoothing():  # as in the modules that show them
        return contents_of(tmp_path_factory.mktemp("runs"))
