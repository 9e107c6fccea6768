"""Progress in a log: a line now and then, and one at the end."""

from __future__ import annotations

import logging

import pytest

import calprobe.scoring.progress as progress_module
from calprobe.scoring.progress import progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now[0])
    return now


def test_lines_now_and_then(clock: list[float], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "calprobe"), progress(1000, "tiny") as advance:
        for seconds in (10.0, 20.0, 40.0, 41.0, 50.0):
            clock[0] = seconds
            advance(200, 1000)
    assert [record.getMessage() for record in caplog.records] == [
        "600 of 1,000 statements, 15 statements/s, 75 tokens/s, 27 s left",
        "1,000 of 1,000 statements, 20 statements/s, 100 tokens/s, 0 s left",
    ]


@pytest.mark.parametrize(("total", "quiet"), [(0, False), (10, True)])
def test_nothing_is_said(total: int, quiet: bool, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "calprobe"), progress(total, "tiny", quiet) as advance:
        advance(total, 0)
    assert not caplog.records
