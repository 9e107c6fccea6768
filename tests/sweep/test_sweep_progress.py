"""What a sweep says of its jobs as they end."""

from __future__ import annotations

import logging

import pytest
from sweep_script import FOLDER, planned

from calprobe.sweep import Attempt, SweepProgress


def test_an_interrupted_job_has_not_failed(caplog: pytest.LogCaptureFixture) -> None:
    jobs = [planned(name, FOLDER) for name in ("good", "bad", "interrupted")]
    with caplog.at_level(logging.INFO), SweepProgress.shown(jobs, quiet=True) as shown:
        for each, code in zip(jobs, (0, 1, 130), strict=True):
            shown.started(each.job)
            shown.ended(each.job, Attempt(each.job.arguments, code, 2.0, "now"))
    assert (shown.n_over, shown.n_failed) == (3, 1)
    assert caplog.messages[1::2] == [
        "m/good: done after 2 s",
        "m/bad: failed with exit code 1 after 2 s",
        "m/interrupted: interrupted after 2 s",
    ]
