"""Reports of tests: smooth ECE on a coarse grid, which is tested where metrics are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from coarse_smoothing import coarse_smoothing


@pytest.fixture(autouse=True, scope="module")
def _coarse() -> Iterator[None]:
    with coarse_smoothing():
        yield
