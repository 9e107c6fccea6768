"""What a tracker of experiments is told of a run, and what it must be able to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """A run as a tracker shows it."""

    id: str  # letters and digits: the same for the same run, another for any other
    name: str  # for people: gpt2/bear
    configuration: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tracker puts its runs; servers, accounts and stores are set as the tracker's own manual says."""

    project: str  # what runs are gathered under: a project of W&B and Trackio, an experiment of MLflow, a folder
    folder: Path  # of trackers that write files: TensorBoard
    join: bool = False  # a run of the tracker that is open in this process gets the figures; none is opened beside it


class Tracker(Protocol):
    """One tracker, which has one run open at a time. Whatever fails raises; `Trackers` makes a warning of it."""

    def begin(self, run: TrackedRun) -> None:
        """Open a run, or join the open one."""
        ...

    def log(self, figures: Mapping[str, float], step: int) -> None:
        """Add figures to the run; steps never go down."""
        ...

    def end(self) -> None:
        """Close the run, and wait until it is stored; a run that was joined stays open."""
        ...
