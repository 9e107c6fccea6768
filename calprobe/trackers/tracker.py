"""What a tracker of experiments is told of a run, what it must be able to do, and several trackers as one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from calprobe.messages import shortened, shown

log = logging.getLogger(__name__)

_MOST_SAID = 200  # characters of a library's error

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


class Trackers:
    """Trackers by name, which are spectators: one that fails says so once, and stops no run and no training.

    Args:
        trackers: opened by `open_trackers`.
        advice: what to do where a tracker fails, by its name.
        later: what becomes of figures that a failed tracker lacks, for the end of the warning.
    """

    def __init__(self, trackers: Mapping[str, Tracker], advice: Mapping[str, str], later: str) -> None:
        self._working = dict(trackers)
        self._advice, self._later = advice, later

    @property
    def working(self) -> tuple[str, ...]:
        """Those that have not failed."""
        return tuple(self._working)

    def begin(self, run: TrackedRun, only: Collection[str] | None = None) -> tuple[str, ...]:
        """Open the run in each tracker, or in some; those that have it open."""
        return self._each(lambda tracker: tracker.begin(run), only)

    def log(self, figures: Mapping[str, float], step: int, only: Collection[str] | None = None) -> tuple[str, ...]:
        """Add figures to the open run; the trackers that took them."""
        return self._each(lambda tracker: tracker.log(figures, step), only)

    def end(self, only: Collection[str] | None = None) -> tuple[str, ...]:
        """Close the run; the trackers that have it."""
        return self._each(lambda tracker: tracker.end(), only)

    def _each(self, act: Callable[[Tracker], None], only: Collection[str] | None) -> tuple[str, ...]:
        did = []
        for name in [name for name in self._working if only is None or name in only]:
            try:
                act(self._working[name])
            except Exception as error:  # noqa: BLE001 - hours of computing are worth more than what a library trips over
                del self._working[name]
                said = shortened(" ".join((str(error) or type(error).__name__).split()), _MOST_SAID)
                log.warning("%s failed: %s; %s. %s", name, shown(said).rstrip("."), self._advice[name], self._later)
            else:
                did.append(name)
        return tuple(did)
