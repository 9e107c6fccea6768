"""Trackers together: one that fails is told of once, and stops nothing."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import pytest

from calprobe.errors import CalprobeError, UsageError
from calprobe.trackers import NAMES, Place, TrackedRun, Trackers, open_trackers, registry

RUN = TrackedRun("ab12", "gpt2/bear", {"model": "gpt2"})


class Recorded:
    """Keeps what it is told, and fails at one of the three steps."""

    def __init__(self, fails: str = "") -> None:
        self.fails, self.told = fails, list[object]()

    def begin(self, run: TrackedRun) -> None:
        self._told("begin", run.name)

    def log(self, figures: Mapping[str, float], step: int) -> None:
        self._told("log", dict(figures))

    def end(self) -> None:
        self._told("end", None)

    def _told(self, act: str, what: object) -> None:
        if act == self.fails:
            raise OSError(f"cannot {act} at https://me:secret@example.org\nsecond line")
        self.told.append(what)


@pytest.mark.parametrize("fails", ["begin", "log", "end"])
def test_a_tracker_that_fails_says_so_once_and_the_others_go_on(fails: str, caplog: pytest.LogCaptureFixture) -> None:
    good, bad = Recorded(), Recorded(fails)
    trackers = Trackers({"bad": bad, "good": good}, {"bad": "mend it", "good": ""}, "All goes on")
    with caplog.at_level(logging.WARNING, "calprobe"):
        for _ in range(2):
            begun = trackers.begin(RUN)
            done = trackers.end(trackers.log({"accuracy": 0.5}, 0, begun))
            assert done == ("good",)
    assert good.told == ["gpt2/bear", {"accuracy": 0.5}, None] * 2
    assert trackers.working == ("good",)
    assert caplog.messages == [
        f"bad failed: cannot {fails} at https://***@example.org second line; mend it. All goes on"
    ]


def test_unknown_and_missing_trackers_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="did you mean wandb"):
        open_trackers(["wandbb"], Place("p", tmp_path), "")

    def lacks(place: Place) -> Recorded:
        raise ModuleNotFoundError("No module named 'wandb'", name="wandb.sdk")

    monkeypatch.setitem(registry.ENTRIES, "wandb", registry.Entry(lacks, ""))  # type: ignore[arg-type]
    with pytest.raises(CalprobeError, match=r"needs the package wandb: pip install 'calprobe\[wandb\]'"):
        open_trackers(["wandb"], Place("p", tmp_path), "")
    assert NAMES == ("wandb", "trackio", "mlflow", "tensorboard")
