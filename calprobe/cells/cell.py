"""A cell: what was asked under one setting, unit by unit, and what each estimator says of it.

Reports, comparisons, curves, slices and figures read a run as its cells, whether it was scored, asked, imported or is a
table of scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, Mask
from calprobe.confidence import Confidence, Estimator
from calprobe.confidence.estimator import Scale
from calprobe.metrics import Within, ordinal_confidence
from calprobe.metrics.bootstrap import Predictions

Labels = npt.NDArray[np.str_] | Within  # [units]
Key = tuple[str, Any]  # a unit: its group, and what tells it from others of that group
EVERY = slice(None)
UNKNOWN = -1  # number of options of a question of which an import says nothing


@dataclass(frozen=True)
class Units:
    """What was asked, in the order of the cell: instances of a probe, answers to questions, or rows of a table."""

    group: npt.NDArray[np.str_]  # [units], the relation of an instance, the question of an answer
    # [units], what tells units of a group apart: line number in the relation's file, from 0; of an answer the id of its
    # question, the paraphrase and the sample; the row of a table.
    id: npt.NDArray[Any]
    n_options: Ints  # [units], K; 0 where answers are free, UNKNOWN where the question is not known
    clusters: Labels | None  # [units], that resamples go by; None: units are drawn one by one

    def __len__(self) -> int:
        return len(self.id)

    @cached_property
    def places(self) -> dict[Key, int]:
        """The place of each unit."""
        return {key: place for place, key in enumerate(zip(self.group.tolist(), self.id.tolist(), strict=True))}

    @property
    def chance(self) -> Floats:
        """What a blind guess would be right with, [units]: 1/K of K options, 0 where answers are free; NaN: unknown."""
        chance = np.where(self.n_options > 0, 1 / np.maximum(self.n_options, 1), 0.0)
        return np.where(self.n_options == UNKNOWN, np.nan, chance)

    def clusters_of(self, kept: Mask) -> Labels | None:
        """The clusters of some units."""
        return None if self.clusters is None else self.clusters[kept]

    def at(self, places: Sequence[int] | Ints) -> Units:
        """The units at these places, in that order."""
        where = np.asarray(places, np.int64)
        return Units(
            self.group[where],
            self.id[where],
            self.n_options[where],
            None if self.clusters is None else self.clusters[where],
        )


def shared_places(several: Sequence[Units]) -> list[list[int]]:
    """The places, in each, of the units that all have: as many in each, in the order of the first."""
    first = several[0].places if several else {}
    keys = [key for key in first if all(key in units.places for units in several)]
    return [[units.places[key] for key in keys] for units in several]


class Confidences(Mapping[str, Confidence]):
    """Confidences by estimator, each computed when it is first asked for."""

    def __init__(self, estimators: Mapping[str, Estimator], compute: Callable[[Estimator], Confidence]) -> None:
        self._estimators, self._compute = estimators, compute
        self._computed: dict[str, Confidence] = {}

    def __getitem__(self, name: str) -> Confidence:
        if name not in self._computed:
            self._computed[name] = self._compute(self._estimators[name])
        return self._computed[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._estimators)

    def __len__(self) -> int:
        return len(self._estimators)

    def __contains__(self, name: object) -> bool:
        return name in self._estimators  # without computing it


@dataclass(frozen=True)
class Cell:
    """Units, and what each estimator says of them."""

    run: str  # its label: as typed, or the name that it was given
    model: str  # without folders
    set: str  # the probe or question set; empty of a table
    variant: str  # of the prompt; empty where there is none
    units: Units
    estimators: Mapping[str, Estimator]  # that the evidence allows, by name, in the order of reports
    confidences: Mapping[str, Confidence] = field(repr=False, compare=False)  # by estimator

    def sample(self, estimator: str, kept: Mask | slice = EVERY) -> Predictions:
        """What metrics take of an estimator, see `sample_of`."""
        return sample_of(self.confidences[estimator], kept, self.estimators[estimator].scale)

    def only(self, estimators: Iterable[str]) -> Cell:
        """The cell with these estimators alone, computed."""
        names = list(estimators)
        return replace(
            self,
            estimators={name: self.estimators[name] for name in names},
            confidences={name: self.confidences[name] for name in names},
        )

    def at(self, places: Sequence[int] | Ints) -> Cell:
        """The units at these places alone, with the confidences that they have among all units."""
        confidences = Confidences(self.estimators, lambda estimator: self.confidences[estimator.name].at(places))
        return replace(self, units=self.units.at(places), confidences=confidences)


def sample_of(confidence: Confidence, kept: Mask | slice = EVERY, scale: Scale = "probability") -> Predictions:
    """What metrics take: confidence and correctness of the rows kept.

    Of an uncertainty its ranks, the least sure 0: no metric of order sees a difference.
    """
    sureness = confidence.sureness(scale)[kept]
    return ordinal_confidence(sureness) if scale == "uncertainty" else sureness, confidence.correct[kept]
