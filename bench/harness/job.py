"""What one child process is asked to do, and what it answers; both go through files of a temporary folder."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class Answer(NamedTuple):
    """What a contestant found for some items, in their order."""

    sums: Floats = np.zeros(0)  # log-probabilities: [statements], or [prompts, letters]
    facts: Mapping[str, Any] = {}
    counts: Mapping[str, int] = {}


class Loaded(Protocol):
    """A contestant with its model."""

    def answer(self, items: Sequence[Any], size: int | None, seed: int) -> Answer:
        """Answers to all items, in batches of that size; None: its own choice."""


@dataclass(frozen=True)
class Job:
    """One contestant on one task; each task has its own kind of job, with what its contestants are to be told."""

    scorer: str  # its name among the task's contestants
    batch_sizes: tuple[int, ...]  # tried on a sample, the fastest is timed; empty: the contestant's own choice
    threads: int

    task: ClassVar[str] = ""  # whose contestants it is for, see `harness.contestants`

    @property
    def items(self) -> Sequence[Any]:
        """What is to be answered."""
        raise NotImplementedError

    def sample(self) -> Sequence[Any]:
        """The items on which batch sizes are tried."""
        raise NotImplementedError

    def count(self, items: Sequence[Any]) -> int:
        """In units of the task's speed."""
        return len(items)


@dataclass(frozen=True)
class Outcome:
    """What a contestant did, or why it did not: `sums` and `seconds` are empty exactly when `fault` says why."""

    scorer: str
    version: str | None = None
    fault: str | None = None
    sums: Floats = field(default_factory=lambda: np.zeros(0))  # as in `Answer`
    batch_size: int | None = None
    trials: dict[str, float] = field(default_factory=dict)  # units a second of each batch size on the sample
    seconds: tuple[float, ...] = ()  # of each repeat
    processor_seconds: tuple[float, ...] = ()  # likewise, of all threads
    load_s: float | None = None
    peak_mib: float | None = None  # largest resident set of the process until the timing ended
    gpu_peak_mib: float | None = None
    facts: dict[str, Any] = field(default_factory=dict)  # what only one task or contestant knows


def write(content: Job | Outcome, path: Path) -> None:
    """To be read by `read` in another process of the same benchmark."""
    path.write_bytes(pickle.dumps(content))


def read(path: Path) -> Any:
    """What `write` wrote."""
    return pickle.loads(path.read_bytes())


def speeds(seconds: Sequence[float], n_units: int, digits: int = 3) -> dict[str, Any]:
    """Percentiles over the repeats, in units a second."""
    p20, p50, p80 = (round(float(p), digits) for p in np.percentile(n_units / np.asarray(seconds), [20, 50, 80]))
    return {"p20": p20, "p50": p50, "p80": p80, "repeats": len(seconds)}


def times_as_fast(ours: Outcome, theirs: Outcome) -> float:
    """The ratio of the medians; to be asked for only where both gave the same answers."""
    return round(float(np.median(theirs.seconds) / np.median(ours.seconds)), 2)
