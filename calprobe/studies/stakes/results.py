"""What answers are worth at stakes, as plain frozen data with its JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from calprobe.errors import UsageError
from calprobe.measures.json_values import record_json
from calprobe.metrics import MOST_STAKES, Estimate, Resampling

USUAL_STAKES = (0.5, 0.75, 0.9)


@dataclass(frozen=True, slots=True)
class StakesOptions:
    """At which stakes, by which confidences. Raises UsageError for stakes out of range."""

    at: tuple[float, ...] = USUAL_STAKES
    estimators: tuple[str, ...] | None = None  # None: base, margin, average_min; of replies and tables all
    resampling: Resampling = field(default_factory=Resampling)

    def __post_init__(self) -> None:
        if not self.at or any(not 0 <= stakes < 1 for stakes in self.at):
            raise UsageError(f"--at must be stakes of at least 0 and below 1; got {', '.join(map(str, self.at))}")


DEFAULT_STAKES = StakesOptions()


@dataclass(frozen=True, slots=True)
class AtStakes:
    """What answers are worth at one stake, in the mean over all that were asked."""

    JSON: ClassVar = "stakes answered utility always"

    stakes: float
    answered: float  # share whose confidence is at least the stakes
    utility: Estimate  # of answering these
    always: Estimate  # of answering always; of answering never it is 0


@dataclass(frozen=True, slots=True)
class Decided:
    """The answers of one estimator of a cell, given where the confidence is at least the stakes."""

    JSON: ClassVar = "cell estimator=score units accuracy at mean mean_always"

    cell: str  # run, set and variant
    score: str
    units: int
    accuracy: Estimate  # the largest utility that there can be: of answering the right ones alone
    at: tuple[AtStakes, ...]
    mean: Estimate  # over all stakes up to `MOST_STAKES`
    mean_always: Estimate

    def of(self, stakes: float) -> AtStakes:
        """The numbers at these stakes, which are among the options'. Raises StopIteration for others."""
        return next(found for found in self.at if found.stakes == stakes)


@dataclass(frozen=True, slots=True)
class Told:
    """The answers of a variant whose prompt names the stakes, and may be met with a reply that gives none."""

    JSON: ClassVar = "cell variant stakes units abstained unread accuracy utility"

    cell: str  # run and set
    variant: str
    stakes: float
    units: int
    abstained: Estimate  # share
    unread: float  # share in which neither an answer nor an abstention was read; these count as wrong answers
    accuracy: Estimate  # of the answered; NaN where none is
    utility: Estimate


@dataclass(frozen=True, slots=True)
class StakesReport:
    """Both, of one run or table."""

    options: StakesOptions
    decided: tuple[Decided, ...]
    told: tuple[Told, ...]

    def to_json(self) -> dict[str, Any]:
        """What `calprobe stakes --json` prints."""
        return {
            "at": list(self.options.at),
            "mean_up_to": MOST_STAKES,
            "decided": _records(self.decided),
            "told": _records(self.told),
        }


def _records(several: Sequence[Decided] | Sequence[Told]) -> list[dict[str, Any]]:
    return [record_json(record) for record in several]
