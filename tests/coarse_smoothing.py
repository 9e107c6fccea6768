"""Smooth ECE on fewer points, where tests compute it in each of hundreds of reports and look at other things."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import calprobe.metrics  # noqa: F401 - the module below

SMOOTH_ECE = sys.modules["calprobe.metrics.smooth_ece"]  # the package has a function of this name


@contextmanager
def coarse_smoothing() -> Iterator[None]:
    """A tenth of the points of its grid, in this process and all over calprobe; every number of a report follows."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SMOOTH_ECE, "GRID", 101)
        patched.setattr(SMOOTH_ECE, "MESH", 50)
        SMOOTH_ECE._smoother.cache_clear()  # these are of a grid
        yield
    SMOOTH_ECE._smoother.cache_clear()
