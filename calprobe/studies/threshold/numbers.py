"""A threshold fixed on one part of a cell, and what it keeps of the other part, or of another cell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calprobe.cells.cell import Cell
from calprobe.confidence.estimator import Scale
from calprobe.errors import UsageError
from calprobe.measures.halves import check_promised, cluster_names, half_of, with_answers
from calprobe.measures.json_values import number_json
from calprobe.metrics import FixedThreshold, Kept, answers_needed, fix_threshold, kept_at
from calprobe.metrics.risk_control import LEVEL
from calprobe.studies.threshold.threshold_file import Threshold


@dataclass(frozen=True, slots=True)
class ThresholdOptions:
    """What is promised, and how the answers are split."""

    risk: float
    level: float = LEVEL
    seed: int = 0


@dataclass(frozen=True, slots=True)
class CellThreshold:
    """The threshold of one estimator of a cell."""

    cell: str  # run, set and variant
    score: str
    scale: Scale  # of the score
    fixed: FixedThreshold  # in sureness: larger is surer
    on: str  # what it was checked on: the other part, or another run
    checked: Kept | None  # None: there is no threshold
    clustered: bool  # whether answers depend on each other within questions or relations
    options: ThresholdOptions
    groups: Mapping[str, Kept] = field(default_factory=dict)  # of what was checked
    held_out: bool = True  # False: answers that it was checked on fixed it, so that their shares have no bound

    @property
    def at_least(self) -> bool:
        """Whether larger scores are surer."""
        return self.scale != "uncertainty"

    @property
    def threshold(self) -> float:
        """In units of the score; infinite where there is none."""
        return self.fixed.threshold if self.at_least else -self.fixed.threshold

    @property
    def needed(self) -> int:
        """Answers above a threshold, none of them wrong, that the promise takes at least."""
        return answers_needed(self.options.risk, self.options.level)

    def file(self) -> Threshold:
        """For a file. Raises UsageError where there is no threshold."""
        if not self.fixed.found:
            raise UsageError(f"--out: {self.cell} has no threshold of {self.score} to write; allow a larger --risk")
        options, tested = self.options, self.fixed.tested.answers
        return Threshold(
            self.score, self.threshold, self.at_least, options.risk, options.level, self.cell, tested, self.scale
        )

    def to_json(self) -> dict[str, Any]:
        """Its object in `calprobe threshold --json`."""
        return {
            "cell": self.cell,
            "score": self.score,
            "threshold": self.threshold if self.fixed.found else None,
            "answer_if": "at_least" if self.at_least else "at_most",
            "tested": _kept_json(self.fixed.tested),
            "checked_on": self.on,
            "held_out": self.held_out,
            "checked": None if self.checked is None else _kept_json(self.checked),
            "groups": {name: _kept_json(kept) for name, kept in self.groups.items()},
            "clustered": self.clustered,
            "needed": self.needed,
        }


def _kept_json(kept: Kept) -> dict[str, Any]:
    return {
        "answers": kept.answers,
        "kept": kept.kept,
        "wrong": kept.wrong,
        "coverage": number_json(kept.coverage),
        "risk": number_json(kept.risk),
        "risk_upper": number_json(kept.upper),
    }


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Those of several estimators."""

    options: ThresholdOptions
    cells: tuple[CellThreshold, ...]

    def to_json(self) -> dict[str, Any]:
        """What `calprobe threshold --json` prints."""
        options = self.options
        return {
            "risk": options.risk,
            "level": options.level,
            "seed": options.seed,
            "thresholds": [cell.to_json() for cell in self.cells],
        }


def threshold_of(
    cell: Cell,
    estimator: str,
    options: ThresholdOptions,
    on: Cell | None = None,
    groups: Mapping[str, npt.NDArray[np.bool_]] | None = None,
    *,
    held_out: bool = True,
) -> CellThreshold:
    """Fix a threshold on half of a cell's clusters and check it on the others; or on all, and check it on another cell.

    Args:
        cell: with the clusters of its units. Units without a confidence count as not answered, those of which an
            estimator says nothing, such as all but one of a question's samples, do not count.
        estimator: one of the cell's.
        options: risk, level, seed of the halves and of the pilot.
        on: another cell, with the same estimator; None: the other half.
        groups: units of what is checked, by name, [units].
        held_out: whether the other cell has facts of its own; where not, what is checked has NaN as its bound.
    Raises:
        UsageError: an estimator that a cell lacks, or that was fitted to the answers themselves.
    """
    for part in (cell, *([] if on is None else [on])):
        check_promised(part, estimator)
    target = cell if on is None else on
    asked = target.confidences[estimator].asked
    groups = {name: units[asked] for name, units in (groups or {}).items()}
    cell, on = with_answers(cell, estimator), None if on is None else with_answers(on, estimator)
    scale = cell.estimators[estimator].scale
    first = half_of(cell.units, options.seed) if on is None else np.ones(len(cell.units), np.bool_)
    target, rest = (cell, ~first) if on is None else (on, np.ones(len(on.units), np.bool_))
    fixed = fix_threshold(
        cell.confidences[estimator].sureness(scale)[first],
        cell.confidences[estimator].correct[first],
        options.risk,
        options.level,
        cluster_names(cell.units, first),
        options.seed,
    )
    sureness, correct = target.confidences[estimator].sureness(scale), target.confidences[estimator].correct

    every = cluster_names(target.units, np.ones(len(target.units), np.bool_))
    largest = None if every is None or not len(every) else int(np.unique(every, return_counts=True)[1].max())

    def kept(where: npt.NDArray[np.bool_]) -> Kept:
        clusters = cluster_names(target.units, where)
        found = kept_at(sureness[where], correct[where], fixed.threshold, options.level, clusters, largest)
        return found if held_out else replace(found, upper=math.nan)

    return CellThreshold(
        cell=" ".join(filter(None, (cell.run, cell.set, cell.variant))),
        score=estimator,
        scale=scale,
        fixed=fixed,
        on="the other half" if on is None else on.run,
        checked=kept(rest) if fixed.found else None,
        clustered=cluster_names(cell.units, np.ones(len(cell.units), np.bool_)) is not None,
        options=options,
        groups={name: kept(rest & units) for name, units in groups.items() if fixed.found},
        held_out=held_out,
    )
